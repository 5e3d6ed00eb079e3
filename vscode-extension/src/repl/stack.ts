// The view Call Stack: frames of a paused program with their lines on demand, its REPL sessions, its call, and the line that
// is paused, marked in its editor. The stack of a pause that is over can be shown, too.

import * as vscode from "vscode";

import type { Held } from "../control/held.ts";
import type { Ctx, Disposable } from "../ctx.ts";
import { type Pause, type ReplSession, type SourceFrame, type Where, shown } from "../server/protocol.ts";
import { line as oneLine } from "../show/words.ts";
import type { CallsView } from "./calls.ts";

const VIEW = "backstitch.stack";

/** Maximum number of sessions that are listed. */
const MAX_SESSIONS = 10;

/** A frame, or a line of its source. */
type FrameRow = { frame: SourceFrame; at: number; line?: string; number?: number };

/** Where a pause leads to: one of its sessions, its call, or the list of all sessions. */
type Link = { session: ReplSession } | { call: number } | { more: number };

type Row = FrameRow | Link;

/** The pause whose stack is shown. */
type Shown = { id: string; place: Where; title: string; isOver: boolean };

/** The views that a stack links to. */
type Linked = {
  repl: { look: (session: string, place: Where) => Promise<void>; open: () => Promise<void> };
  calls: CallsView;
};

function keyOf({ id, root }: Pause): string {
  return `${id} ${shown(root)}`;
}

export class StackView implements vscode.TreeDataProvider<Row>, vscode.Disposable {
  private readonly changed = new vscode.EventEmitter<void>();
  readonly onDidChangeTreeData = this.changed.event;
  private readonly view = vscode.window.createTreeView(VIEW, { treeDataProvider: this });
  private readonly disposables: Disposable[];
  private readonly held = vscode.window.createTextEditorDecorationType({
    isWholeLine: true,
    backgroundColor: new vscode.ThemeColor("editor.stackFrameHighlightBackground"),
    overviewRulerColor: new vscode.ThemeColor("editor.stackFrameHighlightBackground"),
  });
  private readonly caller = vscode.window.createTextEditorDecorationType({
    isWholeLine: true,
    backgroundColor: new vscode.ThemeColor("editor.focusedStackFrameHighlightBackground"),
  });
  private frames: SourceFrame[] = [];
  private links: Link[] = [];
  private pause: Shown | undefined;
  /** Programs that were paused at the last change. */
  private known = new Set<string>();
  /** The frame that the user looks at. */
  private opened: SourceFrame | undefined;

  constructor(
    private readonly ctx: Ctx,
    private readonly pauses: Held,
  ) {
    this.disposables = [
      this.view,
      this.changed,
      this.held,
      this.caller,
      pauses.onDidChange(() => void this.follow()),
      ctx.on("backstitch/replChanged", ({ workspace, session }) => {
        this.note(session, shown(workspace));
      }),
      ctx.on("backstitch/replOutput", ({ workspace, session }) => {
        this.note(session, shown(workspace));
      }),
      vscode.window.onDidChangeVisibleTextEditors(() => {
        this.mark();
      }),
    ];
  }

  /** Shows the stack of a pause, also of one that is over. */
  async show(argument: Where & { pause?: string; id?: string }): Promise<void> {
    const id = argument.pause ?? argument.id;
    const { workspace } = argument;
    const programs = this.programs();
    const pause =
      id === undefined
        ? programs.at(-1)
        : programs.find(
            (one) => one.id === id && (typeof workspace !== "string" || workspace === shown(one.root)),
          );
    if (pause !== undefined) await this.read(pause);
    else if (id === undefined) throw new Error(vscode.l10n.t("No program is paused"));
    else await this.readOver(id, argument);
    await vscode.commands.executeCommand(`${VIEW}.focus`);
    const top = this.frames[0];
    if (top === undefined) return;
    try {
      await this.view.reveal({ frame: top, at: 0 }, { focus: true });
    } catch (error) {
      // the view was drawn anew meanwhile: it has the focus already
      this.ctx.log.debug(String(error));
    }
  }

