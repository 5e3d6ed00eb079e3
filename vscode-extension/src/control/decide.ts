// Commands on held calls.

import * as vscode from "vscode";

import type { Ctx, Disposable } from "../ctx.ts";
import { changes } from "../documents/open.ts";
import { type Pause, shown } from "../server/protocol.ts";
import { asArguments } from "../commands/arguments.ts";
import { callOf, type HeldFiles } from "./files.ts";
import type { Held } from "./held.ts";

type Given = { pause?: unknown; id?: unknown; workspace?: unknown; root?: unknown };

export class Decisions implements vscode.Disposable {
  private readonly follows: Disposable;

  constructor(
    private readonly ctx: Ctx,
    private readonly held: Held,
    private readonly files: HeldFiles,
  ) {
    // one that is parked can still be decided
    this.follows = ctx.on("backstitch/didResume", ({ pause, outcome }) => {
      if (outcome !== "parked") void this.followed(pause);
    });
  }

  dispose(): void {
    this.follows.dispose();
  }

  /** The call of a row, of the open comparison, the only one, or the one that the user chooses. */
  private async call(argument: unknown): Promise<Pause | undefined> {
    const given = asArguments<Given>(argument);
    const id = [given.pause, given.id].find((each) => typeof each === "string");
    const place = [given.workspace, given.root].find((each) => typeof each === "string");
    const here = id === undefined ? callOf(activeUri()) : undefined;
    const wanted =
      typeof id === "string" ? { id, root: typeof place === "string" ? place : undefined } : here;
    const { pauses } = this.held;
    if (wanted !== undefined) {
      const found = pauses.filter(
        (pause) => pause.id === wanted.id && (wanted.root === undefined || shown(pause.root) === wanted.root),
      );
      if (found[0] === undefined) {
        throw new Error(vscode.l10n.t("{0} is not held any more", wanted.id));
      }
      return found[0];
    }
    if (pauses.length === 0) throw new Error(vscode.l10n.t("No call is held"));
    if (pauses.length === 1) return pauses[0];
    const items = pauses.map((pause) => ({
      label: pause.summary,
      description: `${pause.agent} · ${pause.why}`,
      pause,
    }));
    const chosen = await vscode.window.showQuickPick(items, { title: vscode.l10n.t("Which held call?") });
    return chosen?.pause;
  }

  private about(pause: Pause): { pause: string; workspace: string } {
    return { pause: pause.id, workspace: shown(pause.root) };
  }

  /** Lets the call go on, with the user's changes if there are any. */
  async resume(argument: unknown): Promise<unknown> {
    const pause = await this.call(argument);
    if (pause === undefined) return undefined;
    const changed = await this.files.changed(pause);
    const done = await this.ctx.execute("backstitch.resume", { ...this.about(pause), ...changed });
    await this.close(pause);
    return done;
  }

  async step(argument: unknown, how: string): Promise<unknown> {
    const pause = await this.call(argument);
    if (pause === undefined) return undefined;
    const done = await this.ctx.execute("backstitch.step", { ...this.about(pause), how });
    await this.close(pause);
    return done;
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
    const done = await this.ctx.execute("backstitch.skip", { ...this.about(pause), value });
    await this.close(pause);
    return done;
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
    const done = await this.ctx.execute(command, { ...this.about(pause), message });
    await this.close(pause);
    return done;
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
    const done = await this.ctx.execute("backstitch.back", { ...this.about(pause), steps: Number(typed) });
    await this.close(pause);
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

  /** Opens the comparison of a held call, or its input where no file is predicted. */
  async inspect(argument: unknown): Promise<unknown> {
    const pause = await this.call(argument);
    if (pause === undefined) return undefined;
    if (pause.by === "program") return vscode.commands.executeCommand("backstitch.stack", this.about(pause));
    const details = await this.ctx.request("backstitch/pause", this.about(pause));
    this.files.keep(details);
    const title = vscode.l10n.t("Held: {0}", pause.summary);
    const sides = this.files.sides(pause);
    const [first] = sides;
    if (first === undefined) {
      await vscode.window.showTextDocument(this.files.inputOf(pause), { preview: false });
      return details;
    }
    if (sides.length === 1) {
      await vscode.commands.executeCommand("vscode.diff", first.now, first.then, title, { preview: false });
    } else {
      await changes(
        title,
        sides.map(({ now, then }) => ({ original: now, modified: then, resource: then })),
      );
    }
    for (const doubt of this.files.doubts(pause)) void vscode.window.showWarningMessage(doubt);
    return details;
  }

  async input(argument: unknown): Promise<unknown> {
    const pause = await this.call(argument);
    if (pause === undefined) return undefined;
    this.files.keep(await this.ctx.request("backstitch/pause", this.about(pause)));
    return vscode.window.showTextDocument(this.files.inputOf(pause), { preview: false });
  }

  /** Closes the tabs of a call that is decided. */
  private async close(pause: Pause, isWanted: (tab: vscode.Tab) => boolean = () => true): Promise<void> {
    const isOf = (uri: vscode.Uri | undefined) => {
      const call = callOf(uri);
      return call?.id === pause.id && call.root === shown(pause.root);
    };
    const tabs = vscode.window.tabGroups.all
      .flatMap((group) => group.tabs)
      .filter(({ input, label }) => {
        if (input instanceof vscode.TabInputTextDiff) return isOf(input.modified);
        if (input instanceof vscode.TabInputText) return isOf(input.uri);
        return label.startsWith(vscode.l10n.t("Held: {0}", pause.summary));
      });
    await vscode.window.tabGroups.close(tabs.filter(isWanted), true);
  }

  /** Closes the tabs of a call that was decided elsewhere. One with the user's changes stays. */
  private async followed(pause: Pause): Promise<void> {
    await this.close(pause, ({ isDirty }) => !isDirty);
  }
}

/** Document of the active tab: the right side of a comparison. */
export function activeUri(): vscode.Uri | undefined {
  const input = vscode.window.tabGroups.activeTabGroup.activeTab?.input;
  if (input instanceof vscode.TabInputTextDiff) return input.modified;
  if (input instanceof vscode.TabInputText) return input.uri;
  return vscode.window.activeTextEditor?.document.uri;
}
