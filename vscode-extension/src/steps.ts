// Finished steps of the walkthrough.

import * as vscode from "vscode";

/** A step, by the name of its `when` key. */
export type Step = "program" | "agents" | "prompt" | "rewind" | "breakpoint" | "job";

/** VS Code ticks only what becomes true while it knows the walkthrough, which it reads as the first one is opened. */
export class Steps implements vscode.Disposable {
  private readonly finished = new Set<Step>();
  private isRead = false;
  private readonly listener = vscode.window.tabGroups.onDidChangeTabs(({ opened }) => {
    // VS Code tells extensions nothing of a walkthrough but its label
    const isIt = ({ input, label }: vscode.Tab) => input === undefined && /welcome|walkthrough/i.test(label);
    if (opened.some(isIt)) this.opened();
  });

  finish(step: Step): void {
    if (this.finished.has(step)) return;
    this.finished.add(step);
    if (this.isRead) tick(step);
  }

  async open(id: string): Promise<void> {
    await vscode.commands.executeCommand("workbench.action.openWalkthrough", id, false);
    this.opened();
  }

  private opened(): void {
    if (this.isRead) return;
    this.isRead = true;
    for (const step of this.finished) tick(step);
  }

  dispose(): void {
    this.listener.dispose();
  }
}

function tick(step: Step): void {
  void vscode.commands.executeCommand("setContext", `backstitch.finished.${step}`, true);
}
