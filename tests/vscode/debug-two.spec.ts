// Two CI jobs at once in VS Code's debugger.
import { Debugger } from './pages/debug.ts';
import { look } from './rig/look.ts';
import { expect, test } from './rig/test.ts';

const WORKFLOW = '.github/workflows/ci.yml';
const JOBS = `on: push
jobs:
  one:
    runs-on: ubuntu-latest
    steps:
      - name: First of one
        run: echo one
      - name: Second of one
        run: echo one
      - name: Third of one
        run: echo one
  two:
    runs-on: ubuntu-latest
    steps:
      - name: First of two
        run: echo two
      - name: Second of two
        run: echo two
`;

test('two jobs at once: each has its own steps, and the status bar names the active one', async ({ world, code }) => {
  world.commit({ [WORKFLOW]: JOBS });
  const window = await code.open(WORKFLOW);
  const { page, editor, status } = window;
  await expect.poll(() => editor.lensTitles()).toEqual(['Debug job', 'Run', 'Debug job', 'Run']);
  await window.activity.open('Run and Debug');
  const debug = new Debugger(page);
  await editor.lens('Debug job').nth(0).click();
  await debug.at('First of one');
  await debug.watch.hide();
  await editor.lens('Debug job').nth(1).click();
  const [one, two] = ['ci: one', 'ci: two'];
  await expect(debug.session(two)).toContainText('First of two', { ignoreCase: true });
  for (const session of [one, two]) await debug.unfold(session);
  await expect.poll(() => debug.stacks()).toEqual({ [one]: ['First of one', 'one'], [two]: ['First of two', 'two'] });
  await expect(status.item('one · step 1 of 3')).toBeVisible();
  await look(page, 'jobs-two');

  // a step of one job does not move the other
  await debug.button('Step Over').click();
  const forward = ['Second of one', 'one', 'First of one (checkpoint 0)'];
  await expect.poll(() => debug.stacks()).toEqual({ [one]: forward, [two]: ['First of two', 'two'] });
  await expect(status.item('one · step 2 of 3')).toBeVisible();
  await debug.frame('First of two').click();
  await expect(status.item('two · step 1 of 2')).toBeVisible();
  await debug.button('Step Over').click();
  await expect(status.item('two · step 2 of 2')).toBeVisible();
  await expect.poll(() => debug.stacks()).toEqual({ [one]: forward, [two]: ['Second of two', 'two', 'First of two (checkpoint 0)'] });
  await debug.button('Step Back').click();
  await expect.poll(() => debug.stacks()).toEqual({ [one]: forward, [two]: ['First of two', 'two'] });
  await look(page, 'jobs-one');

  // the end of one job leaves the other
  await debug.button('Stop').click();
  await expect(status.item('one · step 2 of 3')).toBeVisible();
  await expect.poll(() => debug.frames()).toEqual(forward);
  await debug.go('Step Back', 'First of one');
  await debug.button('Continue').click();
  await expect(status.item('one · succeeded')).toBeVisible();
  await expect(debug.toolbar).toBeHidden();
  expect(world.json('job', 'list', '--runs').runs).toMatchObject([
    { job: 'two', status: 'cancelled' },
    { job: 'one', status: 'success' },
  ]);
});
