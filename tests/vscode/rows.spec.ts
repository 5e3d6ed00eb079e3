// Rows of the views: names, places, spoken words, and colours that can be read.
import fs from 'node:fs';
import path from 'node:path';
import { Agent } from './rig/agent.ts';
import { look } from './rig/look.ts';
import { expect, test } from './rig/test.ts';
import { contrasts } from './pages/contrast.ts';

const TEXT = 'one\ntwo\nthree\n';

test('a created binary file opens from its row, and the first row is named in its tooltip, too', async ({ world, agent, code }) => {
  world.commit({ 'a.txt': TEXT });
  agent.start();
  agent.turn('draw it', () => agent.bash('printf "\\211PNG\\r\\n\\032\\n\\000" > logo.png'));
  const window = await code.open('a.txt');
  await window.activity.open('Backstitch');
  const tree = window.tree('Timeline');
  await tree.expand('draw it');
  await tree.expand('run a command');
  await tree.row('logo.png').first().click();
  await expect(window.tab('logo.png')).toBeVisible();
  await tree.row('before Backstitch').hover();
  const hover = window.page.locator('.monaco-hover').filter({ hasText: 'before Backstitch' });
  await expect(hover).toBeVisible();
  await expect(hover).not.toContainText('start');
});

test('breakpoints of several folders are named by folder, and one for the next call says so', async ({ world, code }) => {
  world.commit({ 'a.txt': TEXT });
  const other = world.dir('other');
  fs.writeFileSync(path.join(other, 'b.txt'), TEXT);
  world.run('breakpoint', 'add', 'tool', 'Edit');
  world.run('--workspace', other, 'breakpoint', 'add', 'line', path.join(other, 'b.txt:2'));
  world.write('all.code-workspace', JSON.stringify({ folders: [{ path: world.root }, { path: other }] }));
  const window = await code.open(undefined, world.path('all.code-workspace'));
  await window.openFromExplorer('a.txt');
  await window.activity.open('Backstitch');
  const stops = window.tree('Agent Breakpoints');
  await stops.show();
  await expect(stops.row('Edit')).toContainText(path.basename(world.root));
  await expect(stops.row('b.txt:2')).toContainText(path.basename(other));
  await look(window.page, 'breakpoints-of-folders');
  await window.run('Backstitch: Pause the Agent at its Next Call');
  await expect(stops.row('The next call')).toHaveCount(1);
});

for (const theme of ['dark', 'light', 'contrast', 'contrast light'] as const) {
  test.describe(() => {
    test.use({ vscode: { theme } });

    test(`undone rows can be read: ${theme}`, async ({ world, agent, code }) => {
      world.commit({ 'a.txt': TEXT });
      agent.start();
      agent.turn('make it two', () => agent.edit('a.txt', 'two', '2'));
      const other = new Agent(world);
      other.start();
      other.turn('make it three', () => other.edit('a.txt', 'three', '3'));
      world.run('rewind', 't1', '-y');
      const window = await code.open('a.txt');
      await window.activity.open('Backstitch');
      const tree = window.tree('Timeline');
      const faint = tree.rows.filter({ hasText: 'undone' });
      await expect(faint).toHaveCount(1);
      const label = faint.locator('.label-name');
      // its look comes after the row: another colour than that of the row below
      const color = (name: string) => tree.row(name).locator('.label-name').evaluate((text) => getComputedStyle(text).color);
      if (!theme.includes('light')) await expect.poll(() => color('make it two')).not.toBe(await color('make it three'));
      const rows = await contrasts(label);
      expect(rows).toHaveLength(1);
      for (const ratio of rows) expect(ratio).toBeGreaterThanOrEqual(4.5);
      await window.run('Backstitch: Show Branches and Forks');
      const graph = window.webview();
      await graph.ready();
      const undone = graph.locator('.row.out .title');
      await expect(undone.first()).toBeVisible();
      const titles = await contrasts(undone);
      for (const ratio of titles) expect(ratio).toBeGreaterThanOrEqual(4.5);
      console.log(`contrast of undone rows, ${theme}: ${[...rows, ...titles].map((ratio) => ratio.toFixed(1)).join(' ')}`);
      await look(window.page, `undone-${theme.replace(' ', '-')}`);
    });
  });
}
