// Tabs that show held calls. A comparison of several files tells extensions nothing but its title.

import * as vscode from "vscode";

import { type Pause, shown } from "../server/protocol.ts";
import { callOf } from "./files.ts";
import { agentOf, quoted } from "../show/words.ts";
import type { Held } from "./held.ts";

export class HeldTabs {
  /** Titles of the calls that are held, or still shown. */
  private readonly titles = new Map<string, string>();

  constructor(private readonly held: Held) {}

  /** Title of a call's comparison: another one than that of each other call. It stays while the call is held. */
  titleOf(pause: Pause): string {
    this.entitle();
    return this.titles.get(keyOf(pause)) ?? nextTitle(pause, new Set(this.titles.values()));
  }

  /** Gives each held call a title, the oldest first. */
  private entitle(): void {
    const held = new Set(this.held.pauses.map(keyOf));
    const tabs = allTabs();
    for (const [key, title] of this.titles) {
      if (!held.has(key) && !tabs.some((tab) => hasTitle(tab, title))) this.titles.delete(key);
    }
    for (const pause of this.held.pauses) {
      const key = keyOf(pause);
      if (!this.titles.has(key)) this.titles.set(key, nextTitle(pause, new Set(this.titles.values())));
    }
  }

  /** The held call that a tab shows. */
  callOf(tab: vscode.Tab | undefined): Pause | undefined {
    return tab && this.held.pauses.find((pause) => this.isOf(tab, pause));
  }

  active(): Pause | undefined {
    return this.callOf(vscode.window.tabGroups.activeTabGroup.activeTab);
  }

  of(pause: Pause): vscode.Tab[] {
    return allTabs().filter((tab) => this.isOf(tab, pause));
  }

  private isOf(tab: vscode.Tab, pause: Pause): boolean {
    const uris = urisOf(tab);
    if (uris.length > 0) {
      const calls = uris.map(callOf);
      return calls.some((call) => call?.id === pause.id && call.root === shown(pause.root));
    }
    return hasTitle(tab, this.titleOf(pause));
  }

  /** True if a tab of the call is in front in its group. */
  isVisible(pause: Pause): boolean {
    return this.of(pause).some(({ isActive }) => isActive);
  }

  /** Tabs of calls that are no longer held, without the user's changes. */
  stale(): vscode.Tab[] {
    const isOver = (uri: vscode.Uri) => {
      const call = callOf(uri);
      return call !== undefined && this.held.find(call.id, call.root) === undefined;
    };
    return allTabs().filter((tab) => !tab.isDirty && urisOf(tab).some(isOver));
  }
}

/** Documents of a tab; none of a comparison of several files. */
function urisOf({ input }: vscode.Tab): vscode.Uri[] {
  if (input instanceof vscode.TabInputTextDiff) return [input.modified, input.original];
  return input instanceof vscode.TabInputText ? [input.uri] : [];
}

function allTabs(): vscode.Tab[] {
  return vscode.window.tabGroups.all.flatMap(({ tabs }) => tabs);
}

/** True for the tab of a comparison. VS Code adds the number of files to the title. */
function hasTitle({ label }: vscode.Tab, title: string): boolean {
  return label === title || label.startsWith(`${title} (`);
}

function keyOf(pause: Pause): string {
  return `${pause.id} ${shown(pause.root)}`;
}

/** The call and the prompt of its turn; with the same words as another one also its session, or a number. */
function nextTitle(pause: Pause, taken: ReadonlySet<string>): string {
  const named = [vscode.l10n.t("Held: {0}", pause.summary), quoted(pause.prompt)].filter(Boolean).join(" · ");
  const isFree = (title: string) => !taken.has(title);
  if (isFree(named)) return named;
  const ofSession = `${named} · ${agentOf(pause)}`;
  let title = ofSession;
  for (let number = 2; !isFree(title); number++) title = `${ofSession} · ${number}`;
  return title;
}
