// Whole dialogues of Microsoft's own client with `backstitch dap`. They have each request of server/docs/dap.md.
// tests/e2e/dap/official.rs starts them in a repository, and holds their messages against the protocol's schema.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { afterEach, test } from 'node:test';

import { ACTION, Client, THREAD, WORKFLOW } from './client.mjs';

afterEach(() => Client.endAll());

const lineOf = (text, file = WORKFLOW) => readFileSync(file, 'utf8').split('\n').findIndex((line) => line.includes(text)) + 1;

const names = (frames) => frames.map((frame) => frame.name);

test('a breakpoint on a line is hit by the client’s own scenario', async () => {
  const client = new Client();
  await client.start();
  const line = lineOf('name: Two');
  await client.hitBreakpoint({ workflow: WORKFLOW, job: 'build', stopOnEntry: false }, { path: WORKFLOW, line });
  await client.leave();
});

test('steps forward, into a composite action, back, and to the beginning', async () => {
  const client = new Client();
  await client.begin('build');
  assert.equal(await client.stops('step', () => client.nextRequest(THREAD)), "before 'One'");
  assert.equal(await client.stops('step', () => client.nextRequest(THREAD)), "before 'Use'");
  assert.equal(await client.stops('step', () => client.stepInRequest(THREAD)), "before 'Inner one'");
  assert.deepEqual(names(await client.frames()).slice(0, 3), ['Inner one', 'Use', 'build']);
  assert.equal(await client.stops('step', () => client.stepOutRequest(THREAD)), "before 'Two'");
  assert.equal(await client.stops('step', () => client.stepBackRequest(THREAD)), "stepped back: before 'Use'");
  const frames = await client.frames();
  const one = frames.find((frame) => frame.name.startsWith('One'));
  assert.equal(one.canRestart, true);
  const back = await client.stops('restart', () => client.restartFrameRequest({ frameId: one.id }));
  assert.equal(back, "stepped back: before 'One'");
  assert.equal(await client.stops('step', () => client.reverseContinueRequest(THREAD)), "stepped back: before 'Checkout'");
  await assert.rejects(client.stepBackRequest(THREAD), /No checkpoints are available/);
  await assert.rejects(client.reverseContinueRequest(THREAD), /No checkpoints are available/);
  await client.leave();
});

test('a job fails, is mended in the console, steps back, and ends well', async () => {
  const client = new Client();
  await client.begin('build');
  const failed = await client.stops('exception', async () => {
    const { body } = await client.continueRequest(THREAD);
    assert.deepEqual(body, { allThreadsContinued: true });
  });
  assert.equal(failed, "'Two' failed");
  const failure = (await client.exceptionInfoRequest(THREAD)).body;
  assert.equal(failure.description, 'Two: Process completed with exit code 1.');
  assert.equal(await client.stops('step', () => client.stepBackRequest(THREAD)), "stepped back: before 'Two'");
  assert.equal(await client.result('!touch mended; export B=2', 'repl'), 'Set: B.');
  assert.equal(await client.result('env.B', 'watch'), '2');
  const code = await client.ends(() => client.continueRequest(THREAD));
  assert.equal(code, 0);
  assert.match(client.text, /seen: two/);
  await client.leave({});
});

test('values are seen, set, and evaluated', async () => {
  const client = new Client();
  await client.begin('build');
  await client.stops('step', () => client.nextRequest(THREAD));
  await client.stops('step', () => client.nextRequest(THREAD));
  const { variablesReference, values } = await client.scope('env');
  assert.equal(values.A, '1');
  const set = await client.setVariableRequest({ variablesReference, name: 'A', value: 'changed' });
  assert.equal(set.body.value, 'changed');
  assert.equal((await client.scope('env')).values.A, 'changed');
  for (const context of ['hover', 'watch', 'clipboard', 'variables']) {
    assert.equal(await client.result('${{ env.A }}', context), 'changed');
    await assert.rejects(client.result('!touch never', context));
  }
  assert.equal(await client.result('steps.one.outputs.v', 'hover'), '1');
  const { targets } = (await client.completionsRequest({ text: ':che', column: 5 })).body;
  assert.equal(targets[0].label, ':checkpoints');
  const { threads } = (await client.threadsRequest()).body;
  assert.deepEqual(threads, [{ id: 1, name: 'build' }]);
  const { sources } = (await client.customRequest('loadedSources')).body;
  assert.ok(sources.some((source) => source.path === WORKFLOW));
  await client.customRequest('cancel', { requestId: 1 });
  await client.leave();
});

