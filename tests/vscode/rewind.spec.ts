// The main case: an agent edits, the lens above its lines rewinds them, and undo restores them.
import { Agent } from './rig/agent.ts';
import { expect, test } from './rig/test.ts';
import { look } from './rig/look.ts';

const TEXT = 'one\ntwo\nthree\nfour\nfive\n';

// S3-033, S3-035, U-20: the edit goes, the created file too, and undo brings both back.
test('a lens appears on an agent’s edit, and rewinds it', async ({ world, agent, code }) => {
  world.commit({ 'a.txt': TEXT, 'b.txt': 'other\n' });
  const window = await code.open('a.txt');
  const { editor, notifications, plan } = window;
  agent.start();
  agent.turn('make it two', () => {
    agent.edit('a.txt', 'two', '2');
    agent.write('new.txt', 'new\n');
  });
  // without a request: the server learns of the hook's checkpoint
  await expect(editor.rewindLens('turn 1 “make it two”')).toBeVisible();
  await editor.expectText(TEXT.replace('two', '2'));
  await look(window.page, 'lens');
  await editor.rewindLens().click();
  await plan.ready(/^Rewind to before “make it two”/);
  await plan.files.expectFiles('Backstitch Plan', 'a.txt', /^new.txt/);
  await look(window.page, 'plan');
  await plan.run('Rewind');
  await plan.closed();
  await expect(notifications.toast('Rewound: 2 files')).toBeVisible();
  await expect.poll(() => world.read('a.txt')).toBe(TEXT);
  expect(world.exists('new.txt')).toBe(false);
  await editor.expectText(TEXT);
  await editor.expectDirty(false);
  await look(window.page, 'rewound');
  await notifications.action('Rewound', 'Undo').click();
  await expect(notifications.toast('Undone: 2 files')).toBeVisible();
  await editor.expectText(TEXT.replace('two', '2'));
  expect(world.read('new.txt')).toBe('new\n');
  await notifications.action('Undone', 'Redo').click();
  await expect(notifications.toast('Redone: 2 files')).toBeVisible();
  await editor.expectText(TEXT);
});

// S3-035: one command undoes the newest turn and leaves the earlier one; again, it undoes that one, too.
test('the last turn is undone without a choice from a list', async ({ world, agent, code }) => {
  world.commit({ 'a.txt': TEXT, 'notes.txt': 'notes\n' });
  agent.start();
  agent.turn('make it two', () => agent.edit('a.txt', 'two', '2'));
  agent.turn('make it four', () => agent.edit('a.txt', 'four', '4'));
  const window = await code.open('a.txt');
  const { plan } = window;
  // a plan does not take the place of a file in a preview, which is in front again afterwards
  await window.files.filter({ hasText: 'notes.txt' }).click();
  await window.editor.ready('notes.txt');
  await window.run('Backstitch: Rewind Last Turn');
  await plan.ready(/make it four/);
  await window.page.keyboard.press('Escape');
  await plan.closed();
  await window.editor.ready('notes.txt');
  await window.run('Backstitch: Rewind Last Turn');
  await plan.ready(/make it four/);
  await expect.poll(() => plan.text()).toMatch(/^Undoes turn “make it four” \(claude-code, .*\) · 1 file, \+1 −1$/m);
  await window.page.keyboard.press('Enter');
  await expect.poll(() => world.read('a.txt')).toBe(TEXT.replace('two', '2'));
  await window.page.keyboard.press('Control+Alt+b');
  await window.page.keyboard.press('u');
  await plan.ready(/make it two/);
  await look(window.page, 'undo-last-turn');
  await window.page.keyboard.press('Control+Enter');
  await expect.poll(() => world.read('a.txt')).toBe(TEXT);
});

// S3-050: cancelled, it changes nothing.
test('a plan can be looked at before it is done', { tag: '@long' }, async ({ world, agent, code }) => {
  world.commit({ 'a.txt': TEXT, 'gone.txt': 'gone\n' });
  agent.start();
  agent.turn('tidy up', () => {
    agent.edit('a.txt', 'two', '2');
    agent.write('new.txt', 'new\n');
    agent.remove('gone.txt');
  });
  const window = await code.open('a.txt');
  await window.run('Backstitch: Rewind…');
  const { plan, quick } = window;
  await expect(quick.title).toHaveText('Rewind to…');
  await quick.pick('tidy up');
  await plan.ready(/^Rewind to before /);
  await plan.files.expectFiles('Backstitch Plan', 'a.txt', /^gone.txt/, /^new.txt/);
  await plan.files.entry('a.txt').expectTexts(TEXT.replace('two', '2'), TEXT);
  await look(window.page, 'plan-all');
  await window.page.keyboard.press('Escape');
  await plan.closed();
  expect(world.read('a.txt')).toBe(TEXT.replace('two', '2'));
  expect(world.exists('gone.txt')).toBe(false);
});

