// Tooltip of a checkpoint. The prompt and all names are text, never markup.

import * as vscode from "vscode";

import { type Checkpoint, rev } from "../server/protocol.ts";
import { escaped, markdown } from "./outside.ts";
import { type Say, about, ago, counts, isBeginning } from "./words.ts";

/** Maximum number of characters of a prompt or a command. */
const MAX_TEXT = 600;

/** `changed`: the changes of the checkpoint and of its steps. */
export function tooltip(
  checkpoint: Checkpoint,
  changed: Checkpoint["changes"],
  now: number,
): vscode.MarkdownString {
  const say: Say = vscode.l10n.t;
  const text = markdown();
  const paragraph = (plain: string) => text.appendMarkdown(`${escaped(plain)}\n\n`);
  const named = checkpoint.kind === "turn" ? checkpoint.prompt : checkpoint.label;
  // the label of the first state is a word of the store
  const words = isBeginning(checkpoint) ? "" : (named ?? "").trim();
  paragraph(cut(words || about(checkpoint, say)));
  if (checkpoint.command !== undefined) text.appendCodeblock(cut(checkpoint.command), "shellscript");
  const id = rev(checkpoint) === checkpoint.id ? checkpoint.id : `${rev(checkpoint)} (${checkpoint.id})`;
  const session = checkpoint.letter === null ? "" : say("session {0}", checkpoint.letter);
  const facts = [
    [ago(checkpoint.time, now, say), local(checkpoint.time)],
    [checkpoint.agent ?? "", session, checkpoint.tool ?? "", outcome(checkpoint, say)],
    [counts(changed), checkpoint.git.branch === null ? "" : say("git branch {0}", checkpoint.git.branch)],
    [id, meaning(checkpoint, say)],
  ];
  const lines = facts.map((line) => line.filter(Boolean).join(" · ")).filter(Boolean);
  text.appendMarkdown(lines.map(escaped).join("  \n"));
  if (checkpoint.description !== undefined) {
    text.appendMarkdown("\n\n");
    paragraph(cut(checkpoint.description));
  }
  return text;
}

function meaning({ kind }: Checkpoint, say: Say): string {
  if (kind === "turn") return say("rewind, fork and compare mean the state before this turn");
  return kind === "step" ? say("rewind, fork and compare mean the state after this step") : "";
}

/** `exit 2`, or `failed` where the status is not known; empty for success. */
export function outcome({ exit, failed }: Checkpoint, say: Say): string {
  if (exit !== undefined && exit !== 0) return say("exit {0}", exit);
  return failed === true ? say("failed") : "";
}

function local(time: string | null): string {
  return time === null ? "" : new Date(time).toLocaleString();
}

function cut(text: string): string {
  return text.length <= MAX_TEXT ? text : `${text.slice(0, MAX_TEXT).trimEnd()}…`;
}
