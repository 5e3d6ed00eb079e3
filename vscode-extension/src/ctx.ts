// Single owner of the extension's state: the client of the language server, its state, and all disposables.

import * as fs from "node:fs";
import * as os from "node:os";
import * as vscode from "vscode";
import type { LanguageClient } from "vscode-languageclient/node";

import { type FoundBinary, type Missing, find } from "./server/binary.ts";
import type { ClientState } from "./server/client.ts";
import { setOpened } from "./server/folders.ts";
import type {
  BlameRun,
  CommandName,
  Commands,
  Method,
  Notifications,
  Notice,
  Requests,
  Where,
} from "./server/protocol.ts";
import { shown } from "./server/protocol.ts";
import { versionOf } from "./server/run.ts";
import { START_OPTIONS } from "./server/settings.ts";
import { Steps } from "./steps.ts";

export type Standing =
  | { name: "starting" }
  | { name: "running"; version: string }
  | { name: "missing"; binary: Missing }
  | { name: "failed"; reason: string }
  | { name: "stopped" };

/** Adds links to the server's hover of an agent's line. `runs`: the authors of the document's lines. */
export type WithLinks = (
  hover: vscode.Hover,
  document: vscode.TextDocument,
  line: number,
  runs: readonly BlameRun[],
) => vscode.Hover;

/** Disposable. */
export type Disposable = { dispose: () => unknown };

export class Ctx implements vscode.Disposable {
  readonly log = vscode.window.createOutputChannel("Backstitch", { log: true });
  private client: LanguageClient | undefined;
  private queue: Promise<void> = Promise.resolve();
  /** The file that was active last; diffs and web views do not count. */
  private file: vscode.Uri | undefined;
  /** The server starts with the extension. */
  private current: Standing = { name: "starting" };
  private readonly disposables: Disposable[] = [this.log];
  private readonly stateChanged = this.register(new vscode.EventEmitter<Standing>());
  private readonly notices = this.register(
    new vscode.EventEmitter<{ [N in Notice]: { method: N; params: Notifications[N] } }[Notice]>(),
  );
  /** Duration of the last start until the first answer, in milliseconds. */
  startedIn: number | undefined;

  readonly onDidChangeState = this.stateChanged.event;
  readonly steps = new Steps();

  constructor(
    readonly extension: vscode.ExtensionContext,
    private readonly withLinks: WithLinks,
  ) {
    this.register(this.steps);
    this.register(
      vscode.workspace.onDidChangeConfiguration((change) => {
        const isAtStart = ["server", "store", ...START_OPTIONS].some((key) =>
          change.affectsConfiguration(`backstitch.${key}`),
        );
        if (isAtStart) void this.restart();
        // the server requests the other settings itself
        else if (change.affectsConfiguration("backstitch") && this.current.name === "running") {
          void this.client?.sendNotification("workspace/didChangeConfiguration", { settings: null });
        }
      }),
    );
    folders();
    this.register(vscode.workspace.onDidChangeWorkspaceFolders(folders));
    this.trackFile(vscode.window.activeTextEditor);
    this.register(
      vscode.window.onDidChangeActiveTextEditor((editor) => {
        this.trackFile(editor);
      }),
    );
    this.register(vscode.workspace.onDidGrantWorkspaceTrust(() => void this.restart()));
  }

  get state(): Standing {
    return this.current;
  }

  /** Registers a disposable for the end of the extension. */
  register<D extends Disposable>(disposable: D): D {
    this.disposables.push(disposable);
    return disposable;
  }

  /** Registers a listener for a notification of the server. */
  on<N extends Notice>(method: N, listener: (params: Notifications[N]) => void): vscode.Disposable {
    return this.notices.event((notice) => {
      if (notice.method === method) listener(notice.params as Notifications[N]);
    });
  }

  binary(): FoundBinary | Missing {
    const setting = vscode.workspace.getConfiguration("backstitch").get<string>("server.path", "");
    return find(setting, this.extension.extensionPath, {
      platform: process.platform,
      path: process.env["PATH"] ?? "",
      home: os.homedir(),
      isProgram,
    });
  }

  /** Serializes starts and stops. */
  private enqueue(run: () => Promise<void>): Promise<void> {
    this.queue = this.queue.then(run, run);
    return this.queue;
  }

  start(): Promise<void> {
    return this.enqueue(() => this.launch());
  }

  restart(): Promise<void> {
    return this.enqueue(async () => {
      await this.halt("starting");
      await this.launch();
    });
  }

