import assert from "node:assert/strict";
import { test } from "node:test";

import { removed, written } from "../src/code/removed.ts";
import type { ReviewHunk } from "../src/server/protocol.ts";

const hunk = (first: number, count: number, gone: string[], checkpoint = "c3"): ReviewHunk => ({
  old: [1, gone.length],
  new: [first, count],
  removed: gone,
  added: Array.from({ length: count }, () => "new"),
  agent: "claude-code",
  session: "s",
  letter: "A",
  turn: "t1",
  prompt: "p",
  checkpoint,
});

test("lines that are gone have a place, others are written lines", () => {
  const all = [hunk(2, 0, ["a\r\n", "b\n"]), hunk(5, 2, ["c"]), hunk(9, 1, [])];
  assert.deepEqual(
    removed(all).map(({ line, lines }) => [line, lines]),
    [[1, ["a", "b"]]],
  );
  assert.deepEqual(
    written(all).map(({ start, end }) => [start, end]),
    [
      [4, 6],
      [8, 9],
    ],
  );
});

test("equal removals have names of their own, which do not depend on their lines", () => {
  const ids = removed([hunk(2, 0, ["a"]), hunk(7, 0, ["a"]), hunk(8, 0, ["a"], "c4")]).map(({ id }) => id);
  assert.equal(new Set(ids).size, 3);
  assert.deepEqual(
    removed([hunk(3, 0, ["a"]), hunk(9, 0, ["a"])]).map(({ id }) => id),
    ids.slice(0, 2),
  );
});
