// Rows of the timeline's tree: their texts, and the arguments for commands on them.

import * as vscode from "vscode";

import * as documents from "../documents/open.ts";
import type { Agent } from "../recording.ts";
import {
  type Branch,
  type Change,
  type Checkpoint,
  type Coverage,
  type Operation,
  rev,
  shown,
} from "../server/protocol.ts";
import { changes, gaps } from "../show/entries.ts";
import { icon } from "../show/pick.ts";
import { outcome, tooltip } from "../show/tooltip.ts";
import { about, ago, counts, kindOf, which } from "../show/words.ts";
import { UNDONE_COLOR, badged } from "./badges.ts";
import type { FoldedEntry } from "./model.ts";

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
    // another id after a switch: VS Code keeps what was expanded by the id
    this.id = `branch:${branch.name}${branch.current ? ":current" : ""}`;
    this.iconPath = new vscode.ThemeIcon(branch.current ? "target" : "git-branch");
    const from = branch.parent === null ? "" : say("from {0}", branch.parent);
    this.description = [branch.current ? say("current") : "", from].filter(Boolean).join(" · ");
    this.tooltip = branch.description ?? branch.name;
    this.accessibilityInformation = {
      label: [say("branch {0}", branch.name), this.description].filter(Boolean).join(", "),
    };
    this.contextValue = branch.current ? "branch-current" : "branch";
    this.arguments = { workspace: root, branch: branch.name };
  }
}

/** Place of a row: the workspace, the branch that shows it, and what its neighbours make it say. */
export type Place = {
  root: string;
  branch: string;
  now: number;
  /** True if rows name their session. */
  hasSessions: boolean;
  /** Checkpoint at which the branch was created: if it is a turn, the branch is without its work. */
  forkPoint: string | null;
  /** Ids of the rows that the user has expanded. */
  expanded: ReadonlySet<string>;
};

export class EntryRow extends Row {
  readonly arguments;
  readonly children: Row[];
  readonly checkpoint: Checkpoint;
  /** The operation that the row's *Undo* undoes. */
  readonly operation: Operation | null;
  /** Adjacent edits of the user that the row stands for, newest first. */
  readonly saves: readonly Checkpoint[];

  constructor(place: Place, entry: FoldedEntry, isPart = false) {
    const { checkpoint, saves } = entry;
    const say = vscode.l10n.t;
    const title = about(checkpoint, say);
    super(title);
    this.checkpoint = checkpoint;
    this.saves = saves;
    const own = checkpoint.operation?.undone_by === null ? checkpoint.operation : null;
    this.operation = own ?? entry.undoneBy?.operation ?? null;
    // several branches may show the same checkpoint, and a group of saves its newest one
    const part = isPart ? ":part" : "";
    this.id = `${place.branch}:${checkpoint.id}${part}`;
    this.children = below(place, entry);
    this.collapsibleState =
      this.children.length === 0 ? None : place.expanded.has(this.id) ? Expanded : Collapsed;
    const all = gaps(entry);
    const isUndone = entry.state === "undone" || (checkpoint.operation?.undone_by ?? null) !== null;
    this.iconPath = iconOf(checkpoint, { place, isUndone, isWarned: all.length > 0 });
    if (all.length > 0 || isUndone) {
      this.resourceUri = badged(this.id, { missing: all.length, isUndone });
    }
    const isStart =
      checkpoint.id === place.forkPoint && checkpoint.kind === "turn" && entry.steps.length === 0;
    const changed = saves.length > 0 ? saves.flatMap((save) => save.changes) : changes(entry);
    const letter = place.hasSessions && checkpoint.kind === "turn" ? (checkpoint.letter ?? "") : "";
    this.description = [
      letter,
      isStart ? say("the branch starts here") : "",
      isUndone ? say("undone") : entry.state === "partly undone" ? say("partly undone") : "",
      outcome(checkpoint, say),
      ago(checkpoint.time, place.now, say),
      saves.length > 0 ? say("{0} saves", saves.length) : "",
      counts(changed),
      all.length > 0 ? say("{0} not captured", all.length) : "",
      checkpoint.pinned ? say("pinned") : "",
      checkpoint.tags.join(", "),
      which(checkpoint, say),
    ]
      .filter(Boolean)
      .join(" · ");
    this.tooltip = tooltip(checkpoint, changed, place.now);
    this.accessibilityInformation = {
      label: [kindName(checkpoint), title, rev(checkpoint), this.description].filter(Boolean).join(", "),
    };
    const isAgents = checkpoint.session === null ? "" : "-agent";
    const undo = this.operation === null ? "" : "-undoable";
    const states = `${isUndone ? "-out" : ""}${undo}${checkpoint.pinned ? "-pinned" : ""}`;
    this.contextValue = `${checkpoint.kind}${states}${isAgents}`;
    this.arguments = { workspace: place.root, rev: rev(checkpoint) };
  }
}

