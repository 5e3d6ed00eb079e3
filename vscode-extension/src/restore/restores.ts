// Commands that change files: rewind, revert, undo, redo, switch. Each shows its plan first, and then its result.

import * as vscode from "vscode";

import * as conversation from "./conversation.ts";
import type { Ctx } from "../ctx.ts";
import * as documents from "../documents/open.ts";
import {
  type Commands,
  type PlanParams,
  type PlanResult,
  type RestoreResult,
  shown,
} from "../server/protocol.ts";
import { isCancelled, withErrors } from "../show/errors.ts";
import * as pick from "../show/pick.ts";
import type { Decision, Instead, PlanEditor, Way } from "../show/plan.ts";
import { busy } from "../show/progress.ts";
import { conflicts, gap, sentence } from "../show/words.ts";
import type { Merges } from "./merge.ts";
import type { UndoneInEditor } from "./undone.ts";
import { inform, warn } from "../show/outside.ts";

export type Verb =
  "backstitch.rewind" | "backstitch.revert" | "backstitch.undo" | "backstitch.redo" | "backstitch.switch";
type Typed<V extends Verb> = Commands[V]["params"];

/** Parameters for the dry run of a command. */
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

/** Result of a restore, or the reason why there is none. */
export type Outcome = RestoreResult | "called off" | "nothing to do";

export class Restores {
  constructor(
    private readonly ctx: Ctx,
    private readonly merges: Merges,
    private readonly editor: PlanEditor,
    private readonly undone: UndoneInEditor,
  ) {}

  /**
   * Shows the plan, waits for the decision, runs it and reports the result. Shows the plan again if files changed
   * meanwhile. `plain`: a plan without conflicts and gaps runs at once, without a question.
   */
  async run<V extends Verb>(verb: V, typed: Typed<V>, plain = false): Promise<Outcome> {
    // a plan that differs from the request is shown
    let isAsked = plain;
    let first = await this.plan(verb, typed);
    let asked = withHunks(typed, first);
    for (;;) {
      if (first.empty && first.conflicts.length === 0 && !first.conversation) {
        this.nothing(verb, asked, first);
        return "nothing to do";
      }
      const isPlain = isAsked && first.conflicts.length === 0 && first.gaps.length === 0;
      const decision: Decision | undefined = isPlain
        ? { onConflict: "fail" }
        : await this.editor.decide({
            verb: buttonOf(verb),
            plan: first,
            ways: this.ways(verb, asked, first),
            only: onlyIn(asked),
          });
      if (decision === undefined || "denied" in decision) return "called off";
      if ("instead" in decision) {
        asked = { ...asked, ...decision.instead };
        first = await this.plan(verb, asked);
        continue;
      }
      const { onConflict } = decision;
      isAsked = false;
      let decided = first;
      if (onConflict !== "fail") {
        decided = await this.plan(verb, { ...asked, onConflict });
        // plans of two ways to decide differ; the one that was shown tells if anything changed since
        const now = await this.plan(verb, asked);
        if (!isSame(first, now)) {
          first = this.anew(now);
          continue;
        }
      }
      const args = { ...asked, plan: decided.plan, onConflict };
      let result: RestoreResult;
      try {
        result = await busy(vscode.l10n.t("Restoring files"), (token) => this.ctx.execute(verb, args, token));
      } catch (error) {
        const now = isCancelled(error) ? undefined : await this.again(verb, { ...asked, onConflict });
        // refused for another reason than that files changed
        if (now === undefined || now.plan === decided.plan) throw error;
        first = this.anew(await this.plan(verb, asked));
        continue;
      }
      if ("conversation" in result) conversation.offer(result.conversation);
      if (!("operation" in result) || result.operation === null) {
        this.nothing(verb, asked, decided);
        return "nothing to do";
      }
      this.undone.expect(await this.root(asked), decided);
      await this.report(verb, asked, result, decided.title);
      return result;
    }
  }

