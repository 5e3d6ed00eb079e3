// The editor's own undo of a file that a restore wrote: it brings the text from before back, unsaved. The user is informed once.

import * as vscode from "vscode";

import { onDisk } from "../documents/open.ts";
import { type PlanResult, shown } from "../server/protocol.ts";
import { inform } from "../show/outside.ts";

export class UndoneInEditor implements vscode.Disposable {
  /** Texts before the last restore, by URI. */
  private texts = new Map<string, string>();
  private readonly registered = vscode.workspace.onDidChangeTextDocument((change) => {
    if (change.reason === vscode.TextDocumentChangeReason.Undo) void this.tell(change.document);
  });

  /** Remembers the texts of files before a restore. */
  expect(root: string, { texts }: PlanResult): void {
    const known = (texts ?? []).flatMap(({ path, from, now }): [string, string][] =>
      now === null ? [] : [[onDisk(root, shown(from ?? path)).toString(), plain(now)]],
    );
    this.texts = new Map(known);
  }

  private async tell(document: vscode.TextDocument): Promise<void> {
    const uri = document.uri.toString();
    if (!document.isDirty || this.texts.get(uri) !== plain(document.getText())) return;
    this.texts.delete(uri);
    const say = vscode.l10n.t;
    const name = vscode.workspace.asRelativePath(document.uri);
    const text = say(
      "The editor's undo brought back what {0} had before, unsaved. The files stay as they are.",
      name,
    );
    const [undo, discard] = [say("Undo in All Files"), say("Discard")];
    const chosen = await inform(text, undo, discard);
    if (chosen === undefined) return;
    await vscode.window.showTextDocument(document);
    // either way the unsaved text goes; the undo of a restore brings it back into the file
    await vscode.commands.executeCommand("workbench.action.files.revert");
    if (chosen === undo) await vscode.commands.executeCommand("backstitch.undo");
  }

  dispose(): void {
    this.registered.dispose();
  }
}

/** Without the byte order mark and carriage returns, which documents hide. */
function plain(text: string): string {
  return text.replace(/^\uFEFF/, "").replaceAll("\r\n", "\n");
}
