import assert from "node:assert/strict";
import { test } from "node:test";

import { lines, oldestFirst, spans } from "../src/compare/spans.ts";
import { change, checkpoint } from "./checkpoints.ts";

const of = (...changes: [string, ReturnType<typeof change>[]][]) =>
  spans(changes.map(([id, changes]) => checkpoint(id, "step", { changes }))).map(({ change, from, to }) => [
    change.path,
    change.kind,
    change.from,
    from,
    to,
  ]);

test("from the first step that touched a file to the last", () => {
  assert.deepEqual(
    of(["c3", [change("a", "modify")]], ["c5", [change("a", "modify"), change("b", "create")]]),
    [
      ["a", "modify", undefined, "c2", "c5"],
      ["b", "create", undefined, "c4", "c5"],
    ],
  );
});

test("a file is followed under its names", () => {
  assert.deepEqual(of(["c3", [change("b", "rename", { from: "a" })]], ["c4", [change("b", "modify")]]), [
    ["b", "modify", "a", "c2", "c4"],
  ]);
  assert.deepEqual(of(["c3", [change("a", "create")]], ["c4", [change("b", "rename", { from: "a" })]]), [
    ["b", "create", undefined, "c2", "c4"],
  ]);
});

test("made and deleted again is nothing; deleted and made again is a change", () => {
  assert.deepEqual(of(["c3", [change("a", "create")]], ["c4", [change("a", "delete")]]), []);
  assert.deepEqual(of(["c3", [change("a", "delete")]], ["c4", [change("a", "create")]]), [
    ["a", "modify", undefined, "c2", "c4"],
  ]);
});

test("what is binary has no lines to compare", () => {
  assert.deepEqual(of(["c3", [change("a", "modify", { binary: true })]]), []);
});

test("by their numbers", () => {
  const ids = ["c10", "c9", "c11"].map((id) => checkpoint(id, "step"));
  assert.deepEqual(
    oldestFirst(ids).map(({ id }) => id),
    ["c9", "c10", "c11"],
  );
});

test("the lines of a change in the gutter", () => {
  assert.deepEqual(lines({ modifiedStartLineNumber: 2, modifiedEndLineNumber: 3 }), [1, 3]);
  // deleted behind line 4
  assert.deepEqual(lines({ modifiedStartLineNumber: 4, modifiedEndLineNumber: 0 }), [4, 4]);
});
