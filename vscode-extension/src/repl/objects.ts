// Stored values of programs as read-only documents. Their bytes are never read, only saved.

import * as vscode from "vscode";

import type { Ctx } from "../ctx.ts";
import type { Where } from "../server/protocol.ts";
import { inform } from "../show/outside.ts";

const SCHEME = "backstitch-object";

export class Objects implements vscode.TextDocumentContentProvider, vscode.Disposable {
  private readonly registered = vscode.workspace.registerTextDocumentContentProvider(SCHEME, this);
  /** Places of the values that were opened. */
  private readonly places = new Map<string, Where>();

  constructor(private readonly ctx: Ctx) {}

  async open(cid: string, place: Where): Promise<void> {
    this.places.set(cid, place);
    const document = await vscode.workspace.openTextDocument(uriOf(cid));
    await vscode.window.showTextDocument(document, { viewColumn: vscode.ViewColumn.Beside, preview: true });
  }

  async provideTextDocumentContent(uri: vscode.Uri): Promise<string> {
    const cid = uri.query;
    const { text } = await this.ctx.request("backstitch/repl/object", { ...this.place(cid), cid });
    return text;
  }

  /** Writes the bytes of the value that is shown to a file of the user's choice. */
  async save(): Promise<unknown> {
    const uri = vscode.window.activeTextEditor?.document.uri;
    if (uri?.scheme !== SCHEME) throw new Error(vscode.l10n.t("No value is shown"));
    const target = await vscode.window.showSaveDialog({
      title: vscode.l10n.t("Save the Bytes of the Value"),
    });
    if (target === undefined) return undefined;
    const cid = uri.query;
    const asked = { ...this.place(cid), cid, save: target.fsPath };
    const { size } = await this.ctx.request("backstitch/repl/object", asked);
    void inform(vscode.l10n.t("Wrote {0} bytes. Nobody has read them: unpickling runs code.", size));
    return size;
  }

  private place(cid: string): Where {
    return this.places.get(cid) ?? this.ctx.where();
  }

  dispose(): void {
    this.registered.dispose();
  }
}

function uriOf(cid: string): vscode.Uri {
  const short = cid.replace(/^sha256:/, "").slice(0, 12);
  return vscode.Uri.from({ scheme: SCHEME, path: `/value ${short}`, query: cid });
}
