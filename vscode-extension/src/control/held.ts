// Held calls and breakpoints of all folders, as the server has them. Read anew after each of its notifications.

import * as vscode from "vscode";

import type { Ctx, Disposable } from "../ctx.ts";
import { onDisk } from "../documents/open.ts";
import { type Breakpoint, type Pause, type Where, shown } from "../server/protocol.ts";

/** Delay in milliseconds: one decision sends several notifications. */
const SOON = 20;
/** Delay after a change of a text, in milliseconds. */
const AFTER_TEXT = 150;
/** Interval at which the end of parked calls is noticed: no notification says that the agent has tried again. */
const PARKED = 1_000;

/** Kind of a pause: a call of an agent, a program at one of its functions, or a rewind that an agent proposes. */
export type HeldKind = "call" | "program" | "proposal";

export function kindOf({ by }: Pause): HeldKind {
  return by === "program" || by === "proposal" ? by : "call";
}

export function isProposal(pause: Pause): boolean {
  return kindOf(pause) === "proposal";
}

/** True if the agent can be given another input. */
export function takesChanges(pause: Pause): boolean {
  return kindOf(pause) === "call" && pause.can.includes("change");
}

/** Words about a call for `when` clauses: its state, its kind, and what can be decided. Each stands between colons. */
export function traits(pause: Pause): string {
  const kind = kindOf(pause);
  const { can } = pause;
  const state = pause.state === "held" ? "held" : "parked";
  const steps = kind !== "proposal" && can.includes("continue") ? ["step"] : [];
  return `:${[state, kind, ...steps, ...can].join(":")}:`;
}

export class Held implements vscode.Disposable {
  private readonly changed = new vscode.EventEmitter<void>();
  private readonly arrived = new vscode.EventEmitter<Pause>();
  private readonly disposables: Disposable[];
  private timer: NodeJS.Timeout | undefined;
  private reads = 0;
  private known: Pause[] = [];
  /** Open REPL sessions by pause. */
  private repls = new Set<string>();
  private stops: { root: string; breakpoints: Breakpoint[] }[] = [];
  private poll: NodeJS.Timeout | undefined;
  /** Number of changes of texts in which agents stop. */
  private texts = 0;

  /** After each change of calls or breakpoints. */
  readonly onDidChange = this.changed.event;
  /** For each call that is held from now on. */
  readonly onDidPause = this.arrived.event;

  constructor(private readonly ctx: Ctx) {
    const read = () => {
      this.scheduleRead();
    };
    this.disposables = [
      this.changed,
      this.arrived,
      ctx.on("backstitch/didPause", ({ pause }) => {
        // commands find it before it is read
        if (this.find(pause.id, shown(pause.root)) === undefined) this.known = [...this.known, pause];
        this.arrived.fire(pause);
        read();
      }),
      ctx.on("backstitch/didResume", ({ pause, outcome }) => {
        // the next call has its title; one that is parked can still be decided
        if (outcome !== "parked") {
          this.known = this.known.filter(
            ({ id, root }) => id !== pause.id || shown(root) !== shown(pause.root),
          );
        }
        read();
      }),
      ctx.on("backstitch/pauseChanged", read),
      ctx.on("backstitch/breakpointsChanged", read),
      ctx.on("backstitch/replChanged", read),
      ctx.on("backstitch/didHit", ({ hit }) => {
        ctx.log.info(`${hit.breakpoint}: ${hit.text}`);
      }),
      // an agent's edit, a rewind or a switch of branches moves lines; an agent that tries again ends a parked call
      ctx.on("backstitch/timelineChanged", () => {
        if (this.hasLines() || this.known.some(({ state }) => state !== "held")) read();
      }),
      vscode.workspace.onDidChangeTextDocument(({ document, contentChanges }) => {
        if (contentChanges.length === 0 || !this.hasLines(document.uri)) return;
        this.texts++;
        this.scheduleRead(AFTER_TEXT);
      }),
      vscode.workspace.onDidOpenTextDocument(({ uri }) => {
        if (this.hasLines(uri)) read();
      }),
      ctx.onDidChangeState(read),
      vscode.workspace.onDidChangeWorkspaceFolders(read),
    ];
    read();
  }

