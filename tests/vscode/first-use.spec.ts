// First use: no executable, an untrusted folder, no history; in every theme.
import { expect, test } from './rig/test.ts';
import { look } from './rig/look.ts';

const TEXT = 'one\ntwo\nthree\nfour\nfive\n';

test.describe(() => {
  test.use({ vscode: { server: 'missing' } });

  test('there is no program: it is said, and can be chosen', async ({ code }) => {
    const window = await code.open();
    const toast = window.notifications.toast('The program backstitch was not found');
    await expect(toast).toBeVisible();
    for (const button of ['Choose it…', 'How to install', 'Try again']) {
      await expect(window.notifications.action('The program backstitch was not found', button)).toBeVisible();
    }
    await window.activity.open('Backstitch');
    await expect(window.tree('Timeline').welcome).toContainText('The program backstitch was not found.');
    await look(window.page, 'missing');
    await window.notifications.action('The program backstitch was not found', 'How to install').click();
    const walkthrough = window.page.locator('.gettingStartedContainer');
    await expect(walkthrough).toContainText('Get the program');
    await expect(walkthrough).toContainText('Packages for a platform bring it along');
    // beside the picture, which a narrow window hides
    await expect(walkthrough.locator('.step-description-container').first()).toContainText('cargo install --path server');
    await look(window.page, 'walkthrough');
  });
});

test('another program is named as that, and none is taken', { tag: '@long' }, async ({ world, code }) => {
  world.write('.vscode/settings.json', JSON.stringify({ 'backstitch.server.path': '/bin/ls' }));
  world.commit({ 'a.txt': TEXT });
  const window = await code.open();
  const toast = '/bin/ls (backstitch.server.path) is not Backstitch.';
  await expect(window.notifications.toast(toast)).toBeVisible();
  await window.activity.open('Backstitch');
  await expect(window.tree('Timeline').welcome).toContainText('does not name Backstitch');
  const item = window.page.locator('[id="backstitch.backstitch.backstitch"]');
  await expect(item).toHaveAttribute('aria-label', `Backstitch: ${toast}`);
  await look(window.page, 'wrong-program');
  await window.notifications.action(toast, 'Choose it…').click();
  await window.quick.path('/bin/cat');
  await expect(window.notifications.toast('/bin/cat is not Backstitch. Nothing was changed.')).toBeVisible();
  // one message for one mistake
  await expect(window.notifications.toasts).toHaveCount(1);
});

test.describe(() => {
  test.use({ vscode: { trusted: false } });

  test('without trust there is history, and nothing of the workspace runs', async ({ world, agent, code }) => {
    // a program that the workspace names instead of the server
    world.write('.vscode/settings.json', JSON.stringify({ 'backstitch.server.path': world.path('evil') }));
    world.write('evil', '#!/bin/sh\ntouch "$(dirname "$0")/was-run"\n');
    world.sh('chmod +x evil');
    world.commit({ 'a.txt': TEXT });
    agent.start();
    agent.turn('make it two', () => agent.edit('a.txt', 'two', '2'));
    const window = await code.open('a.txt');
    await expect(window.status.item('Restricted Mode')).toBeVisible();
    await expect(window.editor.rewindLens()).toBeVisible();
    await window.activity.open('Backstitch');
    await expect(window.tree('Timeline').row('make it two')).toBeVisible();
    await window.run('Backstitch: Set Up Agents…');
    const untrusted = 'Agents are set up in trusted workspaces only';
    await expect(window.notifications.action(untrusted, 'Manage Trust')).toBeVisible();
    expect(world.exists('was-run')).toBe(false);
  });
});

for (const way of ['toast', 'view'] as const) {
  const tag = way === 'toast' ? [] : '@long';
  test(`hooks that run a missing program are named, and repaired from the ${way}`, { tag }, async ({ world, code }) => {
    world.commit({ 'a.txt': TEXT });
    world.hookProgram("'/my tools/backstitch'");
    const window = await code.open('a.txt');
    const toast = 'claude-code is not recorded';
    await expect(window.notifications.toast(toast)).toContainText('/my tools/backstitch, which does not exist');
    const item = window.page.locator('[id="backstitch.backstitch.backstitch"]');
    await expect(item).toHaveAttribute('aria-label', /Recording: off \(claude-code\)/);
    await window.activity.open('Backstitch');
    const tree = window.tree('Timeline');
    await expect(tree.row('Recording: off (claude-code)')).toBeVisible();
    await look(window.page, 'not-recorded');
    // nothing of the user's own is changed without being asked
    expect(world.hookCommand()).toContain('/my tools/backstitch');
    if (way === 'toast') await window.notifications.action(toast, 'Repair').click();
    else await tree.row('Recording: off (claude-code)').click();
    await expect(window.notifications.toast('Recording of claude-code is on again')).toBeVisible();
    await expect(tree.row(/Recording/)).toHaveCount(0);
    await expect(tree.welcome).toContainText('Recording: on');
    expect(world.promptByHook('recorded')).toBe(0);
    await expect(tree.row('recorded')).toBeVisible();
    await expect(tree.message).toHaveText('Recording: on (claude-code)');
  });
}

