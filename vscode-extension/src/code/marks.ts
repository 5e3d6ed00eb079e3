// Marks of agents' changes in the code that the user has not reviewed: a bar in the gutter beside written lines, and a lens
// where lines were removed.

import * as vscode from "vscode";

import type { Restores } from "../commands/restore.ts";
import { hunks } from "../compare/hunks.ts";
import { type Review, putBack } from "../compare/review.ts";
import * as compare from "../compare/compare.ts";
import type { Ctx, Disposable } from "../ctx.ts";
import { type Base, below } from "../documents/open.ts";
import type { ReviewHunk } from "../server/protocol.ts";
import { line as oneLine } from "../show/words.ts";
import { type Removed, type Written, moved, removed, written } from "./removed.ts";

type Found = { written: Written[]; removed: Removed[] };
/** Changes that a setting selects. */
type Which = "all" | "session" | "latestTurn" | "off";
/** The newest turn of the workspace. */
type Newest = { turn: string | null; session: string | null };

const DELAY = 150;

export class Marks implements vscode.CodeLensProvider, vscode.Disposable {
  /** By URI of a visible document. */
  private readonly found = new Map<string, Found>();
  private readonly lensesChanged = new vscode.EventEmitter<void>();
  readonly onDidChangeCodeLenses = this.lensesChanged.event;
  private pending: NodeJS.Timeout | undefined;
  private readonly disposables: Disposable[];
  private readonly bar: vscode.TextEditorDecorationType;
  private readonly gap: vscode.TextEditorDecorationType;

  constructor(
    private readonly ctx: Ctx,
    private readonly review: Review,
  ) {
    this.bar = this.gutter("agent-line", true);
    this.gap = this.gutter("agent-removed", false);
    const refresh = () => {
      this.schedule();
    };
    this.disposables = [
      this.lensesChanged,
      this.bar,
      this.gap,
      vscode.languages.registerCodeLensProvider({ scheme: "file" }, this),
      ctx.on("backstitch/timelineChanged", refresh),
      ctx.onDidChangeState(refresh),
      vscode.window.onDidChangeVisibleTextEditors(refresh),
      vscode.workspace.onDidSaveTextDocument(refresh),
      vscode.workspace.onDidChangeConfiguration((change) => {
        if (change.affectsConfiguration("backstitch")) refresh();
      }),
      vscode.workspace.onDidChangeTextDocument((change) => {
        this.follow(change);
      }),
    ];
    refresh();
  }

  private gutter(name: string, isBar: boolean): vscode.TextEditorDecorationType {
    const icon = (theme: string) =>
      vscode.Uri.joinPath(this.ctx.extension.extensionUri, "media", `${name}-${theme}.svg`);
    return vscode.window.createTextEditorDecorationType({
      isWholeLine: true,
      gutterIconSize: "contain",
      light: { gutterIconPath: icon("light") },
      dark: { gutterIconPath: icon("dark") },
      overviewRulerColor: new vscode.ThemeColor("backstitch.agentLine"),
      overviewRulerLane: isBar ? vscode.OverviewRulerLane.Left : vscode.OverviewRulerLane.Center,
      rangeBehavior: vscode.DecorationRangeBehavior.ClosedClosed,
    });
  }

  provideCodeLenses(document: vscode.TextDocument): vscode.CodeLens[] {
    const say = vscode.l10n.t;
    const all = this.found.get(document.uri.toString())?.removed ?? [];
    const uri = document.uri.toString();
    return all.flatMap((each) => {
      const at = Math.min(each.line, document.lineCount - 1);
      const count = each.lines.length;
      const agent = each.agent ?? say("An agent");
      const title =
        count === 1 ? say("{0} removed 1 line", agent) : say("{0} removed {1} lines", agent, count);
      const commands: vscode.Command[] = [
        // text without a command
        { command: "", title, tooltip: oneLine(each.prompt ?? "") },
        { command: "backstitch.removed.show", title: say("Show"), tooltip: each.lines.join("\n") },
        { command: "backstitch.removed.putBack", title: say("Put back") },
        { command: "backstitch.removed.keep", title: say("Keep") },
      ];
      // the lenses of one line are in the order of their characters
      return commands.map((command, character) => {
        const range = new vscode.Range(at, character, at, character);
        return new vscode.CodeLens(range, { ...command, arguments: [{ uri, id: each.id }] });
      });
    });
  }

  /** Compares the file with its state before lines were removed. */
  async show(argument: unknown): Promise<void> {
    const { uri, each } = this.named(argument);
    const rev = revBefore(each);
    if (rev !== undefined) {
      await compare.since(this.ctx, this.review, { uri: uri.toString(), rev, line: each.line });
    }
  }

  /** Puts removed lines back, by a rewind where that can be told from other changes. */
  async putBack(restores: Restores, argument: unknown): Promise<void> {
    const { uri, each } = this.named(argument);
    const document = await vscode.workspace.openTextDocument(uri);
    const base = await this.base(uri, each);
    const old = base && (await this.review.original(base).catch(() => undefined));
    const all = old === undefined ? undefined : hunks(old, document.getText());
    const hunk = all?.find(
      ({ old: [from, to], now: [start, end] }) =>
        start === each.line && end === start && to - from === each.lines.length,
    );
    if (base !== undefined && all !== undefined && hunk !== undefined) {
      await this.review.takeBack(restores, [{ base, file: uri, isGone: false, change: { hunk, all } }]);
    } else {
      const lines: [number, number] = [0, each.lines.length];
      await putBack(document, each.lines.join("\n"), [{ old: lines, now: [each.line, each.line] }]);
    }
  }

