// A workspace with a home and its own environment, and the command line in it: `e2e/support` for VS Code's tests.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { backstitch, searchPath } from './places.ts';

/** How a run ended. */
export interface Output {
  code: number;
  stdout: string;
  stderr: string;
}

/** A directory with a home and an environment; worlds live in it one after the other, and a server as long as it. */
export class Place {
  readonly base = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), 'backstitch-vscode-')));
  readonly home = this.dir('home');

  /** A folder in it, made where it is not there. */
  dir(name: string): string {
    const dir = path.join(this.base, name);
    fs.mkdirSync(dir, { recursive: true });
    return dir;
  }

  /** All of the environment that anything here gets. */
  env(): Record<string, string> {
    return {
      PATH: searchPath(),
      HOME: this.home,
      XDG_STATE_HOME: this.dir('state'),
      XDG_CONFIG_HOME: this.dir('config'),
      XDG_DATA_HOME: this.dir('data'),
      XDG_CACHE_HOME: this.dir('cache'),
      XDG_RUNTIME_DIR: this.dir('runtime'),
      LANG: 'C.UTF-8',
      TZ: 'UTC',
      NO_COLOR: '1',
      SHELL: '/bin/sh',
      GIT_CONFIG_NOSYSTEM: '1',
      GIT_CONFIG_GLOBAL: '/dev/null',
      GIT_TERMINAL_PROMPT: '0',
      GIT_AUTHOR_NAME: 'Dev',
      GIT_AUTHOR_EMAIL: 'dev@example.com',
      GIT_AUTHOR_DATE: '2026-01-02T03:04:05Z',
      GIT_COMMITTER_NAME: 'Dev',
      GIT_COMMITTER_EMAIL: 'dev@example.com',
      GIT_COMMITTER_DATE: '2026-01-02T03:04:05Z',
    };
  }

  /** Empties the home and the folders of the environment; code-server continues with its own. */
  clear(): void {
    for (const name of ['home', 'state', 'config', 'data', 'cache', 'runtime']) {
      for (const entry of fs.readdirSync(this.dir(name))) {
        if (!/^(code-server|vscode)/.test(entry)) remove(path.join(this.base, name, entry));
      }
    }
  }

  end(): void {
    remove(this.base);
  }
}

export class World {
  readonly place: Place;
  readonly base: string;
  /** The workspace: a git repository without commits. */
  readonly root: string;
  readonly home: string;
  /** Counts the agents at work here. */
  agents = 0;

  constructor(place: Place) {
    this.place = place;
    // every time the same: a window stays open from one world to the next
    this.base = place.dir('world');
    this.root = this.dir('work');
    this.home = place.home;
    this.git('init', '-q', '-b', 'main');
  }

  /** A folder beside the workspace, made where it is not there. */
  dir(name: string): string {
    const dir = path.join(this.base, name);
    fs.mkdirSync(dir, { recursive: true });
    return dir;
  }

  /** All of the environment that anything here gets. */
  env(): Record<string, string> {
    return this.place.env();
  }

  // ---- running ---------------------------------------------------------------------------------------------------

  /** Runs a program in the workspace to its end. */
  spawn(program: string, args: string[], { input = '', env = {} as Record<string, string> } = {}): Output {
    const done = spawnSync(program, args, {
      cwd: this.root,
      env: { ...this.env(), ...env },
      input,
      encoding: 'utf8',
      timeout: 120_000,
      maxBuffer: 1 << 26,
    });
    if (done.error) throw done.error;
    return { code: done.status ?? -1, stdout: done.stdout, stderr: done.stderr };
  }

  /** The same, and anything but exit status 0 fails the test; gives its standard output. */
  private ok(program: string, args: string[]): string {
    const done = this.spawn(program, args);
    assert.equal(done.code, 0, `${program} ${args.join(' ')}\n${done.stdout}\n${done.stderr}`);
    return done.stdout;
  }

  git(...args: string[]): string {
    return this.ok('git', args);
  }

  sh(command: string): Output {
    return this.spawn('sh', ['-c', command]);
  }

  /** Backstitch's command line, which must do what it is told; gives its standard output. */
  run(...args: string[]): string {
    return this.ok(backstitch, args);
  }

  /** The same with `--json`, read. */
  // eslint-disable-next-line @typescript-eslint/no-explicit-any -- the shape is the command's
  json(...args: string[]): any {
    return JSON.parse(this.run('--json', ...args));
  }

  /** The one command of all hooks in Claude Code's settings of the user. */
  hookCommand(): string {
    const { hooks } = JSON.parse(this.read(this.claudeSettings)) as {
      hooks: Record<string, { hooks: { command: string }[] }[]>;
    };
    const all = Object.values(hooks).flatMap((groups) => groups.flatMap((group) => group.hooks));
    // without the limit and the guard of hooks that may hold a call
    const bare = (command: string) => command.split('; ')[0]!.split(' --limit ')[0]!;
    const [command, ...others] = new Set(all.map(({ command }) => bare(command)));
    assert.ok(command !== undefined && others.length === 0, `${command} and ${others.join()}`);
    return command;
  }

  get claudeSettings(): string {
    return path.join(this.home, '.claude/settings.json');
  }

  /** Has the hooks run this program. */
  hookProgram(program: string): void {
    this.run('setup', 'claude-code');
    const text = this.read(this.claudeSettings);
    this.write(this.claudeSettings, text.replaceAll(this.hookCommand(), `${program} hook claude-code`));
  }

  /** Sends a prompt as Claude Code does: what its settings say is run by a shell. Gives the exit status. */
  promptByHook(prompt: string): number {
    const payload = { session_id: 's', hook_event_name: 'UserPromptSubmit', prompt, cwd: this.root };
    return this.spawn('sh', ['-c', this.hookCommand()], { input: JSON.stringify(payload) }).code;
  }

  // ---- files -----------------------------------------------------------------------------------------------------

  path(file: string): string {
    return path.resolve(this.root, file);
  }

  read(file: string): string {
    return fs.readFileSync(this.path(file), 'utf8');
  }

  write(file: string, content: string | Uint8Array): void {
    fs.mkdirSync(path.dirname(this.path(file)), { recursive: true });
    fs.writeFileSync(this.path(file), content);
  }

  exists(file: string): boolean {
    return fs.lstatSync(this.path(file), { throwIfNoEntry: false }) !== undefined;
  }

  remove(file: string): void {
    fs.rmSync(this.path(file), { recursive: true });
  }

  /** Writes these files and commits all that is there. */
  commit(files: Record<string, string> = {}, message = 'start'): void {
    for (const [file, content] of Object.entries(files)) this.write(file, content);
    this.git('add', '-A');
    this.git('commit', '-q', '-m', message);
  }

  /** Removes all of it but the folder of the workspace, which a window may have open, and what it left in its place. */
  end(): void {
    empty(this.root);
    for (const entry of fs.readdirSync(this.base)) {
      if (entry !== path.basename(this.root)) remove(path.join(this.base, entry));
    }
    this.place.clear();
  }
}

function empty(dir: string): void {
  for (const entry of fs.readdirSync(dir)) remove(path.join(dir, entry));
}

function remove(path: string): void {
  fs.rmSync(path, { recursive: true, force: true, maxRetries: 10, retryDelay: 200 });
}
