// Text of a plan, which stands above the changes of its files: whose work goes and stays, the files, conflicts, and files that
// cannot be restored. Pure: translation is a parameter, `Say`.

import { type Action, type PlanResult, type PlannedTurn, shown } from "../server/protocol.ts";
import { type Say, actionOf, agentOf, ago, conflicts, gap, quoted } from "./words.ts";

/**
 * Both sides of a comparison. The first line differs: each says which side it is, and that of `then` is the plan in a sentence.
 * The turns that go are in `now` alone, those that come back in `then` alone.
 */
export type PlanText = { now: string; then: string };
type Line = { now?: string; then?: string };

/**
 * Maximum number of lines of sentences. VS Code folds lines that are far from a difference, which are more than five here:
 * each paragraph is one line, and the editor wraps it.
 */
const MAX_SENTENCES = 4;
/** Maximum number of lines that are unfolded after the last difference. */
const MAX_UNFOLDED = 5;
/** Maximum number of turns that have a line above the files. The others stand below, where VS Code folds them. */
const MAX_TURNS = 4;

/** Maximum number of files whose changes are shown: VS Code reads all of them at once. */
export const MAX_SHOWN = 200;

/** `only`: the file to whose lines or changes the plan is restricted. */
export function planText(plan: PlanResult, only: string | undefined, now: number, say: Say): PlanText {
  const scope = only === undefined ? [] : [say("Only these lines of {0}.", only)];
  const sentences = [...scope, ...plan.summary];
  const above = [...sentences.slice(0, MAX_SENTENCES - 1), sentences.slice(MAX_SENTENCES - 1).join(" ")];
  // the sentence at the top names a single one
  const turns = plan.takes.length < 2 ? [] : plan.takes.map((turn) => turnLine(turn, now, say));
  const more = turns.slice(MAX_TURNS);
  const below = [
    ...(more.length === 0 ? [] : [say("{0} more turns, below", more.length)]),
    ...paragraph(say("Conflicts with your edits"), conflictNames(plan, say)),
    ...paragraph(
      say("Unchanged"),
      skipped(plan).map(({ path, reason }) => named(path, reason)),
    ),
    ...paragraph(say("Your edits that stay behind"), (plan.uncarried ?? []).map(shown)),
    ...paragraph(say("Cannot be restored"), notRestored(plan).map(gap)),
  ];
  const lines: Line[] = [
    { now: say("Current files"), then: head(plan, say) },
    ...(turns.length > 0
      ? [
          ...above.filter(Boolean).map(both),
          ...turns
            .slice(0, MAX_TURNS)
            .map((text) => (plan.brings_back === true ? { then: text } : { now: text })),
          ...below.map(both),
        ]
      : unfolded([...above.filter(Boolean), ...below]).map(both)),
    ...more.map(both),
  ];
  const side = (which: keyof Line) =>
    lines
      .flatMap((line) => line[which] ?? [])
      .map((text) => `${text}\n`)
      .join("");
  return { now: side("now"), then: side("then") };
}

/** The plan in one line: `Undoes turn “Number the notes” (claude-code, 2 min ago) · 4 files, +3 −3 · 1 conflict`. */
function head(plan: PlanResult, say: Say): string {
  const count = conflicts(plan.conflicts);
  return [
    plan.sentence,
    fileCount(plan, say),
    count === 0 ? "" : count === 1 ? say("1 conflict") : say("{0} conflicts", count),
  ]
    .filter(Boolean)
    .join(" · ");
}

/** Joins the last lines, so that VS Code folds none. */
function unfolded(lines: string[]): string[] {
  if (lines.length <= MAX_UNFOLDED) return lines;
  return [...lines.slice(0, MAX_UNFOLDED - 1), lines.slice(MAX_UNFOLDED - 1).join(" · ")];
}

/** Gaps of files that are not named as unchanged already. */
function notRestored(plan: PlanResult): PlanResult["gaps"] {
  const known = new Set(skipped(plan).map(({ path }) => shown(path)));
  return plan.gaps.filter(({ path }) => path === null || !known.has(shown(path)));
}

/** `merged with your edits · not saved in code-server`; empty if the change of the file says it all. */
export function described(action: Action, isOwn: boolean, say: Say): string {
  const unsaved = action.unsaved === undefined ? "" : say("not saved in {0}", action.unsaved);
  const isPlain = action.action === "write" || action.action === "delete" || action.action === "create";
  const effect = isPlain && action.from === undefined ? "" : actionOf(action, isOwn, say);
  return [effect, unsaved, action.reason ?? ""].filter(Boolean).join(" · ");
}

function turnLine(turn: PlannedTurn, now: number, say: Say): string {
  const name = quoted(turn.prompt, 100) || say("work without a prompt");
  const part = turn.part ? say("in part") : "";
  return [name, agentOf(turn), part, ago(turn.time, now, say)].filter(Boolean).join(" · ");
}

function conflictNames(plan: PlanResult, say: Say): string[] {
  return plan.conflicts.map((conflict) => {
    const count = conflicts([conflict]);
    return `${shown(conflict.path)} (${count === 1 ? say("1 conflict") : say("{0} conflicts", count)})`;
  });
}

/** True if the user has edited the file since. */
export function isOwn({ own_edits }: PlanResult, { path }: Action): boolean {
  return own_edits.some((own) => shown(own) === shown(path));
}

/** Paths of the files that a plan shows: those that it changes, and those with open conflicts. */
export function plannedFiles({ actions, texts }: PlanResult): Set<string> {
  const changed = actions.filter((action) => action.action !== "skip");
  return new Set([...changed, ...(texts ?? [])].map(({ path }) => shown(path)));
}

/** `5 files`. */
export function plannedCount(plan: PlanResult, say: Say): string {
  const { size } = plannedFiles(plan);
  return size === 1 ? say("1 file") : say("{0} files", size);
}

/** `5 files, +3 −3, 1 of them merged with your edits`. */
function fileCount(plan: PlanResult, say: Say): string {
  const all = plan.actions.filter((action) => action.action !== "skip");
  const sum = (of: "added" | "removed") => all.reduce((total, action) => total + (action[of] ?? 0), 0);
  const merged = all.filter((action) => action.action === "merge");
  const own = merged.filter((action) => isOwn(plan, action)).length;
  const others = merged.length - own;
  const counts = sum("added") + sum("removed") === 0 ? "" : `+${sum("added")} −${sum("removed")}`;
  return [
    plannedCount(plan, say),
    counts,
    own === 0 ? "" : say("{0} of them merged with your edits", own),
    others === 0 ? "" : say("{0} of them merged with later work", others),
    plannedFiles(plan).size > MAX_SHOWN ? say("the first {0} are shown", MAX_SHOWN) : "",
  ]
    .filter(Boolean)
    .join(", ");
}

function skipped(plan: PlanResult): Action[] {
  const open = new Set(plan.conflicts.map((conflict) => shown(conflict.path)));
  return plan.actions.filter((action) => action.action === "skip" && !open.has(shown(action.path)));
}

function named(path: Action["path"], text: string | undefined): string {
  return text === undefined || text === "" ? shown(path) : `${shown(path)}: ${text}`;
}

function paragraph(title: string, parts: readonly string[]): string[] {
  return parts.length === 0 ? [] : [`${title}: ${parts.join("; ")}`];
}

function both(text: string): Line {
  return { now: text, then: text };
}
