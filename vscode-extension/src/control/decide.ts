// Commands on held calls.

import * as vscode from "vscode";

import type { Ctx, Disposable } from "../ctx.ts";
import { NOTHING, changes } from "../documents/open.ts";
import { type Pause, type PauseDetails, shown } from "../server/protocol.ts";
import { failure, withErrors } from "../show/errors.ts";
import { agentOf, decider, quoted } from "../show/words.ts";
import { asArguments } from "../timeline/arguments.ts";
import { type HeldFiles, type HeldSides, callOf } from "./files.ts";
import { type Held, isProposal, kindOf, traits } from "./held.ts";
import type { Proposals } from "./proposal.ts";
import { HeldTabs } from "./tabs.ts";
import { inform, warn } from "../show/outside.ts";

/** Where a decision is made, which keeps the focus: the comparison, a list, the REPL, or any other place. */
type From = "comparison" | "list" | "repl" | "elsewhere";
type Given = {
  pause?: unknown;
  id?: unknown;
  workspace?: unknown;
  root?: unknown;
  from?: unknown;
  uri?: unknown;
};

/** The call after a step: the next one that is held in its session. */
type Next = { session: string; root: string; from: From };

/** Calls that the views beside have selected. */
export type Selected = { list: () => Pause | undefined; repl: () => Pause | undefined };

/** How a call is shown. `beside`: another group, so that nothing that is being typed goes into it. */
type Showing = { preserveFocus?: boolean; beside?: boolean };

export class Decisions implements vscode.Disposable {
  readonly tabs: HeldTabs;
  private readonly disposables: Disposable[];
  private next: Next | undefined;
  /** Calls of several files of which the first alone is shown, since VS Code shows all of them only with the focus. */
  private readonly partial = new Set<string>();
  selected: Selected = { list: () => undefined, repl: () => undefined };

  constructor(
    private readonly ctx: Ctx,
    private readonly held: Held,
    private readonly files: HeldFiles,
    private readonly proposals: Proposals,
  ) {
    this.tabs = new HeldTabs(held);
    const follow = () => {
      this.followTabs();
    };
    const touched = () => {
      if (this.next?.from === "comparison") this.next.from = "elsewhere";
    };
    this.disposables = [
      ctx.on("backstitch/didResume", ({ pause, outcome, by }) => {
        // one that is parked can still be decided
        if (outcome !== "parked") void withErrors(() => this.followed(pause, by));
      }),
      // changed in a REPL, in a terminal or in another editor: it is shown as it runs
      ctx.on("backstitch/pauseChanged", ({ pause }) => {
        if (this.files.known(pause) === undefined) return;
        void withErrors(async () => {
          this.files.keep(await ctx.request("backstitch/pause", this.about(pause)));
        });
      }),
      held.onDidChange(() => {
        follow();
        if (ctx.state.name === "running") void vscode.window.tabGroups.close(this.tabs.stale(), true);
      }),
      vscode.window.tabGroups.onDidChangeTabs(follow),
      vscode.window.tabGroups.onDidChangeTabGroups(follow),
      // the user does something else: the next call does not take the focus
      vscode.window.onDidChangeTextEditorSelection(({ kind }) => {
        const { Keyboard, Mouse } = vscode.TextEditorSelectionChangeKind;
        if (kind === Keyboard || kind === Mouse) touched();
      }),
      vscode.window.onDidChangeActiveTerminal(touched),
      vscode.window.onDidChangeWindowState(({ focused }) => {
        if (!focused) touched();
      }),
    ];
    follow();
  }

  /** Follows the tab in front: titles and keys are those of its call. */
  private followTabs(): void {
    const pause = this.tabs.active();
    const words = pause === undefined ? undefined : traits(pause);
    void vscode.commands.executeCommand("setContext", "backstitch.heldDiff", words);
    // for the title of one that is shown in another group
    const fronts = vscode.window.tabGroups.all.map(({ activeTab }) => this.tabs.callOf(activeTab));
    const beside = fronts.find((each) => each !== undefined);
    void vscode.commands.executeCommand(
      "setContext",
      "backstitch.heldBeside",
      beside === undefined ? undefined : traits(beside),
    );
    if (pause === undefined || !this.partial.delete(keyOf(pause))) return;
    const first = this.tabs.of(pause);
    void withErrors(async () => {
      await this.show(pause);
      await vscode.window.tabGroups.close(first, true);
    });
  }

