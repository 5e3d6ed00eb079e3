// Entry points of the extension. Everything else is behind `Ctx`.

import * as vscode from "vscode";

import { type Api, api } from "./api.ts";
import { registerCommands } from "./commands/index.ts";
import { QuickDiff } from "./compare/quickdiff.ts";
import { Review } from "./compare/review.ts";
import { Ctx } from "./ctx.ts";
import { Graph } from "./graph/panel.ts";
import { StatusBar } from "./status.ts";
import { Badges } from "./timeline/badges.ts";
import { TimelineView } from "./timeline/view.ts";

let ctx: Ctx | undefined;

export function activate(context: vscode.ExtensionContext): Api {
  ctx = new Ctx(context);
  context.subscriptions.push(ctx);
  const review = ctx.owned(new Review(ctx));
  registerCommands(ctx, {
    review,
    quickDiff: ctx.owned(new QuickDiff(ctx, review)),
    timeline: ctx.owned(new TimelineView(ctx)),
    graph: ctx.owned(new Graph(ctx)),
  });
  ctx.owned(new StatusBar(ctx));
  ctx.owned(new Badges());
  const started = ctx;
  // activation does not wait for the server, nor for its client to load
  setImmediate(() => void started.start());
  return api(ctx);
}

export async function deactivate(): Promise<void> {
  await ctx?.end();
}
