// Agents' changes in notebooks: an item below each cell with a change that the user has not reviewed. Lenses and hovers belong to
// text documents, which a notebook is not.

import * as vscode from "vscode";

import type { Ctx, Disposable } from "../ctx.ts";
import { cellAt } from "../documents/cells.ts";
import { withoutIcons } from "../show/outside.ts";
import { line as oneLine } from "../show/words.ts";

export class NotebookMarks implements vscode.NotebookCellStatusBarItemProvider, vscode.Disposable {
  private readonly changed = new vscode.EventEmitter<void>();
  readonly onDidChangeCellStatusBarItems = this.changed.event;
  private readonly disposables: Disposable[];

  constructor(private readonly ctx: Ctx) {
    const refresh = () => {
      this.changed.fire();
    };
    this.disposables = [
      this.changed,
      vscode.notebooks.registerNotebookCellStatusBarItemProvider("jupyter-notebook", this),
      ctx.on("backstitch/timelineChanged", refresh),
      ctx.onDidChangeState(refresh),
      vscode.workspace.onDidSaveNotebookDocument(refresh),
    ];
  }

  async provideCellStatusBarItems(cell: vscode.NotebookCell): Promise<vscode.NotebookCellStatusBarItem[]> {
    const { uri } = cell.notebook;
    const gutter = vscode.workspace.getConfiguration("backstitch").get<string>("gutter");
    if (uri.scheme !== "file" || gutter === "off" || this.ctx.state.name !== "running") return [];
    const say = vscode.l10n.t;
    try {
      const { files } = await this.ctx.request("backstitch/review", { uri: uri.toString() });
      const hunks = files.flatMap((file) => file.hunks ?? []);
      if (hunks.length === 0) return [];
      const json = new TextDecoder().decode(await vscode.workspace.fs.readFile(uri));
      const own = hunks.findLast(({ new: [first, count] }) => {
        const lines = Array.from({ length: Math.max(count, 1) }, (_, at) => first - 1 + at);
        return lines.some((line) => cellAt(json, line) === cell.index);
      });
      if (own === undefined) return [];
      const name = oneLine(own.prompt ?? "", 40) || (own.agent ?? say("An agent"));
      const item = new vscode.NotebookCellStatusBarItem(
        `$(hubot) ${withoutIcons(name)}`,
        vscode.NotebookCellStatusBarAlignment.Right,
      );
      item.tooltip = say("Changed by {0}. Revert the turn…", own.agent ?? say("An agent"));
      const argument = {
        uri: uri.toString(),
        ...(own.turn === null ? { step: own.checkpoint ?? "@" } : { turn: own.turn }),
      };
      item.command = { command: "backstitch.revert", title: say("Revert turn"), arguments: [argument] };
      return [item];
    } catch {
      // outside of every workspace
      return [];
    }
  }

  dispose(): void {
    for (const each of this.disposables) each.dispose();
  }
}
