import assert from "node:assert/strict";
import { test } from "node:test";

import { Restarts } from "../src/server/restarts.ts";

test("a server that crashes often is not restarted, one that crashes rarely is", () => {
  const often = new Restarts();
  assert.deepEqual(
    [0, 1, 2, 3, 4].map((second) => often.again(second * 1000)),
    [true, true, true, true, false],
  );
  const seldom = new Restarts();
  for (let hour = 0; hour < 9; hour++) assert.ok(seldom.again(hour * 3_600_000));
});
