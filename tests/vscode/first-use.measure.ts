// First use, from a new clone to the first rewind of an agent's turn, in a bare home. The package brings the program. The time
// of the compiler is left out, since it says more of the machine, and VS Code's own question about trust.
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { backstitch } from './rig/places.ts';
import { expect, test } from './rig/test.ts';

const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'backstitch-measure-'));
const vsix = path.join(dir, 'backstitch.vsix');
const TEXT = 'one\ntwo\nthree\n';
/** Acts of the user in VS Code, from the package to the rewind. */
const MAX_ACTS = 6;
const steps: { what: string; ms: number; acts: number }[] = [];
let last = Date.now();
/** `acts`: what the user did for it. */
const step = (what: string, acts = 0) => {
  steps.push({ what, ms: Date.now() - last, acts });
  last = Date.now();
};

test.use({ extension: vsix, vscode: { server: 'missing' } });

test.beforeAll(() => {
  last = Date.now();
  const run = (program: string, args: string[], cwd: string) => execFileSync(program, args, { cwd, stdio: 'pipe' });
  run('git', ['clone', '-q', path.resolve(import.meta.dirname, '../..'), 'clone'], dir);
  step('clone');
  const extension = path.join(dir, 'clone/vscode-extension');
  run('npm', ['ci', '--no-audit', '--no-fund'], extension);
  step('npm ci');
  run(process.execPath, ['package.mjs', '--out', vsix, '--binary', backstitch], extension);
  step('package');
});

test('first use', async ({ world, agent, code }) => {
  world.commit({ 'a.txt': TEXT });
  // Claude Code has been used here
  fs.mkdirSync(path.join(world.home, '.claude'), { recursive: true });
  const window = await code.open('a.txt');
  step('install, and open a folder', 2);
  await window.run('Backstitch: Set Up Agents…');
  await expect(window.quick.item('claude-code')).toBeVisible();
  await window.quick.accept();
  await expect.poll(() => world.exists(world.claudeSettings)).toBe(true);
  step('Set Up Agents…, and OK', 2);
  agent.start();
  agent.turn('make it two', () => agent.edit('a.txt', 'two', '2'));
  await expect(window.editor.rewindLens()).toBeVisible();
  step('the agent’s turn, until its lens');
  await window.editor.rewindLens().click();
  await window.plan.ready();
  step('the lens, until its plan', 1);
  await window.plan.run('Rewind');
  await window.editor.expectText(TEXT);
  step('Rewind', 1);
  expect(steps.reduce((sum, { acts }) => sum + acts, 0)).toBeLessThanOrEqual(MAX_ACTS);
});

test.afterAll(() => {
  fs.rmSync(dir, { recursive: true });
  for (const { what, ms, acts } of steps) {
    console.log(`${(ms / 1000).toFixed(1).padStart(6)} s  ${acts === 0 ? '   ' : `${acts} ×`}  ${what}`);
  }
});
