// The REPL of held calls: from the row of a call to its transcript, by keys; lists and search.
import { expect, test } from './rig/test.ts';
import { look } from './rig/look.ts';
import { Lsp } from './rig/lsp.ts';
import { Program, pythonWithPackages } from './rig/program.ts';

const TEXT = 'one\ntwo\nthree\n';

// S5-131, S5-136…140, S5-142, S5-151
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
  const input = repl.locator('.cm-content');
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
  await expect(input).toHaveText('.call.tool');
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('ArrowDown');
  await expect(repl.locator('.cm-placeholder')).toBeVisible();
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
  // as a screen reader has it
  await expect(repl.locator('body')).toMatchAriaSnapshot(`
    - button "Sessions"
    - strong: Edit
    - log: /.call.tool "Edit".*/
    - textbox "Input"
  `);
  world.run('resume');
  expect((await answered).updatedInput?.['new_string']).toBe('zwei');
  await expect(input).toHaveCount(0);
  await expect(repl.locator('.empty')).toHaveText('Closed: its pause was decided');
  await repl.locator('button:has-text("Sessions")').click();
  await expect(repl.locator('table')).toContainText(session);
  await expect(repl.locator('tr').nth(1)).toContainText(/^Edit “[^”]+” /);
  await look(page, 'repl-list-prompts');
  await repl.locator('input[type=search]').fill('no such text');
  await page.keyboard.press('Enter');
  await expect(repl.locator('table')).toHaveCount(0);
  await repl.locator('input[type=search]').fill('bold');
  await page.keyboard.press('Enter');
  await repl.locator(`button.link[aria-label$="${session}"]`).click();
  await expect(repl.locator('pre.input')).toHaveCount(5);
  await look(page, 'repl-closed');
});

// S5-131, S5-138…140, S5-151: the palette opens a session and closes it, and the list leads to the one before it
test('a REPL by keys alone', async ({ world, agent, code }) => {
  world.commit({ 'a.txt': TEXT });
  agent.start();
  agent.prompt('make it two');
  world.run('breakpoint', 'add', 'tool', 'Edit');
  const answered = agent.held('Edit', agent.input('a.txt', 'two', '2'));
  const window = await code.open('a.txt');
  const { page, quick } = window;
  const command = async (title: string) => {
    await page.keyboard.press('F1');
    await expect(quick.input).toBeFocused();
    await page.keyboard.insertText(title);
    await expect(quick.item(title).first()).toHaveClass(/focused/);
    await page.keyboard.press('Enter');
    await expect(quick.root).toBeHidden();
  };
  const repl = window.webview({ purpose: 'webviewView' });
  const input = repl.locator('.cm-content');
  const ask = async (text: string, value: string) => {
    await expect(input).toBeFocused();
    await page.keyboard.type(text);
    await page.keyboard.press('Enter');
    await expect(repl.locator('pre.value').last()).toHaveText(value);
  };
  await expect(window.status.items.filter({ has: page.locator('.codicon-debug-pause') })).toContainText('1');
  await command('Backstitch: Open a REPL at the Held Call');
  await ask('.call.tool', '"Edit"');
  await command('Backstitch: Close the REPL');
  await expect(input).toHaveCount(0);
  await command('Backstitch: Open a REPL at the Held Call');
  await ask('.call.input.new_string', '"2"');
  await ask('1 + 1', '2');
  await page.keyboard.press('ArrowUp');
  await page.keyboard.press('ArrowUp');
  await expect(input).toHaveText('.call.input.new_string');
  await page.keyboard.press('ArrowDown');
  await expect(input).toHaveText('1 + 1');

  // by the transcript to the list, and to the session before
  await page.keyboard.press('Shift+Tab');
  await expect(repl.locator('.transcript')).toBeFocused();
  await page.keyboard.press('Shift+Tab');
  await expect(repl.locator('button.link:has-text("Sessions")')).toBeFocused();
  await page.keyboard.press('Enter');
  const [newest, earlier] = world.json('repl', 'list').sessions.map(({ id }: { id: string }) => id);
  const open = async (id: string) => {
    const link = repl.locator(`button.link[aria-label$="${id}"]`);
    await expect(link).toBeVisible();
    await expect(async () => {
      await page.keyboard.press('Tab');
      await expect(link).toBeFocused({ timeout: 100 });
    }).toPass({ intervals: [0] });
    await page.keyboard.press('Enter');
  };
  await open(earlier);
  await expect(repl.locator('pre.input')).toHaveText(['.call.tool']);
  await expect(input).toHaveCount(0);
  await page.keyboard.press('Tab');
  await expect(repl.locator('button.link:has-text("Sessions")')).toBeFocused();
  await page.keyboard.press('Enter');
  await open(newest);
  await ask('2 + 2', '4');
  await command('Backstitch: Close the REPL');
  await expect(repl.locator('.empty')).toBeVisible();
  expect(world.json('repl', 'list', '--status', 'active').sessions).toEqual([]);
  // the key is about the call of the REPL: it is not shown first
  await command('Backstitch: Open a REPL at the Held Call');
  await ask('3 + 3', '6');
  await page.keyboard.press('F5');
  expect(await answered).toEqual({});
  await expect(page.locator('.tab', { hasText: 'Held:' })).toHaveCount(0);
});

