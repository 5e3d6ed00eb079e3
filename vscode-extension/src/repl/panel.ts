// The panel Agent REPL: earlier sessions, and one session with its transcript and its input.

import * as vscode from "vscode";

import type { Ctx, Disposable } from "../ctx.ts";
import type { Held } from "../control/held.ts";
import { type Pause, type ReplEntry, type ReplSession, type Where, shown } from "../server/protocol.ts";
import { message, withErrors } from "../show/errors.ts";
import { fill } from "../show/webview.ts";
import { line as inOneLine } from "../show/words.ts";
import type { CallsView } from "./calls.ts";
import type { FromPage, Line, Row, ToPage, Words } from "./messages.ts";
import type { Objects } from "./objects.ts";
import type { StackView } from "./stack.ts";

const VIEW = "backstitch.repl";

/** Debounce delay in milliseconds. */
const SOON = 100;
/** Characters of a prompt in the list. */
const MAX_PROMPT = 60;

/** The views beside the panel. */
export type Beside = { stack: StackView; calls: CallsView; objects: Objects };

export class ReplPanel implements vscode.WebviewViewProvider, vscode.Disposable {
  private view: vscode.WebviewView | undefined;
  private timer: NodeJS.Timeout | undefined;
  private readonly disposables: Disposable[];
  /** The session that is shown; undefined: the list. */
  private session: string | undefined;
  private place: Where = {};
  /** Id of the pause at which the shown session is open. */
  private at: string | undefined;
  private search = { text: "", status: "", from: "", to: "" };

  constructor(
    private readonly ctx: Ctx,
    private readonly held: Held,
    private readonly beside: Beside,
  ) {
    this.disposables = [
      vscode.window.registerWebviewViewProvider(VIEW, this, {
        webviewOptions: { retainContextWhenHidden: true },
      }),
      ctx.on("backstitch/replOutput", ({ session, entry }) => {
        if (session.id === this.session) {
          void this.post({ type: "line", session: session.id, line: line(entry) });
        } else this.listSoon();
      }),
      ctx.on("backstitch/replChanged", ({ session }) => {
        if (session.id === this.session && session.closed !== null) {
          void this.post({ type: "closed", row: row(session), reason: endOf(session) });
        } else this.listSoon();
      }),
      ctx.onDidChangeState(() => {
        this.listSoon();
      }),
    ];
  }

  resolveWebviewView(view: vscode.WebviewView): void {
    this.view = view;
    view.webview.onDidReceiveMessage((received: FromPage) => {
      void this.handle(received);
    });
    view.onDidDispose(() => {
      this.view = undefined;
      setFocused(false);
    });
    view.onDidChangeVisibility(() => {
      if (!view.visible) setFocused(false);
    });
    fill(view.webview, this.ctx.extension.extensionUri, "repl");
  }

  /** The held call of the session that is shown. */
  get pause(): Pause | undefined {
    return this.session === undefined ? undefined : this.held.pauses.find(({ id }) => id === this.at);
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

  /** Shows a session of this name. */
  async look(session: string, place: Where): Promise<void> {
    this.session = session;
    this.place = place;
    await vscode.commands.executeCommand(`${VIEW}.focus`);
    await this.show();
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
      editor?.selection.isEmpty === false ? dedent(editor.document.getText(editor.selection)) : undefined;
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
    } else if (received.type === "focus") {
      setFocused(received.has);
    } else if (received.type === "list") {
      this.session = undefined;
      const { search, status, from, to } = received;
      this.search = { text: search, status, from, to };
      await this.list(received.before);
    } else if (received.type === "open") {
      this.session = received.session;
      await this.show();
    } else if (received.type === "stack") {
      await withErrors(() => this.beside.stack.show({ ...this.place, pause: received.pause }));
    } else if (received.type === "calls") {
      await this.beside.calls.show({ session: received.session });
    } else if (received.type === "object") {
      await this.beside.objects.open(received.cid, this.place);
    } else {
      const { session, input } = received;
      let failure = "";
      try {
        trusted();
        // the entry comes by the notification, as it does for other viewers
        await this.ctx.request("backstitch/repl/eval", { ...this.place, session, input });
      } catch (error) {
        failure = message(error);
      }
      await this.post({ type: "answered", session, message: failure });
    }
  }

