// Arguments of commands, from lenses, rows of the timeline, the explorer and source control.

import * as vscode from "vscode";

import { below } from "../documents/open.ts";
import type { Commands, Where } from "../server/protocol.ts";
import type { Filter } from "../timeline/model.ts";
import { BranchRow, EntryRow, FileRow, Row } from "../timeline/rows.ts";

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

/** Arguments to undo the operation of a row. */
export function operationOf(argument: unknown): Commands["backstitch.undo"]["params"] {
  const operation = argument instanceof EntryRow ? argument.checkpoint.operation : null;
  if (!(argument instanceof EntryRow) || operation === null) {
    throw new Error(vscode.l10n.t("This is not a rewind that can be undone"));
  }
  return { workspace: argument.arguments.workspace, op: operation.id };
}

/** Filter for rows like this one: the path of a file, or the session of an agent's checkpoint. */
export function filterOf(argument: unknown): Filter {
  if (argument instanceof FileRow) {
    const path = below(argument.arguments.workspace, argument.resourceUri?.fsPath ?? "");
    return path === undefined ? {} : { path };
  }
  const session = argument instanceof EntryRow ? argument.checkpoint.session : null;
  return session === null ? {} : { session };
}
