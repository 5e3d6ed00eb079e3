// Marks of agents' changes in the code that the user has not reviewed: a bar in the gutter beside written lines, and a lens
// where lines were removed.

import * as vscode from "vscode";

import * as compare from "../compare/compare.ts";
import { hunks } from "../compare/hunks.ts";
import { type Review, putBack } from "../compare/review.ts";
import type { Ctx, Disposable } from "../ctx.ts";
import { type Base, below } from "../documents/open.ts";
import type { Restores } from "../restore/restores.ts";
import type { ReviewHunk } from "../server/protocol.ts";
import { line as oneLine } from "../show/words.ts";
import { type Gutter, type Mark, editOf } from "./gutter.ts";
import { movedLine } from "./lines.ts";
import { type Removed, type Written, removed, written } from "./removed.ts";

type Found = { written: Written[]; removed: Removed[] };
/** Changes that a setting selects. */
type Which = "all" | "session" | "latestTurn" | "off";
/** The newest turn of the workspace. */
type Newest = { turn: string | null; session: string | null };

/** Debounce delays in milliseconds. */
const DELAY = 150;
const AFTER_TEXT = 300;

export class Marks implements vscode.CodeLensProvider, vscode.Disposable {
  /** By URI of a visible document. */
  private readonly found = new Map<string, Found>();
  private readonly lensesChanged = new vscode.EventEmitter<void>();
  readonly onDidChangeCodeLenses = this.lensesChanged.event;
  private pending: NodeJS.Timeout | undefined;
  private readonly disposables: Disposable[];

  constructor(
    private readonly ctx: Ctx,
    private readonly review: Review,
    private readonly gutter: Gutter,
  ) {
    const refresh = () => {
      this.schedule();
    };
    this.disposables = [
      this.lensesChanged,
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

  private schedule(delay = DELAY): void {
    clearTimeout(this.pending);
    this.pending = setTimeout(() => {
      void this.refresh();
    }, delay);
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
    for (const uri of uris) this.mark(uri, bars);
    this.lensesChanged.fire();
  }

  private async read(uri: string, lenses: Which, bars: Which): Promise<void> {
    const version = () =>
      vscode.workspace.textDocuments.find((document) => document.uri.toString() === uri)?.version;
    const asked = version();
    try {
      const { files } = await this.ctx.request("backstitch/review", { uri });
      const all = files.flatMap((file): ReviewHunk[] => file.hunks ?? []);
      const newest = await this.newest(uri, all.length > 0 && [lenses, bars].some(isRestricted));
      // the text changed meanwhile: its next reading has the lines
      if (version() !== asked) return;
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

  private mark(uri: string, bars: Which): void {
    const found = this.found.get(uri);
    const isShown = bars !== "off" && found !== undefined;
    const lines = (isShown ? found.written : []).map(({ start, end }): Mark => ({
      start,
      end,
      sign: "agent-line",
    }));
    const gaps = (isShown ? found.removed : []).map(({ line }): Mark => ({
      start: line,
      end: line + 1,
      sign: "agent-removed",
    }));
    this.gutter.set("agents", vscode.Uri.parse(uri), [...lines, ...gaps]);
  }

  /**
   * Moves the places of removed lines with an edit, and reads all marks anew: after typing near them, and after VS Code has
   * read the file again, whose new text is known only now.
   */
  private follow({ document, contentChanges }: vscode.TextDocumentChangeEvent): void {
    if (document.uri.scheme !== "file" || contentChanges.length === 0) return;
    const found = this.found.get(document.uri.toString());
    for (const change of contentChanges) {
      const edit = editOf(change);
      if (found === undefined) break;
      found.removed = found.removed.map((each) => ({ ...each, line: movedLine(each.line, edit) }));
    }
    const hasMarks = found !== undefined && found.removed.length + found.written.length > 0;
    if (hasMarks || !document.isDirty) this.schedule(AFTER_TEXT);
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
