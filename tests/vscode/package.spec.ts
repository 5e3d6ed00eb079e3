// The package for users: built like the release, small, and working in a fresh VS Code.
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import type { Agent } from './rig/agent.ts';
import { backstitch, extension } from './rig/places.ts';
import { expect, test } from './rig/test.ts';
import type { Code } from './rig/vscode.ts';
import type { World } from './rig/world.ts';

const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'backstitch-vsix-'));
const [plain, whole] = [path.join(dir, 'plain.vsix'), path.join(dir, 'whole.vsix')];

test.describe.configure({ mode: 'serial' });

test.beforeAll(() => {
  const make = (...args: string[]) =>
    execFileSync(process.execPath, ['package.mjs', ...args], { cwd: extension, stdio: 'pipe' });
  make('--out', plain);
  make('--out', whole, '--binary', backstitch);
});

test.afterAll(() => {
  fs.rmSync(dir, { recursive: true });
});

async function rewinds({ world, agent, code }: { world: World; agent: Agent; code: Code }): Promise<void> {
  world.commit({ 'a.txt': 'one\ntwo\n' });
  const window = await code.open('a.txt');
  agent.start();
  agent.turn('make it two', () => agent.edit('a.txt', 'two', '2'));
  await window.editor.lens('rewind to here').click();
  await window.quick.pick('Rewind to t1');
  await expect.poll(() => world.read('a.txt')).toBe('one\ntwo\n');
}

test.describe(() => {
  test.use({ extension: plain });

  test('the package is small, and works where it is installed', async ({ world, agent, code }) => {
    expect(fs.statSync(plain).size).toBeLessThan(1 << 20);
    await rewinds({ world, agent, code });
  });
});

test.describe(() => {
  test.use({ extension: whole, vscode: { server: 'missing' } });

  test('with the program in it nothing else is needed', async ({ world, agent, code }) => {
    await rewinds({ world, agent, code });
  });
});
