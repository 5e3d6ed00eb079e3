// Icons in the gutter. VS Code draws one icon of an extension in a line, so that those of one line are drawn as one: a
// breakpoint stands over the bar of an agent's line. They move with each edit, until their owner has read the lines anew.

import * as vscode from "vscode";

import type { Ctx } from "../ctx.ts";
import { type Span, type TextEdit, movedSpan } from "./lines.ts";

/** Sign of a line. The first icon whose signs it has is drawn; a bar shows beside a breakpoint. */
export type Sign = "held" | "stop" | "stop-off" | "agent-line" | "agent-removed";
/** Owner of marks. */
export type Layer = "held" | "stops" | "agents";
/** Lines with a sign, from 0, the end excluded. */
export type Mark = Span & { sign: Sign; hover?: vscode.MarkdownString };

/** A mark that moves. `setAt`: its first line as its owner has set it. */
type Placed = Mark & { setAt: number };

/** Icons by the signs of a line, in the order in which they are looked for. */
const ICONS = [
  { name: "held", signs: ["held"] },
  { name: "stop-agent", signs: ["stop", "agent-line"] },
  { name: "stop-off-agent", signs: ["stop-off", "agent-line"] },
  { name: "stop", signs: ["stop"] },
  { name: "stop-off", signs: ["stop-off"] },
  { name: "agent-line", signs: ["agent-line"] },
  { name: "agent-removed", signs: ["agent-removed"] },
] as const satisfies readonly { name: string; signs: readonly Sign[] }[];

type Icon = (typeof ICONS)[number]["name"];

export class Gutter implements vscode.Disposable {
  private readonly types = new Map<Icon, vscode.TextEditorDecorationType>();
  /** By URI of a document. */
  private readonly marks = new Map<string, Map<Layer, readonly Placed[]>>();
  private readonly disposables: vscode.Disposable[];

  constructor(ctx: Ctx) {
    const icon = (name: string) => vscode.Uri.joinPath(ctx.extension.extensionUri, "media", `${name}.svg`);
    for (const { name } of ICONS) {
      const type = vscode.window.createTextEditorDecorationType({
        isWholeLine: true,
        gutterIconSize: "contain",
        light: { gutterIconPath: icon(`${name}-light`) },
        dark: { gutterIconPath: icon(`${name}-dark`) },
        rangeBehavior: vscode.DecorationRangeBehavior.ClosedClosed,
        ...ruler(name),
      });
      this.types.set(name, type);
    }
    this.disposables = [
      ...this.types.values(),
      vscode.workspace.onDidChangeTextDocument((change) => {
        this.move(change);
      }),
      // breakpoints stay: they are there without a document
      vscode.workspace.onDidCloseTextDocument(({ uri }) => {
        this.marks.get(uri.toString())?.delete("agents");
      }),
      vscode.window.onDidChangeVisibleTextEditors((editors) => {
        for (const editor of editors) this.draw(editor);
      }),
    ];
  }

  /** Replaces the marks of a layer in a document. */
  set(layer: Layer, uri: vscode.Uri, marks: readonly Mark[]): void {
    const key = uri.toString();
    const layers = this.marks.get(key) ?? new Map<Layer, readonly Placed[]>();
    if ((layers.get(layer) ?? []).length === 0 && marks.length === 0) return;
    layers.set(
      layer,
      marks.map((mark) => ({ ...mark, setAt: mark.start })),
    );
    this.marks.set(key, layers);
    this.redraw(key);
  }

  /** Replaces the marks of a layer in all documents. */
  setAll(layer: Layer, wanted: ReadonlyMap<string, readonly Mark[]>): void {
    for (const key of new Set([...this.marks.keys(), ...wanted.keys()])) {
      this.set(layer, vscode.Uri.parse(key), wanted.get(key) ?? []);
    }
  }

  /** Where a mark stands now that was set at this line. */
  lineOf(layer: Layer, uri: vscode.Uri, line: number): number {
    const marks = this.marks.get(uri.toString())?.get(layer) ?? [];
    return marks.find((mark) => mark.setAt === line)?.start ?? line;
  }

  private move({ document, contentChanges }: vscode.TextDocumentChangeEvent): void {
    const key = document.uri.toString();
    const layers = this.marks.get(key);
    if (layers === undefined || contentChanges.length === 0) return;
    // an edit within lines moves none
    const edits = contentChanges
      .map(editOf)
      .filter(({ start, end, brought }) => end.line - start.line !== brought);
    if (edits.length === 0) return;
    for (const edit of edits) {
      for (const [layer, marks] of layers) {
        layers.set(
          layer,
          marks.map((mark) => ({ ...mark, ...movedSpan(mark, edit) })),
        );
      }
    }
    this.redraw(key);
  }

  private redraw(key: string): void {
    for (const editor of vscode.window.visibleTextEditors) {
      if (editor.document.uri.toString() === key) this.draw(editor);
    }
  }

  private draw(editor: vscode.TextEditor): void {
    const layers = this.marks.get(editor.document.uri.toString());
    if (layers === undefined) return;
    const last = editor.document.lineCount - 1;
    const lines = new Map<number, Mark[]>();
    for (const mark of [...layers.values()].flat()) {
      const start = Math.max(0, Math.min(mark.start, last));
      const end = Math.max(start + 1, Math.min(mark.end, last + 1));
      for (let line = start; line < end; line++) lines.set(line, [...(lines.get(line) ?? []), mark]);
    }
    const drawn = new Map<Icon, vscode.DecorationOptions[]>();
    for (const [line, marks] of [...lines].sort(([one], [other]) => one - other)) {
      const has = (sign: Sign) => marks.some((mark) => mark.sign === sign);
      const icon = ICONS.find(({ signs }) => signs.every(has));
      if (icon === undefined) continue;
      const options = drawn.get(icon.name) ?? [];
      const hoverMessage = marks.flatMap(({ hover }) => hover ?? []);
      const above = options.at(-1);
      if (hoverMessage.length > 0) {
        options.push({ range: new vscode.Range(line, 0, line, 0), hoverMessage });
      } else if (
        above !== undefined &&
        above.hoverMessage === undefined &&
        above.range.end.line === line - 1
      ) {
        above.range = new vscode.Range(above.range.start.line, 0, line, 0);
      } else options.push({ range: new vscode.Range(line, 0, line, 0) });
      drawn.set(icon.name, options);
    }
    for (const [name, type] of this.types) editor.setDecorations(type, drawn.get(name) ?? []);
  }

  dispose(): void {
    for (const each of this.disposables) each.dispose();
  }
}

/** An edit of VS Code's. */
export function editOf({ range, text }: vscode.TextDocumentContentChangeEvent): TextEdit {
  const { start, end } = range;
  return {
    start: { line: start.line, character: start.character },
    end: { line: end.line, character: end.character },
    brought: text.split("\n").length - 1,
  };
}

/** Sign in the scroll bar. */
function ruler(name: Icon): vscode.DecorationRenderOptions {
  const { Left, Center, Full } = vscode.OverviewRulerLane;
  const color = (id: string, lane: vscode.OverviewRulerLane) => ({
    overviewRulerColor: new vscode.ThemeColor(id),
    overviewRulerLane: lane,
  });
  switch (name) {
    case "agent-line":
      return color("backstitch.agentLine", Left);
    case "agent-removed":
      return color("backstitch.agentLine", Center);
    case "held":
      return color("list.warningForeground", Full);
    case "stop":
    case "stop-off":
    case "stop-agent":
    case "stop-off-agent":
      return color("list.warningForeground", Center);
  }
}
