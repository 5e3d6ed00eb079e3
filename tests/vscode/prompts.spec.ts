// The timeline as a list of prompts: what is folded into them, filters, branches, and texts that were kept.
import { Agent } from './rig/agent.ts';
import { look } from './rig/look.ts';
import { expect, test } from './rig/test.ts';
import type { World } from './rig/world.ts';

const TEXT = 'one\ntwo\nthree\nfour\nfive\n';

/** Saves a file as the user does, and waits until that is recorded. */
async function save(world: World, file: string, text: string): Promise<void> {
  const count = () => (world.json('log') as { checkpoints: { kind: string }[] }).checkpoints.length;
  const before = count();
  world.write(file, text);
  await expect.poll(count).toBeGreaterThan(before);
}

test('prompts are the rows: saves are one row, operations are below the turns they undid', async ({
  world,
  agent,
  code,
}) => {
  world.commit({ 'a.txt': TEXT, 'notes.md': '1\n' });
  agent.start();
  agent.turn('make it two', () => agent.edit('a.txt', 'two', '2'));
  const window = await code.open('a.txt');
  await window.activity.open('Backstitch');
  const tree = window.tree('Timeline');
  await expect(tree.row('make it two')).toBeVisible();
  for (const number of [2, 3, 4]) await save(world, 'notes.md', `${number}\n`);
  await expect(tree.row('Your edits')).toHaveCount(1);
  await expect(tree.row('Your edits')).toContainText('3 saves');
  agent.turn('make it four', () => agent.edit('a.txt', 'four', '4'));
  agent.turn('make it five', () => agent.edit('a.txt', 'five', '5'));
  await expect(tree.row('make it five')).toBeVisible();
  // one branch: no level for it; the first state has a name
  const titles = async () => (await tree.shown()).map((row) => row.split(' · ')[0]);
  expect(await titles()).toEqual(['make it five', 'make it four', 'Your edits', 'make it two', 'before Backstitch']);
  // the group of saves as one comparison
  await tree.menu('Your edits', 'Show Changes');
  await window.diff.expectTexts('1\n', '4\n');

  await tree.menu('make it four', 'Rewind…');
  await window.plan.run('Rewind');
  for (const row of ['make it four', 'make it five']) await expect(tree.row(row)).toContainText('undone');
  await expect(tree.row('make it two')).not.toContainText('undone');
  // an undone row is faint
  const color = (row: string) =>
    tree
      .row(row)
      .locator('.label-name')
      .first()
      .evaluate((label) => getComputedStyle(label).color);
  await expect.poll(async () => (await color('make it five')) === (await color('make it two'))).toBe(false);
  expect(await titles()).toEqual(['make it five', 'make it four', 'Your edits', 'make it two', 'before Backstitch']);
  await look(window.page, 'prompts');
  await tree.expand('make it four');
  await expect(tree.row(/^Rewind to before/)).toBeVisible();

  // from any of the turns
  await tree.menu('make it five', 'Undo the Rewind…');
  await window.plan.run('Undo');
  await expect.poll(() => world.read('a.txt')).toContain('4\n5\n');
  for (const row of ['make it four', 'make it five']) await expect(tree.row(row)).not.toContainText('undone');
  await expect(tree.row(/^Undo of the rewind to before/)).toBeVisible();
  expect((await titles())[0]).toBe('make it five');
});

