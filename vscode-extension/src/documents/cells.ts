// Notebooks as text for a preview: their cells with a line above each, instead of JSON; and the lines of cells. Pure.

type Cell = { cell_type?: unknown; source?: unknown };

/** Returns the cells of a notebook; undefined if the text is not a notebook. Outputs are left out. */
export function cells(json: string): string | undefined {
  let notebook: unknown;
  try {
    notebook = JSON.parse(json);
  } catch {
    return undefined;
  }
  const all = (notebook as { cells?: unknown } | null)?.cells;
  if (!Array.isArray(all)) return undefined;
  return (all as (Cell | null)[])
    .map((cell) => {
      const source = cell?.source;
      const text = Array.isArray(source) ? source.join("") : typeof source === "string" ? source : "";
      return `# %% [${typeof cell?.cell_type === "string" ? cell.cell_type : "cell"}]\n${text}\n`;
    })
    .join("\n");
}

/**
 * Returns the index of the cell that a line of a notebook's file belongs to, from 0; undefined for a line outside of all cells.
 * The file has to be laid out as Jupyter and VS Code write it: a key, a brace or a value on each line.
 */
export function cellAt(json: string, line: number): number | undefined {
  const lines = json.split("\n");
  const first = lines.findIndex((text) => /^\s*"cells":\s*\[\s*$/.test(text));
  const opened = lines[first + 1];
  if (first < 0 || opened?.trim() !== "{") return undefined;
  const indent = opened.slice(0, opened.indexOf("{"));
  let index = -1;
  for (let at = first + 1; at < lines.length; at++) {
    const text = (lines[at] ?? "").trimEnd();
    if (text === `${indent}{`) index++;
    const isInside = text.startsWith(indent) && text.trim() !== "]";
    if (!isInside && text.length <= indent.length + 1) return undefined;
    if (at === line) return index;
  }
  return undefined;
}
