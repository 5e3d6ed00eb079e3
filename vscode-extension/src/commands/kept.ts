// Text that an editor had not saved when an agent changed its file: shown, and compared with the file of now.

import * as vscode from "vscode";

import { type Kept, keptUri } from "../documents/open.ts";

export async function show(kept: Kept): Promise<void> {
  await vscode.commands.executeCommand("vscode.open", keptUri(kept), { preview: true }, titleOf(kept));
}

/** Compares the text with the file, which can be edited: the arrows between both take changes over. */
export async function compare(kept: Kept): Promise<void> {
  const title = vscode.l10n.t("{0} and now", titleOf(kept));
  await vscode.commands.executeCommand("vscode.diff", keptUri(kept), kept.file, title);
}

function titleOf({ file, rev }: Kept): string {
  return vscode.l10n.t("{0} (unsaved text at {1})", file.path.slice(file.path.lastIndexOf("/") + 1), rev);
}
