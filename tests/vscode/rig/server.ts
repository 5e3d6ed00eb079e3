// code-server on a free port of the loopback interface, with extensions and the environment of a place. It serves one
// window after the other: starting it takes longer than most tests.
import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { backstitch, builtin, codeServer, searchPath } from './places.ts';
import type { CodeOptions } from './vscode.ts';
import type { Place } from './world.ts';

export type ServerOptions = Pick<CodeOptions, 'trusted' | 'server'> & { extensions: string[] };

export class Server {
  /** The folder of the user's data. */
  readonly user: string;
  /** The folder of the installed extensions. */
  readonly extensions: string;
  /** Fails where it does not start. */
  readonly address: Promise<string>;
  log = '';
  private readonly process: ChildProcess;
  /** The processes that are there without a window. */
  private own = new Set<number>();

  /** Starts it; `address` waits until it answers. */
  constructor(place: Place, name: string, { extensions, trusted, server }: ServerOptions) {
    this.user = place.dir(`${name}/user`);
    this.extensions = place.dir(`${name}/extensions`);
    for (const extension of extensions) install(extension, this.extensions);

    const nowhere = 'http://127.0.0.1:9';
    const gallery = { serviceUrl: nowhere, itemUrl: nowhere, resourceUrlTemplate: nowhere };
    this.process = spawn(
      codeServer,
      [
        ...['--auth', 'none', '--bind-addr', '127.0.0.1:0'],
        ...['--user-data-dir', this.user, '--extensions-dir', this.extensions],
        ...['--disable-telemetry', '--disable-update-check', '--disable-proxy', '--ignore-last-opened'],
        '--disable-getting-started-override',
        ...['--builtin-extensions-dir', needed(place.dir('builtin'))],
        // a window that is closed does not come back
        ...['--reconnection-grace-time', '5'],
        ...(trusted ? ['--disable-workspace-trust'] : []),
      ],
      {
        cwd: place.base,
        // its own group, so that all that it starts can be ended with it
        detached: true,
        stdio: ['ignore', 'pipe', 'pipe'],
        env: {
          ...place.env(),
          PATH: server === 'missing' ? searchPath() : searchPath(only(backstitch, place.dir(`${name}/bin`))),
          // as if started from a shell: a login shell that is asked for the environment would have another search path
          VSCODE_CLI: '1',
          EXTENSIONS_GALLERY: JSON.stringify(gallery),
        },
      },
    );
    process.once('exit', this.kill);
    this.address = new Promise((found, failed) => {
      const listen = (data: Buffer) => {
        this.log += data;
        const address = /listening on (http:\/\/127\.0\.0\.1:\d+)/.exec(this.log)?.[1];
        if (!address) return;
        if (this.own.size === 0) this.own = new Set(this.group().map(({ pid }) => pid));
        found(address);
      };
      this.process.stdout?.on('data', listen);
      this.process.stderr?.on('data', listen);
      this.process.once('error', failed);
      this.process.once('exit', () => failed(new Error(`code-server has ended\n${this.log}`)));
    });
    this.address.catch(() => {}); // said by `open`
  }

  /** Prepares for a window: as if nobody had used it before, with these settings and keys of the user. */
  configure(settings: string, keys: unknown): void {
    const folder = path.join(this.user, 'User');
    fs.rmSync(folder, { recursive: true, force: true });
    fs.mkdirSync(folder, { recursive: true });
    this.writeSettings(settings);
    fs.writeFileSync(path.join(folder, 'keybindings.json'), JSON.stringify(keys));
    this.log = '';
  }

  writeSettings(text: string): void {
    fs.writeFileSync(path.join(this.user, 'User/settings.json'), text);
  }

  /** Processes that run the extensions of a window. */
  extensionHosts(): number[] {
    return this.group().flatMap(({ pid, words }) => (words.includes('--type=extensionHost') ? [pid] : []));
  }

  /** The inodes that the processes of the file watcher watch. */
  watched(): Set<number> {
    const inodes = new Set<number>();
    for (const { pid, words } of this.group()) {
      if (!words.includes('--type=fileWatcher')) continue;
      try {
        for (const descriptor of fs.readdirSync(`/proc/${pid}/fdinfo`)) {
          const info = fs.readFileSync(`/proc/${pid}/fdinfo/${descriptor}`, 'utf8');
          for (const [, inode] of info.matchAll(/^inotify wd:\w+ ino:(\w+)/gm)) inodes.add(parseInt(inode!, 16));
        }
      } catch {
        // it has ended, or has closed this
      }
    }
    return inodes;
  }

