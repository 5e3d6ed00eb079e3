// The package for users: built like the release, small, and working in a fresh VS Code.
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import type { Agent } from './rig/agent.ts';
import { backstitch, extension } from './rig/places.ts';
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

/** The folders of the extension, by their names. */
function folders(world: World): string[] {
  const all = fs.readdirSync(world.dir('extensions'));
  return all.filter((name) => name.startsWith('backstitch.backstitch-')).sort();
}

test.describe(() => {
  test.use({ extension: whole, vscode: { server: 'missing' } });

  test('hooks go on after an update of the extension', async ({ world, page, code }) => {
    world.commit({ 'a.txt': 'one\n' });
    world.dir('home/.claude');
    const window = await code.open('a.txt');
    await window.run('Backstitch: Set Up Agents…');
    await expect(window.quick.item('claude-code')).toBeVisible();
    await window.quick.accept();
    await expect(window.notifications.toast('Set up: claude-code')).toBeVisible();
    const kept = path.join(world.dir('data'), 'backstitch/bin/backstitch');
    expect(world.hookCommand()).toBe(`${kept} hook claude-code`);
    await code.end();

    const [old] = folders(world);
    const next = new Code(world, page, [newer], { ...usual, server: 'missing' });
    try {
      const updated = await next.open('a.txt');
      // VS Code does so some time after it has started
      fs.rmSync(path.join(world.dir('extensions'), old!), { recursive: true, force: true });
      expect(folders(world)).toEqual([expect.stringContaining('99.0.0')]);
      expect(world.promptByHook('after the update')).toBe(0);
      await updated.activity.open('Backstitch');
      const tree = updated.tree('Timeline');
      await expect(tree.row('after the update')).toBeVisible();
      await expect(tree.message).toHaveText('Recording: on (claude-code)');
    } finally {
      await next.end();
    }
  });

  test('hooks that an older version left in its folder are repaired', async ({ world, code }) => {
    world.commit({ 'a.txt': 'one\n' });
    const gone = path.join(world.dir('extensions'), 'backstitch.backstitch-0.0.9-linux-x64/bin/backstitch');
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
