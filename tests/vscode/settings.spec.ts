// Settings of VS Code and their effect on server, hook and rewind.
import * as fs from 'node:fs';
import * as path from 'node:path';
import { look } from './rig/look.ts';
import { expect, test } from './rig/test.ts';

const TEXT = 'one\ntwo\nthree\nfour\nfive\n';

test.describe(() => {
  test.use({ vscode: { settings: { 'backstitch.codeLens': 'off' } } });

  test('a setting that is taken away holds no more', async ({ world, agent, code }) => {
    world.commit({ 'a.txt': TEXT });
    agent.start();
    agent.turn('make it two', () => agent.edit('a.txt', 'two', '2'));
    const window = await code.open('a.txt');
    const item = window.page.locator('[id="backstitch.backstitch.backstitch"]');
    await expect(item).toHaveAttribute('aria-label', /1 turn/);
    await expect(window.editor.rewindLens()).toHaveCount(0);
    await code.settings({ 'backstitch.codeLens': undefined });
    await expect(window.editor.rewindLens()).toBeVisible();
  });
});

test('lenses are switched off and on', async ({ world, agent, code }) => {
  world.commit({ 'a.txt': TEXT });
  agent.start();
  agent.turn('make it two', () => agent.edit('a.txt', 'two', '2'));
  const window = await code.open('a.txt');
  await expect(window.editor.rewindLens()).toBeVisible();
  await code.settings({ 'backstitch.codeLens': 'off' });
  await expect(window.editor.rewindLens()).toHaveCount(0);
  await code.settings({ 'backstitch.codeLens': 'latestTurn' });
  await expect(window.editor.rewindLens()).toBeVisible();
});

test.describe(() => {
  test.use({ vscode: { settings: { 'backstitch.capture.exclude': ['secret.txt'] } } });

  test('what is not recorded, and what a rewind takes out', { tag: '@long' }, async ({ world, agent, code }) => {
    world.commit({ 'a.txt': TEXT });
    world.write('secret.txt', 'one\n');
    // an editor's value would not count: a project can set it
    const own = path.join(world.place.dir('config'), 'backstitch');
    fs.mkdirSync(own, { recursive: true });
    fs.writeFileSync(path.join(own, 'config.toml'), 'restore.default = "exact"\n');
    const window = await code.open('a.txt');
    const { editor, plan, quick, notifications, page } = window;
    // the hook is another process, and uses the editor's settings
    await expect.poll(() => JSON.stringify(world.json('status', '-v').settings)).toContain('secret.txt');
    agent.start();
    agent.turn('make it two', () => {
      agent.edit('a.txt', 'two', '2');
      agent.bash('echo two > secret.txt');
    });
    await editor.type(5, 'mine ');
    await editor.save();
    await editor.rewindLens().click();
    await plan.ready();
    await plan.button('Options…').click();
    await expect(quick.item('Leave your own edits in place')).toBeVisible();
    await page.keyboard.press('Escape');
    await plan.run('Rewind');
    await expect(notifications.toast('Rewound: 1 file')).toBeVisible();
    await expect.poll(() => world.read('a.txt')).toBe(TEXT);
    expect(world.read('secret.txt')).toBe('two\n');
    expect(world.run('log', '--all')).not.toContain('secret.txt');
  });
});

test.describe(() => {
  test.use({ vscode: { settings: { 'backstitch.lensForm': undefined, 'backstitch.codeActions': undefined } } });

  test('by default an editor is calm: one line for a turn, actions on its lines', async ({ world, agent, code }) => {
    world.commit({ 'a.txt': TEXT });
    agent.start();
    agent.turn('make some', () => {
      agent.edit('a.txt', 'two', '2');
      agent.edit('a.txt', 'four', '4');
    });
    const window = await code.open('a.txt');
    const { editor, plan, notifications } = window;
    // and none of the full form
    await expect.poll(() => editor.lensTitles()).toEqual(['Revert turn', 'Revert here', 'Diff']);
    await look(window.page, 'calm');
    await editor.goto(2);
    await expect((await editor.codeActions()).filter({ hasText: 'make some' })).not.toHaveCount(0);
    await window.page.keyboard.press('Escape');
    // no lightbulb on a line of the user
    await editor.goto(3);
    await expect(async () => {
      await window.page.keyboard.press('Control+.');
      // it goes after three seconds
      const said = window.page.getByText('No code actions available').first();
      await expect(said).toBeVisible({ timeout: 3_000 });
    }).toPass();
    // the message may be above the lens
    await window.page.keyboard.press('Escape');
    await editor.lens(/^Revert here$/).click();
    await plan.run('Revert');
    await expect(notifications.toast('Reverted: 1 file')).toBeVisible();
    await expect.poll(() => world.read('a.txt')).toBe(TEXT);
    await expect(editor.lens(/^Revert turn$/)).toHaveCount(0);
  });

  test('buttons in the status bar review and undo the last turn', { tag: '@long' }, async ({ world, agent, code }) => {
    world.commit({ 'a.txt': TEXT });
    agent.start();
    const window = await code.open('a.txt');
    const { page, plan, quick } = window;
    const button = (name: string) => page.locator(`[id="backstitch.backstitch.${name}"]`);
    await expect(button('backstitch')).toBeVisible();
    await expect(button('undoTurn')).toHaveCount(0);
    agent.turn('make it two', () => agent.edit('a.txt', 'two', '2'));
    await expect(button('undoTurn')).toHaveAttribute('aria-label', 'Rewind Last Turn: make it two');
    await look(page, 'buttons');
    await button('review').click();
    await expect(quick.item('a.txt')).toBeVisible();
    await page.keyboard.press('Escape');
    await button('undoTurn').click();
    await plan.run('Rewind');
    await expect.poll(() => world.read('a.txt')).toBe(TEXT);
    await expect(button('undoTurn')).toHaveCount(0);
  });

  test('the form of lenses changes while the editor is open', { tag: '@long' }, async ({ world, agent, code }) => {
    world.commit({ 'a.txt': TEXT });
    agent.start();
    agent.turn('make it two', () => agent.edit('a.txt', 'two', '2'));
    const window = await code.open('a.txt');
    await expect(window.editor.lens(/^Revert turn$/)).toHaveCount(1);
    await code.settings({ 'backstitch.lensForm': 'full' });
    await expect(window.editor.rewindLens()).toBeVisible();
    await expect(window.editor.lens(/^Revert turn$/)).toHaveCount(0);
  });
});
