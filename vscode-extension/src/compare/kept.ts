// The sign of kept changes in a comparison: a check mark in the gutter beside their lines, and a way to show them again.

import * as vscode from "vscode";

import type { Ctx, Disposable } from "../ctx.ts";
import type { Hunk } from "../server/protocol.ts";
import { links } from "../show/outside.ts";
import type { Pair, Review } from "./review.ts";

const DELAY = 100;

export class KeptMarks implements vscode.Disposable {
  private pending: NodeJS.Timeout | undefined;
  private readonly check: vscode.TextEditorDecorationType;
  private readonly disposables: Disposable[];

  constructor(
    private readonly ctx: Ctx,
    private readonly review: Review,
  ) {
    const icon = (theme: string) =>
      vscode.Uri.joinPath(ctx.extension.extensionUri, "media", `kept-${theme}.svg`);
    this.check = vscode.window.createTextEditorDecorationType({
      isWholeLine: true,
      gutterIconSize: "contain",
      light: { gutterIconPath: icon("light") },
      dark: { gutterIconPath: icon("dark") },
    });
    const schedule = () => {
      clearTimeout(this.pending);
      this.pending = setTimeout(() => void this.update(), DELAY);
    };
    this.disposables = [
      this.check,
      review.onDidChange(schedule),
      ctx.on("backstitch/timelineChanged", schedule),
      vscode.window.onDidChangeVisibleTextEditors(schedule),
      vscode.window.tabGroups.onDidChangeTabs(schedule),
      vscode.workspace.onDidSaveTextDocument(schedule),
    ];
  }

  /** Marks one kept change again. */
  async unkeep(argument: unknown): Promise<void> {
    const { uri, lines } = argument as { uri: string; lines: [number, number] };
    await this.ctx.request("backstitch/review", { uri, action: "unkeep", lines });
  }

  private async update(): Promise<void> {
    const pairs = this.review.compared();
    const kept = await Promise.all(pairs.map((pair) => this.keptOf(pair)));
    const isAny = kept.some((hunks) => hunks.length > 0);
    void vscode.commands.executeCommand("setContext", "backstitch.keptHere", isAny);
    for (const editor of vscode.window.visibleTextEditors) {
      const uri = editor.document.uri.toString();
      const at = pairs.findIndex(({ file }) => file.toString() === uri);
      editor.setDecorations(
        this.check,
        (kept[at] ?? []).map((hunk) => decoration(editor.document, uri, hunk)),
      );
    }
  }

  private async keptOf({ base, file, isGone }: Pair): Promise<Hunk[]> {
    if (isGone || this.ctx.state.name !== "running") return [];
    try {
      const where = { workspace: base.root, uri: file.toString() };
      const { files } = await this.ctx.request("backstitch/diff", { ...where, from: base.rev, to: "buffer" });
      return files.flatMap(({ hunks }) => hunks.filter(({ kept }) => kept === true));
    } catch {
      // the checkpoint was removed, which the comparison itself reports
      return [];
    }
  }

  dispose(): void {
    clearTimeout(this.pending);
    for (const each of this.disposables) each.dispose();
  }
}

function decoration(document: vscode.TextDocument, uri: string, hunk: Hunk): vscode.DecorationOptions {
  const [first, count] = hunk.new;
  const last = document.lineCount - 1;
  const start = Math.min(first - 1, last);
  const end = Math.min(first - 1 + Math.max(count, 1), last + 1);
  const lines = [first - 1, first - 1 + count];
  const title = vscode.l10n.t("Show it again");
  const hoverMessage = links(vscode.l10n.t("You kept this change."), [
    { title, command: "backstitch.change.unkeep", argument: { uri, lines } },
  ]);
  const range = new vscode.Range(start, 0, end - 1, document.lineAt(end - 1).text.length);
  return { range, hoverMessage };
}
