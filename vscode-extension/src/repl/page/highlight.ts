// Languages of the REPL, and the highlighting of a text that is not edited. Classes only: the page's style has the colours.

import { type Language, StreamLanguage, type StringStream } from "@codemirror/language";
import { javascript } from "@codemirror/legacy-modes/mode/javascript";
import { python } from "@codemirror/legacy-modes/mode/python";
import { classHighlighter, highlightCode } from "@lezer/highlight";

type JqState = { kind: "start" | "jq" | "command" | "shell" };

const KEYWORDS = /^(?:and|as|def|elif|else|end|foreach|if|import|include|label|or|reduce|then|try|catch)\b/;
const ATOMS = /^(?:true|false|null)\b/;

const javascriptLanguage = StreamLanguage.define(javascript);
const pythonLanguage = StreamLanguage.define(python);

/** jq, with the two forms of a held call beside it: `!command` for the shell and `:set PATH VALUE`. */
const jqLanguage = StreamLanguage.define<JqState>({
  name: "jq",
  startState: () => ({ kind: "start" }),
  token(stream, state) {
    if (stream.eatSpace()) return null;
    if (state.kind === "start") {
      if (stream.eat("!") !== undefined) {
        state.kind = "shell";
        return "keyword";
      }
      state.kind = stream.peek() === ":" ? "command" : "jq";
      if (state.kind === "command") {
        stream.match(/^:\w*/);
        return "keyword";
      }
    }
    if (stream.match(/^#.*/) !== null && state.kind !== "command") return "comment";
    if (quoted(stream)) return "string";
    if (stream.match(/^\$\w+/) !== null) return "variableName";
    if (state.kind === "shell") {
      if (stream.match(/^--?[\w-]+/) !== null) return "propertyName";
      if (stream.match(/^(?:\|\|?|&&?|;|>>?|<)/) !== null) return "operator";
      if (stream.match(/^[^\s"'#$|&;<>]+/) === null) stream.next();
      return null;
    }
    if (stream.match(/^\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/) !== null) return "number";
    if (stream.match(KEYWORDS) !== null) return "keyword";
    if (stream.match(ATOMS) !== null) return "atom";
    if (stream.match(/^\.[A-Za-z_]\w*/) !== null) return "propertyName";
    if (stream.match(/^[A-Za-z_]\w*/) !== null) return null;
    stream.next();
    return "operator";
  },
});

function quoted(stream: StringStream): boolean {
  const quote = stream.peek();
  if (quote !== '"' && quote !== "'") return false;
  stream.next();
  for (let next = stream.next(); next !== undefined && next !== quote; next = stream.next()) {
    if (next === "\\") stream.next();
  }
  return true;
}

export function languageOf(name: string): Language {
  if (name === "python") return pythonLanguage;
  return name === "javascript" ? javascriptLanguage : jqLanguage;
}

/** Appends the text with a class for each of its tokens. */
export function highlighted(into: HTMLElement, text: string, language: string): void {
  highlightCode(
    text,
    languageOf(language).parser.parse(text),
    classHighlighter,
    (code, classes) => {
      if (classes === "") {
        into.append(code);
      } else {
        const token = document.createElement("span");
        token.className = classes;
        token.textContent = code;
        into.append(token);
      }
    },
    () => {
      into.append("\n");
    },
  );
}
