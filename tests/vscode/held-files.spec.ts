// Held calls of several files, and rewinds that agents propose: shown as a whole, decided where they are shown.
import { expect, test } from './rig/test.ts';
import { look } from './rig/look.ts';
import { McpClient, patchOfCodex } from './rig/others.ts';

const PATCH = `*** Begin Patch
*** Update File: app.js
@@
-let one = 1;
+let one = "one";
*** Add File: mod/extra.js
+export const extra = 1;
*** Delete File: old.txt
*** End Patch
`;

for (const theme of ['dark', 'light'] as const) {
  test.describe(() => {
    test.use({ vscode: { theme } });

    const tag = theme === 'dark' ? [] : '@long';
    test(`a call of several files has the letters, the buttons and the keys of one file, in the theme ${theme}`, { tag }, async ({ world, code }) => {
      world.commit({ 'app.js': 'let one = 1;\nlet two = 2;\n', 'old.txt': 'old\n', 'mod/a.js': '' });
      world.run('checkpoint');
      world.run('breakpoint', 'add', 'tool', 'apply_patch');
      const window = await code.open('app.js');
      const { page, multiDiff, notifications } = window;
      const first = patchOfCodex(world, PATCH);
      const toast = notifications.toast('wants to run apply_patch');
      await expect(toast).toBeVisible();
      // the primary button only shows
      await expect(toast.getByRole('button', { name: /^(Show|Deny|Continue)$/ }).first()).toHaveText('Show');
      await expect(toast).toContainText('app.js');
      await expect(toast).toContainText('mod/extra.js');
      await expect(toast).toContainText('old.txt');
      await window.activity.open('Backstitch');
      const agents = window.tree('Agents');
      await agents.show();
      await expect(agents.row(/^apply_patch/)).toContainText('old.txt');
      await notifications.action('wants to run apply_patch', 'Show').click();
      await expect.poll(() => multiDiff.letters()).toEqual(['app.js', 'A extra.js', 'D old.txt']);
      await look(page, `held-files-${theme}`);
      for (const name of ['Continue the Held Call', 'Step to the Next Call', 'Deny the Held Call…']) {
        await expect(window.titleAction(name)).toBeVisible();
      }
      // by the mouse
      await window.titleAction('Deny the Held Call…').click();
      await window.quick.type('not the old one');
      await page.keyboard.press('Enter');
      expect((await first).permissionDecisionReason).toContain('not the old one');
      await expect(page.locator('.tab', { hasText: 'Held:' })).toHaveCount(0);
      await expect(agents.row(/^apply_patch/)).toHaveCount(0);

      // by keys: shown by its chord, and continued
      const second = patchOfCodex(world, PATCH, 'call_2_0');
      await expect(agents.row(/^apply_patch/)).toHaveCount(1);
      await page.keyboard.press('Control+Alt+B');
      await page.keyboard.press('H');
      await expect.poll(() => multiDiff.letters()).toEqual(['app.js', 'A extra.js', 'D old.txt']);
      await page.keyboard.press('F5');
      expect(await second).toEqual({});
      await expect(page.locator('.tab', { hasText: 'Held:' })).toHaveCount(0);
    });
  });
}

test('a binary file of a call is named, and a change of one of its files runs', async ({ world, code }) => {
  world.commit({ 'a.txt': 'one\n', 'b.txt': 'two\n' });
  world.write('logo.png', Buffer.from([0x89, 0x50, 0, 1, 2, 0, 255]));
  world.run('checkpoint');
  world.run('breakpoint', 'add', 'tool', 'apply_patch');
  const window = await code.open('a.txt');
  const { multiDiff, notifications, page } = window;
  const patch = '*** Begin Patch\n*** Update File: a.txt\n@@\n-one\n+1\n*** Update File: b.txt\n@@\n-two\n+2\n*** Delete File: logo.png\n*** End Patch\n';
  const answered = patchOfCodex(world, patch);
  await notifications.action('wants to run apply_patch', 'Show').click();
  await expect.poll(() => multiDiff.letters()).toEqual(['a.txt', 'b.txt', 'D logo.png']);
  const side = multiDiff.entry('a.txt').modified;
  await expect.poll(() => side.notes()).toEqual(['after the call: you can edit this side']);
  // the first file has the focus: it was asked for
  await page.keyboard.press('Control+Home');
  await page.keyboard.type('uno, ');
  await expect.poll(() => side.notes()).toEqual(['after the call: your text runs']);
  await look(page, 'held-files-edited');
  // not saved: it is taken all the same
  await page.keyboard.press('F5');
  expect(String((await answered).updatedInput?.['command'])).toContain('+uno, 1\n');
});

