// CI jobs in VS Code's debugger, by mouse and keys.
import { Debugger } from './pages/debug.ts';
import type { Workbench } from './pages/workbench.ts';
import { look } from './rig/look.ts';
import { expect, test } from './rig/test.ts';
import type { Code } from './rig/vscode.ts';

// by default only the first session of a window opens the console, and a test may have the window of another one
test.use({ vscode: { settings: { 'debug.internalConsoleOptions': 'openOnSessionStart' } } });

const WORKFLOW = '.github/workflows/ci.yml';
const CI = `name: CI
on: push
env:
  MODE: quick
jobs:
  build:
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@v4
      - name: Build
        id: build
        run: |
          echo "version=1.2" >> "$GITHUB_OUTPUT"
          echo "built in $MODE mode" > out.txt
      - uses: ./act
        with:
          who: \${{ env.MODE }}
      - name: Test
        if: env.MODE != 'none'
        run: grep -q good app.txt && echo "tested \${{ steps.build.outputs.version }}"
      - name: Last
        run: echo last
`;
const ACTION = `name: Greet
inputs:
  who:
    default: you
runs:
  using: composite
  steps:
    - name: Say hello
      shell: bash
      run: echo "hello \${{ inputs.who }}" > hello.txt
    - name: Say bye
      shell: bash
      run: echo bye
`;
const FILES = { [WORKFLOW]: CI, 'act/action.yml': ACTION, 'app.txt': 'good\n' };

const WRITES = `on: push
jobs:
  build:
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@v4
      - name: Write
        run: |
          echo new > new.txt
          echo better > app.txt
          rm act/action.yml
      - name: Nothing
        run: 'true'
      - name: Last
        run: echo last
`;

/** A window with the workflow and its lenses. */
async function open(code: Code): Promise<Workbench> {
  const window = await code.open(WORKFLOW);
  await expect(window.editor.lens('Debug job').first()).toBeVisible();
  return window;
}

/** The debugger of a window, with its views. */
async function debuggerOf(window: Workbench): Promise<Debugger> {
  await window.activity.open('Run and Debug');
  return new Debugger(window.page);
}

test('a breakpoint in the gutter, F5, over, into, back, reverse, restart of a frame', async ({ world, code }) => {
  world.commit(FILES);
  const window = await open(code);
  const { page } = window;
  await look(page, 'job-lens');
  await window.editor.goto(10);
  const debug = new Debugger(page);
  await debug.toggleBreakpoint(18);
  await expect.poll(() => debug.marked('breakpoint')).toEqual([18]);
  await page.keyboard.press('F5');
  await expect(window.status.item('build · step 1 of 5')).toBeVisible();
  await look(page, 'job-entry');
  await debuggerOf(window);
  await debug.at('Run actions/checkout@v4');
  await debug.go('Step Over', 'Build');
  await debug.go('Step Over', 'Run ./act');
  await debug.go('Step Into', 'Say hello');
  await expect(window.tab('action.yml')).toBeVisible();
  await look(page, 'job-into');
  await debug.go('Step Over', 'Say bye');
  await debug.go('Step Back', 'Say hello');
  await debug.go('Step Out', 'Test');
  await expect.poll(() => debug.marked('stackframe')).toEqual([18]);
  await expect(window.status.item('build · step 4 of 5')).toBeVisible();
  await look(page, 'job-out');
  await debug.go('Step Over', 'Last');
  // back to the breakpoint, then to the beginning
  await debug.go('Reverse', 'Test');
  await debug.go('Reverse', 'Run actions/checkout@v4');
  expect(await debug.frames()).toEqual(['Run actions/checkout@v4', 'build']);
  await debug.go('Continue', 'Test');
  // a step that has run has its button
  await debug.restart('Build (checkpoint');
  await debug.at('Build');
  await look(page, 'job-restart');
  await expect(debug.said('Restored checkpoint').first()).toBeVisible();
});

