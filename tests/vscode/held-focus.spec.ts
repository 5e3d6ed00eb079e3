// A held call is not missed, and takes no key: where the focus is, what a key decides, and what a late click does.
import { expect, test } from './rig/test.ts';
import { Agent } from './rig/agent.ts';
import { look } from './rig/look.ts';

const TEXT = 'one\ntwo\nthree\n';

test.describe(() => {
  test.use({ vscode: { settings: { 'backstitch.pause.reveal': 'show' } } });

  test('a comparison that opens by itself takes no key, of one file and of several', async ({ world, agent, code }) => {
    world.commit({ 'a.txt': TEXT, 'b.txt': 'b\n' });
    agent.start();
    agent.prompt('make it two');
    world.run('breakpoint', 'add', 'tool', 'Edit');
    const window = await code.open('b.txt');
    const { page, editor } = window;
    await editor.focus();
    const answered = agent.held('Edit', agent.input('a.txt', 'two', '2'));
    const held = page.locator('.tab', { hasText: 'Held:' });
    // typed without a pause, until it has long been open
    let typed = '';
    const type = async () => {
      typed += 'x';
      await page.keyboard.type('x');
    };
    while ((await held.count()) === 0) await type();
    await expect(page.locator('.monaco-diff-editor').filter({ visible: true })).toHaveCount(1);
    for (let count = 0; count < 20; count++) await type();
    await look(page, 'held-revealed');
    await editor.expectText(`b${typed}\n`);
    await page.keyboard.press('Control+Z');
    world.run('resume');
    expect(await answered).toEqual({});
    await expect(held).toHaveCount(0);
  });
});

test('after a step the next call of that session is shown where the focus is, by keys alone', async ({ world, agent, code }) => {
  world.commit({ 'a.txt': TEXT, 'b.txt': 'b\n' });
  agent.start();
  agent.prompt('change both');
  world.run('breakpoint', 'add', 'tool', 'Edit', '--once');
  const window = await code.open('a.txt');
  const { page, diff, editor } = window;
  const held = page.locator('.tab.active', { hasText: 'Held:' });
  const first = agent.held('Edit', agent.input('a.txt', 'two', '2'));
  await expect(window.status.items.filter({ has: page.locator('.codicon-debug-pause') })).toContainText('1');
  // from the file: the first key shows the call, the second decides
  await editor.focus();
  await page.keyboard.press('F10');
  await expect(held).toContainText('a.txt');
  await diff.ready();
  await page.keyboard.press('F10');
  expect(await first).toEqual({});
  const second = agent.held('Edit', agent.input('b.txt', 'b', 'B'));
  await expect(held).toContainText('b.txt');
  await diff.expectTexts('b\n', 'B\n');
  // a late key changes nothing: the left side has the focus
  await page.keyboard.type('typed');
  await diff.expectTexts('b\n', 'B\n');
  await look(page, 'held-after-step');
  await page.keyboard.press('F10');
  expect(await second).toEqual({});
  // another session's call is announced, and takes no focus
  const other = new Agent(world);
  other.start();
  other.prompt('something else');
  world.run('breakpoint', 'add', 'tool', 'Edit', '--once');
  const third = other.held('Edit', other.input('a.txt', 'one', '1'));
  const only = 'A call is held: claude-code B “something else”';
  await expect(window.notifications.toast(only)).toBeVisible();
  await expect(held).toHaveCount(0);
  // an earlier message is open: this one decides all the same
  await window.notifications.action(only, 'Continue').click();
  expect(await third).toEqual({});
});

test('in the list and in the REPL the keys decide, and the focus stays', async ({ world, agent, code }) => {
  world.commit({ 'a.txt': TEXT, 'b.txt': 'b\n' });
  agent.start();
  agent.prompt('change both');
  world.run('breakpoint', 'add', 'tool', 'Edit', '--once');
  const window = await code.open('a.txt');
  const { page, diff } = window;
  await window.activity.open('Backstitch');
  const agents = window.tree('Agents');
  await agents.show();
  const first = agent.held('Edit', agent.input('a.txt', 'two', '2'));
  await expect(agents.row(/^Edit a\.txt/)).toHaveCount(1);
  await agents.row(/^Edit a\.txt/).click();
  await diff.ready();
  // it takes the focus once it is drawn
  await diff.hasFocus();
  await page.getByRole('tree', { name: 'Agents' }).focus();
  await page.keyboard.press('F10');
  expect(await first).toEqual({});
  const second = agent.held('Edit', agent.input('b.txt', 'b', 'B'));
  await diff.expectTexts('b\n', 'B\n');
  await expect(page.getByRole('tree', { name: 'Agents' })).toBeFocused();
  await agents.action(/^Edit b\.txt/, 'Open a REPL at the Held Call');
  const repl = window.webview({ extension: 'backstitch.backstitch', purpose: 'webviewView' });
  const input = repl.locator('.cm-content');
  await input.click();
  await expect(input).toBeFocused();
  await page.keyboard.press('F5');
  expect(await second).toEqual({});
});

