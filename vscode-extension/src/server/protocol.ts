// What the language server says beyond LSP. The types are the server's own, generated from its code.

import type { Checkpoint, Commands, Notifications, Requests, Text } from "../../../server/docs/backstitch.js";

export type {
  Action,
  AgentSession,
  Applied,
  Branch,
  Change,
  ChangeKind,
  Checkpoint,
  CheckpointResult,
  Commands,
  CommandFailed,
  Conflict,
  Coverage,
  DiffResult,
  ChangedFile,
  DidCheckpoint,
  DidRewind,
  FailureData,
  Gap,
  Kind,
  Notifications,
  OnConflict,
  Operation,
  Plan,
  PlanParams,
  PlanResult,
  Requests,
  RestoreResult,
  SessionsResult,
  Status,
  Text,
  TimelineParams,
  TimelineResult,
  Where,
} from "../../../server/docs/backstitch.js";

export type Method = keyof Requests;
export type CommandName = keyof Commands;
export type Notice = keyof Notifications;

/** A path or a line as a string; what is no UTF-8 has the sign for that in it, and leads nowhere. */
export function shown(text: Text): string {
  return typeof text === "string" ? text : Buffer.from(text.bytes, "base64").toString("utf8");
}

/**
 * The state to go back to where somebody points at a checkpoint: before what an agent did in it; that of any other, as it
 * is.
 */
export function before(checkpoint: Checkpoint): string {
  return checkpoint.kind === "step" ? `${checkpoint.id}^` : rev(checkpoint);
}

/** What stands for a checkpoint wherever one is named: a turn by its own name. */
export function rev(checkpoint: Checkpoint): string {
  return checkpoint.kind === "turn" && checkpoint.turn !== null ? checkpoint.turn : checkpoint.id;
}
