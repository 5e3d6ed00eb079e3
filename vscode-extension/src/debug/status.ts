// The job that is debugged in the status bar: its step, and for a while its result.

import * as vscode from "vscode";

import { withoutIcons } from "../show/outside.ts";
import { line } from "../show/words.ts";
import type { JobSession, JobSessions, JobState, StepPlace } from "./sessions.ts";

/** Time for which a result is shown, in milliseconds. */
const RESULT_TIME = 60_000;

export class JobStatus implements vscode.Disposable {
  private readonly item = vscode.window.createStatusBarItem("job", vscode.StatusBarAlignment.Left, 7);
  private readonly listeners: vscode.Disposable[];
  private shown: JobSession | undefined;
  private timer: NodeJS.Timeout | undefined;

  constructor(private readonly sessions: JobSessions) {
    this.item.name = vscode.l10n.t("Backstitch: CI Job");
    this.item.command = "workbench.panel.repl.view.focus";
    this.listeners = [
      // the active one of several jobs is shown
      sessions.onDidChange((session) => {
        this.update(this.active() ?? session);
      }),
      vscode.debug.onDidChangeActiveDebugSession(() => {
        const active = this.active();
        if (active !== undefined) this.update(active);
      }),
    ];
  }

  private active(): JobSession | undefined {
    return this.sessions.get(vscode.debug.activeDebugSession);
  }

  private update(session: JobSession): void {
    const isThere = this.sessions.has(session);
    if (!isThere && this.shown !== session) return;
    this.shown = session;
    clearTimeout(this.timer);
    const { state } = session;
    if (!isThere && state.place.kind !== "ended") {
      // left as it stands, for another time
      this.item.hide();
      return;
    }
    if (!isThere) {
      this.timer = setTimeout(() => {
        this.item.hide();
      }, RESULT_TIME);
    }
    const text = [line(state.job, 40), ...placeText(state)].join(" · ");
    this.item.text = `${iconOf(state)} ${withoutIcons(text)}`;
    const { place } = state;
    const more = "step" in place ? place.step?.name : place.kind === "ended" ? place.reason : undefined;
    const tooltip = [text, line(more ?? "")].filter(Boolean).join("\n");
    this.item.tooltip = tooltip;
    this.item.accessibilityInformation = { label: tooltip, role: "button" };
    this.item.backgroundColor = isFailed(state)
      ? new vscode.ThemeColor("statusBarItem.errorBackground")
      : undefined;
    this.item.show();
  }

  dispose(): void {
    clearTimeout(this.timer);
    for (const each of this.listeners) each.dispose();
    this.item.dispose();
  }
}

function isFailed({ place }: JobState): boolean {
  return place.kind === "failed" || (place.kind === "ended" && place.result === "failure");
}

function iconOf(state: JobState): string {
  const { place } = state;
  if (isFailed(state)) return "$(error)";
  if (place.kind === "ended") return place.result === "success" ? "$(pass)" : "$(circle-slash)";
  return place.kind === "runs" || place.kind === "starts" ? "$(loading~spin)" : "$(debug-pause)";
}

function placeText({ place }: JobState): string[] {
  const say = vscode.l10n.t;
  switch (place.kind) {
    case "starts":
      return [say("starting")];
    case "runs":
    case "stands":
      return place.step === undefined ? [] : stepText(place.step);
    case "failed":
      return [...(place.step === undefined ? [] : stepText(place.step)), say("failed")];
    case "end":
      return [say("at its end")];
    case "ended":
      return [resultText(place.result), time(place.ms)];
  }
}

function stepText({ name, number, total, attempt }: StepPlace): string[] {
  const say = vscode.l10n.t;
  const step =
    number === undefined
      ? line(name, 40)
      : total === undefined
        ? say("step {0}", number)
        : say("step {0} of {1}", number, total);
  return attempt > 1 ? [step, say("attempt {0}", attempt)] : [step];
}

function resultText(result: string): string {
  const say = vscode.l10n.t;
  switch (result) {
    case "success":
      return say("succeeded");
    case "failure":
      return say("failed");
    case "cancelled":
      return say("cancelled");
    case "skipped":
      return say("skipped");
    default:
      return line(result);
  }
}

function time(ms: number): string {
  const seconds = ms / 1000;
  return seconds < 60
    ? `${seconds.toFixed(1)} s`
    : `${Math.floor(seconds / 60)} min ${Math.round(seconds % 60)} s`;
}
