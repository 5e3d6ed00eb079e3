// Held calls of agents, and breakpoints: announced, shown, changed, decided.
import { Agent } from './rig/agent.ts';
import { claude, claudeIsThere } from './rig/claude.ts';
import { expect, test } from './rig/test.ts';
import { look } from './rig/look.ts';
import { debuggerOf, json } from './rig/places.ts';
import { DiffEditor } from './pages/diff-editor.ts';

const TEXT = 'one\ntwo\nthree\n';

// S2-013
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
  await expect(notifications.toast('claude-code A “make it two” wants to run Edit a.txt')).toBeVisible();
  // the focus stays where it was
  await page.keyboard.type('X');
  await editor.expectText(`X${TEXT}`);
  await page.keyboard.press('Control+Z');
  await expect(window.status.items.filter({ has: page.locator('.codicon-debug-pause') })).toContainText('1');
  const agents = window.tree('Agents');
  await agents.show();
  await expect(agents.row(/^Edit a\.txt/)).toHaveCount(1);
  await look(page, 'held-view');
  await notifications.action('wants to run Edit a.txt', 'Show').click();
  await window.diff.ready();
  await window.diff.expectTexts(TEXT, 'one\n2\nthree\n');
  // the prompt stands above the change, and each side says which it is
  await expect(editor.tab).toContainText('Held: Edit a.txt · “make it two”');
  // spoken, too; VS Code gives no name to each side of a comparison
  await expect(page.locator('.editor-instance[aria-label^="Held: Edit a.txt · “make it two”"]')).toHaveCount(1);
  await expect.poll(() => window.diff.original.notes()).toEqual(['now']);
  await expect.poll(() => window.diff.modified.notes()).toEqual(['after the call: you can edit this side']);
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

test('the real Claude Code writes the edit as it was changed', async ({ world, code }) => {
  test.skip(!claudeIsThere(), 'Claude Code is not installed (tests/agents/install.sh)');
  world.commit({ 'a.txt': TEXT });
  world.run('setup', 'claude-code', '--scope', 'user');
  world.run('breakpoint', 'add', 'line', 'a.txt:2');
  const window = await code.open('a.txt');
  const { page, editor, notifications } = window;
  const file = '{{workspace}}/a.txt';
  const ended = claude(world, [
    { tool: 'Read', args: { file_path: file } },
    { tool: 'Edit', args: { file_path: file, old_string: 'two', new_string: '2' } },
    { text: 'done' },
  ]);
  await notifications.action('wants to run Edit a.txt', 'Show').click();
  await window.diff.ready();
  await window.diff.expectTexts(TEXT, 'one\n2\nthree\n');
  await window.diff.modified.goto(2);
  await page.keyboard.press('End');
  await page.keyboard.type(' and a half');
  await page.keyboard.press('Control+S');
  expect(world.read('a.txt')).toBe(TEXT);
  await window.titleAction('Continue the Held Call').click();
  expect(await ended).toContain('2 and a half');
  expect(world.read('a.txt')).toBe('one\n2 and a half\nthree\n');
  await editor.expectText('one\n2 and a half\nthree\n');
  expect(world.json('blame', 'a.txt').lines[1].by).toBe('agent');
});

test('closing decides nothing, a terminal is followed, and two agents are held beside each other', async ({ world, agent, code }) => {
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
  const other = new Agent(world);
  other.start();
  other.prompt('change b');
  const second = other.held('Edit', other.input('b.txt', 'b', 'B'));
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
  // a decision elsewhere closes what was shown of the call
  await agents.row(/^Edit a\.txt/).click();
  await window.diff.expectTexts(TEXT, TEXT.replace('two', '2'));
  world.run('resume', 'p1');
  expect(await first).toEqual({});
  await expect(agents.rows).toHaveCount(0);
  await expect(page.locator('.tab', { hasText: 'Held:' })).toHaveCount(0);
});

// Everything by keys, found by the names that a screen reader speaks.
test('a shell command is shown as text, and runs as it was changed', async ({ world, agent, code }) => {
  world.commit({ 'a.txt': TEXT });
  agent.start();
  agent.prompt('run the tests');
  world.run('breakpoint', 'add', 'tool', 'Bash');
  const window = await code.open('a.txt');
  const { editor, notifications, page, status } = window;
  const held = agent.held('Bash', { command: 'make test && echo "done"\nls -l', description: 'Run them' });
  await notifications.action('claude-code A “run the tests” wants to run Bash', 'Show').click();
  await expect(window.tab('Bash.held-command.sh')).toBeVisible();
  await editor.expectText('make test && echo "done"\nls -l\n');
  await expect(status.item('Shell Script')).toBeVisible();
  await look(page, 'held-command');
  await editor.focus();
  await page.keyboard.press('Control+End');
  await page.keyboard.type('pwd');
  await page.keyboard.press('F5');
  const command = 'make test && echo "done"\nls -l\npwd';
  expect((await held).updatedInput).toEqual({ command, description: 'Run them' });
  await expect(window.tab('Bash.held-command.sh')).toHaveCount(0);
});

