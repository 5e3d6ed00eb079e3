// Conversations of agents that go back: alone, with the files, or with a summary in place of a part. They continue in a terminal.

import * as vscode from "vscode";

import type { Ctx } from "../ctx.ts";
import { type Commands, type Text, shown } from "../server/protocol.ts";
import { inTerminal } from "../server/run.ts";
import { inform } from "../show/outside.ts";
import { busy } from "../show/progress.ts";

/** A conversation that was made, with its command line. */
type Made = {
  agent: string;
  prompt: string;
  argv?: string[] | undefined;
  cwd?: Text | undefined;
  prefilled?: boolean | undefined;
};

/** Offers to continue a conversation that was made. */
export function offer(made: Made): void {
  const say = vscode.l10n.t;
  if (made.argv === undefined) return;
  const open = say("Open in Terminal");
  void inform(say("The conversation is ready to be continued."), open).then(async (chosen) => {
    if (chosen === open) await continueInTerminal(made);
  });
}

/** Continues a conversation in a terminal. No shell sees its command line. */
async function continueInTerminal(made: Made): Promise<void> {
  const [program, ...words] = made.argv ?? [];
  if (program === undefined) return;
  if (made.prefilled !== true && made.prompt !== "") await vscode.env.clipboard.writeText(made.prompt);
  inTerminal(made.agent, program, words, made.cwd === undefined ? undefined : shown(made.cwd));
}

/** Continues the newest conversation that was made. */
export async function last(ctx: Ctx, typed: Commands["backstitch.conversation"]["params"]): Promise<void> {
  const { conversation } = await ctx.execute("backstitch.conversation", typed);
  if (conversation === null) {
    void inform(vscode.l10n.t("No conversation was made yet."));
    return;
  }
  await continueInTerminal(conversation);
}

/** Makes a conversation that ends before a turn. The files stay as they are. */
export async function rewind(ctx: Ctx, typed: Commands["backstitch.rewind"]["params"]): Promise<void> {
  const result = await ctx.execute("backstitch.rewind", { ...typed, scope: "conversation", confirm: true });
  if ("conversation" in result) offer(result.conversation);
}

/** Shows a summary of a part of a conversation, and makes the conversation with it once it is as it should be. */
export async function summarize(ctx: Ctx, where: { workspace?: string | null }, turn: string): Promise<void> {
  const say = vscode.l10n.t;
  const parts = [
    {
      label: say("Summarise from here"),
      detail: say("The turn and all after it become a summary."),
      part: "from" as const,
    },
    {
      label: say("Summarise up to here"),
      detail: say("All before the turn becomes a summary."),
      part: "up_to" as const,
    },
  ];
  const chosen = await vscode.window.showQuickPick(parts, { title: say("Summarise the conversation") });
  if (chosen === undefined) return;
  const asked = { ...where, turn, part: chosen.part };
  const { summary } = await busy(say("The agent summarises"), (token) =>
    ctx.execute("backstitch.summarize", asked, token),
  );
  const document = await vscode.workspace.openTextDocument({ language: "markdown", content: summary });
  await vscode.window.showTextDocument(document);
  const use = say("Use This Summary");
  const answer = await inform(say("Edit the summary as you like. The files stay as they are."), use);
  if (answer !== use) return;
  const made = await ctx.execute("backstitch.summarize", { ...asked, summary: document.getText() });
  if (made.conversation !== undefined) offer(made.conversation);
}
