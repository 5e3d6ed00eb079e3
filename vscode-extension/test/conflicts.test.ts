import assert from "node:assert/strict";
import { test } from "node:test";

import { sides } from "../src/compare/conflicts.ts";

test("markers come apart into three texts", () => {
  const text =
    "one\n<<<<<<< yours\nmine\n=======\ntwo\n>>>>>>> t1\nthree\n<<<<<<< yours\n=======\nfour\n>>>>>>> t1";
  assert.deepEqual(sides(text), {
    base: "one\nthree\n",
    current: "one\nmine\nthree\n",
    target: "one\ntwo\nthree\nfour\n",
    conflicts: 2,
  });
});

test("what is no whole conflict is text", () => {
  assert.equal(sides("one\n<<<<<<< yours\ntwo\n"), undefined);
  assert.equal(sides("Title\n=======\n>>>>>>> quoted\n"), undefined);
  const text = "<<<<<<< a\n<<<<<<< yours\nx\n=======\ny\n>>>>>>> t1\n";
  assert.deepEqual(sides(text)?.current, "<<<<<<< a\nx\n");
});

test("line ends stay as they are", () => {
  const found = sides("a\r\n<<<<<<< yours\r\nb\r\n=======\r\nc\r\n>>>>>>> t1\r\n");
  assert.deepEqual([found?.current, found?.target], ["a\r\nb\r\n", "a\r\nc\r\n"]);
});
