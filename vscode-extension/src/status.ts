// Status bar: the number of turns, and the agents at work; buttons for the last turn.

import * as vscode from "vscode";

import { missing, missingText } from "./commands/setup.ts";
import type { Ctx, Standing } from "./ctx.ts";
import type { Recording } from "./recording.ts";
import { type AgentAtWork, type Checkpoint, shown } from "./server/protocol.ts";
import { about, ago } from "./show/words.ts";

/** Maximum of the count; above it a `+` follows. */
const COUNTED = 1000;
/** Debounce delay in milliseconds. */
const SOON = 200;
/** Longest delay of a timer, in milliseconds. */
const LONGEST_TIMER = 60 * 60_000;

export class StatusBar implements vscode.Disposable {
  private readonly item = vscode.window.createStatusBarItem("backstitch", vscode.StatusBarAlignment.Left, 10);
  private readonly review = vscode.window.createStatusBarItem("review", vscode.StatusBarAlignment.Left, 9);
  private readonly undo = vscode.window.createStatusBarItem("undoTurn", vscode.StatusBarAlignment.Left, 8);
  private readonly disposables: vscode.Disposable[];
  /** Newest turn whose work is there. */
  private turn: Checkpoint | undefined;
  /** Parameters of the shown workspace, and its root. */
  private place = "";
  private root = "";
  private newest: Checkpoint | undefined;
  private count = 0;
  private turns = 0;
  private atWork: readonly AgentAtWork[] = [];
  /** Number of the last request; answers to older ones are dropped. */
  private reads = 0;
  private more = false;
  /** Reason why files are not watched, by workspace root; empty if they are. */
  private readonly failed = new Map<string, string>();
  private timer: NodeJS.Timeout | undefined;
  private pending: NodeJS.Timeout | undefined;

  constructor(
    private readonly ctx: Ctx,
    private readonly recording: Recording,
  ) {
    this.item.name = "Backstitch";
    this.item.command = "backstitch.menu";
    this.review.command = "backstitch.review";
    this.undo.command = "backstitch.undoTurn";
    this.button(this.review, "diff-multiple", vscode.l10n.t("Review Agent Changes"));
    this.button(this.undo, "discard", vscode.l10n.t("Rewind Last Turn"));
    this.disposables = [
      recording.onDidChange(() => {
        this.show();
      }),
      ctx.onDidChangeState((state) => {
        this.state(state);
      }),
      ctx.on("backstitch/timelineChanged", ({ workspace }) => {
        if (shown(workspace) === this.root) this.scheduleRead();
      }),
      ctx.on("backstitch/didCheckpoint", ({ workspace, checkpoint }) => {
        if (shown(workspace) !== this.root) return;
        this.newest = checkpoint;
        this.show();
      }),
      ctx.on("backstitch/status", ({ workspace, recorder }) => {
        this.failed.set(shown(workspace), recorder.state === "failed" ? recorder.reason : "");
        this.show();
      }),
      vscode.window.onDidChangeActiveTextEditor(() => {
        // another folder may be another workspace
        const place = JSON.stringify(ctx.where());
        if (place === this.place) return;
        this.place = place;
        this.scheduleRead();
      }),
    ];
    this.state(ctx.state);
  }

  private state(state: Standing): void {
    if (state.name === "running") void this.read();
    else if (state.name === "missing") void missing(this.ctx);
    this.show();
  }

  /** Debounces requests during a burst of checkpoints. */
  private scheduleRead(): void {
    this.pending ??= setTimeout(() => {
      this.pending = undefined;
      void this.read();
    }, SOON);
  }

  private async read(): Promise<void> {
    if (this.ctx.state.name !== "running") return;
    const number = ++this.reads;
    try {
      const page = await this.ctx.request("backstitch/timeline", { ...this.ctx.where(), limit: COUNTED });
      if (number !== this.reads) return;
      this.root = shown(page.workspace);
      this.count = page.checkpoints.length;
      this.turns = page.checkpoints.filter(({ kind }) => kind === "turn").length;
      this.atWork = page.at_work;
      this.more = page.more;
      this.newest = page.checkpoints[0];
      if (this.turns > 0) this.ctx.steps.finish("prompt");
      if (page.checkpoints.some(({ kind }) => kind === "rewind")) this.ctx.steps.finish("rewind");
      const { checkpoints, branches } = page;
      // the turn before which a branch was created has no work there
      const start = branches.find(({ current }) => current)?.fork_point;
      const hasWork = ({ id, turn: own }: Checkpoint) =>
        id !== start || checkpoints.some(({ kind, turn }) => kind === "step" && turn === own);
      this.turn = checkpoints.find((each) => each.kind === "turn" && !each.taken_out && hasWork(each));
    } catch (error) {
      if (number !== this.reads) return;
      // no workspace is open, or it cannot be read
      this.ctx.log.debug(String(error));
      this.count = 0;
      this.turns = 0;
      this.atWork = [];
      this.more = false;
      this.root = "";
      this.newest = undefined;
      this.turn = undefined;
    }
    this.show();
  }

