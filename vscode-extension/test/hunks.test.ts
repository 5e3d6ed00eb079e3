import assert from "node:assert/strict";
import { test } from "node:test";

import { fromGutter, hunks, isSame, overlapping, touched, withHunks } from "../src/compare/hunks.ts";

const OLD = "one\ntwo\nthree\nfour\nfive\n";
/** A line made, one taken away, one changed. */
const NOW = "zero\none\nthree\nfour\n5\n";

test("where two texts differ", () => {
  assert.deepEqual(hunks(OLD, OLD), []);
  assert.deepEqual(hunks(OLD, OLD.replace("two", "2").replace("five\n", "")), [
    { old: [1, 2], now: [1, 2] },
    { old: [4, 5], now: [4, 4] },
  ]);
  assert.deepEqual(hunks("", "a\n"), [{ old: [0, 0], now: [0, 1] }]);
  // behind the last line end there is one more line
  assert.deepEqual(hunks("a\nb", "a\nb\n"), [{ old: [2, 2], now: [2, 3] }]);
  assert.deepEqual(hunks("a\r\nb\r\n", "a\nb\n"), []);
});

test("which of them a cursor is in, on either side", () => {
  const all = hunks(OLD, NOW);
  const at = (side: "old" | "now", line: number) => touched(all, side, line, line).map(({ now }) => now[0]);
  assert.deepEqual(
    [0, 1, 2, 3, 4].map((line) => at("now", line)),
    [[0], [2], [2], [], [4]],
  );
  assert.deepEqual(
    [0, 1, 2, 3, 4].map((line) => at("old", line)),
    [[0], [2], [], [], [4]],
  );
});

test("what is kept is in the older text; the rest still differs", () => {
  const all = hunks(OLD, NOW);
  for (const hunk of all) assert.equal(hunks(withHunks(OLD, NOW, [hunk]), NOW).length, all.length - 1);
  assert.equal(withHunks(OLD, NOW, all), NOW);
  for (const [old, now] of [
    ["a\nb", "a\nb\nc\n"],
    ["a\nb\n", "a\nb"],
    ["", "a\n"],
    ["a\n", ""],
    ["a\r\nb\r\nc", "a\r\nx\r\nc"],
  ] as const) {
    assert.equal(withHunks(old, now, hunks(old, now)), now);
  }
  // it goes on to end its lines as it did
  assert.equal(withHunks("a\r\nb\r\n", "a\nx\n", hunks("a\r\nb\r\n", "a\nx\n")), "a\r\nx\r\n");
  assert.ok(isSame("a\r\nb\r\n", "a\nb\n"));
  assert.ok(!isSame("a\nb", "a\nb\n"));
});

test("what the gutter shows is found again, also where it is stale by a line", () => {
  const all = hunks(OLD, NOW);
  for (const hunk of all) assert.deepEqual(overlapping(all, hunk), [hunk]);
  assert.deepEqual(overlapping(all, { old: [4, 5], now: [4, 6] }), all.slice(2));
  assert.deepEqual(overlapping(all, { old: [2, 3], now: [3, 4] }), []);
});

test("texts without a line in common take no time", () => {
  const text = (word: string) => Array.from({ length: 20_000 }, (_, at) => `${word} ${at}\n`).join("");
  const found = hunks(text("old"), text("now"));
  assert.equal(found.length, 1);
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