  /** Calls that wait for a decision, oldest first. */
  get pauses(): readonly Pause[] {
    return this.known;
  }

  /** Breakpoints by the root of their workspace. */
  get breakpoints(): readonly { root: string; breakpoints: Breakpoint[] }[] {
    return this.stops;
  }

  /** Calls whose hook waits now. */
  held(): Pause[] {
    return this.known.filter(({ state }) => state === "held");
  }

  /** True if a REPL is open there. */
  hasRepl(pause: Pause): boolean {
    return this.repls.has(`${pause.id} ${shown(pause.root)}`);
  }

  find(id: string, root: string): Pause | undefined {
    return this.known.find((pause) => pause.id === id && shown(pause.root) === root);
  }

  refresh(): void {
    this.scheduleRead();
  }

  private scheduleRead(delay = SOON): void {
    this.timer ??= setTimeout(() => {
      this.timer = undefined;
      void this.read();
    }, delay);
  }

  /** True if agents stop at lines, of this document or of any. */
  private hasLines(uri?: vscode.Uri): boolean {
    return this.stops.some(({ root, breakpoints }) =>
      breakpoints.some(
        ({ region }) =>
          region !== undefined &&
          (uri === undefined || onDisk(root, region.path).toString() === uri.toString()),
      ),
    );
  }

  private places(): Where[] {
    const local = vscode.workspace.workspaceFolders?.filter(({ uri }) => uri.scheme === "file") ?? [];
    return local.length > 0 ? local.map(({ uri }) => ({ workspace: uri.fsPath })) : [this.ctx.where()];
  }

  private async read(): Promise<void> {
    if (this.ctx.state.name !== "running") {
      this.repls.clear();
      this.keep([], []);
      return;
    }
    const number = ++this.reads;
    const { texts } = this;
    const pauses = new Map<string, Pause>();
    const stops = new Map<string, Breakpoint[]>();
    const repls = new Set<string>();
    for (const place of this.places()) {
      try {
        const found = await this.ctx.request("backstitch/pauses", place);
        const active =
          found.pauses.length === 0
            ? []
            : (await this.ctx.request("backstitch/repl/list", { ...place, status: "active" })).sessions;
        const open = new Set(active.map(({ pause }) => pause));
        for (const pause of found.pauses) {
          const key = `${pause.id} ${shown(pause.root)}`;
          pauses.set(key, pause);
          if (open.has(pause.id)) repls.add(key);
        }
        const { breakpoints } = await this.ctx.request("backstitch/breakpoints", place);
        stops.set(place.workspace ?? place.uri ?? "", breakpoints);
      } catch (error) {
        // no workspace is open, or it cannot be read
        this.ctx.log.debug(String(error));
      }
    }
    if (number !== this.reads) return;
    this.repls = repls;
    // a text changed meanwhile: the next read has the lines
    const isStale = texts !== this.texts;
    const read = [...stops].map(([root, breakpoints]) => ({ root, breakpoints }));
    this.keep([...pauses.values()], isStale ? this.stops : read);
  }

  private keep(pauses: Pause[], stops: { root: string; breakpoints: Breakpoint[] }[]): void {
    this.known = pauses;
    this.stops = stops;
    void vscode.commands.executeCommand("setContext", "backstitch.held", this.held().length > 0);
    if (stops.some(({ breakpoints }) => breakpoints.length > 0)) this.ctx.steps.finish("breakpoint");
    clearTimeout(this.poll);
    if (pauses.some(({ state }) => state === "parked")) {
      this.poll = setTimeout(() => {
        this.scheduleRead();
      }, PARKED);
    }
    this.changed.fire();
  }

  dispose(): void {
    clearTimeout(this.timer);
    clearTimeout(this.poll);
    for (const each of this.disposables) each.dispose();
  }
}