test('a rewind of one file says so at its turn', { tag: '@long' }, async ({ world, agent, code }) => {
  world.commit({ 'a.txt': TEXT, 'b.txt': TEXT });
  agent.start();
  agent.turn('make it two', () => {
    agent.edit('a.txt', 'two', '2');
    agent.edit('b.txt', 'two', '2');
  });
  const window = await code.open('a.txt');
  await window.activity.open('Backstitch');
  const tree = window.tree('Timeline');
  await expect(tree.row('make it two')).toBeVisible();
  // found by its prompt
  await window.run('Backstitch: Rewind This File…');
  await expect(window.quick.title).toHaveText('Rewind this file to…');
  await window.quick.type('make');
  await expect(window.quick.item('make it two')).toBeVisible();
  await look(window.page, 'rewind-this-file');
  await window.quick.pick('make it two');
  await window.plan.run('Rewind');
  await expect.poll(() => world.read('a.txt')).toBe(TEXT);
  expect(world.read('b.txt')).toBe(TEXT.replace('two', '2'));
  await expect(tree.row('make it two')).toContainText('partly undone');
});

test('a command is named by its description, with its exit status', async ({ world, agent, code }) => {
  world.commit({ 'a.txt': TEXT });
  agent.start();
  agent.turn('build it', () => {
    agent.bash('echo built > out.txt', 'Build the project');
    agent.bash('echo more >> out.txt; exit 3', 'Run the $(zap) checks');
  });
  const window = await code.open('a.txt');
  await window.activity.open('Backstitch');
  const tree = window.tree('Timeline');
  await tree.expand('build it');
  await expect(tree.row('Build the project')).toBeVisible();
  await expect(tree.row('Build the project')).not.toContainText('exit');
  await expect(tree.row('Run the $(zap) checks')).toContainText('exit 3');
  const hover = window.page.locator('.monaco-hover, .workbench-hover');
  const command = hover.filter({ hasText: 'echo built > out.txt' });
  // a row that is drawn anew under the pointer shows nothing before the pointer moves
  await expect(async () => {
    await window.page.mouse.move(0, 0);
    await tree.row('Build the project').hover();
    await expect(command).toBeVisible({ timeout: 3000 });
  }).toPass();
  await look(window.page, 'command');
  // words of the command find it, below its prompt
  await window.run('Backstitch: Filter the Timeline…');
  await window.quick.pick('Words…');
  await window.quick.type('built');
  await window.quick.accept();
  await expect(tree.row('Only “built”')).toBeVisible();
  await expect(tree.row('build it')).toBeVisible();
  await expect(tree.row('Run the $(zap) checks')).toHaveCount(0);
  const shown = world.run('show', 'c3');
  expect(shown).toMatch(/about\s+Build the project/);
  expect(shown).toMatch(/command\s+echo built > out.txt/);
  expect(shown).toMatch(/exit status\s+0/);
});

test('a filter is a row, and rows stay expanded', async ({ world, agent, code }) => {
  world.commit({ 'a.txt': TEXT, 'b.txt': TEXT });
  agent.start();
  agent.turn('make it two', () => agent.edit('a.txt', 'two', '2'));
  agent.turn('tidy up', () => agent.edit('b.txt', 'four', '4'));
  world.run('checkpoint', '-m', 'by hand');
  const window = await code.open('a.txt');
  await window.activity.open('Backstitch');
  const tree = window.tree('Timeline');
  await tree.expand('make it two');
  await expect(tree.row('Edit · a.txt')).toBeVisible();

  // prompts stay where a file is the filter
  await window.run('Backstitch: Filter the Timeline…');
  await window.quick.pick('This file');
  await expect(tree.row('Only a.txt')).toBeVisible();
  await expect(tree.row('make it two')).toBeVisible();
  await expect(tree.row('tidy up')).toHaveCount(0);
  await look(window.page, 'filter');
  await tree.row('Only a.txt').click();
  await expect(tree.row('tidy up')).toBeVisible();
  await expect(tree.row('Edit · a.txt')).toBeVisible();

  await window.run('Backstitch: Filter the Timeline…');
  await window.quick.pick('Prompts only');
  await expect(tree.row('by hand')).toHaveCount(0);
  await expect(tree.row('tidy up')).toBeVisible();
  await tree.action('Only prompts', 'Show Everything');
  await expect(tree.row('by hand')).toBeVisible();

  await window.run('Backstitch: Filter the Timeline…');
  await window.quick.pick('Words…');
  await window.quick.type('nowhere');
  await window.quick.accept();
  await expect(tree.row('No checkpoint matches')).toBeVisible();
  await expect(tree.welcome).toBeHidden();
});

