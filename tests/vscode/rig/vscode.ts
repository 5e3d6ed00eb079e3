// One VS Code: code-server on a free port of the loopback interface, with the extension, settings of its own and the
// environment of a world. It owns the processes and the folders; what is to be seen in the page is in `pages/`.
import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { expect, type Page } from '@playwright/test';
import { Workbench } from '../pages/workbench.ts';
import { backstitch, codeServer, searchPath } from './places.ts';
import type { World } from './world.ts';

export interface CodeOptions {
  /** Beside and over `defaults`. */
  settings: Record<string, unknown>;
  theme: 'dark' | 'light' | 'contrast' | 'contrast light';
  /** Whether the folder is trusted; one that is not opens in Restricted Mode. */
  trusted: boolean;
  /** Whether the server's binary is found on the search path. */
  server: 'on PATH' | 'missing';
}

export const plain: CodeOptions = { settings: {}, theme: 'dark', trusted: true, server: 'on PATH' };

const themes = {
  dark: 'Default Dark Modern',
  light: 'Default Light Modern',
  contrast: 'Default High Contrast',
  'contrast light': 'Default High Contrast Light',
};

/** What keeps everything quiet that is not under test. */
const defaults = {
  'workbench.startupEditor': 'none',
  'workbench.welcomePage.walkthroughs.openOnInstall': false,
  'workbench.enableExperiments': false,
  'workbench.tips.enabled': false,
  'workbench.secondarySideBar.defaultVisibility': 'hidden',
  'workbench.editor.useModal': 'off',
  'window.autoDetectColorScheme': false,
  'window.autoDetectHighContrast': false,
  'chat.disableAIFeatures': true,
  'chat.commandCenter.enabled': false,
  'files.autoSave': 'off',
  'files.simpleDialog.enable': true,
  'telemetry.telemetryLevel': 'off',
  'update.mode': 'none',
  'extensions.autoCheckUpdates': false,
  'extensions.autoUpdate': false,
  'extensions.ignoreRecommendations': true,
  'git.openRepositoryInParentFolders': 'never',
  'git.autofetch': false,
  'editor.minimap.enabled': false,
  'editor.cursorBlinking': 'solid',
  'workbench.reduceMotion': 'on',
};

export class Code {
  /** Other hosts that the page asked for; none can be reached. */
  readonly away = new Set<string>();
  private readonly world: World;
  private readonly page: Page;
  private readonly user: string;
  private readonly process: ChildProcess;
  private readonly address: Promise<string>;
  private readonly chosen: Record<string, unknown> = {};
  private log = '';

  /** Starts it; `open` waits until it answers. */
  constructor(world: World, page: Page, extensions: string[], options: CodeOptions) {
    this.world = world;
    this.page = page;
    this.user = world.dir('vscode');
    const installed = world.dir('extensions');
    for (const extension of extensions) install(extension, installed);
    const settings = this.choose({
      ...defaults,
      'security.workspace.trust.enabled': !options.trusted,
      'security.workspace.trust.startupPrompt': 'never',
      'workbench.colorTheme': themes[options.theme],
      ...options.settings,
    });
    fs.writeFileSync(path.join(world.dir('vscode/User'), 'settings.json'), settings);
    page.on('request', (request) => {
      const { protocol, hostname } = new URL(request.url());
      // a name for webviews' own files, which their service worker answers
      if (hostname.endsWith('.vscode-cdn.net')) return;
      if (protocol.startsWith('http') && hostname !== '127.0.0.1') this.away.add(hostname);
    });

    const nowhere = 'http://127.0.0.1:9';
    const gallery = { serviceUrl: nowhere, itemUrl: nowhere, resourceUrlTemplate: nowhere };
    this.process = spawn(
      codeServer,
      [
        ...['--auth', 'none', '--bind-addr', '127.0.0.1:0'],
        ...['--user-data-dir', this.user, '--extensions-dir', installed],
        ...['--disable-telemetry', '--disable-update-check', '--disable-proxy', '--ignore-last-opened'],
        '--disable-getting-started-override',
        ...(options.trusted ? ['--disable-workspace-trust'] : []),
      ],
      {
        cwd: world.root,
        // a group of its own, so that all that it starts can be ended with it
        detached: true,
        stdio: ['ignore', 'pipe', 'pipe'],
        env: {
          ...world.env(),
          PATH: options.server === 'missing' ? searchPath() : searchPath(only(backstitch, world)),
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
        if (address) found(address);
      };
      this.process.stdout?.on('data', listen);
      this.process.stderr?.on('data', listen);
      this.process.once('error', failed);
      this.process.once('exit', () => failed(new Error(`code-server has ended\n${this.log}`)));
    });
    this.address.catch(() => {}); // said by `open`
  }

