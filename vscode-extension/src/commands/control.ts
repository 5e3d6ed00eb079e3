// Table of the commands about breakpoints and held calls.

import * as vscode from "vscode";

import type { Decisions } from "../control/decide.ts";
import type { Held } from "../control/held.ts";
import * as stops from "../control/stops.ts";
import type { Ctx } from "../ctx.ts";
import type { Beside, ReplPanel } from "../repl/panel.ts";
import type { Where } from "../server/protocol.ts";
import { asArguments } from "../timeline/arguments.ts";
import { inform } from "../show/outside.ts";

type Run = (...given: unknown[]) => unknown;

type Parts = { held: Held; decisions: Decisions; repl: ReplPanel; beside: Beside };

export function controlCommands(ctx: Ctx, { held, decisions, repl, beside }: Parts) {
  const step =
    (how: string): Run =>
    (argument) =>
      decisions.step(argument, how);
  return {
    "backstitch.breakpoint.add": (argument: unknown) => stops.add(ctx, argument),
    "backstitch.breakpoint.toggle": (argument: unknown) => stops.toggle(ctx, argument),
    "backstitch.breakpoint.edit": (argument: unknown) => stops.edit(ctx, held, argument),
    "backstitch.breakpoint.remove": (argument: unknown) =>
      stops.on(ctx, held, "backstitch.breakpoint.remove", argument),
    "backstitch.breakpoint.enable": (argument: unknown) =>
      stops.on(ctx, held, "backstitch.breakpoint.enable", argument),
    "backstitch.breakpoint.disable": (argument: unknown) =>
      stops.on(ctx, held, "backstitch.breakpoint.disable", argument),
    "backstitch.breakpoint.clear": async (argument: unknown) =>
      ctx.execute("backstitch.breakpoint.clear", await ctx.about(asArguments<Where>(argument))),
    "backstitch.breakpoint.list": () => vscode.commands.executeCommand("backstitch.breakpoints.focus"),
    "backstitch.repl.start": (argument: unknown) => repl.start(asArguments<{ pause?: string }>(argument)),
    "backstitch.repl.eval": (argument: unknown) => repl.evaluate(asArguments<{ session?: string }>(argument)),
    "backstitch.repl.close": (argument: unknown) => repl.close(asArguments<{ session?: string }>(argument)),
    "backstitch.repl.list": () => repl.open(),
    "backstitch.stack": (argument: unknown) =>
      beside.stack.show(asArguments<Where & { pause?: string }>(argument)),
    "backstitch.stack.open": (argument: unknown) =>
      beside.stack.open(asArguments(argument), { repl, calls: beside.calls }),
    "backstitch.calls": () => beside.calls.show(),
    "backstitch.calls.refresh": () => beside.calls.read(),
    "backstitch.calls.repl": (argument: unknown) =>
      beside.calls.repl(asArguments(argument), (session, place) => repl.look(session, place)),
    "backstitch.object.save": () => beside.objects.save(),
    "backstitch.pause": async (argument: unknown) => {
      const done = await ctx.execute("backstitch.pause", await ctx.about(asArguments<Where>(argument)));
      void inform(vscode.l10n.t("The next call of an agent will be held"));
      return done;
    },
    "backstitch.resume": (argument: unknown) => decisions.resume(argument),
    "backstitch.proposal.accept": (argument: unknown) => decisions.accept(argument),
    // for keys that hold in some places only: the palette and the titles would show them everywhere
    "backstitch.held.key.stop": (argument: unknown) => decisions.refuse("backstitch.stop", argument),
    "backstitch.held.key.input": (argument: unknown) => decisions.input(argument),
    "backstitch.step": (argument: unknown) => {
      const { how } = asArguments<{ how?: unknown }>(argument);
      return decisions.step(argument, typeof how === "string" ? how : "over");
    },
    "backstitch.step.into": step("into"),
    "backstitch.step.out": step("out"),
    "backstitch.step.file": step("file"),
    "backstitch.step.turn": step("turn"),
    "backstitch.skip": (argument: unknown) => decisions.skip(argument),
    "backstitch.deny": (argument: unknown) => decisions.refuse("backstitch.deny", argument),
    "backstitch.stop": (argument: unknown) => decisions.refuse("backstitch.stop", argument),
    "backstitch.inject": (argument: unknown) => decisions.inject(argument),
    "backstitch.back": (argument: unknown) => decisions.back(argument),
    "backstitch.inspect": (argument: unknown) => decisions.inspect(argument),
    "backstitch.held.input": (argument: unknown) => decisions.input(argument),
  } satisfies Record<string, Run>;
}
