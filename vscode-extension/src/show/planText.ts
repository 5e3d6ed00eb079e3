// Text of a plan, which stands above the changes of its files: whose work goes and stays, the files, conflicts, and files that
// cannot be restored. Pure: translation is a parameter, `Say`.

import { type Action, type PlanResult, type PlannedTurn, shown } from "../server/protocol.ts";
import { type Say, actionOf, ago, conflicts, gap, line } from "./words.ts";

/** Both sides of a comparison. The turns that go are in `now` alone, those that come back in `then` alone. */
export type PlanText = { now: string; then: string };
type Line = { now?: string; then?: string };

/**
 * Maximum number of lines before the turns. VS Code folds lines that are far from a difference, which are more than five
 * here: each paragraph is one line, and the editor wraps it.
 */
const MAX_SENTENCES = 4;

/** Maximum number of files whose changes are shown: VS Code reads all of them at once. */
export const MAX_SHOWN = 200;

/** `only`: the file to whose lines or changes the plan is restricted. */
export function planText(plan: PlanResult, only: string | undefined, now: number, say: Say): PlanText {
  const scope = only === undefined ? [] : [say("Only these lines of {0}.", only)];
  const sentences = [...scope, ...plan.summary];
  const above = [...sentences.slice(0, MAX_SENTENCES - 1), sentences.slice(MAX_SENTENCES - 1).join(" ")];
  const turns = plan.takes.map((turn) => turnLine(turn, now, say));
  const files = fileCount(plan, say);
  const lines: Line[] = [
    ...above.filter(Boolean).map(both),
    ...turns.map((text) => (plan.brings_back === true ? { then: text } : { now: text })),
    // without any difference all of it would be folded
    turns.length === 0 ? { then: files } : both(files),
    ...paragraph(say("Conflicts with your edits"), conflictNames(plan, say)),
    ...paragraph(
      say("Unchanged"),
      skipped(plan).map(({ path, reason }) => named(path, reason)),
    ),
    ...paragraph(say("Your edits that stay behind"), (plan.uncarried ?? []).map(shown)),
    ...paragraph(say("Cannot be restored"), plan.gaps.map(gap)),
  ];
  const side = (which: keyof Line) =>
    lines
      .flatMap((line) => line[which] ?? [])
      .map((text) => `${text}\n`)
      .join("");
  return { now: side("now"), then: side("then") };
}

export function sentence(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** `merged with your edits · not saved in code-server`; empty if the change of the file says it all. */
export function described(action: Action, say: Say): string {
  const unsaved = action.unsaved === undefined ? "" : say("not saved in {0}", action.unsaved);
  const isPlain = action.action === "write" || action.action === "delete" || action.action === "create";
  const effect = isPlain && action.from === undefined ? "" : actionOf(action, say);
  return [effect, unsaved, action.reason ?? ""].filter(Boolean).join(" · ");
}

function turnLine(turn: PlannedTurn, now: number, say: Say): string {
  const prompt = line(turn.prompt ?? "", 100);
  const name = prompt === "" ? say("work without a prompt") : `“${prompt}”`;
  const id = turn.turn ?? turn.checkpoint;
  const part = turn.part ? say("in part") : "";
  return [name, `${turn.agent} ${id}`, part, ago(turn.time, now, say)].filter(Boolean).join(" · ");
}

function conflictNames(plan: PlanResult, say: Say): string[] {
  return plan.conflicts.map((conflict) => {
    const count = conflicts([conflict]);
    return `${shown(conflict.path)} (${count === 1 ? say("1 conflict") : say("{0} conflicts", count)})`;
  });
}

/** `5 files, +3 −3, 1 of them merged with your edits`. */
function fileCount(plan: PlanResult, say: Say): string {
  const all = plan.actions.filter((action) => action.action !== "skip");
  const sum = (of: "added" | "removed") => all.reduce((total, action) => total + (action[of] ?? 0), 0);
  const merged = all.filter((action) => action.action === "merge").length;
  const counts = sum("added") + sum("removed") === 0 ? "" : `+${sum("added")} −${sum("removed")}`;
  return [
    all.length === 1 ? say("1 file") : say("{0} files", all.length),
    counts,
    merged === 0 ? "" : say("{0} of them merged with your edits", merged),
    all.length > MAX_SHOWN ? say("the first {0} are shown", MAX_SHOWN) : "",
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

function paragraph(title: string, parts: readonly string[]): Line[] {
  return parts.length === 0 ? [] : [both(`${title}: ${parts.join("; ")}`)];
}

function both(text: string): Line {
  return { now: text, then: text };
}
