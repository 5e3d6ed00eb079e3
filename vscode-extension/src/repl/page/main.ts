// Script of the REPL's page: the list of sessions, and one session with its transcript and its input. Output of programs is
// shown as text.

import type { FromPage, Line, Row, ToPage, Words } from "../messages.ts";
import { highlighted } from "./highlight.ts";
import { Input } from "./input.ts";

declare function acquireVsCodeApi(): { postMessage: (message: FromPage) => void };

const editor = acquireVsCodeApi();
const page = document.body;
/** The session that is shown. */
let shown:
  { row: Row; words: Words; about: HTMLElement; transcript: HTMLElement; lines: Set<number> } | undefined;
/** Only an open session has one. */
let input: Input | undefined;
/** Says that an evaluation is under way. */
const busy = element("p", "busy");
busy.setAttribute("role", "status");
/** Evaluations of this page that have no answer. */
let waiting = 0;

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
      if (sent.session === shown?.row.id) {
        add(sent.line);
        scroll();
      }
      break;
    case "closed":
      if (sent.row.id === shown?.row.id) {
        shown.row = sent.row;
        describe(shown.about, sent.row, shown.words);
        end(sent.reason);
      }
      break;
    case "answered":
      if (sent.session === shown?.row.id) {
        wait(-1);
        say("error", sent.message);
        scroll();
      }
  }
});
// VS Code's own key `focusedView` does not say it of a page that a command has opened
for (const [event, has] of [
  ["focus", true],
  ["blur", false],
] as const) {
  window.addEventListener(event, () => {
    editor.postMessage({ type: "focus", has });
  });
}
editor.postMessage({ type: "focus", has: document.hasFocus() });
editor.postMessage({ type: "ready" });

function element(name: string, kind: string, text = ""): HTMLElement {
  const made = document.createElement(name);
  if (kind !== "") made.className = kind;
  made.textContent = visible(text);
  return made;
}

