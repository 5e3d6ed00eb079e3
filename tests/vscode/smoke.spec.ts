// The rig itself: each page object once, with VS Code and a small extension.
import { probe } from './rig/places.ts';
import { expect, test } from './rig/test.ts';

test.use({ extension: probe });

test('the agent works through the real hook', ({ world, agent }) => {
  world.commit({ 'a.txt': 'one\ntwo\n' });
  agent.start();
  agent.turn('change it', () => {
    agent.edit('a.txt', 'one', 'uno');
    agent.write('b.txt', 'new\n');
    agent.bash('echo more >> b.txt; exit 3');
    agent.remove('a.txt');
  });
  agent.end();
  const log = world.json('log');
  expect(JSON.stringify(log)).toContain('change it');
  world.run('rewind', 't1');
  expect(world.read('a.txt')).toBe('one\ntwo\n');
  expect(world.exists('b.txt')).toBe(false);
});

test('lenses, messages, dialogs, picks and hovers', async ({ world, code }) => {
  world.commit({ 'a.txt': 'one\ntwo\nthree\nfour\n' });
  const window = await code.open('a.txt');
  const { editor, notifications, dialog, quick } = window;
  await expect(editor.lens('rewind of the probe').first()).toBeVisible();
  const title = 'rewind of the probe · line ';
  await expect.poll(() => editor.lensTitles()).toEqual([`${title}0`, `${title}2`]);
  await editor.lens('line 2').click();
  await expect(notifications.messages).toHaveText('rewound to 2');
  await notifications.action('rewound to 2', 'Undo').click();
  await expect(notifications.messages).toHaveText('undone');
  await notifications.dismiss('undone');
  await expect(notifications.toasts).toHaveCount(0);

  await window.run('Probe: Ask');
  await expect(dialog.message).toHaveText('Really?');
  await expect(dialog.detail).toHaveText('It may be late.');
  await dialog.press('Do it');
  await expect(notifications.messages).toHaveText('said Do it');

  await window.run('Probe: Pick');
  await expect(quick.title).toHaveText('Which?');
  expect(await quick.shown('one')).toEqual({ label: 'one', description: 'first', detail: 'the first of all' });
  await quick.itemButton('one', 'Drop');
  await expect(notifications.toast('dropped one')).toBeVisible();
  await quick.pick('two');
  await expect(notifications.toast('picked two')).toBeVisible();
  await expect(await editor.hover('three')).toContainText('a hover of the probe');
  await expect(window.status.item('probe: 3 checkpoints')).toBeVisible();
});

test('a file opens at its beginning, also in a window that had it elsewhere', async ({ world, code }) => {
  world.commit({ 'a.txt': 'line\n'.repeat(200) });
  const window = await code.open('a.txt');
  await window.editor.goto(200);
  await window.run('View: Close Editor');
  await expect(window.tab('a.txt')).toHaveCount(0);
  const editor = await window.open('a.txt');
  await expect(window.status.item('Ln 1, Col 1')).toBeVisible();
  await expect.poll(() => editor.lensTitles()).toEqual(['rewind of the probe · line 0', 'rewind of the probe · line 2']);
});

test('text, edge and peek', async ({ world, code }) => {
  world.commit({ 'src/a.txt': 'one\ntwo\nthree\nfour\n' });
  world.write('src/a.txt', 'one\nTWO\nthree\nfour\nfive\n');
  const window = await code.open('src/a.txt');
  const { editor } = window;
  await editor.expectText('one\nTWO\nthree\nfour\nfive\n');
  await expect.poll(() => editor.quickDiffs(), { timeout: 120_000 }).toEqual([
    { line: 2, kind: 'modified' },
    { line: 5, kind: 'added' },
  ]);
  await editor.clickQuickDiff(2);
  await expect(editor.peek).toContainText('a.txt');
  await window.page.keyboard.press('Escape');
  await editor.type(1, 'zero ');
  await editor.expectDirty(true);
  await editor.save();
  expect(world.read('src/a.txt')).toBe('zero one\nTWO\nthree\nfour\nfive\n');
});

