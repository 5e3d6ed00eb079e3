// Rewrites `await` outside of functions to plain calls: `eval` does not accept it, and the thread cannot wait while it is paused.
"use strict";

const AsyncFunction = Object.getPrototypeOf(async () => undefined).constructor;

const TRIVIA = /(?:\s|\/\/.*|\/\*[^]*?\*\/)+/y;
const WORD = /#?(?:[\p{ID_Start}$_]|\\u\{[\da-f]+\}|\\u[\da-f]{4})(?:[\p{ID_Continue}$\u200c\u200d]|\\u\{[\da-f]+\}|\\u[\da-f]{4})*/iuy;
const NUMBER = /\.?\d(?:[\w.]|(?<=e)[+-])*/iy;
const STRING = /"(?:[^"\\\n\r]|\\(?:\r\n|[^]))*"|'(?:[^'\\\n\r]|\\(?:\r\n|[^]))*'/y;
const REGEX = /\/(?![*/])(?:[^\\/[\n\r]|\\.|\[(?:[^\]\\\n\r]|\\.)*\])+\/[\p{ID_Continue}$]*/uy;
const CHUNK = /(?:[^`\\$]|\\[^]|\$(?!\{))*/y;
const MARK = /\?\.(?!\d)|\.\.\.|=>|\+\+|--|[^]/y;

/** Words after which an operand begins. */
const OPERATORS = new Set("return typeof instanceof in of new delete void throw case do else yield await extends".split(" "));
/** Words whose parentheses are not an operand. */
const HEADS = new Set(["if", "while", "for", "with"]);
/** Tokens before the operand of a unary operator. */
const UNARY = new Set(["await", "typeof", "void", "delete", "new", "!", "~", "+", "-", "++", "--"]);
/** Marks and values that continue no expression. */
const BEGINNINGS = /^(?:[{~"'\d]|\.\d|\+\+|--)/;
const CLOSING = { ")": "(", "]": "[", "}": "{" };

/**
 * The tokens of a source: `{text, start, end, isWord, isValue, isAfterLine, close}`. `isValue`: a value may end there, so that a `/`
 * divides it. `close`: the token that closes this bracket, or this template.
 */
function scan(source) {
  const tokens = [];
  const open = [];
  let at = 0;
  let isAfterLine = false;
  const match = (pattern) => {
    pattern.lastIndex = at;
    const found = pattern.exec(source);
    return found === null ? undefined : found[0];
  };
  const add = (text, facts) => {
    tokens.push({ text, start: at, end: at + text.length, isWord: false, isValue: false, isAfterLine, ...facts });
    at += text.length;
    isAfterLine = false;
  };
  /** A part of a template: up to a substitution, or to its end. */
  const chunk = (first) => {
    at += first.length;
    const text = match(CHUNK);
    at -= first.length;
    const rest = source.startsWith("${", at + first.length + text.length) ? "${" : "`";
    const opening = first === "`" ? tokens.length : open.pop();
    add(first + text + rest, { isValue: rest === "`", isTemplate: true });
    if (rest === "`") tokens[opening].close = tokens.length - 1;
    else open.push(opening);
  };
  while (at < source.length) {
    const trivia = match(TRIVIA);
    if (trivia !== undefined) {
      isAfterLine ||= /[\n\r\u2028\u2029]/.test(trivia);
      at += trivia.length;
      continue;
    }
    const last = tokens.at(-1);
    const word = match(WORD);
    if (word !== undefined) {
      add(word, { isWord: true, isValue: isProperty(tokens, tokens.length) || !OPERATORS.has(word) });
      continue;
    }
    const value = match(NUMBER) ?? match(STRING) ?? (last?.isValue === true ? undefined : match(REGEX));
    if (value !== undefined) {
      add(value, { isValue: true });
      continue;
    }
    const mark = match(MARK);
    const top = tokens[open.at(-1)];
    if (mark === "`" || (mark === "}" && top?.isTemplate === true)) chunk(mark);
    else if (mark === "(" || mark === "[" || mark === "{") {
      open.push(tokens.length);
      add(mark, { isObject: mark === "{" && isObject(tokens, top) });
    } else if (top !== undefined && CLOSING[mark] === top.text) {
      const opening = open.pop();
      top.close = tokens.length;
      add(mark, { isValue: mark === "]" || (mark === ")" ? !isHead(tokens, opening) : top.isObject) });
    } else add(mark, { isValue: mark === "++" || mark === "--" });
  }
  return tokens;
}

/** True for the name of a property: `x.await`. */
function isProperty(tokens, at) {
  const before = tokens[at - 1]?.text;
  return before === "." || before === "?.";
}

/** True for the parenthesis of `if (…)` and its like. */
function isHead(tokens, opening) {
  const at = tokens[opening - 1]?.text === "await" ? opening - 2 : opening - 1;
  return HEADS.has(tokens[at]?.text) && !isProperty(tokens, at);
}

/** True if a brace here begins an object, not a block. */
function isObject(tokens, top) {
  const last = tokens.at(-1);
  if (last === undefined || last.isValue) return false;
  if (last.isWord) return last.text !== "do" && last.text !== "else";
  if (last.text === ":") return top !== undefined && (top.text !== "{" || top.isObject);
  return ![")", ";", "{", "}", "=>"].includes(last.text);
}

/** The last token of the function whose parameters begin at or after `at`. */
function functionEnd(tokens, at) {
  for (const bracket of ["(", "{"]) {
    while (at < tokens.length && tokens[at].text !== bracket) at += 1;
    at = tokens[at]?.close ?? tokens.length;
  }
  return at;
}

