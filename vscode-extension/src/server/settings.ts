// The server's settings as the user has them: what nobody said is left to the server, where files may say it.

import * as vscode from "vscode";

/** Of `package.json`. Those of the extension itself would be unknown to the server. */
const KEYS = [
  "codeLens",
  "capture.exclude",
  "capture.include",
  "capture.maxFileSize",
  "restore.default",
  "store.dir",
  "store.keepDays",
  "store.maxBytes",
  "checkpoints.max",
] as const;

type Settings = Record<string, unknown>;

export function settings(scope?: vscode.Uri): Settings {
  const all = vscode.workspace.getConfiguration("backstitch", scope);
  const said = KEYS.filter((key) => {
    const where = all.inspect(key);
    const values = [where?.globalValue, where?.workspaceValue, where?.workspaceFolderValue];
    return values.some((value) => value !== undefined);
  });
  const told: Settings = {};
  for (const key of said) {
    const value = all.get(key);
    // an empty directory is none
    if (value === "") continue;
    const [section, name] = key.split(".");
    if (section === undefined || name === undefined) told[key] = value;
    else told[section] = { ...(told[section] as Settings | undefined), [name]: value };
  }
  return told;
}
