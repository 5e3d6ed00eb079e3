// Menu that a right click opens.
import { expect, type Page } from '@playwright/test';

/** Opens a menu, and clicks an entry of it. A redraw closes the menu: then it is opened again. */
export async function choose(page: Page, open: () => Promise<void>, entry: string): Promise<void> {
  const item = page.locator('.monaco-menu').getByRole('menuitem', { name: entry }).first();
  await expect(async () => {
    if (!(await item.isVisible())) {
      await open();
      await item.waitFor({ timeout: 3_000 });
    }
    await item.click({ timeout: 3_000 });
    // a click right after the menu opened is ignored: then it is still open
    await item.waitFor({ state: 'hidden', timeout: 3_000 });
  }).toPass({ timeout: 90_000 });
}
