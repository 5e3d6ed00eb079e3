// Configurations: the job at the cursor without a launch.json, and what a configuration leaves open.

import * as path from "node:path";
import * as vscode from "vscode";

import type { Ctx } from "../ctx.ts";
import { withErrors } from "../show/errors.ts";
import { warn, withoutIcons } from "../show/outside.ts";
import type { Job, Matrix, Workflow } from "./jobs.ts";
import { TYPE, matrixText, nameOf, program, resumableRuns, workflowOf, workflowsOf } from "./jobs.ts";
import { isWorkflow, jobAt } from "./workflow.ts";

type Config = vscode.DebugConfiguration;
/** A job of a workflow. The path of this is absolute. */
type Chosen = { workflow: string; job?: string; matrix?: Matrix };
type JobItem = vscode.QuickPickItem & { workflow: Workflow; job: Job };

/** False in a folder that is not trusted, which a message says. */
export function isAllowed(): boolean {
  if (vscode.workspace.isTrusted) return true;
  const say = vscode.l10n.t;
  const manage = say("Manage Workspace Trust");
  const text = say("A job runs commands of its folder, and this one is not trusted");
  void warn(text, manage).then((chosen) => {
    if (chosen === manage) void vscode.commands.executeCommand("workbench.trust.manage");
  });
  return false;
}

/** The folder of a configuration, of a file, or the first one. */
export function directoryOf(folder: vscode.WorkspaceFolder | undefined, file?: vscode.Uri): string {
  const own = file === undefined ? undefined : vscode.workspace.getWorkspaceFolder(file);
  const first = vscode.workspace.workspaceFolders?.find(({ uri }) => uri.scheme === "file");
  const known = (folder ?? own ?? first)?.uri.fsPath;
  if (known !== undefined) return known;
  if (file !== undefined) return path.dirname(file.fsPath);
  throw new Error(vscode.l10n.t("Open a folder with workflows first"));
}

export class JobConfigurations implements vscode.DebugConfigurationProvider {
  constructor(private readonly ctx: Ctx) {}

  /** Without a launch.json VS Code gives a configuration without a type. */
  async resolveDebugConfiguration(
    folder: vscode.WorkspaceFolder | undefined,
    config: Partial<Config>,
  ): Promise<Config | undefined> {
    if (!isAllowed()) return undefined;
    return withErrors(async () => {
      program(this.ctx);
      const whole = { ...config, type: TYPE, request: config.request ?? "launch", name: config.name ?? "" };
      if (whole.request !== "launch" || typeof config["workflow"] === "string") return whole;
      const chosen = await this.choose(folder);
      if (chosen === undefined) return undefined;
      const { workflow, job, matrix } = chosen;
      const name = whole.name || nameOf(workflow, job ?? "", matrix);
      return { ...whole, ...chosen, name };
    });
  }

  /** A workflow with several jobs needs the name of one. */
  async resolveDebugConfigurationWithSubstitutedVariables(
    folder: vscode.WorkspaceFolder | undefined,
    config: Config,
  ): Promise<Config | undefined> {
    const workflow: unknown = config["workflow"];
    if (config.request !== "launch" || typeof workflow !== "string" || config["job"] !== undefined) {
      return config;
    }
    return withErrors(async () => {
      const directory = directoryOf(folder);
      const all = await workflowsOf(this.ctx, directory);
      const own = all.filter(({ file }) => named(file, workflow));
      if (own.length !== 1 || own.flatMap(({ jobs }) => jobs).length < 2) return config;
      const item = await pickJob(own);
      return item === undefined ? undefined : { ...config, job: item.job.id };
    });
  }

  /** The job at the cursor, else the one that the user selects. */
  private async choose(folder: vscode.WorkspaceFolder | undefined): Promise<Chosen | undefined> {
    const editor = vscode.window.activeTextEditor;
    const document = editor?.document;
    if (document?.uri.scheme !== "file" || !isWorkflow(document.uri.fsPath)) {
      const directory = directoryOf(folder, document?.uri);
      const item = await pickJob(await workflowsOf(this.ctx, directory));
      const root = item === undefined ? undefined : await rootOf(directory, item.workflow.file);
      return root === undefined || item === undefined
        ? undefined
        : withMatrix(path.join(root, item.workflow.file), item.job);
    }
    const file = document.uri.fsPath;
    const found = await workflowOf(this.ctx, file);
    // its problems are the answer to the launch
    if (found === undefined || found.jobs.length === 0) return { workflow: file };
    const here = jobAt(document.getText().split(/\r?\n/), editor?.selection.active.line ?? 0);
    const job = found.jobs.find(({ id }) => id === here?.id) ?? (await pickJob([found]))?.job;
    return job === undefined ? undefined : withMatrix(file, job);
  }

