import assert from "node:assert/strict";
import { test } from "node:test";

import { entries, gaps, isEmpty, parse, written } from "../src/timeline/model.ts";
import { checkpoint } from "./checkpoints.ts";

test("steps are below their turns, newest first", () => {
  const all = [
    checkpoint("c6", "external"),
    checkpoint("c5", "step", { turn: "t2" }),
    checkpoint("c4", "turn", { turn: "t2" }),
    checkpoint("c3", "step", { turn: "t1" }),
    checkpoint("c2", "step", { turn: "t1" }),
    checkpoint("c1", "turn", { turn: "t1" }),
  ];
  const shape = (list: typeof all) =>
    entries(list).map(({ checkpoint, steps }) => [checkpoint.id, ...steps.map(({ id }) => id)].join(" "));
  assert.deepEqual(shape(all), ["c6", "c4 c5", "c1 c3 c2"]);
  // the turn is on the next page
  assert.deepEqual(shape(all.slice(0, 4)), ["c6", "c4 c5", "c3"]);
});

test("a turn includes the gaps of its steps", () => {
  const item = { path: "big.bin", reason: "too_large" as const, detail: "" };
  const step = checkpoint("c2", "step", { turn: "t1" });
  step.coverage.items.push(item);
  const [entry] = entries([step, checkpoint("c1", "turn", { turn: "t1" })]);
  assert.ok(entry);
  assert.deepEqual(gaps(entry), [item]);
});

test("typed filters", () => {
  const typed = "agent:claude-code refactor path:src/a.rs auth";
  const filter = parse(typed);
  assert.deepEqual(filter, { agent: "claude-code", path: "src/a.rs", text: "refactor auth" });
  assert.deepEqual(parse(written(filter)), filter);
  const quoted = parse('path:"my notes/a b.md" two  words');
  assert.deepEqual(quoted, { path: "my notes/a b.md", text: "two words" });
  assert.deepEqual(parse(written(quoted)), quoted);
  assert.ok(isEmpty(parse("  ")));
  assert.deepEqual(parse("agent:"), { text: "agent:" });
});
