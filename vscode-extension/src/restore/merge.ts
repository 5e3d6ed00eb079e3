// VS Code's merge editor for a file with conflict markers from a restore.

import { randomUUID } from "node:crypto";

import * as vscode from "vscode";

import type { Conflict } from "../server/protocol.ts";
import { type ConflictSides, type Size, hasAll, sides } from "./conflicts.ts";

const SCHEME = "backstitch-merge";

/** Time limit for an editor to reload a written file, in milliseconds. */
const RELOAD_TIMEOUT = 5000;

/** Returns the conflicts of a document once it shows the text that the restore wrote. */
function marked(document: vscode.TextDocument, sizes: readonly Size[]): Promise<ConflictSides | undefined> {
  return new Promise((resolve) => {
    const listener = vscode.workspace.onDidChangeTextDocument((change) => {
      if (change.document === document) look(false);
    });
    const timer = setTimeout(() => {
      look(true);
    }, RELOAD_TIMEOUT);
    const look = (last: boolean) => {
      const marked = sides(document.getText(), sizes);
      // the file may have had conflicts before; where several edits conflict, the markers of one may hold those of another
      const found = marked && (last || hasAll(marked.conflicts, sizes)) ? marked : undefined;
      if (found === undefined && !last) return;
      listener.dispose();
      clearTimeout(timer);
      resolve(found);
    };
    look(false);
  });
}

/**
 * A file with conflict markers from a restore, and the title of that restore. `isOnDisk`: from a merge with the file on disk,
 * in text that is not saved.
 */
export type MarkedFile = { file: vscode.Uri; title: string; hunks: Conflict["hunks"]; isOnDisk?: true };

/**
 * Merge editors for files with conflicts, one after the other; an item of the status bar counts those that are left. Holds the
 * three texts of each merged file while the window is open.
 */
export class Merges implements vscode.TextDocumentContentProvider, vscode.Disposable {
  private readonly texts = new Map<string, string>();
  private left: MarkedFile[] = [];
  private readonly item = vscode.window.createStatusBarItem(
    "conflicts",
    vscode.StatusBarAlignment.Left,
    // beside the other items of Backstitch
    -1,
  );
  private readonly registered = [
    this.item,
    vscode.workspace.registerTextDocumentContentProvider(SCHEME, this),
    vscode.workspace.onDidSaveTextDocument(({ uri }) => {
      if (this.left.some(({ file }) => file.toString() === uri.toString())) void this.check(true);
    }),
  ];
  private count = 0;
  /** Identifies this window: tabs restored in a later window have another id. */
  private readonly window = randomUUID();

  provideTextDocumentContent(uri: vscode.Uri): string {
    return this.texts.get(uri.toString()) ?? "";
  }

  /** Leads through these files: the next is opened once one is saved without conflicts. */
  async lead(files: readonly MarkedFile[]): Promise<void> {
    const isNew = ({ file }: MarkedFile) =>
      this.left.every((known) => known.file.toString() !== file.toString());
    this.left = [...this.left, ...files.filter(isNew)];
    this.show();
    await this.next();
  }

  /** Opens the first file that still has conflicts. */
  async next(): Promise<void> {
    const [first] = this.left;
    if (first !== undefined) await this.open(first);
  }

  /** Forgets files without conflicts on disk, as after the undo of a rewind. `lead`: opens the next one if some are done. */
  async check(lead = false): Promise<void> {
    const before = this.left.length;
    if (before === 0) return;
    const isOpen = await Promise.all(this.left.map(({ file }) => hasMarkers(file)));
    this.left = this.left.filter((_, at) => isOpen[at]);
    this.show();
    if (lead && this.left.length < before) await this.next();
  }

  private show(): void {
    const say = vscode.l10n.t;
    const count = this.left.length;
    const files = this.left.map(({ file }) => vscode.workspace.asRelativePath(file)).join(", ");
    const text = count === 1 ? say("1 file with conflicts") : say("{0} files with conflicts", count);
    this.item.name = say("Backstitch: Conflicts");
    this.item.text = `$(git-merge) ${text}`;
    this.item.tooltip = say("Resolve the conflicts in {0}", files);
    this.item.command = "backstitch.conflicts.next";
    if (count === 0) this.item.hide();
    else this.item.show();
  }

  /** Opens the merge editor, or the file itself if VS Code has no merge editor or there is nothing to merge. */
  async open({ file, title, hunks, isOnDisk }: MarkedFile): Promise<void> {
    const document = await vscode.workspace.openTextDocument(file);
    const length = ([start, end]: [number, number]) => end - start;
    // a merge of unsaved text has the user's lines first
    const isOursFirst = isOnDisk === true;
    const sizes = hunks.map(({ target, kept }) =>
      isOursFirst
        ? { target: length(kept), current: length(target) }
        : { target: length(target), current: length(kept) },
    );
    const found = await marked(document, sizes);
    if (found === undefined) {
      await vscode.window.showTextDocument(document);
      return;
    }
    this.count++;
    const keep = (side: "base" | "current" | "target") => {
      const uri = vscode.Uri.from({
        scheme: SCHEME,
        path: file.path,
        query: `${this.count}-${side}-${this.window}`,
      });
      this.texts.set(uri.toString(), found[side]);
      return uri;
    };
    const theirs = isOursFirst ? vscode.l10n.t("On Disk") : vscode.l10n.t("Older");
    const [input1, input2] = [keep("target"), keep("current")];
    if (isOursFirst && document.isDirty) await takeOver(document);
    try {
      // the built-in git extension uses the same command
      await vscode.commands.executeCommand("_open.mergeEditor", {
        base: keep("base"),
        input1: { uri: isOursFirst ? input2 : input1, title: theirs, description: title },
        input2: { uri: isOursFirst ? input1 : input2, title: vscode.l10n.t("Yours") },
        output: file,
      });
    } catch {
      await vscode.window.showTextDocument(document);
    }
  }

  dispose(): void {
    for (const each of this.registered) each.dispose();
  }
}

/**
 * Makes the text of a document newer than its file. The merge editor saves its document as it opens, and VS Code refuses that
 * for a text that is older than the file.
 */
async function takeOver(document: vscode.TextDocument): Promise<void> {
  const merged = document.getText();
  await vscode.window.showTextDocument(document);
  await vscode.commands.executeCommand("workbench.action.files.revert");
  const edit = new vscode.WorkspaceEdit();
  edit.replace(document.uri, new vscode.Range(0, 0, document.lineCount, 0), merged);
  await vscode.workspace.applyEdit(edit);
}

async function hasMarkers(file: vscode.Uri): Promise<boolean> {
  try {
    const text = new TextDecoder().decode(await vscode.workspace.fs.readFile(file));
    return sides(text) !== undefined;
  } catch {
    // it was deleted
    return false;
  }
}
