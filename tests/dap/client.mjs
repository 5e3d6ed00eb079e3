// Microsoft's client of the Debug Adapter Protocol, as the dialogues use it. The file DAP_MESSAGES keeps each message. A dialogue waits
// for the end of the adapter.

import assert from 'node:assert/strict';
import { appendFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';

const require = createRequire(join(process.env.DAP_PACKAGES, 'package.json'));
const { DebugClient } = require('@vscode/debugadapter-testsupport');

/** Longest wait for an event, in ms: it turns a hang into a failure. */
const EVENT_TIMEOUT = 240_000;

export const WORKFLOW = join(process.cwd(), '.github/workflows/ci.yml');
export const ACTION = join(process.cwd(), 'act/action.yml');
export const THREAD = { threadId: 1 };

export class Client extends DebugClient {
  /** Adapters that were started. */
  static adapters = [];

  /** Ends the adapters that a failed dialogue leaves: the run would wait for them. */
  static endAll() {
    for (const adapter of Client.adapters.splice(0)) adapter.kill();
  }

  constructor() {
    super(process.env.DAP_ADAPTER, 'dap', 'backstitch-job', { cwd: process.cwd() });
    this.defaultTimeout = EVENT_TIMEOUT;
    this.text = '';
    this.on('output', (event) => {
      this.text += event.body.output;
    });
  }

  async start() {
    await super.start();
    Client.adapters.push(this._adapterProcess);
  }

  doSend(command, args, done) {
    const sent = args && Object.keys(args).length > 0 ? { arguments: args } : {};
    const message = { seq: this.sequence, type: 'request', command, ...sent };
    super.doSend(command, args, (response) => {
      if (response.success) keep('toAdapter', message);
      done(response);
    });
  }

  dispatch(body) {
    keep('toClient', JSON.parse(body));
    super.dispatch(body);
  }

  /** Starts the adapter, and launches a job: it stands before its first step. */
  async begin(job, more = {}) {
    await this.start();
    const initialized = this.waitForEvent('initialized');
    const { body } = await this.initializeRequest();
    await initialized;
    await this.launchRequest({ workflow: WORKFLOW, job, ...more });
    await this.setExceptionBreakpointsRequest({ filters: ['failed'] });
    await this.stops('entry', () => this.configurationDoneRequest());
    return body;
  }

  /** The stop that follows a request: its reason must be this one. Returns its description. */
  async stops(reason, ask) {
    const stopped = this.waitForEvent('stopped');
    await ask();
    const { body } = await stopped;
    assert.equal(body.reason, reason, body.description);
    return body.description;
  }

  async frames() {
    return (await this.stackTraceRequest(THREAD)).body.stackFrames;
  }

  /** Names and values of a scope of the first frame, and its reference. */
  async scope(name) {
    const [frame] = await this.frames();
    const { scopes } = (await this.scopesRequest({ frameId: frame.id })).body;
    const { variablesReference } = scopes.find((scope) => scope.name === name);
    const { variables } = (await this.variablesRequest({ variablesReference })).body;
    return { variablesReference, values: Object.fromEntries(variables.map((one) => [one.name, one.value])) };
  }

  async result(expression, context) {
    return (await this.evaluateRequest({ expression, context })).body.result;
  }

  /** Leaves the job, and waits for the end of the adapter. */
  async leave(args = { terminateDebuggee: true }) {
    const adapter = this._adapterProcess;
    const ended = new Promise((done) => adapter.once('exit', (code) => done(code)));
    await this.disconnectRequest(args);
    adapter.stdin.end();
    assert.equal(await ended, 0);
  }

  /** Waits for the end of the job after a request. Returns its exit code. */
  async ends(ask) {
    const [exited, terminated] = [this.waitForEvent('exited'), this.waitForEvent('terminated')];
    await ask();
    await terminated;
    return (await exited).body.exitCode;
  }
}

function keep(direction, message) {
  appendFileSync(process.env.DAP_MESSAGES, `${JSON.stringify({ direction, message })}\n`);
}