test('values: variables, watches, hover, inline, and a variable that the console exports', async ({ world, code }) => {
  world.commit(FILES);
  const window = await open(code);
  const { page, editor } = window;
  await editor.lens('Debug job').click();
  const debug = await debuggerOf(window);
  await debug.at('Run actions/checkout@v4');
  await debug.go('Step Over', 'Build');
  await debug.go('Step Over', 'Run ./act');

  await debug.variables.hide();
  await debug.addWatch('steps.build.outputs.version');
  await expect(debug.watched('steps.build.outputs.version')).toContainText('1.2');
  await debug.variables.show();
  await debug.scope('env');
  await debug.setVariable('MODE', 'slow');
  // beside the line, too
  await expect(editor.root.getByText('env.MODE = slow')).toBeVisible();
  await look(page, 'job-values');
  await debug.hoverOn(editor, 'env.MODE }}');
  await expect(debug.hover).toContainText('slow');
  await look(page, 'job-hover');
  await page.keyboard.press('Escape');

  await debug.console('!export GREETING=hello; echo done');
  await expect(debug.said('done').first()).toBeVisible();
  await debug.console('env.GREETING');
  await expect(debug.said(/^hello/)).toBeVisible();
  // the view shows a few rows at a time
  await debug.scope('Step', false);
  await expect(debug.variable('GREETING')).toContainText('hello');
  await look(page, 'job-console');
  await debug.go('Step Into', 'Say hello');
  await debug.button('Continue').click();
  await expect(window.status.item('build · succeeded')).toBeVisible();
});

const WAITS = `on: push
jobs:
  build:
    runs-on: ubuntu-latest
    steps:
      - name: Begin
        run: echo begin
      - name: Wait
        run: |
          echo waiting
          until [ -e go ]; do sleep 0.1; done
          echo went
      - name: Last
        run: echo last
`;

