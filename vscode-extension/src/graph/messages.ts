// What the graph's page and the extension say to each other.

export type Shown = {
  id: string;
  parent: string | null;
  /** The name that commands take. */
  rev: string;
  kind: string;
  title: string;
  detail: string;
  branch: string;
  tags: string[];
  current: boolean;
  takenOut: boolean;
  /** Both of them in words; empty where it is neither. */
  state: string;
};

export type ToPage = {
  type: "graph";
  nodes: Shown[];
  more: boolean;
  words: { label: string; empty: string; more: string; actions: Record<Action, string> };
};

export type Action = "rewind" | "diff" | "fork" | "show";
export type FromPage = { type: "ready" } | { type: "more" } | { type: "do"; action: Action; rev: string };
