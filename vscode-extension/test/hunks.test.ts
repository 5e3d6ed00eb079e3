import assert from "node:assert/strict";
import { test } from "node:test";

import {
  type Hunk,
  areAll,
  fromGutter,
  hunks as compared,
  isSame,
  lines,
  touched,
} from "../src/compare/hunks.ts";

const OLD = "one\ntwo\nthree\nfour\nfive\n";
/** One line added, one removed, one changed. */
const NOW = "zero\none\nthree\nfour\n5\n";

/** Returns the older text with these changes applied. */
function withHunks(old: string, now: string, some: readonly Hunk[]): string {
  const [before, after] = [lines(old), lines(now)];
  const fromTheEnd = [...some].sort((a, b) => b.old[0] - a.old[0]);
  for (const hunk of fromTheEnd) {
    const [start, end] = hunk.old;
    before.splice(start, end - start, ...after.slice(...hunk.now));
  }
  return before.join(ending(old === "" ? now : old));
}

function ending(text: string): string {
  return /\r\n|\r|\n/.exec(text)?.[0] ?? "\n";
}

function hunks(old: string, now: string) {
  const found = compared(old, now);
  assert.ok(found !== undefined);
  return found;
}

test("hunks of two texts", () => {
  assert.deepEqual(hunks(OLD, OLD), []);
  assert.deepEqual(hunks(OLD, OLD.replace("two", "2").replace("five\n", "")), [
    { old: [1, 2], now: [1, 2] },
    { old: [4, 5], now: [4, 4] },
  ]);
  assert.deepEqual(hunks("", "a\n"), [{ old: [0, 0], now: [0, 1] }]);
  // after the last line end there is one more line
  assert.deepEqual(hunks("a\nb", "a\nb\n"), [{ old: [2, 2], now: [2, 3] }]);
  assert.deepEqual(hunks("a\r\nb\r\n", "a\nb\n"), []);
});

test("hunks at a cursor on either side", () => {
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

test("kept hunks are in the older text; the others remain", () => {
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
  // line ends are kept
  assert.equal(withHunks("a\r\nb\r\n", "a\nx\n", hunks("a\r\nb\r\n", "a\nx\n")), "a\r\nx\r\n");
  assert.ok(isSame("a\r\nb\r\n", "a\nb\n"));
  assert.ok(!isSame("a\nb", "a\nb\n"));
});

test("complete sets of changes are recognized from any diff", () => {
  const all = hunks(OLD, NOW);
  assert.ok(areAll(OLD, NOW, all));
  assert.ok(!areAll(OLD, NOW, all.slice(1)));
  assert.ok(!areAll(OLD, NOW, []));
  assert.ok(areAll(OLD, OLD, []));
  assert.ok(!areAll(OLD, `typed\n${NOW}`, all));
  assert.ok(!areAll(`kept\n${OLD}`, NOW, all));
  assert.ok(!areAll(OLD, `${NOW}typed\n`, all));
  // another diff of the same texts: an insertion between two equal lines
  const [was, is] = ["a {\n}\n\nc {\n}\n", "a {\n}\n\nb {\n}\n\nc {\n}\n"];
  const above = [{ old: [2, 2] as [number, number], now: [2, 5] as [number, number] }];
  const below = [{ old: [3, 3] as [number, number], now: [3, 6] as [number, number] }];
  assert.ok(areAll(was, is, above) && areAll(was, is, below));
  for (const [hunk] of [above, below]) assert.equal(withHunks(was, is, hunk ? [hunk] : []), is);
  // the gutter may ignore whitespace
  assert.ok(areAll("a\nb\n", "  a\nc\n", [{ old: [1, 2], now: [1, 2] }]));
});

test("very different texts take no time and have no hunks", () => {
  const text = (word: string) => Array.from({ length: 20_000 }, (_, at) => `${word} ${at}\n`).join("");
  assert.equal(compared(text("old"), text("now")), undefined);
});

test("changes from the gutter", () => {
  const change = (o: [number, number], m: [number, number]) =>
    fromGutter({
      originalStartLineNumber: o[0],
      originalEndLineNumber: o[1],
      modifiedStartLineNumber: m[0],
      modifiedEndLineNumber: m[1],
    });
  assert.deepEqual(change([2, 2], [2, 3]), { old: [1, 2], now: [1, 3] });
  // deleted after line 4
  assert.deepEqual(change([5, 6], [4, 0]), { old: [4, 6], now: [4, 4] });
  // inserted after line 4
  assert.deepEqual(change([4, 0], [5, 5]), { old: [4, 4], now: [4, 5] });
});
