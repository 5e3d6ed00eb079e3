// Texts for checkpoints, changes and plans in lists. Pure: translation is a parameter, `Say`.

import type { Action, Change, Checkpoint, Conflict, Gap } from "../server/protocol.ts";
import { shown } from "../server/protocol.ts";

/** `vscode.l10n.t`, or a stand-in in tests. */
export type Say = (message: string, ...args: (string | number)[]) => string;

/** `2 min ago`; the date after more than a week. */
export function ago(time: string | null, now: number, say: Say): string {
  if (time === null) return "";
  const then = Date.parse(time);
  const seconds = Math.max(0, Math.round((now - then) / 1000));
  if (seconds < 60) return say("just now");
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return say("{0} min ago", minutes);
  const hours = Math.floor(minutes / 60);
  if (hours < 24) return say("{0} h ago", hours);
  const days = Math.floor(hours / 24);
  if (days < 7) return days === 1 ? say("yesterday") : say("{0} days ago", days);
  return new Date(then).toISOString().slice(0, 10);
}

/** Returns a prompt or a label as one line for a list. */
export function line(text: string, longest = 80): string {
  // remove control characters and direction marks, but keep joiners of letters
  const plain = text.replace(/(?:(?![\u200c\u200d])[\p{Cc}\p{Cf}\s])+/gu, " ").trim();
  const letters = Array.from(new Intl.Segmenter().segment(plain), ({ segment }) => segment);
  return letters.length <= longest
    ? plain
    : `${letters
        .slice(0, longest - 1)
        .join("")
        .trimEnd()}…`;
}

/** An agent, and its session where that has a letter: `claude-code B`. */
export function agentOf({ agent, letter }: { agent: string | null; letter: string | null }): string {
  return [agent, letter].filter(Boolean).join(" ");
}

/** A prompt as the name of its turn, in quotes; empty without one. */
export function quoted(prompt: string | null | undefined, longest = 40): string {
  const named = line(prompt ?? "", longest);
  return named === "" ? "" : `“${named}”`;
}

/** The place, or the rule, by which a held call was decided. */
export function decider(by: string, say: Say): string {
  switch (by) {
    case "cli":
      return say("in a terminal");
    case "time limit":
      return say("since the time ran out");
    case "nobody watches":
      return say("since nobody watched");
    default:
      return say("in {0}", line(by));
  }
}

/** Says which state a row of an agent's work means in commands: that before a turn, that after a step. */
export function which({ kind }: Checkpoint, say: Say): string {
  if (kind === "turn") return say("before");
  return kind === "step" ? say("after") : "";
}

/** Returns the title of a checkpoint. */
export function about(checkpoint: Checkpoint, say: Say): string {
  const named = checkpoint.label ?? "";
  if (isBeginning(checkpoint)) return say("before Backstitch");
  const done = line(checkpoint.operation?.title ?? "");
  if (done !== "") return sentence(done);
  if (named !== "") return line(named);
  switch (checkpoint.kind) {
    case "turn":
      return line(checkpoint.prompt ?? "") || say("turn without a prompt");
    case "step":
      return (
        line(checkpoint.summary ?? "") ||
        [checkpoint.tool ?? say("step"), files(checkpoint.changes, say)].filter(Boolean).join(" · ")
      );
    case "external":
      return say("Your edits");
    case "rewind":
      return say("Rewind");
    case "manual":
      return say("checkpoint");
    case "squash":
      return checkpoint.squashed === undefined
        ? say("older checkpoints")
        : say("{0} checkpoints, squashed", checkpoint.squashed.checkpoints);
    case "import":
      return say("imported");
  }
}

/** Returns the title of a checkpoint for a tab: a prompt stands in quotes. */
export function titleOf(checkpoint: Checkpoint, say: Say): string {
  const title = about(checkpoint, say);
  const isPrompt = checkpoint.kind === "turn" && (checkpoint.prompt ?? "") !== "";
  return isPrompt ? `“${line(title, 40)}”` : line(title, 40);
}

/** True for the first state of a workspace, which is recorded before anything happens. */
export function isBeginning({ kind, parent, label, session }: Checkpoint): boolean {
  return kind === "manual" && parent === null && label === "start" && session === null;
}

export function sentence(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** `src/a.rs`, or `3 files`. */
export function files(changes: readonly Change[], say: Say): string {
  const paths = [...new Set(changes.map(({ path }) => shown(path)))];
  const [first, second] = paths;
  if (first === undefined) return "";
  return second === undefined ? first : say("{0} files", paths.length);
}

/** Returns a revision in words. */
export function point(rev: string, say: Say): string {
  if (rev === "@") return say("now");
  return rev.endsWith("^") ? say("before {0}", rev.slice(0, -1)) : rev;
}

/** `+12 −3`; empty if no line was counted. */
export function counts(changes: readonly { added: number; removed: number }[]): string {
  const sum = (of: "added" | "removed") => changes.reduce((total, change) => total + change[of], 0);
  const [added, removed] = [sum("added"), sum("removed")];
  return added + removed === 0 ? "" : `+${added} −${removed}`;
}

export function kindOf(change: Pick<Change, "kind">, say: Say): string {
  switch (change.kind) {
    case "create":
      return say("created");
    case "modify":
      return say("modified");
    case "delete":
      return say("deleted");
    case "rename":
      return say("renamed");
    case "mode":
      return say("mode changed");
  }
}

/** Returns the effect of a plan on a file. `isOwn`: the user has edited it since. */
export function actionOf(action: Action, isOwn: boolean, say: Say): string {
  switch (action.action) {
    case "write":
      return action.from === undefined ? say("restored") : say("renamed from {0}", shown(action.from));
    case "delete":
      return say("deleted");
    case "create":
      return action.from === undefined ? say("recreated") : say("renamed from {0}", shown(action.from));
    case "merge":
      return isOwn ? say("merged with your edits") : say("merged with later work");
    case "chmod":
      return say("permissions restored");
    case "skip":
      return say("unchanged");
  }
}

/** Returns the number of conflicts; a conflict about a whole file is one. */
export function conflicts(all: readonly Conflict[]): number {
  return all.reduce((sum, conflict) => sum + Math.max(1, conflict.hunks.length), 0);
}

export function gap(gap: Gap): string {
  return gap.path === null ? gap.detail : `${shown(gap.path)}: ${gap.detail}`;
}
