// VS Code on a world, with its own settings. The window may have been that of a test before (`windows.ts`); the page's
// contents are in `pages/`.
import fs from 'node:fs';
import path from 'node:path';
import { expect } from '@playwright/test';
import { Workbench } from '../pages/workbench.ts';
import type { Server } from './server.ts';
import type { Window, Windows } from './windows.ts';
import type { World } from './world.ts';

export interface CodeOptions {
  /** Beside and over `defaults`. */
  settings: Record<string, unknown>;
  theme: 'dark' | 'light' | 'contrast' | 'contrast light';
  /** True if the folder is trusted; an untrusted one opens in Restricted Mode. */
  trusted: boolean;
  /** True if the server's binary is found on the search path. */
  server: 'on PATH' | 'missing';
  /** Size of the window in pixels. */
  size: { width: number; height: number };
}

export const plain: CodeOptions = { settings: {}, theme: 'dark', trusted: true, server: 'on PATH', size: { width: 1280, height: 800 } };

const themes = {
  dark: 'Dark Modern',
  light: 'Light Modern',
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
  // the window of a test before has had a file of this name, perhaps at its end
  'workbench.editor.restoreViewState': false,
  'window.autoDetectColorScheme': false,
  'window.autoDetectHighContrast': false,
  'chat.disableAIFeatures': true,
  'chat.commandCenter.enabled': false,
  'files.autoSave': 'off',
  'files.simpleDialog.enable': true,
  'telemetry.telemetryLevel': 'off',
  'update.mode': 'none',
  'extensions.autoCheckUpdates': false,
  'extensions.autoUpdate': 'off',
  'extensions.ignoreRecommendations': true,
  'git.openRepositoryInParentFolders': 'never',
  'git.autofetch': false,
  'explorer.compactFolders': false,
  'editor.minimap.enabled': false,
  'editor.cursorBlinking': 'solid',
  // a word that VS Code proposes would take the next Enter
  'editor.quickSuggestions': { other: 'off', comments: 'off', strings: 'off' },
  'workbench.reduceMotion': 'on',
};

export class Code {
  private readonly world: World;
  private readonly windows: Windows;
  private readonly server: Server;
  private readonly chosen: Record<string, unknown>;
  private readonly size: CodeOptions['size'];
  private readonly began = Date.now();
  private window: Window | undefined;
  private second: Window | undefined;

  constructor(world: World, windows: Windows, server: Server, options: CodeOptions) {
    this.world = world;
    this.windows = windows;
    this.server = server;
    this.size = options.size;
    this.chosen = {
      ...defaults,
      'security.workspace.trust.enabled': !options.trusted,
      'security.workspace.trust.startupPrompt': 'never',
      'workbench.colorTheme': themes[options.theme],
      ...options.settings,
    };
  }

  /** Opens the world's workspace in a window, by another name where one is given, and a file of it. */
  async open(file?: string, folder = this.world.root): Promise<Workbench> {
    const { window, isOpen } = await this.windows.get(this.server, {
      folder,
      settings: this.text(),
      size: this.size,
    });
    this.window = window;
    const workbench = new Workbench(window.page);
    if (isOpen) {
      if (file !== undefined) await workbench.openFromExplorer(file);
    } else {
      await this.load(workbench, file, folder);
    }
    if (file !== undefined) await workbench.editor.ready(path.basename(file));
    await this.watches();
    return workbench;
  }

  /** Opens the workspace in a second window of the same user, and a file of it. */
  async beside(file: string): Promise<Workbench> {
    this.second = await this.windows.beside();
    const workbench = new Workbench(this.second.page);
    await this.load(workbench, file, this.world.root);
    await workbench.editor.ready(path.basename(file));
    return workbench;
  }

  private async load(workbench: Workbench, file: string | undefined, folder: string): Promise<void> {
    const address = await this.server.address;
    const host = new URL(address).host;
    const query = new URLSearchParams(folder.endsWith('.code-workspace') ? { workspace: folder } : { folder });
    if (file !== undefined) {
      const uri = `vscode-remote://${host}${path.join(folder, file)}`;
      query.set('payload', JSON.stringify([['openFile', uri]]));
    }
    const { page } = workbench;
    // VS Code may read the address before it is connected, and then opens neither folders nor the file
    await expect(async () => {
      await page.goto(`${address}/?${query}`);
      await workbench.ready();
      const first = file === undefined ? workbench.files.first() : workbench.editor.tab;
      if (file !== undefined || query.has('workspace')) await expect(first).toBeVisible({ timeout: 30_000 });
    }).toPass({ timeout: 120_000 });
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
      const isWatched = (folder: string) => watched.has(fs.statSync(folder).ino);
      const unseen = folders().filter((folder) => !isWatched(folder));
      // one that was made right after the one around it is missed, so it comes anew
      const [first] = unseen.filter((folder) => isWatched(path.dirname(folder)) && path.dirname(folder) !== this.world.root);
      if (first !== undefined) {
        fs.renameSync(first, `${first}~`);
        fs.renameSync(`${first}~`, first);
      }
      return unseen;
    };
    await expect.poll(missing, { timeout: 120_000, intervals: [50] }).toEqual([]);
  }

  /** Changes these of the user's settings. */
  async settings(some: Record<string, unknown>): Promise<void> {
    Object.assign(this.chosen, some);
    await this.windows.settings(this.text());
  }

  /** The text of the user's settings. */
  private text(): string {
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

  /** Leaves the window: for the next test where it is as it was at its beginning, else it is closed. */
  async end({ close = true } = {}): Promise<void> {
    const { window, second } = this;
    if (window === undefined) return;
    const away = [...window.away, ...(second?.away ?? [])];
    await second?.page.close();
    // the extension hosts of a server's windows end together
    if (close || second) await this.windows.close();
    else await this.windows.park();
    expect(away, 'hosts that a page asked for').toEqual([]);
  }
}
