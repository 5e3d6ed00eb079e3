// The jobs of workflows and the runs that can continue, as the program lists them.

import * as path from "node:path";
import * as vscode from "vscode";

import type { Ctx } from "../ctx.ts";
import { report } from "../server/run.ts";

/** The type of our sessions, as in `package.json`. */
export const TYPE = "backstitch-job";

export type Matrix = Record<string, unknown>;
/** A job, with the parts of `backstitch job list --json` that are needed here. */
export type Job = {
  id: string;
  name: string | null;
  /** From 1. */
  line: number;
  runsOn: string | null;
  steps: number | null;
  matrix: Matrix[] | null;
};
export type Workflow = { file: string; name: string | null; jobs: Job[]; problems: unknown[] };
export type Run = { id: string; workflow: string | null; job: string | null; resumable: boolean };

/** The program. Fails if it is not found. */
export function program(ctx: Ctx): string {
  const { path: found } = ctx.binary();
  if (found === undefined) throw new Error(vscode.l10n.t("The program backstitch was not found"));
  return found;
}

async function list<T>(ctx: Ctx, cwd: string, ...args: string[]): Promise<T> {
  return JSON.parse(await report(program(ctx), ["--json", "job", "list", ...args], cwd)) as T;
}

/** All workflows of the repository of a directory. */
export async function workflowsOf(ctx: Ctx, directory: string): Promise<Workflow[]> {
  const { workflows } = await list<{ workflows: Workflow[] }>(ctx, directory);
  return workflows;
}

/** One workflow by its path. */
export async function workflowOf(ctx: Ctx, file: string): Promise<Workflow | undefined> {
  const { workflows } = await list<{ workflows: Workflow[] }>(ctx, path.dirname(file), file);
  return workflows[0];
}

/** The runs of the repository of a directory that can continue, the newest first. */
export async function resumableRuns(ctx: Ctx, directory: string): Promise<Run[]> {
  const { runs } = await list<{ runs: Run[] }>(ctx, directory, "--runs");
  return runs.filter(({ resumable }) => resumable);
}

/** `node=20, os=linux`. */
export function matrixText(matrix: Matrix): string {
  const shown = (value: unknown) => (typeof value === "string" ? value : JSON.stringify(value));
  return Object.entries(matrix)
    .map(([name, value]) => `${name}=${shown(value)}`)
    .join(", ");
}

/** The name of a configuration: `ci: build`. */
export function nameOf(workflow: string, job: string, matrix?: Matrix): string {
  const stem = path.basename(workflow).replace(/\.ya?ml$/, "");
  const values = matrix === undefined ? "" : ` (${matrixText(matrix)})`;
  return `${stem}: ${job}${values}`;
}
