// Messages between the page of the graph and the extension.

export type Shown = {
  id: string;
  parent: string | null;
  /** Sign of the kind: of a turn, a step, an edit of the user, an operation. */
  icon: Icon;
  /** Revision for commands. */
  rev: string;
  kind: string;
  title: string;
  /** Letter of the session; empty where all checkpoints are of one. */
  letter: string;
  /** Number of the session's colour, as in the timeline. */
  color: number;
  detail: string;
  branch: string;
  tags: string[];
  current: boolean;
  takenOut: boolean;
  /** `current` and `takenOut` in words; empty if both are false. */
  state: string;
};

export type Icon = "turn" | "step" | "edit" | "operation" | "start";

export type ToPage = {
  type: "graph";
  nodes: Shown[];
  more: boolean;
  words: {
    label: string;
    empty: string;
    more: string;
    cut: string;
    search: string;
    actions: Record<Action, string>;
  };
};

export type Action = "rewind" | "diff" | "fork" | "show";
export type FromPage = { type: "ready" } | { type: "more" } | { type: "do"; action: Action; rev: string };
