// Folders that were opened through a link: the server names files by where they really are, VS Code by how they were
// opened.

import * as path from "node:path";

export type Folder = { opened: string; real: string };

/** The name by which VS Code has a file. */
export function asOpened(file: string, folders: readonly Folder[]): string {
  return moved(file, folders, "real", "opened");
}

/** Where a file of VS Code really is. */
export function really(file: string, folders: readonly Folder[]): string {
  return moved(file, folders, "opened", "real");
}

function moved(file: string, folders: readonly Folder[], from: keyof Folder, to: keyof Folder): string {
  // of a folder within another, its own name
  const longestFirst = [...folders].sort((a, b) => b[from].length - a[from].length);
  for (const folder of longestFirst) {
    if (file === folder[from]) return folder[to];
    const start = folder[from].endsWith(path.sep) ? folder[from] : `${folder[from]}${path.sep}`;
    if (file.startsWith(start)) return path.join(folder[to], file.slice(start.length));
  }
  return file;
}
