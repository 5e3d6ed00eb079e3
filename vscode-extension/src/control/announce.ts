// Tells the user about held calls without taking the focus: the status bar, and one message for each call.

import * as vscode from "vscode";

import type { Disposable } from "../ctx.ts";
import type { Pause } from "../server/protocol.ts";
import { withErrors } from "../show/errors.ts";
import { HELD_SCHEME } from "./files.ts";
import { activeUri } from "./decide.ts";
import type { Held } from "./held.ts";

export class Announcer implements vscode.Disposable {
  private readonly item = vscode.window.createStatusBarItem("held", vscode.StatusBarAlignment.Left, 11);
  private readonly disposables: Disposable[];

  constructor(private readonly held: Held) {
    this.item.name = vscode.l10n.t("Backstitch: Held Calls");
    this.item.command = "backstitch.inspect";
    this.item.backgroundColor = new vscode.ThemeColor("statusBarItem.warningBackground");
    const follow = () => {
      const isHeld = activeUri()?.scheme === HELD_SCHEME;
      void vscode.commands.executeCommand("setContext", "backstitch.heldDiff", isHeld);
    };
    this.disposables = [
      this.item,
      held.onDidChange(() => {
        this.show();
      }),
      held.onDidPause((pause) => {
        void withErrors(() => tell(pause));
      }),
      vscode.window.tabGroups.onDidChangeTabs(follow),
      vscode.window.tabGroups.onDidChangeTabGroups(follow),
    ];
    follow();
  }

  private show(): void {
    const held = this.held.held();
    if (held.length === 0) {
      this.item.hide();
      return;
    }
    this.item.text = `$(debug-pause) ${held.length}`;
    this.item.tooltip = held.map(({ agent, summary, why }) => `${agent}: ${summary} (${why})`).join("\n");
    const label =
      held.length === 1 ? vscode.l10n.t("1 held call") : vscode.l10n.t("{0} held calls", held.length);
    this.item.accessibilityInformation = { label: `Backstitch: ${label}`, role: "button" };
    this.item.show();
  }

  dispose(): void {
    for (const each of this.disposables) each.dispose();
  }
}

/** One message for a held call. VS Code cannot withdraw it: a late click says who was first. */
async function tell(pause: Pause): Promise<void> {
  const reveal = vscode.workspace.getConfiguration("backstitch").get<string>("pause.reveal", "badge");
  if (reveal === "never") return;
  if (reveal === "show") await vscode.commands.executeCommand("backstitch.inspect", pause);
  const say = vscode.l10n.t;
  const isProgram = pause.by === "program";
  const text = isProgram
    ? say("A {0} program stands still: {1} ({2})", pause.agent, pause.summary, pause.why)
    : say("{0} wants to run {1} ({2})", pause.agent, pause.summary, pause.why);
  const actions = isProgram
    ? [
        { title: say("Continue"), command: "backstitch.resume" },
        { title: say("Open a REPL"), command: "backstitch.repl.start" },
        { title: say("Stack"), command: "backstitch.stack" },
      ]
    : [
        { title: say("Continue"), command: "backstitch.resume" },
        { title: say("Deny"), command: "backstitch.deny" },
        { title: say("Show"), command: "backstitch.inspect" },
      ];
  const chosen = await vscode.window.showInformationMessage(text, ...actions);
  if (chosen !== undefined) await vscode.commands.executeCommand(chosen.command, pause);
}
