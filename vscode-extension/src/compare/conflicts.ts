// Conflict markers of a file, as three texts for VS Code's merge editor. Pure.

export type Sides = {
  /** What both have; nothing where they collide. */
  base: string;
  current: string;
  target: string;
  conflicts: number;
};

/** Undefined where there is no whole conflict in it. */
export function sides(text: string): Sides | undefined {
  const lines = text.split(/(?<=\n)/);
  const out = { base: [] as string[], current: [] as string[], target: [] as string[] };
  let conflicts = 0;
  for (let at = 0; at < lines.length; at++) {
    const line = lines[at] ?? "";
    const middle = line.startsWith("<<<<<<< ") ? find(lines, at + 1, /^=======\r?\n/) : -1;
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

/** The line that matches, before another conflict begins. */
function find(lines: string[], from: number, wanted: RegExp): number {
  for (let at = from; at < lines.length; at++) {
    const line = lines[at] ?? "";
    if (wanted.test(line)) return at;
    if (line.startsWith("<<<<<<< ")) return -1;
  }
  return -1;
}
