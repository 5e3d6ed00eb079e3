// Changes since a checkpoint that the user looked at and keeps: they are marked no more. What is compared with is then
// the file at the checkpoint with those changes in it.

import * as vscode from "vscode";

import type { Ctx, Owned } from "../ctx.ts";
import { type Base, type Sides, baseOf, baseUri } from "../documents/open.ts";
import type { Commands } from "../server/protocol.ts";
import { type Hunk, hunks, touched, withHunks } from "./hunks.ts";

/** Null: that it is gone is kept. */
type Text = string | null;
/** How much is remembered, in characters; the oldest is forgotten first. */
const MOST = 4 << 20;
const KEPT = "kept";

export type At = Pick<Base, "root" | "rev">;

export class Review implements vscode.Disposable {
  private readonly kept: Map<string, Text>;
  private readonly changed = new vscode.EventEmitter<Base>();
  /** What is compared in editors of several files, by their titles and then by the files as they are now. */
  private readonly titles = new Map<string, Map<string, Base>>();
  private readonly heard: Owned[];
  readonly onDidChange = this.changed.event;

  constructor(private readonly ctx: Ctx) {
    this.kept = new Map(ctx.extension.workspaceState.get<[string, Text][]>(KEPT, []));
    const look = () => {
      void vscode.commands.executeCommand("setContext", "backstitch.comparing", this.looked() !== undefined);
    };
    this.heard = [
      this.changed,
      vscode.window.onDidChangeActiveTextEditor(look),
      vscode.window.tabGroups.onDidChangeTabs(look),
      vscode.window.tabGroups.onDidChangeTabGroups(look),
    ];
    look();
  }

  /** What a file is compared as; undefined: as it was at the checkpoint. */
  text(base: Base): Text | undefined {
    return this.kept.get(key(base));
  }

  /** An editor of several files has this title. */
  shownAs(title: string, all: readonly Sides[]): void {
    const bases = all.flatMap(({ original, modified }) => {
      const base = baseOf(original);
      return base === undefined ? [] : [[modified.toString(), base] as const];
    });
    this.titles.set(title, new Map(bases));
  }

  /** The file that is being looked at, if it is compared with a checkpoint. */
  private looked(): { editor: vscode.TextEditor; base: Base } | undefined {
    const editor = vscode.window.activeTextEditor;
    const tab = vscode.window.tabGroups.activeTabGroup.activeTab;
    if (editor?.document.uri.scheme !== "file" || tab === undefined) return undefined;
    const base =
      tab.input instanceof vscode.TabInputTextDiff
        ? baseOf(tab.input.original)
        : this.shownIn(tab.label)?.get(editor.document.uri.toString());
    return base === undefined ? undefined : { editor, base };
  }

  /** VS Code adds the number of files to the title. */
  private shownIn(label: string): Map<string, Base> | undefined {
    const found = [...this.titles].findLast(([title]) => label === title || label.startsWith(`${title} (`));
    return found?.[1];
  }

  private async touched(): Promise<{ editor: vscode.TextEditor; base: Base; old: string; some: Hunk[] }> {
    const say = vscode.l10n.t;
    const looked = this.looked();
    if (looked === undefined) throw new Error(say("No file is being compared with a checkpoint"));
    const { editor, base } = looked;
    const old = (await vscode.workspace.openTextDocument(baseUri(base))).getText();
    const all = hunks(old, editor.document.getText());
    const some = touched(all, editor.selection.start.line, editor.selection.end.line);
    if (some.length === 0) throw new Error(say("There is no change at the cursor. Put it into one."));
    return { editor, base, old, some };
  }

  /** The changes at the cursor, as a rewind of their lines. */
  async takeBack(): Promise<Commands["backstitch.rewind"]["params"]> {
    const { editor, base, some } = await this.touched();
    const lines: [number, number] = [
      Math.min(...some.map(({ now }) => now[0])),
      Math.max(...some.map(({ now }) => now[1])),
    ];
    return { uri: editor.document.uri.toString(), rev: base.rev, lines };
  }

  /** The changes at the cursor are kept. */
  async keep(): Promise<void> {
    const { editor, base, old, some } = await this.touched();
    await this.remember(base, withHunks(old, editor.document.getText(), some));
  }

  /** One change of a file, as the gutter shows it. */
  async keepHunk(base: Base, file: vscode.Uri, hunk: Hunk): Promise<void> {
    const old = (await vscode.workspace.openTextDocument(baseUri(base))).getText();
    const now = await vscode.workspace.openTextDocument(file);
    await this.remember(base, withHunks(old, now.getText(), [hunk]));
  }

  /** A file as it is on disk. */
  async keepFile(base: Base, file: vscode.Uri): Promise<void> {
    await this.remember(base, await textOf(file));
  }

  /** Whether nothing of a file is left to be looked at. */
  async isKept(base: Base, file: vscode.Uri): Promise<boolean> {
    const text = this.text(base);
    return text !== undefined && text === (await textOf(file));
  }

  /** Everything since this checkpoint is marked again. */
  async forget(at: At): Promise<void> {
    const mine = [...this.kept.keys()]
      .map(parse)
      .filter((base) => base.root === at.root && base.rev === at.rev);
    for (const base of mine) this.kept.delete(key(base));
    await this.save();
    for (const base of mine) this.changed.fire(base);
  }

  private async remember(base: Base, text: Text): Promise<void> {
    this.kept.delete(key(base));
    this.kept.set(key(base), text);
    await this.save();
    this.changed.fire(base);
  }

  private async save(): Promise<void> {
    let size = [...this.kept.values()].reduce((sum, text) => sum + (text?.length ?? 0), 0);
    for (const [oldest, text] of this.kept) {
      if (size <= MOST) break;
      size -= text?.length ?? 0;
      this.kept.delete(oldest);
    }
    await this.ctx.extension.workspaceState.update(KEPT, [...this.kept]);
  }

  dispose(): void {
    for (const each of this.heard) each.dispose();
  }
}

function key({ root, rev, path, there }: Base): string {
  return JSON.stringify([root, rev, path, there]);
}

function parse(key: string): Base {
  const [root, rev, path, there] = JSON.parse(key) as [string, string, string, boolean];
  return { root, rev, path, there };
}

async function textOf(file: vscode.Uri): Promise<Text> {
  try {
    const bytes = await vscode.workspace.fs.readFile(file);
    return new TextDecoder().decode(bytes);
  } catch (error) {
    if (error instanceof vscode.FileSystemError && error.code === "FileNotFound") return null;
    throw error;
  }
}
