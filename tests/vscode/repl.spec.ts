// The REPL of held calls: from the row of a call to its transcript, by keys; lists and search.
import { expect, test } from './rig/test.ts';
import { look } from './rig/look.ts';

const TEXT = 'one\ntwo\nthree\n';

// S5-131, S5-134, S5-136…140, S5-142, S5-151
test('a REPL at a held call', async ({ world, agent, code }) => {
  world.commit({ 'a.txt': TEXT });
  agent.start();
  agent.prompt('make it two');
  world.run('breakpoint', 'add', 'tool', 'Edit');
  const answered = agent.held('Edit', agent.input('a.txt', 'two', '2'));
  const window = await code.open('a.txt');
  const { page } = window;
  await window.activity.open('Backstitch');
  const agents = window.tree('Agents');
  await agents.show();
  await agents.action(/^Edit a\.txt/, 'Open a REPL at the Held Call');
  const repl = window.webview({ purpose: 'webviewView' });
  const input = repl.locator('textarea');
  await expect(input).toBeVisible();
  await input.focus();
  await page.keyboard.type('.call.tool');
  await page.keyboard.press('Enter');
  await expect(repl.locator('pre.value').last()).toHaveText('"Edit"');
  // two lines are one input
  await page.keyboard.type('.call.input');
  await page.keyboard.press('Shift+Enter');
  await page.keyboard.type('| .new_string');
  await page.keyboard.press('Enter');
  await expect(repl.locator('pre.value').last()).toHaveText('"2"');
  await page.keyboard.press('ArrowUp');
  await page.keyboard.press('ArrowUp');
  await expect(input).toHaveValue('.call.tool');
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('ArrowDown');
  await expect(input).toHaveValue('');
  await page.keyboard.type('!echo "<b>bold</b>"');
  await page.keyboard.press('Enter');
  await expect(repl.locator('pre.stdout').last()).toHaveText('<b>bold</b>');
  await page.keyboard.type('.nothing | foo');
  await page.keyboard.press('Enter');
  await expect(repl.locator('pre.error').last()).toContainText('foo');
  // another viewer's input is shown, too
  const session = world.json('repl', 'list').sessions[0].id;
  await expect(repl.locator('.transcript')).toHaveRole('log');
  await page.keyboard.type(':set .new_string "zwei"');
  await page.keyboard.press('Enter');
  await expect(repl.locator('pre.value').last()).toContainText('+zwei');
  await look(page, 'repl-session');
  world.run('resume');
  expect((await answered).updatedInput?.['new_string']).toBe('zwei');
  await expect(input).toHaveCount(0);
  await expect(repl.locator('.empty')).toHaveText('its pause was decided');
  await repl.locator('button:has-text("Sessions")').click();
  await expect(repl.locator('table')).toContainText(session);
  await repl.locator('input[type=search]').fill('no such text');
  await page.keyboard.press('Enter');
  await expect(repl.locator('table')).toHaveCount(0);
  await repl.locator('input[type=search]').fill('bold');
  await page.keyboard.press('Enter');
  await repl.locator(`button.link:has-text("${session}")`).click();
  await expect(repl.locator('pre.input')).toHaveCount(5);
  await look(page, 'repl-closed');
});
