import assert from "node:assert/strict";
import { test } from "node:test";

import { type HeldPlace, placeOf, uriParts } from "../src/control/place.ts";

const place = (kind: HeldPlace["kind"], path: string): HeldPlace => ({
  id: "p4",
  root: "/w/a b",
  kind,
  path,
});

test("both sides of a held file have its own path, so that it is one file and no rename", () => {
  const [now, then] = [uriParts(place("now", "src/app.js")), uriParts(place("then", "src/app.js"))];
  assert.equal(now.path, "/src/app.js");
  assert.equal(then.path, now.path);
  assert.notEqual(then.query, now.query);
});

test("a place is read back from its parts", () => {
  for (const each of [
    place("now", "a"),
    place("then", "/outside/ü"),
    place("input", "Bash.held-input.json"),
  ]) {
    assert.deepEqual(placeOf(uriParts(each)), each);
  }
  assert.equal(placeOf({ scheme: "file", path: "/a", query: "" }), undefined);
  assert.equal(placeOf({ scheme: "backstitch-held", path: "/a", query: "p1" }), undefined);
  assert.equal(placeOf({ scheme: "backstitch-held", path: "/a", query: '{"id":"p1"}' }), undefined);
});
