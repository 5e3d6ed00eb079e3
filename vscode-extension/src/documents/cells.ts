// Notebooks as text for a preview: their cells with a line above each, instead of JSON. Pure.

type Cell = { cell_type?: unknown; source?: unknown };

/** Returns the cells of a notebook; undefined if the text is no notebook. Outputs are left out. */
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
