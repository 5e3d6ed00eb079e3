import assert from "node:assert/strict";
import { test } from "node:test";

import { entries, gaps } from "../src/show/entries.ts";
import { folded, isEmpty, parse, written } from "../src/timeline/model.ts";
import { checkpoint, operation } from "./checkpoints.ts";

test("steps are below their turns, newest first", () => {
  const all = [
    checkpoint("c6", "external"),
    checkpoint("c5", "step", { turn: "t2" }),
    checkpoint("c4", "turn", { turn: "t2" }),
    checkpoint("c3", "step", { turn: "t1" }),
    checkpoint("c2", "step", { turn: "t1" }),
    checkpoint("c1", "turn", { turn: "t1" }),
  ];
  const shape = (list: typeof all) =>
    entries(list).map(({ checkpoint, steps }) => [checkpoint.id, ...steps.map(({ id }) => id)].join(" "));
  assert.deepEqual(shape(all), ["c6", "c4 c5", "c1 c3 c2"]);
  // the turn is on the next page, or left out by a filter
  assert.deepEqual(shape(all.slice(0, 4)), ["c6", "c4 c5", "t1 c3"]);
});

test("steps without their turn stand below its prompt", () => {
  const step = { turn: "t1", prompt: "make it red", letter: "B", tool: "Edit" };
  const [entry] = entries([
    checkpoint("c3", "step", { ...step, taken_out: true }),
    checkpoint("c2", "step", { ...step, taken_out: false }),
  ]);
  assert.ok(entry);
  const { kind, prompt, letter, tool, taken_out } = entry.checkpoint;
  assert.deepEqual([kind, prompt, letter, tool, taken_out], ["turn", "make it red", "B", null, false]);
});

/** Each entry as its id, state, saves and operations. */
function shapes(newestFirst: Parameters<typeof folded>[0]): string[] {
  return folded(newestFirst).map(({ checkpoint, state, saves, operations, undoneBy }) =>
    [
      checkpoint.id,
      state === "in force" ? "" : state,
      saves.length === 0 ? "" : `saves ${saves.map(({ id }) => id).join(" ")}`,
      operations.length === 0 ? "" : `operations ${operations.map(({ id }) => id).join(" ")}`,
      undoneBy === undefined ? "" : `by ${undoneBy.id}`,
    ]
      .filter(Boolean)
      .join(", "),
  );
}

const turn = (id: string, name: string, taken_out = false) =>
  checkpoint(id, "turn", { turn: name, taken_out });

test("saves that follow one another are one entry", () => {
  const all = [
    checkpoint("c6", "external"),
    checkpoint("c5", "external"),
    checkpoint("c4", "external", { tags: ["kept"] }),
    turn("c3", "t1"),
    checkpoint("c2", "external"),
  ];
  assert.deepEqual(shapes(all), ["c6, saves c6 c5", "c4", "c3", "c2"]);
});

test("a rewind is folded into the turns that it undid", () => {
  const all = [
    checkpoint("c9", "rewind", { operation: operation("op1", "rewind", "c3") }),
    checkpoint("c8", "external"),
    turn("c7", "t3", true),
    turn("c5", "t2", true),
    turn("c3", "t1", true),
    turn("c1", "t0"),
  ];
  assert.deepEqual(shapes(all), [
    "c8",
    "c7, undone, by c9",
    "c5, undone, by c9",
    "c3, undone, operations c9, by c9",
    "c1",
  ]);
});

test("what an undo and a redo did is said by the turn", () => {
  const rewind = checkpoint("c4", "rewind", {
    operation: operation("op1", "rewind", "c2", { undone_by: "op2" }),
  });
  const undo = checkpoint("c5", "rewind", { operation: operation("op2", "undo", "op1", { of: "op1" }) });
  assert.deepEqual(shapes([undo, rewind, turn("c2", "t1")]), ["c2, operations c5 c4"]);
  const redo = checkpoint("c6", "rewind", { operation: operation("op3", "redo", "op2", { of: "op2" }) });
  assert.deepEqual(shapes([redo, undo, rewind, turn("c3", "t2", true), turn("c2", "t1", true)]), [
    "c3, undone, by c6",
    "c2, undone, operations c6 c5 c4, by c6",
  ]);
});