  /** Opens the source of a frame at its line, or that to which a row links. */
  async open(row: Row, { repl, calls }: Linked): Promise<void> {
    const place = this.pause?.place ?? {};
    if ("session" in row) return repl.look(row.session.id, place);
    if ("call" in row) return calls.show({ ...place, call: row.call });
    if ("more" in row) return repl.open();
    const { frame } = row;
    this.opened = frame;
    const line = Math.max(0, (row.number ?? frame.line) - 1);
    try {
      const document = await vscode.workspace.openTextDocument(vscode.Uri.file(frame.path));
      const selection = new vscode.Range(line, 0, line, 0);
      await vscode.window.showTextDocument(document, { selection, preserveFocus: false });
    } catch {
      throw new Error(vscode.l10n.t("{0} cannot be opened", frame.path));
    }
    this.mark();
  }

  private programs(): Pause[] {
    return this.pauses.held().filter(({ by }) => by === "program");
  }

  /** Keeps to the pause that is shown; once it is over, shows the newest other one. One that was over stays until another
   * program pauses. */
  private async follow(): Promise<void> {
    const programs = this.programs();
    const { known } = this;
    this.known = new Set(programs.map(keyOf));
    const isNew = programs.some((pause) => !known.has(keyOf(pause)));
    const isThere = programs.some(
      ({ id, root }) => id === this.pause?.id && shown(root) === this.pause.place.workspace,
    );
    if (isThere || (this.pause?.isOver === true && !isNew)) return;
    const next = programs.at(-1);
    if (next !== undefined) {
      await this.read(next);
    } else if (this.pause !== undefined) {
      await this.keep(undefined, [], []);
    }
  }

  private async read(pause: Pause): Promise<void> {
    try {
      const place = { workspace: shown(pause.root) };
      const { frames, links } = await this.ask(pause.id, place);
      const title = `${pause.id} ${pause.summary}`;
      await this.keep({ id: pause.id, place, title, isOver: false }, frames, links);
    } catch (error) {
      // it was over meanwhile
      this.ctx.log.debug(String(error));
    }
  }

  /** Reads the stack of a pause that is over. */
  private async readOver(id: string, where: Where): Promise<void> {
    const { workspace, uri } = where;
    const place = await this.ctx.about({
      ...(workspace === undefined ? {} : { workspace }),
      ...(uri === undefined ? {} : { uri }),
    });
    const { frames, links, name } = await this.ask(id, place);
    if (frames.length === 0) throw new Error(vscode.l10n.t("{0} is not a pause of a program", id));
    const title = vscode.l10n.t("{0} {1} (over)", id, name);
    await this.keep({ id, place, title, isOver: true }, frames, links);
  }

  private async ask(
    pause: string,
    place: Where,
  ): Promise<{ frames: SourceFrame[]; links: Link[]; name: string }> {
    const { frames, sessions, call } = await this.ctx.request("backstitch/stack", { ...place, pause });
    const links: Link[] = sessions.slice(0, MAX_SESSIONS).map((session) => ({ session }));
    if (sessions.length > MAX_SESSIONS) links.push({ more: sessions.length - MAX_SESSIONS });
    if (call !== null) links.push({ call });
    return { frames, links, name: oneLine(sessions[0]?.function ?? frames[0]?.name ?? "") };
  }

  private async keep(pause: Shown | undefined, frames: SourceFrame[], links: Link[]): Promise<void> {
    this.pause = pause;
    this.frames = frames;
    this.links = links;
    this.opened = pause?.isOver === true ? undefined : frames[0];
    this.view.description = pause?.title ?? "";
    this.changed.fire();
    this.mark();
    await vscode.commands.executeCommand("setContext", "backstitch.hasStack", pause !== undefined);
  }

  /** Shows a session as it is now. A new one stands first. */
  private note(session: ReplSession, root: string): void {
    if (session.pause !== this.pause?.id || root !== this.pause.place.workspace) return;
    const at = this.links.findIndex((link) => "session" in link && link.session.id === session.id);
    if (at >= 0) this.links[at] = { session };
    else if (session.closed === null && session.entries === 0) this.links.unshift({ session });
    else return;
    this.changed.fire();
  }

