// Entry points of the extension. Everything else is behind `Ctx`.

import * as vscode from "vscode";

import { type Api, api } from "./api.ts";
import { reportChangesOnDisk } from "./changedOnDisk.ts";
import { Gutter } from "./code/gutter.ts";
import { withLinks } from "./code/hover.ts";
import { Marks } from "./code/marks.ts";
import { NotebookMarks } from "./code/notebooks.ts";
import { registerCommands } from "./commands/index.ts";
import { KeptMarks } from "./compare/kept.ts";
import { QuickDiff } from "./compare/quickdiff.ts";
import { Review } from "./compare/review.ts";
import { ReviewRun } from "./compare/reviewRun.ts";
import { Announcer } from "./control/announce.ts";
import { Decisions } from "./control/decide.ts";
import { HeldFiles } from "./control/files.ts";
import { Held } from "./control/held.ts";
import { HeldMarks } from "./control/marks.ts";
import { Mirror } from "./control/mirror.ts";
import { Proposals } from "./control/proposal.ts";
import { StopMarks } from "./control/stops.ts";
import { AgentsView, BreakpointsView } from "./control/views.ts";
import { Ctx } from "./ctx.ts";
import { registerDebugging } from "./debug/index.ts";
import { Graph } from "./graph/panel.ts";
import { Recording } from "./recording.ts";
import { CallsView } from "./repl/calls.ts";
import { Objects } from "./repl/objects.ts";
import { ReplPanel } from "./repl/panel.ts";
import { StackView } from "./repl/stack.ts";
import { Merges } from "./restore/merge.ts";
import { Restores } from "./restore/restores.ts";
import { UndoneInEditor } from "./restore/undone.ts";
import { PlanEditor } from "./show/plan.ts";
import { Planned } from "./show/planned.ts";
import { StatusBar } from "./status.ts";
import { Badges } from "./timeline/badges.ts";
import { TimelineView } from "./timeline/view.ts";

let ctx: Ctx | undefined;

export function activate(context: vscode.ExtensionContext): Api {
  ctx = new Ctx(context, withLinks);
  context.subscriptions.push(ctx);
  const recording = ctx.register(new Recording(ctx));
  const review = ctx.register(new Review(ctx));
  const held = ctx.register(new Held(ctx));
  const heldFiles = ctx.register(new HeldFiles(ctx));
  const gutter = ctx.register(new Gutter(ctx));
  const planned = ctx.register(new Planned());
  const plans = ctx.register(new PlanEditor(planned, ctx.extension.workspaceState));
  const merges = ctx.register(new Merges());
  const restores = new Restores(ctx, merges, plans, ctx.register(new UndoneInEditor()));
  const proposals = new Proposals(ctx, plans, restores);
  const decisions = ctx.register(new Decisions(ctx, held, heldFiles, proposals));
  const beside = {
    stack: ctx.register(new StackView(ctx, held)),
    calls: ctx.register(new CallsView(ctx)),
    objects: ctx.register(new Objects(ctx)),
  };
  const repl = ctx.register(new ReplPanel(ctx, held, beside));
  const agents = ctx.register(new AgentsView(held));
  decisions.selected = { list: () => agents.selected, repl: () => repl.pause };
  registerCommands(ctx, {
    review,
    reviewRun: new ReviewRun(ctx, review),
    held,
    decisions,
    repl,
    beside,
    plans,
    merges,
    restores,
    kept: ctx.register(new KeptMarks(ctx, review)),
    marks: ctx.register(new Marks(ctx, review, gutter)),
    quickDiff: ctx.register(new QuickDiff(ctx, review)),
    timeline: ctx.register(new TimelineView(ctx, recording)),
    graph: ctx.register(new Graph(ctx)),
    recording,
  });
  ctx.register(new StatusBar(ctx, recording));
  ctx.register(new BreakpointsView(ctx, held));
  ctx.register(new Announcer(ctx, held, decisions));
  ctx.register(new StopMarks(held, gutter));
  ctx.register(new HeldMarks(ctx, held, heldFiles, gutter));
  ctx.register(new Mirror(ctx));
  ctx.register(new Badges());
  ctx.register(new NotebookMarks(ctx));
  ctx.register(reportChangesOnDisk(ctx));
  registerDebugging(ctx);
  const started = ctx;
  // activation does not wait for the server, nor for its client to load
  setImmediate(() => void started.start());
  return api(ctx);
}

export async function deactivate(): Promise<void> {
  await ctx?.end();
}