const AGENT = `import backstitch_debug as bs
bs.on()

class Table:
    def __init__(self):
        self.rows = [1, 2, 3]

def act(step, depth=0):
    note = f"step {step}"
    if depth < 3:
        return act(step, depth + 1)
    bs.pause("acting")
    return note

def plan(state):
    table = Table()
    return bs.call(act, state["step"])

state = {"step": 7, "goal": "write tests"}
print(bs.call(plan, state))
`;

// S5-131, S5-138: entries of one window appear in another, and both see the end
test('a second window follows', async ({ world, code }) => {
  world.commit({ 'agent.py': AGENT });
  const first = await code.open('agent.py');
  const second = await code.beside('agent.py');
  const program = new Program(world, 'agent.py');
  const enter = async (window: typeof first) => {
    await window.page.bringToFront();
    await window.activity.open('Backstitch');
    const agents = window.tree('Agents');
    await agents.show();
    await expect(agents.row(/^acting agent.py$/)).toHaveCount(1);
    return { agents, repl: window.webview({ purpose: 'webviewView' }) };
  };
  const one = await enter(first);
  await one.agents.action(/^acting/, 'Open a REPL at the Held Call');
  await one.repl.locator('.cm-content').focus();
  const type = async (window: typeof first, text: string) => {
    await window.page.bringToFront();
    await window.webview({ purpose: 'webviewView' }).locator('.cm-content').focus();
    await window.page.keyboard.type(text);
    await window.page.keyboard.press('Enter');
  };
  await type(first, 'before = step + 1');
  await expect(one.repl.locator('pre.input')).toHaveText(['before = step + 1']);

  // inputs from before it came are there, too
  const other = await enter(second);
  const session = world.json('repl', 'list').sessions[0].id;
  await second.run('Backstitch: List REPL Sessions');
  await other.repl.locator(`button.link[aria-label$="${session}"]`).click();
  await expect(other.repl.locator('pre.input')).toHaveText(['before = step + 1']);
  await type(first, 'print(before)');
  await type(first, 'before * 2');
  await second.page.bringToFront();
  await expect(other.repl.locator('pre.stdout')).toHaveText('8\n');
  await expect(other.repl.locator('pre.value').last()).toHaveText(/^16/);

  // and the other way round, by the same names
  await type(second, 'before - 100');
  await first.page.bringToFront();
  await expect(one.repl.locator('pre.value').last()).toHaveText(/^-92/);
  await expect(one.repl.locator('pre.input')).toHaveCount(4);
  await second.page.bringToFront();
  await look(second.page, 'repl-second-window');
  await second.run('Backstitch: Continue the Held Call');
  expect(await program.ended).toBe('step 7\n');
  await expect(other.repl.locator('.empty')).toHaveText('Closed: its pause was decided');
  await first.page.bringToFront();
  await expect(one.repl.locator('.empty')).toHaveText('Closed: its pause was decided');
});


