// Review of changes since a checkpoint: each is undone, or kept and no longer shown.
import { expect, test } from './rig/test.ts';
import { look } from './rig/look.ts';

const TEXT = 'one\ntwo\nthree\nfour\nfive\nsix\nseven\n';

test('at the cursor in a diff, and again after the window', async ({ world, agent, code }) => {
  world.commit({ 'a.txt': TEXT });
  agent.start();
  agent.turn('a few numbers', () => {
    agent.edit('a.txt', 'one', '1');
    agent.edit('a.txt', 'four', '4');
    agent.edit('a.txt', 'seven', '7');
  });
  const window = await code.open('a.txt');
  const { editor, diff, notifications } = window;
  await editor.lens(/^diff$/).first().click();
  await diff.expectTexts(TEXT, '1\ntwo\nthree\n4\nfive\nsix\n7\n');
  await diff.modified.goto(4);
  await window.titleAction('Keep This Change').click();
  // a kept change is on both sides
  await diff.expectTexts(TEXT.replace('four', '4'), '1\ntwo\nthree\n4\nfive\nsix\n7\n');
  await diff.modified.goto(7);
  await window.titleAction('Undo This Change').click();
  await expect(notifications.toast('Change undone in a.txt')).toBeVisible();
  await expect.poll(() => world.read('a.txt')).toBe('1\ntwo\nthree\n4\nfive\nsix\nseven\n');
  await diff.expectTexts(TEXT.replace('four', '4'), '1\ntwo\nthree\n4\nfive\nsix\nseven\n');
  await look(window.page, 'kept');
  await diff.modified.goto(3);
  await window.titleAction('Keep This Change').click();
  await expect(notifications.toast('There is no change at the cursor.')).toBeVisible();
  // the kept change is stored
  await window.page.reload();
  await window.ready();
  // VS Code may not have stored yet that it was open
  await window.openFromExplorer('a.txt');
  await editor.ready('a.txt');
  await editor.lens(/^diff$/).first().click();
  await diff.expectTexts(TEXT.replace('four', '4'), '1\ntwo\nthree\n4\nfive\nsix\nseven\n');
});

test('a kept change leaves a sign in its comparison, and is shown again', async ({ world, agent, code }) => {
  world.commit({ 'a.txt': TEXT });
  agent.start();
  agent.turn('a few numbers', () => {
    agent.edit('a.txt', 'two', '2');
    agent.edit('a.txt', 'six', '6');
  });
  const now = TEXT.replace('two', '2').replace('six', '6');
  const window = await code.open('a.txt');
  const { editor, diff, page } = window;
  await editor.lens(/^diff$/).first().click();
  await diff.expectTexts(TEXT, now);
  for (const line of [2, 6]) {
    await diff.modified.goto(line);
    await window.titleAction('Keep This Change').click();
    await expect.poll(() => diff.modified.marked()).toContain(line);
  }
  await diff.expectTexts(now, now);
  await expect.poll(() => diff.modified.marked()).toEqual([2, 6]);
  await look(page, 'kept-sign');
  // one of them
  const hover = await diff.modified.hover('6');
  await hover.getByText('Show it again').click();
  await diff.expectTexts(TEXT.replace('two', '2'), now);
  // all of this comparison
  await window.run('Backstitch: Show Kept Changes Again');
  await diff.expectTexts(TEXT, now);
});

// U-17: the changes of one turn alone.
test('what the user wrote between the steps of a turn is not the turn’s', async ({ world, agent, code }) => {
  world.commit({ 'a.txt': TEXT });
  agent.start();
  agent.turn('make it two', () => {
    agent.edit('a.txt', 'two', '2');
    world.write('a.txt', world.read('a.txt').replace('four', 'mine'));
    agent.edit('a.txt', 'six', '6');
  });
  const window = await code.open('a.txt');
  await window.activity.open('Backstitch');
  const tree = window.tree('Timeline');
  await tree.menu('make it two', 'Show Changes');
  await window.multiDiff.expectFiles('a.txt', 'a.txt');
  const changed = async () => (await window.multiDiff.root.locator('.editor.modified').allInnerTexts()).join();
  await expect.poll(changed).toContain('mine');
  // two changes of the agent, none of the user
  await expect(window.multiDiff.root.locator('.editor.modified .view-overlays .line-insert')).toHaveCount(2);
  // a review since then has all changes
  await tree.menu('make it two', 'Review Since This Turn');
  await expect(window.editor.tab).toContainText('a.txt (since “make it two”)');
  await window.diff.expectTexts(TEXT, world.read('a.txt'));
});

