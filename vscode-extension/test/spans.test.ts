import assert from "node:assert/strict";
import { test } from "node:test";

import { binaries, oldestFirst, spans, stepPairs } from "../src/compare/spans.ts";
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

test("a file is followed through renames", () => {
  assert.deepEqual(of(["c3", [change("b", "rename", { from: "a" })]], ["c4", [change("b", "modify")]]), [
    ["b", "modify", "a", "c2", "c4"],
  ]);
  assert.deepEqual(of(["c3", [change("a", "create")]], ["c4", [change("b", "rename", { from: "a" })]]), [
    ["b", "create", undefined, "c2", "c4"],
  ]);
});

test("created and deleted is no change; deleted and created is one", () => {
  assert.deepEqual(of(["c3", [change("a", "create")]], ["c4", [change("a", "delete")]]), []);
  assert.deepEqual(of(["c3", [change("a", "delete")]], ["c4", [change("a", "create")]]), [
    ["a", "modify", undefined, "c2", "c4"],
  ]);
});

test("binary files have no lines to compare", () => {
  const all = [change("a", "modify", { binary: true }), change("b", "modify")];
  assert.deepEqual(of(["c3", all]), [["b", "modify", undefined, "c2", "c3"]]);
  assert.deepEqual(binaries([checkpoint("c3", "step", { changes: all })]), ["a"]);
});

test("steps are sorted by number", () => {
  const ids = ["c10", "c9", "c11"].map((id) => checkpoint(id, "step"));
  assert.deepEqual(
    oldestFirst(ids).map(({ id }) => id),
    ["c9", "c10", "c11"],
  );
});

test("changes of others between two steps are excluded", () => {
  const steps = [
    checkpoint("c3", "step", { changes: [change("a", "modify")] }),
    checkpoint("c5", "step", { changes: [change("b", "rename", { from: "a" }), change("c", "create")] }),
    checkpoint("c9", "step", { changes: [change("b", "modify"), change("c", "modify")] }),
  ];
  const pairs = stepPairs(steps);
  assert.deepEqual(
    pairs.map(({ path, last, next }) => [path, last, next.id]),
    [
      ["a", "c3", "c5"],
      ["b", "c5", "c9"],
      ["c", "c5", "c9"],
    ],
  );
  const apart = pairs.filter(({ path }) => path === "b");
  assert.deepEqual(
    spans(steps, apart).map(({ change, from, to }) => [change.path, from, to]),
    [
      ["b", "c2", "c5"],
      ["c", "c4", "c9"],
      ["b", "c8", "c9"],
    ],
  );
});
