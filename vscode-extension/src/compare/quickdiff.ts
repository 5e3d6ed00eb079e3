// Change bars in the gutter against a checkpoint of the user's choice, and the files that differ from it, as a source
// control provider: quick diff is had by those alone.

import * as vscode from "vscode";

import type { Ctx } from "../ctx.ts";
import { type At, parts } from "../documents/uri.ts";
import * as documents from "../documents/open.ts";
import { type ChangedFile, type Commands, type Where, rev as revOf, shown } from "../server/protocol.ts";
import { told } from "../show/errors.ts";
import { about, ago, counts } from "../show/words.ts";
import { rootOf } from "./compare.ts";
import { type LineChange, lines } from "./spans.ts";

type Chosen = { place: Where; root: string; id: string };

export class QuickDiff implements vscode.Disposable, vscode.QuickDiffProvider {
  private control: vscode.SourceControl | undefined;
  private group: vscode.SourceControlResourceGroup | undefined;
  private chosen: Chosen | undefined;
  private counting: Promise<void> = Promise.resolve();
  /** Which files were not there at the checkpoint. */
  private created = new Set<string>();
  private readonly heard: vscode.Disposable[];

  constructor(private readonly ctx: Ctx) {
    const again = () => void told(() => this.refresh());
    this.heard = [
      ctx.on("backstitch/timelineChanged", again),
      vscode.workspace.onDidSaveTextDocument(again),
      ctx.onDidChangeState(({ name }) => {
        if (name === "running") void told(() => this.restore());
      }),
    ];
  }

  async provideOriginalResource(uri: vscode.Uri): Promise<vscode.Uri | undefined> {
    const { chosen } = this;
    if (chosen === undefined || uri.scheme !== "file") return undefined;
    const path = documents.below(chosen.root, uri.fsPath);
    // whether it was there at all
    await this.counting;
    if (path !== undefined && this.created.has(path)) return documents.NOTHING;
    return path === undefined
      ? undefined
      : vscode.Uri.from(parts({ ...chosen, rev: chosen.id, path } satisfies At & Chosen));
  }

  /** A change that the gutter shows, as a rewind of its lines; undefined where it is none of ours. */
  change(uri: unknown, changes: unknown, at: unknown): Commands["backstitch.rewind"]["params"] | undefined {
    const { chosen } = this;
    const change =
      Array.isArray(changes) && typeof at === "number" ? (changes[at] as LineChange | undefined) : undefined;
    if (chosen === undefined || !(uri instanceof vscode.Uri) || change === undefined) return undefined;
    return { uri: uri.toString(), rev: chosen.id, lines: lines(change) };
  }

  /** From now on, and when the window opens again. */
  async compareWith(place: Where, rev: string): Promise<void> {
    const found = await this.ctx.request("backstitch/checkpoint", { ...workspace(place), rev });
    const root = await rootOf(this.ctx, workspace(place));
    this.off();
    this.chosen = { place: { workspace: root }, root, id: found.id };
    const say = vscode.l10n.t;
    const control = vscode.scm.createSourceControl("backstitch", "Backstitch", vscode.Uri.file(root));
    control.quickDiffProvider = this;
    control.inputBox.visible = false;
    control.statusBarCommands = [
      {
        command: "backstitch.quickDiff.choose",
        title: `$(history) ${revOf(found)}`,
        tooltip: say(
          "Changes are marked since {0} · {1} · {2}",
          revOf(found),
          about(found, say),
          ago(found.time, Date.now(), say),
        ),
      },
    ];
    this.group = control.createResourceGroup(
      "since",
      say("Changed since {0} · {1}", revOf(found), about(found, say)),
    );
    this.control = control;
    await this.ctx.extension.workspaceState.update(KEPT, { root, id: found.id });
    await vscode.commands.executeCommand("setContext", "backstitch.quickDiff", true);
    await this.refresh();
  }

  off(): void {
    this.control?.dispose();
    this.control = undefined;
    this.group = undefined;
    this.chosen = undefined;
    void this.ctx.extension.workspaceState.update(KEPT, undefined);
    void vscode.commands.executeCommand("setContext", "backstitch.quickDiff", false);
  }

  private async restore(): Promise<void> {
    const kept = this.ctx.extension.workspaceState.get<{ root: string; id: string }>(KEPT);
    if (kept === undefined || this.chosen !== undefined) return;
    try {
      await this.compareWith({ workspace: kept.root }, kept.id);
    } catch (error) {
      // the history was cleared, or the directory is gone: that is no news
      this.ctx.log.info(String(error));
      this.off();
    }
  }

  /** What differs now. One after the other: the newest question has the newest answer. */
  private refresh(): Promise<void> {
    this.counting = this.counting.then(
      () => this.list(),
      () => this.list(),
    );
    return this.counting;
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
    if (this.group !== group) return;
    this.created = new Set(files.filter((file) => file.kind === "create").map((file) => shown(file.path)));
    group.resourceStates = files.map((file) => state(chosen, file));
    control.count = files.length;
  }

  dispose(): void {
    this.control?.dispose();
    for (const each of this.heard) each.dispose();
  }
}

const KEPT = "quickDiff";

function state({ root, id }: Chosen, file: ChangedFile): vscode.SourceControlResourceState {
  const sides = documents.sides(root, file, id, undefined);
  const name = shown(file.path);
  return {
    resourceUri: sides.resource,
    contextValue: file.kind,
    command: {
      command: "vscode.diff",
      title: "",
      arguments: [sides.original, sides.modified, `${name} (${id})`],
    },
    decorations: {
      strikeThrough: file.kind === "delete",
      faded: file.kind === "mode",
      tooltip: [name, counts([file])].filter(Boolean).join(" "),
    },
  };
}

function workspace(place: Where): Where {
  return typeof place.workspace === "string" ? { workspace: place.workspace } : place;
}
