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
import { inform, withoutIcons } from "./outside.ts";
import { about, ago, counts, files, line, which } from "./words.ts";

const PAGE = 200;
/** Time after the last letter in milliseconds before the server is asked. */
const TYPING = 150;
/** A checkpoint or turn by its number. */
const NUMBERED = /^[ct]\d+$/u;

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
    description: [which(checkpoint, say), ago(checkpoint.time, now, say)].filter(Boolean).join(" · "),
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

/** VS Code finds a row by any of its texts. */
function has({ label, description, detail }: CheckpointItem, typed: string): boolean {
  const words = typed.toLowerCase();
  return [label, description, detail].some((text) => text?.toLowerCase().includes(words));
}

/** Asks for a checkpoint of the branch; older pages load on demand. Typed words are searched in all of the history. */
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
  let newest: CheckpointItem[] = [];
  let listed: CheckpointItem[] = [];
  const show = (items: CheckpointItem[]) => {
    if (items === listed) return;
    listed = items;
    pick.items = items;
  };
  const rowsFrom = (checkpoints: Checkpoint[]) => {
    const now = Date.now();
    return entries(checkpoints)
      .flatMap((entry) => rowsOf(entry, now))
      .filter(({ chosen }) => chosen !== undefined && wanted(chosen.checkpoint));
  };
  const page = async () => {
    pick.busy = true;
    const answer: TimelineResult = await ctx.request("backstitch/timeline", {
      ...where,
      limit: PAGE,
      before: older,
    });
    known.push(...answer.checkpoints);
    const rows = rowsFrom(known);
    older = answer.more ? (answer.checkpoints.at(-1)?.id ?? null) : null;
    const more: CheckpointItem = {
      label: `$(ellipsis) ${vscode.l10n.t("Older checkpoints")}`,
      alwaysShow: true,
      more: true,
    };
    newest = older === null ? rows : [...rows, more];
    if (pick.value.trim() === "") show(newest);
    if (newest.length === 0) pick.placeholder = vscode.l10n.t("There are no checkpoints yet");
    pick.busy = false;
  };
  // the words of the list itself are matched by VS Code; the server knows the history beyond it
  const search = async (typed: string) => {
    pick.busy = true;
    const [numbered, answer] = await Promise.all([
      NUMBERED.test(typed)
        ? ctx.request("backstitch/checkpoint", { ...where, rev: typed }).catch(() => undefined)
        : undefined,
      ctx.request("backstitch/timeline", { ...where, limit: PAGE, text: typed }),
    ]);
    pick.busy = false;
    if (pick.value.trim() !== typed) return;
    searched = typed;
    const exact = numbered === undefined ? [] : rowsFrom([numbered]).slice(0, 1);
    const ids = new Set(exact.map(({ chosen }) => chosen?.rev));
    const all = [...rowsFrom(answer.checkpoints), ...newest].filter(({ chosen, more }) => {
      if (more === true) return false;
      const isNew = !ids.has(chosen?.rev);
      ids.add(chosen?.rev);
      return isNew;
    });
    const found = new Set(answer.checkpoints.map(rev));
    // a list that changes under the pointer is chosen from wrongly
    const recent = new Set(newest.map(({ chosen }) => chosen?.rev));
    const isMissing = (item: CheckpointItem) =>
      item.chosen !== undefined &&
      found.has(item.chosen.rev) &&
      !(recent.has(item.chosen.rev) && has(item, typed));
    if (exact.length === 0 && !all.some(isMissing)) {
      show(newest);
      return;
    }
    const shownAlways = (item: CheckpointItem) =>
      item.chosen !== undefined && found.has(item.chosen.rev) ? { ...item, alwaysShow: true } : item;
    const first = exact.map((item) => ({ ...item, alwaysShow: true }));
    // an id was typed: nothing that is only like it stands beside it
    show(first.length > 0 ? first : all.map(shownAlways));
    if (first.length > 0) pick.activeItems = first;
  };
  let typing: NodeJS.Timeout | undefined;
  let searched = "";
  try {
    return await new Promise((resolve, reject) => {
      pick.onDidChangeValue((value) => {
        clearTimeout(typing);
        const typed = value.trim();
        if (typed === "") show(newest);
        else typing = setTimeout(() => void search(typed).catch(reject), TYPING);
      });
      pick.onDidAccept(() => {
        const [chosen] = pick.selectedItems;
        const typed = pick.value.trim();
        if (NUMBERED.test(typed) && searched !== typed) {
          // Enter came before the answer, and the row may only be like the id
          clearTimeout(typing);
          search(typed).then(() => {
            if (pick.activeItems.length === 1) resolve(pick.activeItems[0]?.chosen);
          }, reject);
        } else if (chosen?.more !== true) resolve(chosen?.chosen);
        else if (!pick.busy) page().catch(reject);
      });
      pick.onDidHide(() => {
        resolve(undefined);
      });
      pick.show();
      page().catch(reject);
    });
  } finally {
    clearTimeout(typing);
    pick.dispose();
  }
}

export async function branch(ctx: Ctx, where: Where, title: string): Promise<Branch | undefined> {
  const say = vscode.l10n.t;
  const answer = await ctx.request("backstitch/timeline", { ...where, limit: 1 });
  const others = answer.branches.filter((branch) => !branch.current && !branch.deleted);
  if (others.length === 0) {
    void inform(say("There is no other branch yet. A fork creates one."));
    return undefined;
  }
  const now = Date.now();
  const items = others.map((branch) => ({
    label: `$(git-branch) ${withoutIcons(branch.name)}`,
    description: ago(branch.created, now, say),
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

/** A file with work of agents that is not reviewed, and the oldest turn of that work. */
export type Unreviewed = { uri: vscode.Uri; rev: string | undefined };

/** Asks for the file with which a review of all files begins. */
export async function unreviewed(
  ctx: Ctx,
  root: string,
  title: string,
): Promise<{ all: Unreviewed[]; first: number } | undefined> {
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
    void inform(say("Nothing to review."));
    return undefined;
  }
  const items = found.map((file, first) => {
    const hunks = file.hunks ?? [];
    const prompts = new Set(hunks.flatMap(({ prompt }) => line(prompt ?? "") || []));
    const turns = hunks
      .flatMap(({ turn }) => turn ?? [])
      .sort((a, b) => Number(a.slice(1)) - Number(b.slice(1)));
    return {
      label: `$(file) ${withoutIcons(shown(file.path))}`,
      description: file.binary ? say("binary") : `+${file.added} −${file.removed}`,
      detail: withoutIcons([...prompts].join(" · ")),
      file: { uri: onDisk(root, file.path), rev: file.binary ? undefined : turns[0] },
      first,
    };
  });
  const chosen = await vscode.window.showQuickPick(items, {
    title,
    matchOnDescription: true,
    matchOnDetail: true,
  });
  return chosen && { all: items.map(({ file }) => file), first: chosen.first };
}

/** Asks for the session of an agent. */
export async function session(ctx: Ctx, where: Where, title: string): Promise<string | undefined> {
  const say = vscode.l10n.t;
  const { sessions } = await ctx.request("backstitch/sessions", where);
  const now = Date.now();
  const items = sessions.map((session) => sessionRow(session, now));
  if (items.length === 0) {
    void inform(say("No agent has worked here yet."));
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
