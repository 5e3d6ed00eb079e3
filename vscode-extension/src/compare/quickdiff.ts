// Change bars in the gutter against a checkpoint of the user's choice, and the list of files that differ from it. It is a
// source control provider: VS Code offers quick diff to those only.

import * as vscode from "vscode";

import type { Ctx } from "../ctx.ts";
import * as documents from "../documents/open.ts";
import { type ChangedFile, type Where, rev as revOf, shown } from "../server/protocol.ts";
import { failure, message } from "../show/errors.ts";
import { warn, withoutIcons } from "../show/outside.ts";
import { about, ago, counts, titleOf } from "../show/words.ts";
import { rootOf } from "./compare.ts";
import { type LineChange, fromGutter } from "./hunks.ts";
import type { Pointed, Review } from "./review.ts";

/** `name` is its title for people. */
type Chosen = { place: Where; root: string; id: string; name: string };

export class QuickDiff implements vscode.Disposable, vscode.QuickDiffProvider {
  private control: vscode.SourceControl | undefined;
  private group: vscode.SourceControlResourceGroup | undefined;
  private chosen: Chosen | undefined;
  private pending: NodeJS.Timeout | undefined;
  private refreshing: Promise<void> = Promise.resolve();
  /** Bases of the files that differ, by URI of the present file. */
  private bases = new Map<string, documents.Base>();
  private binary = new Set<string>();
  /** The server's names for the listed states, by URI of the present file. */
  private shown = new Map<string, string | undefined>();
  private readonly disposables: vscode.Disposable[];

  constructor(
    private readonly ctx: Ctx,
    private readonly review: Review,
  ) {
    const refresh = () => {
      this.scheduleRefresh();
    };
    this.disposables = [
      ctx.on("backstitch/timelineChanged", refresh),
      vscode.workspace.onDidSaveTextDocument(refresh),
      review.onDidChange(refresh),
      ctx.onDidChangeState(({ name }) => {
        if (name !== "running") return;
        if (this.chosen === undefined) void this.restore();
        else this.scheduleRefresh();
      }),
    ];
  }

  async provideOriginalResource(uri: vscode.Uri): Promise<vscode.Uri | undefined> {
    const { chosen } = this;
    if (chosen === undefined || uri.scheme !== "file") return undefined;
    const path = documents.below(chosen.root, uri.fsPath);
    if (path === undefined) return undefined;
    // the list knows if the file existed, and its older name
    await this.refreshing.catch(() => undefined);
    const known = this.bases.get(uri.toString());
    return documents.baseUri(known ?? { root: chosen.root, rev: chosen.id, path, there: true });
  }

  /** Returns the changes that the gutter's peek or rows of the list point at; empty for a call from an editor. */
  pointed(given: readonly unknown[]): Pointed[] {
    const [uri, changes, at] = given;
    if (uri instanceof vscode.Uri) {
      const all = Array.isArray(changes) ? (changes as LineChange[]).map(fromGutter) : [];
      const hunk = typeof at === "number" ? all[at] : undefined;
      const file = hunk && this.file(uri);
      return file ? [{ ...file, change: { hunk, all } }] : [];
    }
    // all selected rows
    return (given as (vscode.SourceControlResourceState | undefined)[]).flatMap(
      (row) => (row?.resourceUri && this.file(row.resourceUri)) ?? [],
    );
  }

  /** Returns all files of the list. */
  all(): Pointed[] {
    return (this.group?.resourceStates ?? []).flatMap(({ resourceUri }) => this.file(resourceUri) ?? []);
  }

  private file(file: vscode.Uri): Pointed | undefined {
    if (this.chosen === undefined) return undefined;
    const { root, id } = this.chosen;
    const path = documents.below(root, file.fsPath) ?? "";
    const base = this.bases.get(file.toString()) ?? { root, rev: id, path, there: true };
    const uri = file.toString();
    return { base, file, isGone: false, isBinary: this.binary.has(uri), shown: this.shown.get(uri) };
  }

  /** Marks kept changes again. */
  async forget(): Promise<void> {
    if (this.chosen !== undefined) await this.review.forget(this.chosen.root, this.chosen.id);
  }

  /** Compares with a checkpoint from now on, also after the window is reopened. */
  async compareWith(place: Where, rev: string): Promise<void> {
    const found = await this.ctx.request("backstitch/checkpoint", { ...workspace(place), rev });
    const root = await rootOf(this.ctx, workspace(place));
    const say = vscode.l10n.t;
    const name = titleOf(found, say);
    this.off();
    this.chosen = { place: { workspace: root }, root, id: found.id, name };
    const control = vscode.scm.createSourceControl("backstitch", "Backstitch", documents.onDisk(root, "."));
    control.quickDiffProvider = this;
    control.inputBox.visible = false;
    control.statusBarCommands = [
      {
        command: "backstitch.quickDiff.choose",
        title: `$(history) ${withoutIcons(name)}`,
        tooltip: say(
          "Changes since {0} · {1} · {2}",
          revOf(found),
          about(found, say),
          ago(found.time, Date.now(), say),
        ),
      },
    ];
    this.group = control.createResourceGroup("since", say("Changed since {0}", name));
    this.control = control;
    await this.ctx.extension.workspaceState.update(STATE_KEY, { root, id: found.id, time: found.time });
    await vscode.commands.executeCommand("setContext", "backstitch.quickDiff", true);
    await this.refresh();
  }

