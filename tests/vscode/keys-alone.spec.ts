// A day's work by keys alone: many held calls of two agents, and a review of many files. Nothing is clicked.
import { Agent, type HookAnswer } from './rig/agent.ts';
import { look } from './rig/look.ts';
import { expect, test } from './rig/test.ts';

test('twenty held calls of two agents are decided, and the focus is never lost', async ({ world, agent, code }) => {
  world.commit({ 'a.txt': 'a\n', 'b.txt': 'b\n', 'note.txt': 'note\n' });
  const other = new Agent(world);
  for (const [each, prompt] of [[agent, 'change a'], [other, 'change b']] as const) {
    each.start();
    each.prompt(prompt);
  }
  world.run('breakpoint', 'add', 'tool', 'Edit');
  const window = await code.open('note.txt');
  const { page, diff, quick } = window;
  const answers: HookAnswer[] = [];
  const files = { a: agent, b: other };
  const held = new Map<string, Promise<HookAnswer>>();
  const number = { a: 0, b: 0 };
  const text = (file: 'a' | 'b') => `${file.toUpperCase()}${number[file]}\n`;
  const call = (file: 'a' | 'b') => {
    number[file] += 1;
    held.set(file, files[file].held('Edit', files[file].input(`${file}.txt`, `${file}\n`, text(file))));
  };
  const answer = async (file: 'a' | 'b') => {
    answers.push(await held.get(file)!);
    held.delete(file);
  };
  const tab = page.locator('.tab.active', { hasText: 'Held:' });
  const inFront = async (file: 'a' | 'b') => {
    await expect(tab).toContainText(`${file}.txt`);
    await diff.expectTexts(`${file}\n`, text(file));
    await expect(window.titleAction('Continue the Held Call')).toBeVisible();
  };
  await window.editor.focus();

  // both agents wait; the key asks which call is meant
  call('a');
  call('b');
  await expect(window.status.items.filter({ has: page.locator('.codicon-debug-pause') })).toContainText('2');
  await page.keyboard.press('F10');
  await expect(quick.item(/a\.txt/)).toBeVisible();
  expect(await window.focused()).toBe('choice');
  await page.keyboard.type('a.txt');
  await expect(quick.items).toHaveCount(1);
  await page.keyboard.press('Enter');
  await inFront('a');
  // seven calls of the one, while the other waits
  for (let count = 1; count <= 7; count++) {
    await expect.poll(() => window.focused()).toBe('comparison');
    // a step leads to the next call; the last is continued
    await page.keyboard.press(count === 7 ? 'F5' : 'F10');
    await answer('a');
    if (count === 7) break;
    call('a');
    await inFront('a');
  }
  // six of the other: the same key shows its call, since it is the only one
  await expect(tab).toHaveCount(0);
  await expect.poll(() => window.focused()).toBe('editor');
  await expect(window.status.items.filter({ has: page.locator('.codicon-debug-pause') })).toContainText('1');
  await page.keyboard.press('F10');
  await inFront('b');
  for (let count = 1; count <= 6; count++) {
    await expect.poll(() => window.focused()).toBe('comparison');
    await page.keyboard.press(count === 6 ? 'F5' : 'F10');
    await answer('b');
    if (count === 6) break;
    call('b');
    await inFront('b');
  }
  await look(page, 'keys-comparison');
  // the focus of the last comparison goes to the editor once it is closed
  await expect(tab).toHaveCount(0);
  await expect.poll(() => window.focused()).toBe('editor');
  // seven more in the list, one denied with a reason
  await window.command('Backstitch: Focus on Agents View');
  await expect.poll(() => window.focused()).toBe('list');
  const agents = window.tree('Agents');
  for (let count = 1; count <= 7; count++) {
    const file = count % 2 === 0 ? 'a' : 'b';
    call(file);
    await expect(agents.row(`Edit ${file}.txt`)).toHaveCount(1);
    await expect.poll(() => window.focused()).toBe('list');
    if (count === 7) {
      await look(page, 'keys-list');
      await page.keyboard.press('Shift+F5');
      await expect(quick.input).toBeFocused();
      await page.keyboard.type('enough');
      await page.keyboard.press('Enter');
    } else await page.keyboard.press('F10');
    await answer(file);
    await expect(agents.row(`Edit ${file}.txt`)).toHaveCount(0);
    await expect.poll(() => window.focused()).toBe('list');
  }
  expect(answers).toHaveLength(20);
  expect(answers.slice(0, -1)).toEqual(Array(19).fill({}));
  expect(answers.at(-1)?.permissionDecisionReason).toBe('enough');
  expect(world.json('pauses').pauses).toEqual([]);
});

test('a turn of twelve files is reviewed', async ({ world, agent, code }) => {
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
  const after = before.replace('two', '2').replace('seven', '7');
  const window = await code.open('f01.txt');
  const { page, diff, editor, notifications, quick, status } = window;
  await editor.focus();
  await window.command('Backstitch: Review Agent Changes');
  await expect(quick.item('f01.txt')).toBeVisible();
  await page.keyboard.press('Enter');
  for (const [at, name] of names.entries()) {
    await expect(editor.tab).toContainText(`${name} · ${at + 1} of 12 (since “numbers”)`);
    await diff.expectTexts(before, after);
    await expect(status.item('Ln 2, Col 1')).toBeVisible();
    await expect(window.titleAction('Keep This Change')).toBeVisible();
    await expect.poll(() => window.focused()).toBe('comparison');
    if (at === 5) await look(page, 'keys-review');
    if (at % 4 === 3) {
      // all of the file at once
      await page.keyboard.press('Shift+Alt+k');
      continue;
    }
    await page.keyboard.press('Alt+k');
    await diff.expectTexts(before.replace('two', '2'), after);
    await expect(status.item('Ln 7, Col 1')).toBeVisible();
    // every third file keeps the first change alone
    if (at % 3 === 0) {
      await page.keyboard.press('Alt+u');
      await expect.poll(() => world.read(name)).toBe(before.replace('two', '2'));
    } else await page.keyboard.press('Alt+k');
  }
  await expect(notifications.toast('12 files are reviewed.')).toBeVisible();
  for (const [at, name] of names.entries()) {
    const isUndone = at % 3 === 0 && at % 4 !== 3;
    expect(world.read(name), name).toBe(isUndone ? before.replace('two', '2') : after);
  }
  await window.command('Backstitch: Review Agent Changes');
  await expect(notifications.toast('Nothing to review.')).toBeVisible();
});
