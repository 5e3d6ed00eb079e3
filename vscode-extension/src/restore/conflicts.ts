// Conflict markers of a file, as three texts for VS Code's merge editor. Pure.

export type ConflictSides = {
  /** Common text, from which both sides differ in each conflict. */
  base: string;
  current: string;
  target: string;
  conflicts: Size[];
};

/** Number of lines on each side of a conflict. */
export type Size = { target: number; current: number };

/**
 * Splits a text with conflict markers. Returns undefined without a complete conflict. `sizes` are those of the conflicts in
 * their order: a line of either side may look like a marker.
 */
export function sides(text: string, sizes: readonly Size[] = []): ConflictSides | undefined {
  const lines = text.split(/(?<=\n)/);
  const out = { base: [] as string[], current: [] as string[], target: [] as string[] };
  const conflicts: Size[] = [];
  for (let at = 0; at < lines.length; at++) {
    const line = lines[at] ?? "";
    const [middle, end] = line.startsWith("<<<<<<< ")
      ? markers(lines, at, sizes[conflicts.length])
      : [-1, -1];
    if (end < 0) {
      for (const side of Object.values(out)) side.push(line);
      continue;
    }
    // the order of a restore: the older text, then the kept text
    const [target, current] = [lines.slice(at + 1, middle), lines.slice(middle + 1, end)];
    out.target.push(...target);
    out.current.push(...current);
    out.base.push(...common(target, current));
    conflicts.push({ target: middle - at - 1, current: end - middle - 1 });
    at = end;
  }
  if (conflicts.length === 0) return undefined;
  const joined = (side: string[]) => side.join("");
  return { base: joined(out.base), current: joined(out.current), target: joined(out.target), conflicts };
}

/**
 * Lines of the common text for a conflict, whose own are not in the markers. Where both sides have lines, none: both add theirs.
 * Where one side has deleted them, the lines of the other with a space more. Without them only one side would differ, and the
 * merge editor would take its lines without a question.
 */
function common(target: readonly string[], current: readonly string[]): string[] {
  if (target.length > 0 && current.length > 0) return [];
  const [first, ...rest] = target.length > 0 ? target : current;
  return first === undefined ? [] : [first.replace(/(?=\r?\n|(?!\n)$)/, " "), ...rest];
}

/** True if conflicts of these sizes are among the found ones, in their order. */
export function hasAll(found: readonly Size[], sizes: readonly Size[]): boolean {
  let at = 0;
  for (const { target, current } of found) {
    const next = sizes[at];
    if (next?.target === target && next.current === current) at++;
  }
  return at === sizes.length;
}

/** Returns the lines with the middle and end markers of the conflict that begins here; -1 without one. */
function markers(lines: string[], begin: number, size: Size | undefined): [middle: number, end: number] {
  const isMarked = (at: number, marker: RegExp) => marker.test(lines[at] ?? "");
  if (size !== undefined) {
    const middle = begin + 1 + size.target;
    const end = middle + 1 + size.current;
    if (isMarked(middle, /^=======\r?\n/) && isMarked(end, /^>>>>>>> /)) return [middle, end];
  }
  const middle = find(lines, begin + 1, /^=======\r?\n/);
  return [middle, middle < 0 ? -1 : find(lines, middle + 1, /^>>>>>>> /)];
}

/** Returns the first matching line before the next conflict, or -1. */
function find(lines: string[], from: number, wanted: RegExp): number {
  for (let at = from; at < lines.length; at++) {
    const line = lines[at] ?? "";
    if (wanted.test(line)) return at;
    if (line.startsWith("<<<<<<< ")) return -1;
  }
  return -1;
}
