import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

import { hasAll, sides } from "../src/restore/conflicts.ts";

test("markers split into three texts", () => {
  const text =
    "one\n<<<<<<< t1\ntwo\n=======\nmine\n>>>>>>> kept\nthree\n<<<<<<< t1\nfour\n=======\n>>>>>>> kept";
  assert.deepEqual(sides(text), {
    base: "one\nthree\nfour \n",
    current: "one\nmine\nthree\n",
    target: "one\ntwo\nthree\nfour\n",
    conflicts: [
      { target: 1, current: 1 },
      { target: 1, current: 0 },
    ],
  });
});

test("an incomplete conflict is text", () => {
  assert.equal(sides("one\n<<<<<<< t1\ntwo\n"), undefined);
  assert.equal(sides("Title\n=======\n>>>>>>> quoted\n"), undefined);
  const text = "<<<<<<< a\n<<<<<<< t1\nx\n=======\ny\n>>>>>>> kept\n";
  assert.deepEqual(sides(text)?.target, "<<<<<<< a\nx\n");
});

test("line ends are kept", () => {
  const found = sides("a\r\n<<<<<<< t1\r\nb\r\n=======\r\nc\r\n>>>>>>> kept\r\n");
  assert.deepEqual([found?.target, found?.current], ["a\r\nb\r\n", "a\r\nc\r\n"]);
});

test("the length identifies a side that looks like a marker", () => {
  const text = "a\n<<<<<<< t1\nTitle\n=======\nold\n=======\nnew\n>>>>>>> now\nb\n";
  const found = sides(text, [{ target: 3, current: 1 }]);
  assert.equal(found?.target, "a\nTitle\n=======\nold\nb\n");
  assert.equal(found.current, "a\nnew\nb\n");
  const mine = "<<<<<<< t1\nold\n=======\n>>>>>>> quoted\n<<<<<<< quoted\n>>>>>>> now\n";
  assert.deepEqual(sides(mine, [{ target: 1, current: 2 }]), {
    base: "",
    target: "old\n",
    current: ">>>>>>> quoted\n<<<<<<< quoted\n",
    conflicts: [{ target: 1, current: 2 }],
  });
  // with wrong lengths the first marker splits
  assert.equal(sides(text, [{ target: 9, current: 9 }])?.target, "a\nTitle\nb\n");
});

test("expected conflicts are found among others", () => {
  const [one, two] = [
    { target: 1, current: 2 },
    { target: 3, current: 0 },
  ];
  assert.ok(hasAll([one, two], [one, two]));
  assert.ok(hasAll([two, one, one, two], [one, two]));
  assert.ok(!hasAll([two, one], [one, two]));
  assert.ok(!hasAll([one], [one, two]));
});

/** Number of conflicts of a merge of three texts, by git. */
function conflictsOf({
  base,
  target,
  current,
}: {
  base: string;
  target: string;
  current: string;
}): number | null {
  const folder = mkdtempSync(join(tmpdir(), "conflicts-"));
  const files = Object.entries({ target, base, current }).map(([name, text]) => {
    writeFileSync(join(folder, name), text);
    return join(folder, name);
  });
  const { status } = spawnSync("git", ["merge-file", "--quiet", "-p", ...files]);
  rmSync(folder, { recursive: true });
  return status;
}

test("a deletion against a change is a conflict", () => {
  const marked = (target: string, current: string, eol = "\n") =>
    `one\nx\n<<<<<<< t1\n${target}=======\n${current}>>>>>>> kept\nx\nthree\n`.replaceAll("\n", eol);
  const blocks = ["two\n", "\n", "\n\n", "two \n", "x\n", "x\ntwo\nx\n", "x\nx\n"];
  for (const eol of ["\n", "\r\n"]) {
    for (const block of blocks) {
      for (const text of [marked(block, "", eol), marked("", block, eol)]) {
        const found = sides(text);
        assert.ok(found);
        assert.equal(conflictsOf(found), 1, JSON.stringify(found));
      }
    }
  }
  const both = sides(marked("two\n", "mine\n"));
  assert.ok(both);
  assert.equal(conflictsOf(both), 1);
  // at the end of a text without a last line end
  assert.equal(sides("<<<<<<< t1\n=======\ntwo\n>>>>>>> kept")?.base, "two \n");
});
