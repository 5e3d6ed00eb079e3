// The plan of a restore as an editor: what it shows, how it is decided, and what is left of it.
import { Agent } from './rig/agent.ts';
import { expect, test } from './rig/test.ts';
import { look } from './rig/look.ts';

const TEXT = 'one\ntwo\nthree\nfour\nfive\n';

test('a plan shows renames, binary files and notebooks as they are, and who goes and stays', async ({ world, agent, code }) => {
  const notebook = (x: number) =>
    JSON.stringify({ cells: [{ cell_type: 'code', source: [`x = ${x}\n`, 'y = 2'], outputs: [] }], nbformat: 4 }, null, 1);
  world.commit({ 'a.txt': TEXT, 'src/old.ts': 'export const old = 1;\n'.repeat(9), 'n.ipynb': notebook(1) });
  agent.start();
  agent.turn('tidy up', () => {
    agent.edit('a.txt', 'two', '2');
    agent.edit('n.ipynb', 'x = 1', 'x = 10');
  });
  agent.turn('move and draw', () => {
    agent.bash('mv src/old.ts src/new.ts');
    agent.bash("printf '\\000\\001' > logo.png");
  });
  world.write('a.txt', world.read('a.txt').replace('five', 'mine'));
  const window = await code.open('a.txt');
  const { plan, quick } = window;
  await window.run('Backstitch: Rewind…');
  await quick.type('tidy up');
  await quick.pick('tidy up');
  await plan.ready(/^Rewind to before “tidy up”/);
  await expect
    .poll(() => plan.text())
    .toMatch(/Undoes 2 turns · 4 files, .*\nYour own edits in a\.txt stay\./);
  // VS Code counts the plan as a file
  await expect(plan.tab).toHaveAttribute('aria-label', /· plan and 4 files \(5 files\)/);
  await expect
    .poll(() => plan.removed())
    .toMatch(/^Current files\n“move and draw” · claude-code A · .*\n“tidy up” · claude-code A · /);
  await look(window.page, 'plan-kinds');
  await plan.files.entry('n.ipynb').expectTexts('# %% [code]\nx = 10\ny = 2\n', '# %% [code]\nx = 1\ny = 2\n');
  await plan.files.entry('logo.png').original.expectText('Binary file\n');
  // the row of a rename has both names
  await plan.files.root.hover();
  await window.page.mouse.wheel(0, 2000);
  await expect(plan.files.entries.filter({ hasText: 'old.ts' })).toContainText('new.ts');
  await plan.run('Rewind');
  await expect.poll(() => world.exists('src/old.ts')).toBe(true);
  expect(world.exists('src/new.ts')).toBe(false);
  expect(world.exists('logo.png')).toBe(false);
  expect(world.read('n.ipynb')).toBe(notebook(1));
  expect(world.read('a.txt')).toBe(TEXT.replace('five', 'mine'));
});

test('a plan is cancelled by its tab, by another plan, and by a new window', { tag: '@long' }, async ({ world, agent, code }) => {
  world.commit({ 'a.txt': TEXT });
  agent.start();
  agent.turn('make it two', () => agent.edit('a.txt', 'two', '2'));
  agent.turn('make it four', () => agent.edit('a.txt', 'four', '4'));
  const window = await code.open('a.txt');
  const { plan, editor, page } = window;
  const tabs = page.locator('.tab', { hasText: 'Rewind to before' });
  await editor.lens('turn 1').click();
  await plan.ready(/make it two/);
  // another file does not take its place
  await window.open('a.txt');
  await expect(tabs).toHaveCount(1);
  await editor.lens('turn 2').click();
  await plan.ready(/make it four/);
  await expect(tabs).toHaveCount(1);
  await plan.tab.getByRole('button', { name: /Close/ }).click();
  await plan.closed();
  await editor.lens('turn 2').click();
  await plan.ready(/make it four/);
  await page.reload();
  await window.ready();
  await expect(editor.lens('turn 2')).toBeVisible();
  await expect(tabs).toHaveCount(0);
  expect(world.read('a.txt')).toBe(TEXT.replace('two', '2').replace('four', '4'));
});

