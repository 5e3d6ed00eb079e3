// The server's settings from VS Code. Unset ones are not sent: configuration files may set them.

import * as vscode from "vscode";

import { KEYS } from "./keys.ts";

/** Keys that are options of the language server's start, where VS Code has its own defaults. */
export const START_OPTIONS = ["lensForm", "codeActions", "hover"] as const;

type Settings = Record<string, unknown>;

export function startOptions(): Record<string, string> {
  const all = vscode.workspace.getConfiguration("backstitch");
  const known = START_OPTIONS.map((key) => [key, all.get(key)]);
  return Object.fromEntries(known.filter(([, value]) => typeof value === "string")) as Record<string, string>;
}

export function settings(scope?: vscode.Uri): Settings {
  const all = vscode.workspace.getConfiguration("backstitch", scope);
  const keys = KEYS.filter((key) => {
    const where = all.inspect(key);
    const values = [where?.globalValue, where?.workspaceValue, where?.workspaceFolderValue];
    return values.some((value) => value !== undefined);
  });
  const sent: Settings = {};
  for (const key of keys) {
    const value = all.get(key);
    // an empty directory means unset
    if (value === "") continue;
    const [section, name] = key.split(".");
    if (section === undefined || name === undefined) sent[key] = value;
    else sent[section] = { ...(sent[section] as Settings | undefined), [name]: value };
  }
  return sent;
}
