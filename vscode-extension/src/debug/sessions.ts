// The jobs that are debugged: where each stands, told by the messages of its adapter.

import * as vscode from "vscode";

import { type Disposable } from "../ctx.ts";
import { TYPE } from "./jobs.ts";
import { scopeAt } from "./workflow.ts";

/** The step of a job: its number among the steps of the job, from 1, where it is one of these. */
export type StepPlace = {
  name: string;
  number: number | undefined;
  total: number | undefined;
  attempt: number;
};
export type JobPlace =
  | { kind: "starts" }
  | { kind: "runs" | "stands" | "failed"; step: StepPlace | undefined }
  | { kind: "end" }
  | { kind: "ended"; result: string; ms: number; reason: string | undefined };
export type JobState = { job: string; place: JobPlace };
/** A place in a file of the project: the line is from 0. */
export type Stop = { file: string; line: number };

type Frame = { id: number; name: string; line: number; source?: { path?: string }; canRestart?: boolean };
type Message = {
  type: string;
  event?: string;
  command?: string;
  success?: boolean;
  body?: Record<string, unknown>;
};

/** Requests after which the job runs. */
const RUNNING = ["continue", "next", "stepIn", "stepOut", "goto"];

/** One session, as its adapter tells it. */
export class JobSession implements vscode.DebugAdapterTracker {
  state: JobState;
  /** The step where the job stands. */
  stop: Stop | undefined;
  /** All frames of the last stop. */
  frames: readonly Frame[] = [];
  /** Number of the frames above those of steps that have run. */
  private here = 0;
  /** Jobs that it needs run before it. */
  private hasBegun = false;
  /** Number of its moves: an answer about a place that it has left is dropped. */
  private moves = 0;

  constructor(
    readonly session: vscode.DebugSession,
    private readonly changed: () => void,
    private readonly ended: () => void,
  ) {
    const { job, name } = session.configuration;
    this.state = { job: typeof job === "string" ? job : name, place: { kind: "starts" } };
  }

  /** True for the frame of a step that has run. */
  isPast(frame: number): boolean {
    return this.frames.findIndex(({ id }) => id === frame) >= this.here;
  }

  onDidSendMessage(message: Message): void {
    const body = message.body ?? {};
    if (message.type === "response" && message.success === true) {
      if (message.command === "stackTrace") {
        this.noteFrames(body as { stackFrames: Frame[]; totalFrames: number });
      }
      if (RUNNING.includes(message.command ?? "")) this.runs();
    }
    if (message.type !== "event") return;
    switch (message.event ?? "") {
      case "thread":
        if (body["threadId"] === 1 && body["reason"] === "started") this.hasBegun = true;
        break;
      case "stopped":
        // a run that continues tells no beginning
        this.hasBegun = true;
        void this.stopped(++this.moves, body["reason"] === "exception").catch(() => undefined);
        break;
      case "continued":
        this.runs();
        break;
      case "backstitchStep":
        this.stepEnded(body as { path: number[] });
        break;
      case "backstitchJob": {
        const { name, result, ms, reason } = body as Record<string, string | null> & { ms: number };
        if (!this.hasBegun) break;
        this.moves += 1;
        const place = { kind: "ended", result: result ?? "", ms, reason: reason ?? undefined } as const;
        this.set(place, name ?? undefined);
        break;
      }
    }
  }

  onExit(): void {
    this.ended();
  }

  onWillStopSession(): void {
    this.stop = undefined;
    this.ended();
  }

  private set(place: JobPlace, job = this.state.job): void {
    this.state = { job, place };
    this.changed();
  }

  /** VS Code asks for some of the frames, and `stopped` for all. Their paths are those of the adapter here alone. */
  private noteFrames({ stackFrames, totalFrames }: { stackFrames: Frame[]; totalFrames: number }): void {
    if (stackFrames.length !== totalFrames) return;
    this.frames = stackFrames;
    // the job itself is the last one that cannot be restarted
    this.here = stackFrames.findLastIndex(({ canRestart }) => canRestart !== true) + 1;
  }

  private runs(): void {
    this.moves += 1;
    this.stop = undefined;
    const { place } = this.state;
    if (place.kind === "ended" || place.kind === "runs") return;
    this.set({ kind: "runs", step: "step" in place ? place.step : undefined });
  }

