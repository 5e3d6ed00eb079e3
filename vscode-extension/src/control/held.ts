// Held calls and breakpoints of all folders, as the server has them. Read anew after each of its notifications.

import * as vscode from "vscode";

import type { Ctx, Disposable } from "../ctx.ts";
import { type Breakpoint, type Pause, type Where, shown } from "../server/protocol.ts";

/** Debounce delay in milliseconds: one decision sends several notifications. */
const SOON = 20;

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
      ctx.on("backstitch/didResume", read),
      ctx.on("backstitch/breakpointsChanged", read),
      ctx.on("backstitch/replChanged", read),
      ctx.on("backstitch/didHit", ({ hit }) => {
        ctx.log.info(`${hit.breakpoint}: ${hit.text}`);
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

  private scheduleRead(): void {
    this.timer ??= setTimeout(() => {
      this.timer = undefined;
      void this.read();
    }, SOON);
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
    this.keep(
      [...pauses.values()],
      [...stops].map(([root, breakpoints]) => ({ root, breakpoints })),
    );
  }

  private keep(pauses: Pause[], stops: { root: string; breakpoints: Breakpoint[] }[]): void {
    this.known = pauses;
    this.stops = stops;
    void vscode.commands.executeCommand("setContext", "backstitch.held", this.held().length > 0);
    this.changed.fire();
  }

  dispose(): void {
    clearTimeout(this.timer);
    for (const each of this.disposables) each.dispose();
  }
}
