// CI jobs in VS Code's debugger: the adapter is the program's.

import * as path from "node:path";
import * as vscode from "vscode";

import type { Ctx } from "../ctx.ts";
import { withErrors } from "../show/errors.ts";
import { showChanges } from "./changes.ts";
import { JobConfigurations, isAllowed, leftRun, directoryOf, withMatrix } from "./configurations.ts";
import { TYPE, nameOf, program, workflowOf } from "./jobs.ts";
import { type JobAt, JobLenses } from "./lenses.ts";
import { JobSessions } from "./sessions.ts";
import { JobStatus } from "./status.ts";
import { JobValues } from "./values.ts";

export function registerDebugging(ctx: Ctx): void {
  const provider = new JobConfigurations(ctx);
  const { Initial, Dynamic } = vscode.DebugConfigurationProviderTriggerKind;
  const sessions = ctx.register(new JobSessions());
  ctx.register(
    sessions.onDidCount(() => {
      ctx.steps.finish("job");
    }),
  );
  ctx.register(new JobStatus(sessions));
  ctx.register(new JobValues(sessions));
  ctx.register(new JobLenses(ctx));
  ctx.register(vscode.debug.registerDebugConfigurationProvider(TYPE, provider, Initial));
  ctx.register(vscode.debug.registerDebugConfigurationProvider(TYPE, provider, Dynamic));
  ctx.register(
    vscode.debug.registerDebugAdapterDescriptorFactory(TYPE, {
      createDebugAdapterDescriptor: (session) => adapter(ctx, session),
    }),
  );
  const commands = {
    "backstitch.job.debug": (argument: unknown) => start(ctx, argument, false),
    "backstitch.job.run": (argument: unknown) => start(ctx, argument, true),
    "backstitch.job.continue": async () => {
      if (!isAllowed()) return;
      const config = await leftRun(ctx);
      if (config !== undefined) await vscode.debug.startDebugging(folderOf(), config);
    },
    // VS Code gives a menu of frames the file first, then the frame
    "backstitch.job.changes": (_file: unknown, frame: unknown) => showChanges(sessions, frame),
  };
  for (const [name, run] of Object.entries(commands)) {
    ctx.register(
      vscode.commands.registerCommand(name, (first: unknown, second: unknown) =>
        withErrors(() => run(first, second)),
      ),
    );
  }
}

/** Starts the adapter in the project. */
function adapter(ctx: Ctx, session: vscode.DebugSession): vscode.DebugAdapterExecutable {
  if (!vscode.workspace.isTrusted) throw new Error(vscode.l10n.t("The folder is not trusted"));
  const workflow: unknown = session.configuration["workflow"];
  const isAbsolute = typeof workflow === "string" && path.isAbsolute(workflow);
  const cwd = isAbsolute ? path.dirname(workflow) : directoryOf(session.workspaceFolder);
  const env = vscode.workspace
    .getConfiguration("backstitch")
    .get<Record<string, string>>("server.extraEnv", {});
  return new vscode.DebugAdapterExecutable(program(ctx), ["dap"], { cwd, env });
}

function folderOf(uri = vscode.window.activeTextEditor?.document.uri): vscode.WorkspaceFolder | undefined {
  const own = uri === undefined ? undefined : vscode.workspace.getWorkspaceFolder(uri);
  return own ?? vscode.workspace.workspaceFolders?.[0];
}

/** Starts the job of a lens, or else the one at the cursor. */
async function start(ctx: Ctx, argument: unknown, noDebug: boolean): Promise<void> {
  if (!isAllowed()) return;
  const { uri, job } = (argument ?? {}) as Partial<JobAt>;
  let config: vscode.DebugConfiguration = { type: TYPE, request: "launch", name: "" };
  const file = uri === undefined ? undefined : vscode.Uri.parse(uri);
  if (file !== undefined && job !== undefined) {
    const found = (await workflowOf(ctx, file.fsPath))?.jobs.find(({ id }) => id === job);
    const chosen =
      found === undefined ? { workflow: file.fsPath, job } : await withMatrix(file.fsPath, found);
    if (chosen === undefined) return;
    config = { ...config, ...chosen, name: nameOf(chosen.workflow, job, chosen.matrix) };
  }
  await vscode.debug.startDebugging(folderOf(file), config, { noDebug });
}
