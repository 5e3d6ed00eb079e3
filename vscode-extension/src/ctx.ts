// The one owner of what the extension keeps: the language server's client, its state, and what VS Code is to dispose of.

import * as fs from "node:fs";
import * as os from "node:os";
import * as vscode from "vscode";
import type { LanguageClient } from "vscode-languageclient/node";

import { opened } from "./documents/open.ts";
import { type Found, type Missing, find } from "./server/binary.ts";
import type { ClientState } from "./server/client.ts";
import type {
  CommandName,
  Commands,
  Method,
  Notifications,
  Notice,
  Requests,
  Where,
} from "./server/protocol.ts";
import { shown } from "./server/protocol.ts";

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
  private busy: Promise<void> = Promise.resolve();
  /** Which file was looked at last; a diff or a page is none. */
  private file: vscode.Uri | undefined;
  /** It is started as soon as the extension is. */
  private current: Standing = { name: "starting" };
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
        const isAtStart = ["server", "store"].some((key) => change.affectsConfiguration(`backstitch.${key}`));
        if (isAtStart) void this.restart();
        // it asks for the others
        else if (change.affectsConfiguration("backstitch") && this.current.name === "running") {
          void this.client?.sendNotification("workspace/didChangeConfiguration", { settings: null });
        }
      }),
    );
    folders();
    this.owned(vscode.workspace.onDidChangeWorkspaceFolders(folders));
    this.look(vscode.window.activeTextEditor);
    this.owned(
      vscode.window.onDidChangeActiveTextEditor((editor) => {
        this.look(editor);
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

  /** One start or stop after the other. */
  private soon(run: () => Promise<void>): Promise<void> {
    this.busy = this.busy.then(run, run);
    return this.busy;
  }

  start(): Promise<void> {
    return this.soon(() => this.launch());
  }

  restart(): Promise<void> {
    return this.soon(async () => {
      await this.halt("starting");
      await this.launch();
    });
  }

  private async launch(): Promise<void> {
    const binary = this.binary();
    if (binary.path === undefined) {
      this.become({ name: "missing", binary });
      return;
    }
    this.become({ name: "starting" });
    const begun = performance.now();
    try {
      // it takes longer to load than all else, and VS Code waits for none of it
      const { connect } = await import("./server/client.ts");
      const client = connect(this, binary.path, {
        notice: (notice) => {
          this.notices.fire(notice);
        },
        state: (state) => {
          if (this.client === client) this.follow(client, state);
        },
      });
      this.client = client;
      const started = client.start();
      await within(START, started).catch((error: unknown) => {
        // one that answers later is not to be there beside the next
        void started.then(
          () => client.dispose(),
          () => undefined,
        );
        throw error;
      });
      this.startedIn = performance.now() - begun;
      this.log.info(`${binary.path}, there after ${this.startedIn.toFixed(0)} ms`);
    } catch (error) {
      this.log.error(String(error));
      await this.halt();
      this.become({ name: "failed", reason: error instanceof Error ? error.message : String(error) });
    }
  }

  /** The client starts a server anew that died, some times. */
  private follow(client: LanguageClient, state: ClientState): void {
    switch (state) {
      case "running":
        this.become({ name: "running", version: client.initializeResult?.serverInfo?.version ?? "" });
        break;
      case "stopped":
        this.become({ name: "failed", reason: vscode.l10n.t("the language server stopped") });
        break;
      case "starting":
        this.become({ name: "starting" });
    }
  }

  private async halt(name: "starting" | "stopped" = "stopped"): Promise<void> {
    const client = this.client;
    this.client = undefined;
    this.become({ name });
    await client?.dispose().catch((error: unknown) => {
      this.log.warn(String(error));
    });
  }

  /** Asks the server. Fails with its words where it fails, and where there is none. */
  async request<M extends Method>(
    method: M,
    params: Requests[M]["params"],
    token = never(),
  ): Promise<Requests[M]["result"]> {
    const client = await this.running();
    return client.sendRequest(method, params, token);
  }

  /** Has the server do one of its commands. Its failures are errors, since it was told that they may be. */
  async execute<C extends CommandName>(
    command: C,
    params: Commands[C]["params"],
    token = never(),
  ): Promise<Exclude<Commands[C]["result"], { error: unknown }>> {
    const client = await this.running();
    const request = { command, arguments: [params] };
    return client.sendRequest<Exclude<Commands[C]["result"], { error: unknown }>>(
      "workspace/executeCommand",
      request,
      token,
    );
  }

  private settled(): Promise<void> {
    if (this.current.name !== "starting") return Promise.resolve();
    return new Promise((resolve) => {
      const heard = this.onDidChangeState(({ name }) => {
        if (name === "starting") return;
        heard.dispose();
        resolve();
      });
    });
  }

  /** Documents of a window that opens again ask before the server is there. */
  private async running(): Promise<LanguageClient> {
    await this.settled();
    if (this.client === undefined || this.current.name !== "running") {
      throw new Error(vscode.l10n.t("Backstitch's language server is not running"));
    }
    return this.client;
  }

  /** Which workspace is meant where nobody says: that of the file that was looked at last, else of the first folder. */
  where(): Where {
    const folder = this.file === undefined ? undefined : vscode.workspace.getWorkspaceFolder(this.file);
    if (folder !== undefined) return { workspace: folder.uri.fsPath };
    if (this.file !== undefined && vscode.workspace.workspaceFolders === undefined) {
      return { uri: this.file.toString() };
    }
    const first = vscode.workspace.workspaceFolders?.find((folder) => folder.uri.scheme === "file");
    return first === undefined ? {} : { workspace: first.uri.fsPath };
  }

  /** What a command is about: its workspace by its root, as named, else of its document, else of what is looked at. */
  async about<P extends Where>(given: P): Promise<P> {
    if (typeof given.workspace === "string") return given;
    const place = typeof given.uri === "string" ? { uri: given.uri } : this.where();
    if (Object.keys(place).length === 0) return given;
    const { workspace } = await this.request("backstitch/timeline", { ...place, limit: 1 });
    return { ...given, workspace: shown(workspace) };
  }

  private look(editor: vscode.TextEditor | undefined): void {
    if (editor?.document.uri.scheme === "file") this.file = editor.document.uri;
  }

  private become(state: Standing): void {
    this.current = state;
    void vscode.commands.executeCommand("setContext", "backstitch.state", state.name);
    this.stateChanged.fire(state);
  }

  /** The server hears that it is over before VS Code ends: what is not saved counts as thrown away then. */
  async end(): Promise<void> {
    await this.soon(() => this.halt());
  }

  dispose(): void {
    for (const disposable of this.disposables.reverse()) disposable.dispose();
  }
}

/** How long a server may take until its first answer, in milliseconds. */
const START = 30_000;

async function within(limit: number, started: Promise<void>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      reject(new Error(vscode.l10n.t("the language server does not answer")));
    }, limit);
  });
  try {
    await Promise.race([started, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** The client takes a token that is undefined for a parameter of the request. */
function never(): vscode.CancellationToken {
  return new vscode.CancellationTokenSource().token;
}

/** VS Code names files by how a folder was opened, the server by where they are. */
function folders(): void {
  const local = vscode.workspace.workspaceFolders?.filter(({ uri }) => uri.scheme === "file") ?? [];
  opened(
    local.map(({ uri }) => {
      const opened = uri.fsPath;
      return { opened, real: realpath(opened) };
    }),
  );
}

function realpath(dir: string): string {
  try {
    // as the file system has its letters
    return fs.realpathSync.native(dir);
  } catch {
    return dir;
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