test('breakpoints of all kinds, and ways to a line', async () => {
  const client = new Client();
  await client.begin('build');
  const line = lineOf('name: Three');
  const { breakpoints } = (await client.customRequest('breakpointLocations', { source: { path: WORKFLOW }, line, endLine: line + 2 })).body;
  assert.deepEqual(breakpoints, [{ line }]);
  const inner = lineOf('Inner two', ACTION);
  const ofLines = await client.setBreakpointsRequest({
    source: { path: ACTION },
    breakpoints: [{ line: inner, condition: "github.job == 'build'", hitCondition: '1' }],
  });
  assert.deepEqual([ofLines.body.breakpoints[0].verified, ofLines.body.breakpoints[0].line], [true, inner]);
  const ofNames = await client.setFunctionBreakpointsRequest({ breakpoints: [{ name: 'Tw*' }] });
  assert.equal(ofNames.body.breakpoints[0].verified, true);
  assert.equal(await client.stops('breakpoint', () => client.continueRequest(THREAD)), "before 'Inner two'");
  assert.equal(await client.stops('function breakpoint', () => client.continueRequest(THREAD)), "before 'Two'");
  const ahead = (await client.gotoTargetsRequest({ source: { path: WORKFLOW }, line })).body.targets[0];
  assert.match(ahead.label, /ahead/);
  assert.equal(await client.stops('goto', () => client.gotoRequest({ ...THREAD, targetId: ahead.id })), "before 'Three'");
  const target = { source: { path: WORKFLOW }, line: lineOf('name: One') };
  const back = (await client.gotoTargetsRequest(target)).body.targets[0];
  assert.match(back.label, /^back to before One/);
  assert.equal(await client.stops('goto', () => client.gotoRequest({ ...THREAD, targetId: back.id })), "before 'One'");
  await client.leave();
});

test('a step that runs is frozen, goes on, and ends with the job', async () => {
  const client = new Client();
  await client.begin('slow');
  const started = client.waitForEvent('output');
  await client.nextRequest(THREAD);
  await started;
  await assert.rejects(client.stepBackRequest(THREAD), /[Ss]top first/);
  await client.threadsRequest();
  assert.equal(await client.stops('pause', () => client.pauseRequest(THREAD)), "frozen in 'Sleep'");
  assert.match((await client.frames())[0].name, /^Sleep \(frozen after \d+ s\)$/);
  assert.equal(await client.ends(() => client.terminateRequest({})), 1);
  assert.match(client.text, /seen: always/);
  await client.leave({});
});

test('a value and a file are watched, values are set by expressions, and changes are read', async () => {
  const client = new Client();
  await client.begin('build');
  const { variablesReference } = await client.scope('env');
  const info = (await client.customRequest('dataBreakpointInfo', { variablesReference, name: 'A' })).body;
  const file = (await client.customRequest('dataBreakpointInfo', { name: 'log' })).body;
  assert.ok(info.dataId && file.dataId, JSON.stringify([info, file]));
  const watched = [info, file].map(({ dataId }) => ({ dataId }));
  const { breakpoints } = (await client.customRequest('setDataBreakpoints', { breakpoints: watched })).body;
  assert.deepEqual(breakpoints.map((one) => one.verified), [true, true]);
  const stops = () => client.stops('data breakpoint', () => client.continueRequest(THREAD));
  assert.match(await stops(), /before 'Use'/);
  const set = await client.customRequest('setExpression', { expression: 'env.A', value: 'changed' });
  assert.equal(set.body.value, 'changed');
  assert.match(await stops(), /before 'Two'/);
  const changes = (await client.customRequest('backstitchChanges', {})).body;
  assert.deepEqual(changes.files.map((one) => [one.path, one.status]), [['log', 'added']]);
  const { content } = (await client.customRequest('source', { sourceReference: changes.files[0].after })).body;
  assert.equal(content, 'in1\nin2\n');
  await client.customRequest('setDataBreakpoints', { breakpoints: [] });
  assert.equal(await client.stops('restart', () => client.customRequest('restart', {})), "stepped back: before 'Checkout'");
  await client.leave();
});

test('a run that is left stays for another client', async () => {
  const first = new Client();
  await first.begin('build');
  await first.stops('step', () => first.nextRequest(THREAD));
  await first.leave({ suspendDebuggee: true });
  const second = new Client();
  await second.start();
  await second.initializeRequest();
  await second.attachRequest({ run: 'last' });
  assert.equal(await second.stops('entry', () => second.configurationDoneRequest()), "before 'One'");
  await second.leave();
});

test('requests that are not there are refused by name', async () => {
  const client = new Client();
  const capabilities = await client.begin('build');
  const absent = {
    modules: 'supportsModulesRequest',
    disassemble: 'supportsDisassembleRequest',
    stepInTargets: 'supportsStepInTargetsRequest',
    readMemory: 'supportsReadMemoryRequest',
    terminateThreads: 'supportsTerminateThreadsRequest',
    setInstructionBreakpoints: 'supportsInstructionBreakpoints',
  };
  for (const [command, capability] of Object.entries(absent)) {
    assert.ok(!capabilities[capability], capability);
    await assert.rejects(client.customRequest(command, {}), new RegExp(command));
  }
  await client.leave();
});
