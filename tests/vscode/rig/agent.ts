// Plays Claude Code: sends its hook events, in the shapes recorded in `tests/agents/payloads`, and does the work.
// `e2e/support/agent.rs` is the same for the other tests, which also hold the shapes against the recorded ones.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { backstitch } from './places.ts';
import type { Output, World } from './world.ts';

/** A tool call between its two events. */
export interface Call {
  id: string;
  tool: string;
  input: Record<string, unknown>;
}

const digits = (n: number, width: number) => String(n).padStart(width, '0');

/** One session. For every event the hook must exit with status 0 and print nothing. */
export class Agent {
  readonly session: string;
  private readonly world: World;
  private readonly number: number;
  private prompts = 0;
  private calls = 0;

  constructor(world: World) {
    this.world = world;
    this.number = ++world.agents;
    this.session = `00000000-0000-4000-8000-${digits(this.number, 12)}`;
  }

  get promptId(): string {
    return `00000000-0000-4000-9000-${digits(this.number, 6)}${digits(this.prompts, 6)}`;
  }

  /** The session's conversation, a line of JSON per message. */
  get transcript(): string {
    const project = this.world.root.replace(/[/._]/g, '-');
    return path.join(this.world.home, '.claude/projects', project, `${this.session}.jsonl`);
  }

  // ---- turns -----------------------------------------------------------------------------------------------------

  /** The session begins. */
  start(): void {
    this.event('SessionStart', { source: 'startup' });
  }

  /** The user sends a prompt: a turn begins. */
  prompt(text: string): void {
    this.prompts += 1;
    this.say('user', text);
    this.event('UserPromptSubmit', { prompt: text });
  }

  /** The turn ends. */
  stop(): void {
    this.say('assistant', 'done');
    this.event('Stop', {
      stop_hook_active: false,
      last_assistant_message: 'done',
      background_tasks: [],
      session_crons: [],
    });
  }

  /** The session ends. */
  end(): void {
    this.event('SessionEnd', { reason: 'other' });
  }

  /** A whole turn: the prompt, its work, its end. */
  turn(prompt: string, work: () => void): void {
    this.prompt(prompt);
    work();
    this.stop();
  }

  // ---- whole calls, each alone in its message --------------------------------------------------------------------

  /** Replaces the first `before` in a file by `after`. */
  edit(file: string, before: string, after: string): void {
    const file_path = this.world.path(file);
    const call = this.pre('Edit', { file_path, old_string: before, new_string: after, replace_all: false });
    const text = this.world.read(file);
    assert.ok(text.includes(before), `${file}: ${JSON.stringify(before)} is not in it`);
    this.world.write(file, text.replace(before, () => after));
    this.done(call, {
      filePath: file_path,
      oldString: before,
      newString: after,
      originalFile: text.replaceAll('\r\n', '\n'),
      structuredPatch: [],
      userModified: false,
      replaceAll: false,
    });
  }

  /** Writes a whole file. */
  write(file: string, content: string): void {
    const file_path = this.world.path(file);
    const call = this.pre('Write', { file_path, content });
    const before = this.world.exists(file) ? this.world.read(file).replaceAll('\r\n', '\n') : null;
    this.world.write(file, content);
    this.done(call, {
      type: before === null ? 'create' : 'update',
      filePath: file_path,
      content,
      structuredPatch: [],
      originalFile: before,
      userModified: false,
    });
  }

  /** Runs a shell command; a failure is reported as such. */
  bash(command: string, description = 'run a command'): Output {
    const call = this.pre('Bash', { command, description });
    const output = this.world.sh(command);
    if (output.code === 0) {
      const { stdout, stderr } = output;
      this.done(call, { stdout, stderr, interrupted: false, isImage: false, noOutputExpected: false });
    } else {
      const error = `Exit code ${output.code}\n${output.stderr}`;
      this.event('PostToolUseFailure', { ...fields(call), error, is_interrupt: false, duration_ms: 12 });
      this.batch(call);
    }
    return output;
  }

