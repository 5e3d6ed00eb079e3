// Lenses above the jobs of a workflow: debug it, run it.

import * as vscode from "vscode";

import type { Ctx, Disposable } from "../ctx.ts";
import { type Workflow, workflowOf } from "./jobs.ts";
import { LANGUAGES, isWorkflow, jobsIn } from "./workflow.ts";

/** The argument of a lens. */
export type JobAt = { uri: string; job: string };

export class JobLenses implements vscode.CodeLensProvider {
  private readonly changed = new vscode.EventEmitter<void>();
  readonly onDidChangeCodeLenses = this.changed.event;
  private readonly known = new Map<string, Promise<Workflow | undefined>>();
  private readonly disposables: Disposable[];

  constructor(private readonly ctx: Ctx) {
    const update = () => {
      this.known.clear();
      this.changed.fire();
    };
    const watcher = vscode.workspace.createFileSystemWatcher("**/.github/workflows/*.{yml,yaml}");
    this.disposables = [
      this.changed,
      vscode.languages.registerCodeLensProvider(
        LANGUAGES.map((language) => ({ scheme: "file", language })),
        this,
      ),
      watcher,
      watcher.onDidChange(update),
      watcher.onDidCreate(update),
      vscode.workspace.onDidSaveTextDocument(({ uri }) => {
        if (isWorkflow(uri.fsPath)) update();
      }),
      vscode.workspace.onDidGrantWorkspaceTrust(update),
      vscode.workspace.onDidChangeConfiguration((change) => {
        if (change.affectsConfiguration("backstitch.codeLens")) update();
      }),
      ctx.onDidChangeState(update),
    ];
  }

  async provideCodeLenses(document: vscode.TextDocument): Promise<vscode.CodeLens[]> {
    const file = document.uri.fsPath;
    const isOff = vscode.workspace.getConfiguration("backstitch").get("codeLens") === "off";
    if (isOff || !vscode.workspace.isTrusted || !isWorkflow(file)) return [];
    const jobs = (await this.workflow(file))?.jobs ?? [];
    const lines = new Map(
      jobsIn(document.getText().split(/\r?\n/)).map(({ id, first }) => [id, first] as const),
    );
    return jobs.flatMap(({ id, line }) => {
      // the text may have changed since it was saved
      const at = lines.get(id) ?? Math.min(line, document.lineCount) - 1;
      const range = new vscode.Range(at, 0, at, 0);
      const argument: JobAt = { uri: document.uri.toString(), job: id };
      const lens = (title: string, command: string) =>
        new vscode.CodeLens(range, { title, command, arguments: [argument] });
      return [
        lens(vscode.l10n.t("Debug job"), "backstitch.job.debug"),
        lens(vscode.l10n.t("Run"), "backstitch.job.run"),
      ];
    });
  }

  private workflow(file: string): Promise<Workflow | undefined> {
    const known = this.known.get(file);
    if (known !== undefined) return known;
    const found = workflowOf(this.ctx, file).catch((error: unknown) => {
      this.ctx.log.debug(String(error));
      return undefined;
    });
    this.known.set(file, found);
    return found;
  }

  dispose(): void {
    for (const each of this.disposables) each.dispose();
  }
}