  /** Marks the line that is paused, and that of the caller that the user looks at. */
  private mark(): void {
    for (const editor of vscode.window.visibleTextEditors) {
      const lines = (frame: SourceFrame | undefined) =>
        frame?.path === editor.document.uri.fsPath
          ? [new vscode.Range(frame.line - 1, 0, frame.line - 1, 0)]
          : [];
      const top = this.pause?.isOver === true ? undefined : this.frames[0];
      editor.setDecorations(this.held, lines(top));
      editor.setDecorations(this.caller, this.opened === top ? [] : lines(this.opened));
    }
  }

  getChildren(row?: Row): Row[] {
    if (row === undefined) return [...this.frames.map((frame, at) => ({ frame, at })), ...this.links];
    if (!("frame" in row) || row.line !== undefined) return [];
    const { frame, at } = row;
    return frame.context.map((line, n) => ({ frame, at, line, number: frame.first + n }));
  }

  getParent(row: Row): Row | undefined {
    return !("frame" in row) || row.line === undefined ? undefined : { frame: row.frame, at: row.at };
  }

  getTreeItem(row: Row): vscode.TreeItem {
    if (!("frame" in row)) return this.linkItem(row);
    const { frame, at } = row;
    const say = vscode.l10n.t;
    const isOver = this.pause?.isOver === true;
    const command = { command: "backstitch.stack.open", title: say("Open the Source"), arguments: [row] };
    if (row.line !== undefined) {
      const isHere = row.number === frame.line;
      const item = new vscode.TreeItem(row.line.trim() === "" ? " " : row.line);
      item.id = `${this.pause?.id} ${at} ${row.number}`;
      item.description = String(row.number);
      const color = new vscode.ThemeColor(
        at === 0 && !isOver
          ? "debugIcon.breakpointCurrentStackframeForeground"
          : "debugIcon.breakpointStackframeForeground",
      );
      item.iconPath = isHere
        ? new vscode.ThemeIcon("debug-stackframe", color)
        : new vscode.ThemeIcon("blank");
      const here = isHere ? say("this line: ") : "";
      item.accessibilityInformation = { label: `${here}${row.number} ${row.line}` };
      item.command = command;
      return item;
    }
    const hasSource = frame.context.length > 0;
    const item = new vscode.TreeItem(
      frame.name,
      hasSource ? vscode.TreeItemCollapsibleState.Collapsed : vscode.TreeItemCollapsibleState.None,
    );
    item.id = `${this.pause?.id} ${at}`;
    item.description = `${vscode.workspace.asRelativePath(frame.path)}:${frame.line}`;
    item.tooltip = `${frame.path}:${frame.line}`;
    item.contextValue = "frame";
    item.iconPath =
      frame.held && !isOver
        ? new vscode.ThemeIcon(
            "debug-stackframe",
            new vscode.ThemeColor("debugIcon.breakpointCurrentStackframeForeground"),
          )
        : new vscode.ThemeIcon("debug-stackframe-dot");
    const state = frame.held && !isOver ? say("paused: ") : "";
    item.accessibilityInformation = { label: `${state}${frame.name}, ${item.description}` };
    item.command = command;
    return item;
  }

  private linkItem(row: Link): vscode.TreeItem {
    const say = vscode.l10n.t;
    let item;
    if ("session" in row) {
      const { id, entries, status } = row.session;
      item = new vscode.TreeItem(`REPL ${id}`);
      item.id = `${this.pause?.id} REPL ${id}`;
      const lines = entries === 1 ? say("1 line") : say("{0} lines", entries);
      item.description = `${lines} · ${status === "active" ? say("active") : say("closed")}`;
      item.tooltip = `REPL ${id} · ${item.description}`;
      item.iconPath = new vscode.ThemeIcon("terminal");
    } else if ("call" in row) {
      item = new vscode.TreeItem(say("Call {0}", row.call));
      item.iconPath = new vscode.ThemeIcon("symbol-method");
    } else {
      item = new vscode.TreeItem(say("{0} older REPL sessions", row.more));
      item.iconPath = new vscode.ThemeIcon("ellipsis");
    }
    item.contextValue = "link";
    item.command = { command: "backstitch.stack.open", title: say("Open"), arguments: [row] };
    return item;
  }

  dispose(): void {
    for (const each of this.disposables) each.dispose();
  }
}
