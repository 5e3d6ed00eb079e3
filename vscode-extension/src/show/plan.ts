// The plan of a restore as an editor: a comparison of all its files, with the decision in its title. It closes once decided.

import * as vscode from "vscode";

import { changes } from "../documents/open.ts";
import type { OnConflict, PlanParams, PlanResult } from "../server/protocol.ts";
import { MAX_SHOWN, planText, plannedCount } from "./planText.ts";
import { type Planned, SCHEME } from "./planned.ts";
import { conflicts, sentence } from "./words.ts";

/** Run the plan, plan again with changed arguments, or deny what an agent proposes. */
export type Decision = { onConflict: OnConflict } | { instead: Instead } | { denied: true };
export type Instead = Partial<Pick<PlanParams, "exact" | "uncertain" | "carry" | "session" | "allSessions">>;
/** Alternative to the plan. `choose` returns undefined if the user cancels. */
export type Way = { label: string; detail: string; icon: string; choose: () => Promise<Instead | undefined> };
/** The button that runs the plan. A proposal of an agent is carried out by *Rewind*, and denied by *Deny*. */
export type Verb = "rewind" | "revert" | "undo" | "redo" | "switch" | "proposal";

export type Proposal = {
  verb: Verb;
  plan: PlanResult;
  ways: Way[];
  /** The file to whose lines or changes the plan is restricted. */
  only: string | undefined;
};

type Open = Proposal & { title: string; isShown: boolean; settle: (decision: Decision | undefined) => void };

/** Key of the title of an open plan: VS Code opens it again in the next window, without its texts. */
const STATE_KEY = "plan";

export class PlanEditor implements vscode.Disposable {
  /** One plan at a time; a new one takes the place of the last. */
  private open: Open | undefined;
  private newest = 0;
  /** Ends once the last plan is closed. */
  private last: Promise<unknown> = Promise.resolve();
  private readonly disposables: vscode.Disposable[];

  constructor(
    private readonly planned: Planned,
    private readonly state: vscode.Memento,
  ) {
    const update = () => {
      this.update();
    };
    this.disposables = [
      vscode.window.tabGroups.onDidChangeTabs(update),
      vscode.window.tabGroups.onDidChangeTabGroups(update),
    ];
    const stale = state.get<string>(STATE_KEY);
    if (stale !== undefined) void closeTabs(stale).then(() => state.update(STATE_KEY, undefined));
    this.update();
  }

  /** Shows a plan and waits for the decision; undefined if the user cancels or closes it, or another plan takes its place. */
  decide(proposal: Proposal): Promise<Decision | undefined> {
    const number = ++this.newest;
    this.open?.settle(undefined);
    const asked = this.last.then(() => (number === this.newest ? this.ask(proposal) : undefined));
    this.last = asked.catch(() => undefined);
    return asked;
  }

  private async ask(proposal: Proposal): Promise<Decision | undefined> {
    const title = titleOf(proposal);
    let settle: Open["settle"] = () => undefined;
    const decided = new Promise<Decision | undefined>((resolve) => {
      settle = resolve;
    });
    this.open = { ...proposal, title, isShown: false, settle };
    try {
      await this.state.update(STATE_KEY, title);
      const text = planText(proposal.plan, proposal.only, Date.now(), vscode.l10n.t);
      // the file that the user looks at in a preview stays
      if (vscode.window.tabGroups.activeTabGroup.activeTab?.isPreview === true) {
        await vscode.commands.executeCommand("workbench.action.keepEditor");
      }
      await changes(title, this.planned.keep(proposal.plan, text).slice(0, MAX_SHOWN + 1));
      // a preview would make room for the next file that is opened
      await vscode.commands.executeCommand("workbench.action.keepEditor");
      this.update();
      return await decided;
    } finally {
      this.open = undefined;
      this.update();
      await closeTabs(title);
      await this.state.update(STATE_KEY, undefined);
    }
  }

