// CI jobs in a window where workflows have the language of GitHub's own extension.
import { Debugger } from './pages/debug.ts';
import { look } from './rig/look.ts';
import { actions } from './rig/places.ts';
import { expect, test } from './rig/test.ts';

const WORKFLOW = '.github/workflows/ci.yml';
const CI = `on: push
env:
  MODE: quick
jobs:
  build:
    runs-on: ubuntu-latest
    steps:
      - name: Build
        run: echo build
      - name: Test
        run: echo "tested \${{ env.MODE }}"
`;

test.use({ beside: [actions] });

test('a workflow of the language github-actions-workflow has lenses, breakpoints, F5 and values', async ({ world, code }) => {
  world.commit({ [WORKFLOW]: CI });
  const window = await code.open(WORKFLOW);
  const { page, editor, status } = window;
  await expect(status.item('GitHub Actions Workflow')).toBeVisible();
  await expect.poll(() => editor.lensTitles()).toEqual(['Debug job', 'Run']);
  const debug = new Debugger(page);
  await debug.toggleBreakpoint(10);
  await expect.poll(() => debug.marked('breakpoint')).toEqual([10]);
  await editor.goto(5);
  await page.keyboard.press('F5');
  await expect(status.item('build · step 1 of 2')).toBeVisible();
  await window.activity.open('Run and Debug');
  await debug.at('Build');
  await debug.go('Continue', 'Test');
  await expect.poll(() => debug.marked('stackframe')).toEqual([10]);
  await expect(editor.root.getByText('env.MODE = quick')).toBeVisible();
  await debug.hoverOn(editor, 'env.MODE }}');
  await expect(debug.hover).toContainText('quick');
  await look(page, 'job-language');
  await page.keyboard.press('Escape');
  await debug.button('Stop').click();
  await expect(status.item('build · cancelled')).toBeVisible();
  await editor.lens(/^Run$/).click();
  await expect(status.item('build · succeeded')).toBeVisible();
  // problems are those of the language server
  await editor.type(1, 'x: 1\n');
  await expect(editor.root.locator('.squiggly-error')).toBeVisible();
});
