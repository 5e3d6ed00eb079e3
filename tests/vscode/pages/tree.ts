// The tree of one view, in the side bar or the panel.
import { expect, type Locator, type Page } from '@playwright/test';
import { choose } from './menu.ts';

export class Tree {
  /** The view, its title included. */
  readonly pane: Locator;
  readonly rows: Locator;
  /** Welcome text instead of rows. */
  readonly welcome: Locator;
  /** A line above the rows. */
  readonly message: Locator;
  private readonly page: Page;

  constructor(page: Page, view: string) {
    this.page = page;
    this.pane = page.locator('.pane').filter({ has: page.locator(`.pane-header[aria-label^="${view}"]`) });
    this.rows = this.pane.locator('.monaco-list-row[role="treeitem"]');
    this.welcome = this.pane.locator('.welcome-view-content');
    this.message = this.pane.locator('.tree-explorer-viewlet-tree-view > .message');
  }

  /** A row by its label, whole or by a pattern. */
  row(label: string | RegExp): Locator {
    // an ending such as `.txt` is a separate element
    const name = this.page.locator('.monaco-icon-label-container, .monaco-highlighted-label');
    const text = typeof label === 'string' ? new RegExp(`^\\s*${RegExp.escape(label)}(?!\\S)`) : label;
    return this.rows.filter({ has: name.filter({ hasText: text }) });
  }

  /** The rows in view: indent, label, description. */
  async shown(): Promise<string[]> {
    return this.rows.evaluateAll((rows) => {
      const text = (row: Element, part: string) => row.querySelector(part)?.textContent?.trim() ?? '';
      return rows
        .map((row) => ({ row, top: parseFloat((row as HTMLElement).style.top) }))
        .sort((a, b) => a.top - b.top)
        .map(({ row }) => {
          const indent = '  '.repeat(Number(row.getAttribute('aria-level') ?? 1) - 1);
          const name = text(row, '.label-name') || text(row, '.monaco-highlighted-label');
          const label = name + text(row, '.label-suffix');
          const description = text(row, '.label-description');
          return indent + label + (description && ` · ${description}`);
        });
    });
  }

  /** Expands the view if it is collapsed to its title. */
  async show(): Promise<void> {
    const header = this.pane.locator('.pane-header');
    await header.waitFor();
    if ((await header.getAttribute('aria-expanded')) === 'false') await header.click();
  }

  /** Collapses the view to its title. */
  async hide(): Promise<void> {
    const header = this.pane.locator('.pane-header');
    if ((await header.getAttribute('aria-expanded')) === 'true') await header.click();
  }

  async expand(label: string | RegExp): Promise<void> {
    const row = this.row(label).first();
    // a click is lost where the row is drawn anew
    await expect(async () => {
      if ((await row.getAttribute('aria-expanded')) === 'false') await row.locator('.monaco-tl-twistie').click();
      await expect(row).toHaveAttribute('aria-expanded', 'true', { timeout: 2_000 });
    }).toPass();
  }

  /** A button of the row, by its tooltip. */
  async action(label: string | RegExp, button: string): Promise<void> {
    const row = this.row(label).first();
    await row.hover();
    await row.getByRole('button', { name: button }).click();
  }

  /** A button of the view's title. */
  async titleAction(button: string): Promise<void> {
    await this.pane.hover();
    await this.pane.locator('.pane-header').getByRole('button', { name: button }).click();
  }

  /** An entry of the row's menu. */
  async menu(label: string | RegExp, entry: string): Promise<void> {
    const open = () => this.row(label).first().click({ button: 'right', timeout: 10_000 });
    await choose(this.page, open, entry);
  }
}
