// The package that users install: made as for them, small, and at work in a fresh VS Code.
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { extension } from './rig/places.ts';
import { expect, test } from './rig/test.ts';

const vsix = path.join(fs.mkdtempSync(path.join(os.tmpdir(), 'backstitch-vsix-')), 'backstitch.vsix');

test.beforeAll(() => {
  const vsce = path.join(extension, 'node_modules/@vscode/vsce/vsce');
  const args = ['package', '--no-dependencies', '--allow-missing-repository', '--out', vsix];
  execFileSync(process.execPath, [vsce, ...args], { cwd: extension, stdio: 'pipe' });
});

test.afterAll(() => {
  fs.rmSync(path.dirname(vsix), { recursive: true });
});

test.use({ extension: vsix });

test('the package is small, and works where it is installed', async ({ world, agent, code }) => {
  expect(fs.statSync(vsix).size).toBeLessThan(1 << 20);
  world.commit({ 'a.txt': 'one\ntwo\n' });
  const window = await code.open('a.txt');
  agent.start();
  agent.turn('make it two', () => agent.edit('a.txt', 'two', '2'));
  await window.editor.lens('rewind to here').click();
  await window.quick.pick('Rewind to t1');
  await expect.poll(() => world.read('a.txt')).toBe('one\ntwo\n');
});
