// The package for users: built like the release, small, and working in a fresh VS Code.
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import type { Agent } from './rig/agent.ts';
import { backstitch, extension } from './rig/places.ts';
import { Server } from './rig/server.ts';
import { expect, test } from './rig/test.ts';
import { Code, plain as usual } from './rig/vscode.ts';
import type { World } from './rig/world.ts';

const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'backstitch-vsix-'));
const [plain, whole, newer] = ['plain.vsix', 'whole.vsix', 'newer.vsix'].map((name) => path.join(dir, name)) as [
  string,
  string,
  string,
];

test.describe.configure({ mode: 'serial' });

test.beforeAll(() => {
  const make = (...args: string[]) =>
    execFileSync(process.execPath, ['package.mjs', ...args], { cwd: extension, stdio: 'pipe' });
  make('--out', plain);
  make('--out', whole, '--binary', backstitch);
  make('--out', newer, '--binary', backstitch, '--version', '99.0.0');
});

test.afterAll(() => {
  fs.rmSync(dir, { recursive: true });
});

async function rewinds({ world, agent, code }: { world: World; agent: Agent; code: Code }): Promise<void> {
  world.commit({ 'a.txt': 'one\ntwo\n' });
  const window = await code.open('a.txt');
  agent.start();
  agent.turn('make it two', () => agent.edit('a.txt', 'two', '2'));
  await window.editor.rewindLens().click();
  await window.plan.run('Rewind');
  await expect.poll(() => world.read('a.txt')).toBe('one\ntwo\n');
}

test.describe(() => {
  test.use({ extension: plain });

  test('the package is small, and works where it is installed', async ({ world, agent, code }) => {
    expect(fs.statSync(plain).size).toBeLessThan(1 << 20);
    // its pictures are in the folder of the extension
    const readme = execFileSync('unzip', ['-p', plain, 'extension/readme.md'], { encoding: 'utf8' });
    const pictures = [...readme.matchAll(/!\[[^\]]*\]\(([^)]+)\)/g)].map(([, url]) => url);
    expect(pictures.length).toBeGreaterThan(0);
    const place = 'https://github.com/backstitch/backstitch/raw/HEAD/vscode-extension/';
    for (const url of pictures) {
      expect(url).toContain(place);
      expect(fs.existsSync(path.join(extension, url!.slice(place.length)))).toBe(true);
    }
    await rewinds({ world, agent, code });
  });
});

test.describe(() => {
  test.use({ extension: whole, vscode: { server: 'missing' } });

  test('with the program in it nothing else is needed', { tag: '@long' }, async ({ world, agent, code }) => {
    await rewinds({ world, agent, code });
  });
});

test('hooks go on after an update of the extension', async ({ world, windows }) => {
  // servers of its own: the update removes an extension
  const start = (name: string, extension: string) =>
    new Server(world.place, name, { extensions: [extension], trusted: true, server: 'missing' });
  const options = { ...usual, server: 'missing' as const };
  world.commit({ 'a.txt': 'one\n' });
  fs.mkdirSync(path.join(world.home, '.claude'), { recursive: true });

  const before = start('before-the-update', whole);
  const old = new Code(world, windows, before, options);
  const window = await old.open('a.txt');
  await window.run('Backstitch: Set Up Agents…');
  await expect(window.quick.item('claude-code')).toBeVisible();
  await window.quick.accept();
  await expect(window.notifications.toast('Set up: claude-code')).toBeVisible();
  const kept = path.join(world.place.dir('data'), 'backstitch/bin/backstitch');
  expect(world.hookCommand()).toBe(`${kept} hook claude-code`);
  await old.end();
  await before.end();
  // VS Code does so some time after an update
  fs.rmSync(before.extensions, { recursive: true, force: true });

  const after = start('after-the-update', newer);
  const next = new Code(world, windows, after, options);
  try {
    const updated = await next.open('a.txt');
    const folders = fs.readdirSync(after.extensions).filter((name) => name.startsWith('backstitch.'));
    expect(folders).toEqual([expect.stringContaining('99.0.0')]);
    expect(world.promptByHook('after the update')).toBe(0);
    await updated.activity.open('Backstitch');
    const tree = updated.tree('Timeline');
    await expect(tree.row('after the update')).toBeVisible();
    await expect(tree.message).toHaveText('Recording: on (claude-code)');
  } finally {
    await next.end();
    await after.end();
  }
});

test.describe(() => {
  test.use({ extension: whole, vscode: { server: 'missing' } });

  test('hooks that an older version left in its folder are repaired', { tag: '@long' }, async ({ world, code }) => {
    world.commit({ 'a.txt': 'one\n' });
    const gone = path.join(world.base, 'extensions/backstitch.backstitch-0.0.9-linux-x64/bin/backstitch');
    world.hookProgram(gone);
    expect(world.promptByHook('lost')).toBe(127);
    const window = await code.open('a.txt');
    const toast = window.notifications.toast('Recording of claude-code is on again');
    await expect(toast).toContainText(`${gone}, which does not exist`);
    expect(world.promptByHook('recorded')).toBe(0);
    await window.activity.open('Backstitch');
    await expect(window.tree('Timeline').row('recorded')).toBeVisible();
    await expect(window.tree('Timeline').row(/Recording/)).toHaveCount(0);
  });
});