/** The last token of an operand of a unary operator, which begins at `at`. */
function operandEnd(tokens, at) {
  while (UNARY.has(tokens[at]?.text) && tokens[at + 1]?.text !== ".") at += 1;
  if (tokens[at]?.text === "async" && tokens[at + 1]?.text === "function") at += 1;
  if (tokens[at]?.text === "function") at = functionEnd(tokens, at);
  else if (tokens[at]?.text === "class") {
    while (at < tokens.length && tokens[at].text !== "{") at = (tokens[at].close ?? at) + 1;
    at = tokens[at]?.close ?? at;
  } else at = tokens[at]?.close ?? at;
  for (;;) {
    const next = tokens[at + 1];
    if (next?.text === ".") at += 2;
    else if (next?.text === "?.") at = tokens[at + 2]?.close ?? at + 2;
    else if (next?.text === "(" || next?.text === "[" || next?.isTemplate === true) {
      // the end of the template around the operand
      if (next.close === undefined) return at;
      at = next.close;
    } else if ((next?.text === "++" || next?.text === "--") && !next.isAfterLine) at += 1;
    else return at;
  }
}

/** The last token of an expression without a comma, which begins at `at`. */
function expressionEnd(tokens, at) {
  let choices = 0;
  for (let next = at; ; ) {
    const token = tokens[next];
    if (token === undefined || /^[,;)\]}]/.test(token.text) || (token.text === ":" && choices === 0)) return next - 1;
    const begins = token.isWord ? !["in", "instanceof"].includes(token.text) : BEGINNINGS.test(token.text);
    if (next > at && token.isAfterLine && tokens[next - 1].isValue && begins) return next - 1;
    if (token.text === "?") choices += 1;
    if (token.text === ":") choices -= 1;
    next = (token.close ?? next) + 1;
  }
}

/** The last token of the asynchronous function that begins with the word `async` at `at`; undefined if it is another word. */
function asyncEnd(tokens, at) {
  const next = tokens[at + 1];
  if (next === undefined || next.isAfterLine) return undefined;
  if (next.text === "function") return functionEnd(tokens, at + 1);
  const arrow = (next.text === "(" ? (next.close ?? at) : at + 1) + 1;
  if (tokens[arrow]?.text === "=>") {
    const body = tokens[arrow + 1];
    return body?.text === "{" ? body.close : expressionEnd(tokens, arrow + 1);
  }
  // a method: `async name() {}`, `async *[name]() {}`
  const name = next.text === "*" ? at + 2 : at + 1;
  const list = (tokens[name]?.close ?? name) + 1;
  const body = tokens[tokens[list]?.close + 1];
  return next.text !== "(" && tokens[list]?.text === "(" && body?.text === "{" ? body.close : undefined;
}

/** True for the word `await` as a name: of a property, a method or a field. */
function isName(tokens, at) {
  const next = tokens[at + 1];
  if (isProperty(tokens, at) || next === undefined || /^[=:;,)\]}]/.test(next.text)) return true;
  const after = tokens[next.close + 1];
  return next.text === "(" && after?.text === "{" && !after.isAfterLine;
}

/** `source` with `NAME.await(x)` for each `await x` outside of functions, and `for (x of NAME.each(y))` for `for await (x of y)`. */
function rewrite(source, name) {
  const tokens = scan(source);
  const edits = [];
  const wrap = (first, last, call) => {
    edits.push({ start: tokens[first].start, end: tokens[first].start, text: call });
    edits.push({ start: tokens[last].end, end: tokens[last].end, text: ")" });
  };
  for (let at = 0; at < tokens.length; at += 1) {
    const { text, start, end } = tokens[at];
    if (isProperty(tokens, at)) continue;
    if (text === "function" && tokens[at + 1]?.text !== ":") at = functionEnd(tokens, at);
    else if (text === "async") at = asyncEnd(tokens, at) ?? at;
    else if (text === "await" && tokens[at - 1]?.text === "for") {
      edits.push({ start, end, text: "" });
      const close = tokens[at + 1]?.close;
      let of = at + 3;
      while (of < close && (tokens[of].text !== "of" || !tokens[of - 1].isValue || /^(?:const|let|var)$/.test(tokens[of - 1].text))) {
        of = (tokens[of].close ?? of) + 1;
      }
      if (of + 1 < close) wrap(of + 1, close - 1, `${name}.each(`);
    } else if (text === "await" && !isName(tokens, at)) {
      const last = Math.min(operandEnd(tokens, at + 1), tokens.length - 1);
      edits.push({ start, end, text: `${name}.await(` }, { start: tokens[last].end, end: tokens[last].end, text: ")" });
    }
  }
  let made = "";
  let done = 0;
  // the sort is stable: edits at one place stay in their order
  for (const edit of edits.sort((a, b) => a.start - b.start)) {
    made += source.slice(done, edit.start) + edit.text;
    done = edit.end;
  }
  return made + source.slice(done);
}

/** True for a text that can be run, apart from `await`. */
function parses(source) {
  try {
    new AsyncFunction(source);
    return true;
  } catch {
    return false;
  }
}

/** The source without `await` outside of functions. `isProgram` tells if the engine accepts a text as it is. */
function withoutAwait(source, name, isProgram) {
  if (!/\bawait\b/.test(source)) return source;
  if (!parses(source)) {
    // a name in the code of a script
    if (isProgram(source)) return source;
    new AsyncFunction(source);
  }
  const made = rewrite(source, name);
  if (made !== source && !isProgram(made)) {
    throw new SyntaxError("an `await` of this input has a place that is not supported: give its value a name in an input before");
  }
  return made;
}

module.exports = { parses, scan, withoutAwait };
