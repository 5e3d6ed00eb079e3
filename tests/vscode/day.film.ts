// A day's work by keys alone, as films with figures: held calls of two agents, a review, a search, a REPL. They also run
// with an older server and extension (BACKSTITCH_BIN, BACKSTITCH_TEST_EXTENSION), whose lacks are counted:
//
//     BACKSTITCH_FILMS=FOLDER tests/vscode/run -c film.config.ts day
import { Agent } from './rig/agent.ts';
import { Lsp } from './rig/lsp.ts';
import { Program } from './rig/program.ts';
import { Recording } from './rig/recording.ts';
import { expect, test } from './rig/test.ts';

/** Limit of a scene, in milliseconds, for what an older extension cannot end. */
const LIMIT = 270_000;

test.use({
  viewport: { width: 1100, height: 700 },
  vscode: { settings: { 'git.enabled': false, 'window.menuBarVisibility': 'hidden', 'breadcrumbs.enabled': false } },
});

test('a: twenty held calls of two agents', async ({ world, agent, code }) => {
  world.commit({ 'a.txt': 'a\n', 'b.txt': 'b\n', 'note.txt': 'note\n' });
  const other = new Agent(world);
  for (const [each, prompt] of [[agent, 'change a'], [other, 'change b']] as const) {
    each.start();
    each.prompt(prompt);
  }
  world.run('breakpoint', 'add', 'tool', 'Edit');
  const window = await code.open('note.txt');
  const { page, quick } = window;
  await window.editor.focus();
  const decided = { a: 0, b: 0 };
  let denied = 0;
  // ten calls of each, one after the other: both always wait
  const call = async (file: 'a' | 'b', who: Agent) => {
    for (let count = 1; count <= 10; count++) {
      const answer = await who.held('Edit', who.input(`${file}.txt`, `${file}\n`, `${file.toUpperCase()}${count}\n`));
      decided[file] += 1;
      if (answer.permissionDecision === 'deny') denied += 1;
    }
  };
  const all = () => decided.a + decided.b;
  const held = window.status.items.filter({ has: page.locator('.codicon-debug-pause') });
  const tab = page.locator('.tab.active');
  const place = async () => [await window.focused(), ...(await tab.allInnerTexts()), ...(await quick.title.allInnerTexts())].join(' ').trim();
  const calls = [call('a', agent), call('b', other)];
  await expect(held).toContainText('2');
  const film = await Recording.start(window, 'a-held-calls');
  const isLast = (file: 'a' | 'b') => decided[file] === 10;
  const waits = () => (isLast('a') ? 0 : 1) + (isLast('b') ? 0 : 1);
  let idle = 0;
  let isList = false;
  while (all() < 20 && film.seconds * 1000 < LIMIT && idle < 6) {
    if (!isList && all() >= 13) {
      isList = true;
      await film.command('Backstitch: Focus on Agents View');
      await film.still();
      await film.picture('list');
    }
    const before = { decided: all(), place: await place() };
    const focus = await window.focused();
    const isAsked = focus === 'choice';
    if (all() === 19 && !isAsked) {
      await film.press('Shift+F5');
      if (await film.until(async () => (await window.focused()) === 'choice')) await film.type('enough');
      await film.press('Enter');
    } else await film.press(isAsked ? 'Enter' : 'F10');
    const happened = await film.until(async () => all() > before.decided || (await place()) !== before.place, 4_000);
    if (!happened) {
      idle += 1;
      film.note(`${isAsked ? 'Enter' : 'F10'} does nothing: ${before.place}`);
      await film.picture('idle');
      continue;
    }
    idle = 0;
    if (all() > before.decided) {
      // the next call of that agent
      await film.until(async () => waits() === 0 || (await held.innerText()).includes(String(waits())));
      await film.still();
      await film.focus(...(isList ? ['list'] : ['comparison', 'editor']), 'choice');
      if (all() === 4 || all() === 16) await film.picture(`after-${all()}`);
    } else if (await film.until(async () => (await window.focused()) === 'choice', 300)) await film.picture('choice');
    await film.still();
  }
  await film.picture('end');
  await film.end({ decided: all(), denied });
  world.run('breakpoint', 'clear');
  for (const { id } of world.json('pauses').pauses) world.run('skip', id);
  await Promise.all(calls);
});

