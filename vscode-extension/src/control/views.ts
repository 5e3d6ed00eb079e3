// The views Agents and Breakpoints: held calls with a badge, and breakpoints with a checkbox.

import * as vscode from "vscode";

import type { Ctx, Disposable } from "../ctx.ts";
import { type Breakpoint, type Pause, shown } from "../server/protocol.ts";
import { withErrors } from "../show/errors.ts";
import { agentOf, ago, quoted } from "../show/words.ts";
import { sessionColor } from "../timeline/rows.ts";
import { type Held, isProposal, traits } from "./held.ts";

/** Milliseconds between redraws of ages. */
const MINUTE = 60_000;
/** Milliseconds until a list that was not drawn yet is asked again, and the number of times. */
const DRAWN = 50;
const TRIES = 40;

/**
 * A list that takes drops, though none of any type. VS Code hides any other list that is empty below a message, and moves the
 * focus away from it only after a refresh: before the first one, or with a late message, the focus would be nowhere.
 */
const KEEPS_LIST: vscode.TreeDragAndDropController<Pause> = {
  dragMimeTypes: [],
  dropMimeTypes: [],
  handleDrop: () => undefined,
};

export class AgentsView implements vscode.TreeDataProvider<Pause>, vscode.Disposable {
  private readonly changed = new vscode.EventEmitter<void>();
  readonly onDidChangeTreeData = this.changed.event;
  private readonly view = vscode.window.createTreeView("backstitch.agents", {
    treeDataProvider: this,
    dragAndDropController: KEEPS_LIST,
  });
  private readonly disposables: Disposable[];
  private readonly timer: NodeJS.Timeout;
  private again: NodeJS.Timeout | undefined;
  /** Place of the row that was selected last. */
  private place = 0;

  constructor(private readonly held: Held) {
    this.disposables = [
      this.view,
      this.changed,
      held.onDidChange(() => {
        this.show();
      }),
      this.view.onDidChangeVisibility(() => {
        this.select();
      }),
      this.view.onDidChangeSelection(({ selection: [pause] }) => {
        if (pause !== undefined) this.place = Math.max(0, this.placeOf(pause));
      }),
    ];
    this.timer = setInterval(() => {
      if (held.pauses.length > 0) this.changed.fire();
    }, MINUTE);
  }

  /** The row that is selected. */
  get selected(): Pause | undefined {
    return this.view.selection[0];
  }

  private placeOf(pause: Pause): number {
    return this.held.pauses.findIndex((each) => rowId(each) === rowId(pause));
  }

  /** Selects the row at the place of one that is gone: VS Code shows no focus in a list without a selected row. */
  private select(tries = TRIES): void {
    clearTimeout(this.again);
    const { pauses } = this.held;
    const next = pauses[Math.min(this.place, pauses.length - 1)];
    if (next === undefined || !this.view.visible) return;
    if (this.view.selection.some((pause) => this.placeOf(pause) >= 0)) return;
    this.view.reveal(next, { select: true, focus: false }).then(undefined, () => {
      // the list is not drawn yet, which no event tells
      if (tries === 0) return;
      this.again = setTimeout(() => {
        this.select(tries - 1);
      }, DRAWN);
    });
  }

  private show(): void {
    const count = this.held.held().length;
    const tooltip = count === 1 ? vscode.l10n.t("1 held call") : vscode.l10n.t("{0} held calls", count);
    this.view.badge = count === 0 ? undefined : { value: count, tooltip };
    // a welcome text would take the place of the list, and its focus with it
    const isEmpty = this.held.pauses.length === 0;
    (this.view as { message: string | undefined }).message = isEmpty
      ? vscode.l10n.t("No call of an agent is held.")
      : undefined;
    this.changed.fire();
    this.select();
  }

  /** A row is found without its parents. */
  getParent(): undefined {
    return undefined;
  }

  getChildren(element?: Pause): Pause[] {
    return element === undefined ? [...this.held.pauses] : [];
  }

  getTreeItem(pause: Pause): vscode.TreeItem {
    const say = vscode.l10n.t;
    const isHeld = pause.state === "held";
    const item = new vscode.TreeItem(pause.summary);
    item.id = rowId(pause);
    const { letter } = pause;
    const repl = this.held.hasRepl(pause) ? say("REPL open") : "";
    const late = isHeld ? "" : say("its time ran out: waits for the agent to try again");
    const more = [
      agentOf(pause),
      late,
      quoted(pause.prompt, 60),
      pause.why,
      ago(pause.made, Date.now(), say),
      repl,
    ];
    item.description = more.filter(Boolean).join(" · ");
    // the colour is that of the session in the timeline
    const color = letter === null ? new vscode.ThemeColor("list.warningForeground") : sessionColor(letter);
    item.iconPath = new vscode.ThemeIcon(iconOf(pause), color);
    item.contextValue = traits(pause);
    const state = isHeld ? say("held") : say("retry requested");
    const stack = [pause.turn, pause.prompt, pause.subagent].filter(Boolean).join(" · ");
    item.tooltip = [
      `${pause.id}: ${pause.summary}`,
      ...fileLines(pause),
      `${state}: ${pause.why}`,
      late,
      stack,
    ]
      .filter(Boolean)
      .join("\n");
    const session = letter === null ? "" : say("session {0}", letter);
    item.accessibilityInformation = {
      label: [`${state}: ${pause.summary}`, pause.agent, pause.why, session, late, repl]
        .filter(Boolean)
        .join(", "),
    };
    item.command = { command: "backstitch.inspect", title: say("Show the Held Call"), arguments: [pause] };
    return item;
  }

