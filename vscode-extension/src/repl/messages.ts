// Messages between the page of the REPL and the extension.

export type Row = {
  id: string;
  function: string;
  /** Prompt of the turn that is held, in one line; may be nothing. */
  prompt: string;
  /** Breakpoint or reason of the pause; may be nothing. */
  why: string;
  pause: string;
  language: string;
  status: string;
  started: string;
  closed: string;
  entries: number;
  isOpen: boolean;
  /** True for a program, which has a stack. */
  isProgram: boolean;
};

export type Line = {
  index: number;
  input: string;
  output: string;
  stdout: string;
  isError: boolean;
  shows: string;
  /** Names the stored value. */
  cid: string | null;
};

export type Words = {
  sessions: string;
  search: string;
  active: string;
  closedOnes: string;
  all: string;
  none: string;
  back: string;
  input: string;
  hint: string;
  more: string;
  from: string;
  to: string;
  stack: string;
  calls: string;
  object: string;
  busy: string;
  /** In the order of the columns. */
  columns: {
    function: string;
    status: string;
    start: string;
    close: string;
    lines: string;
    stack: string;
    session: string;
  };
};

export type ToPage =
  | { type: "sessions"; rows: Row[]; more: boolean; words: Words }
  | { type: "session"; row: Row; lines: Line[]; reason: string; words: Words }
  | { type: "line"; session: string; line: Line }
  | { type: "closed"; row: Row; reason: string }
  /** An evaluation of this page is over. `message`: the reason of its failure, or nothing. */
  | { type: "answered"; session: string; message: string };

export type FromPage =
  | { type: "ready" }
  /** `has`: true once the page has the focus. */
  | { type: "focus"; has: boolean }
  /** `from` and `to`: days such as `2026-11-25`, or nothing. */
  | { type: "list"; search: string; status: string; from: string; to: string; before?: string }
  | { type: "open"; session: string }
  | { type: "eval"; session: string; input: string }
  | { type: "stack"; pause: string }
  | { type: "calls"; session: string }
  | { type: "object"; cid: string };
