// What a command was called with, whoever called it.

import { EntryRow, Row } from "../timeline/rows.ts";

/** A lens's or an action's object; what a row of the timeline stands for; nothing where there is nothing. */
// who reads them says what they are; the server refuses what is none
// eslint-disable-next-line @typescript-eslint/no-unnecessary-type-parameters
export function asArguments<T extends object>(argument: unknown): T {
  if (argument instanceof Row) return argument.arguments as T;
  // a resource group or state of the source control view brings more than what is meant
  const isPlain = typeof argument === "object" && argument !== null && !("resourceUri" in argument);
  return (isPlain ? argument : {}) as T;
}

/** As what a row of the timeline is taken out: a turn, or a step. */
export function toTakeOut(argument: unknown): object {
  if (!(argument instanceof EntryRow)) return asArguments(argument);
  const { workspace, rev } = argument.arguments;
  return argument.checkpoint.kind === "turn" ? { workspace, turn: rev } : { workspace, step: rev };
}
