// Menu that a right click opens.
import { expect, type Page } from '@playwright/test';

/** Clicks an entry of the open menu. The menu ignores a click right after it opened: then it is still open. */
export async function chosen(page: Page, entry: string): Promise<void> {
  const item = page.locator('.monaco-menu').getByRole('menuitem', { name: entry }).first();
  await item.waitFor();
  await expect(async () => {
    if (await item.isVisible()) await item.click({ timeout: 3_000 });
    await item.waitFor({ state: 'hidden', timeout: 3_000 });
  }).toPass({ timeout: 90_000 });
}
