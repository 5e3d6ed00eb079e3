// Choice of the timeline's filter, from a list or typed.

import * as vscode from "vscode";

import type { AgentSession } from "../server/protocol.ts";
import { withoutIcons } from "../show/outside.ts";
import { sessionRow } from "../show/pick.ts";
import { quoted } from "../show/words.ts";
import { type Filter, isEmpty, parse, written } from "./model.ts";

type FilterItem = vscode.QuickPickItem & { choose?: () => Promise<Filter | undefined> };

export async function chooseFilter(
  now: Filter,
  sessions: readonly AgentSession[],
  file: string | undefined,
): Promise<Filter | undefined> {
  const chosen = await vscode.window.showQuickPick(rows(now, sessions, file), {
    title: vscode.l10n.t("Filter the timeline"),
    matchOnDescription: true,
  });
  return chosen?.choose?.();
}

function rows(now: Filter, sessions: readonly AgentSession[], file: string | undefined): FilterItem[] {
  const say = vscode.l10n.t;
  const agents = [...new Set(sessions.map(({ agent }) => agent))].filter((agent) => agent !== "");
  const by = (filter: Filter) => () => Promise.resolve(filter);
  const section = (label: string, below: FilterItem[]): FilterItem[] =>
    below.length === 0 ? [] : [{ label, kind: vscode.QuickPickItemKind.Separator }, ...below];
  return [
    {
      label: `$(search) ${say("Words…")}`,
      description: say("in a prompt, a label or a tool's input"),
      choose: () => typed(now),
    },
    ...(file === undefined
      ? []
      : [{ label: `$(file) ${say("This file")}`, description: file, choose: by({ path: file }) }]),
    { label: `$(comment-discussion) ${say("Prompts only")}`, choose: by({ ...now, only: "prompts" }) },
    ...(isEmpty(now) ? [] : [{ label: `$(clear-all) ${say("Everything")}`, choose: by({}) }]),
    ...section(
      say("Agents"),
      agents.map((agent) => ({ label: `$(hubot) ${withoutIcons(agent)}`, choose: by({ agent }) })),
    ),
    ...section(
      say("Sessions"),
      sessions.map((session) => ({
        ...sessionRow(session, Date.now()),
        choose: by({ session: session.session }),
      })),
    ),
  ];
}

async function typed(now: Filter): Promise<Filter | undefined> {
  const say = vscode.l10n.t;
  const text = await vscode.window.showInputBox({
    title: say("Filter the timeline"),
    value: written(now),
    prompt: say(
      "Words of a prompt, a label or a tool's input; agent:NAME, session:ID, path:FILE, only:prompts",
    ),
  });
  return text === undefined ? undefined : parse(text);
}

/** Returns a session in words: its letter, and its newest prompt. */
export function named({ letter, turns: [newest] }: AgentSession): string {
  return [vscode.l10n.t("session {0}", letter), quoted(newest?.prompt)].filter(Boolean).join(" ");
}
