// The tests' own `test`: a world, an agent at work in it, and a window of VS Code on it. Each worker keeps the servers that
// it has started: a test that wants the same extensions, trust and search path as one before it gets the same server.
//
// The start settings of VS Code are given by `test.use({ vscode: { theme: 'light' } })`.
import { expect, test as base, type BrowserContext } from '@playwright/test';
import { Agent } from './agent.ts';
import { extension } from './places.ts';
import { Server, type ServerOptions } from './server.ts';
import { Code, plain, type CodeOptions } from './vscode.ts';
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
const MOST = 2;

/** The servers of a worker, all in one place. */
class Servers {
  readonly place = new Place();
  /** By what they were asked to be; the one that was used last is last. */
  private readonly running = new Map<string, Server>();
  private started = 0;

  async get(options: ServerOptions): Promise<Server> {
    const key = JSON.stringify(options);
    const server = this.running.get(key) ?? new Server(this.place, `vscode-${++this.started}`, options);
    this.running.delete(key);
    this.running.set(key, server);
    for (const [other, unused] of [...this.running].slice(0, -MOST)) {
      this.running.delete(other);
      await unused.end();
    }
    return server;
  }

  async end(): Promise<void> {
    await Promise.all([...this.running.values()].map((server) => server.end()));
    this.place.end();
  }
}

/** How many windows a browser opens: it keeps something of each. */
const WINDOWS = 8;

/** The browsers of a worker, one after the other. They share a cache: VS Code's scripts are fetched once. */
class Browsers {
  private readonly launch: () => Promise<BrowserContext>;
  private context: BrowserContext | undefined;
  private windows = 0;

  constructor(launch: () => Promise<BrowserContext>) {
    this.launch = launch;
  }

  async get(): Promise<BrowserContext> {
    if (this.windows++ % WINDOWS === 0) await this.end();
    return (this.context ??= await this.launch());
  }

  async end(): Promise<void> {
    await this.context?.close();
    this.context = undefined;
  }
}

export const test = base.extend<Fixtures, { servers: Servers; browsers: Browsers }>({
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

  browsers: [
    async ({ playwright, servers, launchOptions }, use) => {
      const browsers = new Browsers(() =>
        playwright.chromium.launchPersistentContext(servers.place.dir('browser'), {
          ...launchOptions,
          permissions: ['clipboard-read', 'clipboard-write'],
        }),
      );
      await use(browsers);
      await browsers.end();
    },
    { scope: 'worker' },
  ],

  context: async ({ browsers }, use) => use(await browsers.get()),

  page: async ({ context, viewport }, use) => {
    // beside an empty one, without which the browser would end
    const page = await context.newPage();
    if (viewport) await page.setViewportSize(viewport);
    await use(page);
    await page.close();
  },

  world: async ({ servers }, use) => {
    const world = new World(servers.place);
    await use(world);
    world.end();
  },

  agent: async ({ world }, use) => use(new Agent(world)),

  code: async ({ servers, world, page, vscode, extension, beside }, use, info) => {
    const options = { ...plain, ...vscode };
    const { trusted, server } = options;
    const wanted = { extensions: [...beside, extension], trusted, server };
    const code = new Code(world, page, await servers.get(wanted), options);
    await use(code);
    if (info.status !== info.expectedStatus) {
      for (const [name, body] of Object.entries(code.logs())) {
        await info.attach(name, { body, contentType: 'text/plain' });
      }
    }
    await code.end();
    expect([...code.away], 'hosts that the page asked for').toEqual([]);
  },
});
