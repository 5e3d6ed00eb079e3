// Tabs that show held calls. A comparison of several files tells extensions nothing but its title.

import * as vscode from "vscode";

import { type Pause, shown } from "../server/protocol.ts";
import { callOf } from "./files.ts";
import { line } from "../show/words.ts";
import type { Held } from "./held.ts";

export class HeldTabs {
  constructor(private readonly held: Held) {}

  /** Title of a call's comparison: another one than that of each other held call. */
  titleOf(pause: Pause): string {
    const title = plainTitle(pause);
    const isTaken = this.held.pauses.some((other) => other !== pause && plainTitle(other) === title);
    return isTaken ? withId(pause) : title;
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
    const has = (title: string) => tab.label === title || tab.label.startsWith(`${title} (`);
    if (has(withId(pause))) return true;
    // the older one of two calls with the same title has it
    const same = this.held.pauses.filter((other) => plainTitle(other) === plainTitle(pause));
    return has(plainTitle(pause)) && (same[0] === undefined || same[0].id === pause.id);
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

/** The call, and the prompt of its turn. */
function plainTitle(pause: Pause): string {
  const title = vscode.l10n.t("Held: {0}", pause.summary);
  const prompt = line(pause.prompt ?? "", 40);
  return prompt === "" ? title : `${title} · “${prompt}”`;
}

function withId(pause: Pause): string {
  return `${plainTitle(pause)} · ${pause.id}`;
}
