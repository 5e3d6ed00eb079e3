// First use: choice of the server's executable and of the agents to record.

import * as vscode from "vscode";

import type { Ctx } from "../ctx.ts";
import type { Missing } from "../server/binary.ts";
import { run, versionOf } from "../server/run.ts";
import { alarm, inform, warn } from "../show/outside.ts";

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
    const chosen = await alarm(say("{0} is not Backstitch. Nothing was changed.", file.fsPath), again);
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
/** How it stands with one agent, as the program says. */
type Known = { agent: string; found: string | null; recording: boolean; untrusted?: number };
type Status = { agents: Known[]; known?: string[] };

/** Sets up agents, like `backstitch setup` on the command line. */
export async function agents(ctx: Ctx): Promise<void> {
  const binary = ctx.binary();
  if (binary.path === undefined) {
    await missing(ctx);
    return;
  }
  if (!vscode.workspace.isTrusted) {
    const manage = say("Manage Trust");
    void warn(say("Agents are set up in trusted workspaces only"), manage).then((chosen) =>
      chosen === manage ? vscode.commands.executeCommand("workbench.trust.manage") : undefined,
    );
    return;
  }
  const program = binary.path;
  const { workspace } = ctx.where();
  const cwd = workspace ?? undefined;
  const status = await statusOf(program, cwd);
  const there = new Map(status.agents.map((each) => [each.agent, each]));
  const isFound = (name: string) => (there.get(name)?.found ?? null) !== null;
  const names = [...new Set([...there.keys(), ...(status.known ?? [])])];
  // those of this machine first
  const sorted = [...names.filter(isFound), ...names.filter((name) => !isFound(name))];
  const all = sorted.map((name): Agent => {
    const known = there.get(name);
    return {
      label: `$(hubot) ${name}`,
      description: known?.found ?? say("not found on this machine"),
      ...(known?.recording === true ? { detail: say("recorded already") } : {}),
      picked: isFound(name),
      name,
    };
  });
  const chosen = await vscode.window.showQuickPick<Agent>(all, {
    title: say("Select agents to record"),
    canPickMany: true,
  });
  if (chosen === undefined || chosen.length === 0) return;
  const wanted = chosen.map(({ name }) => name);
  const said = await run(program, ["setup", ...wanted], cwd);
  ctx.log.info(said);
  await askForTrust(program, cwd, wanted);
  const log = say("Show details");
  void inform(
    say("Set up: {0}. Start a new session of it: what it does is recorded from now on.", wanted.join(", ")),
    log,
  ).then((answer) => {
    if (answer === log) ctx.log.show();
  });
}

/** Has agents trust the hooks that they skip until their user trusts them, if the user says so. */
async function askForTrust(program: string, cwd: string | undefined, names: string[]): Promise<void> {
  const { agents } = await statusOf(program, cwd);
  for (const { agent, untrusted } of agents) {
    if (!names.includes(agent) || untrusted === undefined || untrusted === 0) continue;
    const trust = say("Trust the Hooks");
    const chosen = await vscode.window.showWarningMessage(
      say("{0} runs hooks only once you trust them", agent),
      {
        modal: true,
        detail: say(
          "Until then nothing it does is recorded. Have it trust the {0} hooks of Backstitch?",
          untrusted,
        ),
      },
      trust,
    );
    if (chosen === trust) await run(program, ["setup", agent, "--trust"], cwd);
  }
}

/** The agents that the program knows, and how it stands with those of this machine. */
async function statusOf(program: string, cwd: string | undefined): Promise<Status> {
  return JSON.parse(await run(program, ["--json", "setup", "--status"], cwd)) as Status;
}

/** Says why there is no server. */
export function missingText({ setting, isForeign }: Missing): string {
  if (setting === undefined) {
    return say("The program backstitch was not found: it is neither in the extension nor on the PATH.");
  }
  return isForeign === true
    ? say("{0} (backstitch.server.path) is not Backstitch.", setting)
    : say("{0} (backstitch.server.path) is not an executable.", setting);
}

/** Reports the missing server, with ways to fix it. */
export async function missing(ctx: Ctx): Promise<void> {
  const { state } = ctx;
  if (state.name !== "missing") return;
  const { setting } = state.binary;
  const text = missingText(state.binary);
  const [pick, install, settings, again] = [
    say("Choose it…"),
    say("How to install"),
    say("Open settings"),
    say("Try again"),
  ];
  // the first one is the primary button
  const ways = setting === undefined ? [install, pick, again] : [pick, settings, again];
  const chosen = await warn(text, ...ways);
  if (chosen === pick) await choose(ctx);
  else if (chosen === install) {
    await vscode.commands.executeCommand("backstitch.walkthrough");
  } else if (chosen === settings) {
    await vscode.commands.executeCommand("workbench.action.openSettings", "backstitch.server");
  } else if (chosen === again) await ctx.restart();
}
