// Web view of an extension: a page inside two frames.
import type { FrameLocator, Locator, Page } from '@playwright/test';

export class Webview {
  readonly outer: Locator;
  /** The extension's own page. */
  readonly frame: FrameLocator;

  constructor(page: Page, { extension, purpose }: { extension?: string; purpose?: string }) {
    const about = (name: string, value?: string) => (value === undefined ? '' : `[src*="${name}=${value}"]`);
    this.outer = page.locator(`iframe.webview${about('extensionId', extension)}${about('purpose', purpose)}`);
    this.frame = this.outer.first().contentFrame().locator('iframe#active-frame').contentFrame();
  }

  /** Waits until the extension's page is shown. `again`: opens it anew, since the first page of a browser is lost at times. */
  async ready(again?: () => Promise<void>): Promise<void> {
    const active = this.outer.first().contentFrame().locator('iframe#active-frame');
    for (let tries = 0; again !== undefined && tries < 3; tries += 1) {
      const shown = await active.waitFor({ timeout: 15_000 }).then(() => true, () => false);
      if (shown) return;
      await again();
    }
    await active.waitFor({ timeout: 120_000 });
  }

  locator(selector: string): Locator {
    return this.frame.locator(selector);
  }
}
