// Bundles the extension, and the script of the graph's page, into dist/.
import { readFile } from "node:fs/promises";
import { build, context } from "esbuild";

const production = process.argv.includes("--production");
/** @type {import("esbuild").BuildOptions} */
const common = {
  bundle: true,
  minify: production,
  sourcemap: !production,
  legalComments: "none",
  logLevel: "warning",
};
/** @type {import("esbuild").BuildOptions} */
const node = {
  ...common,
  outdir: "dist",
  platform: "node",
  target: "node20",
  format: "cjs",
  external: ["vscode"],
  // the language client's module form is smaller once bundled
  mainFields: ["module", "main"],
};
/** @type {import("esbuild").Plugin} */
const apart = {
  name: "the language client in a file of its own, which is read after VS Code has started",
  setup: ({ onResolve }) => {
    onResolve({ filter: /\/server\/client\.ts$/ }, ({ kind }) =>
      kind === "dynamic-import" ? { path: "./client.js", external: true } : undefined,
    );
  },
};
/** @type {import("esbuild").Plugin} */
const uncopied = {
  name: "VS Code's API as it is: its copy as a module would be made anew for each file, at half a millisecond",
  setup: ({ onLoad }) => {
    onLoad({ filter: /[/\\]src[/\\].*\.ts$/ }, async ({ path }) => {
      const text = await readFile(path, "utf8");
      const contents = text.replace(
        'import * as vscode from "vscode";',
        'import vscode = require("vscode");',
      );
      return { contents, loader: "ts" };
    });
  },
};
/** @type {import("esbuild").BuildOptions[]} */
const bundles = [
  {
    ...node,
    entryPoints: { extension: "src/extension.ts" },
    plugins: [apart, uncopied],
    supported: { "dynamic-import": false },
  },
  { ...node, entryPoints: { client: "src/server/client.ts" }, plugins: [uncopied] },
  {
    ...common,
    entryPoints: { graph: "src/graph/page/main.ts", repl: "src/repl/page/main.ts" },
    outdir: "dist",
    platform: "browser",
    target: "es2022",
    format: "iife",
  },
];

if (process.argv.includes("--watch")) {
  await Promise.all(bundles.map(async (bundle) => (await context(bundle)).watch()));
} else {
  await Promise.all(bundles.map((bundle) => build(bundle)));
}
