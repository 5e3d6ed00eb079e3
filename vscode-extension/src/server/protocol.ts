// The server's extensions of LSP. The types are generated from its code.

import type {
  Checkpoint,
  Commands,
  Notifications,
  Requests,
  Text,
} from "../../../server/protocol/generated/backstitch.js";

export type {
  Action,
  AgentAtWork,
  AgentSession,
  Applied,
  BlameRun,
  Branch,
  Breakpoint,
  Change,
  ChangeKind,
  Checkpoint,
  CheckpointResult,
  Commands,
  CommandFailed,
  Conflict,
  ContentResult,
  Coverage,
  DiffResult,
  ChangedFile,
  DidCheckpoint,
  DidRewind,
  FailureData,
  Hunk,
  FunctionCall,
  Gap,
  Kind,
  Notifications,
  OnConflict,
  Operation,
  Pause,
  PauseDetails,
  Plan,
  PlanParams,
  PlanResult,
  PlannedTurn,
  PredictResult,
  PredictedFile,
  Requests,
  ReplEntry,
  Program,
  ReplSession,
  SourceFrame,
  RestoreResult,
  ReviewHunk,
  SessionsResult,
  Status,
  Text,
  TimelineParams,
  TimelineResult,
  Where,
} from "../../../server/protocol/generated/backstitch.js";

export type Method = keyof Requests;
export type CommandName = keyof Commands;
export type Notice = keyof Notifications;

/** A path or a line as a string. Invalid UTF-8 becomes replacement characters; such a path cannot be opened. */
export function shown(text: Text): string {
  return typeof text === "string" ? text : Buffer.from(text.bytes, "base64").toString("utf8");
}

/** Revision of a checkpoint in commands. A turn has its own name, for the state before it; others mean that after them. */
export function rev(checkpoint: Checkpoint): string {
  return checkpoint.kind === "turn" && checkpoint.turn !== null ? checkpoint.turn : checkpoint.id;
}
