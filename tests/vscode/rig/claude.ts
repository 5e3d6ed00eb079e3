// The real Claude Code, offline against a scripted model.
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import type { World } from './world.ts';

const rig = path.resolve(import.meta.dirname, '../../agents');
const folder = path.resolve(process.env['BACKSTITCH_TEST_AGENTS'] || path.join(rig, '../.cache/agents'));

/** True if it is installed. In CI it must be. */
export function claudeIsThere(): boolean {
  const there = fs.existsSync(path.join(folder, 'bin/claude'));
  if (!there && process.env['CI'] === 'true') throw new Error('Claude Code is not installed (tests/agents/install.sh)');
  return there;
}

/** Runs one prompt, in which the model calls these tools, to its end. Gives what the model was asked, as text. */
export function claude(world: World, steps: unknown[]): Promise<string> {
  const script = path.join(world.dir('script'), 'script.json');
  fs.writeFileSync(script, JSON.stringify({ prompts: ['go on'], workspace: {}, expect: {}, claude: steps }));
  const env = world.env();
  const args = [path.join(rig, 'run_agent.py'), 'claude', '--dest', folder, '--script', script];
  args.push('--workspace', world.root, '--home', world.home);
  for (const name of ['XDG_STATE_HOME', 'XDG_CONFIG_HOME']) args.push('--env', `${name}=${env[name]}`);
  const child = spawn('python3', args, { cwd: world.root, env, stdio: ['ignore', 'pipe', 'inherit'] });
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (part: string) => (output += part));
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code) => {
      if (code !== 0) return reject(new Error(`the agent's exit status is ${code}\n${output}`));
      const report = JSON.parse(output) as { exit: number; logs: Record<string, string> };
      if (report.exit !== 0) return reject(new Error(output));
      resolve(fs.readFileSync(report.logs['requests.jsonl']!, 'utf8'));
    });
  });
}
