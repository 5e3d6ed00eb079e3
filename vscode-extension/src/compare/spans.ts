// States of a file before and after the changes of several checkpoints. Pure.

import { type Change, type Checkpoint, shown } from "../server/protocol.ts";

export type Span = {
  change: Change;
  from: string;
  to: string;
  /** True if the file did not exist before. */
  isNew: boolean;
};

/** Two checkpoints that changed the same file, consecutive among the given ones. */
export type StepPair = { path: string; last: string; next: Checkpoint };

export function stepPairs(checkpoints: readonly Checkpoint[]): StepPair[] {
  const newest = new Map<string, string>();
  const pairs: StepPair[] = [];
  for (const next of checkpoints) {
    for (const change of next.changes) {
      const path = shown(change.from ?? change.path);
      const last = newest.get(path);
      if (last !== undefined) pairs.push({ path, last, next });
      newest.delete(path);
      newest.set(shown(change.path), next.id);
    }
  }
  return pairs;
}

/**
 * Spans of each file from the first of these checkpoints that changed it to the last. A pair in `apart`, between which
 * others changed the file, splits the span.
 */
export function spans(checkpoints: readonly Checkpoint[], apart: readonly StepPair[] = []): Span[] {
  const all: Span[] = [];
  for (const checkpoint of checkpoints) {
    for (const change of checkpoint.changes) {
      if (change.binary) continue;
      const path = shown(change.path);
      const before = shown(change.from ?? change.path);
      const known = all.findLast((span) => shown(span.change.path) === before);
      const isApart = apart.some((pair) => pair.next === checkpoint && pair.path === before);
      if (known === undefined || isApart) {
        all.push({
          change,
          from: checkpoint.parent ?? checkpoint.id,
          to: checkpoint.id,
          isNew: change.kind === "create",
        });
      } else {
        known.to = checkpoint.id;
        known.change = joined(known, change, path);
      }
    }
  }
  // created and deleted again: no change is left
  return all.filter((span) => !(span.isNew && span.change.kind === "delete"));
}

/** Paths of binary files that these checkpoints changed. */
export function binaries(checkpoints: readonly Checkpoint[]): string[] {
  const changes = checkpoints.flatMap((checkpoint) => checkpoint.changes);
  return [...new Set(changes.filter(({ binary }) => binary).map(({ path }) => shown(path)))];
}

function joined({ change: first, isNew }: Span, next: Change, path: string): Change {
  const there = next.kind === "create" ? "modify" : next.kind;
  const kind = next.kind === "delete" ? "delete" : isNew ? "create" : there;
  const from = first.from ?? (shown(first.path) === path ? undefined : first.path);
  const whole: Change = { ...next, kind };
  delete whole.from;
  return from === undefined || kind === "create" ? whole : { ...whole, from };
}

export function oldestFirst(steps: readonly Checkpoint[]): Checkpoint[] {
  const number = (checkpoint: Checkpoint) => Number(checkpoint.id.slice(1));
  return [...steps].sort((a, b) => number(a) - number(b));
}
