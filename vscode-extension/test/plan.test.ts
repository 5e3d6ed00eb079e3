import assert from "node:assert/strict";
import { test } from "node:test";

import { cellAt, cells } from "../src/documents/cells.ts";
import type { Action, PlanResult } from "../src/server/protocol.ts";
import { planText, plannedCount } from "../src/show/planText.ts";
import type { Say } from "../src/show/words.ts";

const say: Say = (message, ...args) =>
  message.replace(/\{(\d)\}/g, (_, at: string) => String(args[Number(at)]));
const NOW = Date.parse("2026-11-20T12:00:00Z");

const action = (path: string, more: Partial<Action> = {}): Action => ({
  path,
  action: "write",
  letter: "M",
  added: 1,
  removed: 2,
  ...more,
});

const plan = (more: Partial<PlanResult> = {}): PlanResult => ({
  rev: "t1",
  target: "t1",
  scope: "code",
  title: "Rewind to before “Add a cart” (2 min ago)",
  sentence: "Undoes turn “Add a cart” (claude-code, 2 min ago)",
  summary: ["Your own edits in a.ts stay."],
  actions: [action("a.ts", { action: "merge" }), action("b.ts")],
  conflicts: [],
  gaps: [],
  takes: [
    {
      turn: "t1",
      prompt: "Add a\ncart",
      agent: "claude-code",
      session: "s",
      letter: "A",
      time: "2026-11-20T11:58:00Z",
      checkpoint: "c1",
      part: false,
    },
  ],
  stays: [],
  own_edits: ["a.ts"],
  plan: "0",
  empty: false,
  exact: false,
  other_sessions: false,
  ...more,
});

test("a plan begins with a sentence, and each side says which it is", () => {
  const { now, then } = planText(plan(), undefined, NOW, say);
  const files = "2 files, +2 −4, 1 of them merged with your edits";
  const turn = "turn “Add a cart” (claude-code, 2 min ago)";
  assert.equal(now, "Current files\nYour own edits in a.ts stay.\n");
  assert.equal(then, `Undoes ${turn} · ${files}\nYour own edits in a.ts stay.\n`);
  const later = planText(plan({ own_edits: [] }), undefined, NOW, say);
  const others = "2 files, +2 −4, 1 of them merged with later work";
  assert.equal(later.then.split("\n")[0], `Undoes ${turn} · ${others}`);
});

test("of many turns the first stand above the files on the side of now, the others below", () => {
  const [turn] = plan().takes;
  assert.ok(turn);
  const takes = Array.from({ length: 9 }, (_, at) => ({ ...turn, turn: `t${at}`, prompt: `number ${at}` }));
  const { now, then } = planText(plan({ takes, sentence: "Undoes 9 turns" }), undefined, NOW, say);
  const lines = takes.map(({ prompt }) => `“${prompt}” · claude-code A · 2 min ago`);
  const stays = "Your own edits in a.ts stay.";
  assert.deepEqual(now.split("\n"), [
    "Current files",
    stays,
    ...lines.slice(0, 4),
    "5 more turns, below",
    ...lines.slice(4),
    "",
  ]);
  assert.deepEqual(then.split("\n").slice(0, 3), [
    "Undoes 9 turns · 2 files, +2 −4, 1 of them merged with your edits",
    stays,
    "5 more turns, below",
  ]);
});

test("conflicts, files that stay and those that cannot be restored are one line each", () => {
  const { then } = planText(
    plan({
      takes: [],
      sentence: "Waits for your decision",
      summary: [],
      actions: [action("c.ts", { action: "skip", letter: null, reason: "it is a link" })],
      conflicts: [
        { path: "a.ts", reason: "", resolution: null, hunks: [] },
        {
          path: "b.ts",
          reason: "",
          resolution: null,
          hunks: [
            { target: [0, 1], kept: [0, 1] },
            { target: [3, 4], kept: [3, 4] },
          ],
        },
      ],
      gaps: [{ path: "big.bin", kind: "too_large", detail: "too large" }],
    }),
    "b.ts",
    NOW,
    say,
  );
  assert.equal(
    then,
    [
      "Waits for your decision · 0 files · 3 conflicts",
      "Only these lines of b.ts.",
      "Conflicts with your edits: a.ts (1 conflict); b.ts (2 conflicts)",
      "Unchanged: c.ts: it is a link",
      "Cannot be restored: big.bin: too large",
      "",
    ].join("\n"),
  );
});

test("a file with open conflicts is counted where it is shown", () => {
  const skipped = action("c.ts", { action: "skip", letter: null });
  const texts = [
    { path: "b.ts", now: "1\n", then: "2\n" },
    { path: "c.ts", now: "1\n", then: "2\n" },
  ];
  const open = plan({ actions: [action("b.ts"), skipped], texts, own_edits: [] });
  assert.match(planText(open, undefined, NOW, say).then, / · 2 files, /);
  assert.equal(plannedCount(open, say), "2 files");
  assert.equal(plannedCount(plan({ actions: [action("b.ts")] }), say), "1 file");
});

test("of many files the first are shown, which is said", () => {
  const actions = Array.from({ length: 201 }, (_, at) => action(`f${at}`, { added: 0, removed: 0 }));
  assert.match(
    planText(plan({ actions }), undefined, NOW, say).then,
    / · 201 files, the first 200 are shown\n/,
  );
});

test("VS Code folds none of it: no more than five lines after the first", () => {
  const summary = ["a", "b", "c", "d", "e", "f"];
  const gaps = ["x", "y"].map((path) => ({ path, kind: "too_large" as const, detail: "too large" }));
  const actions = [action("c.ts", { action: "skip", letter: null, reason: "it is a link" })];
  const { now } = planText(plan({ summary, gaps, actions, uncarried: ["u"] }), "x", NOW, say);
  assert.deepEqual(now.split("\n"), [
    "Current files",
    "Only these lines of x.",
    "a",
    "b",
    "c d e f",
    "Unchanged: c.ts: it is a link · Your edits that stay behind: u · Cannot be restored: x: too large; y: too large",
    "",
  ]);
});

test("a notebook is shown by its cells", () => {
  const notebook = {
    cells: [
      { cell_type: "markdown", source: "# Title" },
      { cell_type: "code", source: ["x = 1\n", "y = 2"], outputs: [{}] },
    ],
  };
  assert.equal(cells(JSON.stringify(notebook)), "# %% [markdown]\n# Title\n\n# %% [code]\nx = 1\ny = 2\n");
  assert.equal(cells("{"), undefined);
  assert.equal(cells("null"), undefined);
});

test("a line of a notebook's file belongs to a cell", () => {
  const cell = (source: string[]) => ({ cell_type: "code", source, outputs: [] });
  const json = JSON.stringify({ cells: [cell(["a\n", "b"]), cell(["c"])], nbformat: 4 }, null, 1);
  const lines = json.split("\n");
  const at = (text: string) =>
    cellAt(
      json,
      lines.findIndex((line) => line.includes(text)),
    );
  assert.equal(at('"a\\n"'), 0);
  assert.equal(at('"b"'), 0);
  assert.equal(at('"c"'), 1);
  assert.equal(at("nbformat"), undefined);
  assert.equal(cellAt(json, 0), undefined);
  assert.equal(cellAt('{"cells":[]}', 0), undefined);
});
