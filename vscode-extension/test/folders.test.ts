import assert from "node:assert/strict";
import { test } from "node:test";

import { asOpened, really } from "../src/server/folders.ts";

const links = [{ opened: "/home/me/work", real: "/disk/projects/work" }];

test("a file has the opened path of its folder, and is found at its real path", () => {
  for (const [opened, real] of [
    ["/home/me/work/src/a.rs", "/disk/projects/work/src/a.rs"],
    ["/home/me/work", "/disk/projects/work"],
  ] as const) {
    assert.equal(asOpened(real, links), opened);
    assert.equal(really(opened, links), real);
  }
});

test("other files keep their paths", () => {
  for (const file of ["/disk/projects/work2/a.rs", "/disk/projects/a.rs", "/elsewhere"]) {
    assert.equal(asOpened(file, links), file);
    assert.equal(really(file, links), file);
  }
});