  dispose(): void {
    clearInterval(this.timer);
    clearTimeout(this.again);
    for (const each of this.disposables) each.dispose();
  }
}

function rowId(pause: Pause): string {
  return `${pause.id} ${shown(pause.root)}`;
}

function iconOf(pause: Pause): string {
  if (pause.state !== "held") return "clock";
  return isProposal(pause) ? "discard" : "debug-pause";
}

/** The files of a call, each in a line. */
function fileLines({ files }: Pause): string[] {
  return files.length < 2 ? [] : files.map(({ letter, path }) => `${letter} ${shown(path)}`);
}

/** The pattern of a breakpoint; one for any call has none. */
function summaryOf({ kind, summary }: Breakpoint): string {
  return kind === "any" || summary === "" ? vscode.l10n.t("The next call") : summary;
}

/** A row of the view. */
export type Stop = { root: string; breakpoint: Breakpoint };

export class BreakpointsView implements vscode.TreeDataProvider<Stop>, vscode.Disposable {
  private readonly changed = new vscode.EventEmitter<void>();
  readonly onDidChangeTreeData = this.changed.event;
  private readonly view = vscode.window.createTreeView("backstitch.breakpoints", {
    treeDataProvider: this,
    manageCheckboxStateManually: true,
  });
  private readonly disposables: Disposable[];

  constructor(
    ctx: Ctx,
    private readonly held: Held,
  ) {
    this.disposables = [
      this.view,
      this.changed,
      held.onDidChange(() => {
        this.changed.fire();
      }),
      this.view.onDidChangeCheckboxState(({ items }) => {
        for (const [{ root, breakpoint }, state] of items) {
          const isOn = state === vscode.TreeItemCheckboxState.Checked;
          const command = isOn ? "backstitch.breakpoint.enable" : "backstitch.breakpoint.disable";
          void withErrors(() => ctx.execute(command, { breakpoint: breakpoint.id, workspace: root }), root);
        }
      }),
    ];
  }

  getChildren(element?: Stop): Stop[] {
    if (element !== undefined) return [];
    return this.held.breakpoints.flatMap(({ root, breakpoints }) =>
      breakpoints.map((breakpoint) => ({ root, breakpoint })),
    );
  }

  getTreeItem({ root, breakpoint }: Stop): vscode.TreeItem {
    const say = vscode.l10n.t;
    const { kind, region } = breakpoint;
    const lines =
      region === undefined || region.state === "gone"
        ? summaryOf(breakpoint)
        : `${region.path}:${region.start + 1}${region.count > 1 ? `-${region.start + region.count}` : ""}`;
    const item = new vscode.TreeItem(lines);
    item.id = `${root} ${breakpoint.id}`;
    const hits = breakpoint.hitCount === 1 ? say("1 hit") : say("{0} hits", breakpoint.hitCount);
    const isOneOfMany = (vscode.workspace.workspaceFolders?.length ?? 0) > 1;
    const folder = vscode.workspace.getWorkspaceFolder(vscode.Uri.file(root))?.name ?? root;
    const more = [
      kind,
      isOneOfMany ? folder : "",
      hits,
      breakpoint.action === "pause" ? "" : breakpoint.action,
      breakpoint.when === null ? "" : say("when {0}", breakpoint.when),
      breakpoint.hits === null ? "" : say("hits {0}", breakpoint.hits),
      breakpoint.once ? say("once") : "",
      region?.state === "gone" ? say("its lines are gone") : "",
    ].filter(Boolean);
    item.description = more.join(" · ");
    item.tooltip = [`${breakpoint.id}: ${kind} ${lines}`, ...more.slice(1), breakpoint.problem ?? ""]
      .filter(Boolean)
      .join("\n");
    item.checkboxState = {
      state: breakpoint.enabled
        ? vscode.TreeItemCheckboxState.Checked
        : vscode.TreeItemCheckboxState.Unchecked,
      accessibilityInformation: { label: `${kind} ${lines}`, role: "checkbox" },
    };
    if (breakpoint.problem !== null) item.iconPath = new vscode.ThemeIcon("warning");
    item.contextValue = "breakpoint";
    return item;
  }

  dispose(): void {
    for (const each of this.disposables) each.dispose();
  }
}
