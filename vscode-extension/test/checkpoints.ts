// Checkpoints in the form of the server's answers, for tests.

import type { Change, Checkpoint, Kind, Operation } from "../src/server/protocol.ts";

export function checkpoint(id: string, kind: Kind, more: Partial<Checkpoint> = {}): Checkpoint {
  const number = Number(id.slice(1));
  const nowhere = { captured: 0, ignored: 0, pending: false, too_large: 0, outside: 0, unreadable: 0 };
  return {
    id,
    parent: number > 1 ? `c${number - 1}` : null,
    kind,
    session: null,
    letter: null,
    agent: null,
    turn: null,
    iteration: null,
    tool: null,
    subagent: null,
    label: null,
    prompt: null,
    time: "2026-11-20T09:30:15Z",
    branch: "main",
    tags: [],
    pinned: false,
    taken_out: false,
    operation: null,
    git: { head: null, branch: null },
    changes: [],
    coverage: { ...nowhere, special: 0, failed: 0, items: [] },
    unsaved: [],
    ...more,
  };
}

export function change(path: string, kind: Change["kind"], more: Partial<Change> = {}): Change {
  const origin = {
    by: "agent",
    session: "s",
    session_certainty: "certain",
    step_certainty: "certain",
  } as const;
  return { path, kind, added: 1, removed: 1, binary: false, origin, ...more };
}

export function operation(
  id: string,
  kind: Operation["kind"],
  target: string,
  more: Partial<Operation> = {},
): Operation {
  const done = { checkpoint: null, of: null, undone_by: null, state: "done", detail: "", files: 1 } as const;
  return { id, kind, target, title: kind, time: "2026-11-20T09:30:15Z", ...done, ...more };
}
