// l10n/bundle.l10n.json from what the sources say to people: each first text of `say(…)` and `vscode.l10n.t(…)`.
// With --check it fails where the file is not what they say.
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