test('b: a review of a turn of twelve files', async ({ world, agent, code }) => {
  const names = Array.from({ length: 12 }, (_, at) => `f${String(at + 1).padStart(2, '0')}.txt`);
  const before = 'one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\n';
  world.commit(Object.fromEntries(names.map((name) => [name, before])));
  agent.start();
  agent.turn('numbers', () => {
    for (const name of names) {
      agent.edit(name, 'two', '2');
      agent.edit(name, 'seven', '7');
    }
  });
  const window = await code.open('f01.txt');
  await window.editor.focus();
  const film = await Recording.start(window, 'b-review');
  const lacks = new Set<string>();
  /** Changes of each file that are neither kept nor undone. */
  const left = () => {
    const found = names.map((name) => [name, world.json('review', name).files[0]?.hunks?.length ?? 0] as const);
    return new Map(found.filter(([, hunks]) => hunks > 0));
  };
  const sum = (all: Map<string, number>) => [...all.values()].reduce((sum, count) => sum + count, 0);
  const begin = async () => {
    await film.command('Backstitch: Review Agent Changes');
    if (!(await film.until(async () => (await window.quick.items.count()) > 0))) return;
    await film.picture('choice');
    await film.press('Enter');
    await film.until(async () => (await window.focused()) === 'comparison', 10_000);
    await film.still();
  };
  /** The key, or the command where the extension has no such key. */
  const act = async (key: string, title: string, undecided: number) => {
    if (!lacks.has(key)) {
      await film.press(key);
      if (await film.until(() => sum(left()) < undecided, 4_000)) return true;
      film.note(`${key} does nothing`);
    }
    if ((await window.focused()) !== 'comparison') return false;
    await film.command(title);
    const isDone = await film.until(() => sum(left()) < undecided, 4_000);
    if (isDone) lacks.add(key);
    return isDone;
  };
  await begin();
  let acts = 0;
  let idle = 0;
  for (let open = left(); open.size > 0 && film.seconds * 1000 < LIMIT && idle < 5; open = left()) {
    const isUndo = acts % 6 === 5;
    const [key, title] = isUndo ? ['Alt+u', 'Backstitch: Undo This Change'] : ['Alt+k', 'Backstitch: Keep This Change'];
    if (await act(key!, title!, sum(open))) {
      acts += 1;
      idle = 0;
      await film.still();
      await film.focus('comparison');
      if (acts === 9) await film.picture('middle');
    } else {
      idle += 1;
      await film.press('Alt+F5');
      await film.still();
    }
    const name = (await window.editor.tab.allInnerTexts()).join();
    const file = names.find((file) => name.includes(file));
    // the list again, where the comparison of the next file does not open by itself
    if (left().size > 0 && (file === undefined || !left().has(file))) {
      film.note(`${file ?? 'no file'} is reviewed; the list again`);
      await begin();
    }
  }
  await film.still();
  await film.picture('end');
  await film.end({ decided: 24 - sum(left()), files: 12 - left().size, lacks: [...lacks] });
});

test('c: a search among 5,000 checkpoints', async ({ world, agent, code }) => {
  test.setTimeout(600_000);
  world.commit({ 'a.txt': 'one\ntwo\n' });
  agent.start();
  agent.turn('plant a walnut tree', () => agent.edit('a.txt', 'one', 'walnut'));
  const lsp = await Lsp.start(world);
  for (let number = 0; number < 5_000; number += 100) {
    const some = Array.from({ length: 100 }, (_, at) => {
      const args = [{ uri: `file://${world.path('a.txt')}`, label: `round ${number + at + 1}` }];
      return lsp.request('workspace/executeCommand', { command: 'backstitch.checkpoint', arguments: args });
    });
    await Promise.all(some);
  }
  lsp.end();
  const window = await code.open('a.txt');
  const { quick } = window;
  await window.editor.focus();
  const film = await Recording.start(window, 'c-search');
  const figures: Record<string, unknown> = {};
  await film.command('Backstitch: Rewind…');
  await film.until(async () => (await quick.items.count()) > 2, 20_000);
  await film.still();
  await film.picture('list');
  const search = async (typed: string, label: RegExp) => {
    const began = Date.now();
    await film.type(typed);
    const found = quick.items.filter({ hasText: label }).first();
    const isFound = await film.until(() => found.isVisible(), 8_000);
    figures[typed] = isFound ? `${Date.now() - began} ms` : 'not found';
    if (!isFound) film.note(`“${typed}” is not found`);
    await film.still();
    await film.picture(typed.replace(' ', '-'));
    return isFound;
  };
  const clear = () => film.press('Control+a', 'Delete');
  await search('round 77', /round 77(?!\d)/);
  await clear();
  if (!(await search('walnut', /plant a walnut tree/))) {
    // all older pages, one after the other: the words find what is listed
    await clear();
    const older = quick.items.and(window.page.locator('.focused')).filter({ hasText: 'Older checkpoints' });
    for (let page = 1; page <= 30 && film.seconds * 1000 < LIMIT; page++) {
      await film.press('ArrowUp');
      if (!(await film.until(() => older.isVisible(), 3_000))) break;
      await film.press('Enter');
      figures['older pages'] = page;
      await film.until(async () => !(await older.isVisible()), 10_000);
      await film.still();
    }
    await film.picture('pages');
    await search('walnut', /plant a walnut tree/);
  }
  await film.press('Enter');
  const plan = await film.until(() => window.plan.button('Cancel').isVisible(), 10_000);
  await film.still();
  figures['plan'] = plan ? await window.plan.tab.getAttribute('aria-label') : 'none';
  await film.picture('plan');
  await film.press('Escape');
  await film.until(async () => !(await window.plan.button('Cancel').isVisible()), 10_000);
  await film.still();
  await film.focus('editor');
  await film.end(figures);
});

