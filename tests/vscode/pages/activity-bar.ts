// Activity bar: icons that open containers of views.
import { expect, type Locator, type Page } from '@playwright/test';
import { Tree } from './tree.ts';

export class ActivityBar {
  /** Title of the open container. */
  readonly opened: Locator;
  private readonly root: Locator;
  private readonly page: Page;

  constructor(page: Page) {
    this.page = page;
    this.root = page.locator('.part.activitybar');
    this.opened = page.locator('.part.sidebar .composite.title .title-label');
  }

  /** An icon by the title of its container: `Explorer`. */
  icon(name: string): Locator {
    return this.root.getByRole('tab', { name });
  }

  /** The number on an icon. */
  badge(name: string): Locator {
    return this.icon(name).locator('.badge-content');
  }

  /** Opens a container unless it is open. Another test may have left the first view of Backstitch collapsed. */
  async open(name: string): Promise<void> {
    const icon = this.icon(name);
    await icon.waitFor();
    if ((await icon.getAttribute('aria-expanded')) !== 'true') await icon.click();
    await expect(icon).toHaveAttribute('aria-expanded', 'true');
    if (name === 'Backstitch') await new Tree(this.page, 'Timeline').show();
  }
}
