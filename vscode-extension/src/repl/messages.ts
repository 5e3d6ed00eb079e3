// Messages between the page of the REPL and the extension.

export type Row = {
  id: string;
  function: string;
  pause: string;
  status: string;
  started: string;
  closed: string;
  entries: number;
  isOpen: boolean;
};

export type Line = {
  index: number;
  input: string;
  output: string;
  stdout: string;
  isError: boolean;
  shows: string;
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
  columns: { session: string; function: string; status: string; start: string; close: string; lines: string };
};

export type ToPage =
  | { type: "sessions"; rows: Row[]; more: boolean; words: Words }
  | { type: "session"; row: Row; lines: Line[]; reason: string; words: Words }
  | { type: "line"; session: string; line: Line }
  | { type: "closed"; row: Row; reason: string }
  | { type: "failed"; session: string; message: string }
  | { type: "insert"; text: string };

export type FromPage =
  | { type: "ready" }
  | { type: "list"; search: string; status: string; before?: string }
  | { type: "open"; session: string }
  | { type: "eval"; session: string; input: string };
