// How long the extension takes as VS Code starts, by VS Code's own account, against the limit; a package as users have it.
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { extension } from './rig/places.ts';
import { expect, test } from './rig/test.ts';

const TRIES = 5;
/** Milliseconds, code loaded and activated. */
const LIMIT = 50;

const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'backstitch-measure-'));
const vsix = path.join(dir, 'backstitch.vsix');
const found: { load: number; activate: number; server: number }[] = [];

test.use({ extension: vsix });

test.beforeAll(() => {
  execFileSync(process.execPath, ['package.mjs', '--out', vsix], { cwd: extension, stdio: 'pipe' });
});

for (let n = 1; n <= TRIES; n++) {
  test(`start ${n}`, async ({ world, agent, code }) => {
    world.commit({ 'a.txt': 'one\ntwo\n' });
    agent.start();
    agent.turn('make it two', () => agent.edit('a.txt', 'two', '2'));
    const window = await code.open('a.txt');
    await expect(window.editor.lens('rewind to here')).toBeVisible();
    await window.run('Developer: Startup Performance');
    let row: string[] | undefined;
    await expect(async () => {
      await window.page.keyboard.press('Control+A');
      await window.page.keyboard.press('Control+C');
      const text = await window.page.evaluate(() => navigator.clipboard.readText());
      const line = text.split('\n').find((line) => line.includes('backstitch.backstitch'));
      row = line?.split('|').map((cell) => cell.trim());
      expect(row).toBeDefined();
    }).toPass({ timeout: 30_000 });
    // | extension | eager | load code | call activate | finish activate | event | by |
    const [load, call, finish] = (row ?? []).slice(3, 6).map(Number);
    const log = Object.values(code.logs()).join('\n');
    const server = Number(/there after (\d+) ms/.exec(log)?.[1]);
    found.push({ load: load ?? NaN, activate: (call ?? NaN) + (finish ?? NaN), server });
  });
}

test.afterAll(() => {
  fs.rmSync(dir, { recursive: true });
  const median = (of: 'load' | 'activate' | 'server') => found.map((each) => each[of]).sort((a, b) => a - b)[found.length >> 1];
  const [load, activate] = [median('load') ?? NaN, median('activate') ?? NaN];
  console.log(`load ${load} ms + activate ${activate} ms: ${((load + activate) / LIMIT).toFixed(2)} of ${LIMIT} ms`);
  console.log(`beside it, the server's start until its first answer: ${median('server')} ms (median of ${found.length})`);
});
