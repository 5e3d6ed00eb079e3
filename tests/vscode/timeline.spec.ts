// The timeline in the side bar, the graph, branches and forks.
import { Agent } from './rig/agent.ts';
import { expect, test } from './rig/test.ts';
import { look } from './rig/look.ts';

const TEXT = 'one\ntwo\nthree\nfour\nfive\n';

// S2-063, S3-051: each turn can be rewound to from its row, and is then marked as taken out.
test('the timeline follows what happens, and its rows rewind', async ({ world, agent, code }) => {
  world.commit({ 'src/a.txt': TEXT });
  const window = await code.open('src/a.txt');
  const { activity, notifications, editor } = window;
  await activity.open('Backstitch');
  const tree = window.tree('Timeline');
  await expect(tree.welcome).toContainText('No checkpoints yet. They appear when an agent starts working here.');
  agent.start();
  agent.turn('make it two', () => {
    agent.edit('src/a.txt', 'two', '2');
    agent.bash('touch new.txt; exit 1');
  });
  await expect(tree.row('make it two')).toBeVisible();
  await expect(tree.row('make it two')).toContainText('+1 −1');
  await tree.expand('make it two');
  // one meaning for a row: rewind, fork, tag and compare take the state that it names
  await expect(tree.row('make it two')).toContainText('before');
  await expect(tree.row('Edit · src/a.txt')).toContainText('after');
  await tree.expand('Edit · src/a.txt');
  await expect(tree.row('a.txt')).toContainText('src · +1 −1');
  // live: the next turn appears by itself, and expanded rows stay expanded
  agent.turn('make it four', () => agent.edit('src/a.txt', 'four', '4'));
  await expect(tree.row('make it four')).toBeVisible();
  await expect(tree.row('a.txt').first()).toBeVisible();
  await expect(editor.lens('turn 2')).toBeVisible();
  await look(window.page, 'timeline');

  await tree.menu('make it four', 'Pin');
  await expect(tree.row('make it four')).toContainText('pinned');
  await tree.menu('make it four', 'Unpin');
  await expect(tree.row('make it four')).not.toContainText('pinned');

  await tree.row('a.txt').first().click();
  await window.diff.expectTexts(TEXT, TEXT.replace('two', '2'));
  await window.open('src/a.txt');
  await tree.menu('make it four', 'Rewind…');
  await window.plan.run('Rewind');
  await expect(notifications.toast('Rewound: 1 file')).toBeVisible();
  await editor.expectText(TEXT.replace('two', '2'));
  await expect(tree.row('make it four')).toContainText('undone');
});

test('the timeline is filtered', async ({ world, agent, code }) => {
  world.commit({ 'a.txt': TEXT, 'b c.txt': TEXT });
  agent.start();
  agent.turn('make it two', () => agent.edit('a.txt', 'two', '2'));
  const other = new Agent(world);
  other.start();
  other.turn('tidy up', () => other.edit('b c.txt', 'four', '4'));
  const window = await code.open('a.txt');
  await window.activity.open('Backstitch');
  const { quick } = window;
  const tree = window.tree('Timeline');
  await expect(tree.row('tidy up')).toBeVisible();
  const words = async (typed: string) => {
    await window.run('Backstitch: Filter the Timeline…');
    await quick.pick('Words…');
    await quick.type(typed);
    await quick.accept();
  };
  await words('tidy');
  await expect(tree.row('make it two')).toHaveCount(0);
  await expect(tree.row('tidy up')).toBeVisible();
  await words('path:"b c.txt"');
  await expect(tree.row('Only b c.txt')).toBeVisible();
  await expect(tree.row('make it two')).toHaveCount(0);
  await tree.expand('tidy up');
  await expect(tree.row('Edit · b c.txt')).toBeVisible();
  await window.run('Backstitch: Filter the Timeline…');
  await quick.pick('This file');
  await expect(tree.row('make it two')).toBeVisible();
  await expect(tree.row('tidy up')).toHaveCount(0);
  await window.run('Backstitch: Show Everything');
  await expect(tree.row('tidy up')).toBeVisible();
  // an agent's session, from the list and from a row
  await window.run('Backstitch: Filter the Timeline…');
  await quick.pick('make it two');
  await expect(tree.row('tidy up')).toHaveCount(0);
  await expect(tree.row('make it two')).toBeVisible();
  await window.run('Backstitch: Show Everything');
  await tree.menu('tidy up', 'Show Only This Session');
  await expect(tree.row('make it two')).toHaveCount(0);
  await expect(tree.row('tidy up')).toBeVisible();
});