  /** Alternatives to the plan. */
  private ways(verb: Verb, typed: PlanParams, plan: PlanResult): Way[] {
    const say = vscode.l10n.t;
    const way = (icon: string, label: string, detail: string, choose: Way["choose"]) => ({
      icon,
      label,
      detail,
      choose,
    });
    const now = (instead: Instead) => () => Promise.resolve(instead);
    const isRewind = verb === "backstitch.rewind";
    const all: (Way | false)[] = [
      isRewind &&
        !plan.exact &&
        way(
          "target",
          say("Restore everything"),
          say("also discards your own edits since"),
          now({ exact: true }),
        ),
      isRewind &&
        plan.exact &&
        way(
          "person",
          say("Leave your own edits in place"),
          say("undoes only the agents' work"),
          now({ exact: false }),
        ),
      isRewind &&
        plan.other_sessions &&
        typed.allSessions !== true &&
        way(
          "organization",
          say("Undo all agents' work since"),
          say("your own edits stay"),
          now({ allSessions: true, session: null }),
        ),
      isRewind &&
        typed.allSessions === true &&
        way(
          "hubot",
          say("Undo only this session's work"),
          say("keeps the work of other sessions"),
          now({ allSessions: false }),
        ),
      isRewind &&
        sessionsOf(plan) > 1 &&
        way("hubot", say("Only one session's work…"), say("keeps the work of other sessions"), async () => {
          const session = await pick.session(this.ctx, place(typed), say("Only the work of…"));
          return session === undefined ? undefined : { session, allSessions: false };
        }),
      typed.uncertain !== "take" &&
        plan.gaps.some((each) => each.kind === "uncertain") &&
        way(
          "question",
          say("Include uncertain changes"),
          say("also undoes changes whose author is uncertain"),
          now({ uncertain: "take" }),
        ),
      verb === "backstitch.switch" &&
        typed.carry !== true &&
        (plan.uncarried ?? []).length > 0 &&
        way(
          "person",
          say("Take your own edits along"),
          say("otherwise they stay on the branch that you leave"),
          now({ carry: true }),
        ),
    ];
    return all.filter((each) => each !== false);
  }

  /** Plans again after an error; undefined if that fails, too. */
  private again<V extends Verb>(verb: V, typed: Typed<V>): Promise<PlanResult | undefined> {
    return this.plan(verb, typed).catch(() => undefined);
  }

  private anew(plan: PlanResult): PlanResult {
    void inform(vscode.l10n.t("Files changed meanwhile. This is the new plan."));
    return plan;
  }

  /** Reports that there is nothing to do. The remaining differences may be the user's own edits. */
  private nothing<V extends Verb>(verb: V, typed: Typed<V>, plan: PlanResult): void {
    const why = plan.nothing ?? plan.gaps.map(gap).join("; ");
    const nothing = vscode.l10n.t("{0}: nothing to do", sentence(plan.title));
    const text = why === "" ? nothing : `${nothing}. ${why}`;
    const exactly = vscode.l10n.t("Discard Own Edits, Too…");
    const ways = verb === "backstitch.rewind" && !plan.exact ? [exactly] : [];
    void inform(text, ...ways).then((chosen) =>
      chosen === undefined ? undefined : withErrors(() => this.run(verb, { ...typed, exact: true })),
    );
  }

  private plan(verb: Verb, typed: Typed<Verb>): Promise<PlanResult> {
    const asked = { ...plan(verb, typed), texts: true };
    return busy(vscode.l10n.t("Working out what would change"), (token) =>
      this.ctx.request("backstitch/plan", asked, token),
    );
  }

