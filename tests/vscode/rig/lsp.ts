// A second client of the language server: requests over stdio.
import { spawn, type ChildProcess } from 'node:child_process';
import { backstitch } from './places.ts';
import type { World } from './world.ts';

export class Lsp {
  private readonly child: ChildProcess;
  private readonly waiting = new Map<number, { resolve: (answer: unknown) => void; reject: (error: Error) => void }>();
  private unread = Buffer.alloc(0);
  private last = 0;

  private constructor(world: World) {
    this.child = spawn(backstitch, ['lsp'], { cwd: world.root, env: world.env(), stdio: ['pipe', 'pipe', 'ignore'] });
    this.child.stdout!.on('data', (part: Buffer) => {
      this.unread = Buffer.concat([this.unread, part]);
      this.read();
    });
  }

  static async start(world: World): Promise<Lsp> {
    const lsp = new Lsp(world);
    const rootUri = `file://${world.root}`;
    await lsp.request('initialize', { processId: process.pid, rootUri, capabilities: {} });
    lsp.send({ method: 'initialized', params: {} });
    return lsp;
  }

  // eslint-disable-next-line @typescript-eslint/no-explicit-any -- the shape is the method's
  request(method: string, params: object): Promise<any> {
    const id = ++this.last;
    const answer = new Promise((resolve, reject) => this.waiting.set(id, { resolve, reject }));
    this.send({ id, method, params });
    return answer;
  }

  end(): void {
    this.child.kill();
  }

  private send(message: object): void {
    const body = Buffer.from(JSON.stringify({ jsonrpc: '2.0', ...message }));
    this.child.stdin!.write(`Content-Length: ${body.length}\r\n\r\n`);
    this.child.stdin!.write(body);
  }

  private read(): void {
    for (;;) {
      const head = this.unread.indexOf('\r\n\r\n');
      if (head < 0) return;
      const length = Number(/Content-Length: (\d+)/i.exec(this.unread.toString('latin1', 0, head))![1]);
      if (this.unread.length < head + 4 + length) return;
      const message = JSON.parse(this.unread.toString('utf8', head + 4, head + 4 + length));
      this.unread = this.unread.subarray(head + 4 + length);
      const waiting = message.method === undefined ? this.waiting.get(message.id) : undefined;
      if (waiting !== undefined) {
        this.waiting.delete(message.id);
        if (message.error === undefined) waiting.resolve(message.result);
        else waiting.reject(new Error(message.error.message));
      } else if (message.method !== undefined && message.id !== undefined) {
        this.send({ id: message.id, result: null });
      }
    }
  }
}