test('by the accessibility tree and by keys alone', async ({ world, agent, code }) => {
  world.commit({ 'a.txt': TEXT, 'b.txt': 'b\n' });
  agent.start();
  agent.prompt('change both');
  world.run('breakpoint', 'add', 'tool', 'Edit');
  const first = agent.held('Edit', agent.input('a.txt', 'two', '2'));
  const window = await code.open('a.txt');
  const { page } = window;
  await window.activity.open('Backstitch');
  await window.tree('Agents').show();
  const choose = async (name: RegExp) => {
    await expect(page.getByRole('treeitem', { name })).toBeVisible();
    // a list that is drawn anew takes no key
    await expect(async () => {
      await page.getByRole('tree', { name: 'Agents' }).focus();
      await page.keyboard.press('Home');
      await expect(page.getByRole('treeitem', { name })).toHaveClass(/focused/, { timeout: 2_000 });
    }).toPass();
    await page.keyboard.press('Enter');
    // the comparison takes the focus once it is drawn; then its keys hold
    await window.diff.ready();
    await window.diff.hasFocus();
    await expect(window.titleAction('Continue the Held Call')).toBeVisible();
  };
  await choose(/^held: Edit a\.txt, claude-code/);
  await look(page, 'held-by-keys');
  // step over: this call continues, and the next one is held
  await page.keyboard.press('F10');
  expect(await first).toEqual({});
  world.run('breakpoint', 'remove', 'b1');
  const second = agent.held('Edit', agent.input('b.txt', 'b', 'B'));
  await choose(/^held: Edit b\.txt, claude-code, step over/);
  await page.keyboard.press('F5');
  expect(await second).toEqual({});
  await expect(page.locator('.tab', { hasText: 'Held:' })).toHaveCount(0);
  // step into: the next call of any thread is held; its input, and the end of its turn
  world.run('breakpoint', 'add', 'tool', 'Edit', '--once');
  const third = agent.held('Edit', agent.input('a.txt', 'two', '2'));
  await choose(/^held: Edit a\.txt, claude-code, calls Edit/);
  await page.keyboard.press('F11');
  expect(await third).toEqual({});
  const fourth = agent.held('Edit', agent.input('b.txt', 'b', 'B'));
  await choose(/^held: Edit b\.txt, claude-code, step into/);
  await page.keyboard.press('F2');
  await expect(page.locator('.tab.active', { hasText: 'held-input.json' })).toBeVisible();
  await window.editor.hasFocus();
  await expect(window.titleAction('Continue the Held Call')).toBeVisible();
  await page.keyboard.press('Shift+F5');
  await expect(window.quick.input).toBeFocused();
  await window.quick.type('enough');
  await page.keyboard.press('Enter');
  expect((await fourth).permissionDecisionReason).toBe('enough');
});

