// Conflict markers of a file, as three texts for VS Code's merge editor. Pure.

export type Sides = {
  /** What both have; nothing where they collide. */
  base: string;
  current: string;
  target: string;
  conflicts: Size[];
};

/** How many lines each side of a conflict has. */
export type Size = { target: number; current: number };

/**
 * Undefined where there is no whole conflict in it. `sizes`: of the conflicts in their order, since a line of either side
 * may look like a marker.
 */
export function sides(text: string, sizes: readonly Size[] = []): Sides | undefined {
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
    // as a restore writes them: what was, then what is kept
    out.target.push(...lines.slice(at + 1, middle));
    out.current.push(...lines.slice(middle + 1, end));
    conflicts.push({ target: middle - at - 1, current: end - middle - 1 });
    at = end;
  }
  if (conflicts.length === 0) return undefined;
  const joined = (side: string[]) => side.join("");
  return { base: joined(out.base), current: joined(out.current), target: joined(out.target), conflicts };
}

/** Whether conflicts of these sizes are among others, in their order. */
export function hasAll(found: readonly Size[], sizes: readonly Size[]): boolean {
  let at = 0;
  for (const { target, current } of found) {
    const next = sizes[at];
    if (next?.target === target && next.current === current) at++;
  }
  return at === sizes.length;
}

/** The line between the sides of the conflict that begins here, and the one behind them; -1 where it is none. */
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

/** The line that matches, before another conflict begins. */
function find(lines: string[], from: number, wanted: RegExp): number {
  for (let at = from; at < lines.length; at++) {
    const line = lines[at] ?? "";
    if (wanted.test(line)) return at;
    if (line.startsWith("<<<<<<< ")) return -1;
  }
  return -1;
}
