// The panel Agent REPL: earlier sessions, and one session with its transcript and its input.

import * as vscode from "vscode";

import type { Ctx, Disposable } from "../ctx.ts";
import type { Held } from "../control/held.ts";
import { type Pause, type ReplEntry, type ReplSession, type Where, shown } from "../server/protocol.ts";
import { message } from "../show/errors.ts";
import type { FromPage, Line, Row, ToPage, Words } from "./messages.ts";

const VIEW = "backstitch.repl";

export class ReplPanel implements vscode.WebviewViewProvider, vscode.Disposable {
  private view: vscode.WebviewView | undefined;
  private readonly disposables: Disposable[];
  /** The session that is shown; undefined: the list. */
  private session: string | undefined;
  private place: Where = {};
  private search = { text: "", status: "" };

  constructor(
    private readonly ctx: Ctx,
    private readonly held: Held,
  ) {
    this.disposables = [
      vscode.window.registerWebviewViewProvider(VIEW, this, {
        webviewOptions: { retainContextWhenHidden: true },
      }),
      ctx.on("backstitch/replOutput", ({ session, entry }) => {
        if (session.id === this.session) {
          void this.post({ type: "line", session: session.id, line: line(entry) });
        } else if (this.session === undefined) void this.list();
      }),
      ctx.on("backstitch/replChanged", ({ session }) => {
        if (session.id === this.session && session.closed !== null) {
          void this.post({ type: "closed", row: row(session), reason: session.reason ?? "" });
        } else if (this.session === undefined) void this.list();
      }),
      ctx.onDidChangeState(() => {
        if (this.session === undefined) void this.list();
      }),
    ];
  }

  resolveWebviewView(view: vscode.WebviewView): void {
    const { extensionUri } = this.ctx.extension;
    const dist = vscode.Uri.joinPath(extensionUri, "dist");
    const media = vscode.Uri.joinPath(extensionUri, "media");
    this.view = view;
    view.webview.options = { enableScripts: true, localResourceRoots: [dist, media] };
    view.webview.onDidReceiveMessage((received: FromPage) => {
      void this.handle(received);
    });
    view.onDidDispose(() => {
      this.view = undefined;
    });
    view.webview.html = html(
      view.webview,
      vscode.Uri.joinPath(dist, "repl.js"),
      vscode.Uri.joinPath(media, "repl.css"),
    );
  }

  /** Opens a REPL at a held call: the one that is open, or a new one. */
  async start(argument: Partial<Pause> & { pause?: string }): Promise<unknown> {
    trusted();
    const id = argument.pause ?? argument.id;
    const pause = this.held.pauses.find((one) => id === undefined || one.id === id);
    if (pause === undefined) throw new Error(vscode.l10n.t("No call is held"));
    this.place = { workspace: shown(pause.root) };
    const { sessions } = await this.ctx.request("backstitch/repl/list", {
      ...this.place,
      pause: pause.id,
      status: "active",
    });
    const there = sessions[0]?.id;
    const session =
      there ??
      (await this.ctx.request("backstitch/repl/start", { ...this.place, pause: pause.id })).session.id;
    this.session = session;
    await vscode.commands.executeCommand(`${VIEW}.focus`);
    await this.show();
    return session;
  }

  /** Shows the list of sessions. */
  async open(): Promise<void> {
    this.session = undefined;
    await vscode.commands.executeCommand(`${VIEW}.focus`);
    await this.list();
  }

  /** Puts a text into the input, or evaluates the selection of the editor. */
  async evaluate(argument: { session?: string; input?: string }): Promise<unknown> {
    trusted();
    if (argument.session !== undefined && argument.input !== undefined) {
      return this.ctx.execute("backstitch.repl.eval", { session: argument.session, input: argument.input });
    }
    const editor = vscode.window.activeTextEditor;
    const selected =
      editor?.selection.isEmpty === false ? editor.document.getText(editor.selection) : undefined;
    const input =
      selected ?? (await vscode.window.showInputBox({ title: vscode.l10n.t("Evaluate in the REPL") }));
    if (input === undefined || input.trim() === "") return undefined;
    if (this.session === undefined) await this.start({});
    const session = this.session;
    if (session === undefined) return undefined;
    return this.ctx.request("backstitch/repl/eval", { ...this.place, session, input });
  }

