// Differences of two texts, by lines as VS Code counts them: after the last line end there is one more line. Pure.

import { diffArrays } from "diff";

/** Lines from 0, end-exclusive. */
export type Range = [start: number, end: number];
export type Hunk = { old: Range; now: Range };

/** Time limit of a comparison in milliseconds; texts that take longer differ too much. */
const DIFF_TIMEOUT = 1000;

/** Change as reported by quick diff: lines from 1. An end of 0 means no lines, and the start is the line before. */
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

/** Ignores line ends. Returns undefined if too much differs to separate the changes. */
export function hunks(old: string, now: string): Hunk[] | undefined {
  const parts = diffArrays(lines(old), lines(now), { timeout: DIFF_TIMEOUT });
  if (parts === undefined) return undefined;
  const found: Hunk[] = [];
  let [before, after] = [0, 0];
  let open: Hunk | undefined;
  for (const part of parts) {
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

/** Returns the hunks that lines `first` to `last` of one side touch. A hunk without lines there is touched from both neighbours. */
export function touched(all: readonly Hunk[], side: keyof Hunk, first: number, last: number): Hunk[] {
  return all.filter((hunk) => {
    const [start, end] = hunk[side];
    return start === end ? first <= start && start - 1 <= last : first < end && start <= last;
  });
}

/** True if these are all differences: the text between them is equal, apart from surrounding whitespace. */
export function areAll(old: string, now: string, all: readonly Hunk[]): boolean {
  const [oldLines, nowLines] = [lines(old), lines(now)];
  const end: Hunk = { old: [oldLines.length, oldLines.length], now: [nowLines.length, nowLines.length] };
  let [before, after] = [0, 0];
  for (const hunk of [...all, end]) {
    const between = oldLines.slice(before, hunk.old[0]);
    if (before > hunk.old[0] || hunk.old[0] - before !== hunk.now[0] - after) return false;
    const other = nowLines.slice(after, hunk.now[0]);
    if (!between.every((line, at) => line.trim() === other[at]?.trim())) return false;
    before = hunk.old[1];
    after = hunk.now[1];
  }
  return before === oldLines.length && after === nowLines.length;
}

export function isEqual(one: Hunk, other: Hunk): boolean {
  const isRange = ([start, end]: Range, [from, to]: Range) => start === from && end === to;
  return isRange(one.old, other.old) && isRange(one.now, other.now);
}

export function isSame(one: string, other: string): boolean {
  const [mine, theirs] = [lines(one), lines(other)];
  return mine.length === theirs.length && mine.every((line, at) => line === theirs[at]);
}

export function lines(text: string): string[] {
  return text.split(/\r\n|\r|\n/);
}