test('sessions differ in colour and letter', async ({ world, agent, code }) => {
  world.commit({ 'a.txt': TEXT, 'b.txt': TEXT });
  agent.start();
  agent.turn('make it two', () => agent.edit('a.txt', 'two', '2'));
  const window = await code.open('a.txt');
  await window.activity.open('Backstitch');
  const tree = window.tree('Timeline');
  await expect(tree.row('make it two')).toBeVisible();
  await expect(tree.row('make it two').locator('.label-description')).not.toContainText('A ·');
  const other = new Agent(world);
  other.start();
  other.turn('tidy up', () => other.edit('b.txt', 'four', '4'));
  await expect(tree.row('make it two').locator('.label-description')).toContainText('A · ');
  await expect(tree.row('tidy up').locator('.label-description')).toContainText('B · ');
  const color = (row: string) =>
    tree
      .row(row)
      .locator('.custom-view-tree-node-item-icon')
      .evaluate((icon) => getComputedStyle(icon).color);
  expect(await color('tidy up')).not.toBe(await color('make it two'));
  await look(window.page, 'sessions');
  await tree.menu('tidy up', 'Show Only This Session');
  await expect(tree.row(/^Only session B/)).toBeVisible();
});

test('each branch says what is undone on it; the current one is open', async ({ world, agent, code }) => {
  world.commit({ 'a.txt': TEXT });
  agent.start();
  agent.turn('make it two', () => agent.edit('a.txt', 'two', '2'));
  agent.turn('make it four', () => agent.edit('a.txt', 'four', '4'));
  const window = await code.open('a.txt');
  await window.activity.open('Backstitch');
  const tree = window.tree('Timeline');
  await expect(tree.row('make it four')).toBeVisible();
  await expect(tree.row('main')).toHaveCount(0);
  agent.turn('make it one', () => agent.edit('a.txt', 'one', '1'));
  // a branch that begins before the second turn is without its work; on its own branch that is not undone
  world.run('fork', 't2', 'idea');
  world.run('switch', 'idea');
  agent.turn('make it five', () => agent.edit('a.txt', 'five', '5'));
  await expect(tree.row('make it five')).toBeVisible();
  expect(await tree.row('idea').getAttribute('aria-expanded')).toBe('true');
  expect(await tree.row('main').getAttribute('aria-expanded')).toBe('false');
  await tree.expand('main');
  await expect(tree.row('make it four')).toHaveCount(2);
  for (const row of await tree.row('make it four').all()) await expect(row).not.toContainText('undone');
  await look(window.page, 'branches');

  // a row of another branch: what works is a button
  await expect(tree.row('make it four').first()).toContainText('the branch starts here');
  await tree.menu('make it one', 'Rewind…');
  const refused = 'is not in the history of the current state, but on another branch';
  await expect(window.notifications.toast(refused)).toBeVisible();
  await expect(window.notifications.toast(refused)).not.toContainText('`');
  await expect(window.notifications.action(refused, 'Restore That State Here')).toBeVisible();
  await look(window.page, 'other-branch');
  await window.notifications.action(refused, 'Switch to main').click();
  await window.plan.run('Switch');
  await expect.poll(() => world.read('a.txt')).toBe('1\n2\nthree\n4\nfive\n');
  await expect(tree.row('main')).toHaveAttribute('aria-expanded', 'true');
  expect((await tree.shown())[0]).toContain('main');
});

