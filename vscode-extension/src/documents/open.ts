// Files at a checkpoint as VS Code's documents, and the editors that compare them.

import * as path from "node:path";
import * as vscode from "vscode";

import type { Ctx } from "../ctx.ts";
import { type ChangedFile, type Change, type Text, shown } from "../server/protocol.ts";
import { parts } from "./uri.ts";

/** A document without a line, for the side of a diff on which a file is not there. */
export const NOTHING = vscode.Uri.from({ scheme: "backstitch-nothing", path: "/" });

export class Nothing implements vscode.TextDocumentContentProvider, vscode.Disposable {
  private readonly registered = vscode.workspace.registerTextDocumentContentProvider(NOTHING.scheme, this);

  provideTextDocumentContent(): string {
    return "";
  }

  dispose(): void {
    this.registered.dispose();
  }
}

/** A file at a checkpoint, by its own path: beside the file itself it is the same file, with another content. */
export function at(root: string, rev: string, file: Text): vscode.Uri {
  return onDisk(root, file).with({ scheme: AT, query: JSON.stringify({ root, rev }) });
}

const AT = "backstitch-file";

/** Asks the server for them. */
export class Files implements vscode.TextDocumentContentProvider, vscode.Disposable {
  private readonly registered = vscode.workspace.registerTextDocumentContentProvider(AT, this);

  constructor(private readonly ctx: Ctx) {}

  async provideTextDocumentContent(uri: vscode.Uri): Promise<string> {
    const { root, rev } = JSON.parse(uri.query) as { root: string; rev: string };
    const path = below(root, uri.with({ scheme: "file", query: "" }).fsPath) ?? "";
    const asked = vscode.Uri.from(parts({ root, rev, path })).toString();
    return (await this.ctx.request("backstitch/content", { uri: asked })).text;
  }

  dispose(): void {
    this.registered.dispose();
  }
}

export function onDisk(root: string, file: Text): vscode.Uri {
  return vscode.Uri.file(path.join(root, shown(file)));
}

/** A path from the root with `/`; undefined where it is elsewhere. */
export function below(root: string, file: string): string | undefined {
  const slashes = (path: string) => path.replaceAll("\\", "/");
  const start = `${slashes(root).replace(/\/$/, "")}/`;
  return slashes(file).startsWith(start) ? slashes(file).slice(start.length) : undefined;
}

/** Two sides of one file; `to` undefined: as it is now, which can be edited. */
export function sides(
  root: string,
  change: Pick<ChangedFile | Change, "path" | "kind" | "from">,
  from: string,
  to: string | undefined,
): { original: vscode.Uri; modified: vscode.Uri; resource: vscode.Uri } {
  const now = (file: Text) => (to === undefined ? onDisk(root, file) : at(root, to, file));
  return {
    original: change.kind === "create" ? NOTHING : at(root, from, change.from ?? change.path),
    modified: change.kind === "delete" ? NOTHING : now(change.path),
    resource: onDisk(root, change.path),
  };
}

export async function diff(
  sides: { original: vscode.Uri; modified: vscode.Uri },
  title: string,
  options: vscode.TextDocumentShowOptions = {},
): Promise<void> {
  await vscode.commands.executeCommand("vscode.diff", sides.original, sides.modified, title, options);
}

/** All files of a change in one editor. */
export async function changes(
  title: string,
  all: { original: vscode.Uri; modified: vscode.Uri; resource: vscode.Uri }[],
): Promise<void> {
  const rows = all.map(({ resource, original, modified }) => [
    resource,
    // the multi-diff editor knows of files that are not there
    original === NOTHING ? undefined : original,
    modified === NOTHING ? undefined : modified,
  ]);
  await vscode.commands.executeCommand("vscode.changes", title, rows);
}
