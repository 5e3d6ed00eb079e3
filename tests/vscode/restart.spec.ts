// Crashes and restarts of the server.
import { expect, test } from './rig/test.ts';

const TEXT = 'one\ntwo\nthree\n';

// S4-024: the history survives the end of its server.
test('a server that dies comes back, and what was shown with it', async ({ world, agent, code }) => {
  world.commit({ 'a.txt': TEXT });
  agent.start();
  agent.turn('make it two', () => agent.edit('a.txt', 'two', '2'));
  const window = await code.open('a.txt');
  await expect(window.editor.lens('turn 1')).toBeVisible();
  const [server] = world.json('status').editors;
  process.kill(server.pid, 'SIGKILL');
  await expect.poll(() => world.json('status').editors[0]?.pid ?? server.pid, { timeout: 120_000 }).not.toBe(server.pid);
  agent.turn('make it three', () => agent.edit('a.txt', 'three', '3'));
  await expect(window.editor.lens('turn 2')).toBeVisible();
  await window.editor.lens('turn 2').click();
  await window.plan.run('Rewind');
  await expect.poll(() => world.read('a.txt')).toBe(TEXT.replace('two', '2'));
});
