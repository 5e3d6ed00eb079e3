// The line that a held call changes, marked in the file itself, and a note in the comparison that its right side can be edited.

import * as vscode from "vscode";

import type { Gutter, Mark } from "../code/gutter.ts";
import type { Ctx, Disposable } from "../ctx.ts";
import { onDisk } from "../documents/open.ts";
import { type Pause, shown } from "../server/protocol.ts";
import { escaped, links } from "../show/outside.ts";
import { agentOf } from "../show/words.ts";
import { type HeldFiles, callOf } from "./files.ts";
import { type Held, kindOf, takesChanges } from "./held.ts";

/** Place of a held call in a file. */
type HeldLine = { uri: vscode.Uri; line: number; pause: Pause };

export class HeldMarks implements vscode.Disposable {
  private readonly disposables: Disposable[];
  private readonly line = vscode.window.createTextEditorDecorationType({
    isWholeLine: true,
    backgroundColor: new vscode.ThemeColor("editor.stackFrameHighlightBackground"),
  });
  private readonly note = vscode.window.createTextEditorDecorationType({
    after: { color: new vscode.ThemeColor("editorCodeLens.foreground"), margin: "0 0 0 2em" },
  });
  private lines: HeldLine[] = [];
  /** Calls whose places are known. */
  private readonly known = new Map<string, HeldLine[]>();

  constructor(
    private readonly ctx: Ctx,
    private readonly held: Held,
    private readonly files: HeldFiles,
    private readonly gutter: Gutter,
  ) {
    const draw = () => {
      for (const editor of vscode.window.visibleTextEditors) this.draw(editor);
    };
    this.disposables = [
      this.line,
      this.note,
      held.onDidChange(() => void this.read()),
      files.onDidPredict(draw),
      vscode.window.onDidChangeVisibleTextEditors(draw),
      vscode.workspace.onDidChangeTextDocument(draw),
    ];
  }

  private async read(): Promise<void> {
    const before = [...this.known.keys()].join();
    const calls = this.held.held().filter((pause) => kindOf(pause) === "call");
    const keys = new Set(calls.map(keyOf));
    for (const key of this.known.keys()) if (!keys.has(key)) this.known.delete(key);
    for (const pause of calls) {
      if (this.known.has(keyOf(pause))) continue;
      this.known.set(keyOf(pause), []);
      try {
        const about = { pause: pause.id, workspace: shown(pause.root) };
        const { predicted } = await this.ctx.request("backstitch/pause", about);
        const places = predicted.map(({ path, line }) => ({
          uri: onDisk(shown(pause.root), path),
          line: line ?? 0,
          pause,
        }));
        this.known.set(keyOf(pause), places);
      } catch (error) {
        // it was over meanwhile
        this.ctx.log.debug(String(error));
      }
    }
    if ([...this.known.keys()].join() === before) return;
    // as far as they have moved with their texts
    this.lines = [...this.known.values()]
      .flat()
      .map((place) => ({ ...place, line: this.gutter.lineOf("held", place.uri, place.line) }));
    for (const key of this.known.keys()) {
      this.known.set(
        key,
        this.lines.filter(({ pause }) => keyOf(pause) === key),
      );
    }
    const marks = new Map<string, Mark[]>();
    for (const { uri, line, pause } of this.lines) {
      const mark: Mark = { start: line, end: line + 1, sign: "held", hover: hoverOf(pause) };
      marks.set(uri.toString(), [...(marks.get(uri.toString()) ?? []), mark]);
    }
    this.gutter.setAll("held", marks);
    for (const editor of vscode.window.visibleTextEditors) this.draw(editor);
  }

  private draw(editor: vscode.TextEditor): void {
    const { document } = editor;
    const say = vscode.l10n.t;
    const at = (line: number) => document.lineAt(Math.max(0, Math.min(line, document.lineCount - 1))).range;
    const side = this.sideOf(document);
    if (side !== undefined) {
      const { end } = at(side.line);
      editor.setDecorations(this.note, [
        { range: new vscode.Range(end, end), renderOptions: { after: { contentText: side.text } } },
      ]);
      return;
    }
    const here = this.lines.filter(({ uri }) => uri.toString() === document.uri.toString());
    // the mark in the gutter has moved with the text
    const line = (each: HeldLine) => this.gutter.lineOf("held", each.uri, each.line);
    editor.setDecorations(
      this.line,
      here.map((each) => at(line(each))),
    );
    const lines = new Map<number, HeldLine[]>();
    for (const each of here) lines.set(line(each), [...(lines.get(line(each)) ?? []), each]);
    const notes = [...lines].map(([number, all]): vscode.DecorationOptions => {
      const { end } = at(number);
      const agents = [...new Set(all.map(({ pause }) => agentOf(pause)))];
      const text =
        agents.length === 1
          ? say("held: {0} wants to change this", agents.join())
          : say("held: {0} want to change this", agents.join(", "));
      return {
        range: new vscode.Range(end, end),
        hoverMessage: all.map(({ pause }) => hoverOf(pause)),
        renderOptions: { after: { contentText: text } },
      };
    });
    editor.setDecorations(this.note, notes);
  }

  /** The words beside the first change of a side of a comparison: which side it is, and if it can be edited. */
  private sideOf(document: vscode.TextDocument): { line: number; text: string } | undefined {
    const say = vscode.l10n.t;
    const side = callOf(document.uri);
    const pause = side && this.held.find(side.id, side.root);
    const call = pause && this.files.known(pause);
    if (
      side === undefined ||
      side.kind === "input" ||
      side.kind === "command" ||
      pause === undefined ||
      call === undefined
    ) {
      return undefined;
    }
    const file = call.shown.predicted.find(({ path, movedFrom }) =>
      side.kind === "now" ? shown(movedFrom ?? path) === side.path : shown(path) === side.path,
    );
    if (file === undefined) return undefined;
    const line = file.line ?? 0;
    if (side.kind === "now") return { line, text: say("now") };
    if (!takesChanges(pause) || file.then === null) return { line, text: say("after the call") };
    const isChanged = call.isChanged || document.isDirty;
    return {
      line,
      text: isChanged ? say("after the call: your text runs") : say("after the call: you can edit this side"),
    };
  }

  dispose(): void {
    for (const each of this.disposables) each.dispose();
  }
}

function keyOf(pause: Pause): string {
  return `${pause.id} ${shown(pause.root)}`;
}

/** The words of an agent are text, never markup; the link is ours. */
function hoverOf(pause: Pause): vscode.MarkdownString {
  const say = vscode.l10n.t;
  const text = escaped(say("{0} wants to run {1} ({2})", agentOf(pause), pause.summary, pause.why));
  const argument = { pause: pause.id, workspace: shown(pause.root) };
  return links(text, [{ title: say("Show the Held Call"), command: "backstitch.inspect", argument }]);
}
