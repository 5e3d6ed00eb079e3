// Bundles the extension, and what the graph's page runs, into dist/.
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
/** @type {import("esbuild").BuildOptions[]} */
const bundles = [
  {
    ...common,
    entryPoints: { extension: "src/extension.ts" },
    outdir: "dist",
    platform: "node",
    target: "node20",
    format: "cjs",
    external: ["vscode"],
    // the language client's module form is smaller once bundled
    mainFields: ["module", "main"],
  },
  {
    ...common,
    entryPoints: { graph: "src/graph/page/main.ts" },
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
