// npm run package [-- --binary FILE [--target TARGET]] [--version VERSION]: makes the .vsix.
//
//   --binary   the program backstitch, which goes along; without it the extension finds one on the PATH
//   --target   what that program runs on, as VS Code calls it: linux-x64, darwin-arm64, …; this machine, unless said
//   --version  the version of the package, unless it is that of package.json
import { execFileSync } from "node:child_process";
import { accessSync, constants, cpSync, mkdirSync, rmSync } from "node:fs";
import path from "node:path";
import { parseArgs } from "node:util";

const here = import.meta.dirname;
const { values } = parseArgs({
  options: {
    binary: { type: "string" },
    target: { type: "string" },
    out: { type: "string" },
    version: { type: "string" },
  },
});
const { binary } = values;
if (binary === undefined && values.target !== undefined) {
  console.error("--target says what --binary runs on, which is missing");
  process.exit(2);
}
const target = values.target ?? `${process.platform}-${process.arch}`;
const bin = path.join(here, "bin");
const out = path.resolve(
  values.out ?? (binary === undefined ? "backstitch.vsix" : `backstitch-${target}.vsix`),
);
const vsce = path.join(here, "node_modules/@vscode/vsce/vsce");
const version = values.version === undefined ? [] : [values.version, "--no-update-package-json"];
// vsce ignores the folder of the repository in which the extension is
const place = "https://github.com/backstitch/backstitch";
const links = [
  "--baseContentUrl",
  `${place}/blob/HEAD/vscode-extension`,
  "--baseImagesUrl",
  `${place}/raw/HEAD/vscode-extension`,
];
const args = ["package", ...version, ...links, "--no-dependencies", "--out", out];

rmSync(bin, { recursive: true, force: true });
try {
  if (binary !== undefined) {
    accessSync(binary, constants.X_OK);
    mkdirSync(bin);
    cpSync(binary, path.join(bin, target.startsWith("win32") ? "backstitch.exe" : "backstitch"));
    args.push("--target", target);
  }
  execFileSync(process.execPath, [vsce, ...args], { cwd: here, stdio: "inherit" });
} finally {
  rmSync(bin, { recursive: true, force: true });
}