test('beside what is kept, what was only deleted, and what the user wrote', { tag: '@long' }, async ({ world, agent, code }) => {
  world.commit({ 'a.txt': TEXT });
  agent.start();
  agent.turn('a few numbers', () => {
    agent.edit('a.txt', 'two\nthree\n', '2\n3\n');
    agent.edit('a.txt', 'five\n', '');
  });
  world.write('a.txt', world.read('a.txt').replace('seven', 'mine'));
  const window = await code.open('a.txt');
  const { editor, diff, notifications } = window;
  await editor.lens(/^diff$/).first().click();
  await diff.expectTexts(TEXT, 'one\n2\n3\nfour\nsix\nmine\n');
  // the gap, from the line below it
  await diff.modified.goto(5);
  await window.titleAction('Undo This Change').click();
  await expect(notifications.toast('Change undone in a.txt')).toBeVisible();
  await expect.poll(() => world.read('a.txt')).toBe('one\n2\n3\nfour\nfive\nsix\nmine\n');
  // a line has moved until the editor has reloaded the file
  await diff.modified.expectText('one\n2\n3\nfour\nfive\nsix\nmine\n');
  await diff.modified.goto(7);
  await window.titleAction('Undo This Change').click();
  await expect.poll(() => world.read('a.txt')).toBe('one\n2\n3\nfour\nfive\nsix\nseven\n');
  // from the older side; then its neighbour changes again, and is undone alone
  await diff.original.click('two');
  await window.titleAction('Keep This Change').click();
  await diff.expectTexts('one\n2\n3\nfour\nfive\nsix\nseven\n', 'one\n2\n3\nfour\nfive\nsix\nseven\n');
  // exactly the kept lines
  agent.turn('one more', () => agent.edit('a.txt', '3', 'III'));
  await diff.modified.expectText('one\n2\nIII\nfour\nfive\nsix\nseven\n');
  await diff.modified.click('III');
  await window.titleAction('Undo This Change').click();
  await expect.poll(() => world.read('a.txt')).toBe('one\n2\n3\nfour\nfive\nsix\nseven\n');
});

test('what agents did since the last review, change by change through all files, by keys alone', async ({ world, agent, code }) => {
  world.commit({ 'a.txt': TEXT, 'b.txt': TEXT, 'gone.txt': 'gone\n' });
  agent.start();
  agent.turn('make it two', () => agent.edit('a.txt', 'two', '2'));
  agent.turn('and six', () => {
    agent.edit('a.txt', 'six', '6');
    agent.edit('b.txt', 'one', '1');
    agent.edit('b.txt', 'four', '4');
    agent.edit('b.txt', 'seven', '7');
    agent.remove('gone.txt');
  });
  const window = await code.open('a.txt');
  const { diff, editor, notifications, page, quick, status } = window;
  await window.run('Backstitch: Review Agent Changes');
  const { description, detail } = await quick.shown('a.txt');
  expect(description).toBe('+2 −2');
  expect(detail).toBe('make it two · and six');
  await page.keyboard.press('Enter');
  const [a, b] = [TEXT.replace('two', '2').replace('six', '6'), TEXT.replace('one', '1').replace('four', '4').replace('seven', '7')];
  await diff.expectTexts(TEXT, a);
  await expect(editor.tab).toContainText('a.txt · 1 of 3 (since “make it two”)');
  await expect(status.item('Ln 2, Col 1')).toBeVisible();
  await page.keyboard.press('Alt+k');
  await diff.expectTexts(TEXT.replace('two', '2'), a);
  await expect(status.item('Ln 6, Col 1')).toBeVisible();
  await look(page, 'review-run');
  await page.keyboard.press('Alt+k');
  // the next file, at its first change
  await expect(editor.tab).toContainText('b.txt · 2 of 3 (since “and six”)');
  await diff.expectTexts(TEXT, b);
  await expect(status.item('Ln 1, Col 1')).toBeVisible();
  await page.keyboard.press('Alt+F5');
  await expect(status.item('Ln 4, Col 1')).toBeVisible();
  await page.keyboard.press('Alt+u');
  await expect.poll(() => world.read('b.txt')).toBe(b.replace('4', 'four'));
  await expect(status.item('Ln 7, Col 1')).toBeVisible();
  // past the end, the file that is gone; back again
  await page.keyboard.press('Alt+F5');
  await expect(editor.tab).toContainText('gone.txt · 3 of 3');
  await expect(status.item('Ln 1, Col 1')).toBeVisible();
  await page.keyboard.press('Shift+Alt+F5');
  await expect(editor.tab).toContainText('b.txt · 2 of 3');
  await expect(status.item('Ln 7, Col 1')).toBeVisible();
  // the keys hold once the buttons are there
  await expect(window.titleAction('Keep All Changes in This File')).toBeVisible();
  await page.keyboard.press('Shift+Alt+k');
  await expect(editor.tab).toContainText('gone.txt · 3 of 3');
  await diff.original.expectText('gone\n');
  await page.keyboard.press('Alt+k');
  await expect(notifications.toast('3 files are reviewed.')).toBeVisible();
  await window.run('Backstitch: Review Agent Changes');
  await expect(notifications.toast('Nothing to review.')).toBeVisible();
});

