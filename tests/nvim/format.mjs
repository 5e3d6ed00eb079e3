// node format.mjs [--write] - lists Lua files of the plugin, and of this folder, that are not formatted by stylua with
// nvim-plugin/stylua.toml; --write formats them.
import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import * as stylua from '@johnnymorganz/stylua';

const plugin = path.join(import.meta.dirname, '../../nvim-plugin');
const KINDS = { indent_type: stylua.IndentType, quote_style: stylua.QuoteStyle, syntax: stylua.LuaVersion };
const said = readFileSync(path.join(plugin, 'stylua.toml'), 'utf8');

/** A new object for each file: stylua consumes it. */
function config() {
  const config = stylua.Config.new();
  for (const [, key, text] of said.matchAll(/^(\w+) = (.+)$/gm)) {
    const value = JSON.parse(text);
    const meant = KINDS[key] ? KINDS[key][value] : value;
    if (meant === undefined || !(key in config)) throw new Error(`stylua.toml: ${key} = ${text} is unknown`);
    config[key] = meant;
  }
  return config;
}

const lua = (folder, recursive) =>
  readdirSync(folder, { recursive })
    .filter((name) => name.endsWith('.lua'))
    .map((name) => path.join(folder, name));
const files = [...lua(plugin, true), ...lua(import.meta.dirname, false)];
let wrong = 0;
for (const file of files) {
  const name = path.relative(path.join(import.meta.dirname, '../..'), file);
  const was = readFileSync(file, 'utf8');
  // generated
  if (was.startsWith('---@meta')) continue;
  let now;
  try {
    now = stylua.formatCode(was, config(), undefined, stylua.OutputVerification.Full);
  } catch (error) {
    throw new Error(`${name}: ${error}`);
  }
  if (was === now) continue;
  if (process.argv.includes('--write')) writeFileSync(file, now);
  else wrong++;
  console.log(name);
}
if (wrong > 0) console.log(`${wrong} of ${files.length} files are not formatted: tests/nvim/check --write`);
process.exitCode = wrong > 0 ? 1 : 0;
