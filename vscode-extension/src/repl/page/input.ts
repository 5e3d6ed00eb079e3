// The input of a session: Enter evaluates, Shift+Enter begins a new line, Up and Down at the edges take earlier inputs.

import { defaultKeymap, history, historyKeymap, insertNewlineKeepIndent } from "@codemirror/commands";
import { bracketMatching, indentUnit, syntaxHighlighting } from "@codemirror/language";
import { EditorState, Prec } from "@codemirror/state";
import { EditorView, keymap, placeholder } from "@codemirror/view";
import { classHighlighter } from "@lezer/highlight";

import { languageOf } from "./highlight.ts";

type Given = {
  /** Inputs of the session, oldest first. */
  earlier: readonly string[];
  language: string;
  label: string;
  hint: string;
  /** For styles: the page allows no others. */
  nonce: string;
  send: (text: string) => void;
};

export class Input {
  private readonly view: EditorView;
  private readonly earlier: string[];
  /** Place in the earlier inputs: their number is the text that is being typed. */
  private at: number;
  private draft = "";

  constructor(parent: HTMLElement, given: Given) {
    this.earlier = [...given.earlier];
    this.at = this.earlier.length;
    const state = EditorState.create({
      extensions: [
        Prec.highest(
          keymap.of([
            { key: "Enter", run: () => this.send(given.send), shift: insertNewlineKeepIndent },
            { key: "ArrowUp", run: () => this.recall(-1) },
            { key: "ArrowDown", run: () => this.recall(1) },
          ]),
        ),
        EditorView.cspNonce.of(given.nonce),
        EditorView.lineWrapping,
        EditorView.contentAttributes.of({ "aria-label": given.label }),
        keymap.of([...defaultKeymap, ...historyKeymap]),
        history(),
        placeholder(given.hint),
        indentUnit.of(given.language === "python" ? "    " : "  "),
        languageOf(given.language).extension,
        syntaxHighlighting(classHighlighter),
        bracketMatching(),
      ],
    });
    this.view = new EditorView({ state, parent });
  }

  get text(): string {
    return this.view.state.doc.toString();
  }

  /** Replaces the text. The cursor is at the end of its first or of its last line. */
  set(text: string, line: "first" | "last" = "last"): void {
    const end = text.indexOf("\n");
    const anchor = line === "first" && end >= 0 ? end : text.length;
    const changes = { from: 0, to: this.view.state.doc.length, insert: text };
    this.view.dispatch({ changes, selection: { anchor }, scrollIntoView: true });
  }

  focus(): void {
    this.view.focus();
  }

  /** Notes an input of the session, also one that another viewer has sent. */
  note(text: string): void {
    const isLast = this.at === this.earlier.length;
    if (this.earlier.at(-1) !== text) this.earlier.push(text);
    if (isLast) this.at = this.earlier.length;
  }

  remove(): void {
    this.view.destroy();
  }

  private send(send: (text: string) => void): boolean {
    const { text } = this;
    if (this.view.composing || text.trim() === "") return true;
    this.note(text);
    this.at = this.earlier.length;
    this.draft = "";
    this.set("");
    send(text);
    return true;
  }

  /** Takes an earlier or a later input where the cursor is in the first or in the last line. */
  private recall(by: -1 | 1): boolean {
    const { doc, selection } = this.view.state;
    const line = doc.lineAt(selection.main.head).number;
    const isAtEdge = selection.main.empty && line === (by < 0 ? 1 : doc.lines);
    const at = this.at + by;
    if (!isAtEdge || at < 0 || at > this.earlier.length) return false;
    if (this.at === this.earlier.length) this.draft = this.text;
    this.at = at;
    this.set(this.earlier[at] ?? this.draft, by < 0 ? "first" : "last");
    return true;
  }
}
