// Pictures of a CI job for the pages: tests/vscode/run -c film.config.ts job
import path from 'node:path';
import { Debugger } from './pages/debug.ts';
import { extension } from './rig/places.ts';
import { expect, test } from './rig/test.ts';

const WORKFLOW = `on: push
env:
  MODE: release
jobs:
  build:
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@v4
      - name: Build
        id: build
        run: |
          echo "version=1.2" >> "$GITHUB_OUTPUT"
          echo "built for $MODE" | tee app.log
      - name: Test
        if: env.MODE != 'none'
        run: ./test.sh \${{ steps.build.outputs.version }}
`;
const TESTS = `echo "3 tests of version $1"
grep -q good app.txt
`;
const settings = {
  'git.enabled': false,
  'editor.fontSize': 13,
  'window.menuBarVisibility': 'hidden',
  'breadcrumbs.enabled': false,
};

test.use({ vscode: { settings }, viewport: { width: 1100, height: 680 } });

test('a job that failed, and the step back', async ({ world, code }) => {
  world.commit({ '.github/workflows/ci.yml': WORKFLOW, 'test.sh': TESTS, 'app.txt': 'bad\n' });
  world.sh('chmod +x test.sh && git add -A && git commit -qm mode');
  const window = await code.open('.github/workflows/ci.yml');
  const { page, activity, editor } = window;
  await editor.lens('Debug job').click();
  await activity.open('Run and Debug');
  const debug = new Debugger(page);
  await debug.at('Run actions/checkout@v4');
  await debug.watch.hide();
  await debug.toggleBreakpoint(9);
  await debug.go('Continue', 'Build');
  await debug.go('Continue', 'Test (failed)');
  await debug.failure.waitFor();
  await expect(debug.said('exit code 1')).toBeVisible();
  const picture = async (file: string, frames: string[]) => {
    await expect.poll(() => debug.frames()).toEqual(frames);
    await page.mouse.move(700, 400);
    await expect(page.locator('.workbench-hover')).toHaveCount(0);
    await page.screenshot({ path: file });
  };
  const before = ['Build (checkpoint 1)', 'Run actions/checkout@v4 (checkpoint 0)'];
  await picture(
    path.join(import.meta.dirname, '../../server/docs/editors/vscode-job.png'),
    ['Test (failed)', 'build', 'Test (checkpoint 2)', ...before],
  );
  await debug.go('Step Back', 'Test');
  await debug.at('Test');
  await expect(editor.root.getByText("env.MODE != 'none' = true")).toBeVisible();
  await picture(path.join(extension, 'media/walkthrough/job.png'), ['Test', 'build', ...before]);
});
