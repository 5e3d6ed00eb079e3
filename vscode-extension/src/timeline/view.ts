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
import { areOfSeveralSessions } from "../show/entries.ts";
import { message } from "../show/errors.ts";
import { chooseFilter, named } from "./filter.ts";
import { type Filter, folded, isEmpty } from "./model.ts";
import {
  BranchRow,
  EntryRow,
  FilterRow,
  MoreRow,
  NothingRow,
  type Place,
  RecordingRow,
  type Row,
} from "./rows.ts";

const PAGE = 200;
/** How long VS Code draws rows that it has asked for, in ms. */
const REDRAW = 500;

type Page = { checkpoints: Checkpoint[]; more: boolean };

export class TimelineView implements vscode.TreeDataProvider<Row>, vscode.Disposable {
  private readonly changed = new vscode.EventEmitter<Row | undefined>();
  readonly onDidChangeTreeData = this.changed.event;
  private readonly view: vscode.TreeView<Row>;
  private readonly disposables: Disposable[];
  private filter: Filter = {};
  /** Sessions in words, by id. */
  private readonly sessions = new Map<string, string>();
  /** Ids of the rows that the user has expanded; VS Code forgets those that a filter hides. */
  private readonly expanded = new Set<string>();
  /** Time of the last request for rows, in ms: rows that are drawn anew may be collapsed by VS Code, not by the user. */
  private asked = 0;
  /** Number of requested rows by branch. */
  private readonly wanted = new Map<string, number>();
  private pending: NodeJS.Timeout | undefined;
  /** The last read of all rows. */
  private reading: Promise<unknown> = Promise.resolve();
  /** Requests of the shown rows with their answers. */
  private readonly drawn = new Map<string, string>();
  /** The agents that have their own row, as text. */
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
      this.view.onDidExpandElement(({ element }) => {
        if (element.id !== undefined) this.expanded.add(element.id);
      }),
      this.view.onDidCollapseElement(({ element }) => {
        if (Date.now() - this.asked < REDRAW) return;
        if (element.id !== undefined) this.expanded.delete(element.id);
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

  /**
   * Debounces requests during a burst of checkpoints. A read that is under way ends first. VS Code drops its rows
   * where they are asked for again, so that a busy agent would keep the view empty.
   */
  private scheduleRefresh(): void {
    this.pending ??= setTimeout(() => {
      void this.reading.finally(() => {
        this.pending = undefined;
        void this.refreshWhereOther();
      });
    }, 50);
  }

  /** Refreshes only after a change: a redraw takes the row from under an open menu. */
  private async refreshWhereOther(): Promise<void> {
    const asked = [...this.drawn].map(async ([asked, was]) => {
      const now = await this.ctx.request("backstitch/timeline", JSON.parse(asked) as TimelineParams);
      return drawnOf(now) === was;
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
    this.drawn.set(JSON.stringify(params), drawnOf(result));
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

  /** `session`: the session of the filter in words. */
  async filterBy(filter: Filter, session?: string): Promise<void> {
    this.filter = filter;
    if (filter.session !== undefined && session !== undefined) this.sessions.set(filter.session, session);
    await vscode.commands.executeCommand("setContext", "backstitch.filtered", !isEmpty(filter));
    this.refresh();
  }

  /** Asks for a filter. */
  async ask(): Promise<void> {
    const where = this.ctx.where();
    const { sessions } = await this.ctx.request("backstitch/sessions", where);
    for (const each of sessions) this.sessions.set(each.session, named(each));
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
      this.setEmpty(false);
      return [];
    }
    try {
      this.asked = Date.now();
      if (row === undefined) return await this.readAll();
      // only expanded rows are asked for; the event is lost where all rows are drawn anew at the same time
      if (row instanceof EntryRow && row.id !== undefined) this.expanded.add(row.id);
      return row instanceof BranchRow ? await this.entries(row) : (row.children ?? []);
    } catch (error) {
      this.say(message(error));
      this.setEmpty(false);
      return [];
    }
  }

  private readAll(): Promise<Row[]> {
    const rows = this.branches();
    this.reading = rows.catch(() => undefined);
    return rows;
  }

  /** The view's text about an empty history: only once the history was read. */
  private setEmpty(isEmpty: boolean): void {
    void vscode.commands.executeCommand("setContext", "backstitch.empty", isEmpty);
  }

  private async branches(): Promise<Row[]> {
    const first = await this.read(this.root());
    this.say(undefined);
    this.setEmpty(first.head === null);
    this.broken = JSON.stringify(this.recording.broken());
    this.hasHistory = first.head !== null;
    const several = (vscode.workspace.workspaceFolders?.length ?? 0) > 1;
    const root = shown(first.workspace);
    // VS Code accepts undefined, contrary to its types
    (this.view as { description: string | undefined }).description = several
      ? root.slice(root.lastIndexOf("/") + 1)
      : undefined;
    const broken = this.recording.broken().map((agent) => new RecordingRow(agent));
    // the view's own welcome says what to do; a message would hide it
    if (first.head === null) return broken;
    this.say(this.recording.summary() || undefined);
    const above = isEmpty(this.filter) ? broken : [...broken, new FilterRow(this.filterInWords())];
    const branches = first.branches.filter((branch) => !branch.deleted);
    branches.sort((a, b) => Number(b.current) - Number(a.current) || a.name.localeCompare(b.name));
    const [only, ...others] = branches;
    if (only !== undefined && others.length === 0) {
      return [...above, ...(await this.entries(new BranchRow(root, only)))];
    }
    return [...above, ...branches.map((branch) => new BranchRow(root, branch))];
  }

  private filterInWords(): string {
    const say = vscode.l10n.t;
    const { text, path, agent, session, only } = this.filter;
    return [
      only === undefined ? "" : say("prompts"),
      text === undefined ? "" : `“${text}”`,
      path ?? "",
      agent ?? "",
      session === undefined ? "" : (this.sessions.get(session) ?? say("session {0}", session.slice(0, 8))),
    ]
      .filter(Boolean)
      .join(" · ");
  }

  private async entries({ root, branch }: BranchRow): Promise<Row[]> {
    const page = await this.page(root, branch.name);
    const place: Place = {
      root,
      branch: branch.name,
      now: Date.now(),
      forkPoint: branch.fork_point,
      hasSessions: areOfSeveralSessions(page.checkpoints),
      expanded: this.expanded,
    };
    const rows: Row[] = folded(page.checkpoints)
      .filter(({ checkpoint }) => this.filter.only === undefined || checkpoint.kind === "turn")
      .map((entry) => new EntryRow(place, entry));
    if (rows.length === 0 && !isEmpty(this.filter)) rows.push(new NothingRow(branch.name));
    return page.more ? [...rows, new MoreRow(branch.name)] : rows;
  }

  private async page(root: string, branch: string): Promise<Page> {
    const { path, session, agent, text } = this.filter;
    const filter = { session: session ?? null, agent: agent ?? null, text: text ?? null };
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

/** Returns the part of an answer that is drawn: agents at work are in the status bar. */
function drawnOf(answer: TimelineResult): string {
  return JSON.stringify({ ...answer, at_work: [] });
}
