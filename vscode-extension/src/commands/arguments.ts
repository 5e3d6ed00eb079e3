// What a command was called with, whoever called it.

import * as vscode from "vscode";

import { below } from "../documents/open.ts";
import type { Commands, Where } from "../server/protocol.ts";
import type { Filter } from "../timeline/model.ts";
import { BranchRow, EntryRow, FileRow, Row } from "../timeline/rows.ts";

/** A lens's or an action's object; what a row of the timeline stands for; a file of the explorer; else nothing. */
// who reads them says what they are; the server refuses what is none
// eslint-disable-next-line @typescript-eslint/no-unnecessary-type-parameters
export function asArguments<T extends object>(argument: unknown): T {
  if (argument instanceof Row) return argument.arguments as T;
  if (argument instanceof vscode.Uri) return { uri: argument.toString() } as T;
  // VS Code calls with objects of its own, too: a source control, a group of it
  const isPlain =
    typeof argument === "object" && argument !== null && Object.getPrototypeOf(argument) === Object.prototype;
  return (isPlain ? argument : {}) as T;
}

/** Those of these keys alone: the title of the timeline calls with whatever row has the focus. */
export function only<T extends Where>(argument: unknown, keys: readonly (keyof T & string)[]): T {
  const given = Object.entries(asArguments(argument));
  return Object.fromEntries(given.filter(([key]) => (keys as readonly string[]).includes(key))) as T;
}

/** As `asArguments`, where a checkpoint is meant: a branch stands for its end. */
// eslint-disable-next-line @typescript-eslint/no-unnecessary-type-parameters
export function pointOf<T extends object>(argument: unknown): T {
  if (!(argument instanceof BranchRow)) return asArguments<T>(argument);
  const { head, name } = argument.branch;
  return { workspace: argument.root, rev: head ?? name } as unknown as T;
}

/** Where a file can be seen as a row has it: what was deleted only before that. */
// eslint-disable-next-line @typescript-eslint/no-unnecessary-type-parameters
export function seenAt<T extends object>(argument: unknown): T {
  const isGone = argument instanceof FileRow && argument.isDeleted;
  return isGone ? { ...asArguments<T>(argument), rev: `${argument.checkpoint.id}^` } : itself<T>(argument);
}

/** As what a row of the timeline is taken out: a turn, or a step. */
export function toTakeOut(argument: unknown): object {
  if (!(argument instanceof EntryRow)) return asArguments(argument);
  const { workspace } = argument.arguments;
  const { kind, turn, id } = argument.checkpoint;
  return kind === "turn" ? { workspace, turn: turn ?? id } : { workspace, step: id };
}

/** The checkpoint itself that a row shows, and not the state before it. */
// eslint-disable-next-line @typescript-eslint/no-unnecessary-type-parameters
export function itself<T extends object>(argument: unknown): T {
  const given = asArguments<T>(argument);
  const isRow = argument instanceof EntryRow || argument instanceof FileRow;
  return isRow ? { ...given, rev: argument.checkpoint.id } : given;
}

/** Which operation a row is. */
export function operationOf(argument: unknown): Commands["backstitch.undo"]["params"] {
  const operation = argument instanceof EntryRow ? argument.checkpoint.operation : null;
  if (!(argument instanceof EntryRow) || operation === null) {
    throw new Error(vscode.l10n.t("This is no rewind that can be undone"));
  }
  return { workspace: argument.arguments.workspace, op: operation.id };
}

/** What a row has in common with others: a file its path, what an agent did its session. */
export function filterOf(argument: unknown): Filter {
  if (argument instanceof FileRow) {
    const path = below(argument.arguments.workspace, argument.resourceUri?.fsPath ?? "");
    return path === undefined ? {} : { path };
  }
  const session = argument instanceof EntryRow ? argument.checkpoint.session : null;
  return session === null ? {} : { session };
}
