// Has agents stop where the user's own breakpoints of the debugger are, if `backstitch.breakpoints.fromDebugger` says so.

import * as vscode from "vscode";

import type { Ctx, Disposable } from "../ctx.ts";
import { withErrors } from "../show/errors.ts";

const SETTING = "backstitch.breakpoints.fromDebugger";
/** Key of the state: Backstitch's breakpoints by the place of the debugger's. */
const STATE = "mirrored";

/** A breakpoint of ours that stands for one of the debugger. */
type Mirrored = { id: string; root: string; enabled: boolean };

export class Mirror implements vscode.Disposable {
  private readonly disposables: Disposable[];
  /** Changes are carried out one after another. */
  private work: Promise<unknown> = Promise.resolve();

  constructor(private readonly ctx: Ctx) {
    const follow = () => {
      this.follow();
    };
    this.disposables = [
      vscode.debug.onDidChangeBreakpoints(follow),
      vscode.workspace.onDidChangeConfiguration((change) => {
        if (change.affectsConfiguration(SETTING)) this.follow();
      }),
      ctx.onDidChangeState(follow),
    ];
    follow();
  }

  private follow(): void {
    this.work = this.work.then(() => withErrors(() => this.compare()));
  }

  /** The debugger's breakpoints at lines of a folder on disk, by their places. */
  private wanted(): Map<string, { uri: vscode.Uri; line: number; root: string; enabled: boolean }> {
    const wanted = new Map<string, { uri: vscode.Uri; line: number; root: string; enabled: boolean }>();
    if (vscode.workspace.getConfiguration().get(SETTING) !== true) return wanted;
    for (const breakpoint of vscode.debug.breakpoints) {
      if (!(breakpoint instanceof vscode.SourceBreakpoint)) continue;
      const { uri, range } = breakpoint.location;
      const root = vscode.workspace.getWorkspaceFolder(uri)?.uri;
      if (uri.scheme !== "file" || root === undefined) continue;
      const line = range.start.line;
      wanted.set(`${uri.fsPath}:${line}`, { uri, line, root: root.fsPath, enabled: breakpoint.enabled });
    }
    return wanted;
  }

  private async compare(): Promise<void> {
    if (this.ctx.state.name !== "running") return;
    const { workspaceState } = this.ctx.extension;
    const known = new Map(Object.entries(workspaceState.get<Record<string, Mirrored>>(STATE) ?? {}));
    const wanted = this.wanted();
    for (const [place, { id, root }] of [...known]) {
      if (wanted.has(place)) continue;
      known.delete(place);
      await this.tryOn("backstitch.breakpoint.remove", id, root);
    }
    for (const [place, { uri, line, root, enabled }] of wanted) {
      const there = known.get(place);
      if (there === undefined) {
        const spec = { path: uri.toString(), start: line + 1, count: 1 };
        try {
          const made = await this.ctx.execute("backstitch.breakpoint.add", {
            kind: "line",
            spec,
            workspace: root,
          });
          known.set(place, { id: made.breakpoint.id, root, enabled: true });
          if (!enabled) await this.tryOn("backstitch.breakpoint.disable", made.breakpoint.id, root);
          known.set(place, { id: made.breakpoint.id, root, enabled });
        } catch (error) {
          // a file that is not saved yet, or a line that is gone: the next change tries again
          this.ctx.log.info(String(error));
        }
      } else if (there.enabled !== enabled) {
        const command = enabled ? "backstitch.breakpoint.enable" : "backstitch.breakpoint.disable";
        await this.tryOn(command, there.id, root);
        known.set(place, { ...there, enabled });
      }
    }
    await workspaceState.update(STATE, Object.fromEntries(known));
  }

  private async tryOn(
    command:
      "backstitch.breakpoint.remove" | "backstitch.breakpoint.enable" | "backstitch.breakpoint.disable",
    breakpoint: string,
    workspace: string,
  ): Promise<void> {
    try {
      await this.ctx.execute(command, { breakpoint, workspace });
    } catch (error) {
      // the user has removed it
      this.ctx.log.debug(String(error));
    }
  }

  dispose(): void {
    for (const each of this.disposables) each.dispose();
  }
}