function below(place: Place, entry: FoldedEntry): Row[] {
  const { checkpoint, steps, saves, operations } = entry;
  const single = (each: Checkpoint) => {
    const state = each.taken_out ? ("undone" as const) : ("in force" as const);
    const alone = { checkpoint: each, steps: [], saves: [], operations: [], undoneBy: undefined, state };
    return new EntryRow(place, alone, saves.length > 0);
  };
  if (saves.length > 0) return saves.map(single);
  return [
    ...operations.map(single),
    ...steps.map(single),
    ...checkpoint.changes.map((change) => new FileRow(place.root, checkpoint, change, place.branch)),
    ...checkpoint.unsaved.map((text, at) => {
      const path = shown(text.path);
      const earlier = checkpoint.unsaved.slice(0, at).filter((other) => shown(other.path) === path);
      return new KeptRow(place, checkpoint, text, earlier.length + 1);
    }),
    ...gaps({ checkpoint, steps: [] }).map((item) => new GapRow(item)),
  ];
}

/** Number of colours for sessions; the palette is the same in the terminal. */
const COLORS = ["Cyan", "Magenta", "Yellow", "Green", "Blue", "Red"];

/** Returns the colour of a session by its letter: A, B … Z, AA …; the page of the graph has the same. */
export function sessionColor(letter: string): vscode.ThemeColor {
  return new vscode.ThemeColor(`terminal.ansi${COLORS[sessionNumber(letter)] ?? "Cyan"}`);
}

/** Number of the colour of a session, from 0. */
export function sessionNumber(letter: string): number {
  const number = Array.from(letter).reduce((sum, each) => sum * 26 + each.charCodeAt(0) - 64, 0);
  return (number - 1) % COLORS.length;
}

type IconFacts = { place: Place; isUndone: boolean; isWarned: boolean };

function iconOf(checkpoint: Checkpoint, { place, isUndone, isWarned }: IconFacts): vscode.ThemeIcon {
  const name = isUndone && checkpoint.kind === "turn" ? "circle-slash" : icon(checkpoint);
  const { letter } = checkpoint;
  const color = isUndone
    ? new vscode.ThemeColor(UNDONE_COLOR)
    : isWarned || checkpoint.failed === true
      ? new vscode.ThemeColor("list.warningForeground")
      : place.hasSessions && letter !== null
        ? sessionColor(letter)
        : undefined;
  return new vscode.ThemeIcon(name, color);
}

/** Kind of a row for a screen reader. */
function kindName({ kind, agent }: Checkpoint): string {
  const say = vscode.l10n.t;
  if (kind === "turn") return agent === null ? say("turn") : say("turn of {0}", agent);
  return kind === "step" ? say("step") : "";
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
    this.arguments = { workspace: root, rev: rev(checkpoint), paths: [uri], uri };
    // VS Code shows what a binary file is; there are no lines to compare
    if (!change.binary) {
      this.command = { command: "backstitch.openChange", title: say("Show change"), arguments: [this] };
    } else if (!this.isDeleted) {
      this.command = { command: "backstitch.openFile", title: say("Open the File"), arguments: [this] };
    }
  }
}

class NoteRow extends Row {
  readonly arguments: Record<string, unknown> = {};
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

/** Text that an editor had not saved, which the history keeps. */
export class KeptRow extends NoteRow {
  override readonly arguments;

  constructor(place: Place, checkpoint: Checkpoint, text: Checkpoint["unsaved"][number], number: number) {
    const say = vscode.l10n.t;
    const path = shown(text.path);
    super(path, say("unsaved in {0}", text.editor), "circle-filled");
    this.id = `${place.branch}:${checkpoint.id}:unsaved:${number}:${path}`;
    this.description = [say("unsaved in {0}", text.editor), counts([text])].filter(Boolean).join(" · ");
    this.tooltip = say("Unsaved text of {0}, kept at {1}", path, checkpoint.id);
    this.contextValue = "kept";
    const uri = documents.onDisk(place.root, text.path).toString();
    this.arguments = { workspace: place.root, uri, rev: checkpoint.id, unsaved: number };
    this.command = { command: "backstitch.showKept", title: say("Show"), arguments: [this] };
  }
}

/** The filter of the timeline; chosen, it is cleared. */
export class FilterRow extends NoteRow {
  constructor(text: string) {
    const say = vscode.l10n.t;
    super(say("Only {0}", text), say("show everything"), "filter-filled");
    this.id = "filter";
    this.tooltip = say("The timeline shows {0} only. Choose this row to show everything.", text);
    this.contextValue = "filter";
    this.command = { command: "backstitch.timeline.clearFilter", title: say("Show Everything") };
  }
}

/** Stands where the filter leaves nothing. */
export class NothingRow extends NoteRow {
  constructor(branch: string) {
    super(vscode.l10n.t("No checkpoint matches"), "", "info");
    this.id = `nothing:${branch}`;
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