  private async report(verb: Verb, typed: Typed<Verb>, result: RestoreResult, title: string): Promise<void> {
    const say = vscode.l10n.t;
    if (!("operation" in result) || result.operation === null) return;
    const done = result.actions.filter((action) => action.action !== "skip").length;
    const files = done === 1 ? say("1 file") : say("{0} files", done);
    const notTaken = result.not_taken ?? [];
    const left = result.incomplete ?? [];
    const awaited = result.awaited ?? [];
    const unsaved = (result.edits ?? []).filter((edit) => edit.pending).length;
    const only = onlyIn(typed);
    const marked = result.conflicts.filter((conflict) => conflict.resolution === "markers");
    const open = conflicts(marked);
    const text = [
      only === undefined ? `${did(verb)}: ${files}` : say("Change undone in {0}", only),
      open === 0 ? "" : open === 1 ? say("1 conflict to resolve") : say("{0} conflicts to resolve", open),
      unsaved === 0 ? "" : say("{0} of them unsaved in editors", unsaved),
      result.gaps.length === 0 ? "" : say("not restored: {0}", result.gaps.map(gap).join("; ")),
      notTaken.length === 0 ? "" : say("not accepted by the editor: {0}", notTaken.map(shown).join(", ")),
      left.length === 0
        ? ""
        : say("skipped, since another program uses them: {0}", left.map(shown).join(", ")),
      awaited.length === 0 ? "" : say("not yet shown in the editor: {0}", awaited.map(shown).join(", ")),
    ]
      .filter(Boolean)
      .join("; ");
    const at = place(typed);
    const back: [string, () => Promise<Outcome>] =
      verb === "backstitch.undo"
        ? [say("Redo"), () => this.run("backstitch.redo", at, true)]
        : [say("Undo"), () => this.run("backstitch.undo", { ...at, op: result.operation }, true)];
    const [label, run] = back;
    // not awaited: the command has finished, and the message may stay open
    const show = notTaken.length + left.length > 0 ? warn : inform;
    void show(text, label).then((chosen) => (chosen === undefined ? undefined : withErrors(run)));
    if (marked.length > 0) {
      const root = await this.root(typed);
      const files = marked.map(({ path, hunks }) => ({
        file: documents.onDisk(root, path),
        title: sentence(title),
        hunks,
      }));
      await this.merges.lead(files);
    }
    await this.merges.check();
  }

  private async root(typed: Typed<Verb>): Promise<string> {
    const { workspace } = await this.ctx.request("backstitch/timeline", { ...place(typed), limit: 1 });
    return shown(workspace);
  }
}

/** True if two plans that were asked for in the same way say the same. The fingerprint is silent about open conflicts. */
function isSame(one: PlanResult, other: PlanResult): boolean {
  const facts = ({ plan, conflicts, gaps }: PlanResult) => JSON.stringify([plan, conflicts, gaps]);
  return facts(one) === facts(other);
}

/** Number of sessions whose work a plan concerns. */
function sessionsOf({ takes, stays }: PlanResult): number {
  return new Set([...takes, ...stays].map(({ session }) => session)).size;
}

/** Names the hunks at the requested lines, which move with later edits. */
function withHunks<V extends Verb>(typed: Typed<V>, { hunks }: PlanResult): Typed<V> {
  if (hunks === undefined || typeof typed.uri !== "string") return typed;
  return { ...typed, lines: null, paths: [typed.uri], hunks };
}

/** Name of the file to whose changes a restore is restricted. */
function onlyIn({ hunks, paths }: Typed<Verb>): string | undefined {
  const [file] = paths ?? [];
  if (!Array.isArray(hunks) || hunks.length === 0 || file === undefined) return undefined;
  return vscode.workspace.asRelativePath(vscode.Uri.parse(file));
}

function buttonOf(verb: Verb): "rewind" | "revert" | "undo" | "redo" | "switch" {
  switch (verb) {
    case "backstitch.rewind":
      return "rewind";
    case "backstitch.revert":
      return "revert";
    case "backstitch.undo":
      return "undo";
    case "backstitch.redo":
      return "redo";
    case "backstitch.switch":
      return "switch";
  }
}

/** Parameters that name the workspace of a command. */
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
      return say("Reverted");
    case "backstitch.undo":
      return say("Undone");
    case "backstitch.redo":
      return say("Redone");
    case "backstitch.switch":
      return say("Switched");
  }
}