  /** Ends the window's extension host, and all that this has started. */
  endWindow(): void {
    this.signalWindow('SIGKILL');
  }

  /** Stops the same where they are, until they are ended. */
  freeze(): void {
    this.signalWindow('SIGSTOP');
  }

  private signalWindow(signal: NodeJS.Signals): void {
    for (const { pid, words } of this.group()) {
      // these serve all windows, or end by themselves
      if (this.own.has(pid) || /--type=(ptyHost|fileWatcher)/.test(words)) continue;
      try {
        process.kill(pid, signal);
      } catch {
        // it has ended
      }
    }
  }

  /** Ends it and all that it started. */
  async end(): Promise<void> {
    const gone = new Promise((resolve) => {
      if (this.process.exitCode !== null || this.process.signalCode !== null) resolve(true);
      else this.process.once('exit', resolve);
    });
    this.signal('SIGTERM');
    await Promise.race([gone, new Promise((resolve) => setTimeout(resolve, 5_000).unref())]);
    this.kill();
    process.removeListener('exit', this.kill);
  }

  /** The processes of its group, with their command lines. */
  private group(): { pid: number; words: string }[] {
    const found = [];
    for (const name of fs.readdirSync('/proc')) {
      if (!/^\d+$/.test(name)) continue;
      try {
        const stat = fs.readFileSync(`/proc/${name}/stat`, 'utf8');
        // state, parent, group
        const group = stat.slice(stat.lastIndexOf(')') + 2).split(' ')[2];
        if (Number(group) !== this.process.pid) continue;
        found.push({ pid: Number(name), words: fs.readFileSync(`/proc/${name}/cmdline`, 'utf8') });
      } catch {
        // it has ended
      }
    }
    return found;
  }

  private readonly kill = () => this.signal('SIGKILL');

  private signal(signal: NodeJS.Signals): void {
    if (this.process.pid === undefined) return;
    try {
      process.kill(-this.process.pid, signal);
    } catch {
      // nothing of the group is left
    }
  }
}

/** VS Code's own extensions that a test needs: each of the others costs every window some of its start. */
const NEEDED = [
  'configuration-editing',
  'git',
  'git-base',
  'ipynb',
  'json',
  'markdown-basics',
  'markdown-language-features',
  'merge-conflict',
  'node_modules',
  'notebook-renderers',
  'python',
  'search-result',
  'theme-defaults',
  'theme-seti',
  'yaml',
];

/** The folder, in which they are then alone. */
function needed(dir: string): string {
  for (const name of NEEDED) {
    const link = path.join(dir, name);
    if (!fs.existsSync(link)) fs.symlinkSync(path.join(builtin, name), link);
  }
  return dir;
}

/** The folder, in which the binary is then alone, for the search path. */
function only(binary: string, dir: string): string {
  fs.symlinkSync(binary, path.join(dir, 'backstitch'));
  return dir;
}

/** Unpacked, where VS Code finds it at its first start: under PUBLISHER.NAME-VERSION. */
function install(source: string, extensions: string): void {
  if (source.endsWith('.vsix')) {
    const args = ['--install-extension', source, '--extensions-dir', extensions];
    const done = spawnSync(codeServer, args, { encoding: 'utf8' });
    if (done.status !== 0) throw new Error(`${source} cannot be installed\n${done.stdout}${done.stderr}`);
    return;
  }
  const { publisher, name, version } = JSON.parse(fs.readFileSync(path.join(source, 'package.json'), 'utf8'));
  const target = path.join(extensions, `${publisher}.${name}-${version}`);
  fs.mkdirSync(target);
  for (const entry of fs.readdirSync(source)) {
    if (!/^(dist|client|server|media|l10n|package.*\.json|README\.md|LICENSE.*|CHANGELOG\.md)$/.test(entry)) continue;
    if (entry === 'package-lock.json') continue;
    fs.cpSync(path.join(source, entry), path.join(target, entry), { recursive: true });
  }
}
