// Commands that change files: rewind, revert, undo, redo, switch. Each shows its plan first, and then what came of it.

import * as vscode from "vscode";

import type { Merges } from "../compare/merge.ts";
import type { Ctx } from "../ctx.ts";
import { Planned } from "../documents/planned.ts";
import * as documents from "../documents/open.ts";
import {
  type Action,
  type Commands,
  type OnConflict,
  type PlanParams,
  type PlanResult,
  type RestoreResult,
  shown,
} from "../server/protocol.ts";
import { told } from "../show/errors.ts";
import { decide, sentence } from "../show/plan.ts";
import { gap, summary } from "../show/words.ts";

export type Verb =
  "backstitch.rewind" | "backstitch.revert" | "backstitch.undo" | "backstitch.redo" | "backstitch.switch";
type Typed<V extends Verb> = Commands[V]["params"];

/** How the dry run of a command is asked for. */
function plan(verb: Verb, typed: Typed<Verb>): PlanParams {
  const rest: PlanParams = { ...typed, plan: null, confirm: null };
  switch (verb) {
    case "backstitch.undo":
      return typeof rest.op === "string" ? rest : { ...rest, undo: true };
    case "backstitch.redo":
      return { ...rest, redo: true };
    case "backstitch.rewind":
    case "backstitch.revert":
    case "backstitch.switch":
      return rest;
  }
}

export class Restores {
  constructor(
    private readonly ctx: Ctx,
    private readonly merges: Merges,
    private readonly planned: Planned,
  ) {}

  /**
   * Shows what it would do, has the user decide, does it, and says what was done. What files did meanwhile is shown
   * anew. `plain`: what neither collides nor leaves anything out was asked for already, and is done at once.
   */
  async run<V extends Verb>(verb: V, typed: Typed<V>, plain = false): Promise<RestoreResult | undefined> {
    // lines of a document are found when the command comes, and confirmed by the server
    if ("lines" in typed && Array.isArray(typed.lines)) return this.carryOut(verb, typed, "fail");
    let first = await this.plan(verb, typed);
    for (;;) {
      if (first.empty && first.conflicts.length === 0) {
        this.nothing(first);
        return undefined;
      }
      const isPlain = plain && first.conflicts.length === 0 && first.gaps.length === 0;
      const decision = isPlain ? "fail" : await this.show(first);
      if (decision === undefined) return undefined;
      const decided = decision === "fail" ? first : await this.plan(verb, { ...typed, onConflict: decision });
      if (!sameFiles(first, decided)) {
        first = await this.anew(verb, typed);
        continue;
      }
      try {
        return await this.carryOut(verb, { ...typed, plan: decided.plan }, decision);
      } catch (error) {
        const now = await this.plan(verb, { ...typed, onConflict: decision });
        // refused for another reason than that files changed
        if (now.plan === decided.plan) throw error;
        first = await this.anew(verb, typed);
      }
    }
  }

  private anew<V extends Verb>(verb: V, typed: Typed<V>): Promise<PlanResult> {
    void vscode.window.showInformationMessage(
      vscode.l10n.t("Files changed meanwhile. Here is what would be done now."),
    );
    return this.plan(verb, typed);
  }

  private nothing(plan: PlanResult): void {
    const why = plan.nothing ?? plan.gaps.map(gap).join("; ");
    const nothing = vscode.l10n.t("{0}: nothing to do", sentence(plan.title));
    void vscode.window.showInformationMessage(why === "" ? nothing : `${nothing}. ${why}`);
  }

  private plan(verb: Verb, typed: Typed<Verb>): Promise<PlanResult> {
    return this.ctx.request("backstitch/plan", { ...plan(verb, typed), texts: true });
  }

