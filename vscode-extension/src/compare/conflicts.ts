// Conflict markers of a file, as three texts for VS Code's merge editor. Pure.

export type Sides = {
  /** What both have; nothing where they collide. */
  base: string;
  current: string;
  target: string;
  conflicts: number;
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
  let conflicts = 0;
  for (let at = 0; at < lines.length; at++) {
    const line = lines[at] ?? "";
    const middle = line.startsWith("<<<<<<< ") ? divider(lines, at, sizes[conflicts]) : -1;
    const end = middle < 0 ? -1 : find(lines, middle + 1, /^>>>>>>> /);
    if (end < 0) {
      for (const side of Object.values(out)) side.push(line);
      continue;
    }
    // as a restore writes them: what was, then what is kept
    out.target.push(...lines.slice(at + 1, middle));
    out.current.push(...lines.slice(middle + 1, end));
    conflicts++;
    at = end;
  }
  if (conflicts === 0) return undefined;
  const joined = (side: string[]) => side.join("");
  return { base: joined(out.base), current: joined(out.current), target: joined(out.target), conflicts };
}

/** The line between the sides of the conflict that begins here. */
function divider(lines: string[], begin: number, size: Size | undefined): number {
  const middle = begin + 1 + (size?.target ?? 0);
  const isMarked = (at: number, marker: RegExp) => marker.test(lines[at] ?? "");
  const fits =
    size !== undefined &&
    isMarked(middle, /^=======\r?\n/) &&
    isMarked(middle + 1 + size.current, /^>>>>>>> /);
  return fits ? middle : find(lines, begin + 1, /^=======\r?\n/);
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