  /** Runs the plan; asks how to decide its conflicts. */
  async accept(): Promise<void> {
    const { open } = this;
    if (open === undefined) return;
    const onConflict = conflicts(open.plan.conflicts) === 0 ? "fail" : await askConflicts(open);
    if (onConflict !== undefined) open.settle({ onConflict });
  }

  cancel(): void {
    this.open?.settle(undefined);
  }

  /** Denies what an agent proposes. */
  deny(): void {
    if (this.open?.verb === "proposal") this.open.settle({ denied: true });
  }

  /** Offers the alternatives to the plan. */
  async options(): Promise<void> {
    const { open } = this;
    if (open === undefined) return;
    const items = open.ways.map((way) => ({
      label: `$(${way.icon}) ${way.label}`,
      description: way.detail,
      choose: way.choose,
    }));
    const chosen = await vscode.window.showQuickPick(items, { title: open.title });
    const instead = await chosen?.choose();
    if (instead !== undefined) open.settle({ instead });
  }

  /** Follows the tab of the plan: commands and keys hold while it is active, and to close it is to cancel. */
  private update(): void {
    const { open } = this;
    const isActive =
      open !== undefined && isTab(vscode.window.tabGroups.activeTabGroup.activeTab, open.title);
    const context = (key: string, value: unknown) =>
      void vscode.commands.executeCommand("setContext", `backstitch.${key}`, value);
    context("plan", isActive ? open.verb : undefined);
    context("planOptions", isActive && open.ways.length > 0);
    if (open === undefined) return;
    const isThere = allTabs().some((tab) => isTab(tab, open.title));
    if (isThere) open.isShown = true;
    else if (open.isShown) open.settle(undefined);
  }

  dispose(): void {
    this.open?.settle(undefined);
    for (const each of this.disposables) each.dispose();
  }
}

function titleOf({ plan, only }: Proposal): string {
  const say = vscode.l10n.t;
  const title = sentence(plan.title);
  // the title of a restore of some lines names the file
  const named =
    only === undefined || title.includes(only) ? title : say("{0}, only these lines of {1}", title, only);
  // VS Code adds a number that counts the plan as a file
  return say("{0} · plan and {1}", named, plannedCount(plan, say));
}

function askConflicts({ plan }: Open): Promise<OnConflict | undefined> {
  const say = vscode.l10n.t;
  const [verb = plan.title] = sentence(plan.title).split(" ");
  const items: (vscode.QuickPickItem & { onConflict: OnConflict })[] = [
    {
      label: `$(git-merge) ${say("{0}, and resolve conflicts", verb)}`,
      description: say("opens the merge editor"),
      onConflict: "markers",
    },
    { label: `$(person) ${say("{0}, and keep your lines in conflicts", verb)}`, onConflict: "current" },
    { label: `$(history) ${say("{0}, and take the older lines in conflicts", verb)}`, onConflict: "target" },
  ];
  const count = conflicts(plan.conflicts);
  const title = count === 1 ? say("1 conflict with your edits") : say("{0} conflicts with your edits", count);
  return Promise.resolve(vscode.window.showQuickPick(items, { title }).then((chosen) => chosen?.onConflict));
}

function allTabs(): vscode.Tab[] {
  return vscode.window.tabGroups.all.flatMap(({ tabs }) => tabs);
}

/** True for the tab of a comparison of several files. VS Code adds the number of files to the title. */
function isTab(tab: vscode.Tab | undefined, title: string): boolean {
  return tab !== undefined && (tab.label === title || tab.label.startsWith(`${title} (`));
}

/** Closes a plan, and editors that were opened from it. */
async function closeTabs(title: string): Promise<void> {
  const isOfPlan = ({ input }: vscode.Tab) =>
    input instanceof vscode.TabInputText
      ? input.uri.scheme === SCHEME
      : input instanceof vscode.TabInputTextDiff &&
        [input.original, input.modified].some(({ scheme }) => scheme === SCHEME);
  const tabs = allTabs().filter((tab) => isTab(tab, title) || isOfPlan(tab));
  if (tabs.length > 0) await vscode.window.tabGroups.close(tabs);
}