test('a proposed rewind is shown as a plan, rewound or denied, and never stepped', async ({ world, agent, code }) => {
  world.commit({ 'a.txt': 'one\n', 'b.txt': 'one\n' });
  agent.start();
  agent.turn('shout', () => {
    agent.edit('a.txt', 'one', 'ONE');
    agent.edit('b.txt', 'one', 'ONE');
  });
  const client = new McpClient(world);
  const window = await code.open('a.txt');
  const { page, plan, notifications, editor } = window;
  await window.activity.open('Backstitch');
  const agents = window.tree('Agents');
  await agents.show();
  const first = client.call('propose_rewind', { reason: 'it broke *the* build', wait: 45 });
  const toast = notifications.toast('plain proposes a rewind');
  await expect(toast).toBeVisible();
  await expect(toast.getByRole('button', { name: /^(Show|Deny|Rewind|Continue)$/ })).toHaveText(['Show', 'Deny', 'Rewind']);
  const row = agents.row(/^rewind to before/);
  await row.hover();
  await expect(row.getByRole('button')).toHaveCount(2);
  await expect(row.getByRole('button', { name: 'Rewind as Proposed' })).toBeVisible();
  await expect(row.getByRole('button', { name: 'Deny the Held Call…' })).toBeVisible();
  await row.click({ button: 'right' });
  const menu = page.locator('.monaco-menu').getByRole('menuitem');
  await expect(menu).toHaveText([/Rewind as Proposed/, /Deny the Held Call/, /Show the Held Call/]);
  await page.keyboard.press('Escape');
  await row.click();
  await expect(plan.button('Rewind')).toBeVisible();
  await expect(plan.button('Deny')).toBeVisible();
  await expect(plan.button('Cancel')).toHaveCount(0);
  await expect.poll(() => plan.text()).toContain('plain proposes it: “it broke *the* build”');
  await look(page, 'proposal');
  // a step of a proposal only shows it
  await page.keyboard.press('F10');
  await expect.poll(() => world.json('pauses').pauses[0]?.state).toBe('held');
  expect(world.read('a.txt')).toBe('ONE\n');
  // to close it decides nothing
  await page.keyboard.press('Control+F4');
  await expect(plan.button('Rewind')).toHaveCount(0);
  expect(world.json('pauses').pauses[0].state).toBe('held');
  await row.click();
  await plan.button('Rewind').click();
  await expect(notifications.toast('Rewound: 2 files')).toBeVisible();
  expect(JSON.stringify(await first)).toContain('accepted');
  await editor.expectText('one\n');
  await expect(agents.rows).toHaveCount(0);
  await notifications.action('Rewound: 2 files', 'Undo').click();
  await expect.poll(() => world.read('b.txt')).toBe('ONE\n');

  const second = client.call('propose_rewind', { reason: 'again', wait: 45 });
  await expect(agents.row(/^rewind to before/)).toHaveCount(1);
  await page.keyboard.press('Control+Alt+B');
  await page.keyboard.press('H');
  await plan.button('Deny').click();
  await window.quick.type('keep it');
  await page.keyboard.press('Enter');
  expect(JSON.stringify(await second)).toContain('keep it');
  expect(world.read('a.txt')).toBe('ONE\n');
  await expect(plan.button('Deny')).toHaveCount(0);
  client.end();
});
