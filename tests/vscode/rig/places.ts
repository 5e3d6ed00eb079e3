// Where the programs under test and those around them are; `run` sees to it that they are there.
import fs from 'node:fs';
import path from 'node:path';

const tests = path.resolve(import.meta.dirname, '../..');
const from = (variable: string, otherwise: string) => path.resolve(process.env[variable] || otherwise);

const editors = from('BACKSTITCH_TEST_EDITORS', path.join(tests, '.cache/editors'));

export const codeServer = path.join(editors, 'bin/code-server');
export const chromium = path.join(editors, 'bin/chromium');
/** The extension, built. */
export const extension = from('BACKSTITCH_TEST_EXTENSION', path.join(tests, '../vscode-extension'));
/** A small one that shows one of everything. */
export const probe = path.join(import.meta.dirname, 'probe');
/** An agent that is another extension. */
export const caller = path.join(import.meta.dirname, 'caller');
/** One that tells what VS Code measured. */
export const clock = path.join(import.meta.dirname, 'clock');
/** The binary under test. */
export const backstitch = from('BACKSTITCH_BIN', path.join(tests, '../target/debug/backstitch'));

/** The search path, without folders that hold a backstitch of their own. */
export function searchPath(...first: string[]): string {
  const rest = (process.env['PATH'] ?? '').split(path.delimiter);
  const without = rest.filter((dir) => !fs.existsSync(path.join(dir, 'backstitch')));
  return [...first, ...without].join(path.delimiter);
}