  /** The call of a row, of the open comparison, the only one, or the one that the user chooses. */
  private async call(argument: unknown): Promise<Pause | undefined> {
    const given = asArguments<Given>(argument);
    const id = [given.pause, given.id].find((each) => typeof each === "string");
    const place = [given.workspace, given.root].find((each) => typeof each === "string");
    const { pauses } = this.held;
    // from the title of an editor
    const side = typeof given.uri === "string" ? callOf(vscode.Uri.parse(given.uri)) : undefined;
    const titled = side && this.held.find(side.id, side.root);
    if (titled !== undefined) return titled;
    if (typeof id === "string") {
      const isWanted = (pause: Pause) =>
        pause.id === id && (place === undefined || shown(pause.root) === place);
      const found = pauses.find(isWanted);
      if (found === undefined) void inform(await this.gone(id, argument));
      return found;
    }
    const own =
      given.from === "list"
        ? this.selected.list()
        : given.from === "repl"
          ? this.selected.repl()
          : this.tabs.active();
    const there = own && this.held.find(own.id, shown(own.root));
    if (there !== undefined) return there;
    if (pauses.length === 0) throw new Error(vscode.l10n.t("No call is held"));
    if (pauses.length === 1) return pauses[0];
    const items = pauses.map((pause) => ({
      label: pause.summary,
      description: [agentOf(pause), quoted(pause.prompt), pause.why].filter(Boolean).join(" · "),
      pause,
    }));
    const chosen = await vscode.window.showQuickPick(items, { title: vscode.l10n.t("Which held call?") });
    return chosen?.pause;
  }

  /** Says how a call ended that is no longer held. */
  async gone(id: string, argument: unknown): Promise<string> {
    const say = vscode.l10n.t;
    const { workspace, root } = asArguments<Given>(argument);
    const place = [workspace, root].find((each) => typeof each === "string");
    const where = typeof place === "string" ? { workspace: place } : this.ctx.where();
    const all = await this.ctx.request("backstitch/pauses", { ...where, all: true }).catch(() => undefined);
    const over = all?.pauses.find((pause) => pause.id === id);
    if (over === undefined) return say("The call is no longer held");
    const outcome = outcomeOf(over);
    // the outcome says that its time ran out
    return over.decidedBy === null || over.outcome === "timedOut" || over.outcome === "parked"
      ? say("{0} is no longer held: {1}", over.summary, outcome)
      : say("{0} is no longer held: {1} ({2})", over.summary, outcome, decider(over.decidedBy, say));
  }

  private about(pause: Pause): { pause: string; workspace: string } {
    return { pause: pause.id, workspace: shown(pause.root) };
  }

  /** Place of a decision: as a key says, that of a row, or of the comparison in front. */
  private from(argument: unknown, pause: Pause): From {
    const { from } = asArguments<Given>(argument);
    if (from === "list" || from === "repl" || from === "comparison") return from;
    return this.tabs.active()?.id === pause.id ? "comparison" : "elsewhere";
  }

  /**
   * True if the call has to be seen first: a key was pressed somewhere else, and no editor shows it. It is shown then, and
   * the next key decides.
   */
  private async isShownFirst(argument: unknown, pause: Pause): Promise<boolean> {
    const isKey = asArguments<Given>(argument).from === "elsewhere";
    if (kindOf(pause) !== "proposal" && (!isKey || this.tabs.isVisible(pause))) return false;
    await this.show(pause);
    return true;
  }

  /** Continues the call, with the user's changes if there are any. */
  async resume(argument: unknown): Promise<unknown> {
    const pause = await this.call(argument);
    if (pause === undefined || (await this.isShownFirst(argument, pause))) return undefined;
    return this.decide(pause, argument, async () => {
      const taken = await this.files.taken(pause);
      return this.ctx.execute("backstitch.resume", { ...this.about(pause), ...taken });
    });
  }

  /** Carries a proposed rewind out. */
  async accept(argument: unknown): Promise<unknown> {
    const pause = await this.call(argument);
    return pause && this.proposals.accept(pause);
  }

  async step(argument: unknown, how: string): Promise<unknown> {
    const pause = await this.call(argument);
    if (pause === undefined || (await this.isShownFirst(argument, pause))) return undefined;
    const next = { session: pause.session, root: shown(pause.root), from: this.from(argument, pause) };
    return this.decide(pause, argument, async () => {
      const taken = await this.files.taken(pause);
      // before the decision: a fast agent calls before it is answered
      this.next = next;
      return this.ctx.execute("backstitch.step", { ...this.about(pause), how, ...taken });
    });
  }

