// The windows of a worker, one of them in use at a time, and at most one of each server. A window takes far longer to open
// than most tests take, so a test that wants the same folder as the one before gets its window, emptied, with its own
// settings and a new extension host.
import { isDeepStrictEqual } from 'node:util';
import { expect, type BrowserContext, type Page, type ViewportSize } from '@playwright/test';
import { Workbench } from '../pages/workbench.ts';
import type { Server } from './server.ts';

/** Start of a window. */
interface Start {
  folder: string;
  size: ViewportSize;
  /** Text of the user's settings. */
  settings: string;
}

export interface Window {
  readonly page: Page;
  /** Other hosts that the page asked for; none can be reached. */
  readonly away: Set<string>;
}

/** How many windows a browser opens: it keeps something of each. */
const WINDOWS = 12;
/** How many tests a window serves. */
const TESTS = 40;

const isLike = (one: Start, other: Start) => one.folder === other.folder && isDeepStrictEqual(one.size, other.size);

const PARK = 'Control+Alt+Shift+F6';
const SETTINGS = 'Control+Alt+Shift+F7';
const CLEAR = 'Control+Alt+Shift+F5';
const SAVE = 'Control+Alt+Shift+F8';
/** Keys of the user by which a window is emptied, and reads its settings again. */
const KEYS = [
  key(
    PARK,
    'workbench.action.closeAllEditors',
    'workbench.action.closePanel',
    'workbench.view.explorer',
    'notifications.clearAll',
  ),
  key(CLEAR, 'notifications.clearAll', 'workbench.view.explorer', 'workbench.files.action.refreshFilesExplorer'),
  key(SETTINGS, 'workbench.action.openSettingsJson'),
  // an unchanged file is written, too; without formatting: no extension is asked, which may be frozen
  key(SAVE, 'workbench.action.files.saveWithoutFormatting', 'workbench.action.closeActiveEditor'),
];

function key(name: string, ...commands: string[]): unknown {
  return { key: name.toLowerCase().replace('control', 'ctrl'), command: 'runCommands', args: { commands } };
}

/** Opens a page, beside an empty one without which the browser would end. */
async function page(context: BrowserContext, size: ViewportSize): Promise<Window> {
  const page = await context.newPage();
  await page.setViewportSize(size);
  const away = new Set<string>();
  page.on('request', (request) => {
    const { protocol, hostname } = new URL(request.url());
    // a name for webviews' own files, which their service worker answers
    if (hostname.endsWith('.vscode-cdn.net')) return;
    if (protocol.startsWith('http') && hostname !== '127.0.0.1') away.add(hostname);
  });
  return { page, away };
}

interface ServerWindow extends Window {
  readonly server: Server;
  readonly start: Start;
  settings: string;
  tests: number;
}

export class Windows {
  private readonly launch: () => Promise<BrowserContext>;
  private context: BrowserContext | undefined;
  private opened = 0;
  private written = 0;
  private current: ServerWindow | undefined;
  private readonly parked = new Map<Server, ServerWindow>();

  constructor(launch: () => Promise<BrowserContext>) {
    this.launch = launch;
  }

  /** The window that is parked, awake again, where it has begun like this; else a new and empty page. */
  async get(server: Server, start: Start): Promise<{ window: Window; isOpen: boolean }> {
    await this.close();
    const kept = this.parked.get(server);
    this.parked.delete(server);
    this.current = kept;
    if (kept && isLike(kept.start, start) && kept.tests < TESTS) {
      kept.tests += 1;
      await kept.page.bringToFront();
      if (kept.settings !== start.settings) await this.settings(start.settings);
      await this.wake();
      return { window: kept, isOpen: true };
    }
    await this.close();
    server.configure(start.settings, KEYS);
    const window = await page(await this.browser(), start.size);
    this.current = { ...window, server, start, settings: start.settings, tests: 1 };
    return { window: this.current, isOpen: false };
  }

  /** A new and empty page beside the window, for another window of the same user. */
  async beside(): Promise<Window> {
    return page(this.context!, this.current!.start.size);
  }

