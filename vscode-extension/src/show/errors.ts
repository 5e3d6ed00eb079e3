// Failures, as people are told of them: what, why, and what to do next.

import * as vscode from "vscode";
import type { ResponseError } from "vscode-languageclient/node";

import type { FailureData } from "../server/protocol.ts";

/** LSP's. */
const REQUEST_CANCELLED = -32800;

/** By its shape: the client's own class is loaded when the client is. */
function isResponse(error: unknown): error is ResponseError<FailureData> {
  return error instanceof Error && "code" in error && typeof error.code === "number";
}

/** What the server said beside the message, if it is a failure of the server. */
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

/** Runs what the user asked for, and says what went wrong with it. */
export async function told<T>(run: () => Promise<T>): Promise<T | undefined> {
  try {
    return await run();
  } catch (error) {
    if (!isCancelled(error)) void vscode.window.showErrorMessage(message(error));
    return undefined;
  }
}
