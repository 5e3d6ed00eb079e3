// Links below the server's hover of an agent's line: undo its turn, undo these lines, show the difference.

import * as vscode from "vscode";

import type { BlameRun } from "../server/protocol.ts";

const COMMANDS = ["backstitch.rewind", "backstitch.diff"];

/** Adds the links to a hover. `runs`: the authors of the document's lines. */
export function withLinks(
  hover: vscode.Hover,
  document: vscode.TextDocument,
  line: number,
  runs: readonly BlameRun[],
): vscode.Hover {
  const run = runs.find(({ by, start, count }) => by === "agent" && start <= line && line < start + count);
  if (run === undefined) return hover;
  const { turn, checkpoint } = run;
  const rev = turn ?? (checkpoint === null ? undefined : `${checkpoint}^`);
  if (rev === undefined) return hover;
  const say = vscode.l10n.t;
  const uri = document.uri.toString();
  const link = (title: string, command: string, argument: object) =>
    `[${title}](command:${command}?${encodeURIComponent(JSON.stringify([argument]))})`;
  const lines = [run.start, run.start + run.count];
  const text = new vscode.MarkdownString(
    [
      link(say("Undo turn"), "backstitch.rewind", { rev, uri }),
      link(say("Undo these lines"), "backstitch.rewind", { rev, uri, lines }),
      link(say("Diff"), "backstitch.diff", { rev, uri }),
    ].join(" · "),
  );
  text.isTrusted = { enabledCommands: COMMANDS };
  return new vscode.Hover([...hover.contents, text], hover.range);
}
