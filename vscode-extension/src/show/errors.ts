// Error messages for people: what failed, why, and what to do next.

import * as vscode from "vscode";
import type { ResponseError } from "vscode-languageclient/node";

import type { FailureData } from "../server/protocol.ts";

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

export function message(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  const hint = failure(error)?.hint;
  if (hint === null || hint === undefined) return text;
  return `${text}. ${hint.charAt(0).toUpperCase()}${hint.slice(1)}`;
}

/** Runs an action of the user and shows its error. */
export async function withErrors<T>(run: () => Promise<T>): Promise<T | undefined> {
  try {
    return await run();
  } catch (error) {
    if (!isCancelled(error)) void vscode.window.showErrorMessage(message(error));
    return undefined;
  }
}
