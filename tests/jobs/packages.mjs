// packages.mjs - the files of packages that others have published, for the scripts beside it.
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";

const list = (folder) => (existsSync(folder) ? readdirSync(folder).sort() : []);

/** Files of a tar archive (POSIX ustar). */
function* files(tar) {
  for (let at = 0; at + 512 <= tar.length; ) {
    const field = (start, length) => tar.toString("utf8", at + start, at + start + length).replace(/\0.*$/s, "");
    const size = parseInt(field(124, 12).trim() || "0", 8);
    const prefix = field(345, 155);
    const name = (prefix ? prefix + "/" : "") + field(0, 100);
    yield { name, text: () => tar.toString("utf8", at + 512, at + 512 + size) };
    at += 512 + Math.ceil(size / 512) * 512;
  }
}

const kinds = [
  ["workflow", /^\.github\/workflows\/[^/]+\.ya?ml$/],
  ["action", /^(\.github\/actions\/.+\/)?action\.ya?ml$/],
];

/**
 * The workflows and actions in the crates that a lock file names, from cargo's registry cache of this machine. Those of source
 * packages in PACKAGES/sources, made by install.sh, follow. A file's name is relative to its package.
 */
export function* published(lockFile, packages) {
  const cache = join(process.env.CARGO_HOME ?? join(homedir(), ".cargo"), "registry/cache");
  const indexes = list(cache);
  const lock = readFileSync(lockFile, "utf8");
  const crates = [...lock.matchAll(/^name = "(.*)"\nversion = "(.*)"\nsource = /gm)].map(([, name, version]) => `${name}-${version}`);
  const archives = crates.flatMap((crate) => indexes.map((index) => join(cache, index, `${crate}.crate`))).filter(existsSync);
  const sources = join(packages, "sources");
  archives.push(...list(sources).map((name) => join(sources, name)));
  for (const archive of archives) {
    for (const { name, text } of files(gunzipSync(readFileSync(archive)))) {
      const [, folder, file] = name.match(/^([^/]+)\/(.+)$/s) ?? [];
      const [kind] = kinds.find(([, pattern]) => pattern.test(file ?? "")) ?? [];
      if (kind) yield { kind, package: folder, archive, file, text: text() };
    }
  }
}
