// Marks of agents' changes in the code: bars in the gutter, and lenses where lines were removed.
import { expect, test } from './rig/test.ts';
import { look } from './rig/look.ts';

const TEXT = 'one\ntwo\nthree\nfour\nfive\nsix\n';

for (const theme of ['dark', 'light'] as const) {
  test.describe(() => {
    test.use({ vscode: { theme, settings: { 'backstitch.lensForm': undefined } } });

    const tag = theme === 'dark' ? [] : '@long';
    test(`lines that an agent removed are put back from their place, in the theme ${theme}`, { tag }, async ({ world, agent, code }) => {
      world.commit({ 'a.txt': TEXT });
      agent.start();
      agent.turn('make it short', () => {
        agent.edit('a.txt', 'two\nthree\n', '');
        agent.edit('a.txt', 'six', '6');
      });
      const window = await code.open('a.txt');
      const { editor, diff, notifications } = window;
      await expect(editor.lensGroup('claude-code removed 2 lines')).toBeVisible();
      await expect.poll(() => editor.marked()).toEqual([2, 4]);
      await look(window.page, `removed-${theme}`);
      await editor.lens(/^Show$/).click();
      await diff.expectTexts(TEXT, TEXT.replace('two\nthree\n', '').replace('six', '6'));
      await look(window.page, `removed-diff-${theme}`);
      await window.open('a.txt');
      await editor.lens(/^Put back$/).click();
      await expect(notifications.toast('Change undone in a.txt')).toBeVisible();
      await expect.poll(() => world.read('a.txt')).toBe(TEXT.replace('six', '6'));
      await expect(editor.lensGroup('removed 2 lines')).toHaveCount(0);
    });
  });
}

test('a removal that is kept has no lens any more; below unsaved lines it is put back at its place', { tag: '@long' }, async ({ world, agent, code }) => {
  world.commit({ 'a.txt': TEXT });
  agent.start();
  agent.turn('make it short', () => {
    agent.edit('a.txt', 'two\n', '');
    agent.edit('a.txt', 'five\n', '');
  });
  const window = await code.open('a.txt');
  const { editor } = window;
  await expect(editor.lensGroup('claude-code removed 1 line')).toHaveCount(2);
  await editor.lens(/^Keep$/).first().click();
  await expect(editor.lensGroup('claude-code removed 1 line')).toHaveCount(1);
  await editor.type(1, 'mine\n');
  await editor.expectDirty(true);
  await editor.lens(/^Put back$/).click();
  await editor.expectText('mine\none\nthree\nfour\nfive\nsix\n');
  // the user saves it
  await editor.expectDirty(true);
  expect(world.read('a.txt')).toBe('one\nthree\nfour\nsix\n');
});

test.describe(() => {
  test.use({ vscode: { settings: { 'backstitch.codeLens': 'off', 'backstitch.gutter': 'latestTurn' } } });

  test('marks are limited to the newest turn, and switched off', async ({ world, agent, code }) => {
    world.commit({ 'a.txt': TEXT });
    agent.start();
    agent.turn('two', () => agent.edit('a.txt', 'two', '2'));
    agent.turn('four and five', () => {
      agent.edit('a.txt', 'four', '4');
      agent.edit('a.txt', 'five\n', '');
    });
    const window = await code.open('a.txt');
    const { editor } = window;
    await expect.poll(() => editor.marked()).toEqual([4]);
    await expect(editor.lenses).toHaveCount(0);
    await code.settings({ 'backstitch.gutter': 'all' });
    await expect.poll(() => editor.marked()).toEqual([2, 4]);
    await code.settings({ 'backstitch.gutter': 'off' });
    await expect.poll(() => editor.marked()).toEqual([]);
  });
});

test('a cell of a notebook names the turn that changed it, and undoes it', async ({ world, agent, code }) => {
  const cell = (source: string) => ({ cell_type: 'code', execution_count: null, id: source[0], metadata: {}, outputs: [], source: [source] });
  const metadata = { language_info: { name: 'python' } };
  const notebook = { cells: [cell('x = 1'), cell('y = 2')], metadata, nbformat: 4, nbformat_minor: 5 };
  const text = `${JSON.stringify(notebook, null, 1)}\n`;
  world.commit({ 'a.txt': TEXT, 'n.ipynb': text });
  agent.start();
  agent.turn('make it ten', () => agent.edit('n.ipynb', 'y = 2', 'y = 20'));
  // a file that the window opens with is a text in any case
  const window = await code.open('a.txt');
  await window.page.keyboard.press('Control+P');
  await window.quick.type('n.ipynb');
  await window.quick.pick('n.ipynb');
  const items = window.page.locator('.cell-status-item', { hasText: 'make it ten' });
  await expect(items).toHaveCount(1);
  await look(window.page, 'notebook');
  await items.click();
  await window.plan.ready();
  await window.plan.files.entry('n.ipynb').expectTexts('# %% [code]\nx = 1\n\n# %% [code]\ny = 20\n', '# %% [code]\nx = 1\n\n# %% [code]\ny = 2\n');
  await window.plan.run('Revert');
  await expect.poll(() => world.read('n.ipynb')).toBe(text);
  await expect(items).toHaveCount(0);
});

test('the ages of lenses move', { tag: '@long' }, async ({ world, agent, code }) => {
  world.commit({ 'a.txt': TEXT });
  agent.start();
  agent.turn('make it two', () => agent.edit('a.txt', 'two', '2'));
  const window = await code.open('a.txt');
  const lens = window.editor.lens('turn 1');
  await expect(lens).toContainText(/just now|s ago/);
  await expect(lens).toContainText('1 min ago', { timeout: 150_000 });
});
