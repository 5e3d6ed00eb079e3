// What the timeline is filtered by: chosen from a list, or typed.

import * as vscode from "vscode";

import type { AgentSession } from "../server/protocol.ts";
import { sessionRow } from "../show/pick.ts";
import { type Filter, isEmpty, parse, written } from "./model.ts";

type Row = vscode.QuickPickItem & { filter?: Filter };

export async function chooseFilter(
  now: Filter,
  sessions: readonly AgentSession[],
  file: string | undefined,
): Promise<Filter | undefined> {
  const say = vscode.l10n.t;
  const known = rows(sessions, file);
  const pick = vscode.window.createQuickPick<Row>();
  pick.title = say("Filter the timeline");
  pick.placeholder = say("Words of a prompt, a label or a tool's input; agent:NAME, session:ID, path:FILE");
  pick.matchOnDescription = true;
  pick.value = written(now);
  const show = () => {
    const typed = parse(pick.value);
    const first: Row = isEmpty(typed)
      ? { label: `$(clear-all) ${say("Everything")}`, alwaysShow: true, filter: {} }
      : { label: `$(search) ${say("Filter by {0}", written(typed))}`, alwaysShow: true, filter: typed };
    pick.items = [first, ...known];
  };
  pick.onDidChangeValue(show);
  show();
  pick.show();
  try {
    return await new Promise((resolve) => {
      pick.onDidAccept(() => {
        resolve(pick.selectedItems[0]?.filter);
      });
      pick.onDidHide(() => {
        resolve(undefined);
      });
    });
  } finally {
    pick.dispose();
  }
}

function rows(sessions: readonly AgentSession[], file: string | undefined): Row[] {
  const say = vscode.l10n.t;
  const now = Date.now();
  const agents = [...new Set(sessions.map(({ agent }) => agent))].filter((agent) => agent !== "");
  const section = (label: string): Row => ({ label, kind: vscode.QuickPickItemKind.Separator });
  return [
    ...(file === undefined
      ? []
      : [{ label: `$(file) ${say("This file")}`, description: file, filter: { path: file } }]),
    ...(agents.length === 0 ? [] : [section(say("Agents"))]),
    ...agents.map((agent) => ({ label: `$(hubot) ${agent}`, filter: { agent } })),
    ...(sessions.length === 0 ? [] : [section(say("Sessions"))]),
    ...sessions.map((session) => ({ ...sessionRow(session, now), filter: { session: session.session } })),
  ];
}
