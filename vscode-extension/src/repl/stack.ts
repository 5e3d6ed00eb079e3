// The view Call Stack: frames of a paused program with their lines on demand, and the line that stands still, marked in its
// editor.

import * as vscode from "vscode";

import type { Held } from "../control/held.ts";
import type { Ctx, Disposable } from "../ctx.ts";
import { type Pause, type SourceFrame, shown } from "../server/protocol.ts";

const VIEW = "backstitch.stack";

/** A frame, or a line of its source. */
type Row = { frame: SourceFrame; at: number; line?: string; number?: number };

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
  private pause: Pause | undefined;
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
      vscode.window.onDidChangeVisibleTextEditors(() => {
        this.mark();
      }),
    ];
  }

  /** Shows the stack of a pause. */
  async show(argument: { pause?: string; id?: string }): Promise<void> {
    const id = argument.pause ?? argument.id;
    const programs = this.programs();
    const pause = id === undefined ? programs.at(-1) : programs.find((one) => one.id === id);
    if (pause === undefined) {
      throw new Error(
        id === undefined
          ? vscode.l10n.t("No program is paused")
          : vscode.l10n.t("{0} is no pause of a program that stands still now", id),
      );
    }
    await this.read(pause);
    await vscode.commands.executeCommand(`${VIEW}.focus`);
    const top = this.frames[0];
    if (top !== undefined) await this.view.reveal({ frame: top, at: 0 }, { focus: true });
  }

  /** Opens the source of a frame at its line. */
  async open(row: Row): Promise<void> {
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

  /** Keeps to the pause that is shown; once it is over, shows the newest other one. */
  private async follow(): Promise<void> {
    const programs = this.programs();
    const isThere = programs.some(
      ({ id, root }) => id === this.pause?.id && shown(root) === shown(this.pause.root),
    );
    void vscode.commands.executeCommand("setContext", "backstitch.hasStack", programs.length > 0);
    if (isThere) return;
    const next = programs.at(-1);
    if (next !== undefined) {
      await this.read(next);
    } else if (this.pause !== undefined) {
      this.keep(undefined, []);
    }
  }

  private async read(pause: Pause): Promise<void> {
    try {
      const place = { workspace: shown(pause.root), pause: pause.id };
      const { frames } = await this.ctx.request("backstitch/stack", place);
      this.keep(pause, frames);
    } catch (error) {
      // it was over meanwhile
      this.ctx.log.debug(String(error));
    }
  }

  private keep(pause: Pause | undefined, frames: SourceFrame[]): void {
    this.pause = pause;
    this.frames = frames;
    this.opened = frames[0];
    this.view.description = pause === undefined ? "" : `${pause.id} ${pause.summary}`;
    this.changed.fire();
    this.mark();
  }

  /** Marks the line that stands still, and that of the caller that the user looks at. */
  private mark(): void {
    for (const editor of vscode.window.visibleTextEditors) {
      const lines = (frame: SourceFrame | undefined) =>
        frame?.path === editor.document.uri.fsPath
          ? [new vscode.Range(frame.line - 1, 0, frame.line - 1, 0)]
          : [];
      const top = this.frames[0];
      editor.setDecorations(this.held, lines(top));
      editor.setDecorations(this.caller, this.opened === top ? [] : lines(this.opened));
    }
  }

  getChildren(row?: Row): Row[] {
    if (row === undefined) return this.frames.map((frame, at) => ({ frame, at }));
    if (row.line !== undefined) return [];
    const { frame, at } = row;
    return frame.context.map((line, n) => ({ frame, at, line, number: frame.first + n }));
  }

  getParent(row: Row): Row | undefined {
    return row.line === undefined ? undefined : { frame: row.frame, at: row.at };
  }

  getTreeItem(row: Row): vscode.TreeItem {
    const { frame, at } = row;
    const say = vscode.l10n.t;
    const command = { command: "backstitch.stack.open", title: say("Open the Source"), arguments: [row] };
    if (row.line !== undefined) {
      const isHere = row.number === frame.line;
      const item = new vscode.TreeItem(row.line.trim() === "" ? " " : row.line);
      item.id = `${this.pause?.id} ${at} ${row.number}`;
      item.description = String(row.number);
      const color = new vscode.ThemeColor(
        at === 0
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
    item.iconPath = frame.held
      ? new vscode.ThemeIcon(
          "debug-stackframe",
          new vscode.ThemeColor("debugIcon.breakpointCurrentStackframeForeground"),
        )
      : new vscode.ThemeIcon("debug-stackframe-dot");
    const state = frame.held ? say("stands still: ") : "";
    item.accessibilityInformation = { label: `${state}${frame.name}, ${item.description}` };
    item.command = command;
    return item;
  }

  dispose(): void {
    for (const each of this.disposables) each.dispose();
  }
}
