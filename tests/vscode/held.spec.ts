// Held calls of agents, and breakpoints: announced, shown, changed, decided.
import { expect, test } from './rig/test.ts';
import { look } from './rig/look.ts';

const TEXT = 'one\ntwo\nthree\n';

// S2-013, U-10
test('a held call is announced, its right side edited, and it goes on with that', async ({ world, agent, code }) => {
  world.commit({ 'a.txt': TEXT });
  agent.start();
  agent.prompt('make it two');
  const window = await code.open('a.txt');
  const { page, editor, notifications } = window;
  await editor.focus();
  await editor.goto(2);
  await window.run('Backstitch: Stop Agents Here');
  await window.activity.open('Backstitch');
  const stops = window.tree('Agent Breakpoints');
  await stops.show();
  await expect(stops.row('a.txt:2')).toHaveCount(1);

  await editor.focus();
  await editor.goto(1);
  const answered = agent.held('Edit', agent.input('a.txt', 'two', '2'));
  await expect(notifications.toast('claude-code wants to run Edit a.txt')).toBeVisible();
  // the focus stays where it was
  await page.keyboard.type('X');
  await editor.expectText(`X${TEXT}`);
  await page.keyboard.press('Control+Z');
  await expect(window.status.items.filter({ has: page.locator('.codicon-debug-pause') })).toContainText('1');
  const agents = window.tree('Agents');
  await agents.show();
  await expect(agents.row(/^Edit a\.txt/)).toHaveCount(1);
  await look(page, 'held-view');
  await notifications.action('claude-code wants to run', 'Show').click();
  await window.diff.ready();
  await window.diff.expectTexts(TEXT, 'one\n2\nthree\n');
  await look(page, 'held-diff');

  // the comparison has the focus: it was asked for
  await window.diff.modified.goto(2);
  await page.keyboard.press('End');
  await page.keyboard.type(' and a half');
  await page.keyboard.press('Control+S');
  await expect.poll(() => world.json('pauses').pauses[0].state).toBe('held');
  await window.titleAction('Continue the Held Call').click();
  const answer = await answered;
  expect(answer.updatedInput?.['new_string']).toBe('2 and a half\n');
  expect(answer.permissionDecision).toBeUndefined();
  expect(world.read('a.txt')).toBe(TEXT);
  await expect(page.locator('.tab', { hasText: 'Held:' })).toHaveCount(0);
  await expect(agents.rows).toHaveCount(0);
});

test('closing decides nothing, a terminal is followed, and two calls stand beside each other', async ({ world, agent, code }) => {
  world.commit({ 'a.txt': TEXT, 'b.txt': 'b\n' });
  agent.start();
  agent.prompt('change both');
  world.run('breakpoint', 'add', 'tool', 'Edit');
  const first = agent.held('Edit', agent.input('a.txt', 'two', '2'));
  const window = await code.open('a.txt');
  const { page, quick } = window;
  // a hold from before the window is shown
  await window.activity.open('Backstitch');
  const agents = window.tree('Agents');
  await agents.show();
  await expect(agents.row(/^Edit a\.txt/)).toHaveCount(1);
  const second = agent.held('Edit', agent.input('b.txt', 'b', 'B'));
  await expect(agents.row(/^Edit b\.txt/)).toHaveCount(1);
  await agents.row(/^Edit b\.txt/).click();
  await window.diff.ready();
  await window.diff.expectTexts('b\n', 'B\n');
  await page.locator('.tab', { hasText: 'Held:' }).getByRole('button', { name: /^Close/ }).click();
  await expect(page.locator('.tab', { hasText: 'Held:' })).toHaveCount(0);
  await expect.poll(() => world.json('pauses').pauses.length).toBe(2);
  // by keys: the row has the focus
  await agents.action(/^Edit b\.txt/, 'Deny the Held Call…');
  await quick.type('not this one');
  await page.keyboard.press('Enter');
  expect((await second).permissionDecisionReason).toBe('not this one');
  await expect(agents.row(/^Edit b\.txt/)).toHaveCount(0);
  world.run('resume', 'p1');
  expect(await first).toEqual({});
  await expect(agents.rows).toHaveCount(0);
});
