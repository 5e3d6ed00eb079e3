// The language client: starts the server and passes it the settings of VS Code.

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

import type { Notice, Notifications } from "./protocol.ts";
import { Restarts } from "./restarts.ts";
import { settings, startOptions } from "./settings.ts";

/** A record, so that the compiler names one that is left out. */
const NOTICES: Record<Notice, true> = {
  "backstitch/didCheckpoint": true,
  "backstitch/didRewind": true,
  "backstitch/didFork": true,
  "backstitch/didSwitch": true,
  "backstitch/timelineChanged": true,
  "backstitch/status": true,
  "backstitch/changedOnDisk": true,
  "backstitch/didPause": true,
  "backstitch/didResume": true,
  "backstitch/pauseChanged": true,
  "backstitch/breakpointsChanged": true,
  "backstitch/didHit": true,
  "backstitch/replOutput": true,
  "backstitch/replChanged": true,
};

const MINUTE = 60_000;

type ServerNotice = { [N in Notice]: { method: N; params: Notifications[N] } }[Notice];

/** Ignores the commands of the server: the extension has its own versions, with previews and pickers. */
class Client extends LanguageClient {
  override registerFeature(feature: StaticFeature | DynamicFeature<unknown>): void {
    const method = (feature as { registrationType?: { method: string } }).registrationType?.method;
    if (method !== "workspace/executeCommand") super.registerFeature(feature);
  }
}

export type ClientState = "starting" | "running" | "stopped";
export type Handlers = {
  notice: (notice: ServerNotice) => void;
  state: (state: ClientState) => void;
  /** Adds to a hover of the server. */
  hover: (
    hover: vscode.Hover,
    document: vscode.TextDocument,
    position: vscode.Position,
    token: vscode.CancellationToken,
  ) => Promise<vscode.Hover>;
};

export function connect(log: vscode.LogOutputChannel, binary: string, handlers: Handlers): LanguageClient {
  const own = vscode.workspace.getConfiguration("backstitch");
  const extra = own.get<Record<string, string>>("server.extraEnv", {});
  const options: LanguageClientOptions = {
    documentSelector: [{ scheme: "file" }],
    outputChannel: log,
    errorHandler: errors(),
    initializationOptions: {
      backstitch: {
        reloadsFromDisk: true,
        contentProvider: true,
        notifications: true,
        panels: true,
        ...startOptions(),
        // the server needs this one at its start, and requests the others itself
        store: settings()["store"],
      },
    },
    middleware: {
      provideHover: async (document, position, token, next) => {
        const hover = await next(document, position, token);
        if (hover === null || hover === undefined) return hover;
        return handlers.hover(hover, document, position, token);
      },
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
  for (const method of Object.keys(NOTICES) as Notice[]) {
    client.onNotification(method, (params: unknown) => {
      handlers.notice({ method, params } as ServerNotice);
    });
  }
  let ages: NodeJS.Timeout | undefined;
  client.onDidChangeState(({ newState }) => {
    clearInterval(ages);
    if (newState === State.Running) ages = setInterval(lenses, MINUTE, client);
    handlers.state(named(newState));
  });
  return client;
}

/** Has VS Code ask for its lenses again: the server writes the ages in them. */
function lenses(client: LanguageClient): void {
  const feature = client.getFeature("textDocument/codeLens");
  const shown = vscode.window.visibleTextEditors.map(({ document }) => feature.getProvider(document));
  new Set(shown.map((provider) => provider?.onDidChangeCodeLensEmitter)).forEach((emitter) =>
    emitter?.fire(),
  );
}

/** Restart policy. The client's own gives up for good when it writes to a server that has just crashed. */
function errors(): ErrorHandler {
  const restarts = new Restarts();
  return {
    error: () => ({ action: ErrorAction.Continue, handled: true }),
    closed: () => ({
      action: restarts.again(Date.now()) ? CloseAction.Restart : CloseAction.DoNotRestart,
      // the status bar shows it
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
