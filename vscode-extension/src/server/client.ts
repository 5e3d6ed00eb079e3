// The language client: how the server is started and what it is told of VS Code.

import * as vscode from "vscode";
import {
  CloseAction,
  ErrorAction,
  type ErrorHandler,
  LanguageClient,
  State,
  type LanguageClientOptions,
  type DynamicFeature,
  type StaticFeature,
  TransportKind,
} from "vscode-languageclient/node";

import type { Ctx } from "../ctx.ts";
import type { Notice, Notifications } from "./protocol.ts";
import { Restarts } from "./restarts.ts";
import { settings } from "./settings.ts";

const NOTICES: readonly Notice[] = [
  "backstitch/didCheckpoint",
  "backstitch/didRewind",
  "backstitch/timelineChanged",
  "backstitch/status",
];

type Told = { [N in Notice]: { method: N; params: Notifications[N] } }[Notice];

/** The commands of the server are the extension's own, which show more than a server can. */
class Client extends LanguageClient {
  override registerFeature(feature: StaticFeature | DynamicFeature<unknown>): void {
    const method = (feature as { registrationType?: { method: string } }).registrationType?.method;
    if (method !== "workspace/executeCommand") super.registerFeature(feature);
  }
}

export type ClientState = "starting" | "running" | "stopped";
export type Heard = { notice: (notice: Told) => void; state: (state: ClientState) => void };

export function connect(ctx: Ctx, binary: string, heard: Heard): LanguageClient {
  const own = vscode.workspace.getConfiguration("backstitch");
  const extra = own.get<Record<string, string>>("server.extraEnv", {});
  const options: LanguageClientOptions = {
    documentSelector: [{ scheme: "file" }],
    outputChannel: ctx.log,
    errorHandler: errors(),
    initializationOptions: {
      backstitch: {
        reloadsFromDisk: true,
        contentProvider: true,
        notifications: true,
        // it asks for the others; this one it needs to begin with
        store: settings()["store"],
      },
    },
    middleware: {
      workspace: {
        configuration: (params) =>
          params.items.map(({ scopeUri }) =>
            settings(scopeUri === undefined ? undefined : vscode.Uri.parse(scopeUri)),
          ),
      },
    },
  };
  const client = new Client(
    "backstitch",
    "Backstitch",
    {
      command: binary,
      args: ["lsp"],
      transport: TransportKind.stdio,
      options: { env: { ...process.env, ...extra } },
    },
    options,
  );
  for (const method of NOTICES) {
    client.onNotification(method, (params: unknown) => {
      heard.notice({ method, params } as Told);
    });
  }
  client.onDidChangeState(({ newState }) => {
    heard.state(named(newState));
  });
  return client;
}

/** What the client does by itself gives up for good where it writes to a server that has just died. */
function errors(): ErrorHandler {
  const restarts = new Restarts();
  return {
    error: () => ({ action: ErrorAction.Continue, handled: true }),
    closed: () => ({
      action: restarts.again(Date.now()) ? CloseAction.Restart : CloseAction.DoNotRestart,
      // the status bar says it
      handled: true,
    }),
  };
}

function named(state: State): ClientState {
  switch (state) {
    case State.Starting:
      return "starting";
    case State.Running:
      return "running";
    case State.Stopped:
    case State.StartFailed:
      return "stopped";
  }
}
