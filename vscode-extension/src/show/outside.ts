// Texts from outside: names of files, prompts, branches, texts of agents. The one place that puts them into labels with icons and
// into Markdown, and that makes links which run commands. `server/docs/outside_text.md` lists the texts and the places.

import * as vscode from "vscode";

/** Escapes the syntax of icons, for a label. */
export function withoutIcons(text: string): string {
  return text.replaceAll("$(", "\\$(");
}

/** Breaks the syntax of links, which VS Code reads in messages: one with `command:` would run it. */
function withoutLinks(text: string): string {
  return text.replaceAll("](", "] (");
}

/** Shows a message with choices, and returns the chosen one. */
interface ShowMessage {
  <T extends string>(text: string, ...choices: T[]): Thenable<T | undefined>;
  <T extends vscode.MessageItem>(text: string, ...choices: T[]): Thenable<T | undefined>;
}

function plainly(show: ShowMessage): ShowMessage {
  return (text: string, ...choices: string[]) => show(withoutLinks(text), ...choices);
}

/** Messages whose texts run nothing. */
export const inform = plainly(vscode.window.showInformationMessage);
export const warn = plainly(vscode.window.showWarningMessage);
export const alarm = plainly(vscode.window.showErrorMessage);

/** Escapes markup, and keeps line breaks. `appendText` makes each blank one that does not break. */
export function escaped(text: string): string {
  return text
    .replace(/[\\`*_{}[\]()#+\-.!|~$&<>]/g, (mark) =>
      mark === "<" ? "&lt;" : mark === "&" ? "&amp;" : `\\${mark}`,
    )
    .replace(/\r?\n/g, "  \n");
}

/** A text in Markdown that runs nothing. Without icons: a prompt may have their syntax. */
export function markdown(): vscode.MarkdownString {
  return new vscode.MarkdownString("", false);
}

/** A link that runs a command of ours. */
export interface CommandLink {
  title: string;
  command: `backstitch.${string}`;
  argument: object;
}

/** Links after our own text. Nothing but their commands can be run from it. */
export function links(own: string, all: readonly CommandLink[]): vscode.MarkdownString {
  const shown = all.map(({ title, command, argument }) => {
    const encoded = encodeURIComponent(JSON.stringify([argument]));
    // these would end the link
    const safe = encoded.replace(/[()!'*]/g, (mark) => `%${mark.charCodeAt(0).toString(16).toUpperCase()}`);
    return `[${escaped(title)}](command:${command}?${safe})`;
  });
  const text = new vscode.MarkdownString([own, shown.join(" · ")].filter(Boolean).join(" "));
  text.isTrusted = { enabledCommands: all.map(({ command }) => command) };
  return text;
}
