import assert from "node:assert/strict";
import { test } from "node:test";

import { type At, parse, parts } from "../src/documents/uri.ts";

test("the URI of a file round-trips for any name of its workspace", () => {
  for (const root of ["/home/me/project", "/home/Me/Ein Projekt", "/ä/É%41", "c:\\Users\\Me"]) {
    const at: At = { root, rev: "c12", path: "src/é Ü?.rs" };
    const made = parts(at);
    assert.deepEqual(parse(made), at);
    // as VS Code writes a host
    assert.equal(made.authority, made.authority.toLowerCase());
  }
});

test("a view is not a file", () => {
  assert.equal(parse({ scheme: "backstitch", authority: "view", path: "/1/plan" }), undefined);
  assert.equal(parse({ scheme: "file", authority: "", path: "/a/b" }), undefined);
  assert.equal(parse({ scheme: "backstitch", authority: "x", path: "/c1" }), undefined);
});