test('a call that was decided elsewhere is only named by a late click; one whose time ran out goes after its retry', async ({ world, agent, code }) => {
  world.commit({ 'a.txt': TEXT });
  agent.start();
  agent.prompt('make it two');
  world.run('breakpoint', 'add', 'tool', 'Edit');
  const window = await code.open('a.txt');
  const { notifications, page } = window;
  const answered = agent.held('Edit', agent.input('a.txt', 'two', '2'));
  await expect(notifications.toast('claude-code A “make it two” wants to run Edit a.txt')).toBeVisible();
  world.run('deny', '--message', 'no');
  expect((await answered).permissionDecision).toBe('deny');
  await notifications.action('wants to run Edit a.txt', 'Continue').click();
  const late = notifications.toast('Edit a.txt is no longer held: it was denied (in a terminal)');
  await expect(late).toBeVisible();
  await expect(late.locator('.codicon-info')).toHaveCount(1);
  await look(page, 'held-late');

  await window.activity.open('Backstitch');
  const agents = window.tree('Agents');
  await agents.show();
  const input = agent.input('a.txt', 'two', '2');
  const inTime = agent.held('Edit', input, 12);
  await expect(agents.row(/^Edit a\.txt/)).toContainText('“make it two”');
  expect((await inTime).permissionDecision).toBe('deny');
  await expect(notifications.toast('The time of a held call ran out: Edit a.txt was not run')).toBeVisible();
  await expect(agents.row(/^Edit a\.txt/)).toContainText('its time ran out: waits for the agent to try again');
  await look(page, 'held-parked');
  await agents.action(/^Edit a\.txt/, 'Continue the Held Call');
  await expect(notifications.toast('Your decision holds once claude-code tries Edit a.txt again')).toBeVisible();
  expect(await agent.held('Edit', input)).toEqual({});
  await expect(agents.rows).toHaveCount(0);
});

test('a step takes a change along, and what the agent cannot take is refused at once', async ({ world, agent, code }) => {
  world.commit({ 'a.txt': TEXT });
  agent.start();
  agent.prompt('make it two');
  world.run('breakpoint', 'add', 'tool', 'Edit');
  const window = await code.open('a.txt');
  const { page, diff, notifications } = window;
  const first = agent.held('Edit', agent.input('a.txt', 'two', '2'));
  await notifications.action('wants to run Edit a.txt', 'Show').click();
  await diff.ready();
  await diff.modified.goto(2);
  await page.keyboard.press('End');
  await page.keyboard.type(' and a half');
  // not saved
  await page.keyboard.press('F10');
  expect((await first).updatedInput?.['new_string']).toBe('2 and a half\n');

  const second = agent.held('Edit', agent.input('a.txt', 'two', '2'));
  await window.diff.ready();
  await page.keyboard.press('F2');
  await expect(window.tab('Edit.held-input.json')).toBeVisible();
  await window.editor.focus();
  await page.keyboard.press('Control+Home');
  await page.keyboard.type('?');
  await page.keyboard.press('F5');
  await expect(notifications.toast('The input is not JSON')).toContainText('Nothing was decided');
  await look(page, 'held-broken-json');
  expect(world.json('pauses').pauses[0].state).toBe('held');
  await page.keyboard.press('Control+Z');
  await page.keyboard.press('F5');
  await second;
});

test('two agents are told apart, and the held line is marked in its file', async ({ world, agent, code }) => {
  world.commit({ 'a.txt': TEXT });
  agent.start();
  agent.turn('first of all', () => agent.edit('a.txt', 'one', '1'));
  agent.prompt('make it two');
  const other = new Agent(world);
  other.start();
  other.turn('beside it', () => other.edit('a.txt', '1', 'one'));
  other.prompt('make it three');
  world.run('breakpoint', 'add', 'tool', 'Edit');
  const window = await code.open('a.txt');
  const { editor, page } = window;
  await window.activity.open('Backstitch');
  const agents = window.tree('Agents');
  await agents.show();
  const [first, second] = [
    agent.held('Edit', agent.input('a.txt', 'two', '2')),
    other.held('Edit', other.input('a.txt', 'two', '2')),
  ];
  await expect(agents.rows).toHaveCount(2);
  await expect(agents.rows.filter({ hasText: 'claude-code A' })).toContainText('“make it two”');
  await expect(agents.rows.filter({ hasText: 'claude-code B' })).toContainText('“make it three”');
  await expect.poll(() => editor.notes()).toEqual([expect.stringMatching(/^held: claude-code [AB], claude-code [AB] want /)]);
  await expect.poll(() => editor.marked()).toContain(2);
  await look(page, 'held-line');
  // it moves with the text
  await editor.type(1, 'zero\n');
  await expect.poll(() => editor.marked()).toContain(3);
  world.run('deny', 'p1', '--message', 'no');
  world.run('deny', 'p2', '--message', 'no');
  await first;
  await second;
  await expect.poll(() => editor.notes()).toEqual([]);
});

