// The page of a web view: its script from `dist`, its style from `media`, both of one name. No remote content, nothing inline.

import { randomBytes } from "node:crypto";

import * as vscode from "vscode";

/** Fills a web view. The page's script finds the nonce for its own styles at the body. */
export function fill(webview: vscode.Webview, extension: vscode.Uri, name: string): void {
  const dist = vscode.Uri.joinPath(extension, "dist");
  const media = vscode.Uri.joinPath(extension, "media");
  webview.options = { enableScripts: true, localResourceRoots: [dist, media] };
  const script = webview.asWebviewUri(vscode.Uri.joinPath(dist, `${name}.js`)).toString();
  const style = webview.asWebviewUri(vscode.Uri.joinPath(media, `${name}.css`)).toString();
  const nonce = randomBytes(16).toString("base64");
  const from = webview.cspSource;
  const csp = `default-src 'none'; script-src ${from}; style-src ${from} 'nonce-${nonce}'; font-src ${from}`;
  webview.html = `<!DOCTYPE html>
<html lang="${vscode.env.language}">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${csp}">
<link rel="stylesheet" href="${style}">
</head>
<body data-nonce="${nonce}"><script src="${script}"></script></body>
</html>`;
}
