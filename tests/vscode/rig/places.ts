// Paths of the programs under test and of their tools; `run` ensures that they exist.
import fs from 'node:fs';
import path from 'node:path';

const tests = path.resolve(import.meta.dirname, '../..');
const from = (variable: string, otherwise: string) => path.resolve(process.env[variable] || otherwise);

const editors = from('BACKSTITCH_TEST_EDITORS', path.join(tests, '.cache/editors'));

export const codeServer = path.join(editors, 'bin/code-server');
/** VS Code's own extensions. */
export const builtin = path.join(editors, 'code-server/node_modules/code-server/lib/vscode/extensions');
export const chromium = path.join(editors, 'bin/chromium');
/** The extension, built. */
export const extension = from('BACKSTITCH_TEST_EXTENSION', path.join(tests, '../vscode-extension'));
/** Small extension that shows one of everything. */
export const probe = path.join(import.meta.dirname, 'probe');
/** Another extension that acts as an agent. */
export const caller = path.join(import.meta.dirname, 'caller');
/** Extension with a debugger, which runs nothing. */
export const debuggerOf = path.join(import.meta.dirname, 'debugger');
/** Extension that gives workflows the language of GitHub's own extension. */
export const actions = path.join(import.meta.dirname, 'actions');
/** VS Code's own support of JSON, with schemas. */
export const json = path.join(builtin, 'json-language-features');
/** Extension that reports VS Code's measurements. */
export const clock = path.join(import.meta.dirname, 'clock');
/** The binary under test. */
export const backstitch = from('BACKSTITCH_BIN', path.join(tests, '../target/debug/backstitch'));

/** The search path without folders that contain another backstitch. */
export function searchPath(...first: string[]): string {
  const rest = (process.env['PATH'] ?? '').split(path.delimiter);
  const without = rest.filter((dir) => !fs.existsSync(path.join(dir, 'backstitch')));
  return [...first, ...without].join(path.delimiter);
}