// S3-L2: a rewind does not overwrite what the user typed.
test('what was typed and not saved stays through a rewind', async ({ world, agent, code }) => {
  world.commit({ 'a.txt': TEXT });
  agent.start();
  agent.turn('make it two', () => agent.edit('a.txt', 'two', '2'));
  const window = await code.open('a.txt');
  const { editor, plan, notifications } = window;
  await expect(editor.rewindLens()).toBeVisible();
  await editor.type(5, 'mine ');
  await editor.expectDirty(true);
  await editor.rewindLens().click();
  await plan.ready();
  await expect.poll(() => plan.text()).toContain('Not saved in code-server: a.txt.');
  await plan.run('Rewind');
  await expect(notifications.toast('Rewound: 1 file; 1 of them unsaved in editors')).toBeVisible();
  await editor.expectText(TEXT.replace('five', 'mine five'));
  await editor.expectDirty(true);
  expect(world.read('a.txt')).toBe(TEXT.replace('two', '2'));
  await editor.save();
  expect(world.read('a.txt')).toBe(TEXT.replace('five', 'mine five'));
});

test('an agent’s edit of the line that is being typed is merged in the merge editor', async ({ world, agent, code }) => {
  world.commit({ 'a.txt': TEXT });
  agent.start();
  const window = await code.open('a.txt');
  const { editor, merge, notifications, status } = window;
  await editor.focus();
  await editor.type(2, 'my ');
  await expect.poll(() => JSON.stringify(world.json('status'))).toContain('a.txt');
  agent.turn('make it two', () => agent.edit('a.txt', 'two', '2'));
  await notifications.action('claude-code changed a.txt', 'Merge').click();
  await merge.ready();
  await merge.incoming.expectText(TEXT.replace('two', '2'));
  await merge.current.expectText(TEXT.replace('two', 'my two'));
  await expect(merge.remaining).toContainText('1 Conflict');
  await expect(status.item('1 file with conflicts')).toBeVisible();
  await expect(notifications.toasts).toHaveCount(0);
  await merge.action('Accept Combination (On Disk First)').click();
  const both = TEXT.replace('two', '2\nmy two');
  await merge.result.expectText(both);
  await look(window.page, 'merge-unsaved');
  await merge.result.save();
  expect(world.read('a.txt')).toBe(both);
  await expect(status.item('with conflicts')).toHaveCount(0);
  await expect(notifications.toasts).toHaveCount(0);
});

test('a line that the agent deletes while it is being typed is a conflict', async ({ world, agent, code }) => {
  world.commit({ 'a.txt': TEXT });
  agent.start();
  const window = await code.open('a.txt');
  const { editor, merge, notifications } = window;
  await editor.focus();
  await editor.type(2, 'my ');
  await expect.poll(() => JSON.stringify(world.json('status'))).toContain('a.txt');
  agent.turn('drop two', () => agent.edit('a.txt', 'two\n', ''));
  await notifications.action('claude-code changed a.txt', 'Merge').click();
  await merge.ready();
  await merge.incoming.expectText(TEXT.replace('two\n', ''));
  await merge.current.expectText(TEXT.replace('two', 'my two'));
  await expect(merge.remaining).toContainText('1 Conflict');
  await look(window.page, 'merge-deleted');
  await merge.action('Accept On Disk').click();
  await merge.result.expectText(TEXT.replace('two\n', ''));
  await merge.result.save();
  expect(world.read('a.txt')).toBe(TEXT.replace('two\n', ''));
});