  async skip(argument: unknown): Promise<unknown> {
    const pause = await this.call(argument);
    if (pause === undefined) return undefined;
    let value: string | null = null;
    if (pause.can.includes("replace")) {
      const typed = await vscode.window.showInputBox({
        title: vscode.l10n.t("Skip {0}", pause.summary),
        prompt: vscode.l10n.t("Result of the call, as an expression of the program; may be empty"),
      });
      if (typed === undefined) return undefined;
      value = typed;
    }
    return this.decide(pause, argument, () =>
      this.ctx.execute("backstitch.skip", { ...this.about(pause), value }),
    );
  }

  /** Refuses the call; asks for the reason unless one is given. */
  async refuse(command: "backstitch.deny" | "backstitch.stop", argument: unknown): Promise<unknown> {
    const pause = await this.call(argument);
    if (pause === undefined) return undefined;
    const given = asArguments<{ message?: unknown }>(argument).message;
    const message =
      typeof given === "string"
        ? given
        : await vscode.window.showInputBox({
            title:
              command === "backstitch.deny"
                ? vscode.l10n.t("Deny {0}", pause.summary)
                : vscode.l10n.t("Stop the turn at {0}", pause.summary),
            prompt: vscode.l10n.t("Reason for the model; may be empty"),
          });
    if (message === undefined) return undefined;
    return this.decide(pause, argument, () => this.ctx.execute(command, { ...this.about(pause), message }));
  }

  async back(argument: unknown): Promise<unknown> {
    const pause = await this.call(argument);
    if (pause === undefined) return undefined;
    const typed = await vscode.window.showInputBox({
      title: vscode.l10n.t("Take the agent's last steps back, and deny {0}", pause.summary),
      prompt: vscode.l10n.t("Number of steps"),
      value: "1",
      validateInput: (text) => (/^[1-9]\d*$/.test(text) ? undefined : vscode.l10n.t("A whole number from 1")),
    });
    if (typed === undefined) return undefined;
    const steps = Number(typed);
    return this.decide(pause, argument, () =>
      this.ctx.execute("backstitch.back", { ...this.about(pause), steps }),
    );
  }

  /** Sends a decision, and closes what was shown of the call. A prediction that no longer holds is shown anew. */
  private async decide<T>(pause: Pause, argument: unknown, send: () => Promise<T>): Promise<T | undefined> {
    // a list or a REPL keeps the focus
    const hadFocus = this.from(argument, pause) === "comparison";
    const isParked = pause.state === "parked";
    this.next = undefined;
    let done: T;
    try {
      done = await send();
    } catch (error) {
      this.next = undefined;
      const kind = failure(error)?.kind;
      if (kind === "already_resumed" || kind === "unknown_pause") {
        // somebody else was first
        void inform(await this.gone(pause.id, pause));
        await this.close(pause);
        this.held.refresh();
        return undefined;
      }
      if (kind === "stale") {
        this.files.keep(await this.ctx.request("backstitch/pause", this.about(pause)));
      }
      throw error;
    }
    await this.close(pause);
    // the focus of an editor that is gone would be nowhere
    if (hadFocus) await vscode.commands.executeCommand("workbench.action.focusActiveEditorGroup");
    this.held.refresh();
    if (isParked) {
      const text = vscode.l10n.t("Your decision holds once {0} tries {1} again", pause.agent, pause.summary);
      void inform(text);
    }
    return done;
  }

  /** Sends a text to the model of the held call, or of the next agent that can take it. */
  async inject(argument: unknown): Promise<unknown> {
    const given = asArguments<{ text?: unknown; workspace?: string }>(argument);
    const pause = this.held.pauses.length > 0 ? await this.call(argument) : undefined;
    const text =
      typeof given.text === "string"
        ? given.text
        : await vscode.window.showInputBox({
            title: vscode.l10n.t("Tell the Agent…"),
            prompt: vscode.l10n.t("Text for the model. It goes with the next event that can carry it"),
          });
    if (text === undefined || text === "") return undefined;
    const where = pause === undefined ? await this.ctx.about({}) : this.about(pause);
    return this.ctx.execute("backstitch.inject", { ...where, text });
  }

  /** Shows a held call as a whole. */
  async inspect(argument: unknown): Promise<unknown> {
    const pause = await this.call(argument);
    return pause && this.show(pause);
  }

