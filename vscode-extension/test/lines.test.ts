import assert from "node:assert/strict";
import { test } from "node:test";

import { movedLine, movedSpan } from "../src/code/lines.ts";

const edit = (start: [number, number], end: [number, number], brought: number) => ({
  start: { line: start[0], character: start[1] },
  end: { line: end[0], character: end[1] },
  brought,
});

test("a line moves with the edits above it, and stays with those below", () => {
  assert.equal(movedLine(5, edit([1, 3], [1, 3], 2)), 7);
  assert.equal(movedLine(5, edit([1, 0], [3, 0], 0)), 3);
  assert.equal(movedLine(5, edit([7, 0], [9, 4], 4)), 5);
  // a line end is typed at its end, or at its beginning
  assert.equal(movedLine(5, edit([5, 8], [5, 8], 1)), 5);
  assert.equal(movedLine(5, edit([5, 0], [5, 0], 1)), 6);
  assert.equal(movedLine(5, edit([4, 2], [5, 0], 0)), 4);
});

test("a line that is replaced stands where the edit begins", () => {
  assert.equal(movedLine(5, edit([3, 0], [8, 1], 0)), 3);
  assert.equal(movedLine(5, edit([5, 0], [6, 3], 2)), 5);
});

test("a region grows by edits inside of it, and has one line at least", () => {
  assert.deepEqual(movedSpan({ start: 2, end: 5 }, edit([3, 1], [3, 1], 2)), { start: 2, end: 7 });
  assert.deepEqual(movedSpan({ start: 2, end: 5 }, edit([0, 0], [0, 0], 3)), { start: 5, end: 8 });
  assert.deepEqual(movedSpan({ start: 2, end: 5 }, edit([1, 0], [9, 0], 0)), { start: 1, end: 2 });
});
