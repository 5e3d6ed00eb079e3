// Table of all commands, by their ids in `package.json` and the server.

import * as vscode from "vscode";

import type { Marks } from "../code/marks.ts";
import * as compare from "../compare/compare.ts";
import type { KeptMarks } from "../compare/kept.ts";
import type { QuickDiff } from "../compare/quickdiff.ts";
import type { Pointed, Review } from "../compare/review.ts";
import type { ReviewRun } from "../compare/reviewRun.ts";
import type { Decisions } from "../control/decide.ts";
import type { Held } from "../control/held.ts";
import type { Ctx } from "../ctx.ts";
import { Files, Nothing } from "../documents/open.ts";
import type { Graph } from "../graph/panel.ts";
import type { Recording } from "../recording.ts";
import type { Beside, ReplPanel } from "../repl/panel.ts";
import type { Merges } from "../restore/merge.ts";
import type { Restores, Verb } from "../restore/restores.ts";
import type { Checkpoint, CommandName, Commands, Where } from "../server/protocol.ts";
import { failure, withErrors } from "../show/errors.ts";
import * as pick from "../show/pick.ts";
import type { PlanEditor } from "../show/plan.ts";
import { about, point } from "../show/words.ts";
import {
  asArguments,
  filterOf,
  itself,
  keptOf,
  nameOf,
  only,
  operationOf,
  pointOf,
  savesOf,
  seenAt,
  titled,
  toTakeOut,
} from "../timeline/arguments.ts";
import type { TimelineView } from "../timeline/view.ts";
import { controlCommands } from "./control.ts";
import * as conversation from "../restore/conversation.ts";
import * as history from "./history.ts";
import * as kept from "./kept.ts";
import * as setup from "./setup.ts";

export type Features = {
  held: Held;
  decisions: Decisions;
  repl: ReplPanel;
  beside: Beside;
  review: Review;
  reviewRun: ReviewRun;
  marks: Marks;
  kept: KeptMarks;
  quickDiff: QuickDiff;
  timeline: TimelineView;
  graph: Graph;
  recording: Recording;
  plans: PlanEditor;
  merges: Merges;
  restores: Restores;
};
type Run = (...given: unknown[]) => unknown;

export function registerCommands(ctx: Ctx, features: Features): void {
  ctx.register(new Nothing());
  ctx.register(new Files(ctx, features.review));
  const { plans, merges, restores } = features;
  const all: Record<string, Run> = {
    ...table(ctx, features, restores),
    ...ofPlans(plans),
    "backstitch.conflicts.next": () => merges.next(),
  };
  for (const [name, run] of Object.entries(all)) {
    ctx.register(
      vscode.commands.registerCommand(name, (...given: unknown[]) =>
        withErrors(() => Promise.resolve(run(...given)), asArguments<Where>(given[0]).workspace),
      ),
    );
  }
}

/**
 * Maps ids to functions; every command of the server has one. Their argument comes from a lens or a row of the timeline,
 * or is undefined.
 */