  /**
   * Shows the call that a step has led to, where the focus is. Returns false for any other call.
   * The left side of its comparison has the focus: a key that comes late changes nothing.
   */
  async arrived(pause: Pause): Promise<boolean> {
    const { next } = this;
    if (next?.session !== pause.session || next.root !== shown(pause.root)) return false;
    this.next = undefined;
    if (kindOf(pause) === "program") return false;
    const isThere = next.from === "comparison";
    // the side that can be edited never has it
    await this.show(pause, { preserveFocus: true, beside: next.from === "elsewhere" });
    if (isThere) await vscode.commands.executeCommand("workbench.action.compareEditor.focusSecondarySide");
    return true;
  }

  /** Opens the comparison of a held call, or its command or input where no file is predicted. */
  async show(pause: Pause, { preserveFocus = false, beside = false }: Showing = {}): Promise<unknown> {
    if (pause.by === "program") return vscode.commands.executeCommand("backstitch.stack", this.about(pause));
    const details = await this.ctx.request("backstitch/pause", this.about(pause));
    this.files.keep(details);
    if (isProposal(pause)) {
      // a plan has the focus, so that it is shown only where that is wanted
      if (!preserveFocus) this.proposals.show(details);
      return details;
    }
    const sides = this.files.sides(pause);
    const isBeside = beside && vscode.window.tabGroups.activeTabGroup.tabs.length > 0;
    const viewColumn = isBeside ? vscode.ViewColumn.Beside : vscode.ViewColumn.Active;
    await this.open(pause, details, sides, { preview: false, preserveFocus, viewColumn });
    if (!preserveFocus) {
      for (const caveat of this.files.doubts(pause)) void warn(caveat);
    }
    return details;
  }

  private async open(
    pause: Pause,
    details: PauseDetails,
    sides: HeldSides[],
    options: vscode.TextDocumentShowOptions,
  ): Promise<void> {
    const title = this.tabs.titleOf(pause);
    const [first] = sides;
    if (first === undefined) {
      await vscode.window.showTextDocument(this.files.textOf(details.pause), options);
    } else if (sides.length === 1) {
      await vscode.commands.executeCommand("vscode.diff", first.now, first.then, title, options);
    } else if (options.preserveFocus === true) {
      this.partial.add(keyOf(pause));
      const part = vscode.l10n.t("{0} · 1 of {1} files", title, sides.length);
      await vscode.commands.executeCommand("vscode.diff", first.now, first.then, part, options);
    } else {
      await changes(
        title,
        sides.map(({ now, then }) => ({
          original: now,
          modified: then,
          resource: then === NOTHING ? now : then,
        })),
      );
      // a preview would make room for the next file that is opened
      await vscode.commands.executeCommand("workbench.action.keepEditor");
    }
    this.followTabs();
  }

  async input(argument: unknown): Promise<unknown> {
    const pause = await this.call(argument);
    if (pause === undefined) return undefined;
    this.files.keep(await this.ctx.request("backstitch/pause", this.about(pause)));
    return vscode.window.showTextDocument(this.files.inputOf(pause), { preview: false });
  }

  /** Closes the tabs of a call that is decided. */
  private async close(pause: Pause): Promise<void> {
    this.partial.delete(keyOf(pause));
    await vscode.window.tabGroups.close(this.tabs.of(pause), true);
  }

  /** Closes the tabs of a call that was decided elsewhere. One with the user's changes stays, and it is said. */
  private async followed(pause: Pause, by: string | null): Promise<void> {
    this.proposals.end(pause);
    const unsaved = this.files.dirty(pause);
    const tabs = this.tabs.of(pause).filter(({ isDirty }) => !isDirty);
    await vscode.window.tabGroups.close(tabs, true);
    if (unsaved.length === 0) return;
    const say = vscode.l10n.t;
    const text = say(
      "{0}: {1} ({2}). Your change of it is not saved, and was not taken",
      pause.summary,
      outcomeOf(pause),
      by === null ? pause.agent : decider(by, say),
    );
    void warn(text);
  }

  dispose(): void {
    for (const each of this.disposables) each.dispose();
  }
}

function keyOf(pause: Pause): string {
  return `${pause.id} ${shown(pause.root)}`;
}

/** Outcome of a call, in words. */
export function outcomeOf({ outcome }: Pause): string {
  const say = vscode.l10n.t;
  switch (outcome) {
    case "continued":
      return say("it was continued");
    case "changed":
      return say("it was continued with another input");
    case "denied":
      return say("it was denied");
    case "skipped":
      return say("it was skipped");
    case "stopped":
      return say("its turn was stopped");
    case "back":
      return say("it was denied, and steps were reverted");
    case "asked":
      return say("its agent asks you itself");
    case "timedOut":
    case "parked":
      return say("its time ran out");
    case null:
    default:
      return say("it is over");
  }
}