test('conflicts of several files are resolved one after the other', async ({ world, agent, code }) => {
  world.commit({ 'a.txt': TEXT, 'b.txt': TEXT, 'c.txt': TEXT });
  agent.start();
  agent.turn('make it two', () => {
    for (const file of ['a.txt', 'b.txt', 'c.txt']) agent.edit(file, 'two', '2');
  });
  for (const file of ['a.txt', 'b.txt']) world.write(file, TEXT.replace('two', 'mine'));
  const window = await code.open('c.txt');
  const { plan, merge, notifications, page, quick } = window;
  await window.run('Backstitch: Rewind Last Turn');
  await plan.ready();
  await expect.poll(() => plan.text()).toContain('Conflicts with your edits: a.txt (1 conflict); b.txt (1 conflict)');
  // only the keyboard
  await page.keyboard.press('Enter');
  await expect.poll(() => quick.labels()).toContain('Rewind, and resolve conflicts');
  await page.keyboard.press('Enter');
  await expect(notifications.toast('Rewound: 3 files; 2 conflicts to resolve')).toBeVisible();
  const left = page.locator('[id="backstitch.backstitch.conflicts"]');
  await expect(left).toContainText('2 files with conflicts');
  const resolve = async (name: string, side: string) => {
    await merge.ready();
    await expect(page.locator('.tab.active')).toContainText(name);
    await merge.action(`Accept ${side}`).click();
    await page.keyboard.press('Control+s');
  };
  await resolve('a.txt', 'Older');
  await expect.poll(() => world.read('a.txt')).toBe(TEXT);
  await expect(left).toContainText('1 file with conflicts');
  await look(page, 'conflicts-left');
  await resolve('b.txt', 'Yours');
  await expect.poll(() => world.read('b.txt')).toBe(TEXT.replace('two', 'mine'));
  await expect(left).toHaveCount(0);
  expect(world.read('c.txt')).toBe(TEXT);
});

test('the work of all agents is undone, own edits stay, and an open turn is named', async ({ world, agent, code }) => {
  world.commit({ 'a.txt': TEXT });
  agent.start();
  const other = new Agent(world);
  other.start();
  agent.turn('make it two', () => agent.edit('a.txt', 'two', '2'));
  other.turn('make it four', () => other.edit('a.txt', 'four', '4'));
  world.write('a.txt', world.read('a.txt').replace('five', 'mine'));
  // a turn without an end
  agent.prompt('and one');
  agent.edit('a.txt', 'one', '1');
  const window = await code.open('a.txt');
  const { plan, quick } = window;
  await window.run('Backstitch: Rewind…');
  await quick.type('make it two');
  await quick.pick('make it two');
  await plan.ready();
  await expect.poll(() => plan.text()).toContain('A turn has not ended yet: its agent may write to these files again.');
  await expect.poll(() => plan.text()).toContain('Keeps turn “make it four” of session B.');
  await plan.option("Undo all agents' work since");
  await plan.ready();
  await expect.poll(() => plan.text()).not.toContain('Keeps turn');
  agent.stop();
  await plan.run('Rewind');
  await expect.poll(() => world.read('a.txt')).toBe(TEXT.replace('five', 'mine'));
});

test('the editor’s own undo of a rewound file is explained', { tag: '@long' }, async ({ world, agent, code }) => {
  world.commit({ 'a.txt': TEXT });
  const window = await code.open('a.txt');
  const { editor, plan, notifications, page } = window;
  agent.start();
  agent.turn('make it two', () => agent.edit('a.txt', 'two', '2'));
  await editor.expectText(TEXT.replace('two', '2'));
  await editor.rewindLens().click();
  await plan.run('Rewind');
  await editor.expectText(TEXT);
  await editor.focus();
  await page.keyboard.press('Control+z');
  await editor.expectText(TEXT.replace('two', '2'));
  const toast = 'The editor’s undo brought back';
  await notifications.action(toast.replace('’', "'"), 'Discard').click();
  await editor.expectText(TEXT);
  await editor.expectDirty(false);
  expect(world.read('a.txt')).toBe(TEXT);
});

test('a turn of binary files says so', { tag: '@long' }, async ({ world, agent, code }) => {
  world.commit({ 'a.txt': TEXT });
  agent.start();
  agent.turn('draw it', () => agent.bash("printf '\\000\\001' > logo.png"));
  const window = await code.open('a.txt');
  const { activity, notifications } = window;
  await activity.open('Backstitch');
  await window.tree('Timeline').menu('draw it', 'Show Changes');
  await expect(notifications.toast('draw it changed only binary files')).toContainText('logo.png');
  await notifications.action('draw it changed only binary files', 'Open logo.png').click();
  await expect(window.tab('logo.png')).toBeVisible();
});
