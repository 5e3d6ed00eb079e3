// Looks of rows: a badge where files were not captured, a faint label where the work is undone.

import * as vscode from "vscode";

const SCHEME = "backstitch-row";
/** Colour of a row whose work is undone: faint, and readable. That of disabled text has a contrast of about 2. */
export const UNDONE_COLOR = "descriptionForeground";

/** Look of a row: number of files that were not captured, and if its work is undone. */
export type RowLook = { missing: number; isUndone: boolean };

/** URI of a row, by which VS Code asks for its look. */
export function badged(id: string, { missing, isUndone }: RowLook): vscode.Uri {
  const query = `${missing} ${isUndone ? "undone" : ""}`;
  return vscode.Uri.from({ scheme: SCHEME, path: `/${id}`, query });
}

export class Badges implements vscode.FileDecorationProvider, vscode.Disposable {
  private readonly registered = vscode.window.registerFileDecorationProvider(this);

  provideFileDecoration(uri: vscode.Uri): vscode.FileDecoration | undefined {
    if (uri.scheme !== SCHEME) return undefined;
    const [missing = "0", undone = ""] = uri.query.split(" ");
    const color = undone === "" ? "list.warningForeground" : UNDONE_COLOR;
    const said = [
      undone === "" ? "" : vscode.l10n.t("undone"),
      missing === "0" ? "" : vscode.l10n.t("{0} not captured", Number(missing)),
    ];
    return new vscode.FileDecoration(
      missing === "0" ? undefined : "!",
      said.filter(Boolean).join(", "),
      new vscode.ThemeColor(color),
    );
  }

  dispose(): void {
    this.registered.dispose();
  }
}
