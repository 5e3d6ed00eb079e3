// Memory of the REPL's page with a long transcript, and the time until it is shown: tests/vscode/run -c measure.config.ts repl
import { Lsp } from './rig/lsp.ts';
import { Program } from './rig/program.ts';
import { expect, test } from './rig/test.ts';

const ENTRIES = 5000;

test('a transcript of 5000 entries', async ({ world, code }) => {
  world.commit({ 'agent.py': 'import backstitch_debug as bs\nbs.on()\nbs.pause("here")\n' });
  const window = await code.open('agent.py');
  const program = new Program(world, 'agent.py');
  await expect.poll(() => world.json('pauses').pauses.length).toBe(1);
  const lsp = await Lsp.start(world);
  try {
    const { session } = await lsp.request('backstitch/repl/start', { pause: 'p1' });
    const evaluate = (n: number) => {
      const input = `{"step": ${n}, "words": ["read", "the", "tests"]}`;
      return lsp.request('backstitch/repl/eval', { session: session.id, input });
    };
    await evaluate(0);
    await window.run('Backstitch: List REPL Sessions');
    const repl = window.webview({ purpose: 'webviewView' });
    const heap = () =>
      repl.locator('body').evaluate(() => {
        const { memory } = performance as unknown as { memory: { usedJSHeapSize: number } };
        return memory.usedJSHeapSize / 1e6;
      });
    const link = repl.locator(`button.link:has-text("${session.id}")`);
    await expect(link).toBeVisible();
    const before = await heap();
    for (let n = 1; n < ENTRIES; n += 100) {
      await Promise.all(Array.from({ length: Math.min(100, ENTRIES - n) }, (_, m) => evaluate(n + m)));
    }
    const begin = Date.now();
    await link.click();
    await expect(repl.locator('pre.input')).toHaveCount(ENTRIES);
    console.log(`shown after ${Date.now() - begin} ms, of which the count is a part`);
    console.log(`heap of the page: ${before.toFixed(1)} MB before, ${(await heap()).toFixed(1)} MB with ${ENTRIES} entries`);
  } finally {
    lsp.end();
  }
  world.run('resume');
  await program.ended;
});
