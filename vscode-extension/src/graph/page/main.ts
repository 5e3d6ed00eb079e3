// Script of the graph's page: draws the rows, and reports the user's choice.

import { type Placed, lanes } from "../lanes.ts";
import type { Action, FromPage, Icon, Shown, ToPage } from "../messages.ts";

declare function acquireVsCodeApi(): { postMessage: (message: FromPage) => void };

const ROW = 28;
const LANE = 16;
const COLORS = 6;
const SVG = "http://www.w3.org/2000/svg";
/** Keys of a row. */
const KEYS: Record<string, Action> = { Enter: "show", " ": "show", r: "rewind", d: "diff", f: "fork" };
const editor = acquireVsCodeApi();
const page = document.body;

window.addEventListener("message", (event: MessageEvent<ToPage>) => {
  draw(event.data);
});
editor.postMessage({ type: "ready" });

/** Checkpoint of the focused row, which keeps the focus when the graph is redrawn. */
let focused: string | undefined;

function draw({ nodes, more, words }: ToPage): void {
  const graph = lanes(nodes);
  const isSearching = document.activeElement?.classList.contains("search") === true;
  const hadFocus = page.contains(document.activeElement) && document.activeElement !== page;
  page.replaceChildren();
  if (nodes.length === 0) {
    page.append(element("p", "empty", words.empty));
    return;
  }
  const list = element("div", "graph");
  list.setAttribute("role", "listbox");
  list.setAttribute("aria-label", words.label);
  const width = (graph.lanes + 1) * LANE;
  list.append(lines(graph.rows, width));
  const rows = graph.rows.map((placed) => row(placed, width, words));
  list.append(...rows);
  page.append(searchBox(words.search, rows), list);
  if (more) {
    const button = element("button", "more", words.more);
    button.addEventListener("click", () => {
      editor.postMessage({ type: "more" });
    });
    page.append(button);
  }
  const chosen =
    rows.find((each) => each.dataset["id"] === focused) ??
    rows.find((each) => each.classList.contains("current")) ??
    rows[0];
  if (chosen !== undefined) {
    chosen.tabIndex = 0;
    if (hadFocus && !isSearching) chosen.focus();
  }
  list.addEventListener("keydown", (event) => {
    move(event, rows);
  });
}

/** Text of the search, which stays when the graph is redrawn. */
let sought = "";

/** Rows without the words are faint; Enter moves to the next row that has them. */
function searchBox(label: string, rows: HTMLElement[]): HTMLElement {
  const box = document.createElement("input");
  box.className = "search";
  box.type = "search";
  box.placeholder = label;
  box.setAttribute("aria-label", label);
  box.value = sought;
  const has = (row: HTMLElement) => row.textContent.toLowerCase().includes(sought);
  const mark = () => {
    for (const row of rows) row.classList.toggle("other", !has(row));
  };
  box.addEventListener("input", () => {
    sought = box.value.toLowerCase();
    mark();
  });
  box.addEventListener("keydown", ({ key }) => {
    if (key === "Enter") rows.find(has)?.focus();
  });
  mark();
  return box;
}

function move(event: KeyboardEvent, rows: HTMLElement[]): void {
  const at = rows.findIndex((row) => row === document.activeElement);
  const last = rows.length - 1;
  const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: last, PageDown: at + 10, PageUp: at - 10 }[
    event.key
  ];
  if (to !== undefined) {
    event.preventDefault();
    rows[Math.max(0, Math.min(last, to))]?.focus();
    return;
  }
  const rev = rows[at]?.dataset["rev"];
  const action = KEYS[event.key];
  const isPlain = !event.ctrlKey && !event.altKey && !event.metaKey;
  if (rev !== undefined && action !== undefined && isPlain && event.target === rows[at]) {
    event.preventDefault();
    editor.postMessage({ type: "do", action, rev });
  }
}

