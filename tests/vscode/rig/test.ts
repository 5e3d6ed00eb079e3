// The tests' own `test`: a world, an agent at work in it, and a window of VS Code on it. Each worker keeps the servers that
// it has started, and its last window: a test that wants the same extensions, trust and search path as one before it gets
// the same server, and one that wants the same settings, too, the same window.
//
// The start settings of VS Code are given by `test.use({ vscode: { theme: 'light' } })`.
import { test as base } from '@playwright/test';
import { Agent } from './agent.ts';
import { extension } from './places.ts';
import { Server, type ServerOptions } from './server.ts';
import { Code, plain, type CodeOptions } from './vscode.ts';
import { Windows } from './windows.ts';
import { Place, World } from './world.ts';

export { expect } from '@playwright/test';

interface Fixtures {
  vscode: Partial<CodeOptions>;
  /** The folder of the extension, unless it is the one under test. */
  extension: string;
  /** Folders of other extensions. */
  beside: string[];
  world: World;
  agent: Agent;
  code: Code;
}

/** How many servers of a worker are up at a time. */
const MOST = 3;

/** The servers of a worker, all in one place. */
class Servers {
  readonly place = new Place();
  /** By what they were asked to be; the one that was used last is last. */
  private readonly running = new Map<string, Server>();
  private started = 0;

  /** `leave` is called before a server ends that has not been used for the longest time. */
  async get(options: ServerOptions, leave: (server: Server) => Promise<void>): Promise<Server> {
    const key = JSON.stringify(options);
    const server = this.running.get(key) ?? new Server(this.place, `vscode-${++this.started}`, options);
    this.running.delete(key);
    this.running.set(key, server);
    for (const [other, unused] of [...this.running].slice(0, -MOST)) {
      this.running.delete(other);
      await leave(unused);
      await unused.end();
    }
    return server;
  }

  async end(): Promise<void> {
    await Promise.all([...this.running.values()].map((server) => server.end()));
    this.place.end();
  }
}

export const test = base.extend<Fixtures, { servers: Servers; windows: Windows }>({
  vscode: [{}, { option: true }],
  extension: [extension, { option: true }],
  beside: [[], { option: true }],

  servers: [
    // eslint-disable-next-line no-empty-pattern -- Playwright wants the pattern
    async ({}, use) => {
      const servers = new Servers();
      await use(servers);
      await servers.end();
    },
    { scope: 'worker' },
  ],

  windows: [
    async ({ playwright, servers, launchOptions }, use) => {
      // the browsers share a cache: VS Code's scripts are fetched once
      const windows = new Windows(() =>
        playwright.chromium.launchPersistentContext(servers.place.dir('browser'), {
          ...launchOptions,
          permissions: ['clipboard-read', 'clipboard-write'],
        }),
      );
      await use(windows);
      await windows.end();
    },
    { scope: 'worker' },
  ],

  world: async ({ servers }, use) => {
    const world = new World(servers.place);
    await use(world);
    world.end();
  },

  agent: async ({ world }, use) => use(new Agent(world)),

  code: async ({ servers, windows, world, vscode, extension, beside, viewport }, use, info) => {
    const options = { ...plain, ...(viewport ? { size: viewport } : {}), ...vscode };
    const { trusted, server } = options;
    const wanted = { extensions: [...beside, extension], trusted, server };
    const code = new Code(world, windows, await servers.get(wanted, (server) => windows.drop(server)), options);
    await use(code);
    const isFailed = info.status !== info.expectedStatus;
    if (isFailed) {
      for (const [name, body] of Object.entries(code.logs())) {
        await info.attach(name, { body, contentType: 'text/plain' });
      }
    }
    await code.end({ close: isFailed });
  },
});
