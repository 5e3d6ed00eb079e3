// The tests' own `test`: a world, an agent at work in it, and VS Code on it.
//
// What VS Code is to start with is said by `test.use({ vscode: { theme: 'light' } })`.
import { expect, test as base } from '@playwright/test';
import { Agent } from './agent.ts';
import { extension } from './places.ts';
import { Code, plain, type CodeOptions } from './vscode.ts';
import { World } from './world.ts';

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

export const test = base.extend<Fixtures>({
  vscode: [{}, { option: true }],
  extension: [extension, { option: true }],
  beside: [[], { option: true }],

  // eslint-disable-next-line no-empty-pattern -- Playwright wants the pattern
  world: async ({}, use) => {
    const world = new World();
    await use(world);
    world.end();
  },

  agent: async ({ world }, use) => use(new Agent(world)),

  code: async ({ world, page, vscode, extension, beside }, use, info) => {
    const code = new Code(world, page, [...beside, extension], { ...plain, ...vscode });
    await use(code);
    if (info.status !== info.expectedStatus) {
      for (const [name, body] of Object.entries(code.logs())) {
        await info.attach(name, { body, contentType: 'text/plain' });
      }
    }
    await page.close();
    await code.end();
    expect([...code.away], 'hosts that the page asked for').toEqual([]);
  },
});