test('below what is not saved', { tag: '@long' }, async ({ world, agent, code }) => {
  world.commit({ 'a.txt': TEXT });
  agent.start();
  agent.turn('four', () => agent.edit('a.txt', 'four', '4'));
  const window = await code.open('a.txt');
  const { editor, diff } = window;
  await editor.lens(/^diff$/).first().click();
  await diff.expectTexts(TEXT, TEXT.replace('four', '4'));
  await diff.modified.type(1, 'mine\n');
  await diff.modified.goto(5);
  await window.titleAction('Undo This Change').click();
  await diff.modified.expectText(`mine\n${TEXT}`);
  // the user saves it
  expect(world.read('a.txt')).toBe(TEXT.replace('four', '4'));
  await diff.modified.save();
  expect(world.read('a.txt')).toBe(`mine\n${TEXT}`);
});

test('one line, kept and changed again, goes back to what was kept', { tag: '@long' }, async ({ world, agent, code }) => {
  world.commit({ 'a.txt': TEXT });
  agent.start();
  agent.turn('four', () => agent.edit('a.txt', 'four', '4'));
  const window = await code.open('a.txt');
  const { editor, diff } = window;
  await editor.lens(/^diff$/).first().click();
  await diff.expectTexts(TEXT, TEXT.replace('four', '4'));
  await diff.modified.goto(4);
  await window.titleAction('Keep This Change').click();
  await diff.original.expectText(TEXT.replace('four', '4'));
  agent.turn('in Roman letters', () => agent.edit('a.txt', '4', 'IV'));
  await diff.modified.expectText(TEXT.replace('four', 'IV'));
  await diff.modified.goto(4);
  await window.titleAction('Undo This Change').click();
  await expect.poll(() => world.read('a.txt')).toBe(TEXT.replace('four', '4'));
});

// U-21: a byte order mark, CRLF and a missing final newline.
test('bytes that no editor shows stay as they are', { tag: '@long' }, async ({ world, agent, code }) => {
  const before = '\uFEFFone\r\ntwo\r\nthree';
  world.commit({ 'a.txt': before });
  agent.start();
  agent.turn('make it two', () => agent.edit('a.txt', 'two', '2'));
  agent.turn('make it three', () => agent.edit('a.txt', 'three', '3'));
  const window = await code.open('a.txt');
  const { editor, diff, notifications } = window;
  await editor.lens(/^diff$/).first().click();
  await diff.expectTexts('one\ntwo\nthree', 'one\n2\n3');
  await diff.modified.goto(2);
  await window.titleAction('Keep This Change').click();
  await diff.expectTexts('one\n2\n3', 'one\n2\n3');
  agent.turn('one more', () => agent.edit('a.txt', '3', 'III'));
  await diff.modified.expectText('one\n2\nIII');
  await diff.modified.goto(3);
  await window.titleAction('Undo This Change').click();
  await expect.poll(() => world.read('a.txt')).toBe('\uFEFFone\r\n2\r\n3');
  // an unchanged line has nothing to undo
  await diff.modified.goto(1);
  await window.titleAction('Undo This Change').click();
  await expect(notifications.toast('There is no change at the cursor.')).toBeVisible();
  expect(world.read('a.txt')).toBe('\uFEFFone\r\n2\r\n3');
});

// S3-036: the deleted file is recreated.
test('a file that is gone comes back from its comparison', { tag: '@long' }, async ({ world, agent, code }) => {
  world.commit({ 'a.txt': TEXT, 'gone.txt': 'gone\n' });
  agent.start();
  agent.turn('tidy up', () => agent.remove('gone.txt'));
  const window = await code.open('a.txt');
  await window.run('Backstitch: Compare with Now…');
  await window.quick.pick('tidy up');
  await window.multiDiff.expectFiles(/^gone.txt/);
  await window.multiDiff.entry('gone.txt').original.click('gone');
  await window.titleAction('Undo This Change').click();
  await window.plan.run('Rewind');
  await expect.poll(() => world.exists('gone.txt')).toBe(true);
});

