// If the agents are recorded. The program looks at their hooks (`backstitch setup --status`) and repairs them; this asks it
// when that may have changed, and tells the user.

import * as vscode from "vscode";

import { run } from "./server/run.ts";
import type { Ctx, Disposable } from "./ctx.ts";
import { message, withErrors } from "./show/errors.ts";
import { inform, warn } from "./show/outside.ts";

/** How it stands with one agent, as the program says. */
export type Agent = {
  agent: string;
  recording: boolean;
  /** Why it is off, or will be. */
  reason: string | null;
  fix: string | null;
  /** "ask" where the user may have put the missing program there. */
  repair: "automatic" | "ask" | null;
  scope: "user" | "project";
  hooks: unknown[];
};

/** How old an answer may be when the window gets the focus, in milliseconds. */
const AGE = 60_000;

export class Recording implements vscode.Disposable {
  private readonly changed = new vscode.EventEmitter<void>();
  readonly onDidChange = this.changed.event;
  agents: readonly Agent[] = [];
  private readonly disposables: Disposable[];
  private checkedAt = 0;
  private checking: Promise<void> = Promise.resolve();
  /** The reasons that the user has been informed. */
  private readonly said = new Set<string>();

  constructor(private readonly ctx: Ctx) {
    this.disposables = [
      this.changed,
      ctx.onDidChangeState(({ name }) => {
        if (name === "running") void this.check();
      }),
      vscode.window.onDidChangeWindowState(({ focused }) => {
        if (focused && Date.now() - this.checkedAt > AGE) void this.check();
      }),
    ];
  }

  /** Agents whose hooks are there, and do nothing. */
  broken(): Agent[] {
    return this.agents.filter((each) => !each.recording && each.hooks.length > 0);
  }

  /** One line about all agents; empty where there are none. */
  summary(): string {
    const say = vscode.l10n.t;
    const names = (on: boolean) =>
      this.agents.filter((each) => each.recording === on).map(({ agent }) => agent);
    const [on, off] = [names(true).join(", "), names(false).join(", ")];
    return [
      on === "" ? "" : say("Recording: on ({0})", on),
      off === "" ? "" : say("Recording: off ({0})", off),
    ]
      .filter(Boolean)
      .join(" · ");
  }

  /** Asks the program, and repairs what needs no question. One after the other. */
  check(): Promise<void> {
    this.checking = this.checking.then(() => this.look());
    return this.checking;
  }

  private async look(): Promise<void> {
    this.checkedAt = Date.now();
    try {
      await this.read();
      for (const each of this.agents.filter(({ repair }) => repair === "automatic")) {
        if (vscode.workspace.isTrusted) await this.repairOne(each);
      }
    } catch (error) {
      // a program of an older version does not know the question
      this.ctx.log.warn(message(error));
    }
    this.warn();
  }

  private async read(): Promise<void> {
    const { agents } = JSON.parse(await this.setup(["--json", "setup", "--status"])) as { agents: Agent[] };
    const isSame = JSON.stringify(agents) === JSON.stringify(this.agents);
    this.agents = agents;
    const context = agents.some(({ recording }) => recording) ? "on" : agents.length > 0 ? "off" : "";
    void vscode.commands.executeCommand("setContext", "backstitch.recording", context);
    if (context === "on") this.ctx.steps.finish("agents");
    if (!isSame) this.changed.fire();
  }

  /** Repairs the hooks of all agents that have trouble. */
  async repair(): Promise<void> {
    const say = vscode.l10n.t;
    if (!vscode.workspace.isTrusted) {
      void warn(say("Agents are set up in trusted workspaces only"));
      return;
    }
    await this.read();
    const wrong = this.agents.filter(({ repair }) => repair !== null);
    if (wrong.length === 0) {
      const off = this.agents.find(({ recording }) => !recording);
      const text = off === undefined ? say("Nothing to repair.") : described(off);
      void inform(text);
    }
    for (const each of wrong) await this.repairOne(each);
  }

  private async repairOne(before: Agent): Promise<void> {
    const { agent, scope, recording, reason } = before;
    this.ctx.log.info(await this.setup(["setup", agent, "--repair", "--scope", scope]));
    await this.read();
    const now = this.agents.find((each) => each.agent === agent);
    if (recording || now?.recording !== true) return;
    void inform(
      vscode.l10n.t(
        "Recording of {0} is on again; start a new session of it. It was off: {1}",
        agent,
        reason ?? "",
      ),
    );
  }

  /** Tells once of each reason for which an agent that was set up is not recorded. */
  private warn(): void {
    for (const each of this.broken()) {
      const text = described(each);
      if (this.said.has(text)) continue;
      this.said.add(text);
      const repair = vscode.l10n.t("Repair");
      void warn(text, ...(each.repair === null ? [] : [repair])).then((chosen) =>
        chosen === undefined ? undefined : withErrors(() => this.repair()),
      );
    }
  }

  private setup(args: string[]): Promise<string> {
    const { path } = this.ctx.binary();
    if (path === undefined) throw new Error(vscode.l10n.t("The program backstitch was not found"));
    return run(path, args, this.ctx.where().workspace ?? undefined);
  }

  dispose(): void {
    for (const each of this.disposables) each.dispose();
  }
}

function described({ agent, reason }: Agent): string {
  return vscode.l10n.t("{0} is not recorded: {1}", agent, reason ?? "");
}
