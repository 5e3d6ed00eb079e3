// Public API for other extensions: `vscode.extensions.getExtension("backstitch.backstitch").exports`.

import type * as vscode from "vscode";

import type { Ctx, Standing } from "./ctx.ts";
import { type Checkpoint, type DidRewind, type Requests, type Status, shown } from "./server/protocol.ts";

type Params<M extends keyof Requests> = Requests[M]["params"];
type Result<M extends keyof Requests> = Promise<Requests[M]["result"]>;

export type Api = {
  /** Version of the API; a breaking change increments it. */
  readonly version: 1;
  readonly state: Standing["name"];
  readonly onDidChangeState: (listener: (state: Standing["name"]) => void) => vscode.Disposable;
  /** Begins a turn of an agent inside the editor. */
  turnBegin: (params: Params<"backstitch/turnBegin">) => Result<"backstitch/turnBegin">;
  /** Applies an edit in the editor and records it as the agent's. */
  applyEdit: (params: Params<"backstitch/applyEdit">) => Result<"backstitch/applyEdit">;
  turnEnd: (params: Params<"backstitch/turnEnd">) => Result<"backstitch/turnEnd">;
  timeline: (params: Params<"backstitch/timeline">) => Result<"backstitch/timeline">;
  /** Fires for checkpoints of any process. */
  readonly onDidCheckpoint: (listener: (checkpoint: Checkpoint) => void) => vscode.Disposable;
  readonly onDidRewind: (listener: (rewind: DidRewind) => void) => vscode.Disposable;
  /** Fires with the root of the workspace whose timeline changed. */
  readonly onDidChangeTimeline: (listener: (workspace: string) => void) => vscode.Disposable;
  /** Fires when the state of the file watcher changes. */
  readonly onDidChangeStatus: (listener: (status: Status) => void) => vscode.Disposable;
};

export function api(ctx: Ctx): Api {
  return {
    version: 1,
    get state() {
      return ctx.state.name;
    },
    onDidChangeState: (listener) =>
      ctx.onDidChangeState(({ name }) => {
        listener(name);
      }),
    turnBegin: (params) => ctx.request("backstitch/turnBegin", params),
    applyEdit: (params) => ctx.request("backstitch/applyEdit", params),
    turnEnd: (params) => ctx.request("backstitch/turnEnd", params),
    timeline: (params) => ctx.request("backstitch/timeline", params),
    onDidCheckpoint: (listener) =>
      ctx.on("backstitch/didCheckpoint", ({ checkpoint }) => {
        listener(checkpoint);
      }),
    onDidRewind: (listener) => ctx.on("backstitch/didRewind", listener),
    onDidChangeTimeline: (listener) =>
      ctx.on("backstitch/timelineChanged", ({ workspace }) => {
        listener(shown(workspace));
      }),
    onDidChangeStatus: (listener) => ctx.on("backstitch/status", listener),
  };
}
