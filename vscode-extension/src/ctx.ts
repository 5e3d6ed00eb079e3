// The one owner of what the extension keeps: the language server's client, its state, and what VS Code is to dispose of.

import * as fs from "node:fs";
import * as os from "node:os";
import * as vscode from "vscode";
import { type LanguageClient, State } from "vscode-languageclient/node";

import { type Found, type Missing, find } from "./server/binary.ts";
import { connect } from "./server/client.ts";
import type {
  CommandName,
  Commands,
  Method,
  Notifications,
  Notice,
  Requests,
  Where,
} from "./server/protocol.ts";

export type Standing =
  | { name: "starting" }
  | { name: "running"; version: string }
  | { name: "missing"; binary: Missing }
  | { name: "failed"; reason: string }
  | { name: "stopped" };

/** What is to be disposed of. */
export type Owned = { dispose: () => unknown };

export class Ctx implements vscode.Disposable {
  readonly log = vscode.window.createOutputChannel("Backstitch", { log: true });
  private client: LanguageClient | undefined;
  private current: Standing = { name: "stopped" };
  private readonly disposables: Owned[] = [this.log];
  private readonly stateChanged = this.owned(new vscode.EventEmitter<Standing>());
  private readonly notices = this.owned(
    new vscode.EventEmitter<{ [N in Notice]: { method: N; params: Notifications[N] } }[Notice]>(),
  );
  /** How long the newest start took, from the asking to the first answer, in milliseconds. */
  startedIn: number | undefined;

  readonly onDidChangeState = this.stateChanged.event;

  constructor(readonly extension: vscode.ExtensionContext) {
    this.owned(
      vscode.workspace.onDidChangeConfiguration((change) => {
        if (change.affectsConfiguration("backstitch.server")) void this.restart();
      }),
    );
    this.owned(vscode.workspace.onDidGrantWorkspaceTrust(() => void this.restart()));
  }

  get state(): Standing {
    return this.current;
  }

  /** Disposes of it with everything else. */
  owned<D extends Owned>(disposable: D): D {
    this.disposables.push(disposable);
    return disposable;
  }

  /** Hears of one kind of what the server tells. */
  on<N extends Notice>(method: N, heard: (params: Notifications[N]) => void): vscode.Disposable {
    return this.notices.event((notice) => {
      if (notice.method === method) heard(notice.params as Notifications[N]);
    });
  }

  binary(): Found | Missing {
    const setting = vscode.workspace.getConfiguration("backstitch").get<string>("server.path", "");
    return find(setting, this.extension.extensionPath, {
      platform: process.platform,
      path: process.env["PATH"] ?? "",
      home: os.homedir(),
      isProgram,
    });
  }

  async start(): Promise<void> {
    const binary = this.binary();
    if (binary.path === undefined) {
      this.become({ name: "missing", binary });
      return;
    }
    this.become({ name: "starting" });
    const begun = performance.now();
    try {
      const client = connect(this, binary.path, (notice) => {
        this.notices.fire(notice);
      });
      this.client = client;
      client.onDidChangeState(({ newState }) => {
        // crashed for good: the client has tried often enough
        const stopped =
          newState === State.Stopped && this.client === client && this.current.name === "running";
        if (stopped) this.become({ name: "failed", reason: vscode.l10n.t("the language server stopped") });
      });
      await client.start();
      this.startedIn = performance.now() - begun;
      const version = client.initializeResult?.serverInfo?.version ?? "";
      this.log.info(`${binary.path} ${version}, there after ${this.startedIn.toFixed(0)} ms`);
      this.become({ name: "running", version });
    } catch (error) {
      this.log.error(String(error));
      this.client = undefined;
      this.become({ name: "failed", reason: error instanceof Error ? error.message : String(error) });
    }
  }

  async stop(): Promise<void> {
    const client = this.client;
    this.client = undefined;
    this.become({ name: "stopped" });
    await client?.stop().catch((error: unknown) => {
      this.log.warn(String(error));
    });
  }

  async restart(): Promise<void> {
    await this.stop();
    await this.start();
  }

  /** Asks the server. Fails with its words where it fails, and where there is none. */
  async request<M extends Method>(method: M, params: Requests[M]["params"]): Promise<Requests[M]["result"]> {
    return this.running().sendRequest(method, params);
  }

  /** Has the server do one of its commands. Its failures are errors, since it was told that they may be. */
  async execute<C extends CommandName>(
    command: C,
    params: Commands[C]["params"],
  ): Promise<Exclude<Commands[C]["result"], { error: unknown }>> {
    return this.running().sendRequest("workspace/executeCommand", { command, arguments: [params] });
  }

  private running(): LanguageClient {
    if (this.client === undefined || this.current.name !== "running") {
      throw new Error(vscode.l10n.t("Backstitch's language server is not running"));
    }
    return this.client;
  }

  /** Which workspace is meant where nobody says: that of the active document, else of the first folder. */
  where(uri?: vscode.Uri): Where {
    const active = uri ?? vscode.window.activeTextEditor?.document.uri;
    if (active?.scheme === "file") {
      const folder = vscode.workspace.getWorkspaceFolder(active);
      if (folder !== undefined) return { workspace: folder.uri.fsPath };
      if (vscode.workspace.workspaceFolders === undefined) return { uri: active.toString() };
    }
    const first = vscode.workspace.workspaceFolders?.find((folder) => folder.uri.scheme === "file");
    return first === undefined ? {} : { workspace: first.uri.fsPath };
  }

  private become(state: Standing): void {
    this.current = state;
    void vscode.commands.executeCommand("setContext", "backstitch.state", state.name);
    this.stateChanged.fire(state);
  }

  dispose(): void {
    void this.stop();
    for (const disposable of this.disposables.reverse()) disposable.dispose();
  }
}

function isProgram(file: string): boolean {
  try {
    fs.accessSync(file, fs.constants.X_OK);
    return fs.statSync(file).isFile();
  } catch {
    return false;
  }
}
