// Where two texts differ, by lines. Pure.

import { diffArrays } from "diff";

/** Lines from 0, the end excluded. */
export type Range = [start: number, end: number];
export type Hunk = { old: Range; now: Range };

/** As quick diff tells of a change: lines from 1; an end of 0 says that there are none, and the start the line before. */
export type LineChange = {
  originalStartLineNumber: number;
  originalEndLineNumber: number;
  modifiedStartLineNumber: number;
  modifiedEndLineNumber: number;
};

export function fromGutter(change: LineChange): Hunk {
  const range = (start: number, end: number): Range => (end === 0 ? [start, start] : [start - 1, end]);
  return {
    old: range(change.originalStartLineNumber, change.originalEndLineNumber),
    now: range(change.modifiedStartLineNumber, change.modifiedEndLineNumber),
  };
}

export function hunks(old: string, now: string): Hunk[] {
  const found: Hunk[] = [];
  let [before, after] = [0, 0];
  let open: Hunk | undefined;
  for (const part of diffArrays(lines(old), lines(now))) {
    const count = part.value.length;
    if (!part.added && !part.removed) {
      open = undefined;
      before += count;
      after += count;
      continue;
    }
    if (open === undefined) {
      open = { old: [before, before], now: [after, after] };
      found.push(open);
    }
    if (part.removed) before += count;
    else after += count;
    open.old[1] = before;
    open.now[1] = after;
  }
  return found;
}

/** Those that a selection touches; where lines were only taken away, from the lines beside the gap. */
export function touched(all: readonly Hunk[], first: number, last: number): Hunk[] {
  return all.filter(({ now: [start, end] }) =>
    start === end ? first <= start && start - 1 <= last : first < end && start <= last,
  );
}

/** The older text with these of the changes in it. */
export function withHunks(old: string, now: string, some: readonly Hunk[]): string {
  const [before, after] = [lines(old), lines(now)];
  const newestFirst = [...some].sort((a, b) => b.old[0] - a.old[0]);
  for (const hunk of newestFirst) {
    const [start, end] = hunk.old;
    before.splice(start, end - start, ...after.slice(...hunk.now));
  }
  return before.join("");
}

function lines(text: string): string[] {
  return text.split(/(?<=\n)/).filter((line) => line !== "");
}
