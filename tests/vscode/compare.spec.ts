// Differences from a checkpoint: bars in the gutter and their peek, the list of files, diffs of one file and of all.
import { expect, test } from './rig/test.ts';
import { look } from './rig/look.ts';

const TEXT = 'one\ntwo\nthree\nfour\nfive\n';

test.describe(() => {
  // git's bars would appear beside those of the checkpoint
  test.use({ vscode: { settings: { 'git.enabled': false } } });

  test('bars in the gutter against a checkpoint, with their peek', async ({ world, agent, code }) => {
    world.commit({ 'src/a.txt': TEXT, 'gone.txt': 'gone\n' });
    agent.start();
    agent.turn('make it two', () => agent.edit('src/a.txt', 'two', '2'));
    agent.turn('tidy up', () => {
      agent.edit('src/a.txt', 'five', 'five\nsix');
      agent.write('new.txt', 'new\n');
      agent.remove('gone.txt');
    });
    const window = await code.open('src/a.txt');
    const { editor, quick, activity } = window;
    await window.run('Backstitch: Show Changes Since…');
    await quick.pick('tidy up');
    await expect.poll(() => editor.quickDiffs(), { timeout: 120_000 }).toEqual([{ line: 6, kind: 'added' }]);
    await window.run('Backstitch: Show Changes Since…');
    await quick.pick('make it two');
    await expect.poll(() => editor.quickDiffs(), { timeout: 120_000 }).toEqual([
      { line: 2, kind: 'modified' },
      { line: 6, kind: 'added' },
    ]);
    await editor.clickQuickDiff(2);
    await expect(editor.peek).toContainText('two');
    await look(window.page, 'peek');
    // only this change is undone
    await editor.peek.locator('[aria-label*="Undo This Change"]').click();
    await expect(window.notifications.toast('Change undone in src/a.txt')).toBeVisible();
    await expect.poll(() => world.read('src/a.txt')).toBe(TEXT.replace('five', 'five\nsix'));
    await expect.poll(() => editor.quickDiffs()).toEqual([{ line: 6, kind: 'added' }]);
    // the list is beside those of other source controls
    await activity.open('Source Control');
    const list = window.page.locator('.scm-view .monaco-list-row');
    await expect(list.filter({ hasText: 'Changed since “make it two”' })).toBeVisible();
    for (const name of ['a.txt', 'gone.txt', 'new.txt']) await expect(list.filter({ hasText: name })).toBeVisible();
    await look(window.page, 'changed');
    await window.run('Backstitch: Stop Showing Changes');
    await expect.poll(() => editor.quickDiffs()).toEqual([]);
  });
});

// S4-067: changed, added and deleted files are listed.
test('a checkpoint with now: one file from its lens, all files from the palette', async ({ world, agent, code }) => {
  world.commit({ 'a.txt': TEXT, 'gone.txt': 'gone\n' });
  agent.start();
  agent.turn('tidy up', () => {
    agent.edit('a.txt', 'two', '2');
    agent.write('new.txt', 'new\n');
    agent.remove('gone.txt');
  });
  const window = await code.open('a.txt');
  const { editor, quick, diff, multiDiff } = window;
  await editor.lens(/^diff$/).click();
  await diff.expectTexts(TEXT, TEXT.replace('two', '2'));
  // the newer side is the file itself
  await diff.modified.type(1, 'zero ');
  await diff.modified.save();
  expect(world.read('a.txt')).toBe(TEXT.replace('two', '2').replace('one', 'zero one'));
  await window.run('Backstitch: Compare with Now…');
  await quick.pick('tidy up');
  await multiDiff.expectFiles('a.txt', /^gone.txt/, 'new.txt');
  await look(window.page, 'compare');
});

test('a hover says who wrote the line', async ({ world, agent, code }) => {
  world.commit({ 'a.txt': TEXT });
  agent.start();
  agent.turn('make it two', () => agent.edit('a.txt', 'two', 'twice'));
  const window = await code.open('a.txt');
  await expect(window.editor.rewindLens()).toBeVisible();
  const hover = await window.editor.hover('twice');
  await expect(hover).toContainText('make it two');
  await expect(hover).toContainText('claude-code');
  await look(window.page, 'hover');
  // the links of the hover act on its turn and its lines
  await hover.getByText('Rewind these lines').click();
  await window.plan.ready(/Rewind some lines of a\.txt/);
  await window.plan.run('Rewind');
  await expect.poll(() => world.read('a.txt')).toBe(TEXT);
});