  off(): void {
    this.control?.dispose();
    this.control = undefined;
    this.group = undefined;
    this.chosen = undefined;
    this.bases = new Map();
    this.binary = new Set();
    this.shown = new Map();
    void this.ctx.extension.workspaceState.update(STATE_KEY, undefined);
    void vscode.commands.executeCommand("setContext", "backstitch.quickDiff", false);
  }

  private async restore(): Promise<void> {
    const stored = this.ctx.extension.workspaceState.get<{ root: string; id: string; time: string | null }>(
      STATE_KEY,
    );
    if (stored === undefined) return;
    try {
      const place = { workspace: stored.root };
      const found = await this.ctx.request("backstitch/checkpoint", { ...place, rev: stored.id });
      // the user chose another one meanwhile
      if (this.chosen !== undefined) return;
      if (found.time !== stored.time) {
        this.ctx.log.info(`${stored.id} is another checkpoint now`);
        this.off();
        return;
      }
      await this.compareWith({ workspace: stored.root }, stored.id);
    } catch (error) {
      // the history was cleared, or the directory is gone: not worth a message; other failures are retried at the next start
      this.ctx.log.info(message(error));
      if (failure(error)?.kind === "not_found" && this.chosen === undefined) this.off();
    }
  }

  /** Debounces refreshes. Failures are only logged, unless the checkpoint is gone: the user did not ask for the refresh. */
  private scheduleRefresh(): void {
    this.pending ??= setTimeout(() => {
      this.pending = undefined;
      const { chosen } = this;
      this.refresh().catch((error: unknown) => {
        this.ctx.log.warn(message(error));
        // the user may have chosen another one meanwhile
        if (failure(error)?.kind !== "not_found" || chosen === undefined || this.chosen !== chosen) return;
        void warn(vscode.l10n.t("Changes are no longer shown: {0} was removed", chosen.name));
        this.off();
      });
    }, 50);
  }

  /** Updates the list. Updates run one after the other, so that the last answer is the newest. */
  private refresh(): Promise<void> {
    this.refreshing = this.refreshing.then(
      () => this.list(),
      () => this.list(),
    );
    return this.refreshing;
  }

  private async list(): Promise<void> {
    const { chosen, group, control } = this;
    const running = this.ctx.state.name === "running";
    if (!running || chosen === undefined || group === undefined || control === undefined) return;
    const { files } = await this.ctx.request("backstitch/diff", {
      ...chosen.place,
      from: chosen.id,
      to: "disk",
    });
    const all = files.map((file) => ({
      file,
      sides: documents.sides(chosen.root, file, chosen.id, undefined),
    }));
    const bases = new Map(
      all.flatMap(({ sides }) => {
        const base = documents.baseOf(sides.original);
        return base === undefined ? [] : [[sides.resource.toString(), base] as const];
      }),
    );
    if (this.group !== group) return;
    this.bases = bases;
    this.binary = new Set(
      all.filter(({ file }) => file.binary).map(({ sides }) => sides.resource.toString()),
    );
    this.shown = new Map(all.map(({ file, sides }) => [sides.resource.toString(), file.shown]));
    const left = all.filter(({ file }) => file.kept !== true);
    group.resourceStates = left.map(({ file, sides }) => state(chosen, file, sides));
    // git counts the same files, and the badge is the sum of all source controls
    control.count = isInGit(chosen.root) ? 0 : left.length;
  }

  dispose(): void {
    clearTimeout(this.pending);
    this.control?.dispose();
    for (const each of this.disposables) each.dispose();
  }
}

const STATE_KEY = "quickDiff";

function state(
  { name: since }: Chosen,
  file: ChangedFile,
  sides: documents.Sides,
): vscode.SourceControlResourceState {
  const name = shown(file.path);
  const compare = [sides.original, sides.modified, `${name} (${vscode.l10n.t("since {0}", since)})`];
  return {
    resourceUri: sides.resource,
    contextValue: file.kind,
    // a binary file has no lines to compare
    command: file.binary
      ? { command: "vscode.open", title: "", arguments: [sides.resource] }
      : { command: "vscode.diff", title: "", arguments: compare },
    decorations: {
      strikeThrough: file.kind === "delete",
      faded: file.kind === "mode",
      tooltip: [name, file.binary ? vscode.l10n.t("binary") : counts([file])].filter(Boolean).join(" "),
    },
  };
}

type GitExtension = { enabled: boolean; getAPI: (version: 1) => { repositories: { rootUri: vscode.Uri }[] } };

/** True if VS Code's own git extension has opened a repository with this folder. */
function isInGit(root: string): boolean {
  const git = vscode.extensions.getExtension<GitExtension>("vscode.git");
  if (git?.isActive !== true || !git.exports.enabled) return false;
  const { repositories } = git.exports.getAPI(1);
  return repositories.some(({ rootUri }) => `${root}/`.startsWith(`${rootUri.fsPath}/`));
}

function workspace(place: Where): Where {
  return typeof place.workspace === "string" ? { workspace: place.workspace } : place;
}