// U-19: nothing is overwritten before the user decides.
test('what collides is resolved in the merge editor', async ({ world, agent, code }) => {
  world.commit({ 'a.txt': TEXT });
  agent.start();
  agent.turn('make it two', () => agent.edit('a.txt', 'two', '2'));
  world.write('a.txt', TEXT.replace('two', 'mine'));
  const window = await code.open('a.txt');
  const { quick, merge, plan } = window;
  await window.run('Backstitch: Rewind…');
  await quick.pick('make it two');
  await plan.ready(/^Rewind to before /);
  // the conflicting file is shown with the older lines
  await expect.poll(() => plan.text()).toContain('Conflicts with your edits: a.txt (1 conflict)');
  await plan.files.entry('a.txt').expectTexts(TEXT.replace('two', 'mine'), TEXT);
  await plan.run('Rewind');
  await expect
    .poll(() => quick.labels())
    .toEqual([
      'Rewind, and resolve conflicts',
      'Rewind, and keep your lines in conflicts',
      'Rewind, and take the older lines in conflicts',
    ]);
  await look(window.page, 'conflict');
  await quick.pick('Rewind, and resolve conflicts');
  await merge.ready();
  await merge.incoming.expectText(TEXT);
  await merge.current.expectText(TEXT.replace('two', 'mine'));
  await expect(merge.remaining).toContainText('1 Conflict');
  await look(window.page, 'merge');
  await merge.action('Accept Older').click();
  await window.page.keyboard.press('Control+s');
  await expect.poll(() => world.read('a.txt')).toBe(TEXT);
});

for (const how of ['resolve conflicts', 'keep your lines in conflicts', 'take the older lines in conflicts']) {
  const tag = how === 'resolve conflicts' ? [] : '@long';
  test(`U-19: what collides is decided a second time: ${how}`, { tag }, async ({ world, agent, code }) => {
    world.commit({ 'a.txt': TEXT });
    agent.start();
    agent.turn('make it two', () => agent.edit('a.txt', 'two', '2'));
    const mine = TEXT.replace('two', 'mine');
    world.write('a.txt', mine);
    const window = await code.open('a.txt');
    const { quick, merge, notifications, plan } = window;
    await window.run('Backstitch: Rewind…');
    await quick.pick('make it two');
    await plan.decide('Rewind', 'resolve conflicts');
    await merge.ready();
    await merge.action('Accept Yours').click();
    await window.page.keyboard.press('Control+s');
    await expect.poll(() => world.read('a.txt')).toBe(mine);
    await window.run('Backstitch: Undo the Last Rewind');
    await plan.run('Undo');
    await expect(notifications.toast('Undone')).toBeVisible();

    await window.run('Backstitch: Rewind…');
    await quick.pick('make it two');
    await plan.ready(/^Rewind to before /);
    await expect.poll(() => plan.text()).toMatch(/ · 1 file · 1 conflict\nConflicts with your edits: a\.txt \(1 conflict\)/);
    await plan.files.expectFiles('Backstitch Plan', 'a.txt');
    await plan.decide('Rewind', how);
    if (how.startsWith('keep')) await expect(notifications.toast(/Rewind to before .*: nothing to do/)).toBeVisible();
    await expect(notifications.toast('Files changed meanwhile')).toHaveCount(0);
    if (how === 'resolve conflicts') {
      await merge.ready();
      await expect(merge.remaining).toContainText('1 Conflict');
      await merge.action('Accept Older').click();
      await window.page.keyboard.press('Control+s');
    }
    await expect.poll(() => world.read('a.txt')).toBe(how.startsWith('keep') ? mine : TEXT);
  });
}

test('one turn is taken out, and what came later stays', async ({ world, agent, code }) => {
  world.commit({ 'a.txt': TEXT });
  agent.start();
  agent.turn('make it two', () => agent.edit('a.txt', 'two', '2'));
  agent.turn('make it four', () => agent.edit('a.txt', 'four', '4'));
  const window = await code.open('a.txt');
  const { quick, editor, notifications, plan } = window;
  await window.run('Backstitch: Revert Turn or Step…');
  await quick.pick('make it two');
  await plan.run('Revert');
  await expect(notifications.toast('Reverted: 1 file')).toBeVisible();
  await editor.expectText(TEXT.replace('four', '4'));
});

// S3-043, S3-056: text and lenses follow a rewind that the editor took no part in.
test('a rewind from the command line is seen in the editor', async ({ world, agent, code }) => {
  world.commit({ 'a.txt': TEXT });
  agent.start();
  agent.turn('make it two', () => agent.edit('a.txt', 'two', '2'));
  const window = await code.open('a.txt');
  await expect(window.editor.rewindLens()).toBeVisible();
  world.run('rewind', 't1');
  await window.editor.expectText(TEXT);
  await expect(window.editor.rewindLens()).toHaveCount(0);
});