  /** Removes a file, the way agents do: in the shell. */
  remove(file: string): void {
    assert.equal(this.bash(`rm -- '${file.replaceAll("'", `'\\''`)}'`).code, 0);
  }

  // ---- events ----------------------------------------------------------------------------------------------------

  /** A call is about to run. */
  pre(tool: string, input: Record<string, unknown>): Call {
    this.calls += 1;
    const call = { id: `toolu_${this.number}_${this.calls}`, tool, input };
    this.event('PreToolUse', fields(call));
    return call;
  }

  /**
   * A call that is held at a breakpoint. Resolves to the answer of its hook, once it is decided, or once the time of the
   * agent for hooks has run out, in seconds.
   */
  held(tool: string, input: Record<string, unknown>, limit = 600): Promise<HookAnswer> {
    this.calls += 1;
    const call = { id: `toolu_${this.number}_${this.calls}`, tool, input };
    const payload = {
      session_id: this.session,
      transcript_path: this.transcript,
      cwd: this.world.root,
      hook_event_name: 'PreToolUse',
      prompt_id: this.promptId,
      permission_mode: 'acceptEdits',
      ...fields(call),
    };
    const env = { CLAUDE_PROJECT_DIR: this.world.root, CLAUDE_CODE_SESSION_ATTENDED: '0' };
    // `timeout` stands for the agent: the commands of the test do not come from inside of it
    const args = ['300', backstitch, 'hook', 'claude-code', '--limit', String(limit)];
    const hook = spawn('timeout', args, { cwd: this.world.root, env: { ...this.world.env(), ...env } });
    hook.stdin.end(JSON.stringify(payload));
    let said = '';
    hook.stdout.on('data', (part: Buffer) => (said += part.toString()));
    return new Promise((resolve, reject) => {
      hook.on('error', reject);
      hook.on('close', () => {
        resolve(said === '' ? {} : ((JSON.parse(said) as { hookSpecificOutput?: HookAnswer }).hookSpecificOutput ?? {}));
      });
    });
  }

  /** The input of an edit. */
  input(file: string, before: string, after: string): Record<string, unknown> {
    return { file_path: this.world.path(file), old_string: before, new_string: after, replace_all: false };
  }

  /** A call has worked, alone in its message. */
  done(call: Call, tool_response: unknown): void {
    this.event('PostToolUse', { ...fields(call), tool_response, duration_ms: 12 });
    this.batch(call);
  }

  private batch(call: Call): void {
    this.event('PostToolBatch', { tool_calls: [{ ...fields(call), tool_response: 'done' }] });
  }

  private event(name: string, more: Record<string, unknown>): void {
    const payload: Record<string, unknown> = {
      session_id: this.session,
      transcript_path: this.transcript,
      cwd: this.world.root,
      hook_event_name: name,
    };
    if (name !== 'SessionStart') payload['prompt_id'] = this.promptId;
    if (!['SessionStart', 'SessionEnd'].includes(name)) payload['permission_mode'] = 'acceptEdits';
    const input = JSON.stringify({ ...payload, ...more });
    const env = { CLAUDECODE: '1', CLAUDE_PROJECT_DIR: this.world.root };
    const said = this.world.spawn(backstitch, ['hook', 'claude-code'], { input, env });
    assert.equal(said.code, 0, `the hook fails on ${input}\n${said.stderr}`);
    assert.equal(said.stderr, '', `the hook complains of ${input}`);
  }

  /** Appends a message to the transcript. */
  private say(role: string, content: string): void {
    fs.mkdirSync(path.dirname(this.transcript), { recursive: true });
    const message = { type: role, sessionId: this.session, promptId: this.promptId, message: { role, content } };
    fs.appendFileSync(this.transcript, JSON.stringify(message) + '\n');
  }
}

/** Answer of a hook that held a call. */
export interface HookAnswer {
  permissionDecision?: string;
  permissionDecisionReason?: string;
  updatedInput?: Record<string, unknown>;
  additionalContext?: string;
}

/** Common fields of a call's events. */
function fields(call: Call) {
  return { tool_name: call.tool, tool_input: call.input, tool_use_id: call.id };
}