const PROGRAM = `import backstitch_debug as bs
bs.on()

class Table:
    def __init__(self):
        self.rows = [{"name": "ada", "age": 36}, {"name": "grace", "age": 45}, {"name": "alan", "age": 41}]

def act(step, table):
    note = f"step {step}"
    bs.pause("acting")
    return note

print(bs.call(act, 7, Table()))
`;

/** Each with the keys that enter it, if it is not typed, and a text of its answer. */
const INPUTS: [text: string, answer: string | RegExp, keys?: string[]][] = [
  ['step', '7'],
  ['note', 'step 7'],
  ['table.rows', 'ada'],
  ['len(table.rows)', '3'],
  ['[row["age"] for row in table.rows]', '36, 45, 41'],
  ['ages = sorted(row["age"] for row in table.rows)', ''],
  ['ages', '36, 41, 45'],
  ['sum(ages) / len(ages)', '40.6'],
  ['def mean(numbers):\n    return sum(numbers) / len(numbers)\n', ''],
  ['mean(ages)', '40.6'],
  ['print("mean", mean(ages))', 'mean 40.6'],
  ['mean(ages)', '40.6', ['ArrowUp', 'ArrowUp']],
  ['note.missing', 'AttributeError'],
  ['1 / 0', 'ZeroDivisionError'],
  ['for row in table.rows:\n    print(row["name"])\n', 'grace'],
  ['import json', ''],
  ['json.dumps(table.rows[0])', 'ada'],
  ['step = step + 1', ''],
  ['step', '8'],
  ['f"{note} of {step}"', 'step 7 of 8'],
  ['list(range(200))', '0, 1'],
  ['"long " * 60', 'long long'],
  ['{row["name"]: row for row in table.rows}', 'grace'],
  ['sorted(row["name"] for row in table.rows)', 'alan'],
  ['[name for name in dir(table) if not name.startswith("_")]', 'rows'],
  ['table', 'Table'],
  ['table.rows.append({"name": "edsger", "age": 52})', ''],
  ['len(table.rows)', '4'],
  ['max(table.rows, key=lambda row: row["age"])["name"]', 'edsger'],
  ['"done"', 'done'],
];

test('d: a REPL session of thirty inputs', async ({ world, code }) => {
  world.commit({ 'agent.py': PROGRAM });
  const window = await code.open('agent.py');
  const { page } = window;
  await window.editor.focus();
  const program = new Program(world, 'agent.py');
  await expect(window.status.items.filter({ has: page.locator('.codicon-debug-pause') })).toContainText('1');
  const film = await Recording.start(window, 'd-repl');
  const repl = window.webview({ purpose: 'webviewView' });
  const input = repl.locator('.cm-content');
  const typing = () => input.evaluate((editor) => document.hasFocus() && editor.contains(document.activeElement)).catch(() => false);
  await film.command('Backstitch: Open a REPL at the Held Call');
  if (!(await film.until(typing, 20_000))) {
    film.lost += 1;
    film.note('the REPL has not the focus');
    await input.focus();
  }
  const times: number[] = [];
  let answered = 0;
  for (const [at, [text, answer, keys]] of INPUTS.entries()) {
    if (keys === undefined) {
      for (const [row, line] of text.trimEnd().split('\n').entries()) {
        if (row > 0) await film.press('Shift+Enter');
        // the editor indents by itself
        await film.type(row > 0 && (await input.innerText()).endsWith('    ') ? line.trimStart() : line);
      }
    } else await film.press(...keys);
    await film.press('Enter');
    const began = Date.now();
    const inputs = repl.locator('pre.input');
    const isThere = await film.until(async () => (await inputs.count()) === at + 1, 10_000);
    const last = await repl.locator('.transcript').innerText();
    if (isThere) times.push(Date.now() - began);
    const since = last.slice(last.lastIndexOf(text.split('\n')[0]!));
    if (isThere && (answer === '' || since.includes(String(answer)))) answered += 1;
    else film.note(`${text}: ${isThere ? since.slice(0, 200) : 'no answer'}`);
    if (!(await typing())) {
      film.lost += 1;
      film.note(`after ${text} the input has not the focus`);
      await input.focus();
    }
    await film.still();
    // its end, where it is longer than the page
    const isSeen = await repl.locator('.transcript').evaluate((all) => all.scrollHeight - all.scrollTop - all.clientHeight < 4);
    if (!isSeen) film.note(`the answer to ${text} is not in view`);
    if ([1, 9, 13, 21, 23, 29].includes(at)) await film.picture(`input-${at + 1}`);
  }
  await film.press('F5');
  await film.until(async () => (await input.count()) === 0, 10_000);
  await film.still();
  await film.picture('end');
  const ended = await Promise.race([program.ended, new Promise((resolve) => setTimeout(resolve, 5_000, 'paused'))]);
  if (ended === 'paused') {
    film.note('F5 does not resume');
    world.run('resume');
  }
  times.sort((one, other) => one - other);
  await film.end({ answered, ended: await program.ended, 'median ms': times[15], 'longest ms': times.at(-1) });
});