  async close(argument: { session?: string }): Promise<unknown> {
    const session = argument.session ?? this.session;
    if (session === undefined) throw new Error(vscode.l10n.t("No REPL is open"));
    return this.ctx.execute("backstitch.repl.close", { ...this.place, session });
  }

  private async handle(received: FromPage): Promise<void> {
    if (received.type === "ready") {
      await (this.session === undefined ? this.list() : this.show());
    } else if (received.type === "list") {
      this.session = undefined;
      this.search = { text: received.search, status: received.status };
      await this.list(received.before);
    } else if (received.type === "open") {
      this.session = received.session;
      await this.show();
    } else {
      try {
        trusted();
        const { session, input } = received;
        // the entry comes by the notification, as it does for other viewers
        await this.ctx.request("backstitch/repl/eval", { ...this.place, session, input });
      } catch (error) {
        await this.post({ type: "failed", session: received.session, message: message(error) });
      }
    }
  }

  private async list(before?: string): Promise<void> {
    if (this.view === undefined || this.ctx.state.name !== "running") return;
    const { text, status } = this.search;
    try {
      const found = await this.ctx.request("backstitch/repl/list", {
        ...(await this.ctx.about({})),
        ...(text === "" ? {} : { search: text }),
        ...(status === "" ? {} : { status }),
        ...(before === undefined ? {} : { before }),
      });
      await this.post({ type: "sessions", rows: found.sessions.map(row), more: found.more, words: words() });
    } catch (error) {
      this.ctx.log.debug(String(error));
    }
  }

  private async show(): Promise<void> {
    const { session } = this;
    if (session === undefined || this.view === undefined) return;
    const found = await this.ctx.request("backstitch/repl/show", { ...this.place, session });
    await this.post({
      type: "session",
      row: row(found.session),
      lines: found.entries.map(line),
      reason: found.session.reason ?? "",
      words: words(),
    });
  }

  private async post(sent: ToPage): Promise<void> {
    await this.view?.webview.postMessage(sent);
  }

  dispose(): void {
    for (const each of this.disposables) each.dispose();
  }
}

function trusted(): void {
  if (!vscode.workspace.isTrusted) {
    throw new Error(vscode.l10n.t("Nothing is evaluated until you trust the workspace"));
  }
}

function row(session: ReplSession): Row {
  const time = (at: string | null) => (at === null ? "" : new Date(at).toLocaleString(vscode.env.language));
  return {
    id: session.id,
    function: session.function,
    pause: session.pause,
    status: session.status,
    started: time(shownTime(session.started)),
    closed: time(session.closed === null ? null : shownTime(session.closed)),
    entries: session.entries,
    isOpen: session.closed === null,
  };
}

function shownTime(time: unknown): string {
  return typeof time === "string" ? time : String(time);
}

function line(entry: ReplEntry): Line {
  const { index, input, output, stdout, isError, shows } = entry;
  return { index, input, output, stdout, isError, shows };
}

function words(): Words {
  const say = vscode.l10n.t;
  return {
    sessions: say("REPL sessions, newest first"),
    search: say("Search functions and transcripts"),
    active: say("active"),
    closedOnes: say("closed"),
    all: say("all"),
    none: say("No sessions. A REPL opens at a held call, from its row in Agents."),
    back: say("Sessions"),
    input: say("Input"),
    hint: say("Enter evaluates, Shift+Enter begins a new line"),
    more: say("Older sessions"),
    columns: {
      session: say("Session"),
      function: say("Function"),
      status: say("Status"),
      start: say("Started"),
      close: say("Closed"),
      lines: say("Lines"),
    },
  };
}

function html(webview: vscode.Webview, script: vscode.Uri, style: vscode.Uri): string {
  // no remote content, and nothing inline
  const csp = `default-src 'none'; script-src ${webview.cspSource}; style-src ${webview.cspSource}; font-src ${webview.cspSource}`;
  return `<!DOCTYPE html>
<html lang="${vscode.env.language}">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${csp}">
<link rel="stylesheet" href="${webview.asWebviewUri(style).toString()}">
</head>
<body><script src="${webview.asWebviewUri(script).toString()}"></script></body>
</html>`;
}
