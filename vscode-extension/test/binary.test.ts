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

test("the order is setting, bundled program, PATH, cargo's directory", () => {
  const [own, path, cargo] = ["/ext/bin/backstitch", "/opt/bin/backstitch", "/home/me/.cargo/bin/backstitch"];
  const all = machine("/home/me/b", own, path, cargo);
  assert.deepEqual(find("~/b", "/ext", all), { path: "/home/me/b", from: "setting" });
  assert.deepEqual(find(" ", "/ext", all), { path: own, from: "bundled" });
  assert.deepEqual(find("", "/ext", machine(path, cargo)), { path, from: "path" });
  assert.deepEqual(find("", "/ext", machine(cargo)), { path: cargo, from: "path" });
});

test("a wrong setting has no fallback", () => {
  const found = find("/gone", "/ext", machine("/ext/bin/backstitch"));
  assert.deepEqual(found, { path: undefined, tried: ["/gone"], setting: "/gone" });
});

test("a bare name is looked up on the PATH only", () => {
  const there = machine("/opt/bin/backstitch-next", "relative/backstitch-next");
  const found = find("backstitch-next", "/ext", there);
  assert.deepEqual(found, { path: "/opt/bin/backstitch-next", from: "setting" });
  const missing = find("backstitch-next", "/ext", machine("relative/backstitch-next", "/ext/bin/backstitch"));
  assert.equal(missing.path, undefined);
});

test("relative entries of the PATH are ignored", () => {
  const found = find("", "/ext", machine("relative/backstitch"));
  assert.equal(found.path, undefined);
});
