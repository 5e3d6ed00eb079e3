import assert from "node:assert/strict";
import { test } from "node:test";

import { lanes } from "../src/graph/lanes.ts";

function drawn(...nodes: string[]): string[] {
  const graph = lanes(
    nodes.map((node) => {
      const [id = "", parent] = node.split("<");
      return { id, parent: parent ?? null };
    }),
  );
  return graph.rows.map(
    ({ node, lane, parent }) => `${node.id}@${lane}${parent === undefined ? "" : `->${parent.lane}`}`,
  );
}

test("a row says that its parent is not loaded", () => {
  const { rows } = lanes([
    { id: "c3", parent: "c2" },
    { id: "c2", parent: "c1" },
    { id: "a1", parent: null },
  ]);
  assert.deepEqual(
    rows.map(({ isCut }) => isCut),
    [false, true, false],
  );
});

test("one branch is one lane", () => {
  assert.deepEqual(drawn("c3<c2", "c2<c1", "c1"), ["c3@0->0", "c2@0->0", "c1@0"]);
});

test("a fork has a lane of its own down to its fork point", () => {
  assert.deepEqual(drawn("d2<d1", "c3<c2", "d1<c2", "c2<c1", "c1"), [
    "d2@0->0",
    "c3@1->0",
    "d1@0->0",
    "c2@0->0",
    "c1@0",
  ]);
});

test("an ended lane is reused", () => {
  const graph = lanes([
    { id: "x", parent: "a" },
    { id: "y", parent: "a" },
    { id: "a", parent: null },
    { id: "z", parent: null },
  ]);
  assert.equal(graph.lanes, 2);
  assert.equal(graph.rows[3]?.lane, 0);
});

test("a parent that is not loaded yet", () => {
  assert.deepEqual(drawn("c9<c8"), ["c9@0"]);
});
