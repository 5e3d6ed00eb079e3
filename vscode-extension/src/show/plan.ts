// What a restore would do, shown before it is done: its files, merges, conflicts and gaps, each to be looked at.

import * as vscode from "vscode";

import { type Action, type OnConflict, type PlanParams, type PlanResult, shown } from "../server/protocol.ts";
import { told } from "./errors.ts";
import { actionOf, conflicts, gap, summary } from "./words.ts";

/** To be done so; or to be planned anew, with something said otherwise. */
export type Decision = { onConflict: OnConflict } | { instead: Instead };
export type Instead = Partial<Pick<PlanParams, "exact" | "uncertain" | "carry" | "session">>;
/** Another way to do the same. Undefined once it was chosen: it was called off. */
export type Way = { label: string; detail: string; icon: string; choose: () => Promise<Instead | undefined> };

export type Looks = {
  /** One file as it is beside what it would be. */
  file: (action: Action) => Promise<void>;
  all: () => Promise<void>;
};

type Row = vscode.QuickPickItem & {
  decision?: () => Promise<Decision | undefined>;
  look?: () => Promise<void>;
};

/** Undefined: the user called it off. */
export async function decide(plan: PlanResult, looks: Looks, ways: Way[]): Promise<Decision | undefined> {
  const pick = vscode.window.createQuickPick<Row>();
  pick.title = sentence(plan.title);
  pick.placeholder = summary(plan, vscode.l10n.t);
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
        // looked at beside the list, which stays
        else void told(() => chosen?.look?.() ?? Promise.resolve());
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

function rows(plan: PlanResult, looks: Looks, ways: Way[]): Row[] {
  const say = vscode.l10n.t;
  const open = conflicts(plan.conflicts);
  const decide = (icon: string, label: string, onConflict: OnConflict, detail?: string): Row => ({
    label: `$(${icon}) ${label}`,
    ...(detail === undefined ? {} : { detail }),
    alwaysShow: true,
    decision: () => Promise.resolve({ onConflict }),
  });
  const title = sentence(plan.title);
  const decisions =
    open === 0
      ? [decide("check", title, "fail")]
      : [
          decide(
            "git-merge",
            say("{0}, and resolve conflicts", title),
            "markers",
            say("Opens the merge editor"),
          ),
          decide("person", say("{0}, and keep your lines where they collide", title), "current"),
          decide("history", say("{0}, and take the older lines where they collide", title), "target"),
        ];
  const all: Row = {
    label: `$(diff-multiple) ${say("Show all changes")}`,
    alwaysShow: true,
    look: looks.all,
  };
  const colliding = new Set(plan.conflicts.map((conflict) => shown(conflict.path)));
  const planned = new Set(plan.actions.map((action) => shown(action.path)));
  // what becomes of them is to be decided first
  const undecided = plan.conflicts.filter((conflict) => !planned.has(shown(conflict.path)));
  const done = plan.actions.filter((action) => action.action !== "skip" || colliding.has(shown(action.path)));
  const left = plan.actions.filter((action) => !done.includes(action));
  return [
    ...decisions,
    ...(done.length === 0 ? [] : [all]),
    ...section(say("Files"), [
      ...undecided.map((conflict) => ({
        label: `$(warning) ${shown(conflict.path)}`,
        description: say("collides with your edits"),
        detail: conflict.reason,
      })),
      ...done.map((action) => file(action, colliding, looks)),
    ]),
    ...section(
      say("Left as they are"),
      left.map((action) => ({ label: `$(circle-slash) ${shown(action.path)}`, detail: action.reason ?? "" })),
    ),
    ...section(
      say("Your edits that stay behind"),
      (plan.uncarried ?? []).map((path) => ({ label: `$(person) ${shown(path)}` })),
    ),
    ...section(
      say("Not reached"),
      plan.gaps.map((each) => ({ label: `$(warning) ${gap(each)}` })),
    ),
    ...section(
      say("Otherwise"),
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

function file(action: Action, colliding: Set<string>, looks: Looks): Row {
  const path = shown(action.path);
  const collides = colliding.has(path);
  const icon = collides
    ? "warning"
    : action.action === "delete"
      ? "trash"
      : action.action === "merge"
        ? "git-merge"
        : "file";
  return {
    label: `$(${icon}) ${path}`,
    description: collides ? vscode.l10n.t("collides with your edits") : actionOf(action, vscode.l10n.t),
    ...(action.reason === undefined ? {} : { detail: action.reason }),
    look: () => looks.file(action),
  };
}

function section(label: string, rows: Row[]): Row[] {
  return rows.length === 0 ? [] : [{ label, kind: vscode.QuickPickItemKind.Separator }, ...rows];
}
