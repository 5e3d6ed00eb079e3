// Badges on rows with files that were not captured.

import * as vscode from "vscode";

const SCHEME = "backstitch-row";

/** URI of a row, by which VS Code asks for its badge. */
export function badged(id: string, missing: number): vscode.Uri {
  return vscode.Uri.from({ scheme: SCHEME, path: `/${id}`, query: String(missing) });
}

export class Badges implements vscode.FileDecorationProvider, vscode.Disposable {
  private readonly registered = vscode.window.registerFileDecorationProvider(this);

  provideFileDecoration(uri: vscode.Uri): vscode.FileDecoration | undefined {
    if (uri.scheme !== SCHEME) return undefined;
    const tooltip = vscode.l10n.t("{0} not captured", Number(uri.query));
    return new vscode.FileDecoration("!", tooltip, new vscode.ThemeColor("list.warningForeground"));
  }

  dispose(): void {
    this.registered.dispose();
  }
}