test('text that was not saved can be shown and compared', { tag: '@long' }, async ({ world, agent, code }) => {
  world.commit({ 'a.txt': TEXT });
  agent.start();
  agent.turn('make it two', () => agent.edit('a.txt', 'two', '2'));
  const window = await code.open('a.txt');
  await window.activity.open('Backstitch');
  const tree = window.tree('Timeline');
  await expect(tree.row('make it two')).toBeVisible();
  await window.editor.focus();
  await window.editor.type(1, 'typed ');
  await expect.poll(() => JSON.stringify(world.json('status'))).toContain('a.txt');
  agent.turn('make it four', () => agent.edit('a.txt', 'four', '4'));
  await tree.expand('make it four');
  const changed = 'claude-code changed a.txt, which is not saved here. Your text is kept.';
  await expect(window.notifications.action(changed, 'Compare')).toBeVisible();
  await expect(window.notifications.action(changed, 'Merge')).toBeVisible();
  await tree.expand('Edit · a.txt');
  const kept = tree.rows.and(window.page.locator('[aria-level="3"]')).filter({ hasText: 'unsaved in' });
  await kept.click();
  await window.editor.expectText(`typed ${TEXT.replace('two', '2')}`);
  await expect(window.page.locator('.tab.active')).toContainText('unsaved text at');
  await kept.hover();
  await kept.getByRole('button', { name: 'Compare with the File' }).click();
  await expect(window.page.locator('.tab.active')).toContainText('and now');
  await window.diff.original.expectText(`typed ${TEXT.replace('two', '2')}`);
  await look(window.page, 'kept');
});

// V32, V34, V35 of a day of use: a file as it was is told from the file, text is not an icon, and a turn has one name.
test('a prompt is text, a turn is copied by its name, and a file as it was says so', async ({ world, agent, code }) => {
  world.commit({ 'a.txt': TEXT });
  agent.start();
  agent.turn('make $(zap) of two', () => agent.edit('a.txt', 'two', '2'));
  agent.turn('make it four', () => agent.edit('a.txt', 'four', '4'));
  const window = await code.open('a.txt');
  await expect(window.editor.lens('make $(zap) of two')).toBeVisible();
  await window.activity.open('Backstitch');
  const tree = window.tree('Timeline');
  await tree.menu('make $(zap) of two', 'Copy Checkpoint ID');
  await expect.poll(() => window.page.evaluate('navigator.clipboard.readText()')).toBe('t1');
  await tree.expand('make $(zap) of two');
  await tree.expand('Edit · a.txt');
  await tree.menu('a.txt', 'Open as It Was');
  await expect(window.page.locator('.tab.active')).toContainText('a.txt (after Edit · a.txt)');
  await window.editor.expectText(TEXT.replace('two', '2'));
});

test('a list of checkpoints finds the words and the numbers of the whole history', async ({ world, agent, code }) => {
  world.commit({ 'a.txt': TEXT });
  agent.start();
  agent.turn('plant a walnut tree', () => agent.edit('a.txt', 'one', 'walnut'));
  // more than a page of newer checkpoints
  for (let number = 2; number <= 120; number += 1) {
    const before = number === 2 ? 'two' : `two${number - 1}`;
    agent.turn(`number ${number}: count on`, () => agent.edit('a.txt', before, `two${number}`));
  }
  const window = await code.open('a.txt');
  await window.run('Backstitch: Rewind…');
  const { quick } = window;
  // the prompt and the age name a row, without an id
  const newest = await quick.shown('number 120: count on');
  expect(newest.description).toMatch(/^before · (just now|\d+ min ago)$/);
  expect(newest.detail).toMatch(/^claude-code\s+a\.txt\s+\+1 −1$/);
  await quick.type('walnut');
  await expect(quick.item('plant a walnut tree').first()).toBeVisible();
  await look(window.page, 'search');
  // Enter at once: the id wins over rows that are only like it
  await quick.type('t12');
  await window.page.keyboard.press('Enter');
  await window.plan.run('Rewind');
  const then = TEXT.replace('one', 'walnut').replace('two', 'two11');
  await expect.poll(() => world.read('a.txt')).toBe(then);
});
