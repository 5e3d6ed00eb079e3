// Marks stand at their lines: after typing, an agent's edit, the undo of a turn, a switch of branches, and a reload from disk.
import { expect, test } from './rig/test.ts';
import { look } from './rig/look.ts';
import { REWIND_LINK } from './rig/titles.ts';

const lines = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, at) => `line ${from + at}\n`).join('');

for (const theme of ['dark', 'light'] as const) {
  test.describe(() => {
    test.use({ vscode: { theme } });

    const tag = theme === 'dark' ? [] : '@long';
    test(`a breakpoint follows its line through every change, in the theme ${theme}`, { tag }, async ({ world, agent, code }) => {
      world.commit({ 's.txt': lines(1, 20) });
      world.run('checkpoint');
      agent.start();
      const window = await code.open('s.txt');
      const { editor, page, notifications } = window;
      await editor.focus();
      await editor.goto(17);
      await window.run('Backstitch: Stop Agents Here');
      await expect.poll(() => editor.icons('stop')).toEqual([17]);
      // it is where it is, and holds nobody
      world.run('breakpoint', 'edit', 'b1', '--action', 'log', '--message', 'hit');
      const now = () => world.json('breakpoint', 'list').breakpoints[0].region;
      const follows = async () => {
        await expect
          .poll(async () => {
            const { start, count } = now();
            const wanted = Array.from({ length: count }, (_, at) => start + 1 + at);
            const stops = await editor.icons('stop');
            return JSON.stringify(stops) === JSON.stringify(wanted);
          })
          .toBe(true);
      };
      // typed above it, before anything is read again, and undone
      await editor.type(2, 'typed\n');
      await expect.poll(() => editor.icons('stop')).toEqual([18]);
      await page.keyboard.press('Control+Z');
      await page.keyboard.press('Control+Z');
      await editor.expectText(lines(1, 20));
      await expect.poll(() => editor.icons('stop')).toEqual([17]);
      // an agent's edit of its lines
      agent.turn('more lines', () => agent.edit('s.txt', 'line 15\nline 16\nline 17\n', 'A\nB\nC\nD\n'));
      await expect.poll(async () => (await editor.lines()).includes('D')).toBe(true);
      await follows();
      // the bar of the agent's lines stands beside it
      await expect.poll(() => editor.icons('agent-line')).toEqual([15, 16, 17, 18]);
      await look(page, `stops-${theme}`);
      await window.run('Backstitch: Rewind Last Turn');
      await window.plan.run('Rewind');
      await editor.expectText(lines(1, 20));
      await expect.poll(() => editor.icons('stop')).toEqual([17]);
      await notifications.dismiss('Rewound');
      // another branch of git
      world.git('checkout', '-q', '-b', 'other');
      world.write('s.txt', 'new\nnew\n' + lines(1, 20));
      await expect.poll(() => editor.icons('stop')).toEqual([19]);
      world.git('checkout', '-q', '--', 's.txt');
      await expect.poll(() => editor.icons('stop')).toEqual([17]);
    });
  });
}

test('bars follow a file that is read again: an edit of the agent in unsaved text, and its revert', async ({ world, agent, code }) => {
  world.commit({ 's.txt': lines(1, 8) });
  world.run('checkpoint');
  agent.start();
  agent.turn('first', () => agent.edit('s.txt', 'line 3', 'THREE'));
  const window = await code.open('s.txt');
  const { editor, page } = window;
  await expect.poll(() => editor.icons('agent-line')).toEqual([3]);
  await editor.focus();
  await editor.goto(3);
  await page.keyboard.press('End');
  await page.keyboard.type(' mine\n');
  await editor.expectDirty(true);
  agent.turn('second', () => agent.edit('s.txt', 'THREE', 'THREE!'));
  await window.run('File: Revert File');
  await expect.poll(async () => (await editor.lines())[2]).toBe('THREE!');
  await expect.poll(() => editor.icons('agent-line')).toEqual([3]);
});

test('a lens of removed lines follows a held edit above it that is continued', async ({ world, agent, code }) => {
  world.commit({ 's.txt': lines(1, 12) });
  world.run('checkpoint');
  agent.start();
  agent.turn('shorter', () => agent.edit('s.txt', 'line 8\nline 9\n', ''));
  agent.prompt('longer');
  const window = await code.open('s.txt');
  const { editor } = window;
  await expect.poll(() => editor.icons('agent-removed')).toEqual([8]);
  agent.edit('s.txt', 'line 2\n', 'line 2\nadded\n');
  await expect.poll(async () => (await editor.lines()).includes('added')).toBe(true);
  await expect.poll(() => editor.icons('agent-removed')).toEqual([9]);
  // the lens stands above the line that follows the gap
  const lens = editor.lensGroup('claude-code removed 2 lines');
  const below = await editor.place('line 10');
  await expect.poll(async () => Math.round(below.y - ((await lens.boundingBox())?.y ?? 0)) < 40).toBe(true);
});

test('Revert turn undoes exactly that turn: from its lens and from the hover', async ({ world, agent, code }) => {
  world.commit({ 's.txt': lines(1, 8), 'b.txt': 'b\n' });
  world.run('checkpoint');
  agent.start();
  agent.turn('first', () => {
    agent.edit('s.txt', 'line 2', 'TWO');
    agent.edit('b.txt', 'b', 'B');
  });
  agent.turn('second', () => agent.edit('s.txt', 'line 4', 'FOUR'));
  agent.turn('third', () => agent.edit('s.txt', 'line 6', 'SIX'));
  const window = await code.open('s.txt');
  await code.settings({ 'backstitch.lensForm': 'short' });
  const { editor, plan } = window;
  const rest = lines(1, 8).replace('line 4', 'FOUR').replace('line 6', 'SIX');
  await expect(editor.lens(/^Revert turn$/)).toHaveCount(3);
  await editor.lens(/^Revert turn$/).first().click();
  await plan.run('Revert');
  await expect.poll(() => world.read('s.txt')).toBe(rest);
  expect(world.read('b.txt')).toBe('b\n');
  world.run('undo', '-y');
  await expect.poll(async () => (await editor.lines()).includes('TWO')).toBe(true);
  const hover = await editor.hover('TWO');
  await expect(hover.getByRole('link', { name: REWIND_LINK })).toBeVisible();
  await hover.getByRole('link', { name: 'Revert turn' }).click();
  await plan.run('Revert');
  await expect.poll(() => world.read('s.txt')).toBe(rest);
});
