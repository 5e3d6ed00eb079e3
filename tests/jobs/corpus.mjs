// corpus.mjs LOCKFILE - the workflows in the packages of the crates that a lock file names.
//
// Standard output has one JSON object a line: {"file": "crate-1.2.3/.github/workflows/ci.yml", "text": "…"}.
// They come from cargo's registry cache of this machine, so they change with the lock file.
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";

const cache = join(process.env.CARGO_HOME ?? join(homedir(), ".cargo"), "registry/cache");
const indexes = existsSync(cache) ? readdirSync(cache) : [];
const lock = readFileSync(process.argv[2], "utf8");
const crates = [...lock.matchAll(/^name = "(.*)"\nversion = "(.*)"\nsource = /gm)].map(([, name, version]) => `${name}-${version}`);

/** Files of a tar archive (POSIX ustar) whose name matches. */
function* files(tar, pattern) {
  for (let at = 0; at + 512 <= tar.length; ) {
    const field = (start, length) => tar.toString("utf8", at + start, at + start + length).replace(/\0.*$/s, "");
    const size = parseInt(field(124, 12).trim() || "0", 8);
    const prefix = field(345, 155);
    const name = (prefix ? prefix + "/" : "") + field(0, 100);
    if (pattern.test(name)) yield { file: name, text: tar.toString("utf8", at + 512, at + 512 + size) };
    at += 512 + Math.ceil(size / 512) * 512;
  }
}

for (const crate of crates) {
  for (const index of indexes) {
    const path = join(cache, index, `${crate}.crate`);
    if (!existsSync(path)) continue;
    const workflows = files(gunzipSync(readFileSync(path)), /^[^/]+\/\.github\/workflows\/[^/]+\.ya?ml$/);
    for (const workflow of workflows) process.stdout.write(JSON.stringify(workflow) + "\n");
  }
}