test('the very state, with what the user wrote since taken out', async ({ world, agent, code }) => {
  world.commit({ 'a.txt': TEXT });
  agent.start();
  agent.turn('make it two', () => agent.edit('a.txt', 'two', '2'));
  world.write('a.txt', TEXT.replace('two', '2').replace('five', 'mine'));
  const window = await code.open('a.txt');
  const { quick, notifications, plan } = window;
  await window.run('Backstitch: Rewind…');
  await quick.pick('make it two');
  await plan.option('Restore everything');
  await expect.poll(() => plan.text()).toContain('Discards your own edits in a.txt.');
  await plan.button('Options…').click();
  await expect(quick.item('Leave your own edits in place')).toBeVisible();
  await window.page.keyboard.press('Escape');
  await plan.run('Rewind');
  await expect(notifications.toast('Rewound: 1 file')).toBeVisible();
  await expect.poll(() => world.read('a.txt')).toBe(TEXT);
});

test('only one session is rewound', { tag: '@long' }, async ({ world, agent, code }) => {
  world.commit({ 'a.txt': TEXT });
  agent.start();
  const other = new Agent(world);
  other.start();
  agent.turn('make it two', () => agent.edit('a.txt', 'two', '2'));
  other.turn('make it five', () => other.edit('a.txt', 'five', '5'));
  const window = await code.open('a.txt');
  const { quick, notifications, plan } = window;
  await window.run('Backstitch: Rewind…');
  await quick.pick('make it two');
  await plan.option("Only one session's work…");
  await expect(quick.title).toHaveText('Only the work of…');
  await quick.pick('make it two');
  await plan.ready(/^Rewind to before /);
  await plan.run('Rewind');
  await expect(notifications.toast('Rewound: 1 file')).toBeVisible();
  await expect.poll(() => world.read('a.txt')).toBe(TEXT.replace('five', '5'));
});

// U-20: all of it is done, or nothing.
test('a long rewind says so, and can be called off', { tag: '@long' }, async ({ world, agent, code }) => {
  test.slow();
  const many = 3000;
  world.commit({ 'a.txt': TEXT });
  agent.start();
  agent.turn('many files', () => {
    agent.edit('a.txt', 'two', '2');
    agent.bash(`mkdir many; for n in $(seq ${many}); do echo $n > many/$n; done`);
  });
  const window = await code.open('a.txt');
  const { plan, notifications, editor } = window;
  await editor.rewindLens().click();
  await plan.run('Rewind');
  await notifications.action('Restoring files', 'Cancel').click();
  await expect(notifications.toast('Restoring files')).toHaveCount(0);
  // a restore that has begun is completed: all or nothing
  const state = () => [Number(world.sh('ls many 2>/dev/null | wc -l').stdout), world.read('a.txt')].join(' ');
  await expect.poll(() => [`0 ${TEXT}`, `${many} ${TEXT.replace('two', '2')}`].includes(state())).toBe(true);
});

test('a code action takes these lines back, and redo does it again', async ({ world, agent, code }) => {
  world.commit({ 'a.txt': TEXT });
  agent.start();
  agent.turn('make it two', () => {
    agent.edit('a.txt', 'two', '2');
    agent.edit('a.txt', 'five', '5');
  });
  const window = await code.open('a.txt');
  const { editor, plan } = window;
  await expect(editor.rewindLens().first()).toBeVisible();
  await editor.goto(2);
  const actions = await editor.codeActions();
  await actions.filter({ hasText: 'Rewind these lines to before' }).click();
  await plan.ready(/Rewind some lines of a\.txt/);
  await plan.files.entry('a.txt').expectTexts(
    TEXT.replace('two', '2').replace('five', '5'),
    TEXT.replace('five', '5'),
  );
  await look(window.page, 'plan-lines');
  await plan.run('Rewind');
  await expect.poll(() => world.read('a.txt')).toBe(TEXT.replace('five', '5'));
  await window.run('Backstitch: Undo the Last Rewind');
  await plan.run('Undo');
  await expect.poll(() => world.read('a.txt')).toBe(TEXT.replace('two', '2').replace('five', '5'));
  await window.run('Backstitch: Redo the Rewind');
  await plan.run('Redo');
  await expect.poll(() => world.read('a.txt')).toBe(TEXT.replace('five', '5'));
});
