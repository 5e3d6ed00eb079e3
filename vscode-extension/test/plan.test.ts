import assert from "node:assert/strict";
import { test } from "node:test";

import { cellAt, cells } from "../src/documents/cells.ts";
import type { Action, PlanResult } from "../src/server/protocol.ts";
import { planText } from "../src/show/planText.ts";
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
  title: "rewind to before “Add a cart” (t1, 2 min ago)",
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
  ...more,
});

test("the turn that goes is on the side of now alone", () => {
  const { now, then } = planText(plan(), undefined, NOW, say);
  const turn = "“Add a cart” · claude-code t1 · 2 min ago\n";
  const files = "2 files, +2 −4, 1 of them merged with your edits\n";
  assert.equal(now, `Your own edits in a.ts stay.\n${turn}${files}`);
  assert.equal(then, `Your own edits in a.ts stay.\n${files}`);
  const back = planText(plan({ brings_back: true }), undefined, NOW, say);
  assert.equal(back.then, now);
  assert.equal(back.now, then);
});

test("conflicts, files that stay and those that cannot be restored are one line each", () => {
  const { then } = planText(
    plan({
      takes: [],
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
      "Only these lines of b.ts.",
      "0 files",
      "Conflicts with your edits: a.ts (1 conflict); b.ts (2 conflicts)",
      "Unchanged: c.ts: it is a link",
      "Cannot be restored: big.bin: too large",
      "",
    ].join("\n"),
  );
});

test("of many files the first are shown, which is said", () => {
  const actions = Array.from({ length: 201 }, (_, at) => action(`f${at}`, { added: 0, removed: 0 }));
  assert.match(
    planText(plan({ actions }), undefined, NOW, say).then,
    /\n201 files, the first 200 are shown\n$/,
  );
});

test("VS Code folds none of it: no more than five lines before and after the turns", () => {
  const { now } = planText(plan({ summary: ["a", "b", "c", "d", "e", "f"] }), "x", NOW, say);
  assert.deepEqual(now.split("\n").slice(0, 4), ["Only these lines of x.", "a", "b", "c d e f"]);
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