function table(
  ctx: Ctx,
  features: Features,
  restores: Restores,
): Record<CommandName, Run> & Record<string, Run> {
  const say = vscode.l10n.t;
  const restore =
    <V extends Verb>(
      verb: V,
      ask: (typed: Commands[V]["params"]) => Promise<Commands[V]["params"] | undefined>,
    ): Run =>
    async (argument) => {
      const given =
        verb === "backstitch.revert" ? toTakeOut(argument) : asArguments<Commands[V]["params"]>(argument);
      const typed = await ask(await ctx.about(given));
      return typed === undefined ? undefined : restores.run(verb, typed);
    };
  const rev = async <P extends Where & { rev?: string | null }>(
    typed: P,
    title: string,
  ): Promise<P | undefined> => {
    if (typeof typed.rev === "string") return typed;
    const chosen = await pick.checkpoint(ctx, place(typed), title);
    return chosen === undefined ? undefined : { ...typed, rev: chosen.rev };
  };
  /** The turn of a row, or one that is asked for. */
  const turnOf = async (argument: unknown, title: string): Promise<(Where & { rev: string }) | undefined> => {
    const typed = await ctx.about(pointOf<Where & { rev?: string | null }>(argument));
    if (typeof typed.rev === "string") return { ...typed, rev: typed.rev };
    const chosen = await pick.checkpoint(ctx, place(typed), title, (row) => row.kind === "turn");
    return chosen === undefined ? undefined : { ...typed, rev: chosen.rev };
  };
  /** Asks for a checkpoint itself, where `rev` would name the state before it. */
  const checkpointOf = async <P extends Where>(
    typed: P,
    title: string,
    which?: (row: Checkpoint) => boolean,
  ): Promise<(P & { rev: string; title: string }) | undefined> => {
    const chosen = await pick.checkpoint(ctx, place(typed), title, which);
    if (chosen === undefined) return undefined;
    return { ...typed, rev: chosen.checkpoint.id, title: about(chosen.checkpoint, say) };
  };
  return {
    ...controlCommands(ctx, features),
    "backstitch.rewind": restore("backstitch.rewind", (typed) => rev(typed, say("Rewind to…"))),
    "backstitch.undoTurn": async (argument) => {
      const typed = only<Commands["backstitch.rewind"]["params"]>(argument, ["uri", "workspace"]);
      return restores.run("backstitch.rewind", { ...(await ctx.about(typed)), rev: "@turn" });
    },
    "backstitch.rewindFile": async (argument) => {
      const given = asArguments<Where>(argument);
      // read before the await: the active editor may change meanwhile
      const uri = given.uri ?? vscode.window.activeTextEditor?.document.uri.toString();
      if (uri === undefined) return undefined;
      const { workspace } = await ctx.about({ ...given, uri });
      const at = { workspace: workspace ?? null, uri };
      const chosen = await pick.checkpoint(ctx, at, say("Rewind this file to…"));
      if (chosen === undefined) return undefined;
      return restores.run("backstitch.rewind", { ...at, paths: [uri], rev: chosen.rev });
    },
    "backstitch.revert": restore("backstitch.revert", async (typed) => {
      if (typeof typed.turn === "string" || typeof typed.step === "string") return typed;
      const turns = (row: { kind: string }) => row.kind === "turn" || row.kind === "step";
      const chosen = await pick.checkpoint(ctx, place(typed), say("Revert…"), turns);
      if (chosen === undefined) return undefined;
      const { kind, turn, id } = chosen.checkpoint;
      return kind === "turn" ? { ...typed, turn: turn ?? id } : { ...typed, step: id };
    }),
    "backstitch.undo": async (argument) => {
      const typed = only<Commands["backstitch.undo"]["params"]>(argument, ["uri", "workspace", "op"]);
      return restores.run("backstitch.undo", await ctx.about(typed));
    },
    "backstitch.redo": async (argument) => {
      const typed = only<Commands["backstitch.redo"]["params"]>(argument, ["uri", "workspace"]);
      return restores.run("backstitch.redo", await ctx.about(typed));
    },
    "backstitch.switch": restore("backstitch.switch", async (typed) => {
      if (typeof typed.branch === "string") return typed;
      const chosen = await pick.branch(ctx, place(typed), say("Switch to…"));
      return chosen === undefined ? undefined : { ...typed, branch: chosen.name };
    }),
    "backstitch.fork": async (argument) => {
      const typed = await rev<Commands["backstitch.fork"]["params"]>(
        await ctx.about(pointOf(argument)),
        say("Fork from…"),
      );
      return typed === undefined ? undefined : history.fork(ctx, typed);
    },
    "backstitch.conversation": async (argument) =>
      conversation.last(
        ctx,
        await ctx.about(
          only<Commands["backstitch.conversation"]["params"]>(argument, ["uri", "workspace", "rev"]),
        ),
      ),
    "backstitch.summarize": async (argument) => {
      const typed = await turnOf(argument, say("Summarise at…"));
      return typed === undefined ? undefined : conversation.summarize(ctx, place(typed), typed.rev);
    },
    "backstitch.rewindBoth": async (argument) => {
      const typed = await turnOf(argument, say("Rewind to…"));
      return typed === undefined
        ? undefined
        : restores.run("backstitch.rewind", { ...place(typed), rev: typed.rev, scope: "both" });
    },
    "backstitch.rewindConversation": async (argument) => {
      const typed = await turnOf(argument, say("Rewind to…"));
      return typed === undefined ? undefined : conversation.rewind(ctx, { ...place(typed), rev: typed.rev });
    },
    "backstitch.forkBoth": async (argument) => {
      const typed = await turnOf(argument, say("Fork from…"));
      return typed === undefined
        ? undefined
        : history.forkInto(ctx, { ...place(typed), rev: typed.rev, scope: "both" });
    },
    "backstitch.tag": async (argument) => {
      const typed = await ctx.about(titled<Commands["backstitch.tag"]["params"]>(argument));
      const chosen =
        typeof typed.rev === "string" ? typed : await checkpointOf(typed, say("Select a checkpoint to tag"));
      return chosen === undefined ? undefined : history.tag(ctx, chosen);
    },
    "backstitch.pin": async (argument) => {
      const typed = await ctx.about(titled<Commands["backstitch.pin"]["params"]>(argument));
      const chosen =
        typeof typed.rev === "string" ? typed : await checkpointOf(typed, say("Select a checkpoint to pin"));
      return chosen === undefined ? undefined : history.pin(ctx, chosen);
    },
    "backstitch.unpin": async (argument) => {
      const typed = await ctx.about(titled<Commands["backstitch.pin"]["params"]>(argument));
      const chosen =
        typeof typed.rev === "string"
          ? typed
          : await checkpointOf(typed, say("Select a checkpoint to unpin"), (row) => row.pinned);
      return chosen === undefined ? undefined : history.pin(ctx, { ...chosen, pinned: false });
    },
    "backstitch.checkpoint": async (argument) =>
      history.checkpoint(
        ctx,
        await ctx.about(
          only<Commands["backstitch.checkpoint"]["params"]>(argument, ["workspace", "label", "description"]),
        ),
      ),
    "backstitch.diff": async (argument) => {
      const typed = await ctx.about(pointOf<Commands["backstitch.diff"]["params"]>(argument));
      if (typeof typed.turn === "string") return compare.turn(ctx, typed, typed.turn);
      const chosen = await rev(typed, say("Compare with…"));
      return chosen === undefined ? undefined : compare.since(ctx, features.review, chosen);
    },
    "backstitch.review": async (argument) => {
      const root = await compare.rootOf(ctx, place(await ctx.about(asArguments<Where>(argument))));
      const chosen = await pick.unreviewed(ctx, root, say("Review what agents did"));
      if (chosen === undefined) return undefined;
      return features.reviewRun.begin(chosen.all, chosen.first);
    },
    "backstitch.reviewTurn": async (argument) =>
      features.reviewRun.begin(await compare.filesOfTurn(ctx, await ctx.about(pointOf(argument)))),
    "backstitch.merge": async (argument) => {
      const given = asArguments<Commands["backstitch.merge"]["params"]>(argument);
      const uri = given.uri ?? vscode.window.activeTextEditor?.document.uri.toString();
      const asked = uri === undefined ? given : { ...given, uri };
      try {
        return await ctx.execute("backstitch.merge", asked);
      } catch (error) {
        const { kind, conflicts } = failure(error) ?? {};
        if (kind !== "conflict" || uri === undefined || conflicts === undefined) throw error;
        const hunks = conflicts.flatMap((conflict) => conflict.hunks);
        // in the text that is not saved, which the editor's own undo restores
        const done = await ctx.execute("backstitch.merge", { ...asked, onConflict: "markers" });
        await features.merges.lead([{ file: vscode.Uri.parse(uri), title: "", hunks, isOnDisk: true }]);
        return done;
      }
    },
    "backstitch.diffTwo": async () => {
      const where = place(await ctx.about({}));
      const older = await pick.checkpoint(ctx, where, say("Compare from…"));
      const newer =
        older && (await pick.checkpoint(ctx, where, say("Compare {0} with…", point(older.rev, say))));
      return newer && compare.since(ctx, features.review, { ...where, rev: older.rev, rev2: newer.rev });
    },
    "backstitch.openAt": async (argument) => compare.openAt(ctx, await ctx.about(seenAt(argument))),
    "backstitch.openChange": async (argument) => {
      const saves = savesOf(argument);
      return saves === undefined
        ? compare.openChange(ctx, await ctx.about(itself(argument)))
        : compare.since(ctx, features.review, saves);
    },
    "backstitch.showKept": (argument) => kept.show(keptOf(argument)),
    "backstitch.compareKept": (argument) => kept.compare(keptOf(argument)),
    "backstitch.timeline": async (argument) => features.timeline.reveal(asArguments<Where>(argument).uri),
    "backstitch.timeline.refresh": () => {
      features.timeline.refresh();
    },
    "backstitch.timeline.more": (branch) => {
      if (typeof branch === "string") features.timeline.more(branch);
    },
    // from the title of the view: ignore the focused row
    "backstitch.timeline.switch": () => vscode.commands.executeCommand("backstitch.switch"),
    "backstitch.timeline.mark": () => vscode.commands.executeCommand("backstitch.quickDiff.choose"),
    "backstitch.timeline.filter": () => features.timeline.ask(),
    "backstitch.timeline.clearFilter": () => features.timeline.filterBy({}),
    // the same command for rows, under their own titles
    "backstitch.timeline.onlySession": (argument) => onlyLike(features.timeline, argument),
    "backstitch.timeline.onlyFile": (argument) => onlyLike(features.timeline, argument),
    "backstitch.revertTurn": (argument) => vscode.commands.executeCommand("backstitch.revert", argument),
    "backstitch.revertStep": (argument) => vscode.commands.executeCommand("backstitch.revert", argument),
    "backstitch.graph": () => {
      features.graph.show();
    },
    "backstitch.quickDiff.choose": async (argument) => {
      const typed = await rev<Where & { rev?: string | null }>(
        await ctx.about(pointOf(argument)),
        say("Show changes since…"),
      );
      if (typeof typed?.rev === "string") await features.quickDiff.compareWith(typed, typed.rev);
    },
    // changes from the gutter's peek, from rows of the list, or at the cursor of a comparison
    "backstitch.change.takeBack": async (...given) => {
      const { quickDiff, review, reviewRun } = features;
      const undo = (changes: readonly Pointed[]) => review.takeBack(restores, changes);
      const pointed = quickDiff.pointed(given);
      await (pointed.length > 0 ? undo(pointed) : reviewRun.decide(undo));
    },
    "backstitch.change.keep": async (...given) => {
      const { quickDiff, review, reviewRun } = features;
      const keep = (changes: readonly Pointed[]) => review.keep(changes);
      const pointed = quickDiff.pointed(given);
      await (pointed.length > 0 ? keep(pointed) : reviewRun.decide(keep));
    },
    "backstitch.change.keepFile": () =>
      features.reviewRun.decide((changes) => features.review.keep(changes), "file"),
    "backstitch.change.next": () => features.reviewRun.go(1),
    "backstitch.change.previous": () => features.reviewRun.go(-1),
    "backstitch.change.nextFile": () => features.reviewRun.nextFile(),
    "backstitch.removed.show": (argument) => features.marks.show(argument),
    "backstitch.removed.putBack": (argument) => features.marks.putBack(restores, argument),
    "backstitch.removed.keep": (argument) => features.marks.keep(argument),
    "backstitch.change.takeBackAll": () => features.review.takeBack(restores, features.quickDiff.all(), true),
    "backstitch.change.keepAll": () => features.review.keep(features.quickDiff.all()),
    "backstitch.change.forget": async () => {
      const compared = features.review.compared();
      if (compared.length === 0) return features.quickDiff.forget();
      return features.review.forgetOf(compared);
    },
    "backstitch.change.unkeep": (argument) => features.kept.unkeep(argument),
    "backstitch.openFile": (given) => {
      const uri =
        (given as vscode.SourceControlResourceState | undefined)?.resourceUri ??
        vscode.Uri.parse(asArguments<Where>(given).uri ?? "");
      return vscode.commands.executeCommand("vscode.open", uri);
    },
    "backstitch.quickDiff.off": () => {
      features.quickDiff.off();
    },
    // the same command for a row, under another title
    "backstitch.undoThis": (argument) =>
      vscode.commands.executeCommand("backstitch.undo", operationOf(argument)),
    "backstitch.undoRewind": (argument) =>
      vscode.commands.executeCommand("backstitch.undo", operationOf(argument)),
    "backstitch.forkInto": async (argument) => {
      const typed = await rev<Commands["backstitch.fork"]["params"]>(
        await ctx.about(pointOf(argument)),
        say("Fork from…"),
      );
      return typed === undefined ? undefined : history.forkInto(ctx, typed);
    },
    "backstitch.copyId": (argument) => vscode.env.clipboard.writeText(nameOf(argument)),
    "backstitch.server.restart": () => ctx.restart(),
    "backstitch.server.log": () => {
      ctx.log.show();
    },
    "backstitch.server.choose": () => setup.choose(ctx),
    "backstitch.setup": async () => {
      await setup.agents(ctx);
      await features.recording.check();
    },
    "backstitch.repair": () => features.recording.repair(),
    "backstitch.menu": () => history.menu(ctx),
    "backstitch.walkthrough": () => ctx.steps.open(`${ctx.extension.extension.id}#start`),
  };
}

/** Commands of an open plan. One with each title runs it. */
function ofPlans(plans: PlanEditor): Record<string, Run> {
  const verbs = ["rewind", "revert", "undo", "redo", "switch"] as const;
  return {
    ...Object.fromEntries(verbs.map((verb) => [`backstitch.plan.${verb}`, () => plans.accept()])),
    "backstitch.plan.run": () => plans.accept(),
    "backstitch.plan.deny": () => {
      plans.deny();
    },
    "backstitch.plan.options": () => plans.options(),
    "backstitch.plan.cancel": () => {
      plans.cancel();
    },
    // keys belong to commands that stand in no title, which would show them beside the words
    "backstitch.plan.discard": () => {
      plans.cancel();
    },
  };
}

function onlyLike(timeline: TimelineView, argument: unknown): Promise<void> {
  const { filter, session } = filterOf(argument);
  return timeline.filterBy(filter, session);
}

/** Parameters that name the workspace; a document would limit the request to that file. */
function place(typed: Where): Where {
  return typeof typed.workspace === "string" ? { workspace: typed.workspace } : { uri: typed.uri ?? null };
}