test("a rewind of one file leaves the turn in part", () => {
  const rewind = checkpoint("c4", "rewind", { operation: operation("op1", "rewind", "c2") });
  assert.deepEqual(shapes([rewind, turn("c2", "t1")]), ["c2, partly undone, operations c4"]);
});

test("a rewind to the user's own state undoes the turns since; without any it is a row of its own", () => {
  const rewind = checkpoint("c5", "rewind", { operation: operation("op1", "rewind", "c2") });
  const save = checkpoint("c2", "external");
  assert.deepEqual(shapes([rewind, turn("c3", "t1", true), save]), [
    "c3, undone, operations c5, by c5",
    "c2",
  ]);
  assert.deepEqual(shapes([rewind, save]), ["c5", "c2"]);
  const unknown = checkpoint("c6", "rewind", { operation: operation("op2", "undo", "op1", { of: "op9" }) });
  assert.deepEqual(shapes([unknown]), ["c6"]);
});

test("a revert is folded into its turn, and an earlier rewind keeps what it undid", () => {
  const first = checkpoint("c6", "rewind", { operation: operation("op1", "rewind", "c5") });
  const revert = checkpoint("c7", "rewind", { operation: operation("op2", "revert", "c3") });
  const all = [revert, first, turn("c5", "t2", true), turn("c3", "t1", true), turn("c1", "t0")];
  assert.deepEqual(shapes(all), [
    "c5, undone, operations c6, by c6",
    "c3, undone, operations c7, by c7",
    "c1",
  ]);
});

test("a turn includes the gaps of its steps", () => {
  const item = { path: "big.bin", reason: "too_large" as const, detail: "" };
  const step = checkpoint("c2", "step", { turn: "t1" });
  step.coverage.items.push(item);
  const [entry] = entries([step, checkpoint("c1", "turn", { turn: "t1" })]);
  assert.ok(entry);
  assert.deepEqual(gaps(entry), [item]);
});

test("a file that nobody touches is not captured once, a changed one again", () => {
  const large = (detail: string) => ({
    ...checkpoint("c1", "manual").coverage,
    items: [{ path: "big.bin", reason: "too_large" as const, detail }],
  });
  const all = folded([
    checkpoint("c5", "step", { turn: "t2", coverage: large("changed") }),
    checkpoint("c4", "turn", { turn: "t2", coverage: large("") }),
    checkpoint("c3", "step", { turn: "t1", coverage: large("") }),
    checkpoint("c2", "turn", { turn: "t1", coverage: large("") }),
    checkpoint("c1", "manual", { coverage: large("") }),
  ]);
  assert.deepEqual(
    all.map((entry) => [entry.checkpoint.id, gaps(entry).length]),
    [
      ["c4", 1],
      ["c2", 0],
      ["c1", 1],
    ],
  );
});

test("typed filters", () => {
  const typed = "agent:claude-code refactor path:src/a.rs auth";
  const filter = parse(typed);
  assert.deepEqual(filter, { agent: "claude-code", path: "src/a.rs", text: "refactor auth" });
  assert.deepEqual(parse(written(filter)), filter);
  const quoted = parse('path:"my notes/a b.md" two  words');
  assert.deepEqual(quoted, { path: "my notes/a b.md", text: "two words" });
  assert.deepEqual(parse(written(quoted)), quoted);
  assert.ok(isEmpty(parse("  ")));
  assert.deepEqual(parse("agent:"), { text: "agent:" });
  assert.deepEqual(parse("only:prompts"), { only: "prompts" });
  assert.equal(written({ only: "prompts" }), "only:prompts");
  assert.equal(written({ session: "5f0e1234-aaaa-4000-8000-000000000000" }), "session:5f0e1234");
});