// S2-069, U-20: undo from the row, and a branch from the end of another.
test('a row of a rewind undoes it; a branch forks from its end', async ({ world, agent, code }) => {
  world.commit({ 'a.txt': TEXT });
  agent.start();
  agent.turn('make it two', () => agent.edit('a.txt', 'two', '2'));
  world.run('rewind', 't1');
  const window = await code.open('a.txt');
  const { quick, notifications, activity } = window;
  await activity.open('Backstitch');
  const tree = window.tree('Timeline');
  await tree.menu('make it two', 'Undo the Rewind…');
  await window.plan.run('Undo');
  await expect.poll(() => world.read('a.txt')).toBe(TEXT.replace('two', '2'));
  world.run('fork', 't1', 'other');
  await tree.menu('main', 'Fork…');
  await quick.type('idea');
  await quick.accept();
  await expect(notifications.toast('Created branch idea')).toBeVisible();
  expect(world.run('branch', 'list')).toContain('idea');
});

// S2-069, S2-075, S2-076, S2-084: a switch restores the fork point, and the way back the newest checkpoint.
test('a fork, a switch to it and back; the graph shows both', async ({ world, agent, code }) => {
  world.commit({ 'a.txt': TEXT });
  agent.start();
  agent.turn('make it two', () => agent.edit('a.txt', 'two', '2'));
  const window = await code.open('a.txt');
  const { quick, notifications, editor } = window;
  await editor.lens('fork').click();
  await expect(quick.title).toHaveText('Fork from before “make it two”');
  await quick.type('idea');
  await quick.accept();
  await notifications.action('Created branch idea', 'Switch to it').click();
  await window.plan.run('Switch');
  await expect(notifications.toast('Switched: 1 file')).toBeVisible();
  await editor.expectText(TEXT);
  // the branch is without the turn: there is nothing to undo on it
  const undo = window.page.locator('[id="backstitch.backstitch.undoTurn"]');
  await expect(undo).toHaveCount(0);
  const other = new Agent(world);
  other.start();
  other.turn('make it four instead', () => other.edit('a.txt', 'four', '4'));
  await expect(undo).toHaveAttribute('aria-label', 'Rewind Last Turn: make it four instead');
  await editor.expectText(TEXT.replace('four', '4'));

  await window.run('Backstitch: Show Branches and Forks');
  const graph = window.webview();
  await graph.ready();
  const row = (title: string) => graph.locator(`.row:has-text("${title}")`);
  const tip = (branch: string) => graph.locator(`.row:has(.branch:text-is("${branch}"))`);
  await expect(tip('main')).toContainText('c3');
  await expect(tip('idea')).toContainText('c5');
  // sessions have their letters and colours
  await expect(row('make it two').first().locator('.session')).toHaveText('A');
  const color = (letter: string) =>
    graph.locator(`.session:text-is("${letter}")`).first().evaluate((sign) => getComputedStyle(sign).color);
  expect(await color('A')).not.toBe(await color('B'));
  await graph.locator('.search').fill('instead');
  await expect(row('make it two').first()).toHaveClass(/other/);
  await look(window.page, 'graph');
  await graph.locator('.search').press('Enter');
  await expect(graph.locator('.row:focus')).toContainText('make it four instead');
  await graph.locator('.search').fill('');
  // by keyboard only
  await row('make it two').focus();
  await window.page.keyboard.press('ArrowUp');
  await expect(graph.locator('.row:focus')).not.toContainText('make it two');
  await expect(graph.locator('.row[aria-selected="true"]')).toHaveCount(1);

  // the graph has the focus, and takes it back from the list of branches at times
  await expect(async () => {
    await window.run('Backstitch: Switch to Branch…');
    await quick.item('main').first().click({ timeout: 3_000 });
  }).toPass();
  await window.plan.run('Switch');
  await expect.poll(() => world.read('a.txt')).toBe(TEXT.replace('two', '2'));
});

// S4-062, U-21: a pipe is reported as not captured, and a tag names a turn.
test('what was not captured has a badge; a checkpoint has a tag', { tag: '@long' }, async ({ world, agent, code }) => {
  world.commit({ 'a.txt': TEXT });
  agent.start();
  agent.turn('a pipe', () => agent.bash('mkfifo pipe'));
  const window = await code.open('a.txt');
  const { quick, activity, notifications } = window;
  await activity.open('Backstitch');
  const tree = window.tree('Timeline');
  await expect(tree.row('a pipe')).toContainText('1 not captured');
  await expect(tree.row('a pipe').locator('[class*="monaco-decoration-itemBadge"]')).toHaveCount(1);
  await look(window.page, 'badge');
  await window.run('Backstitch: Tag…');
  await quick.pick('a pipe');
  await quick.type('before-lunch');
  await quick.accept();
  await expect(notifications.toast('“a pipe” is tagged before-lunch')).toBeVisible();
  await expect(tree.row('a pipe')).toContainText('before-lunch');
});
