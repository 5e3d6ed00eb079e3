// Error messages for people: what failed, why, and what to do next.

import * as vscode from "vscode";
import type { ResponseError } from "vscode-languageclient/node";

import type { FailureData } from "../server/protocol.ts";
import { alarm, warn } from "./outside.ts";

/** Error code of LSP. */
const REQUEST_CANCELLED = -32800;

/** Checks the shape, not the class: the client is loaded later. */
function isResponse(error: unknown): error is ResponseError<FailureData> {
  return error instanceof Error && "code" in error && typeof error.code === "number";
}

/** Data of a failure of the server, beside its message. */
export function failure(error: unknown): FailureData | undefined {
  return isResponse(error) ? error.data : undefined;
}

export function isCancelled(error: unknown): boolean {
  if (isResponse(error) && error.code === REQUEST_CANCELLED) return true;
  return failure(error)?.kind === "cancelled" || error instanceof vscode.CancellationError;
}

/** Message and next step. A next step that names commands of the server is nothing for people: buttons have it. */
export function message(error: unknown): string {
  const text = forPeople(error instanceof Error ? error.message : String(error));
  const data = failure(error);
  const hint = data?.hint ?? "";
  const isPlain = hint !== "" && !hint.includes("`") && (data?.offers ?? []).length === 0;
  const step = isPlain ? forPeople(hint) : "";
  return [text, step].filter(Boolean).join(". ");
}

/** A sentence of the server for people: it begins with a capital, and names stand in quotes. */
function forPeople(text: string): string {
  const words = text.replace(/`([^`]*)`/g, "“$1”");
  // a path or a name stays as it is
  return /^[a-z]+[ ,]/.test(words) ? words.charAt(0).toUpperCase() + words.slice(1) : words;
}

/** Shows an error, with a button for each next step. `workspace`: the one of the failed command. */
export async function show(error: unknown, workspace?: string | null): Promise<void> {
  const data = failure(error);
  const offers = data?.offers ?? [];
  const isBroken = data === undefined || data.kind === "store" || data.kind === "failed";
  const say = isBroken ? alarm : warn;
  const chosen = await say(message(error), ...offers.map(({ title }) => title));
  const offer = offers.find(({ title }) => title === chosen);
  if (offer === undefined) return;
  const where = typeof workspace === "string" ? { workspace } : {};
  await vscode.commands.executeCommand(offer.command, { ...where, ...(offer.arguments as object) });
}

/** Runs an action of the user and shows its error. */
export async function withErrors<T>(
  run: () => Promise<T>,
  workspace?: string | null,
): Promise<T | undefined> {
  try {
    return await run();
  } catch (error) {
    // not awaited: the message may stay open
    if (!isCancelled(error)) void show(error, workspace);
    return undefined;
  }
}