  private show(): void {
    const say = vscode.l10n.t;
    const { state } = this.ctx;
    clearTimeout(this.timer);
    this.buttons(state.name === "running");
    this.item.backgroundColor = undefined;
    switch (state.name) {
      case "starting":
        this.set("$(sync~spin)", say("Backstitch is starting"));
        break;
      case "missing":
        this.item.backgroundColor = new vscode.ThemeColor("statusBarItem.warningBackground");
        this.set(`$(warning) Backstitch`, missingText(state.binary));
        break;
      case "failed":
        this.item.backgroundColor = new vscode.ThemeColor("statusBarItem.errorBackground");
        this.set(`$(error) Backstitch`, state.reason);
        break;
      case "stopped":
        this.item.hide();
        return;
      case "running":
        this.running();
    }
    this.item.show();
  }

  /** Shows the buttons while there is a turn to look at. */
  private buttons(isRunning: boolean): void {
    const { turn } = this;
    const say = vscode.l10n.t;
    for (const item of [this.review, this.undo]) {
      if (isRunning && turn !== undefined) item.show();
      else item.hide();
    }
    if (turn === undefined) return;
    this.button(this.undo, "discard", `${say("Rewind Last Turn")}: ${about(turn, say)}`);
  }

  private button(item: vscode.StatusBarItem, icon: string, tooltip: string): void {
    item.name = `Backstitch: ${tooltip.split(":")[0] ?? tooltip}`;
    item.text = `$(${icon})`;
    item.tooltip = tooltip;
    item.accessibilityInformation = { label: tooltip, role: "button" };
  }

  private running(): void {
    const say = vscode.l10n.t;
    const { newest } = this;
    const failed = this.failed.get(this.root) ?? "";
    const now = Date.now();
    const working = this.atWork.filter(({ until }) => ends(until) > now);
    // update when the first of them stops counting as working
    if (working.length > 0) {
      const next = Math.min(...working.map(({ until }) => ends(until)), now + LONGEST_TIMER);
      this.timer = setTimeout(() => {
        this.show();
      }, next - now);
    }
    const icon =
      working.length > 0
        ? "$(loading~spin)"
        : failed === "" && this.recording.broken().length === 0
          ? "$(history)"
          : "$(warning)";
    const more = this.more ? "+" : "";
    const turns = this.turns === 1 && !this.more ? say("1 turn") : say("{0} turns", `${this.turns}${more}`);
    const count = this.count === 1 ? say("1 checkpoint") : say("{0} checkpoints", `${this.count}${more}`);
    const lines = [
      this.turns === 0 ? "" : turns,
      this.count === 0 ? say("No checkpoints yet") : count,
      newest === undefined ? "" : `${about(newest, say)} · ${ago(newest.time, now, say)}`,
      ...working.map(({ agent, letter }) =>
        working.length > 1
          ? say("{0} is at work (session {1})", agent, letter)
          : say("{0} is at work", agent),
      ),
      failed === "" ? "" : say("the files are not watched: {0}", failed),
      this.recording.summary(),
    ];
    this.set(this.turns === 0 ? icon : `${icon} ${turns}`, lines.filter(Boolean).join("\n"));
  }

  private set(text: string, tooltip: string): void {
    this.item.text = text;
    this.item.tooltip = tooltip;
    // a screen reader gets words instead of an icon and a number
    this.item.accessibilityInformation = { label: `Backstitch: ${tooltip}`, role: "button" };
  }

  dispose(): void {
    clearTimeout(this.timer);
    clearTimeout(this.pending);
    for (const item of [this.item, this.review, this.undo]) item.dispose();
    for (const each of this.disposables) each.dispose();
  }
}

/** Time at which an agent stops counting as working, in milliseconds since 1970. */
function ends(until: string | null): number {
  return until === null ? 0 : Date.parse(until);
}
