// The graph of branches and forks in a web view.

import * as vscode from "vscode";

import type { Ctx } from "../ctx.ts";
import { type Checkpoint, rev, shown } from "../server/protocol.ts";
import { message, withErrors } from "../show/errors.ts";
import { fill } from "../show/webview.ts";
import { about, ago, counts, isBeginning } from "../show/words.ts";
import { outcome } from "../show/tooltip.ts";
import { areOfSeveralSessions, changes, entries } from "../show/entries.ts";
import { sessionNumber } from "../timeline/rows.ts";
import type { FromPage, Icon, Shown, ToPage } from "./messages.ts";

const PAGE = 300;

export class Graph implements vscode.Disposable {
  private panel: vscode.WebviewPanel | undefined;
  private readonly disposables: vscode.Disposable[];
  private limit = PAGE;
  private root: string | undefined;
  /** Keeps visible ages up to date. */
  private readonly ages = setInterval(() => {
    if (this.panel?.visible === true) void this.draw();
  }, 60_000);

  constructor(private readonly ctx: Ctx) {
    this.disposables = [
      ctx.onDidChangeState(() => void this.draw()),
      ctx.on("backstitch/timelineChanged", () => {
        if (this.panel?.visible === true) void this.draw();
      }),
    ];
  }

  show(): void {
    if (this.panel !== undefined) {
      this.panel.reveal();
      return;
    }
    const { extensionUri } = this.ctx.extension;
    const media = vscode.Uri.joinPath(extensionUri, "media");
    const panel = vscode.window.createWebviewPanel(
      "backstitch.graph",
      vscode.l10n.t("Checkpoints"),
      vscode.ViewColumn.Active,
    );
    panel.iconPath = {
      light: vscode.Uri.joinPath(media, "backstitch-light.svg"),
      dark: vscode.Uri.joinPath(media, "backstitch-dark.svg"),
    };
    panel.webview.onDidReceiveMessage((received: FromPage) => {
      void this.handle(received);
    });
    panel.onDidChangeViewState(() => {
      if (panel.visible) void this.draw();
    });
    panel.onDidDispose(() => {
      this.panel = undefined;
    });
    this.limit = PAGE;
    this.panel = panel;
    fill(panel.webview, extensionUri, "graph");
  }

  private async handle(received: FromPage): Promise<void> {
    if (received.type === "do") {
      const command = received.action === "show" ? "backstitch.openChange" : `backstitch.${received.action}`;
      await vscode.commands.executeCommand(command, { workspace: this.root, rev: received.rev });
      return;
    }
    if (received.type === "more") this.limit += PAGE;
    await this.draw();
  }

  private async draw(): Promise<void> {
    const say = vscode.l10n.t;
    if (this.panel === undefined || this.ctx.state.name !== "running") return;
    const answer = await withErrors(() =>
      this.ctx.request("backstitch/timeline", { ...this.ctx.where(), allBranches: true, limit: this.limit }),
    );
    if (answer === undefined) return;
    this.root = shown(answer.workspace);
    const now = Date.now();
    const hasSessions = areOfSeveralSessions(answer.checkpoints);
    const changed = new Map(
      entries(answer.checkpoints).map((entry) => [entry.checkpoint.id, changes(entry)]),
    );
    const nodes = answer.checkpoints.map((checkpoint): Shown => {
      const current = checkpoint.id === answer.head;
      // the flag is about the current branch; other branches may still have the checkpoint
      const takenOut = checkpoint.taken_out && checkpoint.branch === answer.branch;
      return {
        id: checkpoint.id,
        parent: checkpoint.parent,
        rev: rev(checkpoint),
        kind: checkpoint.kind,
        icon: iconOf(checkpoint),
        title: about(checkpoint, say),
        letter: hasSessions ? (checkpoint.letter ?? "") : "",
        color: sessionNumber(checkpoint.letter ?? "A"),
        detail: [
          checkpoint.agent ?? "",
          outcome(checkpoint, say),
          counts(changed.get(checkpoint.id) ?? checkpoint.changes),
          ago(checkpoint.time, now, say),
        ]
          .filter(Boolean)
          .join(" · "),
        branch:
          answer.branches.find((branch) => branch.head === checkpoint.id && !branch.deleted)?.name ?? "",
        tags: checkpoint.pinned ? [say("pinned"), ...checkpoint.tags] : checkpoint.tags,
        current,
        takenOut,
        state: [current ? say("current") : "", takenOut ? say("undone") : ""].filter(Boolean).join(", "),
      };
    });
    const words: ToPage["words"] = {
      label: say("Checkpoints, newest first"),
      empty: say("No checkpoints yet. They appear when an agent starts working here."),
      more: say("Older checkpoints"),
      cut: say("continues with older checkpoints, which are not loaded"),
      search: say("Search"),
      actions: { show: say("Show"), diff: say("Compare"), rewind: say("Rewind"), fork: say("Fork") },
    };
    try {
      await this.panel.webview.postMessage({
        type: "graph",
        nodes,
        more: answer.more,
        words,
      } satisfies ToPage);
    } catch (error) {
      this.ctx.log.warn(message(error));
    }
  }

  dispose(): void {
    clearInterval(this.ages);
    this.panel?.dispose();
    for (const each of this.disposables) each.dispose();
  }
}

function iconOf(checkpoint: Checkpoint): Icon {
  if (isBeginning(checkpoint)) return "start";
  if (checkpoint.operation !== null) return "operation";
  if (checkpoint.kind === "turn" || checkpoint.kind === "step") return checkpoint.kind;
  return "edit";
}
