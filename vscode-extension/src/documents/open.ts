// Files at a checkpoint as documents of VS Code, and the editors that compare them.

import * as path from "node:path";
import * as vscode from "vscode";

import type { Ctx, Disposable } from "../ctx.ts";
import { asOpened, really } from "../server/folders.ts";
import { type ChangedFile, type Change, type ContentResult, type Text, shown } from "../server/protocol.ts";
import { parts } from "./uri.ts";

/** Empty document for the side of a diff on which the file does not exist. */
export const NOTHING = vscode.Uri.from({ scheme: "backstitch-nothing", path: "/no file" });

export class Nothing implements vscode.TextDocumentContentProvider, vscode.Disposable {
  private readonly registered = vscode.workspace.registerTextDocumentContentProvider(NOTHING.scheme, this);

  provideTextDocumentContent(): string {
    return "";
  }

  dispose(): void {
    this.registered.dispose();
  }
}

/** Base of a comparison: the file at a checkpoint; `there` is false if it did not exist. */
export type Base = { root: string; rev: string; path: string; there: boolean };

type Query = { root: string; rev: string; base?: true; nothing?: true; unsaved?: number };

/** URI of a file at a checkpoint. It has the file's own path, so that VS Code treats both as one file. */
export function at(root: string, rev: string, file: Text): vscode.Uri {
  return named({ root, rev }, shown(file));
}

/** Like `at`, with the changes that the user keeps. */
export function baseUri({ root, rev, path, there }: Base): vscode.Uri {
  return named({ root, rev, base: true, ...(there ? {} : { nothing: true }) }, path);
}

export function baseOf(uri: vscode.Uri): Base | undefined {
  if (uri.scheme !== AT) return undefined;
  const { root, rev, base, nothing } = JSON.parse(uri.query) as Query;
  const path = base && below(root, uri.with({ scheme: "file", query: "" }).fsPath);
  return path === undefined ? undefined : { root, rev, path, there: nothing === undefined };
}

/** URI of a text that an editor had not saved at a checkpoint. */
export function keptUri({ file, root, rev, number }: Kept): vscode.Uri {
  const query: Query = { root, rev, unsaved: number };
  return file.with({ scheme: AT, query: JSON.stringify(query) });
}

/** A text that an editor had not saved. `number`: of the texts of this file at the checkpoint, from 1. */
export type Kept = { root: string; file: vscode.Uri; rev: string; number: number };

function named(query: Query, file: string): vscode.Uri {
  return onDisk(query.root, file).with({ scheme: AT, query: JSON.stringify(query) });
}

const AT = "backstitch-file";

/** Texts that present files are compared with. */
export interface Bases {
  original(base: Base): Promise<string>;
  readonly onDidChange: vscode.Event<readonly Base[]>;
}

/** Provides files at checkpoints from the server. */
export class Files implements vscode.TextDocumentContentProvider, vscode.Disposable {
  private readonly changed = new vscode.EventEmitter<vscode.Uri>();
  readonly onDidChange = this.changed.event;
  private readonly disposables: Disposable[];

  constructor(
    private readonly ctx: Ctx,
    private readonly bases: Bases,
  ) {
    this.disposables = [
      this.changed,
      vscode.workspace.registerTextDocumentContentProvider(AT, this),
      bases.onDidChange((changed) => {
        for (const base of changed) this.changed.fire(baseUri(base));
      }),
    ];
  }

  async provideTextDocumentContent(uri: vscode.Uri): Promise<string> {
    const base = baseOf(uri);
    if (base !== undefined) return this.bases.original(base);
    const { root, rev, unsaved } = JSON.parse(uri.query) as Query;
    const path = below(root, uri.with({ scheme: "file", query: "" }).fsPath) ?? "";
    return (await textAt(this.ctx, { root, rev, path }, false, unsaved)).text;
  }

  dispose(): void {
    for (const each of this.disposables) each.dispose();
  }
}

/**
 * Returns the text of a file at a checkpoint; `kept`: with the changes since that the user keeps; `unsaved`: the text with
 * this number that an editor had not saved.
 */
export async function textAt(
  ctx: Ctx,
  { root, rev, path }: Omit<Base, "there">,
  kept: boolean,
  unsaved?: number,
): Promise<ContentResult> {
  const uri = vscode.Uri.from(parts({ root, rev, path })).toString();
  const content = await ctx.request("backstitch/content", { uri, kept, unsaved: unsaved ?? null });
  // VS Code hides the byte order mark in documents, too
  return { ...content, text: content.text.replace(/^\uFEFF/, "") };
}

export function onDisk(root: string, file: Text): vscode.Uri {
  return vscode.Uri.file(asOpened(path.join(root, shown(file))));
}

/** Path from the root with `/`; undefined for a file outside of it. */
export function below(root: string, file: string): string | undefined {
  const slashes = (path: string) => path.replaceAll("\\", "/");
  const start = `${slashes(root).replace(/\/$/, "")}/`;
  const real = slashes(really(file));
  return real.startsWith(start) ? real.slice(start.length) : undefined;
}

export function basename(uri: vscode.Uri): string {
  return uri.path.slice(uri.path.lastIndexOf("/") + 1);
}

export type Sides = { original: vscode.Uri; modified: vscode.Uri; resource: vscode.Uri };

/** Two sides of one file. Without `to` the right side is the present file, which can be edited. */
export function sides(
  root: string,
  change: Pick<ChangedFile | Change, "path" | "kind" | "from">,
  rev: string,
  to: string | undefined,
): Sides {
  const was = shown(change.from ?? change.path);
  const there = change.kind !== "create";
  const older = there ? at(root, rev, was) : NOTHING;
  const now = (file: Text) => (to === undefined ? onDisk(root, file) : at(root, to, file));
  return {
    original: to === undefined ? baseUri({ root, rev, path: was, there }) : older,
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

/** Opens all files of a change in one editor. `hasText`: true if a file that did not exist has a text to compare with. */
export async function changes(
  title: string,
  all: Sides[],
  hasText: (base: Base) => boolean = () => false,
): Promise<void> {
  const isNothing = (uri: vscode.Uri) => {
    const base = baseOf(uri);
    return uri === NOTHING || (base?.there === false && !hasText(base));
  };
  const rows = all.map(({ resource, original, modified }) => [
    resource,
    // the multi-diff editor takes undefined for a missing file
    isNothing(original) ? undefined : original,
    modified === NOTHING ? undefined : modified,
  ]);
  await vscode.commands.executeCommand("vscode.changes", title, rows);
}