// S2-054: a checkpoint on demand, with a label.
test('the status bar counts, says who is at work, and offers what there is', async ({ world, agent, code }) => {
  world.commit({ 'a.txt': TEXT });
  const window = await code.open('a.txt');
  const item = window.page.locator('[id="backstitch.backstitch.backstitch"]');
  await expect(item).toHaveAttribute('aria-label', /No checkpoints yet/);
  await expect(item).not.toContainText(/\d/);
  agent.start();
  agent.prompt('make it two');
  const atWork = /claude-code is at work/;
  await expect(item).toHaveAttribute('aria-label', atWork);
  await expect(item).toContainText('1 turn');
  // a command that takes long
  const call = agent.pre('Bash', { command: 'make', description: 'Build' });
  world.write('a.txt', TEXT.replace('two', '2'));
  agent.done(call, { stdout: '', stderr: '', interrupted: false, isImage: false, noOutputExpected: false });
  await expect(item).toHaveAttribute('aria-label', /2 checkpoints|3 checkpoints/);
  await expect(item).toHaveAttribute('aria-label', atWork);
  agent.stop();
  await expect(item).not.toHaveAttribute('aria-label', atWork);
  agent.prompt('and now');
  await expect(item).toHaveAttribute('aria-label', atWork);
  agent.end();
  await expect(item).not.toHaveAttribute('aria-label', atWork);
  await expect(item).toContainText('2 turns');
  await item.click();
  await expect.poll(() => window.quick.labels()).toContain('Show the timeline');
  await window.quick.pick('Make a checkpoint');
  await window.quick.type('before lunch');
  await window.quick.accept();
  await expect(window.notifications.toast(/Created checkpoint c\d+/)).toBeVisible();
  expect(world.run('log')).toContain('before lunch');
  // the steps of the walkthrough that are done are ticked
  world.run('breakpoint', 'add', 'tool', 'Edit');
  await window.run('Backstitch: Get Started');
  const ticks = window.page.locator('.getting-started-step').filter({ has: window.page.locator('[aria-checked="true"]') });
  for (const name of ['Get the program', 'Give it something to do', 'Stop it before it happens']) {
    await expect(ticks.filter({ hasText: name })).toHaveCount(1);
  }
  await look(window.page, 'walkthrough-ticked');
});

test('a name that is refused stays in its box, with the reason for people', async ({ world, agent, code }) => {
  world.commit({ 'a.txt': TEXT });
  agent.start();
  agent.turn('make it two', () => agent.edit('a.txt', 'two', '2'));
  const window = await code.open('a.txt');
  await window.activity.open('Backstitch');
  const tree = window.tree('Timeline');
  await tree.menu('make it two', 'Tag…');
  await expect(window.quick.title).toHaveText('Tag “make it two”');
  await window.quick.type('t4');
  await window.quick.accept();
  await expect(window.quick.message).toContainText('“t4” cannot be a name');
  await window.quick.type('tests-ok');
  await window.quick.accept();
  await expect(window.notifications.toast('“make it two” is tagged tests-ok')).toBeVisible();
  await window.run('Backstitch: Undo the Last Rewind');
  const nothing = 'There is no operation to undo';
  await expect(window.notifications.toast(nothing)).not.toContainText('backstitch.');
  await window.notifications.action(nothing, 'Rewind Last Turn').click();
  await window.plan.run('Rewind');
  await expect.poll(() => world.read('a.txt')).toBe(TEXT);
});

test('with several folders the timeline names its folder', { tag: '@long' }, async ({ world, agent, code }) => {
  world.commit({ 'a.txt': TEXT });
  const other = world.dir('library');
  world.write('all.code-workspace', JSON.stringify({ folders: [{ path: world.root }, { path: other }] }));
  agent.start();
  agent.turn('make it two', () => agent.edit('a.txt', 'two', '2'));
  const window = await code.open(undefined, world.path('all.code-workspace'));
  await window.activity.open('Backstitch');
  const tree = window.tree('Timeline');
  await expect(tree.row('make it two')).toBeVisible();
  await expect(tree.pane.locator('.pane-header')).toContainText('work');
});

for (const theme of ['light', 'dark', 'contrast', 'contrast light'] as const) {
  test.describe(() => {
    test.use({ vscode: { theme } });

    const tag = ['dark', 'contrast light'].includes(theme) ? [] : '@long';
    test(`all of it in the theme ${theme}`, { tag }, async ({ world, agent, code }) => {
      world.commit({ 'a.txt': TEXT });
      agent.start();
      agent.turn('make it two', () => agent.edit('a.txt', 'two', '2'));
      agent.turn('make it four', () => agent.edit('a.txt', 'four', '4'));
      const window = await code.open('a.txt');
      await expect(window.editor.rewindLens().first()).toBeVisible();
      await window.activity.open('Backstitch');
      await window.tree('Timeline').expand('make it two');
      await window.run('Backstitch: Show Branches and Forks');
      const graph = window.webview();
      await graph.ready(async () => {
        await window.run('View: Close Editor');
        await window.run('Backstitch: Show Branches and Forks');
      });
      await expect(graph.locator('.row')).not.toHaveCount(0);
      await look(window.page, `theme-${theme.replace(' ', '-')}`);
    });
  });
}

test('set-up lists all agents that the program knows', async ({ world, code }) => {
  world.commit({ 'a.txt': TEXT });
  const { known, agents } = world.json('setup', '--status') as { known: string[]; agents: { agent: string; found: string | null }[] };
  expect(known).toEqual(expect.arrayContaining(['claude-code', 'codex', 'opencode', 'copilot', 'gemini', 'qwen', 'cline']));
  const window = await code.open('a.txt');
  const { quick } = window;
  await window.run('Backstitch: Set Up Agents…');
  await expect.poll(async () => (await quick.labels()).toSorted()).toEqual(known.toSorted());
  await look(window.page, 'setup-agents');
  const found = agents.filter((each) => each.found !== null).map(({ agent }) => agent);
  for (const name of known) {
    const box = quick.item(name).locator('.quick-input-list-checkbox, [role="checkbox"]').first();
    if (found.includes(name)) await expect(box).toBeChecked();
    else await expect(box).not.toBeChecked();
  }
  await quick.cancel();
});
