import assert from "node:assert/strict";
import { test } from "node:test";

import { fromGutter, hunks, touched, withHunks } from "../src/compare/hunks.ts";

const OLD = "one\ntwo\nthree\nfour\nfive\n";

test("where two texts differ", () => {
  assert.deepEqual(hunks(OLD, OLD), []);
  assert.deepEqual(hunks(OLD, OLD.replace("two", "2").replace("five\n", "")), [
    { old: [1, 2], now: [1, 2] },
    { old: [4, 5], now: [4, 4] },
  ]);
  assert.deepEqual(hunks("", "a\nb\n"), [{ old: [0, 0], now: [0, 2] }]);
  assert.deepEqual(hunks("a\nb\n", ""), [{ old: [0, 2], now: [0, 0] }]);
});

test("which of them a cursor is in", () => {
  const now = "zero\none\nthree\nfour\n5\n";
  const all = hunks(OLD, now);
  assert.deepEqual(
    all.map(({ now }) => now),
    [
      [0, 1],
      [2, 2],
      [4, 5],
    ],
  );
  const at = (line: number) => touched(all, line, line).map(({ now }) => now[0]);
  assert.deepEqual([0, 1, 2, 3, 4].map(at), [[0], [2], [2], [], [4]]);
  assert.deepEqual(
    touched(all, 0, 4).map(({ now }) => now[0]),
    [0, 2, 4],
  );
});

test("what is kept is in the older text; the rest still differs", () => {
  const now = "zero\none\nthree\nfour\n5\n";
  for (const hunk of hunks(OLD, now)) {
    const kept = withHunks(OLD, now, [hunk]);
    assert.equal(hunks(kept, now).length, 2);
  }
  assert.equal(withHunks(OLD, now, hunks(OLD, now)), now);
  // with lines that end otherwise, and a last one that does not end
  const windows = "a\r\nb\r\nc";
  assert.equal(withHunks(windows, "a\r\nx\r\nc", hunks(windows, "a\r\nx\r\nc")), "a\r\nx\r\nc");
});

test("as the gutter tells of a change", () => {
  const change = (o: [number, number], m: [number, number]) =>
    fromGutter({
      originalStartLineNumber: o[0],
      originalEndLineNumber: o[1],
      modifiedStartLineNumber: m[0],
      modifiedEndLineNumber: m[1],
    });
  assert.deepEqual(change([2, 2], [2, 3]), { old: [1, 2], now: [1, 3] });
  // deleted behind line 4
  assert.deepEqual(change([5, 6], [4, 0]), { old: [4, 6], now: [4, 4] });
  // inserted behind line 4
  assert.deepEqual(change([4, 0], [5, 5]), { old: [4, 4], now: [4, 5] });
});