test('beside git, its badge counts each file once', async ({ world, agent, code }) => {
  world.commit({ 'a.txt': TEXT, 'b.txt': TEXT });
  agent.start();
  agent.turn('a few numbers', () => {
    agent.edit('a.txt', 'one', '1');
    agent.edit('b.txt', 'four', '4');
  });
  const window = await code.open('a.txt');
  const { activity, quick } = window;
  await expect(activity.badge('Source Control')).toHaveText('2');
  await window.run('Backstitch: Show Changes Since…');
  await quick.pick('a few numbers');
  await activity.open('Source Control');
  const list = window.page.locator('.scm-view .monaco-list-row');
  await expect(list.filter({ hasText: 'Changed since “a few numbers”' })).toBeVisible();
  await expect(activity.badge('Source Control')).toHaveText('2');
  await look(window.page, 'beside-git');
});

test.describe(() => {
  // git lists its own changes, and draws its own bars
  test.use({ vscode: { settings: { 'git.enabled': false } } });

  // S3-050: a cancelled rewind changes nothing.
  test('in a comparison of all files, and in the list of files', async ({ world, agent, code }) => {
    world.commit({ 'a.txt': TEXT, 'b.txt': TEXT, 'gone.txt': 'gone\n' });
    agent.start();
    agent.turn('a few numbers', () => {
      agent.edit('a.txt', 'one', '1');
      agent.edit('a.txt', 'seven', '7');
      agent.edit('b.txt', 'four', '4');
      agent.write('new.txt', 'new\n');
      agent.remove('gone.txt');
    });
    const window = await code.open('b.txt');
    const { quick, multiDiff, notifications, activity, plan } = window;
    await window.run('Backstitch: Compare with Now…');
    await quick.pick('a few numbers');
    await multiDiff.expectFiles('a.txt', 'b.txt', /^gone.txt/, 'new.txt');
    const first = multiDiff.entry('a.txt').modified;
    await first.click('7');
    await window.run('Backstitch: Undo This Change');
    await expect(notifications.toast('Change undone in a.txt')).toBeVisible();
    await expect.poll(() => world.read('a.txt')).toBe(TEXT.replace('one', '1'));

    await window.run('Backstitch: Show Changes Since…');
    await quick.pick('a few numbers');
    await expect(activity.badge('Source Control')).toHaveText('4');
    await activity.open('Source Control');
    const list = window.page.locator('.scm-view .monaco-list-row');
    const row = (name: string) => list.filter({ hasText: name });
    for (const name of ['a.txt', 'b.txt', 'gone.txt', 'new.txt']) await expect(row(name)).toBeVisible();
    await row('new.txt').hover();
    await row('new.txt').getByRole('button', { name: 'Keep This Change' }).click();
    await expect(row('new.txt')).toHaveCount(0);
    await row('gone.txt').hover();
    await row('gone.txt').getByRole('button', { name: 'Undo This Change' }).click();
    await plan.run('Rewind');
    await expect.poll(() => world.exists('gone.txt')).toBe(true);
    await expect(row('gone.txt')).toHaveCount(0);
    // a kept change that changes again is shown again
    agent.turn('another line', () => agent.edit('new.txt', 'new', 'newer'));
    await expect(row('new.txt')).toBeVisible();
    await look(window.page, 'list');
    // after cancelling, partly kept files are not undone either
    await window.run('Backstitch: Undo All Changes');
    await plan.ready(/^Rewind .*to before /);
    await plan.button('Cancel').click();
    await plan.closed();
    expect(world.read('new.txt')).toBe('newer\n');
    expect(world.read('a.txt')).toBe(TEXT.replace('one', '1'));
    await window.run('Backstitch: Keep All Changes');
    await expect(row('new.txt')).toHaveCount(0);
    await expect(row('a.txt')).toHaveCount(0);
    await window.run('Backstitch: Show Kept Changes Again');
    for (const name of ['a.txt', 'b.txt', 'new.txt']) await expect(row(name)).toBeVisible();
  });

  test('in the gutter: a function among lines that are alike, beside what the user wrote', async ({ world, agent, code }) => {
    const before = 'fn a() {\n    1\n}\n\nfn c() {\n    3\n}\n';
    world.commit({ 'a.txt': before });
    agent.start();
    agent.turn('one more function', () => agent.edit('a.txt', 'fn c()', 'fn b() {\n    2\n}\n\nfn c()'));
    const mine = world.read('a.txt').replace('    3', '    three');
    world.write('a.txt', mine);
    const window = await code.open('a.txt');
    const { editor, quick } = window;
    await window.run('Backstitch: Show Changes Since…');
    await quick.pick('one more function');
    // lines move during the redraw
    await expect(editor.rewindLens()).toBeVisible();
    // from the line above the function, where other diffs begin with the function itself
    const bars = [4, 5, 6, 7].map((line) => ({ line, kind: 'added' }));
    await expect.poll(() => editor.quickDiffs()).toEqual([...bars, { line: 10, kind: 'modified' }]);
    await window.run('Show Next Change');
    await expect(editor.peek).toContainText('1 of 2');
    await editor.peek.locator('[aria-label*="Undo This Change"]').click();
    await expect.poll(() => world.read('a.txt')).toBe(before.replace('    3', '    three'));
  });

  test('a file of which a part was kept, gone and made again', { tag: '@long' }, async ({ world, agent, code }) => {
    world.commit({ 'a.txt': TEXT, 'b.txt': 'b\n' });
    agent.start();
    agent.turn('a few numbers', () => {
      agent.edit('a.txt', 'one', '1');
      agent.edit('a.txt', 'seven', '7');
      agent.remove('b.txt');
    });
    const window = await code.open('a.txt');
    const { editor, quick, activity, notifications } = window;
    await window.run('Backstitch: Show Changes Since…');
    await quick.pick('a few numbers');
    await expect.poll(() => editor.quickDiffs()).toHaveLength(2);
    await editor.clickQuickDiff(1);
    await editor.peek.locator('[aria-label*="Keep This Change"]').click();
    await expect.poll(() => editor.quickDiffs()).toEqual([{ line: 7, kind: 'modified' }]);
    await activity.open('Source Control');
    const row = (name: string) => window.page.locator('.scm-view .monaco-list-row').filter({ hasText: name });
    const press = async (name: string, button: string) => {
      await row(name).hover();
      await row(name).getByRole('button', { name: button }).click();
    };
    await press('b.txt', 'Keep This Change');
    await expect(row('b.txt')).toHaveCount(0);
    agent.turn('tidy up', () => {
      agent.remove('a.txt');
      agent.write('b.txt', 'another\n');
    });
    await expect(row('b.txt')).toBeVisible();
    // a kept change is never attributed
    await window.run('Backstitch: Undo All Changes');
    await expect(notifications.toast('You kept other changes')).toBeVisible();
    expect(world.exists('a.txt')).toBe(false);
    expect(world.read('b.txt')).toBe('another\n');
    await press('a.txt', 'Undo This Change');
    await expect.poll(() => world.exists('a.txt') && world.read('a.txt')).toBe(TEXT.replace('one', '1'));
    // rows move when this one disappears
    await expect(row('a.txt')).toHaveCount(0);
    await press('b.txt', 'Undo This Change');
    await expect.poll(() => world.exists('b.txt')).toBe(false);
  });

  test('a folder that was opened through a link', { tag: '@long' }, async ({ world, agent, code }) => {
    world.commit({ 'src/a.txt': TEXT });
    const link = `${world.dir('links')}/project`;
    world.sh(`ln -s "${world.root}" "${link}"`);
    agent.start();
    agent.turn('make it two', () => agent.edit('src/a.txt', 'two', '2'));
    const window = await code.open('src/a.txt', link);
    const { editor, quick, activity, diff } = window;
    await expect(editor.rewindLens()).toBeVisible();
    await window.run('Backstitch: Show Changes Since…');
    await quick.pick('make it two');
    await expect.poll(() => editor.quickDiffs()).toEqual([{ line: 2, kind: 'modified' }]);
    await activity.open('Backstitch');
    const tree = window.tree('Timeline');
    await tree.expand('make it two');
    await tree.expand('Edit · src/a.txt');
    await tree.row('a.txt').first().click();
    await diff.expectTexts(TEXT, TEXT.replace('two', '2'));
    await tree.menu('make it two', 'Compare with Now…');
    await window.multiDiff.entry('a.txt').modified.click('2');
    await window.titleAction('Undo This Change').click();
    await expect.poll(() => world.read('src/a.txt')).toBe(TEXT);
  });
});
