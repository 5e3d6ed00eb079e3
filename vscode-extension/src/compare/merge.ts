// VS Code's merge editor for a file with conflict markers from a restore.

import { randomUUID } from "node:crypto";

import * as vscode from "vscode";

import type { Conflict } from "../server/protocol.ts";
import { type ConflictSides, type Size, hasAll, sides } from "./conflicts.ts";

const SCHEME = "backstitch-merge";

/** Time limit for an editor to reload a written file, in milliseconds. */
const PATIENCE = 5000;

/** Returns the conflicts of a document once it shows the text that the restore wrote. */
function marked(document: vscode.TextDocument, sizes: readonly Size[]): Promise<ConflictSides | undefined> {
  return new Promise((resolve) => {
    const listener = vscode.workspace.onDidChangeTextDocument((change) => {
      if (change.document === document) look(false);
    });
    const timer = setTimeout(() => {
      look(true);
    }, PATIENCE);
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

/** Holds the three texts of each merged file while the window is open. */
export class Merges implements vscode.TextDocumentContentProvider, vscode.Disposable {
  private readonly texts = new Map<string, string>();
  private readonly registered = vscode.workspace.registerTextDocumentContentProvider(SCHEME, this);
  private count = 0;
  /** Identifies this window: tabs restored in a later window have another id. */
  private readonly window = randomUUID();

  provideTextDocumentContent(uri: vscode.Uri): string {
    return this.texts.get(uri.toString()) ?? "";
  }

  /** Opens the merge editor, or the file itself if VS Code has no merge editor or there is nothing to merge. */
  async open(file: vscode.Uri, target: string, hunks: Conflict["hunks"]): Promise<void> {
    const document = await vscode.workspace.openTextDocument(file);
    const length = ([start, end]: [number, number]) => end - start;
    const sizes = hunks.map(({ target, kept }) => ({ target: length(target), current: length(kept) }));
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
    try {
      // the built-in git extension uses the same command
      await vscode.commands.executeCommand("_open.mergeEditor", {
        base: keep("base"),
        input1: { uri: keep("target"), title: vscode.l10n.t("Older"), description: target },
        input2: { uri: keep("current"), title: vscode.l10n.t("Yours") },
        output: file,
      });
    } catch {
      await vscode.window.showTextDocument(document);
    }
  }

  dispose(): void {
    this.registered.dispose();
  }
}