  /** The next step runs; those after the last one are the ends of actions. */
  private stepEnded({ path }: { path: number[] }): void {
    const [at] = path;
    if (!this.hasBegun || path.length !== 1 || at === undefined) return;
    const { place } = this.state;
    if (place.kind !== "starts" && place.kind !== "runs") return;
    const total = place.kind === "runs" ? place.step?.total : undefined;
    const number = at + 2;
    const before = place.kind === "runs" ? (place.step?.number ?? 0) : 0;
    const isStep = number > before && number <= (total ?? number);
    const step = isStep ? { name: "", number, total, attempt: 1 } : undefined;
    this.set({ kind: "runs", step });
  }

  private async stopped(move: number, isFailed: boolean): Promise<void> {
    const { session } = this;
    const answer: unknown = await session.customRequest("stackTrace", { threadId: 1 });
    const { stackFrames } = answer as { stackFrames: Frame[] };
    const here = this.frames.slice(0, this.here);
    const [job, own, top] = [here.at(-1), here.at(-2), here[0]];
    if (move !== this.moves || job === undefined || top === undefined) return;
    this.stop = { file: top.source?.path ?? "", line: top.line - 1 };
    if (own === undefined) {
      this.set({ kind: "end" }, job.name);
      return;
    }
    const [place, attempt] = await Promise.all([
      placeIn(session, job, own, sourceOf(stackFrames, job)).catch(() => undefined),
      attemptAt(session, top.id).catch(() => 1),
    ]);
    if (move !== this.moves) return;
    const step = { name: own.name, number: place?.number, total: place?.total, attempt };
    this.set({ kind: isFailed ? "failed" : "stands", step }, job.name);
  }
}

/** The source of a frame as VS Code wants it in a request: in a remote window its path is a URI. */
function sourceOf(answered: readonly Frame[], { id }: Frame): unknown {
  return answered.find((frame) => frame.id === id)?.source;
}

/** The number of a step in its job, and the number of steps there. */
async function placeIn(
  session: vscode.DebugSession,
  job: Frame,
  step: Frame,
  source: unknown,
): Promise<{ number: number; total: number } | undefined> {
  const file = job.source?.path ?? "";
  if (step.source?.path !== file || step.name.startsWith("Post ")) return undefined;
  const text = await vscode.workspace.fs.readFile(vscode.Uri.file(file));
  const { last } = scopeAt(Buffer.from(text).toString().split(/\r?\n/), job.line - 1);
  const request = { source, line: job.line, endLine: last + 1 };
  const answer: unknown = await session.customRequest("breakpointLocations", request);
  const lines = (answer as { breakpoints: { line: number }[] }).breakpoints.map(({ line }) => line);
  const at = lines.indexOf(step.line);
  return at < 0 ? undefined : { number: at + 1, total: lines.length };
}

/** Times that the step where the job stands has begun. */
async function attemptAt(session: vscode.DebugSession, frameId: number): Promise<number> {
  const scopes: unknown = await session.customRequest("scopes", { frameId });
  const [first] = (scopes as { scopes: { variablesReference: number }[] }).scopes;
  if (first === undefined) return 1;
  const { variablesReference } = first;
  const values: unknown = await session.customRequest("variables", { variablesReference });
  const { variables } = values as { variables: { name: string; value: string }[] };
  return Number(variables.find(({ name }) => name === "attempt")?.value ?? 1);
}

/** All sessions of ours in this window. */
export class JobSessions implements vscode.DebugAdapterTrackerFactory {
  private readonly all = new Map<string, JobSession>();
  private readonly changed = new vscode.EventEmitter<JobSession>();
  private readonly counted = new vscode.EventEmitter<number>();
  /** A session has changed its place, or has ended. */
  readonly onDidChange = this.changed.event;
  /** The number of sessions has changed. */
  readonly onDidCount = this.counted.event;
  private readonly disposables: Disposable[];

  constructor() {
    this.disposables = [
      this.changed,
      this.counted,
      vscode.debug.registerDebugAdapterTrackerFactory(TYPE, this),
    ];
  }

  createDebugAdapterTracker(session: vscode.DebugSession): vscode.DebugAdapterTracker {
    const changed = () => {
      this.changed.fire(tracked);
    };
    const ended = () => {
      if (this.all.get(session.id) !== tracked) return;
      this.all.delete(session.id);
      this.counted.fire(this.all.size);
      changed();
    };
    const tracked = new JobSession(session, changed, ended);
    this.all.set(session.id, tracked);
    this.counted.fire(this.all.size);
    changed();
    return tracked;
  }

  get(session: vscode.DebugSession | undefined): JobSession | undefined {
    return session === undefined ? undefined : this.all.get(session.id);
  }

  has(session: JobSession): boolean {
    return this.all.get(session.session.id) === session;
  }

  dispose(): void {
    for (const each of this.disposables) each.dispose();
  }
}