test('two agents with the same words are told apart in messages and tabs, and their messages do not pile up', async ({ world, agent, code }) => {
  world.commit({ 'a.txt': TEXT, 'b.txt': TEXT });
  const other = new Agent(world);
  for (const each of [agent, other]) {
    each.start();
    // a message takes no link of a prompt
    each.prompt('[same](command:backstitch.deny) words');
  }
  world.run('breakpoint', 'add', 'tool', 'Edit');
  const window = await code.open('b.txt');
  const { notifications, page } = window;
  const call = (who: Agent, to: string) => who.held('Edit', who.input('a.txt', 'two', to));
  const held = window.status.items.filter({ has: page.locator('.codicon-debug-pause') });
  const calls = [call(agent, '2')];
  const first = 'claude-code A “[same] (command:backstitch.deny) words” wants to run Edit a.txt';
  await expect(notifications.toast(first)).toBeVisible();
  await expect(notifications.messages.locator('a')).toHaveCount(0);
  calls.push(call(other, 'II'));
  const both = notifications.toast(/Calls are held: claude-code A “.* words”, claude-code B “.* words”/);
  await expect(both).toBeVisible();
  await look(page, 'held-messages');
  for (let count = 0; count < 4; count++) {
    world.run('resume', world.json('pauses').pauses[0].id);
    await calls.shift();
    await expect(held).toContainText('1');
    calls.push(call(count % 2 === 0 ? agent : other, `${count}`));
    await expect(held).toContainText('2');
    // VS Code shows no fourth message within 0.8 s
    await expect.poll(() => both.count()).toBeLessThan(2);
  }
  const texts = await notifications.messages.allTextContents();
  expect(texts.filter((text) => / held|wants/.test(text)).length).toBeLessThan(3);

  // the same title twice: the session, not an id
  await window.activity.open('Backstitch');
  const agents = window.tree('Agents');
  await agents.show();
  await expect(agents.rows).toHaveCount(2);
  for (const letter of ['A', 'B']) await agents.rows.filter({ hasText: `claude-code ${letter}` }).click();
  const tabs = page.locator('.tab', { hasText: 'Held:' });
  await expect(tabs).toHaveCount(2);
  const titles = (await tabs.locator('.label-name').allInnerTexts()).sort();
  const title = 'Held: Edit a.txt · “[same](command:backstitch.deny) words”';
  expect(titles[0]).toBe(title);
  expect(titles[1]).toMatch(/words” · claude-code [AB]$/);
  for (const { id } of world.json('pauses').pauses) world.run('skip', id);
  await Promise.all(calls);
  await expect(tabs).toHaveCount(0);
});

test('the list of held calls shows where the focus is, also once the row with it is gone', async ({ world, agent, code }) => {
  world.commit({ 'a.txt': TEXT, 'b.txt': 'b\n' });
  const other = new Agent(world);
  for (const each of [agent, other]) {
    each.start();
    each.prompt('change it');
  }
  world.run('breakpoint', 'add', 'tool', 'Edit');
  const window = await code.open('a.txt');
  const { page } = window;
  const held = window.status.items.filter({ has: page.locator('.codicon-debug-pause') });
  const first = agent.held('Edit', agent.input('a.txt', 'two', '2'));
  await expect(held).toContainText('1');
  const second = other.held('Edit', other.input('b.txt', 'b', 'B'));
  await expect(held).toContainText('2');
  await window.run('Backstitch: Focus on Agents View');
  const agents = window.tree('Agents');
  const selected = agents.rows.and(page.locator('.selected'));
  await expect(selected).toContainText('a.txt');
  await expect.poll(() => window.focused()).toBe('list');
  await look(page, 'held-list-focus');
  // the keys decide on that row, and the next one is at its place
  await page.keyboard.press('F10');
  expect(await first).toEqual({});
  await expect(agents.rows).toHaveCount(1);
  await expect(selected).toContainText('b.txt');
  await expect.poll(() => window.focused()).toBe('list');
  await page.keyboard.press('F10');
  expect(await second).toEqual({});
});
