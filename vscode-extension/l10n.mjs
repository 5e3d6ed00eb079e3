// Generates l10n/bundle.l10n.json from the texts for people in the sources: the first argument of `say(…)` and
// `vscode.l10n.t(…)`. With --check it only compares, and fails if the file is out of date.
import { globSync, readFileSync, writeFileSync } from "node:fs";

const words = globSync("src/**/*.ts").flatMap((file) => {
  const calls = readFileSync(file, "utf8").matchAll(/\b(?:say|l10n\.t)\(\s*("(?:[^"\\]|\\.)*")/g);
  return [...calls].map(([, text]) => JSON.parse(text));
});
const sorted = [...new Set(words)].sort();
const bundle = `${JSON.stringify(Object.fromEntries(sorted.map((text) => [text, text])), undefined, 2)}\n`;
const place = "l10n/bundle.l10n.json";
if (process.argv.includes("--check")) {
  if (readFileSync(place, "utf8") !== bundle) throw new Error(`${place} is old: npm run l10n`);
} else {
  writeFileSync(place, bundle);
}
