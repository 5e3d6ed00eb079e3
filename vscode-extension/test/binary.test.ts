import assert from "node:assert/strict";
import { test } from "node:test";

import { find, type Machine } from "../src/server/binary.ts";

function machine(...programs: string[]): Machine {
  return {
    platform: "linux",
    path: "/usr/bin:relative:/opt/bin",
    home: "/home/me",
    isProgram: (file) => programs.includes(file),
  };
}

test("the setting comes first, then what came along, then the PATH, then cargo's", () => {
  const [own, path, cargo] = ["/ext/bin/backstitch", "/opt/bin/backstitch", "/home/me/.cargo/bin/backstitch"];
  const all = machine("/home/me/b", own, path, cargo);
  assert.deepEqual(find("~/b", "/ext", all), { path: "/home/me/b", from: "setting" });
  assert.deepEqual(find(" ", "/ext", all), { path: own, from: "bundled" });
  assert.deepEqual(find("", "/ext", machine(path, cargo)), { path, from: "path" });
  assert.deepEqual(find("", "/ext", machine(cargo)), { path: cargo, from: "path" });
});

test("a setting that leads nowhere is not passed over", () => {
  const found = find("/gone", "/ext", machine("/ext/bin/backstitch"));
  assert.deepEqual(found, { path: undefined, tried: ["/gone"], setting: "/gone" });
});

test("a name alone is looked for on the PATH, and nowhere else", () => {
  const there = machine("/opt/bin/backstitch-next", "relative/backstitch-next");
  const found = find("backstitch-next", "/ext", there);
  assert.deepEqual(found, { path: "/opt/bin/backstitch-next", from: "setting" });
  const missing = find("backstitch-next", "/ext", machine("relative/backstitch-next", "/ext/bin/backstitch"));
  assert.equal(missing.path, undefined);
});

test("no place that depends on the directory is looked at", () => {
  const found = find("", "/ext", machine("relative/backstitch"));
  assert.equal(found.path, undefined);
});