test.describe(() => {
  test.use({
    beside: [debuggerOf, json],
    vscode: { settings: { 'backstitch.breakpoints.fromDebugger': true } },
  });

  // The input as JSON, with the schema of its tool
  test('an input is edited with its schema', async ({ world, agent, code }) => {
    world.commit({ 'a.txt': TEXT });
    agent.start();
    agent.prompt('run the tests');
    world.run('breakpoint', 'add', 'command', 'make');
    const answered = agent.held('Bash', { command: 'make test', description: 'Run the tests' });
    const window = await code.open('a.txt');
    const { page } = window;
    await window.activity.open('Backstitch');
    const agents = window.tree('Agents');
    await agents.show();
    // nothing is predicted of a command: it is shown itself, and its input by a key
    await agents.row(/^Bash make test/).click();
    await expect(window.tab('Bash.held-command.sh')).toBeVisible();
    // its keys are those of the actions above it
    await expect(window.titleAction('Continue the Held Call')).toBeVisible();
    await window.editor.focus();
    await page.keyboard.press('F2');
    await expect(window.tab('Bash.held-input.json')).toBeVisible();
    const write = async (text: string) => {
      await window.editor.focus();
      await page.keyboard.press('Control+A');
      // typed, brackets would be closed once more
      await page.evaluate((copied) => navigator.clipboard.writeText(copied), text);
      await page.keyboard.press('Control+V');
    };
    await write('{ "command": 7 }');
    await expect(page.locator('.squiggly-warning')).toHaveCount(1);
    await look(page, 'held-input');
    await write('{ "command": "make check", "description": "Run the tests" }');
    await expect(page.locator('.squiggly-warning')).toHaveCount(0);
    await window.titleAction('Continue the Held Call').click();
    expect((await answered).updatedInput?.['command']).toBe('make check');
    await expect(window.tab('Bash.held-input.json')).toHaveCount(0);
    agent.stop();
    // no extension checks the files of a plan
    agent.turn('make it JSON', () => agent.write('c.json', '{ broken\n'));
    await window.run('Backstitch: Rewind Last Turn');
    await window.plan.ready(/make it JSON/);
    await window.plan.files.entry('c.json').original.click('broken');
    await expect(window.status.item(/^(Plain Text|JSON Lines)$/)).toBeVisible();
    await expect(page.locator('.squiggly-error')).toHaveCount(0);
  });

  test('agents stop at the breakpoints of the debugger', async ({ world, agent, code }) => {
    world.commit({ 'a.txt': TEXT });
    agent.start();
    agent.prompt('make it two');
    const window = await code.open('a.txt');
    const summaries = () =>
      world.json('breakpoint', 'list').breakpoints.map((one: { summary: string; enabled: boolean }) => `${one.summary} ${one.enabled}`);
    await window.editor.focus();
    await window.editor.goto(2);
    await window.run('Debug: Toggle Breakpoint');
    await expect.poll(summaries).toEqual(['a.txt:2 true']);
    const answered = agent.held('Edit', agent.input('a.txt', 'two', '2'));
    await expect.poll(() => world.json('pauses').pauses.length).toBe(1);
    world.run('skip');
    expect((await answered).permissionDecision).toBe('deny');
    await window.editor.focus();
    await window.editor.goto(2);
    await window.run('Debug: Toggle Breakpoint');
    await expect.poll(summaries).toEqual([]);
  });
});

test.describe(() => {
  test.use({ vscode: { settings: { 'backstitch.pause.reveal': 'never' } } });

  test('a setting says how a held call is announced; breakpoints are switched and edited in their view', async ({ world, agent, code }) => {
    world.commit({ 'a.txt': TEXT });
    agent.start();
    agent.prompt('make it two');
    world.run('breakpoint', 'add', 'tool', 'Edit');
    const window = await code.open('a.txt');
    const { page, quick, notifications } = window;
    const input = agent.input('a.txt', 'two', '2');
    // never: a later message is alone
    const first = agent.held('Edit', input);
    await expect(window.status.items.filter({ has: page.locator('.codicon-debug-pause') })).toContainText('1');
    await window.run('Backstitch: Pause the Agent at its Next Call');
    await expect(notifications.toast('The next call of an agent will be held')).toBeVisible();
    expect(await notifications.messages.allTextContents()).toEqual(['The next call of an agent will be held']);
    await expect(page.locator('.tab', { hasText: 'Held:' })).toHaveCount(0);
    world.run('resume');
    expect(await first).toEqual({});
    // show: beside the message, its comparison opens by itself
    await code.settings({ 'backstitch.pause.reveal': 'show' });
    const second = agent.held('Edit', input);
    // it opens beside the file, which keeps the focus
    const beside = new DiffEditor(page, page.locator('body'));
    await beside.ready();
    // half a window shows it inline
    await expect(beside.removedInline).toHaveText(['two']);
    const there = beside.root.locator('.editor.modified .view-lines:not(.line-delete) .view-line');
    await expect(there.filter({ hasText: 'three' })).toHaveCount(1);
    await expect(notifications.toast('claude-code A “make it two” wants to run Edit a.txt')).toBeVisible();
    world.run('skip');
    await second;

    await window.activity.open('Backstitch');
    const stops = window.tree('Agent Breakpoints');
    await stops.show();
    const stop = () => world.json('breakpoint', 'list').breakpoints[0];
    const box = stops.row('Edit').getByRole('checkbox');
    await expect(box).toBeChecked();
    await box.click();
    await expect.poll(() => stop().enabled).toBe(false);
    await expect(box).not.toBeChecked();
    expect(await agent.held('Edit', input)).toEqual({});
    await box.click();
    await expect.poll(() => stop().enabled).toBe(true);
    await expect(box).toBeChecked();
    const edit = async (field: string) => {
      await stops.action('Edit', 'Edit Agent Breakpoint…');
      await quick.pick(field);
    };
    await edit('Condition');
    // a text that is refused stays in the box, with the reason
    await quick.type('.turn.calls >=');
    await quick.accept();
    await expect(quick.message).toContainText(/condition|jq/i);
    await expect(quick.input).toHaveValue('.turn.calls >=');
    await quick.type('.turn.calls >= 0');
    await quick.accept();
    await expect(stops.row('Edit')).toContainText('when .turn.calls >= 0');
    await edit('Action');
    await quick.pick('deny');
    await expect(stops.row('Edit')).toContainText('deny');
    await edit('Message');
    await quick.type('use the helper');
    await quick.accept();
    await expect.poll(() => stop().message).toBe('use the helper');
    expect(stop()).toMatchObject({ when: '.turn.calls >= 0', action: 'deny', enabled: true });
    const { permissionDecision, permissionDecisionReason } = await agent.held('Edit', input);
    expect(permissionDecision).toBe('deny');
    expect(permissionDecisionReason).toContain('use the helper');

    // each kind asks for its own parameters
    await window.run('Backstitch: Add an Agent Breakpoint…');
    // the list shows the rows that fit
    await quick.type('budget');
    await quick.pick('budget');
    await quick.pick('calls');
    await quick.type('5');
    await quick.accept();
    await expect(notifications.action('Agents stop at: ', 'Set a Condition…')).toBeVisible();
    await expect(stops.row('5 calls')).toContainText('budget');
    expect(world.json('breakpoint', 'list').breakpoints[1]).toMatchObject({ kind: 'budget', summary: '5 calls' });
  });
});

