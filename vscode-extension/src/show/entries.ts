// Checkpoints as entries of a list: a turn with its steps, or a checkpoint by itself. Pure.

import { type Change, type Checkpoint, type Coverage, shown } from "../server/protocol.ts";

export type Entry = {
  checkpoint: Checkpoint;
  /** Steps of this turn, newest first. */
  steps: Checkpoint[];
};

/** Groups steps below their turns. A step whose turn is not among them stands below a row for it. */
export function entries(newestFirst: readonly Checkpoint[]): Entry[] {
  const turns = new Map<string, Entry>();
  for (const checkpoint of newestFirst) {
    if (checkpoint.kind === "turn" && checkpoint.turn !== null) {
      turns.set(checkpoint.turn, { checkpoint, steps: [] });
    }
  }
  const all: Entry[] = [];
  for (const checkpoint of newestFirst) {
    const { kind, turn: name } = checkpoint;
    let turn = name === null ? undefined : turns.get(name);
    if (turn === undefined && name !== null && kind === "step") {
      turn = { checkpoint: turnOf(checkpoint, name), steps: [] };
      turns.set(name, turn);
      all.push(turn);
    }
    if (kind === "turn" && turn !== undefined) all.push(turn);
    else if (kind === "step" && turn !== undefined) turn.steps.push(checkpoint);
    else all.push({ checkpoint, steps: [] });
  }
  for (const { checkpoint, steps } of all) {
    // a row for a turn says the same as its steps
    if (checkpoint.id === checkpoint.turn) checkpoint.taken_out = steps.every((step) => step.taken_out);
  }
  return all;
}

/** Returns a turn that is not loaded, such as in the history of one file: its name is its id. */
function turnOf(step: Checkpoint, name: string): Checkpoint {
  const coverage = { ...step.coverage, items: [] };
  const own = { kind: "turn" as const, id: name, label: null, tool: null, operation: null };
  const turn = { ...step, ...own, tags: [], pinned: false, changes: [], unsaved: [], coverage };
  delete turn.summary;
  delete turn.command;
  delete turn.failed;
  delete turn.exit;
  return turn;
}

/**
 * Returns the checkpoints with those files alone that appeared or changed there and were not captured. A large file that
 * nobody touches is among those of many checkpoints.
 */
export function withOwnGaps(newestFirst: readonly Checkpoint[]): Checkpoint[] {
  const known = new Set<string>();
  const oldestFirst = [...newestFirst].reverse().map((checkpoint) => {
    const { items } = checkpoint.coverage;
    const own = items.filter(({ path, detail }) => detail !== "" || !known.has(shown(path)));
    for (const { path } of items) known.add(shown(path));
    return own.length === items.length
      ? checkpoint
      : { ...checkpoint, coverage: { ...checkpoint.coverage, items: own } };
  });
  return oldestFirst.reverse();
}

/** Files that were not captured, of a checkpoint and all of its steps; each once. */
export function gaps({ checkpoint, steps }: Entry): Coverage["items"] {
  const items = [checkpoint, ...steps].flatMap(({ coverage }) => coverage.items);
  return [...new Map(items.map((item) => [shown(item.path), item])).values()];
}

/** Changes of a checkpoint and all of its steps. */
export function changes({ checkpoint, steps }: Entry): Change[] {
  return [checkpoint, ...steps].flatMap((each) => each.changes);
}

/** True if these checkpoints are of several sessions. */
export function areOfSeveralSessions(all: readonly Checkpoint[]): boolean {
  return new Set(all.flatMap(({ letter }) => letter ?? [])).size > 1;
}
