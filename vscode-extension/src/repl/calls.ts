// The view Program Calls: programs with the functions that they watch, as a tree, and the REPL sessions of each call.

import * as vscode from "vscode";

import type { Ctx, Disposable } from "../ctx.ts";
import type { FunctionCall, Program, Where } from "../server/protocol.ts";
import { ago } from "../show/words.ts";

const VIEW = "backstitch.calls";

/** Debounce delay in milliseconds. */
const SOON = 100;

type Known = {
  root: string;
  program: Program;
  /** Calls by the call that made them; null: none that is listed. */
  inner: Map<number | null, FunctionCall[]>;
};

/** A program, or one of its calls. */
type Row = { known: Known; call?: FunctionCall };

export class CallsView implements vscode.TreeDataProvider<Row>, vscode.Disposable {
  private readonly changed = new vscode.EventEmitter<void>();
  readonly onDidChangeTreeData = this.changed.event;
  private readonly view = vscode.window.createTreeView(VIEW, { treeDataProvider: this });
  private readonly disposables: Disposable[];
  private programs: Known[] = [];
  private timer: NodeJS.Timeout | undefined;

  constructor(private readonly ctx: Ctx) {
    const enqueue = () => {
      this.timer ??= setTimeout(() => {
        this.timer = undefined;
        void this.read();
      }, SOON);
    };
    this.disposables = [
      this.view,
      this.changed,
      ctx.on("backstitch/didPause", enqueue),
      ctx.on("backstitch/didResume", enqueue),
      ctx.on("backstitch/replChanged", enqueue),
      ctx.onDidChangeState(enqueue),
      this.view.onDidChangeVisibility(({ visible }) => {
        if (visible) enqueue();
      }),
    ];
  }

  /** Shows the calls of programs. Selects a call by its number, or that of a session. */
  async show(wanted: Where & { call?: number; session?: string } = {}): Promise<void> {
    await this.read();
    await vscode.commands.executeCommand(`${VIEW}.focus`);
    const { session, workspace } = wanted;
    if (session === undefined && wanted.call === undefined) return;
    const isWanted = ({ id, replSessions }: FunctionCall) =>
      session === undefined ? id === wanted.call : replSessions.includes(session);
    const there = this.programs.filter(({ root }) => root === workspace);
    for (const known of there.length > 0 ? there : this.programs) {
      const call = known.program.calls.find(isWanted);
      if (call !== undefined) await this.view.reveal({ known, call }, { focus: true });
    }
  }

  /** Shows the REPL session of a call with `show`: the only one, or the one that the user chooses. */
  async repl(row: Partial<Row>, show: (session: string, place: Where) => Promise<void>): Promise<void> {
    const { known, call } = row;
    if (known === undefined || call === undefined) throw new Error(vscode.l10n.t("No call is chosen"));
    const title = vscode.l10n.t("REPL sessions of {0}", call.function);
    const [only, ...others] = call.replSessions;
    const chosen =
      others.length === 0 ? only : await vscode.window.showQuickPick(call.replSessions, { title });
    if (chosen !== undefined) await show(chosen, { workspace: known.root });
  }

  /** Reads all programs anew. */
  async read(): Promise<void> {
    if (this.ctx.state.name !== "running") return;
    const local = vscode.workspace.workspaceFolders?.filter(({ uri }) => uri.scheme === "file") ?? [];
    const places =
      local.length > 0 ? local.map(({ uri }) => ({ workspace: uri.fsPath })) : [this.ctx.where()];
    const found: Known[] = [];
    for (const place of places) {
      try {
        const { programs } = await this.ctx.request("backstitch/calls", place);
        found.push(...programs.map((program) => known(place.workspace ?? "", program)));
      } catch (error) {
        // no workspace is open, or it cannot be read
        this.ctx.log.debug(String(error));
      }
    }
    // a tree that is drawn anew loses a click that comes meanwhile
    const isSame = JSON.stringify(found.map(shape)) === JSON.stringify(this.programs.map(shape));
    if (isSame) return;
    this.programs = found;
    void vscode.commands.executeCommand("setContext", "backstitch.hasPrograms", found.length > 0);
    this.changed.fire();
  }

  getChildren(row?: Row): Row[] {
    if (row === undefined) return this.programs.map((known) => ({ known }));
    const { known } = row;
    return (known.inner.get(row.call?.id ?? null) ?? []).map((call) => ({ known, call }));
  }

  getParent({ known, call }: Row): Row | undefined {
    if (call === undefined) return undefined;
    const parent = known.program.calls.find(({ id }) => id === call.parent);
    return parent === undefined ? { known } : { known, call: parent };
  }

  getTreeItem({ known: { root, program, inner }, call }: Row): vscode.TreeItem {
    const say = vscode.l10n.t;
    const { Collapsed, Expanded, None } = vscode.TreeItemCollapsibleState;
    if (call === undefined) {
      const item = new vscode.TreeItem(
        program.argv.join(" ") || `${program.pid}`,
        program.ended === null ? Expanded : Collapsed,
      );
      item.id = `${root} ${program.id}`;
      const state =
        program.ended === null ? say("running") : say("ended {0}", ago(program.ended, Date.now(), say));
      item.description = `${program.language} · ${program.pid} · ${state}`;
      item.tooltip = program.cwd;
      item.iconPath = new vscode.ThemeIcon(program.ended === null ? "vm-running" : "vm-outline");
      item.contextValue = "program";
      return item;
    }
    const hasInner = inner.has(call.id);
    const item = new vscode.TreeItem(`${call.function}(${args(call.args)})`, hasInner ? Expanded : None);
    item.id = `${root} ${program.id} ${call.id}`;
    const outcome = call.outcome ?? say("not over");
    const result = call.outcome === "returned" ? ` ${reprOf(call.result)}` : "";
    const repl = call.replSessions.length > 0 ? " · REPL" : "";
    item.description = `${outcome}${result}${repl}`;
    item.tooltip = `${call.function}, ${call.thread}\n${item.description}`;
    item.iconPath = new vscode.ThemeIcon(
      call.replSessions.length > 0 ? "terminal" : call.outcome === null ? "debug-pause" : "symbol-method",
    );
    item.contextValue = call.replSessions.length > 0 ? "callWithRepl" : "call";
    item.accessibilityInformation = {
      label: `${call.function}, ${outcome}${result}${repl === "" ? "" : `, ${say("has a REPL session")}`}`,
    };
    return item;
  }

  dispose(): void {
    clearTimeout(this.timer);
    for (const each of this.disposables) each.dispose();
  }
}

function known(root: string, program: Program): Known {
  const listed = new Set(program.calls.map(({ id }) => id));
  const inner: Known["inner"] = new Map();
  for (const call of program.calls) {
    const parent = call.parent !== null && listed.has(call.parent) ? call.parent : null;
    const there = inner.get(parent);
    if (there === undefined) inner.set(parent, [call]);
    else there.push(call);
  }
  return { root, program, inner };
}

function args(views: unknown): string {
  if (typeof views !== "object" || views === null) return "";
  return Object.entries(views)
    .map(([name, view]) => (/^\d+$/.test(name) ? reprOf(view) : `${name}=${reprOf(view)}`))
    .join(", ");
}

/** A program's view of a value; of any shape. */
function reprOf(view: unknown): string {
  const repr = typeof view === "object" && view !== null && "repr" in view ? view.repr : view;
  return typeof repr === "string" ? repr.slice(0, 200) : "";
}

/** All that a row of a program and its calls shows. */
function shape({ root, program }: Known): unknown {
  return [root, program];
}
