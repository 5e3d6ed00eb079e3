// Arguments of commands, from lenses, rows of the timeline, the explorer and source control.

import * as vscode from "vscode";

import { type Kept, below } from "../documents/open.ts";
import type { Commands, Where } from "../server/protocol.ts";
import { rev } from "../server/protocol.ts";
import { about } from "../show/words.ts";
import type { Filter } from "./model.ts";
import { BranchRow, EntryRow, FileRow, KeptRow, Row } from "./rows.ts";

/** Arguments from a lens, a code action, a row of the timeline or a file of the explorer; else an empty object. */
// the caller names the type; the server refuses wrong arguments
// eslint-disable-next-line @typescript-eslint/no-unnecessary-type-parameters
export function asArguments<T extends object>(argument: unknown): T {
  if (argument instanceof Row) return argument.arguments as T;
  if (argument instanceof vscode.Uri) return { uri: argument.toString() } as T;
  // VS Code also passes objects of its own: a source control or one of its groups
  const isPlain =
    typeof argument === "object" && argument !== null && Object.getPrototypeOf(argument) === Object.prototype;
  return (isPlain ? argument : {}) as T;
}

/** Limits arguments to these keys: the title of the timeline passes the focused row, whatever it is. */
export function only<T extends Where>(argument: unknown, keys: readonly (keyof T & string)[]): T {
  const given = Object.entries(asArguments(argument));
  return Object.fromEntries(given.filter(([key]) => (keys as readonly string[]).includes(key))) as T;
}

/** Like `asArguments`, for commands on a checkpoint: a branch stands for its head. */
// eslint-disable-next-line @typescript-eslint/no-unnecessary-type-parameters
export function pointOf<T extends object>(argument: unknown): T {
  if (!(argument instanceof BranchRow)) return asArguments<T>(argument);
  const { head, name } = argument.branch;
  return { workspace: argument.root, rev: head ?? name } as unknown as T;
}

/** Checkpoint that has the file of a row: the checkpoint itself, or the state before a deletion. */
// eslint-disable-next-line @typescript-eslint/no-unnecessary-type-parameters
export function seenAt<T extends object>(argument: unknown): T {
  const isGone = argument instanceof FileRow && argument.isDeleted;
  return isGone ? { ...asArguments<T>(argument), rev: `${argument.checkpoint.id}^` } : itself<T>(argument);
}

/** Arguments to revert a row of the timeline: a turn, or a step. */
export function toTakeOut(argument: unknown): object {
  if (!(argument instanceof EntryRow)) return asArguments(argument);
  const { workspace } = argument.arguments;
  const { kind, turn, id } = argument.checkpoint;
  return kind === "turn" ? { workspace, turn: turn ?? id } : { workspace, step: id };
}

/** Arguments for the checkpoint of a row itself, not for the state before it. */
// eslint-disable-next-line @typescript-eslint/no-unnecessary-type-parameters
export function itself<T extends object>(argument: unknown): T {
  const given = asArguments<T>(argument);
  const isRow = argument instanceof EntryRow || argument instanceof FileRow;
  return isRow ? { ...given, rev: argument.checkpoint.id } : given;
}

/** Like `itself`, with the title of the row, for messages. */
// eslint-disable-next-line @typescript-eslint/no-unnecessary-type-parameters
export function titled<T extends object>(argument: unknown): T & { title?: string } {
  const given = itself<T>(argument);
  return argument instanceof EntryRow
    ? { ...given, title: about(argument.checkpoint, vscode.l10n.t) }
    : given;
}

/** Name of a row's checkpoint in commands: a turn has its own. */
export function nameOf(argument: unknown): string {
  if (argument instanceof EntryRow) return rev(argument.checkpoint);
  return asArguments<{ rev?: string }>(argument).rev ?? "";
}

/** Arguments to compare the states before and after a group of the user's edits; undefined for another row. */
export function savesOf(argument: unknown): (Where & { rev: string; rev2: string }) | undefined {
  if (!(argument instanceof EntryRow)) return undefined;
  const [newest, oldest] = [argument.saves[0], argument.saves.at(-1)];
  const before = oldest?.parent ?? null;
  if (newest === undefined || before === null) return undefined;
  return { workspace: argument.arguments.workspace, rev: before, rev2: newest.id };
}

/** Text that an editor had not saved: of a row, or as named by a message. */
export function keptOf(argument: unknown): Kept {
  const { workspace, uri, rev: at, unsaved } = asArguments<Partial<KeptRow["arguments"]>>(argument);
  if (workspace === undefined || uri === undefined || at === undefined) {
    throw new Error(vscode.l10n.t("No text is kept there"));
  }
  return { root: workspace, file: vscode.Uri.parse(uri), rev: at, number: unsaved ?? 1 };
}

/** Arguments to undo the operation of a row, or the one that undid it. */
export function operationOf(argument: unknown): Commands["backstitch.undo"]["params"] {
  const operation = argument instanceof EntryRow ? argument.operation : null;
  if (!(argument instanceof EntryRow) || operation === null) {
    throw new Error(vscode.l10n.t("This is not a rewind that can be undone"));
  }
  return { workspace: argument.arguments.workspace, op: operation.id };
}

/** Filter for rows like this one: the path of a file, or the session of an agent's checkpoint, which has a name, too. */
export function filterOf(argument: unknown): { filter: Filter; session?: string } {
  if (argument instanceof FileRow) {
    const path = below(argument.arguments.workspace, argument.resourceUri?.fsPath ?? "");
    return { filter: path === undefined ? {} : { path } };
  }
  const { session = null, letter = null } = argument instanceof EntryRow ? argument.checkpoint : {};
  if (session === null) return { filter: {} };
  const name = letter === null ? {} : { session: vscode.l10n.t("session {0}", letter) };
  return { filter: { session }, ...name };
}
