import assert from "node:assert/strict";
import { test } from "node:test";

import { about, agentOf, ago, counts, decider, line, quoted, type Say } from "../src/show/words.ts";
import { change, checkpoint } from "./checkpoints.ts";

const say: Say = (message, ...args) =>
  message.replace(/\{(\d)\}/g, (_, at: string) => String(args[Number(at)]));

test("ages", () => {
  const now = Date.parse("2026-11-20T12:00:00Z");
  const at = (time: string) => ago(time, now, say);
  assert.equal(at("2026-11-20T11:59:30Z"), "just now");
  assert.equal(at("2026-11-20T11:58:00Z"), "2 min ago");
  assert.equal(at("2026-11-20T09:30:00Z"), "2 h ago");
  assert.equal(at("2026-11-19T09:30:00Z"), "yesterday");
  assert.equal(at("2026-11-15T09:30:00Z"), "5 days ago");
  assert.equal(at("2026-10-15T09:30:00Z"), "2026-10-15");
  // the clock is ahead
  assert.equal(at("2026-11-20T12:00:10Z"), "just now");
  assert.equal(ago(null, now, say), "");
});

test("a prompt is one line without control characters and direction marks", () => {
  assert.equal(line("  make\n it\t\u202ered\u0007 "), "make it red");
  assert.equal(line("👩‍👩‍👧‍👧".repeat(3), 2), "👩‍👩‍👧‍👧…");
});

test("an agent has the letter of its session, and a turn its prompt as a name", () => {
  assert.equal(agentOf({ agent: "claude-code", letter: "B" }), "claude-code B");
  assert.equal(agentOf({ agent: "claude-code", letter: null }), "claude-code");
  assert.equal(quoted("make\nit red"), "“make it red”");
  assert.equal(quoted("make it red", 5), "“make…”");
  assert.equal(quoted(null), "");
});

test("titles of checkpoints", () => {
  assert.equal(about(checkpoint("c1", "turn", { prompt: "refactor\nauth" }), say), "refactor auth");
  assert.equal(about(checkpoint("c1", "turn", { prompt: "" }), say), "turn without a prompt");
  const changes = [change("a.rs", "modify")];
  assert.equal(about(checkpoint("c2", "step", { tool: "Edit", changes }), say), "Edit · a.rs");
  assert.equal(about(checkpoint("c2", "external", { label: "mine" }), say), "mine");
  const ran = checkpoint("c2", "step", { tool: "Bash", command: "make", summary: "Build it", changes });
  assert.equal(about(ran, say), "Build it");
  assert.equal(about(checkpoint("c1", "manual", { label: "start" }), say), "before Backstitch");
  assert.equal(about(checkpoint("c5", "manual", { label: "start" }), say), "start");
});

test("lines are counted over all changes", () => {
  assert.equal(
    counts([
      { added: 3, removed: 0 },
      { added: 1, removed: 2 },
    ]),
    "+4 −2",
  );
  assert.equal(counts([{ added: 0, removed: 0 }]), "");
});

test("a decision names its place in words", () => {
  const said = ["cli", "time limit", "nobody watches", "Neovim"].map((by) => decider(by, say));
  assert.deepEqual(said, ["in a terminal", "since the time ran out", "since nobody watched", "in Neovim"]);
});