  /** Marks the removal as reviewed. */
  async keep(argument: unknown): Promise<void> {
    const { uri, each } = this.named(argument);
    const lines: [number, number] = [each.line, each.line];
    await this.ctx.request("backstitch/review", { uri: uri.toString(), action: "keep", lines });
    this.schedule();
  }

  private named(argument: unknown): { uri: vscode.Uri; each: Removed } {
    const { uri, id } = argument as { uri: string; id: string };
    const each = this.found.get(uri)?.removed.find((removed) => removed.id === id);
    if (each === undefined) {
      throw new Error(vscode.l10n.t("The file has changed meanwhile. Review the change again."));
    }
    return { uri: vscode.Uri.parse(uri), each };
  }

  private async base(uri: vscode.Uri, each: Removed): Promise<Base | undefined> {
    const rev = revBefore(each);
    if (rev === undefined) return undefined;
    const root = await compare.rootOf(this.ctx, { uri: uri.toString() });
    const path = below(root, uri.fsPath);
    const { id } = await this.ctx.request("backstitch/checkpoint", { workspace: root, rev });
    return path === undefined ? undefined : { root, rev: id, path, there: true };
  }

  private schedule(): void {
    clearTimeout(this.pending);
    this.pending = setTimeout(() => {
      void this.refresh();
    }, DELAY);
  }

  private async refresh(): Promise<void> {
    const editors = vscode.window.visibleTextEditors.filter(({ document }) => document.uri.scheme === "file");
    const uris = new Set(editors.map(({ document }) => document.uri.toString()));
    for (const uri of this.found.keys()) if (!uris.has(uri)) this.found.delete(uri);
    const settings = vscode.workspace.getConfiguration("backstitch");
    const lenses = settings.get<Which>("codeLens", "all");
    const bars = settings.get<Which>("gutter", "all");
    if (this.ctx.state.name !== "running" || (lenses === "off" && bars === "off")) this.found.clear();
    else await Promise.all([...uris].map((uri) => this.read(uri, lenses, bars)));
    for (const editor of vscode.window.visibleTextEditors) this.decorate(editor, bars);
    this.lensesChanged.fire();
  }

  private async read(uri: string, lenses: Which, bars: Which): Promise<void> {
    try {
      const { files } = await this.ctx.request("backstitch/review", { uri });
      const all = files.flatMap((file): ReviewHunk[] => file.hunks ?? []);
      const newest = await this.newest(uri, all.length > 0 && [lenses, bars].some(isRestricted));
      const wanted = (which: Which) => (change: Newest) => isWanted(change, which, newest);
      this.found.set(uri, {
        written: written(all).filter(wanted(bars)),
        removed: removed(all).filter(wanted(lenses)),
      });
    } catch {
      // outside of every workspace, or the server has just stopped
      this.found.delete(uri);
    }
  }

  private async newest(uri: string, isNeeded: boolean): Promise<Newest | undefined> {
    if (!isNeeded) return undefined;
    const workspace = await compare.rootOf(this.ctx, { uri });
    const { checkpoints } = await this.ctx.request("backstitch/timeline", {
      workspace,
      kind: "turn",
      limit: 1,
    });
    return checkpoints[0];
  }

  private decorate(editor: vscode.TextEditor, bars: Which): void {
    const found = this.found.get(editor.document.uri.toString());
    const last = editor.document.lineCount - 1;
    const line = (at: number) => new vscode.Range(Math.min(at, last), 0, Math.min(at, last), 0);
    const lines = (found?.written ?? []).map(({ start, end }) => new vscode.Range(start, 0, end - 1, 0));
    editor.setDecorations(this.bar, bars === "off" ? [] : lines);
    editor.setDecorations(
      this.gap,
      bars === "off" ? [] : (found?.removed ?? []).map((each) => line(each.line)),
    );
  }

  /** Moves the places of removed lines with the user's edits. */
  private follow({ document, contentChanges }: vscode.TextDocumentChangeEvent): void {
    const found = this.found.get(document.uri.toString());
    if (found === undefined) return;
    for (const { range, text } of contentChanges) {
      const brought = text.split("\n").length - 1;
      const edit = { start: range.start.line, end: range.end.line, brought };
      found.removed = found.removed.map((each) => ({ ...each, line: moved(each.line, edit) }));
    }
  }

  dispose(): void {
    clearTimeout(this.pending);
    for (const each of this.disposables) each.dispose();
  }
}

function revBefore({ turn, checkpoint }: Removed): string | undefined {
  return turn ?? (checkpoint === null ? undefined : `${checkpoint}^`);
}

function isRestricted(which: Which): boolean {
  return which === "session" || which === "latestTurn";
}

function isWanted(change: Newest, which: Which, newest: Newest | undefined): boolean {
  if (which === "off") return false;
  if (which === "session") return change.session === newest?.session;
  return which === "all" || change.turn === newest?.turn;
}
