// Two sides of a conflict, and the result below.
import type { Locator, Page } from '@playwright/test';
import { TextEditor } from './text-editor.ts';

export class MergeEditor {
  readonly root: Locator;
  readonly incoming: TextEditor;
  readonly current: TextEditor;
  readonly result: TextEditor;
  /** How many conflicts are left. */
  readonly remaining: Locator;
  readonly complete: Locator;

  constructor(page: Page, group: Locator) {
    this.root = group.locator('.merge-editor');
    const side = (name: string) => new TextEditor(page, this.root.locator(`.code-view.${name} .monaco-editor`).first(), group);
    this.incoming = side('input1');
    this.current = side('input2');
    this.result = side('result');
    this.remaining = this.root.locator('.code-view.result .detail');
    this.complete = this.root.getByRole('button', { name: 'Complete Merge' });
  }

  async ready(): Promise<void> {
    await this.root.locator('.code-view.result .view-line').first().waitFor();
  }

  /** A link above a conflict: `Accept Incoming`. */
  action(title: string): Locator {
    return this.root.locator('.conflict-actions a, .merge-editor-conflict-actions a').filter({ hasText: title }).first();
  }
}
