// Which states of a file lie around the changes of several checkpoints. Pure.

import { type Change, type Checkpoint, shown } from "../server/protocol.ts";

export type Span = {
  change: Change;
  from: string;
  to: string;
  /** It was not there before. */
  made: boolean;
};

/** Of each file from the first of these checkpoints that changed it to the last: `from` and `to` have its states. */
export function spans(checkpoints: readonly Checkpoint[]): Span[] {
  const all: Span[] = [];
  for (const checkpoint of checkpoints) {
    for (const change of checkpoint.changes) {
      if (change.binary) continue;
      const path = shown(change.path);
      const before = shown(change.from ?? change.path);
      const known = all.find((span) => shown(span.change.path) === before);
      if (known === undefined) {
        all.push({
          change,
          from: checkpoint.parent ?? checkpoint.id,
          to: checkpoint.id,
          made: change.kind === "create",
        });
      } else {
        known.to = checkpoint.id;
        known.change = joined(known, change, path);
      }
    }
  }
  // made and deleted again: nothing is left of it
  return all.filter((span) => !(span.made && span.change.kind === "delete"));
}

function joined({ change: first, made }: Span, next: Change, path: string): Change {
  const there = next.kind === "create" ? "modify" : next.kind;
  const kind = next.kind === "delete" ? "delete" : made ? "create" : there;
  const from = first.from ?? (shown(first.path) === path ? undefined : first.path);
  const whole: Change = { ...next, kind };
  delete whole.from;
  return from === undefined || kind === "create" ? whole : { ...whole, from };
}

export function oldestFirst(steps: readonly Checkpoint[]): Checkpoint[] {
  const number = (checkpoint: Checkpoint) => Number(checkpoint.id.slice(1));
  return [...steps].sort((a, b) => number(a) - number(b));
}

/** As quick diff tells of a change: lines from 1; an end of 0 says that there are none, and the start the line before. */
export type LineChange = { modifiedStartLineNumber: number; modifiedEndLineNumber: number };

/** The first line from 0, and the one behind the last. */
export function lines({
  modifiedStartLineNumber: start,
  modifiedEndLineNumber: end,
}: LineChange): [number, number] {
  return end === 0 ? [start, start] : [start - 1, end];
}
