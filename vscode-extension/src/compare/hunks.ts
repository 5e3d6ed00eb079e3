// Where two texts differ, by lines as VS Code counts them: behind the last line end there is one more. Pure.

import { diffArrays } from "diff";

/** Lines from 0, the end excluded. */
export type Range = [start: number, end: number];
export type Hunk = { old: Range; now: Range };

/** What is not compared within this, in milliseconds, differs too much. */
const PATIENCE = 1000;

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

/** What ends lines makes no difference. Undefined: too much differs to tell one change from the other. */
export function hunks(old: string, now: string): Hunk[] | undefined {
  const parts = diffArrays(lines(old), lines(now), { timeout: PATIENCE });
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

/** Those that lines of one side touch, both included; where it has none of a change, from the lines beside the gap. */
export function touched(all: readonly Hunk[], side: keyof Hunk, first: number, last: number): Hunk[] {
  return all.filter((hunk) => {
    const [start, end] = hunk[side];
    return start === end ? first <= start && start - 1 <= last : first < end && start <= last;
  });
}

/** Whether these are all that differs, whoever compared: what lies between them is the same, but for blanks at the ends. */
export function areAll(old: string, now: string, all: readonly Hunk[]): boolean {
  const [was, is] = [lines(old), lines(now)];
  const end: Hunk = { old: [was.length, was.length], now: [is.length, is.length] };
  let [before, after] = [0, 0];
  for (const hunk of [...all, end]) {
    const between = was.slice(before, hunk.old[0]);
    if (before > hunk.old[0] || hunk.old[0] - before !== hunk.now[0] - after) return false;
    const other = is.slice(after, hunk.now[0]);
    if (!between.every((line, at) => line.trim() === other[at]?.trim())) return false;
    before = hunk.old[1];
    after = hunk.now[1];
  }
  return before === was.length && after === is.length;
}

/** The older text with these of the changes in it. */
export function withHunks(old: string, now: string, some: readonly Hunk[]): string {
  const [before, after] = [lines(old), lines(now)];
  const fromTheEnd = [...some].sort((a, b) => b.old[0] - a.old[0]);
  for (const hunk of fromTheEnd) {
    const [start, end] = hunk.old;
    before.splice(start, end - start, ...after.slice(...hunk.now));
  }
  return before.join(ending(old === "" ? now : old));
}

export function isSame(one: string, other: string): boolean {
  const [mine, theirs] = [lines(one), lines(other)];
  return mine.length === theirs.length && mine.every((line, at) => line === theirs[at]);
}

export function lines(text: string): string[] {
  return text.split(/\r\n|\r|\n/);
}

function ending(text: string): string {
  return /\r\n|\r|\n/.exec(text)?.[0] ?? "\n";
}
