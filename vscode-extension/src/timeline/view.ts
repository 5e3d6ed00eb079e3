// The timeline in the side bar: branches, turns, steps and files, updated live.

import * as vscode from "vscode";

import type { Ctx, Disposable } from "../ctx.ts";
import { below } from "../documents/open.ts";
import {
  type Checkpoint,
  type TimelineParams,
  type TimelineResult,
  type Where,
  shown,
} from "../server/protocol.ts";
import type { Recording } from "../recording.ts";
import { message } from "../show/errors.ts";
import { chooseFilter } from "./filter.ts";
import { type Filter, entries, isEmpty, written } from "./model.ts";
import { BranchRow, EntryRow, MoreRow, RecordingRow, type Row } from "./rows.ts";

const PAGE = 200;

type Page = { checkpoints: Checkpoint[]; more: boolean };

export class TimelineView implements vscode.TreeDataProvider<Row>, vscode.Disposable {
  private readonly changed = new vscode.EventEmitter<Row | undefined>();
  readonly onDidChangeTreeData = this.changed.event;
  private readonly view: vscode.TreeView<Row>;
  private readonly disposables: Disposable[];
  private filter: Filter = {};
  /** Number of requested rows by branch. */
  private readonly wanted = new Map<string, number>();
  private pending: NodeJS.Timeout | undefined;
  /** Requests of the shown rows with their answers. */
  private readonly drawn = new Map<string, string>();
  /** The agents that have a row of their own, as text. */
  private broken = "[]";
  private hasHistory = false;
  /** Keeps visible ages up to date. */
  private readonly ages = setInterval(() => {
    if (this.view.visible) this.refresh();
  }, 60_000);

  constructor(
    private readonly ctx: Ctx,
    private readonly recording: Recording,
  ) {
    this.view = vscode.window.createTreeView("backstitch.timeline", {
      treeDataProvider: this,
      showCollapseAll: true,
    });
    this.disposables = [
      this.view,
      this.changed,
      ctx.on("backstitch/timelineChanged", () => {
        this.scheduleRefresh();
      }),
      ctx.onDidChangeState(() => {
        this.refresh();
      }),
      recording.onDidChange(() => {
        // a row that is drawn anew under an open menu is lost to it
        if (this.broken !== JSON.stringify(recording.broken())) this.refresh();
        else if (this.hasHistory) this.say(recording.summary() || undefined);
      }),
      vscode.window.onDidChangeActiveTextEditor((editor) => {
        // another folder may be another workspace
        const several = (vscode.workspace.workspaceFolders?.length ?? 0) > 1;
        if (several && editor?.document.uri.scheme === "file") this.scheduleRefresh();
      }),
    ];
  }

  refresh(): void {
    this.drawn.clear();
    this.changed.fire(undefined);
  }

  /** Debounces requests during a burst of checkpoints. */
  private scheduleRefresh(): void {
    this.pending ??= setTimeout(() => {
      this.pending = undefined;
      void this.refreshWhereOther();
    }, 50);
  }

  /** Refreshes only after a change: a redraw takes the row from under an open menu. */
  private async refreshWhereOther(): Promise<void> {
    const asked = [...this.drawn].map(async ([asked, was]) => {
      const now = await this.ctx.request("backstitch/timeline", JSON.parse(asked) as TimelineParams);
      return JSON.stringify(now) === was;
    });
    const same = await Promise.all(asked).catch(() => [false]);
    const isHere = this.drawn.has(JSON.stringify(this.root()));
    if (!isHere || same.includes(false)) this.refresh();
  }

  private root(): TimelineParams {
    return { ...this.ctx.where(), limit: 1 };
  }

  private async read(params: TimelineParams): Promise<TimelineResult> {
    const result = await this.ctx.request("backstitch/timeline", params);
    this.drawn.set(JSON.stringify(params), JSON.stringify(result));
    return result;
  }

