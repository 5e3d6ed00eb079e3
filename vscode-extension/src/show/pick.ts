// Quick picks of checkpoints, branches and sessions.

import * as vscode from "vscode";

import type { Ctx } from "../ctx.ts";
import { onDisk } from "../documents/open.ts";
import {
  type AgentSession,
  type Branch,
  type Change,
  type Checkpoint,
  type TimelineResult,
  type Where,
  rev,
  shown,
} from "../server/protocol.ts";
import { type Entry, changes, entries } from "./entries.ts";
import { withoutIcons } from "./outside.ts";
import { about, ago, counts, files, line, which } from "./words.ts";

const PAGE = 200;

export type Rev = { rev: string; checkpoint: Checkpoint };
type CheckpointItem = vscode.QuickPickItem & { chosen?: Rev; more?: true };

/** Icon of a checkpoint's kind, also for the timeline. */
export function icon(checkpoint: Checkpoint): string {
  if (checkpoint.command !== undefined) return "terminal";
  switch (checkpoint.kind) {
    case "turn":
      return "comment-discussion";
    case "step":
      return "hubot";
    case "external":
      return "edit";
    case "rewind":
      return "discard";
    case "manual":
      return "bookmark";
    case "squash":
      return "archive";
    case "import":
      return "cloud-download";
  }
}

/** Rows of an entry: a turn with its steps below it, which can be found by its prompt, too. */
function rowsOf(entry: Entry, now: number): CheckpointItem[] {
  const { checkpoint, steps } = entry;
  // the only step of a turn is the turn
  const parts = checkpoint.kind === "turn" && steps.length > 1 ? steps : [];
  return [
    row(checkpoint, changes(entry), now),
    ...parts.map((step) => row(step, step.changes, now, line(checkpoint.prompt ?? ""))),
  ];
}

/** `changed`: changes of the checkpoint, or of all steps of a turn; `prompt`: that of a step's turn, above it. */
function row(
  checkpoint: Checkpoint,
  changed: readonly Change[],
  now: number,
  prompt?: string,
): CheckpointItem {
  const say = vscode.l10n.t;
  return {
    label: `${prompt === undefined ? "" : "$(blank)"}$(${icon(checkpoint)}) ${withoutIcons(about(checkpoint, say))}`,
    description: [which(checkpoint, say), ago(checkpoint.time, now, say), rev(checkpoint)]
      .filter(Boolean)
      .join(" · "),
    detail: [
      prompt === undefined ? "" : `$(blank)${withoutIcons(prompt)}`,
      checkpoint.agent ?? "",
      files(changed, say),
      counts(changed),
      checkpoint.pinned ? `$(pinned) ${say("pinned")}` : "",
      checkpoint.tags.map((tag) => `$(tag) ${withoutIcons(tag)}`).join(" "),
      checkpoint.taken_out ? say("undone") : "",
    ]
      .filter(Boolean)
      .join("  "),
    chosen: { rev: rev(checkpoint), checkpoint },
  };
}

/** Asks for a checkpoint of the branch; older pages load on demand. */
export async function checkpoint(
  ctx: Ctx,
  where: Where,
  title: string,
  wanted: (checkpoint: Checkpoint) => boolean = () => true,
): Promise<Rev | undefined> {
  const pick = vscode.window.createQuickPick<CheckpointItem>();
  pick.title = title;
  pick.placeholder = vscode.l10n.t("A prompt, a file, an age");
  pick.matchOnDescription = true;
  pick.matchOnDetail = true;
  pick.keepScrollPosition = true;
  const known: Checkpoint[] = [];
  let older: string | null = null;
  const page = async () => {
    pick.busy = true;
    const answer: TimelineResult = await ctx.request("backstitch/timeline", {
      ...where,
      limit: PAGE,
      before: older,
    });
    const now = Date.now();
    known.push(...answer.checkpoints);
    const rows = entries(known)
      .flatMap((entry) => rowsOf(entry, now))
      .filter(({ chosen }) => chosen !== undefined && wanted(chosen.checkpoint));
    older = answer.more ? (answer.checkpoints.at(-1)?.id ?? null) : null;
    const more: CheckpointItem = {
      label: `$(ellipsis) ${vscode.l10n.t("Older checkpoints")}`,
      alwaysShow: true,
      more: true,
    };
    pick.items = older === null ? rows : [...rows, more];
    if (pick.items.length === 0) pick.placeholder = vscode.l10n.t("There are no checkpoints yet");
    pick.busy = false;
  };
  try {
    return await new Promise((resolve, reject) => {
      pick.onDidAccept(() => {
        const [chosen] = pick.selectedItems;
        if (chosen?.more !== true) resolve(chosen?.chosen);
        else if (!pick.busy) page().catch(reject);
      });
      pick.onDidHide(() => {
        resolve(undefined);
      });
      pick.show();
      page().catch(reject);
    });
  } finally {
    pick.dispose();
  }
}

