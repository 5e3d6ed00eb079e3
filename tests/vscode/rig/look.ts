// Screenshots for people: light, dark and high contrast, as the test selects.
import fs from 'node:fs';
import path from 'node:path';
import type { Page } from '@playwright/test';

const kept = path.resolve(import.meta.dirname, '../.looks');

/** Saves a screenshot of the window under this name, if `BACKSTITCH_LOOKS` is set: 60 of them take half a minute. */
export async function look(page: Page, name: string): Promise<void> {
  if (!process.env['BACKSTITCH_LOOKS']) return;
  fs.mkdirSync(kept, { recursive: true });
  await page.screenshot({ path: path.join(kept, `${name}.png`) });
}
