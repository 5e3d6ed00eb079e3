// First use: choice of the server's executable and of the agents to record.

import * as vscode from "vscode";

import type { Ctx } from "../ctx.ts";
import { run, versionOf } from "./run.ts";

const say = vscode.l10n.t;

/** Asks for the server's executable. */
export async function choose(ctx: Ctx): Promise<void> {
  const [file] =
    (await vscode.window.showOpenDialog({
      title: say("Select the Backstitch executable"),
      canSelectMany: false,
    })) ?? [];
  if (file === undefined) return;
  const version = await versionOf(file.fsPath);
  if (version === undefined) {
    const again = say("Choose Another…");
    const chosen = await vscode.window.showErrorMessage(
      say("{0} is not Backstitch. Nothing was changed.", file.fsPath),
      again,
    );
    if (chosen === again) await choose(ctx);
    return;
  }
  const settings = vscode.workspace.getConfiguration("backstitch");
  const before = settings.get<string>("server.path", "");
  await settings.update("server.path", file.fsPath, vscode.ConfigurationTarget.Global);
  ctx.log.info(`${file.fsPath} was chosen: ${version}`);
  // a changed setting restarts the server by itself
  if (before === file.fsPath) await ctx.restart();
}

type Agent = vscode.QuickPickItem & { name: string };

/** Sets up agents, like `backstitch setup` on the command line. */
export async function agents(ctx: Ctx): Promise<void> {
  const binary = ctx.binary();
  if (binary.path === undefined) {
    await missing(ctx);
    return;
  }
  if (!vscode.workspace.isTrusted) {
    void vscode.window.showWarningMessage(say("Agents are set up in trusted workspaces only"));
    return;
  }
  const there = await found(binary.path);
  const all = AGENTS.map((name): Agent => {
    const where = there.get(name);
    return {
      label: `$(hubot) ${name}`,
      description: where ?? say("not found on this machine"),
      picked: where !== undefined,
      name,
    };
  });
  const chosen = await vscode.window.showQuickPick<Agent>(all, {
    title: say("Select agents to record"),
    canPickMany: true,
  });
  if (chosen === undefined || chosen.length === 0) return;
  const said = await run(binary.path, ["setup", ...chosen.map(({ name }) => name)]);
  ctx.log.info(said);
  const log = say("Show details");
  const names = chosen.map(({ name }) => name).join(", ");
  void vscode.window
    .showInformationMessage(
      say("Set up: {0}. Start a new session of it: what it does is recorded from now on.", names),
      log,
    )
    .then((answer) => {
      if (answer === log) ctx.log.show();
    });
}

/** Agents on this machine, with the evidence by which they were found. */
async function found(program: string): Promise<Map<string, string>> {
  type SetupReport = { agents: { agent: string; found: string | null }[] };
  try {
    const { agents } = JSON.parse(await run(program, ["--json", "setup", "--print"])) as SetupReport;
    return new Map(agents.flatMap(({ agent, found }) => (found === null ? [] : [[agent, found]])));
  } catch {
    // the command fails if there is none
    return new Map();
  }
}

/** The agents that `backstitch setup` knows. */
const AGENTS = ["claude-code"];

/** Reports the missing server, with ways to fix it. */
export async function missing(ctx: Ctx): Promise<void> {
  const { state } = ctx;
  if (state.name !== "missing") return;
  const { setting, isForeign } = state.binary;
  const text =
    setting === undefined
      ? say("The program backstitch was not found: it is neither in the extension nor on the PATH.")
      : isForeign
        ? say("{0} (backstitch.server.path) is not Backstitch.", setting)
        : say("{0} (backstitch.server.path) is not an executable.", setting);
  const [pick, install, settings, again] = [
    say("Choose it…"),
    say("How to install"),
    say("Open settings"),
    say("Try again"),
  ];
  const other = setting === undefined ? install : settings;
  const chosen = await vscode.window.showWarningMessage(text, pick, other, again);
  if (chosen === pick) await choose(ctx);
  else if (chosen === install) {
    await vscode.commands.executeCommand("backstitch.walkthrough");
  } else if (chosen === settings) {
    await vscode.commands.executeCommand("workbench.action.openSettings", "backstitch.server");
  } else if (chosen === again) await ctx.restart();
}