  private async show(plan: PlanResult): Promise<OnConflict | undefined> {
    const texts = this.planned.keep(plan.texts ?? []);
    const title = sentence(plan.title);
    const look = async (action: Action) => {
      const sides = texts.get(shown(action.path));
      if (sides === undefined) {
        void vscode.window.showInformationMessage(
          vscode.l10n.t("{0} is no text, or too long to be shown", shown(action.path)),
        );
        return;
      }
      await documents.diff(sides, `${shown(action.path)} (${title})`, { preserveFocus: true, preview: true });
    };
    const decision = await decide(plan, {
      file: look,
      all: () => documents.changes(`${title}: ${summary(plan, vscode.l10n.t)}`, [...texts.values()]),
    });
    return decision?.onConflict;
  }

  private async carryOut<V extends Verb>(
    verb: V,
    typed: Typed<V>,
    onConflict: OnConflict,
  ): Promise<RestoreResult | undefined> {
    const args = onConflict === "fail" ? typed : { ...typed, onConflict };
    const result: RestoreResult = await this.ctx.execute(verb, args);
    await this.report(verb, typed, result, onConflict);
    return result;
  }

  private async report(
    verb: Verb,
    typed: Typed<Verb>,
    result: RestoreResult,
    onConflict: OnConflict,
  ): Promise<void> {
    const say = vscode.l10n.t;
    if (!("operation" in result) || result.operation === null) return;
    const done = result.actions.filter((action) => action.action !== "skip").length;
    const files = done === 1 ? say("1 file") : say("{0} files", done);
    const notTaken = result.not_taken ?? [];
    const unsaved = (result.edits ?? []).filter((edit) => edit.pending).length;
    const text = [
      `${did(verb)}: ${files}`,
      unsaved === 0 ? "" : say("{0} of them in editors, to be saved", unsaved),
      result.gaps.length === 0 ? "" : say("not reached: {0}", result.gaps.map(gap).join("; ")),
      notTaken.length === 0 ? "" : say("not taken by its editor: {0}", notTaken.map(shown).join(", ")),
    ]
      .filter(Boolean)
      .join("; ");
    const undo = say("Undo");
    const op = result.operation;
    const again = verb === "backstitch.undo" ? [] : [undo];
    // not awaited: the command is done, and the message stays as long as it likes
    const show =
      notTaken.length > 0 ? vscode.window.showWarningMessage : vscode.window.showInformationMessage;
    void show(text, ...again).then((chosen) =>
      chosen === undefined
        ? undefined
        : told(() => this.run("backstitch.undo", { ...place(typed), op }, true)),
    );
    if (onConflict === "markers") {
      const root = await this.root(typed);
      const marked = result.conflicts.filter((conflict) => conflict.resolution === "markers");
      for (const conflict of marked) {
        await this.merges.open(documents.onDisk(root, conflict.path), result.target);
      }
    }
  }

  private async root(typed: Typed<Verb>): Promise<string> {
    const { workspace } = await this.ctx.request("backstitch/timeline", { ...place(typed), limit: 1 });
    return shown(workspace);
  }
}

/** Whether two plans are about the same files, whatever becomes of what collides. */
function sameFiles(one: PlanResult, other: PlanResult): boolean {
  const files = ({ conflicts, gaps, actions }: PlanResult) => {
    // as long as nobody decided, a file that collides is written by no action
    const colliding = new Set(conflicts.map(({ path }) => shown(path)));
    return JSON.stringify([
      conflicts.map(({ path, hunks }) => [path, hunks]),
      gaps.map(({ path, kind }) => [path, kind]),
      actions
        .map(({ path }) => shown(path))
        .filter((path) => !colliding.has(path))
        .sort(),
    ]);
  };
  return files(one) === files(other);
}

/** The workspace that a command is about. */
function place(typed: Typed<Verb>): { workspace: string } | { uri: string } | Record<string, never> {
  if (typeof typed.workspace === "string") return { workspace: typed.workspace };
  return typeof typed.uri === "string" ? { uri: typed.uri } : {};
}

function did(verb: Verb): string {
  const say = vscode.l10n.t;
  switch (verb) {
    case "backstitch.rewind":
      return say("Rewound");
    case "backstitch.revert":
      return say("Taken out");
    case "backstitch.undo":
      return say("Undone");
    case "backstitch.redo":
      return say("Done again");
    case "backstitch.switch":
      return say("Switched");
  }
}