  /** Reads the list anew where it is shown: once for many changes. */
  private listSoon(): void {
    this.timer ??= setTimeout(() => {
      this.timer = undefined;
      if (this.session === undefined) void this.list();
    }, SOON);
  }

  private async list(before?: string): Promise<void> {
    if (this.view === undefined || this.ctx.state.name !== "running") return;
    const { text, status, from, to } = this.search;
    try {
      const place = await this.ctx.about({});
      const found = await this.ctx.request("backstitch/repl/list", {
        ...place,
        ...(text === "" ? {} : { search: text }),
        ...(status === "" ? {} : { status }),
        ...(from === "" ? {} : { from: startOf(from, 0) }),
        ...(to === "" ? {} : { to: startOf(to, 1) }),
        ...(before === undefined ? {} : { before }),
      });
      if (this.session !== undefined) return;
      this.place = place;
      await this.post({ type: "sessions", rows: found.sessions.map(row), more: found.more, words: words() });
    } catch (error) {
      this.ctx.log.debug(String(error));
    }
  }

  private async show(): Promise<void> {
    const { session } = this;
    if (session === undefined || this.view === undefined) return;
    const found = await this.ctx.request("backstitch/repl/show", { ...this.place, session });
    this.at = found.session.pause;
    await this.post({
      type: "session",
      row: row(found.session),
      lines: found.entries.map(line),
      reason: endOf(found.session),
      words: words(),
    });
  }

  private async post(sent: ToPage): Promise<void> {
    await this.view?.webview.postMessage(sent);
  }

  dispose(): void {
    clearTimeout(this.timer);
    for (const each of this.disposables) each.dispose();
  }
}

/** Says to the keys of held calls that they are about the call of the REPL. */
function setFocused(has: boolean): void {
  void vscode.commands.executeCommand("setContext", "backstitch.inRepl", has);
}

/** The text without the blanks that all of its lines begin with. */
function dedent(text: string): string {
  const lines = text.split("\n");
  const indents = lines
    .filter((line) => line.trim() !== "")
    .map((line) => line.length - line.trimStart().length);
  const least = Math.min(...indents);
  return lines.map((line) => (line.trim() === "" ? "" : line.slice(least))).join("\n");
}

/** Begin of a day such as `2026-11-25`, so many days later, in the user's time zone. */
function startOf(day: string, later: number): string {
  const begin = new Date(`${day}T00:00`);
  begin.setDate(begin.getDate() + later);
  return begin.toISOString();
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
    prompt: inOneLine(session.prompt ?? "", MAX_PROMPT),
    why: reasonOf(session),
    pause: session.pause,
    language: session.language,
    status: session.status,
    started: time(shownTime(session.started)),
    closed: time(session.closed === null ? null : shownTime(session.closed)),
    entries: session.entries,
    isOpen: session.closed === null,
    isProgram: session.process !== null,
  };
}

/** The line below the transcript of a closed session. */
function endOf({ closed, reason }: ReplSession): string {
  const say = vscode.l10n.t;
  if (closed === null) return "";
  return reason === null ? say("Closed") : say("Closed: {0}", reason);
}

/** The breakpoint that paused the call, as it was then; else the reason of the pause. */
function reasonOf({ breakpoint, hit, why }: ReplSession): string {
  if (hit === null) return [breakpoint, why].filter(Boolean).join(" ");
  const stop = [breakpoint, hit.kind, hit.summary].filter(Boolean).join(" ");
  const when = hit.when === null ? "" : vscode.l10n.t("when {0}", hit.when);
  const hits = hit.hits === null ? "" : vscode.l10n.t("hits {0}", hit.hits);
  return [stop, when, hits].filter(Boolean).join(" ");
}

function shownTime(time: unknown): string {
  return typeof time === "string" ? time : String(time);
}

function line(entry: ReplEntry): Line {
  const { index, input, output, stdout, isError, shows, cid } = entry;
  return { index, input, output, stdout, isError, shows, cid };
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
    from: say("from"),
    to: say("to"),
    stack: say("Stack"),
    calls: say("Calls"),
    object: say("value"),
    busy: say("evaluating…"),
    columns: {
      function: say("Function"),
      status: say("Status"),
      start: say("Started"),
      close: say("Closed"),
      lines: say("Lines"),
      stack: say("Stack"),
      session: say("Session"),
    },
  };
}
