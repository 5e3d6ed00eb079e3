// Every command, by the name that `package.json` and the server know it by.

import * as vscode from "vscode";

import { Merges } from "../compare/merge.ts";
import type { QuickDiff } from "../compare/quickdiff.ts";
import * as compare from "../compare/compare.ts";
import type { Ctx } from "../ctx.ts";
import { Files, Nothing } from "../documents/open.ts";
import { Planned } from "../documents/planned.ts";
import type { Graph } from "../graph/panel.ts";
import type { Commands, Where } from "../server/protocol.ts";
import { told } from "../show/errors.ts";
import * as pick from "../show/pick.ts";
import type { TimelineView } from "../timeline/view.ts";
import { asArguments, toTakeOut } from "./arguments.ts";
import * as history from "./history.ts";
import { Restores, type Verb } from "./restore.ts";
import * as setup from "./setup.ts";

export type Parts = { quickDiff: QuickDiff; timeline: TimelineView; graph: Graph };
type Run = (...given: unknown[]) => unknown;

export function registerCommands(ctx: Ctx, parts: Parts): void {
  ctx.owned(new Nothing());
  ctx.owned(new Files(ctx));
  const restores = new Restores(ctx, ctx.owned(new Merges()), ctx.owned(new Planned()));
  for (const [name, run] of Object.entries(table(ctx, parts, restores))) {
    ctx.owned(
      vscode.commands.registerCommand(name, (...given: unknown[]) =>
        told(() => Promise.resolve(run(...given))),
      ),
    );
  }
}

/** A command of the server with what it was called with: a lens's arguments, a row of the timeline, or nothing. */
function table(ctx: Ctx, parts: Parts, restores: Restores): Record<string, Run> {
  const say = vscode.l10n.t;
  const restore =
    <V extends Verb>(
      verb: V,
      ask: (typed: Commands[V]["params"]) => Promise<Commands[V]["params"] | undefined>,
    ): Run =>
    async (argument) => {
      const given = verb === "backstitch.revert" ? toTakeOut(argument) : asArguments(argument);
      const typed = await ask({ ...ctx.where(), ...given });
      return typed === undefined ? undefined : restores.run(verb, typed);
    };
  const rev = async <P extends Where & { rev?: string | null }>(
    typed: P,
    title: string,
  ): Promise<P | undefined> => {
    if (typeof typed.rev === "string") return typed;
    const chosen = await pick.checkpoint(ctx, typed, title);
    return chosen === undefined ? undefined : { ...typed, rev: chosen.rev };
  };
  return {
    "backstitch.rewind": restore("backstitch.rewind", (typed) => rev(typed, say("Rewind to before…"))),
    "backstitch.rewindFile": restore("backstitch.rewind", async (typed) => {
      const uri = typed.uri ?? vscode.window.activeTextEditor?.document.uri.toString();
      if (uri === undefined) return undefined;
      const chosen = await rev({ ...typed, uri }, say("Rewind this file to before…"));
      return chosen === undefined ? undefined : { ...chosen, paths: chosen.paths ?? [uri] };
    }),
    "backstitch.revert": restore("backstitch.revert", async (typed) => {
      if (typeof typed.turn === "string" || typeof typed.step === "string") return typed;
      const turns = (row: { kind: string }) => row.kind === "turn" || row.kind === "step";
      const chosen = await pick.checkpoint(ctx, typed, say("Take out only…"), turns);
      if (chosen === undefined) return undefined;
      const { kind, turn, id } = chosen.checkpoint;
      return kind === "turn" ? { ...typed, turn: turn ?? id } : { ...typed, step: id };
    }),
    "backstitch.undo": restore("backstitch.undo", (typed) => Promise.resolve(typed)),
    "backstitch.redo": restore("backstitch.redo", (typed) => Promise.resolve(typed)),
    "backstitch.switch": restore("backstitch.switch", async (typed) => {
      if (typeof typed.branch === "string") return typed;
      const chosen = await pick.branch(ctx, typed, say("Switch to…"));
      return chosen === undefined ? undefined : { ...typed, branch: chosen.name };
    }),
    "backstitch.fork": async (argument) => {
      const typed = await rev<Commands["backstitch.fork"]["params"]>(
        { ...ctx.where(), ...asArguments(argument) },
        say("Fork from before…"),
      );
      return typed === undefined ? undefined : history.fork(ctx, typed);
    },
    "backstitch.tag": async (argument) => history.tag(ctx, { ...ctx.where(), ...asArguments(argument) }),
    "backstitch.checkpoint": async (argument) =>
      history.checkpoint(ctx, { ...ctx.where(), ...asArguments(argument) }),
    "backstitch.diff": async (argument) => {
      const typed: Commands["backstitch.diff"]["params"] = { ...ctx.where(), ...asArguments(argument) };
      if (typeof typed.turn === "string") return compare.turn(ctx, typed, typed.turn);
      const chosen = await rev(typed, say("Compare with…"));
      return chosen === undefined ? undefined : compare.since(ctx, chosen);
    },
    "backstitch.diffTwo": async () => {
      const where = ctx.where();
      const older = await pick.checkpoint(ctx, where, say("Compare from…"));
      const newer = older && (await pick.checkpoint(ctx, where, say("Compare {0} with…", older.rev)));
      return newer && compare.since(ctx, { ...where, rev: older.rev, rev2: newer.rev });
    },
    "backstitch.openAt": async (argument) => compare.openAt(ctx, asArguments(argument)),
    "backstitch.openChange": async (argument) => compare.openChange(ctx, asArguments(argument)),
    "backstitch.timeline": async (argument) => parts.timeline.reveal(asArguments<Where>(argument).uri),
    "backstitch.timeline.refresh": () => {
      parts.timeline.refresh();
    },
    "backstitch.timeline.more": () => {
      parts.timeline.more();
    },
    "backstitch.timeline.filter": () => parts.timeline.ask(),
    "backstitch.timeline.clearFilter": () => parts.timeline.filterBy({}),
    "backstitch.graph": () => {
      parts.graph.show();
    },
    "backstitch.quickDiff.choose": async (argument) => {
      const typed = await rev<Where & { rev?: string | null }>(
        { ...ctx.where(), ...asArguments(argument) },
        say("Mark changes since before…"),
      );
      if (typeof typed?.rev === "string") await parts.quickDiff.compareWith(typed, typed.rev);
    },
    "backstitch.quickDiff.takeBack": (uri, changes, at) => {
      const typed = parts.quickDiff.change(uri, changes, at);
      return typed === undefined ? undefined : restores.run("backstitch.rewind", typed);
    },
    "backstitch.quickDiff.off": () => {
      parts.quickDiff.off();
    },
    "backstitch.copyId": (argument) =>
      vscode.env.clipboard.writeText(asArguments<{ rev?: string }>(argument).rev ?? ""),
    "backstitch.server.restart": () => ctx.restart(),
    "backstitch.server.log": () => {
      ctx.log.show();
    },
    "backstitch.server.choose": () => setup.choose(ctx),
    "backstitch.setup": () => setup.agents(ctx),
    "backstitch.menu": () => history.menu(ctx),
  };
}
