// Plan of a restore: an editor that compares all of its files, with the decision among the buttons of its title.
import { expect, type Locator, type Page } from '@playwright/test';
import { MultiDiffEditor } from './diff-editor.ts';
import type { QuickInput } from './quick-input.ts';

export class Plan {
  readonly files: MultiDiffEditor;
  readonly tab: Locator;
  private readonly page: Page;
  private readonly group: Locator;
  private readonly quick: QuickInput;

  constructor(page: Page, group: Locator, files: MultiDiffEditor, quick: QuickInput) {
    this.page = page;
    this.group = group;
    this.files = files;
    this.quick = quick;
    this.tab = group.locator('.tab.active');
  }

  /** Waits until the plan is shown, with a title like this. */
  async ready(title?: string | RegExp): Promise<void> {
    await expect(this.button('Cancel')).toBeVisible();
    if (title !== undefined) await expect(this.tab).toHaveAttribute('aria-label', title);
  }

  /** A button of the title. */
  button(name: string): Locator {
    return this.group.locator('.editor-actions').getByRole('button', { name, exact: true });
  }

  /** Runs the plan by its button. */
  async run(verb: string): Promise<void> {
    await this.ready();
    await this.button(verb).click();
  }

  /** Runs a plan with conflicts. */
  async decide(verb: string, how: string): Promise<void> {
    await this.run(verb);
    await this.quick.pick(`${verb}, and ${how}`);
  }

  async option(label: string): Promise<void> {
    await this.ready();
    await this.button('Options…').click();
    await this.quick.pick(label);
  }

  /** Text of the plan itself: the lines of both sides, from above. */
  async text(): Promise<string> {
    const entry = this.files.entry('Backstitch Plan').root;
    return entry.locator('.editor.modified').first().evaluate((editor) => {
      const top = (line: Element) => line.getBoundingClientRect().top;
      return [...editor.querySelectorAll('.view-line')]
        .sort((a, b) => top(a) - top(b))
        .map((line) => (line.textContent ?? '').replaceAll('\u00a0', ' '))
        .join('\n');
    });
  }

  /** The lines of the plan that stand on the older side alone, from above. */
  async removed(): Promise<string> {
    const lines = this.files.entry('Backstitch Plan').removedInline;
    return (await lines.allInnerTexts()).map((line) => line.replaceAll('\u00a0', ' ')).join('\n');
  }

  /** Waits until no plan is open. */
  async closed(): Promise<void> {
    await expect(this.button('Cancel')).toHaveCount(0);
    await expect(this.page.locator('.tab[data-resource-name="Backstitch Plan"]')).toHaveCount(0);
  }
}