test('a step that runs is paused, looked at and continued; stop ends the job', async ({ world, code }) => {
  world.commit({ [WORKFLOW]: WAITS });
  const window = await open(code);
  const { page } = window;
  await page.keyboard.press('F5');
  const debug = await debuggerOf(window);
  await debug.at('Begin');
  await debug.go('Step Over', 'Wait');
  await debug.button('Step Over').click();
  await expect(debug.said('waiting')).toBeVisible();
  await look(page, 'job-runs');
  await debug.go('Pause', /^Wait \(frozen after/);
  await look(page, 'job-frozen');
  await debug.console('!touch go && echo touched');
  await expect(debug.said('touched')).toHaveCount(2);
  await debug.go('Step Over', 'Last');
  await debug.button('Stop').click();
  await expect(window.status.item('build · cancelled')).toBeVisible();
  await expect(debug.toolbar).toBeHidden();
  expect(world.json('job', 'list', '--runs').runs).toMatchObject([{ job: 'build', status: 'cancelled', resumable: false }]);
});

test('a job continues after its window was closed', async ({ world, code }) => {
  world.commit(FILES);
  let window = await open(code);
  await window.editor.lens('Debug job').click();
  let debug = await debuggerOf(window);
  await debug.at('Run actions/checkout@v4');
  await debug.go('Step Over', 'Build');
  await debug.go('Step Over', 'Run ./act');
  await code.end({ close: true });
  await expect.poll(() => world.json('job', 'list', '--runs').runs).toMatchObject([{ resumable: true }]);

  window = await open(code);
  await window.run('Backstitch: Continue a Job That Was Left…');
  debug = await debuggerOf(window);
  await debug.at('Run ./act');
  await look(window.page, 'job-continued');
  await debug.go('Step Back', 'Build');
  await debug.go('Step Over', 'Run ./act');
  await debug.button('Continue').click();
  await expect(window.status.item('build · succeeded')).toBeVisible();
  await look(window.page, 'job-ended');
});

test('a job fails, its source is mended, one step back, and it ends well', async ({ world, code }) => {
  world.commit({ ...FILES, 'app.txt': 'bad\n' });
  const window = await open(code);
  const { page } = window;
  await page.keyboard.press('F5');
  const debug = await debuggerOf(window);
  await debug.at('Run actions/checkout@v4');
  await debug.go('Continue', 'Test (failed)');
  await expect(debug.failure).toContainText('Process completed with exit code 1');
  await expect(window.status.item('build · step 4 of 5 · failed')).toBeVisible();
  await look(page, 'job-failed');
  const source = await window.open('app.txt');
  await source.select(1, 1);
  await page.keyboard.type('good');
  await source.save();
  await debug.go('Step Back', 'Test');
  await debug.button('Continue').click();
  await expect(window.status.item('build · succeeded')).toBeVisible();
  await expect(debug.said('app.txt').first()).toBeVisible();
  await expect(debug.said('tested 1.2')).toBeVisible();
  await look(page, 'job-mended');
});

test('a job fails, its workflow is mended, one step back, and it ends well', async ({ world, code }) => {
  world.commit({ ...FILES, [WORKFLOW]: CI.replace('grep -q good', 'grep -q best') });
  const window = await open(code);
  const { page, editor } = window;
  await page.keyboard.press('F5');
  const debug = await debuggerOf(window);
  await debug.at('Run actions/checkout@v4');
  await debug.go('Continue', 'Test (failed)');
  await expect(debug.failure).toBeVisible();
  await editor.click('grep -q best');
  await page.keyboard.press('Home');
  await page.keyboard.press('Home');
  await page.keyboard.press('Shift+End');
  await page.keyboard.type('        run: grep -q good app.txt && echo mended');
  await editor.save();
  await debug.go('Step Back', 'Test');
  await debug.button('Continue').click();
  await expect(window.status.item('build · succeeded')).toBeVisible();
  await expect(debug.said('mended').first()).toBeVisible();
});

const TWO = `on: push
jobs:
  one:
    runs-on: ubuntu-latest
    steps:
      - name: First of one
        run: echo one
  two:
    strategy:
      matrix:
        node: [18, 20]
    runs-on: ubuntu-latest
    steps:
      - name: First of two
        run: echo two \${{ matrix.node }}
# end
env:
  A: b
`;

test('F5 takes the job at the cursor, or asks; a launch.json may name the workflow alone', async ({ world, code }) => {
  world.commit({ [WORKFLOW]: TWO });
  const window = await open(code);
  const { page, quick, editor } = window;
  const debug = await debuggerOf(window);
  const starts = async (step: string) => {
    await debug.at(step);
    await debug.button('Stop').click();
    await expect(debug.toolbar).toBeHidden();
  };
  // at the cursor
  await editor.goto(6);
  await page.keyboard.press('F5');
  await starts('First of one');
  // its combination is asked for
  await editor.goto(14);
  await page.keyboard.press('F5');
  await expect(quick.title).toHaveText('Select a combination of the matrix');
  await look(page, 'job-matrix');
  await quick.pick('node=20');
  await debug.at('First of two');
  await expect(window.status.item('two (20) · step 1 of 1')).toBeVisible();
  await starts('First of two');
  // in no job
  await editor.goto(18);
  await page.keyboard.press('F5');
  await expect(quick.title).toHaveText('Select a job');
  await look(page, 'job-pick');
  await quick.pick('one');
  await starts('First of one');
  // without a stop
  await editor.goto(4);
  await page.keyboard.press('Control+F5');
  await expect(window.status.item('one · succeeded')).toBeVisible();

  const config = { type: 'backstitch-job', request: 'launch', name: 'ours', workflow: '.github/workflows/ci.yml' };
  world.write('.vscode/launch.json', JSON.stringify({ version: '0.2.0', configurations: [config] }));
  await expect(page.getByRole('button', { name: 'Debug Launch Configurations: ours' })).toBeVisible();
  await editor.goto(1);
  await page.keyboard.press('F5');
  await expect(quick.title).toHaveText('Select a job');
  await quick.pick('one');
  await debug.at('First of one');
  await debug.go('Step Over', 'one');
  await debug.go('Restart', 'First of one');
  await starts('First of one');
});

test('lenses debug and run a job, and are off where lenses are off', async ({ world, code }) => {
  world.commit({ [WORKFLOW]: TWO, 'other.yml': TWO });
  const window = await code.open(WORKFLOW);
  const { editor, page } = window;
  await expect.poll(async () => (await editor.lensTitles()).slice(0, 2)).toEqual(['Debug job', 'Run']);
  await editor.lens(/^Run$/).first().click();
  await expect(window.status.item('one · succeeded')).toBeVisible();
  const debug = await debuggerOf(window);
  await editor.lens('Debug job').first().click();
  await debug.at('First of one');
  await debug.button('Stop').click();
  // a line above moves them, and a new job has them once it is saved
  await editor.type(2, '# about\n');
  await editor.save();
  await expect.poll(() => editor.above('Debug job')).toBe('  one:');
  await code.settings({ 'backstitch.codeLens': 'off' });
  await expect(editor.lens('Debug job')).toHaveCount(0);
  await window.open('other.yml');
  await code.settings({ 'backstitch.codeLens': undefined });
  await window.open(WORKFLOW);
  await expect(editor.lens('Debug job').first()).toBeVisible();
  await window.open('other.yml');
  await expect(editor.lens('Debug job')).toHaveCount(0);
  await look(page, 'job-no-lens');
});

test('an error of a configuration and a workflow with problems are told with their reason', async ({ world, code }) => {
  const broken = TWO.replace('    steps:', '    step:');
  world.commit({ [WORKFLOW]: broken });
  const config = { type: 'backstitch-job', request: 'launch', name: 'wide', workflow: 'none.yml', home: 'user' };
  world.write('.vscode/launch.json', JSON.stringify({ version: '0.2.0', configurations: [config] }));
  const window = await code.open(WORKFLOW);
  const { page, dialog } = window;
  await window.activity.open('Run and Debug');
  await expect(page.getByRole('button', { name: 'Debug Launch Configurations: wide' })).toBeVisible();
  await page.keyboard.press('F5');
  await expect(dialog.root).toContainText('home is not an argument of a configuration');
  await look(page, 'job-refused');
  await page.keyboard.press('Escape');
  await window.run('Backstitch: Debug Job');
  await expect(dialog.root).toContainText('ci.yml (Line: ');
  await look(page, 'job-problem');
  await page.keyboard.press('Escape');
});

test.describe(() => {
  test.use({ vscode: { trusted: false } });

  test('nothing of a workflow runs in a folder that is not trusted', async ({ world, code }) => {
    world.commit(FILES);
    const window = await code.open(WORKFLOW);
    const { page, dialog } = window;
    await window.run('Backstitch: Debug Job');
    await expect(window.notifications.toast('this one is not trusted')).toBeVisible();
    await look(page, 'job-untrusted');
    await expect(window.editor.lens('Debug job')).toHaveCount(0);
    // VS Code's own question
    await page.keyboard.press('F5');
    await expect(dialog.root).toContainText(/trust/i);
    await look(page, 'job-trust');
    await page.keyboard.press('Escape');
    expect(world.json('job', 'list', '--runs').runs).toEqual([]);
  });
});

test('the changed files of a step are one comparison, from the toolbar and from a frame', async ({ world, code }) => {
  world.commit({ ...FILES, [WORKFLOW]: WRITES });
  const window = await open(code);
  const { page, multiDiff } = window;
  await window.editor.lens('Debug job').click();
  const debug = await debuggerOf(window);
  await debug.at('Run actions/checkout@v4');
  await debug.go('Step Over', 'Write');
  await debug.go('Step Over', 'Nothing');
  await debug.button('Changed Files of This Step').click();
  await multiDiff.expectFiles(/action\.yml/, /app\.txt/, /new\.txt/);
  await multiDiff.entry('app.txt').expectTexts('good\n', 'better\n');
  await look(page, 'job-changes');
  await debug.go('Step Over', 'Last');
  await debug.button('Changed Files of This Step').click();
  await expect(window.notifications.toast('The step changed no files')).toBeVisible();
  await debug.frameMenu('Write (checkpoint', 'Changed Files of This Step');
  await multiDiff.expectFiles(/action\.yml/, /app\.txt/, /new\.txt/);
});