  /** Changes the user's settings. VS Code does not always hear of what others write into them, but of what it writes. */
  async settings(text: string): Promise<void> {
    const { page, server } = this.current!;
    const window = new Workbench(page);
    const tab = window.tab('settings.json');
    // tells these settings from the ones before, and says when they are in force
    const title = `settings ${++this.written}`;
    const settings = JSON.stringify({ 'window.title': title, ...(JSON.parse(text) as object) }, null, 2);
    await expect(async () => {
      server.writeSettings(settings);
      await window.quick.cancel();
      await page.keyboard.press(SETTINGS);
      await expect(tab).toHaveCount(1, { timeout: 5_000 });
      await expect.poll(async () => (await window.editor.lines())[1], { intervals: [50], timeout: 5_000 }).toContain(title);
      await page.keyboard.press(SAVE);
      await expect(tab).toHaveCount(0, { timeout: 5_000 });
      await expect(page).toHaveTitle(title, { timeout: 2_000 });
    }).toPass();
    this.current!.settings = text;
  }

  /** Empties the window and freezes its extensions: nothing in it takes part in what the next test prepares. */
  async park(): Promise<void> {
    const { page, server } = this.current!;
    const { quick, dialog, notifications } = new Workbench(page);
    await quick.cancel();
    const tabs = page.locator('.editor-group-container .tab');
    // a web view that is shown at this moment takes the key
    await expect(async () => {
      await page.keyboard.press(PARK);
      await expect(async () => {
        if (await dialog.root.isVisible()) await dialog.press("Don't Save");
        expect(await tabs.count()).toBe(0);
        expect(await notifications.toasts.count()).toBe(0);
      }).toPass({ intervals: [50], timeout: 20_000 });
    }).toPass();
    server.freeze();
    this.parked.set(server, this.current!);
    this.current = undefined;
  }

  /** Gives the window a new extension host. */
  private async wake(): Promise<void> {
    const { page, server } = this.current!;
    const { notifications, dialog, quick } = new Workbench(page);
    // messages since the end of the last test: a file that is gone cannot be shown
    await expect(async () => {
      if (await dialog.root.isVisible()) await page.keyboard.press('Escape');
      await quick.cancel();
      await page.keyboard.press(CLEAR);
      await expect(notifications.toasts).toHaveCount(0, { timeout: 1_000 });
    }).toPass();
    const before = server.extensionHosts();
    server.endWindow();
    const ended = notifications.toast('Remote Extension host terminated');
    await expect(async () => {
      // VS Code asks where it has happened three times
      if (await ended.isVisible()) await ended.getByRole('button', { name: /^Restart/ }).click({ timeout: 2_000 });
      expect(server.extensionHosts().some((pid) => !before.includes(pid))).toBe(true);
      await expect(ended).toHaveCount(0, { timeout: 2_000 });
    }).toPass({ intervals: [50] });
  }

  private async browser(): Promise<BrowserContext> {
    if (this.opened++ % WINDOWS === 0) await this.quit();
    return (this.context ??= await this.launch());
  }

  /** Closes the window, and ends all that the server started for it. */
  async close(): Promise<void> {
    const { current } = this;
    if (!current) return;
    this.current = undefined;
    await current.page.close();
    current.server.endWindow();
    await this.forget(current.server);
  }

  /** Closes the window of a server, which is about to end. */
  async drop(server: Server): Promise<void> {
    await this.close();
    this.current = this.parked.get(server);
    this.parked.delete(server);
    await this.close();
  }

  /** Empties the browser's storage for this server, but not its cache: VS Code keeps the state of a user there. */
  private async forget(server: Server): Promise<void> {
    const context = this.context!;
    const page = context.pages()[0] ?? (await context.newPage());
    const session = await context.newCDPSession(page);
    const origin = new URL(await server.address).origin;
    await session.send('Storage.clearDataForOrigin', { origin, storageTypes: 'cookies,indexeddb,local_storage' });
    await session.detach();
  }

  private async quit(): Promise<void> {
    for (const server of [...this.parked.keys()]) await this.drop(server);
    await this.context?.close();
    this.context = undefined;
  }

  async end(): Promise<void> {
    await this.close();
    await this.quit();
  }
}
