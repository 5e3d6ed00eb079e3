// Script of the REPL's page: the list of sessions, and one session with its transcript and its input. Output of programs is
// shown as text.

import type { FromPage, Line, Row, ToPage, Words } from "../messages.ts";

declare function acquireVsCodeApi(): { postMessage: (message: FromPage) => void };

const editor = acquireVsCodeApi();
const page = document.body;
/** Inputs of this page, oldest first. */
const history: string[] = [];
let shownSession: string | undefined;
let transcript: HTMLElement | undefined;
let input: HTMLTextAreaElement | undefined;
/** Numbers of the entries that are shown. */
let shownLines = new Set<number>();

window.addEventListener("message", (event: MessageEvent<ToPage>) => {
  const sent = event.data;
  switch (sent.type) {
    case "sessions":
      drawSessions(sent.rows, sent.more, sent.words);
      break;
    case "session":
      drawSession(sent.row, sent.lines, sent.reason, sent.words);
      break;
    case "line":
      if (sent.session === shownSession) add(sent.line);
      break;
    case "closed":
      if (sent.row.id === shownSession) end(sent.reason);
      break;
    case "failed":
      if (sent.session === shownSession) say("error", sent.message);
      break;
    case "insert":
      if (input !== undefined) input.value = sent.text;
  }
});
editor.postMessage({ type: "ready" });

function element(name: string, kind: string, text = ""): HTMLElement {
  const made = document.createElement(name);
  if (kind !== "") made.className = kind;
  made.textContent = text;
  return made;
}

function drawSessions(rows: Row[], more: boolean, words: Words): void {
  const hadFocus = document.activeElement instanceof HTMLInputElement;
  const before = page.querySelector("input")?.value ?? "";
  const status = page.querySelector("select")?.value ?? "";
  shownSession = undefined;
  input = undefined;
  page.replaceChildren();
  const search = document.createElement("input");
  search.type = "search";
  search.placeholder = words.search;
  search.setAttribute("aria-label", words.search);
  search.value = before;
  const choose = document.createElement("select");
  for (const [value, label] of [
    ["", words.all],
    ["active", words.active],
    ["closed", words.closedOnes],
  ] as const) {
    const option = document.createElement("option");
    option.value = value;
    option.textContent = label;
    choose.append(option);
  }
  choose.value = status;
  choose.setAttribute("aria-label", words.columns.status);
  const ask = (last?: string) => {
    editor.postMessage({
      type: "list",
      search: search.value,
      status: choose.value,
      ...(last === undefined ? {} : { before: last }),
    });
  };
  search.addEventListener("change", () => {
    ask();
  });
  choose.addEventListener("change", () => {
    ask();
  });
  const bar = element("div", "bar");
  bar.append(search, choose);
  page.append(bar);
  if (hadFocus) search.focus();
  if (rows.length === 0) {
    page.append(element("p", "empty", words.none));
    return;
  }
  const table = element("table", "sessions");
  table.setAttribute("aria-label", words.sessions);
  const head = element("tr", "");
  const { columns } = words;
  for (const title of [
    columns.session,
    columns.function,
    columns.status,
    columns.start,
    columns.close,
    columns.lines,
  ]) {
    head.append(element("th", "", title));
  }
  table.append(head);
  for (const row of rows) {
    const line = element("tr", "");
    const link = element("button", "link", row.id);
    link.addEventListener("click", () => {
      editor.postMessage({ type: "open", session: row.id });
    });
    const first = element("td", "");
    first.append(link);
    line.append(first);
    for (const text of [
      row.function,
      row.isOpen ? words.active : words.closedOnes,
      row.started,
      row.closed,
      `${row.entries}`,
    ]) {
      line.append(element("td", "", text));
    }
    table.append(line);
  }
  page.append(table);
  const last = rows.at(-1);
  if (more && last !== undefined) {
    const button = element("button", "more", words.more);
    button.addEventListener("click", () => {
      ask(last.id);
    });
    page.append(button);
  }
}

function drawSession(row: Row, lines: Line[], reason: string, words: Words): void {
  if (shownSession === row.id && input !== undefined && row.isOpen) {
    // it is shown already: a text that is being typed stays
    for (const line of lines) add(line);
    input.focus();
    return;
  }
  shownSession = row.id;
  shownLines = new Set();
  page.replaceChildren();
  const bar = element("div", "bar");
  const back = element("button", "link", `‹ ${words.back}`);
  back.addEventListener("click", () => {
    editor.postMessage({ type: "list", search: "", status: "" });
  });
  const badge = element(
    "span",
    row.isOpen ? "badge open" : "badge",
    row.isOpen ? words.active : words.closedOnes,
  );
  bar.append(
    back,
    element("strong", "", row.function),
    element("span", "dim", `${row.pause} · ${row.started}`),
    badge,
  );
  transcript = element("div", "transcript");
  transcript.setAttribute("role", "log");
  transcript.setAttribute("aria-live", "polite");
  page.append(bar, transcript);
  for (const line of lines) add(line);
  if (row.isOpen) {
    input = document.createElement("textarea");
    input.rows = 1;
    input.setAttribute("aria-label", words.input);
    input.placeholder = words.hint;
    input.spellcheck = false;
    input.addEventListener("keydown", typed);
    input.addEventListener("input", grow);
    page.append(input);
    input.focus();
  } else {
    end(reason);
  }
}

function grow(): void {
  if (input !== undefined) input.rows = Math.min(input.value.split("\n").length, 10);
}

/** Place in the history: its length is the line that is being typed. */
let at = 0;
let draft = "";

function typed(event: KeyboardEvent): void {
  if (input === undefined || shownSession === undefined) return;
  const { value, selectionStart, selectionEnd } = input;
  if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
    event.preventDefault();
    if (value.trim() === "") return;
    history.push(value);
    at = history.length;
    input.value = "";
    grow();
    editor.postMessage({ type: "eval", session: shownSession, input: value });
  } else if (event.key === "ArrowUp" && !value.slice(0, selectionStart).includes("\n") && at > 0) {
    event.preventDefault();
    if (at === history.length) draft = value;
    at--;
    recall(history[at] ?? "", "first");
  } else if (event.key === "ArrowDown" && !value.slice(selectionEnd).includes("\n") && at < history.length) {
    event.preventDefault();
    at++;
    recall(at === history.length ? draft : (history[at] ?? ""), "last");
  }
}

/** Shows a line of the history. The cursor is at the end of a line from which the same key goes on. */
function recall(text: string, line: "first" | "last"): void {
  if (input === undefined) return;
  input.value = text;
  grow();
  const end = text.indexOf("\n");
  const cursor = line === "first" && end >= 0 ? end : text.length;
  input.setSelectionRange(cursor, cursor);
}

function say(kind: string, text: string): void {
  if (transcript === undefined || text === "") return;
  transcript.append(element("pre", kind, text));
  transcript.scrollTop = transcript.scrollHeight;
}

function add(line: Line): void {
  if (shownLines.has(line.index)) return;
  shownLines.add(line.index);
  say("input", line.input);
  if (line.stdout !== "") say("stdout", line.stdout.replace(/\n$/, ""));
  say(line.isError ? "error" : "value", line.output);
}

function end(reason: string): void {
  input?.remove();
  input = undefined;
  page.append(element("p", "empty", reason));
}
