// Rows of the timeline's tree: their texts, and the arguments for commands on them.

import * as vscode from "vscode";

import * as documents from "../documents/open.ts";
import type { Agent } from "../recording.ts";
import {
  type Branch,
  type Change,
  type Checkpoint,
  type Coverage,
  before,
  rev,
  shown,
} from "../server/protocol.ts";
import { icon } from "../show/pick.ts";
import { about, ago, counts, kindOf, line } from "../show/words.ts";
import { badged } from "./badges.ts";
import { type Entry, changes, gaps } from "./model.ts";

export abstract class Row extends vscode.TreeItem {
  /** Arguments for commands, in the form of a lens's. */
  abstract readonly arguments: Record<string, unknown>;
  abstract readonly children: Row[] | undefined;
}

const { Collapsed, Expanded, None } = vscode.TreeItemCollapsibleState;

export class BranchRow extends Row {
  readonly arguments;
  /** Read when the row is expanded. */
  readonly children = undefined;

  constructor(
    readonly root: string,
    readonly branch: Branch,
  ) {
    super(branch.name, branch.current ? Expanded : Collapsed);
    const say = vscode.l10n.t;
    this.id = `branch:${branch.name}`;
    this.iconPath = new vscode.ThemeIcon(branch.current ? "target" : "git-branch");
    const from = branch.fork_point === null ? "" : say("from {0}", branch.fork_point);
    this.description = [branch.current ? say("current") : "", from].filter(Boolean).join(" · ");
    this.tooltip = branch.description ?? branch.name;
    this.accessibilityInformation = {
      label: [say("branch {0}", branch.name), this.description].filter(Boolean).join(", "),
    };
    this.contextValue = branch.current ? "branch-current" : "branch";
    this.arguments = { workspace: root, branch: branch.name };
  }
}

export class EntryRow extends Row {
  readonly arguments;
  readonly children: Row[];
  readonly checkpoint: Checkpoint;

  constructor(root: string, entry: Entry, now: number, branch: string) {
    const { checkpoint } = entry;
    const say = vscode.l10n.t;
    const title = about(checkpoint, say);
    super(title);
    this.checkpoint = checkpoint;
    const missing = gaps({ checkpoint, steps: [] });
    this.children = [
      ...entry.steps.map((step) => new EntryRow(root, { checkpoint: step, steps: [] }, now, branch)),
      ...checkpoint.changes.map((change) => new FileRow(root, checkpoint, change, branch)),
      ...checkpoint.unsaved.map(
        (text) => new NoteRow(shown(text.path), say("not saved in {0}", text.editor), "circle-filled"),
      ),
      ...missing.map((item) => new GapRow(item)),
    ];
    this.collapsibleState = this.children.length === 0 ? None : Collapsed;
    // several branches may show the same checkpoint
    this.id = `${branch}:${checkpoint.id}`;
    const all = gaps(entry);
    const warned = all.length > 0;
    this.iconPath = new vscode.ThemeIcon(
      icon(checkpoint),
      warned ? new vscode.ThemeColor("list.warningForeground") : undefined,
    );
    if (warned) this.resourceUri = badged(checkpoint.id, all.length);
    const lines = counts(changes(entry));
    this.description = [
      checkpoint.taken_out ? say("undone") : "",
      lines,
      warned ? say("{0} not captured", all.length) : "",
      checkpoint.pinned ? say("pinned") : "",
      checkpoint.tags.join(", "),
      ago(checkpoint.time, now, say),
    ]
      .filter(Boolean)
      .join(" · ");
    this.tooltip = tooltip(entry, now);
    this.accessibilityInformation = { label: [title, rev(checkpoint), this.description].join(", ") };
    const isAgents = checkpoint.session === null ? "" : "-agent";
    const states = `${checkpoint.taken_out ? "-out" : ""}${checkpoint.pinned ? "-pinned" : ""}`;
    this.contextValue = `${checkpoint.kind}${states}${isAgents}`;
    this.arguments = { workspace: root, rev: before(checkpoint) };
  }
}

export class FileRow extends Row {
  readonly arguments;
  readonly children = undefined;
  readonly isDeleted: boolean;