function row({ node, lane, isCut }: Placed<Shown>, width: number, words: ToPage["words"]): HTMLElement {
  const row = element("div", "row");
  row.setAttribute("role", "option");
  row.setAttribute(
    "aria-label",
    [
      node.title,
      node.state,
      node.letter,
      node.rev,
      node.detail,
      node.branch,
      ...node.tags,
      isCut ? words.cut : "",
    ]
      .filter(Boolean)
      .join(", "),
  );
  row.setAttribute(
    "aria-keyshortcuts",
    Object.keys(KEYS)
      .filter((key) => key !== " ")
      .join(" "),
  );
  row.dataset["id"] = node.id;
  row.dataset["rev"] = node.rev;
  row.tabIndex = -1;
  row.style.paddingLeft = `${width}px`;
  row.classList.toggle("current", node.current);
  row.classList.toggle("out", node.takenOut);
  row.append(element("span", `branch lane${lane % COLORS}`, node.branch));
  for (const tag of node.tags) row.append(element("span", "tag", tag));
  if (node.letter !== "") row.append(element("span", `session session${node.color}`, node.letter));
  row.append(element("span", "title", node.title), element("span", "detail", `${node.rev} · ${node.detail}`));
  if (isCut) {
    const cut = element("span", "cut", "⋯");
    cut.title = words.cut;
    row.append(cut);
  }
  const buttons = element("span", "buttons");
  for (const [action, text] of Object.entries(words.actions) as [Action, string][]) {
    const key = keyOf(action);
    const button = element("button", "", text);
    button.title = `${text} (${key})`;
    // the row has keys for the same actions
    button.tabIndex = -1;
    button.setAttribute("aria-hidden", "true");
    button.addEventListener("click", () => {
      editor.postMessage({ type: "do", action, rev: node.rev });
    });
    buttons.append(button);
  }
  row.append(buttons);
  row.addEventListener("focus", () => {
    const before = row.parentElement?.querySelector<HTMLElement>(".row[tabindex='0']");
    if (before) {
      before.tabIndex = -1;
      before.setAttribute("aria-selected", "false");
    }
    row.tabIndex = 0;
    row.setAttribute("aria-selected", "true");
    focused = node.id;
  });
  return row;
}

function keyOf(action: Action): string {
  return Object.keys(KEYS).find((key) => KEYS[key] === action) ?? "";
}

function lines(rows: Placed<Shown>[], width: number): SVGElement {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("width", String(width));
  svg.setAttribute("height", String(rows.length * ROW));
  svg.setAttribute("aria-hidden", "true");
  const place = (at: { row: number; lane: number }) =>
    [(at.lane + 1) * LANE - LANE / 2, at.row * ROW + ROW / 2] as const;
  for (const placed of rows) {
    const { parent = { row: rows.length, lane: placed.lane }, isCut } = placed;
    if (placed.parent === undefined && !isCut) continue;
    const [[x, y], [px, py]] = [place(placed), place(parent)];
    // down the own lane, then over to that of the parent
    const bend = py - ROW;
    const path =
      x === px
        ? `M${x} ${y}V${py}`
        : `M${x} ${y}V${Math.max(y, bend)}C${x} ${py} ${px} ${Math.max(y, bend)} ${px} ${py}`;
    const line = document.createElementNS(SVG, "path");
    line.setAttribute("d", path);
    line.setAttribute("class", `line lane${placed.lane % COLORS}${isCut ? " cut" : ""}`);
    svg.append(line);
  }
  for (const placed of rows) {
    const [x, y] = place(placed);
    const dot = sign(placed.node.icon, x, y);
    const color = placed.node.letter === "" ? `lane${placed.lane % COLORS}` : `session${placed.node.color}`;
    dot.setAttribute("class", `dot ${color} ${placed.node.icon}${placed.node.current ? " current" : ""}`);
    svg.append(dot);
  }
  return svg;
}

/** Sign of a checkpoint. A turn has a disc, a step a small one, an edit of the user a square, an operation a diamond. */
function sign(icon: Icon, x: number, y: number): SVGElement {
  const path = (radius: number, points: readonly (readonly [number, number])[]) => {
    const made = document.createElementNS(SVG, "path");
    const corners = points.map(([dx, dy]) => `${x + dx * radius} ${y + dy * radius}`);
    made.setAttribute("d", `M${corners.join("L")}Z`);
    return made;
  };
  switch (icon) {
    case "edit":
      // prettier-ignore
      return path(3.5, [[-1, -1], [1, -1], [1, 1], [-1, 1]]);
    case "operation":
      // prettier-ignore
      return path(5, [[0, -1], [1, 0], [0, 1], [-1, 0]]);
    case "turn":
    case "step":
    case "start": {
      const disc = document.createElementNS(SVG, "circle");
      disc.setAttribute("cx", String(x));
      disc.setAttribute("cy", String(y));
      disc.setAttribute("r", icon === "step" ? "3.5" : "5");
      return disc;
    }
  }
}

function element(name: string, classes: string, text = ""): HTMLElement {
  const made = document.createElement(name);
  made.className = classes;
  // never as markup: prompts and labels are untrusted
  made.textContent = text;
  return made;
}
