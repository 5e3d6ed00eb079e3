// The box at the top of the window: palette, quick open, quick picks and input boxes of extensions.
import { expect, type Locator, type Page } from '@playwright/test';

export class QuickInput {
  readonly root: Locator;
  readonly input: Locator;
  readonly title: Locator;
  /** Message below the input, such as a validation error. */
  readonly message: Locator;
  readonly items: Locator;
  private readonly page: Page;

  constructor(page: Page) {
    this.page = page;
    this.root = page.locator('.quick-input-widget');
    this.input = this.root.locator('.quick-input-box input');
    this.title = this.root.locator('.quick-input-title');
    this.message = this.root.locator('.quick-input-message');
    this.items = this.root.locator('.quick-input-list .monaco-list-row');
  }

  /** Item by its label: the whole text, or a pattern for a part. */
  item(label: string | RegExp): Locator {
    const text = typeof label === 'string' ? new RegExp(`^\\s*${RegExp.escape(label)}\\s*$`) : label;
    return this.items.filter({ has: this.page.locator('.quick-input-list-label .label-name', { hasText: text }) });
  }

  /** Texts of an item, once it appears. */
  async shown(label: string | RegExp): Promise<{ label: string; description: string; detail: string }> {
    const item = this.item(label).first();
    await item.waitFor();
    const text = async (part: string) => (await item.locator(part).allTextContents()).join('').replaceAll('\u00a0', ' ');
    return {
      label: await text('.quick-input-list-row:first-child .label-name'),
      description: await text('.quick-input-list-row:first-child .label-description'),
      detail: await text('.quick-input-list-label-meta'),
    };
  }

  /** The labels of the items in view. */
  async labels(): Promise<string[]> {
    // the second line of a row has a detail
    const name = '.quick-input-list-row:first-child .label-name';
    const labels = await this.items.locator(name).allInnerTexts();
    // an icon leaves a leading space
    return labels.map((label) => label.trim());
  }

  /** Replaces the text in the box. */
  async type(text: string): Promise<void> {
    await this.input.fill(text);
  }

  /** Picks an item, and waits until the list with it is gone: what is typed before is lost. */
  async pick(label: string | RegExp): Promise<void> {
    await this.item(label).first().click();
    await expect(this.item(label).filter({ visible: true })).toHaveCount(0);
  }

  /** Gives VS Code's own box for files this path. */
  async path(path: string): Promise<void> {
    // first it writes the folder that it begins with
    await expect(this.input).toHaveValue(/\/$/);
    await expect(async () => {
      await this.type(path);
      await this.accept();
      await expect(this.root).toBeHidden({ timeout: 3_000 });
    }).toPass();
  }

  /** Ticks an item of a pick of many. */
  async tick(label: string | RegExp): Promise<void> {
    await this.item(label).locator('.quick-input-list-checkbox, .monaco-checkbox').first().click();
  }

  /** A button of an item, by its tooltip. */
  async itemButton(label: string | RegExp, button: string): Promise<void> {
    const item = this.item(label).first();
    await item.hover();
    await item.locator('.quick-input-list-entry-action-bar').getByRole('button', { name: button }).click();
  }

  /** A button beside the title or beside the box, by its tooltip. */
  button(name: string): Locator {
    return this.root.locator('.quick-input-titlebar, .quick-input-header').getByRole('button', { name });
  }

  async accept(): Promise<void> {
    await this.input.press('Enter');
  }

  /** Closes it, if it is open. */
  async cancel(): Promise<void> {
    if (!(await this.root.isVisible())) return;
    await this.page.keyboard.press('Escape');
    await expect(this.root).toBeHidden({ timeout: 2_000 });
  }
}