test.describe(() => {
  test.use({ vscode: { trusted: false } });

  test('without trust a call is continued or denied, and not changed', async ({ world, agent, code }) => {
    world.commit({ 'a.txt': TEXT });
    agent.start();
    agent.prompt('make it two');
    world.run('breakpoint', 'add', 'tool', 'Edit');
    const answered = agent.held('Edit', agent.input('a.txt', 'two', '2'));
    const window = await code.open('a.txt');
    const { page, quick } = window;
    await expect(window.status.item('Restricted Mode')).toBeVisible();
    await window.activity.open('Backstitch');
    const agents = window.tree('Agents');
    await agents.show();
    await agents.row(/^Edit a\.txt/).click();
    await window.diff.ready();
    await window.diff.modified.goto(2);
    await page.keyboard.type('X');
    await page.keyboard.press('Control+S');
    await expect(window.notifications.toast('A call can be changed once you trust the workspace')).toBeVisible();
    expect(world.json('pauses').pauses[0].state).toBe('held');
    await page.keyboard.press('Control+Z');
    await agents.action(/^Edit a\.txt/, 'Open a REPL at the Held Call');
    await expect(window.notifications.toast('Nothing is evaluated until you trust the workspace')).toBeVisible();
    await window.notifications.dismiss('Nothing is evaluated until you trust the workspace');
    await window.run('Backstitch: Evaluate in the REPL');
    await expect(window.notifications.toast('Nothing is evaluated until you trust the workspace')).toBeVisible();
    expect(world.json('repl', 'list').sessions).toEqual([]);
    await agents.action(/^Edit a\.txt/, 'Deny the Held Call…');
    await quick.type('no');
    await page.keyboard.press('Enter');
    expect((await answered).permissionDecisionReason).toBe('no');
    await expect(page.locator('.tab', { hasText: 'Held:' })).toHaveCount(0);
  });
});

test('a server that is killed, and a window that is opened again, show what is held', async ({ world, agent, code }) => {
  world.commit({ 'a.txt': TEXT });
  agent.start();
  agent.prompt('make it two');
  world.run('breakpoint', 'add', 'tool', 'Edit');
  const window = await code.open('a.txt');
  const answered = agent.held('Edit', agent.input('a.txt', 'two', '2'));
  await window.activity.open('Backstitch');
  const agents = window.tree('Agents');
  await agents.show();
  await expect(agents.row(/^Edit a\.txt/)).toHaveCount(1);
  const [server] = world.json('status').editors;
  process.kill(server.pid, 'SIGKILL');
  await expect.poll(() => world.json('status').editors[0]?.pid ?? server.pid, { timeout: 120_000 }).not.toBe(server.pid);
  await expect(agents.row(/^Edit a\.txt/)).toHaveCount(1);
  await window.page.reload();
  await agents.show();
  await expect(agents.row(/^Edit a\.txt/)).toHaveCount(1);
  await agents.action(/^Edit a\.txt/, 'Continue the Held Call');
  expect(await answered).toEqual({});
});
