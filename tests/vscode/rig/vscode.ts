// One window of VS Code on a world, with settings of its own. The server behind it may have had other windows before, one
// at a time; the page's contents are in `pages/`.
import fs from 'node:fs';
import path from 'node:path';
import { expect, type Page } from '@playwright/test';
import { Workbench } from '../pages/workbench.ts';
import type { Server } from './server.ts';
import type { World } from './world.ts';

export interface CodeOptions {
  /** Beside and over `defaults`. */
  settings: Record<string, unknown>;
  theme: 'dark' | 'light' | 'contrast' | 'contrast light';
  /** True if the folder is trusted; an untrusted one opens in Restricted Mode. */
  trusted: boolean;
  /** True if the server's binary is found on the search path. */
  server: 'on PATH' | 'missing';
}

export const plain: CodeOptions = { settings: {}, theme: 'dark', trusted: true, server: 'on PATH' };

const themes = {
  dark: 'Default Dark Modern',
  light: 'Default Light Modern',
  contrast: 'Default High Contrast',
  'contrast light': 'Default High Contrast Light',
};

/** Settings that keep everything quiet that is not under test. */
const defaults = {
  // most tests look for lenses and actions by the names of the full form; `settings.spec.ts` has the defaults
  'backstitch.lensForm': 'full',
  'backstitch.codeActions': 'all',
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
  // a word that VS Code proposes would take the next Enter
  'editor.quickSuggestions': { other: 'off', comments: 'off', strings: 'off' },
  'workbench.reduceMotion': 'on',
};

export class Code {
  /** Other hosts that the page asked for; none can be reached. */
  readonly away = new Set<string>();
  private readonly world: World;
  private readonly page: Page;
  private readonly server: Server;
  private readonly chosen: Record<string, unknown> = {};
  private readonly began = Date.now();

  constructor(world: World, page: Page, server: Server, options: CodeOptions) {
    this.world = world;
    this.page = page;
    this.server = server;
    const settings = this.choose({
      ...defaults,
      'security.workspace.trust.enabled': !options.trusted,
      'security.workspace.trust.startupPrompt': 'never',
      'workbench.colorTheme': themes[options.theme],
      ...options.settings,
    });
    server.configure(settings);
    page.on('request', (request) => {
      const { protocol, hostname } = new URL(request.url());
      // a name for webviews' own files, which their service worker answers
      if (hostname.endsWith('.vscode-cdn.net')) return;
      if (protocol.startsWith('http') && hostname !== '127.0.0.1') this.away.add(hostname);
    });

  }

  /** Opens the world's workspace in the page, by another name where one is given, and a file of it. */
  async open(file?: string, folder = this.world.root): Promise<Workbench> {
    const address = await this.server.address;
    const host = new URL(address).host;
    const query = new URLSearchParams(folder.endsWith('.code-workspace') ? { workspace: folder } : { folder });
    if (file !== undefined) {
      const uri = `vscode-remote://${host}${path.join(folder, file)}`;
      query.set('payload', JSON.stringify([['openFile', uri]]));
    }
    const workbench = new Workbench(this.page);
    const load = async () => {
      await this.page.goto(`${address}/?${query}`);
      await workbench.ready();
    };
    if (query.has('workspace')) {
      // VS Code may read the list of folders before it is connected, and then has none
      await expect(async () => {
        await load();
        await expect(workbench.files.first()).toBeVisible({ timeout: 15_000 });
      }).toPass({ timeout: 120_000 });
    } else {
      await load();
    }
    if (file !== undefined) await workbench.editor.ready(path.basename(file));
    await this.watches();
    return workbench;
  }

  /** Waits until VS Code watches the workspace: it never hears of what is written before. */
  private async watches(): Promise<void> {
    const folders = () => [
      this.world.root,
      ...fs
        .readdirSync(this.world.root, { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isDirectory() && !/\/\.git(\/|$)/.test(path.join(entry.parentPath, entry.name)))
        .map((entry) => path.join(entry.parentPath, entry.name)),
    ];
    const missing = () => {
      const watched = this.server.watched();
      return folders().filter((folder) => !watched.has(fs.statSync(folder).ino));
    };
    await expect.poll(missing, { timeout: 120_000, intervals: [50] }).toEqual([]);
  }

  /** Changes these of the user's settings in VS Code: it does not always hear of what others write into them. */
  async settings(window: Workbench, some: Record<string, unknown>): Promise<void> {
    const { page } = window;
    await window.run('Preferences: Open User Settings (JSON)');
    await window.editor.ready('settings.json');
    // the keys go to it from now on
    await window.editor.goto(1);
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

  /** Output of code-server, the extension host and the extensions' output channels said since this window was opened. */
  logs(): Record<string, string> {
    const logs: Record<string, string> = { 'code-server.log': this.server.log };
    const below = path.join(this.server.user, 'logs');
    for (const file of fs.existsSync(below) ? fs.readdirSync(below, { recursive: true, encoding: 'utf8' }) : []) {
      if (!/(remoteexthost|backstitch[^/]*)\.log$/i.test(file)) continue;
      if (fs.statSync(path.join(below, file)).mtimeMs < this.began) continue;
      logs[path.basename(file)] = fs.readFileSync(path.join(below, file), 'utf8');
    }
    return logs;
  }

  /** Closes the window, and ends all that the server started for it. */
  async end(): Promise<void> {
    await this.page.close();
    this.server.endWindow();
    await this.forget();
  }

  /** Empties the browser's storage for this server, but not its cache: VS Code keeps the state of a user there. */
  private async forget(): Promise<void> {
    const context = this.page.context();
    const page = context.pages()[0] ?? (await context.newPage());
    const session = await context.newCDPSession(page);
    const origin = new URL(await this.server.address).origin;
    await session.send('Storage.clearDataForOrigin', { origin, storageTypes: 'cookies,indexeddb,local_storage' });
    await session.detach();
  }
}