  /** Configurations for a new launch.json, and for the list in the view Run and Debug. */
  async provideDebugConfigurations(folder: vscode.WorkspaceFolder | undefined): Promise<Config[]> {
    if (!vscode.workspace.isTrusted) return [];
    const directory = directoryOf(folder);
    const all = await workflowsOf(this.ctx, directory).catch(() => []);
    return all.flatMap(({ file, jobs }) =>
      jobs.map(({ id }) => ({
        type: TYPE,
        request: "launch",
        name: nameOf(file, id),
        workflow: file,
        job: id,
      })),
    );
  }
}

/** True if a configuration means this workflow: by its path, or by its name in the folder of workflows. */
function named(file: string, workflow: string): boolean {
  const plain = workflow.replaceAll("\\", "/");
  return plain === file || plain.endsWith(`/${file}`) || path.posix.basename(file) === plain;
}

/** The directory at or above this one that has the file. */
async function rootOf(directory: string, file: string): Promise<string | undefined> {
  for (let root = directory; ; root = path.dirname(root)) {
    const uri = vscode.Uri.file(path.join(root, file));
    const isThere = await Promise.resolve(vscode.workspace.fs.stat(uri)).then(
      () => true,
      () => false,
    );
    if (isThere) return root;
    if (root === path.dirname(root)) return undefined;
  }
}

/** Asks for a job, if there are several. */
async function pickJob(workflows: readonly Workflow[]): Promise<JobItem | undefined> {
  const say = vscode.l10n.t;
  const items: JobItem[] = workflows.flatMap((workflow) =>
    workflow.jobs.map((job) => ({
      label: withoutIcons(job.id),
      description: withoutIcons(
        [workflows.length > 1 ? workflow.file : "", job.runsOn ?? "", stepsText(job)]
          .filter(Boolean)
          .join(" · "),
      ),
      workflow,
      job,
    })),
  );
  if (items.length === 0) throw new Error(say("The project has no workflow with a job that can run"));
  if (items.length === 1) return items[0];
  return vscode.window.showQuickPick(items, { title: say("Select a job"), matchOnDescription: true });
}

function stepsText({ steps }: Job): string {
  if (steps === null) return "";
  return steps === 1 ? vscode.l10n.t("1 step") : vscode.l10n.t("{0} steps", steps);
}

/** Asks for a combination, if the job has several. */
export async function withMatrix(workflow: string, job: Job): Promise<Chosen | undefined> {
  const all = job.matrix ?? [];
  const chosen = { workflow, job: job.id };
  if (all.length < 2) return chosen;
  const items = all.map((matrix) => ({ label: withoutIcons(matrixText(matrix)), matrix }));
  const title = vscode.l10n.t("Select a combination of the matrix");
  const item = await vscode.window.showQuickPick(items, { title });
  return item === undefined ? undefined : { ...chosen, matrix: item.matrix };
}

/** Asks for a run that was left, if there are several, and returns its configuration. */
export async function leftRun(ctx: Ctx): Promise<Config | undefined> {
  const say = vscode.l10n.t;
  const runs = await resumableRuns(ctx, directoryOf(undefined, vscode.window.activeTextEditor?.document.uri));
  if (runs.length === 0) throw new Error(say("No run of this project was left before its end"));
  const items = runs.map(({ id, workflow }) => ({
    label: id,
    description: withoutIcons(workflow ?? ""),
    id,
  }));
  const item =
    items.length === 1 ? items[0] : await vscode.window.showQuickPick(items, { title: say("Select a run") });
  return item === undefined
    ? undefined
    : { type: TYPE, request: "attach", name: say("continue {0}", item.id), run: item.id };
}
