// What other extensions may use: `vscode.extensions.getExtension("backstitch.backstitch").exports`.

import type * as vscode from "vscode";

import type { Ctx, Standing } from "./ctx.ts";
import { type Checkpoint, type DidRewind, type Requests, type Status, shown } from "./server/protocol.ts";

type Params<M extends keyof Requests> = Requests[M]["params"];
type Result<M extends keyof Requests> = Promise<Requests[M]["result"]>;

export type Api = {
  /** Of this shape; a change that breaks it is another number. */
  readonly version: 1;
  readonly state: Standing["name"];
  readonly onDidChangeState: (heard: (state: Standing["name"]) => void) => vscode.Disposable;
  /** An agent inside the editor begins on a prompt. */
  turnBegin: (params: Params<"backstitch/turnBegin">) => Result<"backstitch/turnBegin">;
  /** Its edit: recorded as the agent's, and applied in the editor. */
  applyEdit: (params: Params<"backstitch/applyEdit">) => Result<"backstitch/applyEdit">;
  turnEnd: (params: Params<"backstitch/turnEnd">) => Result<"backstitch/turnEnd">;
  timeline: (params: Params<"backstitch/timeline">) => Result<"backstitch/timeline">;
  /** A checkpoint that any process made. */
  readonly onDidCheckpoint: (heard: (checkpoint: Checkpoint) => void) => vscode.Disposable;
  readonly onDidRewind: (heard: (rewind: DidRewind) => void) => vscode.Disposable;
  /** The timeline of the workspace with this root is to be read anew. */
  readonly onDidChangeTimeline: (heard: (workspace: string) => void) => vscode.Disposable;
  /** Who watches the files. */
  readonly onDidChangeStatus: (heard: (status: Status) => void) => vscode.Disposable;
};

export function api(ctx: Ctx): Api {
  return {
    version: 1,
    get state() {
      return ctx.state.name;
    },
    onDidChangeState: (heard) =>
      ctx.onDidChangeState(({ name }) => {
        heard(name);
      }),
    turnBegin: (params) => ctx.request("backstitch/turnBegin", params),
    applyEdit: (params) => ctx.request("backstitch/applyEdit", params),
    turnEnd: (params) => ctx.request("backstitch/turnEnd", params),
    timeline: (params) => ctx.request("backstitch/timeline", params),
    onDidCheckpoint: (heard) =>
      ctx.on("backstitch/didCheckpoint", ({ checkpoint }) => {
        heard(checkpoint);
      }),
    onDidRewind: (heard) => ctx.on("backstitch/didRewind", heard),
    onDidChangeTimeline: (heard) =>
      ctx.on("backstitch/timelineChanged", ({ workspace }) => {
        heard(shown(workspace));
      }),
    onDidChangeStatus: (heard) => ctx.on("backstitch/status", heard),
  };
}
