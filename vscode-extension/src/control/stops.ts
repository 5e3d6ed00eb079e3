// Commands on breakpoints, and their marks in the gutter.

import * as vscode from "vscode";

import type { Gutter, Mark } from "../code/gutter.ts";
import type { Ctx, Disposable } from "../ctx.ts";
import { onDisk } from "../documents/open.ts";
import type { Breakpoint, Commands } from "../server/protocol.ts";
import { failure, message } from "../show/errors.ts";
import { inform, markdown } from "../show/outside.ts";
import { asArguments } from "../timeline/arguments.ts";
import type { Held } from "./held.ts";
import { type Kind, type KindField, kinds } from "./kinds.ts";
import type { Stop } from "./views.ts";

type Added = Commands["backstitch.breakpoint.add"]["params"];

/** Asks for a breakpoint, and makes it. */
export async function add(ctx: Ctx, argument: unknown): Promise<unknown> {
  const given = asArguments<Partial<Added>>(argument);
  if (given.kind !== undefined && given.spec !== undefined) {
    return ctx.execute("backstitch.breakpoint.add", given as Added);
  }
  const say = vscode.l10n.t;
  const items = kinds().map((kind) => ({ label: kind.name, detail: kind.summary, chosen: kind }));
  const picked = await vscode.window.showQuickPick(items, {
    title: say("Add an Agent Breakpoint…"),
    matchOnDetail: true,
  });
  if (picked === undefined) return undefined;
  const spec = await ask(picked.chosen);
  if (spec === undefined) return undefined;
  const about = await ctx.about({});
  const added = await ctx.execute("backstitch.breakpoint.add", { ...about, kind: picked.chosen.name, spec });
  const { id, summary } = added.breakpoint;
  const condition = say("Set a Condition…");
  const text = [say("Agents stop at: {0}", summary), ...(added.remarks ?? [])].join(". ");
  // not awaited: the command has finished, and the message may stay open
  void inform(text, condition).then((chosen) =>
    chosen === condition
      ? vscode.commands.executeCommand("backstitch.breakpoint.edit", { breakpoint: id })
      : undefined,
  );
  return added;
}

/** Asks for the parameters of a kind: those that it requires, else its first one, which may be left empty. */
async function ask(kind: Kind): Promise<Record<string, string | number> | undefined> {
  const required = kind.fields.filter((field) => field.required);
  const spec: Record<string, string | number> = {};
  for (const field of required.length > 0 ? required : kind.fields.slice(0, 1)) {
    const value = await askField(kind, field);
    if (value === undefined || (value === "" && field.required)) return undefined;
    if (value !== "") spec[field.name] = field.form === "number" ? Number(value) : value;
  }
  return spec;
}

async function askField(kind: Kind, field: KindField): Promise<string | undefined> {
  const say = vscode.l10n.t;
  const options = { title: `${kind.name}: ${kind.summary}`, ignoreFocusOut: true };
  if (field.form === "choice") {
    return vscode.window.showQuickPick(field.choices, { ...options, placeHolder: field.help });
  }
  const isNumber = field.form === "number";
  return vscode.window.showInputBox({
    ...options,
    prompt: field.help,
    placeHolder: field.example,
    validateInput: (text) =>
      isNumber && !/^[1-9]\d*$/.test(text) ? say("A whole number from 1") : undefined,
  });
}

/** Makes a breakpoint at the selected lines, or removes the one that is there. */
export async function toggle(ctx: Ctx, argument: unknown): Promise<unknown> {
  const given = asArguments<{ uri?: unknown; lineNumber?: unknown; lines?: unknown }>(argument);
  const editor = vscode.window.activeTextEditor;
  const uri =
    given.uri instanceof vscode.Uri
      ? given.uri.toString()
      : typeof given.uri === "string"
        ? given.uri
        : editor?.document.uri.toString();
  if (uri === undefined) return undefined;
  let lines: [number, number] | undefined;
  if (Array.isArray(given.lines)) lines = given.lines as [number, number];
  // from the menu of a line number, which counts from 1
  else if (typeof given.lineNumber === "number") lines = [given.lineNumber - 1, given.lineNumber];
  else if (editor !== undefined) {
    const { start, end } = editor.selection;
    const last = end.character === 0 && end.line > start.line ? end.line : end.line + 1;
    lines = [start.line, last];
  }
  return lines === undefined ? undefined : ctx.execute("backstitch.breakpoint.toggle", { uri, lines });
}

