// Film and figures of work in a window by keys alone: tests/vscode/run -c film.config.ts day
import fs from 'node:fs';
import path from 'node:path';
import type { CDPSession, Page } from '@playwright/test';
import type { Workbench } from '../pages/workbench.ts';
import { film, type Picture } from './film.ts';

const folder = path.resolve(process.env['BACKSTITCH_FILMS'] ?? path.join(import.meta.dirname, '../.out/films'));

/** Least time between two pictures, in milliseconds. */
const INTERVAL = 150;
/** A screen is still that has not changed for so long, in milliseconds; it changes for no longer than the other. */
const STILL = 500;
const STILL_TIMEOUT = 5_000;
/** Time for which the last picture is shown, in milliseconds. */
const LAST = 3_000;

/** Figures of a scene. A scene never fails where an older server or extension lacks something: it is counted. */
export class Recording {
  keys = 0;
  /** How often the focus was not where the user had left it. */
  lost = 0;
  readonly notes: string[] = [];
  private readonly window: Workbench;
  private readonly scene: string;
  private readonly session: CDPSession;
  private readonly page: Page;
  private readonly began = Date.now();
  private readonly pictures: { png: Buffer; at: number }[] = [];
  private changed = 0;
  private stills = 0;

  private constructor(window: Workbench, scene: string, session: CDPSession) {
    this.window = window;
    this.scene = scene;
    this.session = session;
    this.page = window.page;
  }

  static async start(window: Workbench, scene: string): Promise<Recording> {
    const { page } = window;
    const session = await page.context().newCDPSession(page);
    const recording = new Recording(window, scene, session);
    session.on('Page.screencastFrame', ({ data, sessionId }) => {
      recording.add(Buffer.from(data, 'base64'));
      void session.send('Page.screencastFrameAck', { sessionId }).catch(() => {});
    });
    // a sign that turns would never let the screen be still
    await page.evaluate(() => {
      const style = new CSSStyleSheet();
      style.replaceSync('.codicon-modifier-spin, .monaco-progress-container * { animation: none !important }');
      document.adoptedStyleSheets.push(style);
    });
    const { width, height } = page.viewportSize()!;
    await session.send('Page.startScreencast', { format: 'png', maxWidth: width, maxHeight: height });
    return recording;
  }

  get seconds(): number {
    return Math.round((Date.now() - this.began) / 100) / 10;
  }

  async press(...keys: string[]): Promise<void> {
    for (const key of keys) {
      this.keys += 1;
      await this.page.keyboard.press(key);
    }
  }

  async type(text: string): Promise<void> {
    this.keys += text.length;
    await this.page.keyboard.type(text);
  }

  async command(title: string): Promise<void> {
    // F1, and Enter
    this.keys += title.length + 2;
    await this.window.command(title);
  }

  note(text: string): void {
    this.notes.push(`${this.seconds} s: ${text}`);
  }

  /** True once the condition holds; false if it does not within this time, in milliseconds. */
  async until(condition: () => boolean | Promise<boolean>, timeout = 5_000): Promise<boolean> {
    for (const end = Date.now() + timeout; Date.now() < end; ) {
      if (await condition()) return true;
      await this.frame();
    }
    return false;
  }

  /** Waits until the screen is still. */
  async still(): Promise<void> {
    const begin = Date.now();
    await this.until(() => Date.now() - Math.max(begin, this.changed) > STILL, STILL_TIMEOUT);
  }

  /** Notes if the focus is elsewhere than in one of these parts. */
  async focus(...parts: string[]): Promise<void> {
    const now = await this.window.focused();
    if (parts.includes(now)) return;
    this.lost += 1;
    this.note(`the focus is ${now}, not ${parts.join(' or ')}`);
  }

  async picture(name: string): Promise<void> {
    this.stills += 1;
    await this.page.screenshot({ path: this.file(`-${this.stills}-${name}.png`) });
  }

  /** Writes the film and its figures. */
  async end(figures: Record<string, unknown>): Promise<void> {
    const all = { ...figures, keys: this.keys, lost: this.lost, seconds: this.seconds, notes: this.notes };
    await this.still();
    await this.session.send('Page.stopScreencast');
    const shown = (at: number) => Math.min(60_000, (this.pictures[at + 1]?.at ?? this.pictures[at]!.at + LAST) - this.pictures[at]!.at);
    const pictures: Picture[] = this.pictures.map(({ png }, at) => ({ png, shown: shown(at) }));
    film(this.file('.png'), pictures);
    fs.writeFileSync(this.file('.json'), JSON.stringify(all, null, 2) + '\n');
    console.log(this.scene, JSON.stringify(all, null, 2));
  }

  private file(end: string): string {
    fs.mkdirSync(folder, { recursive: true });
    return path.join(folder, this.scene + end);
  }

  private add(png: Buffer): void {
    const last = this.pictures.at(-1);
    if (last?.png.equals(png)) return;
    const at = Date.now();
    if (last !== undefined && at - last.at < INTERVAL) last.png = png;
    else this.pictures.push({ png, at });
    this.changed = at;
  }

  private frame(): Promise<unknown> {
    return this.page.evaluate(() => new Promise((resolve) => requestAnimationFrame(resolve)));
  }
}