export async function branch(ctx: Ctx, where: Where, title: string): Promise<Branch | undefined> {
  const say = vscode.l10n.t;
  const answer = await ctx.request("backstitch/timeline", { ...where, limit: 1 });
  const others = answer.branches.filter((branch) => !branch.current && !branch.deleted);
  if (others.length === 0) {
    void vscode.window.showInformationMessage(say("There is no other branch yet. A fork creates one."));
    return undefined;
  }
  const now = Date.now();
  const items = others.map((branch) => ({
    label: `$(git-branch) ${withoutIcons(branch.name)}`,
    description: [branch.head ?? "", ago(branch.created, now, say)].filter(Boolean).join(" · "),
    detail: branch.description ?? "",
    branch,
  }));
  const chosen = await vscode.window.showQuickPick(items, {
    title,
    matchOnDescription: true,
    matchOnDetail: true,
  });
  return chosen?.branch;
}

/** A file, and the oldest turn whose changes in it are not reviewed. */
export type Unreviewed = { uri: vscode.Uri; rev: string | undefined };

/** Asks for a file with work of agents that is not reviewed. */
export async function unreviewed(ctx: Ctx, root: string, title: string): Promise<Unreviewed | undefined> {
  const say = vscode.l10n.t;
  const { files: listed } = await ctx.request("backstitch/review", { workspace: root });
  // the list has no hunks
  const answers = await Promise.all(
    listed.map(({ path }) =>
      ctx.request("backstitch/review", { workspace: root, uri: onDisk(root, path).toString() }),
    ),
  );
  const found = answers.flatMap((answer) => answer.files);
  if (found.length === 0) {
    void vscode.window.showInformationMessage(say("Nothing to review."));
    return undefined;
  }
  const items = found.map((file) => {
    const hunks = file.hunks ?? [];
    const prompts = new Set(hunks.flatMap(({ prompt }) => line(prompt ?? "") || []));
    const turns = hunks
      .flatMap(({ turn }) => turn ?? [])
      .sort((a, b) => Number(a.slice(1)) - Number(b.slice(1)));
    return {
      label: `$(file) ${withoutIcons(shown(file.path))}`,
      description: file.binary ? say("binary") : `+${file.added} −${file.removed}`,
      detail: withoutIcons([...prompts].join(" · ")),
      chosen: { uri: onDisk(root, file.path), rev: turns[0] },
    };
  });
  const chosen = await vscode.window.showQuickPick(items, {
    title,
    matchOnDescription: true,
    matchOnDetail: true,
  });
  return chosen?.chosen;
}

/** Asks for the session of an agent. */
export async function session(ctx: Ctx, where: Where, title: string): Promise<string | undefined> {
  const say = vscode.l10n.t;
  const { sessions } = await ctx.request("backstitch/sessions", where);
  const now = Date.now();
  const items = sessions.map((session) => sessionRow(session, now));
  if (items.length === 0) {
    void vscode.window.showInformationMessage(say("No agent has worked here yet."));
    return undefined;
  }
  const chosen = await vscode.window.showQuickPick(items, { title, matchOnDescription: true });
  return chosen?.session;
}

/** Row of a session, titled with its newest prompt. */
export function sessionRow(
  { agent, session, letter, turns: [newest] }: AgentSession,
  now: number,
): vscode.QuickPickItem & { session: string } {
  const say = vscode.l10n.t;
  return {
    label: `$(hubot) ${withoutIcons(line(newest?.prompt ?? "") || say("turn without a prompt"))}`,
    description: [say("session {0}", letter), agent, ago(newest?.time ?? null, now, say)]
      .filter(Boolean)
      .join(" · "),
    session,
  };
}
