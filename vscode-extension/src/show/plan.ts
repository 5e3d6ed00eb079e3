// Shows the plan of a restore before it runs: files, merges, conflicts and gaps, each with a preview.

import * as vscode from "vscode";

import {
  type Action,
  type OnConflict,
  type PlanParams,
  type PlanResult,
  type Text,
  shown,
} from "../server/protocol.ts";
import { withErrors } from "./errors.ts";
import { actionOf, conflicts, gap, summary } from "./words.ts";

/** Run the plan, or plan again with changed arguments. */
export type Decision = { onConflict: OnConflict } | { instead: Instead };
export type Instead = Partial<Pick<PlanParams, "exact" | "uncertain" | "carry" | "session" | "allSessions">>;
/** Alternative to the plan. `choose` returns undefined if the user cancels. */
export type Way = { label: string; detail: string; icon: string; choose: () => Promise<Instead | undefined> };

export type Looks = {
  /** Shows one file beside its planned text; a file in conflict with the target's lines. */
  file: (file: { path: Text }) => Promise<void>;
  all: () => Promise<void>;
};

type PlanItem = vscode.QuickPickItem & {
  decision?: () => Promise<Decision | undefined>;
  look?: () => Promise<void>;
};

/** Asks for a decision; undefined if the user cancels. */
export async function decide(plan: PlanResult, looks: Looks, ways: Way[]): Promise<Decision | undefined> {
  const pick = vscode.window.createQuickPick<PlanItem>();
  pick.title = sentence(plan.title);
  // the counts, then the authors of the work
  pick.placeholder = [summary(plan, vscode.l10n.t), ...plan.summary].join(" · ");
  pick.ignoreFocusOut = true;
  pick.matchOnDescription = true;
  pick.matchOnDetail = true;
  pick.items = rows(plan, looks, ways);
  pick.show();
  try {
    return await new Promise((resolve) => {
      pick.onDidAccept(() => {
        const [chosen] = pick.selectedItems;
        if (chosen?.decision !== undefined) resolve(chosen.decision());
        // a preview opens beside the list, which stays open
        else void withErrors(() => chosen?.look?.() ?? Promise.resolve());
      });
      pick.onDidHide(() => {
        resolve(undefined);
      });
    });
  } finally {
    pick.dispose();
  }
}

export function sentence(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

function rows(plan: PlanResult, looks: Looks, ways: Way[]): PlanItem[] {
  const say = vscode.l10n.t;
  const open = conflicts(plan.conflicts);
  const decide = (icon: string, label: string, onConflict: OnConflict, detail?: string): PlanItem => ({
    label: `$(${icon}) ${label}`,
    ...(detail === undefined ? {} : { detail }),
    alwaysShow: true,
    decision: () => Promise.resolve({ onConflict }),
  });
  // the title above the list names the state; here the verb is enough
  const [verb = plan.title] = sentence(plan.title).split(" ");
  const decisions =
    open === 0
      ? [decide("check", verb, "fail")]
      : [
          decide(
            "git-merge",
            say("{0}, and resolve conflicts", verb),
            "markers",
            say("Opens the merge editor"),
          ),
          decide("person", say("{0}, and keep your lines in conflicts", verb), "current"),
          decide("history", say("{0}, and take the older lines in conflicts", verb), "target"),
        ];
  const all: PlanItem = {
    label: `$(diff-multiple) ${say("Show all changes")}`,
    alwaysShow: true,
    look: looks.all,
  };
  const conflicting = new Set(plan.conflicts.map((conflict) => shown(conflict.path)));
  const planned = new Set(plan.actions.map((action) => shown(action.path)));
  // files without an action until the conflict is decided
  const undecided = plan.conflicts.filter((conflict) => !planned.has(shown(conflict.path)));
  const done = plan.actions.filter(
    (action) => action.action !== "skip" || conflicting.has(shown(action.path)),
  );
  const left = plan.actions.filter((action) => !done.includes(action));
  return [
    ...decisions,
    ...(done.length === 0 ? [] : [all]),
    ...section(say("Files"), [
      ...undecided.map((conflict) => ({
        label: `$(warning) ${shown(conflict.path)}`,
        description: say("conflicts with your edits"),
        detail: conflict.reason,
        look: () => looks.file(conflict),
      })),
      ...done.map((action) => file(action, conflicting, looks)),
    ]),
    ...section(
      say("Unchanged"),
      left.map((action) => ({ label: `$(circle-slash) ${shown(action.path)}`, detail: action.reason ?? "" })),
    ),
    ...section(
      say("Your edits that stay behind"),
      (plan.uncarried ?? []).map((path) => ({ label: `$(person) ${shown(path)}` })),
    ),
    ...section(
      say("Cannot be restored"),
      plan.gaps.map((each) => ({ label: `$(warning) ${gap(each)}` })),
    ),
    ...section(
      say("Other options"),
      ways.map(({ label, detail, icon, choose }) => ({
        label: `$(${icon}) ${label}`,
        description: detail,
        decision: async () => {
          const instead = await choose();
          return instead === undefined ? undefined : { instead };
        },
      })),
    ),
  ];
}

function file(action: Action, conflicting: Set<string>, looks: Looks): PlanItem {
  const path = shown(action.path);
  const isConflicting = conflicting.has(path);
  const icon = isConflicting
    ? "warning"
    : action.action === "delete"
      ? "trash"
      : action.action === "merge"
        ? "git-merge"
        : "file";
  return {
    label: `$(${icon}) ${path}`,
    description: isConflicting ? vscode.l10n.t("conflicts with your edits") : described(action),
    ...(action.reason === undefined ? {} : { detail: action.reason }),
    look: () => looks.file(action),
  };
}

/** `M +3 −1 · merged with your edits`. */
function described(action: Action): string {
  const { letter, added, removed } = action;
  const counts = added === null || removed === null ? "" : `+${added} −${removed}`;
  const change = [letter ?? "", counts].filter((part) => part !== "").join(" ");
  const unsaved = action.unsaved === undefined ? "" : vscode.l10n.t("not saved in {0}", action.unsaved);
  const parts = [change, actionOf(action, vscode.l10n.t), unsaved];
  return parts.filter((part) => part !== "").join(" · ");
}

function section(label: string, rows: PlanItem[]): PlanItem[] {
  return rows.length === 0 ? [] : [{ label, kind: vscode.QuickPickItemKind.Separator }, ...rows];
}