  more(branch: string): void {
    this.wanted.set(branch, this.most(branch) + PAGE);
    this.refresh();
  }

  private most(branch: string): number {
    return this.wanted.get(branch) ?? PAGE;
  }

  /** Shows the view, limited to one file if one is named. */
  async reveal(uri?: string | null): Promise<void> {
    if (typeof uri === "string") {
      const { workspace } = await this.ctx.about<Where>({ uri });
      const path = below(workspace ?? "", vscode.Uri.parse(uri).fsPath);
      if (path !== undefined) await this.filterBy({ path });
    }
    await vscode.commands.executeCommand("backstitch.timeline.focus");
  }

  async filterBy(filter: Filter): Promise<void> {
    this.filter = filter;
    const text = written(filter);
    this.view.description = text;
    await vscode.commands.executeCommand("setContext", "backstitch.filtered", !isEmpty(filter));
    this.refresh();
  }

  /** Asks for a filter. */
  async ask(): Promise<void> {
    const where = this.ctx.where();
    const { sessions } = await this.ctx.request("backstitch/sessions", where);
    const file = await this.file();
    const chosen = await chooseFilter(this.filter, sessions, file);
    if (chosen !== undefined) await this.filterBy(chosen);
  }

  /** Path of the active file. */
  private async file(): Promise<string | undefined> {
    const uri = vscode.window.activeTextEditor?.document.uri;
    if (uri?.scheme !== "file") return undefined;
    const { workspace } = await this.ctx.about<Where>({ uri: uri.toString() });
    return below(workspace ?? "", uri.fsPath);
  }

  getTreeItem(row: Row): vscode.TreeItem {
    return row;
  }

  async getChildren(row?: Row): Promise<Row[]> {
    if (this.ctx.state.name !== "running" || Object.keys(this.ctx.where()).length === 0) {
      this.say(undefined);
      return [];
    }
    try {
      if (row === undefined) return await this.branches();
      return row instanceof BranchRow ? await this.entries(row) : (row.children ?? []);
    } catch (error) {
      this.say(message(error));
      void vscode.commands.executeCommand("setContext", "backstitch.unreadable", true);
      return [];
    }
  }

  private async branches(): Promise<Row[]> {
    const first = await this.read(this.root());
    this.say(undefined);
    void vscode.commands.executeCommand("setContext", "backstitch.unreadable", false);
    this.broken = JSON.stringify(this.recording.broken());
    this.hasHistory = first.head !== null;
    const broken = this.recording.broken().map((agent) => new RecordingRow(agent));
    // the view's own welcome says what to do; a message would hide it
    if (first.head === null) return broken;
    this.say(this.recording.summary() || undefined);
    const branches = first.branches.filter((branch) => !branch.deleted);
    branches.sort((a, b) => Number(b.current) - Number(a.current) || a.name.localeCompare(b.name));
    return [...broken, ...branches.map((branch) => new BranchRow(shown(first.workspace), branch))];
  }

  private async entries({ root, branch }: BranchRow): Promise<Row[]> {
    const page = await this.page(root, branch.name);
    const now = Date.now();
    const rows: Row[] = entries(page.checkpoints).map((entry) => new EntryRow(root, entry, now, branch.name));
    return page.more ? [...rows, new MoreRow(branch.name)] : rows;
  }

  private async page(root: string, branch: string): Promise<Page> {
    const { path, ...filter } = this.filter;
    const uri = path === undefined ? null : vscode.Uri.joinPath(vscode.Uri.file(root), path).toString();
    return this.read({ ...filter, uri, workspace: root, branch, limit: this.most(branch) });
  }

  private say(text: string | undefined): void {
    // VS Code accepts undefined, contrary to its types
    (this.view as { message: string | undefined }).message = text;
  }

  dispose(): void {
    clearTimeout(this.pending);
    clearInterval(this.ages);
    for (const each of this.disposables) each.dispose();
  }
}