/** Asks for the condition, the count, the action and the message of a breakpoint. */
export async function edit(ctx: Ctx, held: Held, argument: unknown): Promise<unknown> {
  const stop = await stopOf(held, argument);
  if (stop === undefined) return undefined;
  const say = vscode.l10n.t;
  const { breakpoint, root } = stop;
  const fields = [
    {
      label: say("Condition"),
      description: breakpoint.when ?? "",
      key: "when",
      prompt: say("A condition in jq; empty for none. For example .turn.calls > 3"),
    },
    {
      label: say("Count"),
      description: breakpoint.hits ?? "",
      key: "hits",
      prompt: say("Triggers that act: >= 3, == 2 or % 5; empty for all"),
    },
    // a breakpoint that pauses has none
    ...(breakpoint.action === "pause"
      ? []
      : [
          {
            label: say("Message"),
            description: breakpoint.message ?? "",
            key: "message" as const,
            prompt: say("Text for the model, or of the log"),
          },
        ]),
    { label: say("Action"), description: breakpoint.action, key: "action", prompt: "" },
  ] as const;
  const field = await vscode.window.showQuickPick(fields, {
    title: `${breakpoint.kind} ${breakpoint.summary}`,
    // the list behind it is drawn anew after each hit, which takes the focus for a moment
    ignoreFocusOut: true,
  });
  if (field === undefined) return undefined;
  const set = (value: string) =>
    ctx.execute("backstitch.breakpoint.edit", {
      breakpoint: breakpoint.id,
      workspace: root,
      [field.key]: value,
    });
  if (field.key !== "action") return asked(field, set);
  const action = await vscode.window.showQuickPick(["pause", "log", "deny"], { title: field.label });
  return action === undefined ? undefined : set(action);
}

/** Asks for a text until it is taken: one that is refused stays in the box, with the reason. */
async function asked<T>(
  { label, prompt, description }: { label: string; prompt: string; description: string },
  take: (text: string) => Promise<T>,
): Promise<T | undefined> {
  let [text, reason] = [description, ""];
  for (;;) {
    const refused = text;
    const why = reason;
    const typed = await vscode.window.showInputBox({
      title: label,
      prompt,
      value: text,
      validateInput: (now) => (why !== "" && now === refused ? why : undefined),
    });
    if (typed === undefined) return undefined;
    try {
      return await take(typed);
    } catch (error) {
      const kind = failure(error)?.kind;
      if (kind !== "usage" && kind !== "refused") throw error;
      [text, reason] = [typed, message(error)];
    }
  }
}

type OnBreakpoint =
  "backstitch.breakpoint.remove" | "backstitch.breakpoint.enable" | "backstitch.breakpoint.disable";

export async function on(ctx: Ctx, held: Held, command: OnBreakpoint, argument: unknown): Promise<unknown> {
  const stop = await stopOf(held, argument);
  if (stop === undefined) return undefined;
  return ctx.execute(command, { breakpoint: stop.breakpoint.id, workspace: stop.root });
}

/** The breakpoint of a row, or the one that the user chooses. */
async function stopOf(held: Held, argument: unknown): Promise<Stop | undefined> {
  const given = asArguments<{ breakpoint?: Breakpoint | string; root?: string }>(argument);
  const all = held.breakpoints.flatMap(({ root, breakpoints }) =>
    breakpoints.map((breakpoint) => ({ root, breakpoint })),
  );
  const { breakpoint } = given;
  if (typeof breakpoint === "object" && given.root !== undefined) return { root: given.root, breakpoint };
  if (typeof breakpoint === "string") return all.find((stop) => stop.breakpoint.id === breakpoint);
  if (all.length === 0) throw new Error(vscode.l10n.t("There are no breakpoints"));
  const items = all.map((stop) => ({
    label: `${stop.breakpoint.kind} ${stop.breakpoint.summary}`,
    description: stop.breakpoint.id,
    stop,
  }));
  const chosen = await vscode.window.showQuickPick(items, { title: vscode.l10n.t("Which breakpoint?") });
  return chosen?.stop;
}

/** Marks the lines where agents stop. */
export class StopMarks implements vscode.Disposable {
  private readonly disposables: Disposable[];

  constructor(
    private readonly held: Held,
    private readonly gutter: Gutter,
  ) {
    this.disposables = [
      held.onDidChange(() => {
        this.draw();
      }),
    ];
  }

  private draw(): void {
    const marks = new Map<string, Mark[]>();
    for (const { root, breakpoints } of this.held.breakpoints) {
      for (const { region, id, when, enabled } of breakpoints) {
        if (region === undefined || region.state === "gone") continue;
        const { start, count } = region;
        const uri = onDisk(root, region.path).toString();
        const words = [vscode.l10n.t("Agents stop here ({0})", id), when ?? ""];
        const hover = markdown().appendText(words.filter(Boolean).join("\n"));
        const sign = enabled ? "stop" : "stop-off";
        const mark: Mark = { start, end: start + Math.max(count, 1), sign, hover };
        marks.set(uri, [...(marks.get(uri) ?? []), mark]);
      }
    }
    this.gutter.setAll("stops", marks);
  }

  dispose(): void {
    for (const each of this.disposables) each.dispose();
  }
}
