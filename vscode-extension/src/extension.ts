// Entry points of the extension. Everything else is behind `Ctx`.

import * as vscode from "vscode";

import { type Api, api } from "./api.ts";
import { Marks } from "./code/marks.ts";
import { NotebookMarks } from "./code/notebooks.ts";
import { registerCommands } from "./commands/index.ts";
import { KeptMarks } from "./compare/kept.ts";
import { QuickDiff } from "./compare/quickdiff.ts";
import { Review } from "./compare/review.ts";
import { reportChangesOnDisk } from "./changedOnDisk.ts";
import { Ctx } from "./ctx.ts";
import { Graph } from "./graph/panel.ts";
import { Recording } from "./recording.ts";
import { StatusBar } from "./status.ts";
import { Announcer } from "./control/announce.ts";
import { Decisions } from "./control/decide.ts";
import { HeldFiles } from "./control/files.ts";
import { Held } from "./control/held.ts";
import { Mirror } from "./control/mirror.ts";
import { StopMarks } from "./control/stops.ts";
import { AgentsView, BreakpointsView } from "./control/views.ts";
import { Badges } from "./timeline/badges.ts";
import { CallsView } from "./repl/calls.ts";
import { Objects } from "./repl/objects.ts";
import { ReplPanel } from "./repl/panel.ts";
import { StackView } from "./repl/stack.ts";
import { TimelineView } from "./timeline/view.ts";

let ctx: Ctx | undefined;

export function activate(context: vscode.ExtensionContext): Api {
  ctx = new Ctx(context);
  context.subscriptions.push(ctx);
  const recording = ctx.register(new Recording(ctx));
  const review = ctx.register(new Review(ctx));
  const held = ctx.register(new Held(ctx));
  const heldFiles = ctx.register(new HeldFiles(ctx));
  const beside = {
    stack: ctx.register(new StackView(ctx, held)),
    calls: ctx.register(new CallsView(ctx)),
    objects: ctx.register(new Objects(ctx)),
  };
  registerCommands(ctx, {
    review,
    held,
    decisions: ctx.register(new Decisions(ctx, held, heldFiles)),
    repl: ctx.register(new ReplPanel(ctx, held, beside)),
    beside,
    kept: ctx.register(new KeptMarks(ctx, review)),
    marks: ctx.register(new Marks(ctx, review)),
    quickDiff: ctx.register(new QuickDiff(ctx, review)),
    timeline: ctx.register(new TimelineView(ctx, recording)),
    graph: ctx.register(new Graph(ctx)),
    recording,
  });
  ctx.register(new StatusBar(ctx, recording));
  ctx.register(new AgentsView(held));
  ctx.register(new BreakpointsView(ctx, held));
  ctx.register(new Announcer(held));
  ctx.register(new StopMarks(ctx, held));
  ctx.register(new Mirror(ctx));
  ctx.register(new Badges());
  ctx.register(new NotebookMarks(ctx));
  ctx.register(reportChangesOnDisk(ctx));
  const started = ctx;
  // activation does not wait for the server, nor for its client to load
  setImmediate(() => void started.start());
  return api(ctx);
}

export async function deactivate(): Promise<void> {
  await ctx?.end();
}