  constructor(
    root: string,
    readonly checkpoint: Checkpoint,
    change: Change,
    branch: string,
  ) {
    const path = shown(change.path);
    super(path.slice(path.lastIndexOf("/") + 1), None);
    const say = vscode.l10n.t;
    this.id = `${branch}:${checkpoint.id}:${path}`;
    this.resourceUri = documents.onDisk(root, change.path);
    this.iconPath = vscode.ThemeIcon.File;
    const dir = path.includes("/") ? path.slice(0, path.lastIndexOf("/")) : "";
    const kind = change.kind === "modify" ? "" : kindOf(change, say);
    this.description = [dir, kind, counts([change]), change.binary ? say("binary") : ""]
      .filter(Boolean)
      .join(" · ");
    this.tooltip = path;
    const spoken = [path, kind, counts([change]), change.binary ? say("binary") : ""];
    this.accessibilityInformation = { label: spoken.filter(Boolean).join(", ") };
    this.isDeleted = change.kind === "delete";
    this.contextValue = `file${change.binary ? "-binary" : ""}${this.isDeleted ? "-deleted" : ""}`;
    const uri = this.resourceUri.toString();
    this.arguments = { workspace: root, rev: before(checkpoint), paths: [uri], uri };
    if (!change.binary) {
      this.command = { command: "backstitch.openChange", title: say("Show change"), arguments: [this] };
    }
  }
}

class NoteRow extends Row {
  readonly arguments = {};
  readonly children = undefined;

  constructor(label: string, description: string, icon: string, color?: string) {
    super(label, None);
    this.description = description;
    this.accessibilityInformation = { label: [label, description].filter(Boolean).join(", ") };
    this.iconPath = new vscode.ThemeIcon(
      icon,
      color === undefined ? undefined : new vscode.ThemeColor(color),
    );
    this.contextValue = "note";
  }
}

class GapRow extends NoteRow {
  constructor(item: Coverage["items"][number]) {
    super(
      shown(item.path),
      vscode.l10n.t("not captured: {0}", item.detail || item.reason),
      "warning",
      "list.warningForeground",
    );
  }
}

/** An agent whose hooks do nothing, with the reason; chosen, it is repaired. */
export class RecordingRow extends NoteRow {
  constructor({ agent, reason, fix, repair }: Agent) {
    const say = vscode.l10n.t;
    super(say("Recording: off ({0})", agent), reason ?? "", "warning", "list.warningForeground");
    this.id = `recording:${agent}`;
    const action = repair === null ? (fix ?? "") : say("Choose this row to repair it.");
    this.tooltip = [reason ?? "", action].filter(Boolean).join("\n");
    if (repair !== null) this.command = { command: "backstitch.repair", title: say("Repair") };
  }
}

/** The end of a page. */
export class MoreRow extends NoteRow {
  constructor(branch: string) {
    super(vscode.l10n.t("Older checkpoints"), "", "ellipsis");
    this.id = `more:${branch}`;
    this.command = {
      command: "backstitch.timeline.more",
      title: vscode.l10n.t("Older checkpoints"),
      arguments: [branch],
    };
  }
}

function tooltip(entry: Entry, now: number): vscode.MarkdownString {
  const say = vscode.l10n.t;
  const { checkpoint } = entry;
  const text = new vscode.MarkdownString("", true);
  text.appendText(line(checkpoint.prompt ?? checkpoint.label ?? about(checkpoint, say), 500));
  text.appendMarkdown("\n\n");
  const facts = [
    rev(checkpoint) === checkpoint.id ? checkpoint.id : `${rev(checkpoint)} (${checkpoint.id})`,
    checkpoint.agent ?? "",
    checkpoint.tool ?? "",
    ago(checkpoint.time, now, say),
    checkpoint.time ?? "",
    checkpoint.git.branch ?? "",
    counts(changes(entry)),
  ];
  text.appendText(facts.filter(Boolean).join(" · "));
  if (checkpoint.description !== undefined) {
    text.appendMarkdown("\n\n");
    text.appendText(checkpoint.description);
  }
  return text;
}
