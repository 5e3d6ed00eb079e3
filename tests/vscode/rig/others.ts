// Plays other callers: Codex at a call that is held, through the real hook, and a client of `backstitch mcp` that proposes a
// rewind.
import { spawn } from 'node:child_process';
import type { HookAnswer } from './agent.ts';
import { backstitch } from './places.ts';
import type { World } from './world.ts';

/** A patch of Codex that is held at a breakpoint. Resolves to the answer of its hook, once it is decided. */
export function patchOfCodex(world: World, patch: string, call = 'call_1_0'): Promise<HookAnswer> {
  const payload = {
    session_id: '00000000-0000-4000-8000-0000000000c0',
    turn_id: '00000000-0000-4000-8000-0000000000c1',
    transcript_path: null,
    cwd: world.root,
    hook_event_name: 'PreToolUse',
    model: 'gpt-5.5',
    permission_mode: 'bypassPermissions',
    tool_name: 'apply_patch',
    tool_input: { command: patch },
    tool_use_id: call,
  };
  // `timeout` stands for the agent: the commands of the test do not come from inside of it
  const args = ['300', backstitch, 'hook', 'codex', '--limit', '600'];
  const hook = spawn('timeout', args, { cwd: world.root, env: world.env() });
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

/** A client of `backstitch mcp` on a world. */
export class McpClient {
  private readonly server;
  private read = '';
  private sent = 0;
  private readonly waiting = new Map<number, (result: Record<string, unknown>) => void>();

  constructor(world: World) {
    this.server = spawn('timeout', ['300', backstitch, 'mcp'], { cwd: world.root, env: world.env() });
    this.server.stdout.on('data', (part: Buffer) => {
      this.read += part.toString();
      const lines = this.read.split('\n');
      this.read = lines.pop() ?? '';
      for (const line of lines) this.take(JSON.parse(line) as { id?: number; result?: Record<string, unknown> });
    });
    void this.request('initialize', {
      protocolVersion: '2025-06-18',
      capabilities: {},
      clientInfo: { name: 'plain', version: '1' },
    });
    this.send({ method: 'notifications/initialized' });
  }

  private take({ id, result }: { id?: number; result?: Record<string, unknown> }): void {
    if (id === undefined) return;
    this.waiting.get(id)?.(result ?? {});
    this.waiting.delete(id);
  }

  private send(message: object): void {
    this.server.stdin.write(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\n');
  }

  private request(method: string, params: object): Promise<Record<string, unknown>> {
    const id = ++this.sent;
    const answered = new Promise<Record<string, unknown>>((resolve) => this.waiting.set(id, resolve));
    this.send({ id, method, params });
    return answered;
  }

  /** Calls a tool. Resolves to its answer. */
  call(name: string, args: object): Promise<Record<string, unknown>> {
    return this.request('tools/call', { name, arguments: args });
  }

  end(): void {
    this.server.stdin.end();
  }
}
