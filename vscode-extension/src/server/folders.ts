// Folders opened through a link: the server uses real paths, VS Code the path as opened.

import * as path from "node:path";

export type Folder = { opened: string; real: string };

/** Folders of this window that were opened through a link. */
let links: readonly Folder[] = [];

export function setOpened(folders: readonly Folder[]): void {
  links = folders.filter(({ opened, real }) => opened !== real);
}

/** Path of a file as VS Code has it. */
export function asOpened(file: string, folders = links): string {
  return moved(file, folders, "real", "opened");
}

/** Real path of a file of VS Code. */
export function really(file: string, folders = links): string {
  return moved(file, folders, "opened", "real");
}

function moved(file: string, folders: readonly Folder[], from: keyof Folder, to: keyof Folder): string {
  // an inner folder wins over an outer one
  const longestFirst = [...folders].sort((a, b) => b[from].length - a[from].length);
  for (const folder of longestFirst) {
    if (file === folder[from]) return folder[to];
    const start = folder[from].endsWith(path.sep) ? folder[from] : `${folder[from]}${path.sep}`;
    if (file.startsWith(start)) return path.join(folder[to], file.slice(start.length));
  }
  return file;
}