  private async launch(): Promise<void> {
    const binary = this.binary();
    if (binary.path === undefined) {
      this.setState({ name: "missing", binary });
      return;
    }
    this.setState({ name: "starting" });
    // a chosen program may be any; the others have the right name
    if (binary.from === "setting" && (await versionOf(binary.path)) === undefined) {
      const { path } = binary;
      this.log.error(`${path} does not answer to --version as Backstitch does`);
      this.setState({
        name: "missing",
        binary: { path: undefined, tried: [path], setting: path, isForeign: true },
      });
      return;
    }
    const startedAt = performance.now();
    try {
      // the client takes longest to load, so it is loaded after activation
      const { connect } = await import("./server/client.ts");
      const client = connect(this.log, binary.path, {
        notice: (notice) => {
          this.notices.fire(notice);
        },
        state: (state) => {
          if (this.client === client) this.follow(client, state);
        },
        hover: async (hover, document, position, token) => {
          const uri = document.uri.toString();
          const { runs } = await this.request("backstitch/blame", { uri }, token);
          return this.withLinks(hover, document, position.line, runs);
        },
      });
      this.client = client;
      const started = client.start();
      await within(START_TIMEOUT, started).catch((error: unknown) => {
        // a server that answers too late must not stay beside the next one
        void started.then(
          () => client.dispose(),
          () => undefined,
        );
        throw error;
      });
      this.startedIn = performance.now() - startedAt;
      this.log.info(`${binary.path}, ready after ${this.startedIn.toFixed(0)} ms`);
    } catch (error) {
      this.log.error(String(error));
      await this.halt();
      this.setState({ name: "failed", reason: error instanceof Error ? error.message : String(error) });
    }
  }

  /** Follows the client, which restarts a crashed server a few times. */
  private follow(client: LanguageClient, state: ClientState): void {
    switch (state) {
      case "running":
        this.setState({ name: "running", version: client.initializeResult?.serverInfo?.version ?? "" });
        break;
      case "stopped":
        this.setState({ name: "failed", reason: vscode.l10n.t("the language server stopped") });
        break;
      case "starting":
        this.setState({ name: "starting" });
    }
  }

  private async halt(name: "starting" | "stopped" = "stopped"): Promise<void> {
    const client = this.client;
    this.client = undefined;
    this.setState({ name });
    await client?.dispose().catch((error: unknown) => {
      this.log.warn(String(error));
    });
  }

  /** Sends a request. Fails with the server's message, or if there is no server. */
  async request<M extends Method>(
    method: M,
    params: Requests[M]["params"],
    token = never(),
  ): Promise<Requests[M]["result"]> {
    const client = await this.running();
    return client.sendRequest(method, params, token);
  }

  /** Executes a command of the server. Failures arrive as errors, because the client announced that it handles them. */
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

  private startFinished(): Promise<void> {
    if (this.current.name !== "starting") return Promise.resolve();
    return new Promise((resolve) => {
      const listener = this.onDidChangeState(({ name }) => {
        if (name === "starting") return;
        listener.dispose();
        resolve();
      });
    });
  }

  /** Returns the running client. Documents of a reopened window send requests before the server has started. */
  private async running(): Promise<LanguageClient> {
    await this.startFinished();
    if (this.client === undefined || this.current.name !== "running") {
      throw new Error(vscode.l10n.t("Backstitch is not running"));
    }
    return this.client;
  }

  /** Parameters of the default workspace: that of the last active file, else of the first folder. */
  where(): Where {
    const folder = this.file === undefined ? undefined : vscode.workspace.getWorkspaceFolder(this.file);
    if (folder !== undefined) return { workspace: folder.uri.fsPath };
    if (this.file !== undefined && vscode.workspace.workspaceFolders === undefined) {
      return { uri: this.file.toString() };
    }
    const first = vscode.workspace.workspaceFolders?.find((folder) => folder.uri.scheme === "file");
    return first === undefined ? {} : { workspace: first.uri.fsPath };
  }

  /** Adds the workspace root to arguments: as named, else of their document, else the default. */
  async about<P extends Where>(given: P): Promise<P> {
    if (typeof given.workspace === "string") return given;
    const place = typeof given.uri === "string" ? { uri: given.uri } : this.where();
    if (Object.keys(place).length === 0) return given;
    const { workspace } = await this.request("backstitch/timeline", { ...place, limit: 1 });
    return { ...given, workspace: shown(workspace) };
  }

  private trackFile(editor: vscode.TextEditor | undefined): void {
    if (editor?.document.uri.scheme === "file") this.file = editor.document.uri;
  }

  private setState(state: Standing): void {
    this.current = state;
    const isWrong = state.name === "missing" && state.binary.setting !== undefined;
    void vscode.commands.executeCommand("setContext", "backstitch.wrongProgram", isWrong);
    void vscode.commands.executeCommand("setContext", "backstitch.state", state.name);
    if (state.name === "running") this.steps.finish("program");
    this.stateChanged.fire(state);
  }

  /** Stops the server before VS Code exits: unsaved text counts as discarded then. */
  async end(): Promise<void> {
    await this.enqueue(() => this.halt());
  }

  dispose(): void {
    for (const disposable of this.disposables.reverse()) disposable.dispose();
  }
}

/** Time limit for the first answer of a server, in milliseconds. */
const START_TIMEOUT = 30_000;

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

/** A token that is never cancelled: the client would take undefined for a parameter of the request. */
function never(): vscode.CancellationToken {
  return new vscode.CancellationTokenSource().token;
}

/** Reports folders opened through links: VS Code uses the path as opened, the server the real path. */
function folders(): void {
  const local = vscode.workspace.workspaceFolders?.filter(({ uri }) => uri.scheme === "file") ?? [];
  setOpened(
    local.map(({ uri }) => {
      const opened = uri.fsPath;
      return { opened, real: realpath(opened) };
    }),
  );
}

function realpath(dir: string): string {
  try {
    // native: with the file system's letter case
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