test('files, commands and trees', async ({ world, code }) => {
  world.commit({ 'src/a.txt': 'one\n', 'src/b.md': '# Title\n\n## Part\n' });
  const window = await code.open();
  const { activity, quick, status } = window;
  await window.open('src/b.md');

  await activity.open('Source Control');
  await expect(activity.opened).toHaveText(/Source Control/i);
  await activity.open('Explorer');
  const outline = window.tree('Outline');
  await outline.show();
  await expect(outline.row('# Title')).toBeVisible();
  await outline.expand('# Title');
  await expect.poll(() => outline.shown()).toEqual(['# Title', '  ## Part']);

  const files = window.tree('Explorer Section: work');
  await files.menu('b.md', 'Copy Relative Path');
  const copied = () => window.page.evaluate(() => navigator.clipboard.readText());
  await expect.poll(copied).toBe('src/b.md');

  await expect(status.item('main')).toBeVisible();
  await status.click('Markdown');
  await expect(quick.input).toHaveAttribute('placeholder', 'Select Language Mode');
  await quick.type('plain');
  await quick.pick(/^Plain Text$/);
  await expect(status.item('Plain Text')).toBeVisible();
});

test('diffs', async ({ world, code }) => {
  world.commit({ 'a.txt': 'one\ntwo\n', 'b.txt': 'b\n' });
  world.write('a.txt', 'one\nTWO\n');
  world.write('b.txt', 'B\n');
  const window = await code.open('a.txt');
  const { activity, diff, multiDiff } = window;
  await window.titleAction(/^Open Changes/).click();
  await diff.ready();
  await diff.expectTexts('one\ntwo\n', 'one\nTWO\n');
  await expect.poll(() => diff.isSideBySide()).toBe(true);
  await window.run('Compare: Toggle Inline View');
  await expect.poll(() => diff.isSideBySide()).toBe(false);
  await expect(diff.removedInline).toHaveText('two');
  await window.run('Compare: Toggle Inline View');
  await expect.poll(() => diff.isSideBySide()).toBe(true);

  await activity.open('Source Control');
  const group = window.page.locator('.scm-view .monaco-list-row').filter({ hasText: /^Changes/ });
  await group.hover();
  await group.getByRole('button', { name: 'Open Changes' }).click();
  await multiDiff.expectFiles('a.txt', 'b.txt');
  await multiDiff.entry('b.txt').expectTexts('b\n', 'B\n');
});

test.describe(() => {
  test.use({ vscode: { settings: { 'git.mergeEditor': true } } });

  test('a conflict in the merge editor', async ({ world, code }) => {
    world.commit({ 'a.txt': 'one\n' });
    world.git('checkout', '-q', '-b', 'other');
    world.commit({ 'a.txt': 'other\n' });
    world.git('checkout', '-q', 'main');
    world.commit({ 'a.txt': 'mine\n' });
    world.sh('git merge other');
    const window = await code.open();
    const { activity, merge } = window;
    await activity.open('Source Control');
    await window.page.locator('.scm-view').getByText('a.txt').first().click();
    await merge.ready();
    await merge.incoming.expectText('other\n');
    await merge.current.expectText('mine\n');
    await expect(merge.remaining).toContainText('1 Conflict');
    await merge.action('Accept Incoming').click();
    await merge.result.expectText('other\n');
    await merge.complete.click();
    await expect.poll(() => world.read('a.txt')).toBe('other\n');
  });
});

test('a webview', async ({ world, code }) => {
  world.commit({ 'a.md': '# A title\n' });
  const window = await code.open('a.md');
  await window.run('Markdown: Open Preview to the Side');
  const preview = window.webview({ extension: 'vscode.markdown-language-features' });
  await preview.ready();
  await expect(preview.locator('h1')).toHaveText('A title');
});

const classes = { dark: 'vs-dark', light: 'vs', contrast: 'hc-black', 'contrast light': 'hc-light' } as const;
for (const theme of ['dark', 'light', 'contrast', 'contrast light'] as const) {
  test.describe(() => {
    test.use({ vscode: { theme } });

    test(`the theme is ${theme}`, async ({ code }) => {
      const { page } = await code.open();
      await expect(page.locator('.monaco-workbench')).toContainClass(classes[theme]);
    });
  });
}

test.describe(() => {
  test.use({ vscode: { trusted: false } });

  test('a folder that is not trusted opens in Restricted Mode', async ({ code }) => {
    const { status } = await code.open();
    await expect(status.item('Restricted Mode')).toBeVisible();
  });
});

for (const server of ['on PATH', 'missing'] as const) {
  test.describe(() => {
    test.use({ vscode: { server } });

    test(`the server is ${server}`, async ({ world, code }) => {
      const window = await code.open();
      await window.run('Terminal: Create New Terminal');
      await window.page.locator('.terminal-wrapper.active .xterm').waitFor();
      await window.page.keyboard.type('command -v backstitch > found; echo $? > code\n');
      await expect.poll(() => world.exists('code') && world.read('code')).toMatch(server === 'missing' ? /^(1|127)\n/ : /^0\n/);
    });
  });
}
