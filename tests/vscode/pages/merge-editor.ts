// Merge editor: two sides of a conflict, and the result below.
import type { Locator, Page } from '@playwright/test';
import { TextEditor } from './text-editor.ts';

export class MergeEditor {
  readonly root: Locator;
  readonly incoming: TextEditor;
  readonly current: TextEditor;
  readonly result: TextEditor;
  /** Number of remaining conflicts. */
  readonly remaining: Locator;
  readonly complete: Locator;

  constructor(page: Page, group: Locator) {
    this.root = group.locator('.merge-editor');
    const inputs = this.root.locator('.code-view.input');
    const text = (view: Locator) => new TextEditor(page, view.locator('.monaco-editor:not(.gutter)').first(), group);
    this.incoming = text(inputs.nth(0));
    this.current = text(inputs.nth(1));
    this.result = text(this.root.locator('.code-view.result'));
    this.remaining = this.root.getByRole('button', { name: /conflict/i }).filter({ hasText: /Remaining/ });
    this.complete = this.root.getByRole('button', { name: 'Complete Merge' });
  }

  async ready(): Promise<void> {
    await this.root.locator('.code-view.result .view-line').first().waitFor();
  }

  /** A link above a conflict: `Accept Incoming`. */
  action(title: string): Locator {
    return this.root.locator('.merge-editor-conflict-actions a').filter({ hasText: title }).first();
  }
}
