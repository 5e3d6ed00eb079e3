// Links below the server's hover of an agent's line: revert its turn, rewind these lines, rewind to before it, show the difference.

import * as vscode from "vscode";

import type { BlameRun } from "../server/protocol.ts";
import { links } from "../show/outside.ts";
import { rewindToHere } from "./titles.ts";

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
  const lines = [run.start, run.start + run.count];
  // exactly this turn: later ones stay
  const own = turn === null ? { step: checkpoint } : { turn };
  const text = links("", [
    { title: say("Revert turn"), command: "backstitch.revert", argument: { ...own, uri } },
    { title: say("Rewind these lines"), command: "backstitch.rewind", argument: { rev, uri, lines } },
    { title: rewindToHere(), command: "backstitch.rewind", argument: { rev, uri } },
    { title: say("Diff"), command: "backstitch.diff", argument: { rev, uri } },
  ]);
  return new vscode.Hover([...hover.contents, text], hover.range);
}
