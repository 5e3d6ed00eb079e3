// The line at the bottom.
import type { Locator, Page } from '@playwright/test';

export class StatusBar {
  readonly items: Locator;

  constructor(page: Page) {
    this.items = page.locator('.part.statusbar .statusbar-item');
  }

  item(text: string | RegExp): Locator {
    return this.items.filter({ hasText: text });
  }

  async click(text: string | RegExp): Promise<void> {
    await this.item(text).first().locator('a').first().click();
  }
}