  /** Opens the world's workspace in the page, by another name where one is given, and a file of it. */
  async open(file?: string, folder = this.world.root): Promise<Workbench> {
    const address = await this.address;
    const query = new URLSearchParams({ folder });
    if (file !== undefined) {
      const uri = `vscode-remote://${new URL(address).host}${path.join(folder, file)}`;
      query.set('payload', JSON.stringify([['openFile', uri]]));
    }
    await this.page.goto(`${address}/?${query}`);
    const workbench = new Workbench(this.page);
    await workbench.ready();
    if (file !== undefined) await workbench.editor.ready(path.basename(file));
    await this.watches();
    return workbench;
  }

  /**
   * Waits until VS Code sees what becomes of files: what is written before its watcher runs it never hears of. Files
   * that git is told to pass over come until the window shows one.
   */
  private async watches(): Promise<void> {
    const name = 'is-it-watching';
    this.world.write('.git/info/exclude', `/${name}-*\n`);
    let tries = 0;
    await expect(async () => {
      tries++;
      const row = this.page.locator('.explorer-folders-view .monaco-list-row').filter({ hasText: `${name}-${tries}` });
      this.world.write(`${name}-${tries}`, '');
      const came = expect(row).toBeVisible({ timeout: 3_000 });
      await came.finally(() => this.world.remove(`${name}-${tries}`));
      // that it came may have been in the first listing; that it went was not
      await expect(row).toHaveCount(0, { timeout: 3_000 });
    }).toPass({ timeout: 60_000 });
  }

  /** Changes these of the user's settings in VS Code: it does not always hear of what others write into them. */
  async settings(window: Workbench, some: Record<string, unknown>): Promise<void> {
    const { page } = window;
    await window.run('Preferences: Open User Settings (JSON)');
    await window.editor.ready('settings.json');
    await page.keyboard.press('Control+A');
    await page.keyboard.insertText(this.choose(some));
    await window.editor.expectDirty(true);
    await window.editor.save();
    await window.run('View: Close Editor');
    await expect(window.editor.tab).not.toHaveAttribute('data-resource-name', 'settings.json');
  }

  /** The text of the user's settings, with these. */
  private choose(some: Record<string, unknown>): string {
    Object.assign(this.chosen, some);
    return JSON.stringify(this.chosen, null, 2);
  }

  /** What code-server, the extension host and the extensions' output channels said. */
  logs(): Record<string, string> {
    const logs: Record<string, string> = { 'code-server.log': this.log };
    const below = path.join(this.user, 'logs');
    for (const file of fs.existsSync(below) ? fs.readdirSync(below, { recursive: true, encoding: 'utf8' }) : []) {
      if (!/(remoteexthost|backstitch[^/]*)\.log$/i.test(file)) continue;
      logs[path.basename(file)] = fs.readFileSync(path.join(below, file), 'utf8');
    }
    return logs;
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

/** A folder in which the binary is alone, for the search path. */
function only(binary: string, world: World): string {
  const dir = world.dir('bin');
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
    if (!/^(dist|media|l10n|package.*\.json|README\.md|LICENSE.*|CHANGELOG\.md)$/.test(entry)) continue;
    if (entry === 'package-lock.json') continue;
    fs.cpSync(path.join(source, entry), path.join(target, entry), { recursive: true });
  }
}
