// Tells the user about held calls without taking the focus: the status bar, and a message that names a call. While that one is
// open, or several calls are held, a message says who waits. VS Code closes an older message with the same words.

import * as vscode from "vscode";

import type { Ctx, Disposable } from "../ctx.ts";
import { type Pause, shown } from "../server/protocol.ts";
import { withErrors } from "../show/errors.ts";
import { agentOf, quoted } from "../show/words.ts";
import type { Decisions } from "./decide.ts";
import { type Held, type HeldKind, kindOf } from "./held.ts";
import { inform } from "../show/outside.ts";

export class Announcer implements vscode.Disposable {
  private readonly item = vscode.window.createStatusBarItem("held", vscode.StatusBarAlignment.Left, 11);
  private readonly disposables: Disposable[];
  /** True while a message that names a call is open. VS Code has no way to close it. */
  private isNamed = false;

  constructor(
    ctx: Ctx,
    private readonly held: Held,
    private readonly decisions: Decisions,
  ) {
    this.item.name = vscode.l10n.t("Backstitch: Held Calls");
    this.item.command = "backstitch.inspect";
    this.item.backgroundColor = new vscode.ThemeColor("statusBarItem.warningBackground");
    this.disposables = [
      this.item,
      held.onDidChange(() => {
        this.show();
      }),
      held.onDidPause((pause) => {
        void withErrors(() => this.tell(pause));
      }),
      ctx.on("backstitch/didResume", ({ pause, outcome }) => {
        if (outcome === "parked") tellParked(pause);
      }),
    ];
  }

  private show(): void {
    const held = this.held.held();
    if (held.length === 0) {
      this.item.hide();
      return;
    }
    this.item.text = `$(debug-pause) ${held.length}`;
    this.item.tooltip = held.map((pause) => `${agentOf(pause)}: ${pause.summary} (${pause.why})`).join("\n");
    const label =
      held.length === 1 ? vscode.l10n.t("1 held call") : vscode.l10n.t("{0} held calls", held.length);
    this.item.accessibilityInformation = { label: `Backstitch: ${label}`, role: "button" };
    this.item.show();
  }

  /** A message about a held call, unless a step has led to it, which shows it. A late click only says who was first. */
  private async tell(pause: Pause): Promise<void> {
    if (await this.decisions.arrived(pause)) return;
    const reveal = vscode.workspace.getConfiguration("backstitch").get<string>("pause.reveal", "badge");
    if (reveal === "never") return;
    if (reveal === "show" && kindOf(pause) === "call") {
      await this.decisions.show(pause, { preserveFocus: true, beside: true });
    }
    const others = this.held.held().filter(({ id, root }) => id !== pause.id || root !== pause.root);
    if (this.isNamed || others.length > 0) return this.tellAll(pause, others);
    this.isNamed = true;
    const asked = this.ask(textOf(pause), pause);
    await asked.finally(() => {
      this.isNamed = false;
    });
  }

  /** A message about one call, with its buttons. */
  private async ask(text: string, pause: Pause): Promise<void> {
    const chosen = await inform(text, ...actionsOf(kindOf(pause)));
    if (chosen === undefined) return;
    if (this.held.find(pause.id, shown(pause.root)) === undefined) {
      void inform(await this.decisions.gone(pause.id, pause));
    } else await vscode.commands.executeCommand(chosen.command, pause);
  }

  /** One message for all held calls: VS Code shows the same text once. `others`: a list may be older than the new call. */
  private async tellAll(pause: Pause, others: readonly Pause[]): Promise<void> {
    const say = vscode.l10n.t;
    const held = [...others, pause];
    // the same words for the same agents, whatever their order and number: VS Code shows them once
    const waiting = [...new Set(held.map((each) => whoOf(each)))].sort().join(", ");
    if (others.length === 0) return this.ask(say("A call is held: {0}", waiting), pause);
    const text = say("Calls are held: {0}", waiting);
    const show = { title: say("Show") };
    const chosen = await inform(text, show);
    if (chosen === undefined) return;
    if (this.held.pauses.length > 0) await vscode.commands.executeCommand("backstitch.inspect");
    else void inform(say("The call is no longer held"));
  }

  dispose(): void {
    for (const each of this.disposables) each.dispose();
  }
}

/** An agent with its session and the prompt of its turn: `claude-code B “change b”`. */
function whoOf(pause: Pause): string {
  return [agentOf(pause), quoted(pause.prompt)].filter(Boolean).join(" ");
}

function textOf(pause: Pause): string {
  const say = vscode.l10n.t;
  switch (kindOf(pause)) {
    case "program":
      return say("A {0} program is paused: {1} ({2})", pause.agent, pause.summary, pause.why);
    case "proposal":
      return say("{0} proposes a {1} ({2})", whoOf(pause), pause.summary, pause.why);
    case "call":
      return say("{0} wants to run {1} ({2})", whoOf(pause), pause.summary, pause.why);
  }
}

/** The first one is the primary button: it only shows. */
function actionsOf(kind: HeldKind): { title: string; command: string }[] {
  const say = vscode.l10n.t;
  switch (kind) {
    case "program":
      return [
        { title: say("Stack"), command: "backstitch.stack" },
        { title: say("Open a REPL"), command: "backstitch.repl.start" },
        { title: say("Continue"), command: "backstitch.resume" },
      ];
    case "proposal":
      return [
        { title: say("Show"), command: "backstitch.inspect" },
        { title: say("Deny"), command: "backstitch.deny" },
        { title: say("Rewind"), command: "backstitch.proposal.accept" },
      ];
    case "call":
      return [
        { title: say("Show"), command: "backstitch.inspect" },
        { title: say("Deny"), command: "backstitch.deny" },
        { title: say("Continue"), command: "backstitch.resume" },
      ];
  }
}

/** Its hook could wait no longer. */
function tellParked(pause: Pause): void {
  const text = vscode.l10n.t(
    "The time of a held call ran out: {0} was not run. {1} is asked to retry, and is held again then",
    pause.summary,
    whoOf(pause),
  );
  void inform(text);
}
