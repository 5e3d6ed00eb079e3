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

  /** Waits until the extension's page is shown. */
  async ready(): Promise<void> {
    const active = this.outer.first().contentFrame().locator('iframe#active-frame');
    await active.waitFor({ timeout: 120_000 });
  }

  locator(selector: string): Locator {
    return this.frame.locator(selector);
  }
}
