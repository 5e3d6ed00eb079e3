// Start time of the extension as VS Code measures it, compared with the limit and with VS Code's own extensions,
// which start beside it on the same processors. The package is that for users.
//
// The source is the marks of the extension host. "Developer: Startup Performance" counts a load from the common start of
// several extensions, so the last one has the time of all there.
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { clock, extension } from './rig/places.ts';
import { expect, test } from './rig/test.ts';

const TRIES = 5;
/** Milliseconds, code loaded and activated. */
const LIMIT = 50;

const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'backstitch-measure-'));
const vsix = path.join(dir, 'backstitch.vsix');
const OWN = 'backstitch.backstitch';
/** A small extension that starts at the same time, and a large one. */
const RIVALS = ['vscode.merge-conflict', 'vscode.git'];
/** Load and activation of each, in milliseconds. */
const found: Record<string, [load: number, activate: number][]> = {};
const servers: number[] = [];

test.use({ extension: vsix, beside: [clock] });

test.beforeAll(() => {
  execFileSync(process.execPath, ['package.mjs', '--out', vsix], { cwd: extension, stdio: 'pipe' });
});

for (let n = 1; n <= TRIES; n++) {
  test(`start ${n}`, async ({ world, agent, code }) => {
    world.commit({ 'a.txt': 'one\ntwo\n' });
    agent.start();
    agent.turn('make it two', () => agent.edit('a.txt', 'two', '2'));
    const window = await code.open('a.txt');
    await expect(window.editor.rewindLens()).toBeVisible();
    await window.run('Clock: Copy the Marks');
    let marks: { name: string; startTime: number }[] = [];
    await expect(async () => {
      marks = JSON.parse(await window.page.evaluate(() => navigator.clipboard.readText()));
    }).toPass({ timeout: 30_000 });
    for (const name of [OWN, ...RIVALS]) {
      const at = (what: string) => marks.find((mark) => mark.name === `code/extHost/${what}/${name}`)?.startTime ?? NaN;
      const load = at('didLoadExtensionCode') - at('willLoadExtensionCode');
      const activate = at('didActivateExtension') - at('willActivateExtension');
      expect(load + activate, `marks of ${name}`).not.toBeNaN();
      (found[name] ??= []).push([load, activate]);
    }
    const log = Object.values(code.logs()).join('\n');
    servers.push(Number(/there after (\d+) ms/.exec(log)?.[1]));
  });
}

test.afterAll(() => {
  fs.rmSync(dir, { recursive: true });
  const median = (of: number[]) => of.toSorted((a, b) => a - b)[of.length >> 1] ?? NaN;
  console.log(`medians of ${servers.length} starts`);
  for (const [name, times] of Object.entries(found)) {
    const [load, activate] = [median(times.map(([load]) => load)), median(times.map(([, activate]) => activate))];
    const ratio = ((load + activate) / LIMIT).toFixed(2);
    console.log(`${name.padEnd(24)} load ${load} ms, activate ${activate} ms: ${ratio} of ${LIMIT} ms`);
  }
  console.log(`the server, which nothing waits for: ${median(servers)} ms until its first answer`);
});