/** The text with `\u{fffd}` in place of control characters and marks of direction, as on a terminal. */
function visible(text: string): string {
  return text.replace(/[\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, "\ufffd");
}

function button(kind: string, text: string, label: string, run: () => void): HTMLElement {
  const made = element("button", kind, text);
  made.setAttribute("aria-label", label);
  made.addEventListener("click", run);
  return made;
}

function field(type: string, label: string, value: string): HTMLInputElement {
  const made = document.createElement("input");
  made.type = type;
  made.title = label;
  made.setAttribute("aria-label", label);
  made.value = value;
  return made;
}

function valueOf(selector: string): string {
  return page.querySelector<HTMLInputElement | HTMLSelectElement>(selector)?.value ?? "";
}

function drawSessions(rows: Row[], more: boolean, words: Words): void {
  const focused = document.activeElement?.className ?? "";
  const search = field("search", words.search, valueOf("input.search"));
  search.className = "search";
  search.placeholder = words.search;
  const choose = document.createElement("select");
  const from = field("date", words.from, valueOf("input.from"));
  from.className = "from";
  const to = field("date", words.to, valueOf("input.to"));
  to.className = "to";
  const choices = { "": words.all, active: words.active, closed: words.closedOnes };
  for (const [value, label] of Object.entries(choices)) {
    const option = document.createElement("option");
    option.value = value;
    option.textContent = label;
    choose.append(option);
  }
  choose.value = valueOf("select");
  choose.className = "status";
  choose.setAttribute("aria-label", words.columns.status);
  const ask = (last?: string) => {
    editor.postMessage({
      type: "list",
      search: search.value,
      status: choose.value,
      from: from.value,
      to: to.value,
      ...(last === undefined ? {} : { before: last }),
    });
  };
  for (const each of [search, choose, from, to]) {
    each.addEventListener("change", () => {
      ask();
    });
  }
  leave();
  const bar = element("div", "bar");
  bar.append(search, choose, element("span", "dim", words.from), from, element("span", "dim", words.to), to);
  page.append(bar);
  if (focused !== "") bar.querySelector<HTMLElement>(`.${focused}`)?.focus();
  if (rows.length === 0) {
    page.append(element("p", "empty", words.none));
    return;
  }
  const table = element("table", "sessions");
  table.setAttribute("aria-label", words.sessions);
  const head = element("tr", "");
  for (const title of Object.values(words.columns)) head.append(element("th", "", title));
  table.append(head);
  for (const row of rows) table.append(drawRow(row, words));
  const scrolled = element("div", "scrolled");
  scrolled.append(table);
  page.append(scrolled);
  const last = rows.at(-1);
  if (more && last !== undefined) {
    scrolled.append(
      button("more", words.more, words.more, () => {
        ask(last.id);
      }),
    );
  }
}

function drawRow(row: Row, words: Words): HTMLElement {
  const cells: (string | HTMLElement)[] = [
    nameOf(row),
    row.isOpen ? words.active : words.closedOnes,
    row.started,
    row.closed,
    `${row.entries}`,
    stackLink(row, words),
    element("span", "dim", row.id),
  ];
  const line = element("tr", "");
  for (const content of cells) {
    const cell = element("td", "");
    cell.append(content);
    line.append(cell);
  }
  return line;
}

/** The function, which opens the session, with the prompt of its turn and the reason of its pause. */
function nameOf(row: Row): HTMLElement {
  const name = element("span", "");
  const open = button("link", row.function, `${row.function} ${row.id}`, () => {
    editor.postMessage({ type: "open", session: row.id });
  });
  name.append(open);
  if (row.prompt !== "") name.append(` “${visible(row.prompt)}”`);
  const why = element("span", "dim why", row.why);
  why.title = visible(row.why);
  if (row.why !== "") name.append(" ", why);
  return name;
}

/** Link to the stack of a program; nothing for a call of an agent. */
function stackLink(row: Row, words: Words): string | HTMLElement {
  if (!row.isProgram) return "";
  return button("link", words.stack, `${words.stack}: ${row.pause}`, () => {
    editor.postMessage({ type: "stack", pause: row.pause });
  });
}

/** Removes everything from the page. */
function leave(): void {
  shown = undefined;
  input?.remove();
  input = undefined;
  waiting = 0;
  busy.textContent = "";
  page.replaceChildren();
}

function drawSession(row: Row, lines: Line[], reason: string, words: Words): void {
  if (shown?.row.id === row.id && input !== undefined && row.isOpen) {
    // it is shown already: a text that is being typed stays
    for (const line of lines) add(line);
    scroll();
    input.focus();
    return;
  }
  leave();
  const bar = element("div", "bar");
  const back = button("link", `‹ ${words.back}`, words.back, () => {
    editor.postMessage({ type: "list", search: "", status: "", from: "", to: "" });
  });
  const about = element("span", "about");
  describe(about, row, words);
  bar.append(back, about, stackLink(row, words));
  if (row.isProgram) {
    bar.append(
      button("link", words.calls, words.calls, () => {
        editor.postMessage({ type: "calls", session: row.id });
      }),
    );
  }
  const transcript = element("div", "transcript");
  transcript.setAttribute("role", "log");
  transcript.setAttribute("aria-live", "polite");
  transcript.tabIndex = 0;
  shown = { row, words, about, transcript, lines: new Set() };
  for (const line of lines) add(line);
  page.append(bar, transcript);
  scroll();
  if (!row.isOpen) {
    end(reason);
    return;
  }
  page.append(busy);
  input = new Input(page, {
    earlier: lines.map((line) => line.input),
    language: row.language,
    label: words.input,
    hint: words.hint,
    nonce: page.dataset["nonce"] ?? "",
    send: (text) => {
      wait(1);
      editor.postMessage({ type: "eval", session: row.id, input: text });
    },
  });
  input.focus();
}

/** Writes what a session is about: function, reason, times, state. */
function describe(about: HTMLElement, row: Row, words: Words): void {
  const { start, close } = words.columns;
  const times = [`${start} ${row.started}`, ...(row.closed === "" ? [] : [`${close} ${row.closed}`])];
  const why = element("span", "why", row.why);
  why.title = visible(row.why);
  about.replaceChildren(
    element("strong", "", row.function),
    ...(row.why === "" ? [] : [why]),
    element("span", row.isOpen ? "badge open" : "badge", row.isOpen ? words.active : words.closedOnes),
    element("span", "dim", [row.pause, row.language, ...times].join(" · ")),
  );
}

function wait(by: 1 | -1): void {
  waiting = Math.max(0, waiting + by);
  busy.textContent = waiting === 0 ? "" : (shown?.words.busy ?? "");
}

function say(kind: string, text: string): HTMLElement | undefined {
  if (shown === undefined || text === "") return undefined;
  const made = element("pre", kind, text);
  shown.transcript.append(made);
  return made;
}

/** Shows the end of the transcript. */
function scroll(): void {
  if (shown !== undefined) shown.transcript.scrollTop = shown.transcript.scrollHeight;
}

function add(line: Line): void {
  if (shown === undefined || shown.lines.has(line.index)) return;
  shown.lines.add(line.index);
  const typed = say("input", line.input);
  typed?.replaceChildren();
  if (typed !== undefined) highlighted(typed, visible(line.input), shown.row.language);
  input?.note(line.input);
  if (line.stdout !== "") say("stdout", line.stdout.replace(/\n$/, ""));
  const showsValue = line.shows !== "stdout" && line.shows !== "nothing";
  const value = say(line.isError ? "error" : "value", showsValue ? line.output : "");
  const { cid } = line;
  if (value === undefined || cid === null) return;
  const { words } = shown;
  value.append(
    " ",
    button("link object", words.object, `${words.object}: ${line.input}`, () => {
      editor.postMessage({ type: "object", cid });
    }),
  );
}

function end(reason: string): void {
  input?.remove();
  input = undefined;
  busy.remove();
  page.append(element("p", "empty", reason));
  scroll();
}