// S5-106, S5-130, S5-132, S5-134, S5-135, S5-141, S5-144…147, S5-149, S5-150, S5-152
test('a paused program: stack, calls, values', async ({ world, code }) => {
  world.commit({ 'agent.py': AGENT });
  const window = await code.open('agent.py');
  const { page, editor } = window;
  await editor.focus();
  const python = pythonWithPackages();
  const program = new Program(world, 'agent.py', python);
  await window.activity.open('Backstitch');
  await window.tree('Timeline').hide();
  const agents = window.tree('Agents');
  await agents.show();
  await expect(agents.row(/^acting agent.py$/)).toHaveCount(1);
  await expect(window.notifications.toast('A python program is paused: acting agent.py')).toBeVisible();
  await window.run('Notifications: Clear All Notifications');

  // the stack, its lines on demand, the line that is paused
  const stack = window.tree('Call Stack');
  await agents.action(/^acting/, 'Show the Call Stack');
  await agents.hide();
  await expect(stack.row(/^act$/)).toHaveCount(4);
  await expect(stack.row(/^Call \d+$/)).toHaveCount(1);
  await expect(stack.row('plan')).toContainText('agent.py:17');
  await stack.expand('plan');
  await expect(stack.row(/return bs.call\(act, state/)).toHaveCount(1);
  await stack.row('plan').click();
  await expect(page.locator('.statusbar')).toContainText('Ln 17');
  await look(page, 'repl-stack');

  // the REPL speaks the program's language
  await stack.hide();
  await agents.show();
  await agents.action(/^acting/, 'Open a REPL at the Held Call');
  await expect(agents.row(/^acting/)).toContainText('REPL open');
  const repl = window.webview({ purpose: 'webviewView' });
  const input = repl.locator('.cm-content');
  await expect(input).toBeVisible();
  await input.focus();
  await page.keyboard.type('def twice(n):');
  await page.keyboard.press('Shift+Enter');
  await page.keyboard.type('    return 2 * n');
  await expect(input.locator('.tok-keyword').first()).toHaveText('def');
  await page.keyboard.press('Enter');
  await page.keyboard.type('[note, twice(step), {"a": [1, None]}]');
  await page.keyboard.press('Enter');
  await expect(repl.locator('pre.value').last()).toContainText("['step 7', 14, {'a': [1, None]}]");
  await expect(repl.locator('pre.input').first().locator('.tok-keyword').first()).toHaveText('def');
  await page.keyboard.type('note.missing');
  await page.keyboard.press('Enter');
  await expect(repl.locator('pre.error').last()).toContainText("AttributeError: 'str' object has no attribute 'missing'");

  // a value, as its program described it
  await repl.locator('pre.value .object').last().click();
  const value = page.locator('.editor-group-container.active .view-lines').first();
  await expect(value).toContainText(/list,\slength\s3,\s\d+\sB\sstored/);
  await expect(value).toContainText("2: dict = {'a': [1, None]}");
  await look(page, 'repl-value');

  // a data frame has its shape and its columns
  let inputs = 3;
  if (python !== undefined) {
    await input.focus();
    await page.keyboard.type('__import__("pandas").DataFrame({"count": [4, 5], "<b>word</b>": ["a", "b"]})');
    await page.keyboard.press('Enter');
    inputs += 1;
    await expect(repl.locator('pre.input')).toHaveCount(inputs);
    await repl.locator('pre.value .object').last().click();
    await expect(value).toContainText(/DataFrame,\slength\s2/);
    await expect(value).toContainText(/shape:\stuple\s=\s\(2,\s2\)/);
    await expect(value).toContainText(/<b>word<\/b>:\spandas\S*Series/);
    await look(page, 'repl-frame');
  }

  // its calls, with the session at the inner one
  await repl.locator('button:text("Calls")').click();
  const calls = window.tree('Program Calls');
  await expect(calls.row(/act\(7\)/)).toContainText('REPL');
  await expect(calls.row(/plan\(/)).toContainText('not over');
  await look(page, 'repl-calls');
  await repl.locator('button:text("Sessions")').click();
  await expect(repl.locator('table th').last()).toHaveText('Session');
  await calls.action(/act\(7\)/, 'Open the REPL Session');
  await expect(repl.locator('pre.input')).toHaveCount(inputs);

  // the selection of an editor
  await page.locator('.tab', { hasText: 'agent.py' }).click();
  await editor.select(9, 9);
  await window.run('Backstitch: Evaluate in the REPL');
  await expect(repl.locator('pre.input')).toHaveCount(inputs + 1);
  await expect(repl.locator('pre.input').last()).toContainText('note = f"step {step}"');

  world.run('resume');
  expect(await program.ended).toBe('step 7\n');
  await expect(repl.locator('.empty')).toHaveText('Closed: its pause was decided');
  await expect(stack.pane).toHaveCount(0);

  // the page has the reason and the end, and leads to the stack, though it is over
  const bar = repl.locator('.bar');
  await expect(bar.locator('strong')).toHaveText('act');
  await expect(bar.locator('.why')).toHaveText('pause("acting")');
  await expect(bar.locator('.badge')).toHaveText('closed');
  await expect(bar).toContainText(/Started .+ · Closed .+/);
  await look(page, 'repl-over');
  await repl.locator('button:text("Stack")').click();
  await agents.hide();
  await calls.hide();
  await expect(stack.row(/^act$/)).toHaveCount(4);
  await expect(stack.pane.locator('.pane-header')).toContainText('p1 act (over)');
  await expect(stack.row('plan')).toContainText('agent.py:17');
  await look(page, 'repl-stack-over');

  // the stack leads to its call and to its session
  await stack.row(/^Call \d+$/).click();
  await expect(calls.row(/act\(7\)/)).toHaveAttribute('aria-selected', 'true');
  await calls.hide();
  await repl.locator('button:text("Sessions")').click();
  await expect(repl.locator('table')).toContainText('pause("acting")');
  await look(page, 'repl-list-over');
  // the view of the calls opens again where it was hidden before it had shown its row
  await expect(async () => {
    await calls.hide();
    await expect(stack.row(/^REPL /)).toContainText(`${inputs + 1} lines · closed`, { timeout: 5_000 });
  }).toPass();
  await stack.row(/^REPL /).click();
  await expect(repl.locator('pre.input')).toHaveCount(inputs + 1);
});

const DEEP = `import backstitch_debug as bs
bs.on()

class Hostile:
    def __repr__(self):
        return "<img src=x onerror=alert(1)>\x1b[31mred"

def down(n):
    evil = Hostile()
    if n > 0:
        return down(n - 1)
    bs.pause("<b>deep</b>")
    return n

down(197)
`;

// S5-039, S5-041…044, S5-131, S5-133, S5-142, S5-148
test('a thousand sessions and two hundred frames', async ({ world, code }) => {
  world.commit({ 'deep.py': DEEP });
  const window = await code.open('deep.py');
  const { page } = window;
  await window.run('Backstitch: List REPL Sessions');
  const repl = window.webview({ purpose: 'webviewView' });
  await expect(repl.locator('.empty')).toContainText('No sessions.');

  const program = new Program(world, 'deep.py');
  await expect.poll(() => world.json('pauses').pauses.length).toBe(1);
  const lsp = await Lsp.start(world);
  try {
    const started = await Promise.all(
      Array.from({ length: 1000 }, () => lsp.request('backstitch/repl/start', { pause: 'p1' })),
    );
    const { id } = started[500].session;
    await lsp.request('backstitch/repl/eval', { session: id, input: '["needle", n, evil]' });

    // pages, words, states and days
    await window.run('Backstitch: List REPL Sessions');
    await expect(repl.locator('.sessions tr')).toHaveCount(51);
    await repl.locator('button.more').click();
    await expect(repl.locator(`button.link:has-text("${started[0].session.id}")`)).toHaveCount(0);
    await repl.locator('input.search').fill('needle');
    await page.keyboard.press('Enter');
    await expect(repl.locator('.sessions tr')).toHaveCount(2);
    await repl.locator('input.from').fill('2099-01-01');
    await expect(repl.locator('.empty')).toContainText('No sessions.');
    await repl.locator('input.from').fill('');
    await repl.locator('input.to').fill('2099-01-01');
    await expect(repl.locator('.sessions tr')).toHaveCount(2);
    await repl.locator('select.status').selectOption('closed');
    await expect(repl.locator('.empty')).toContainText('No sessions.');
    await repl.locator('select.status').selectOption('active');
    await expect(repl.locator('.sessions tr')).toHaveCount(2);
    await look(page, 'repl-list');

    // names and values are text; another viewer's input comes by itself
    await repl.locator(`button.link[aria-label$="${id}"]`).click();
    await expect(repl.locator('.bar strong')).toHaveText('down');
    await expect(repl.locator('.bar .why')).toHaveText('pause("<b>deep</b>")');
    await expect(repl.locator('pre.value').last()).toContainText('<img src=x onerror=alert(1)>\ufffd[31mred');
    await expect(repl.locator('.transcript img')).toHaveCount(0);
    await lsp.request('backstitch/repl/eval', { session: id, input: '6 * 7' });
    await expect(repl.locator('pre.value').last()).toContainText('42');

    // all of the frames
    await window.activity.open('Backstitch');
    for (const other of ['Timeline', 'Agents', 'Agent Breakpoints', 'Program Calls']) await window.tree(other).hide();
    const stack = window.tree('Call Stack');
    await repl.locator('button:text("Stack")').click();
    await expect(stack.row('down').first()).toContainText('deep.py:12');
    await expect(async () => {
      await page.keyboard.press('End');
      const last = stack.row('<module>');
      await expect(last).toHaveAttribute('aria-posinset', '199', { timeout: 1_000 });
      await expect(last).toContainText('deep.py:15', { timeout: 1_000 });
    }).toPass();
    await look(page, 'repl-deep');
  } finally {
    lsp.end();
  }
  world.run('resume');
  await program.ended;
});
