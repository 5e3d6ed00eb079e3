// Diff editor, side by side or inline, and multi-diff editor.
import { expect, type Locator, type Page } from '@playwright/test';
import { TextEditor } from './text-editor.ts';

export class DiffEditor {
  readonly root: Locator;
  readonly original: TextEditor;
  readonly modified: TextEditor;
  /** Removed lines in the inline view. */
  readonly removedInline: Locator;

  constructor(page: Page, group: Locator) {
    // a multi-diff editor keeps some that it does not show
    this.root = group.locator('.monaco-diff-editor').filter({ visible: true }).first();
    this.original = new TextEditor(page, this.root.locator('.editor.original .monaco-editor').first(), group);
    this.modified = new TextEditor(page, this.root.locator('.editor.modified .monaco-editor').first(), group);
    this.removedInline = this.root.locator('.editor.modified .view-lines.line-delete .view-line');
  }

  async ready(): Promise<void> {
    await this.root.locator('.editor.modified .view-line').first().waitFor();
  }

  /** Waits until one of its sides has the focus: an editor that opens takes it after it is drawn. */
  async hasFocus(): Promise<void> {
    await expect(this.root.locator('.monaco-editor.focused')).toHaveCount(1);
  }

  async isSideBySide(): Promise<boolean> {
    return this.root.evaluate((diff) => diff.classList.contains('side-by-side'));
  }

  /** Waits until both sides have these texts. */
  async expectTexts(original: string, modified: string): Promise<void> {
    await this.original.expectText(original);
    await this.modified.expectText(modified);
  }
}

export class MultiDiffEditor {
  readonly root: Locator;
  readonly entries: Locator;
  private readonly page: Page;

  constructor(page: Page, group: Locator) {
    this.page = page;
    this.root = group.locator('.multiDiffEditor, .monaco-component.multiDiffEditor').first();
    this.entries = this.root.locator('.multiDiffEntry:visible');
  }

  /** The names of the files in view, from above. */
  async files(): Promise<string[]> {
    // VS Code uses the elements again, in any order
    return this.entries.locator('.file-path .title:not(.original)').evaluateAll((titles) => {
      const top = (title: Element) => title.getBoundingClientRect().top;
      return titles.sort((a, b) => top(a) - top(b)).map((title) => (title as HTMLElement).innerText);
    });
  }

  async expectFiles(...files: (string | RegExp)[]): Promise<void> {
    const wanted = files.map((file) => (typeof file === 'string' ? file : expect.stringMatching(file)));
    await expect.poll(() => this.files()).toEqual(wanted);
  }

  /** The files in view with the letters of their changes, as VS Code shows them: none for one that is modified. */
  async letters(): Promise<string[]> {
    return this.entries.evaluateAll((entries) => {
      const text = (entry: Element, part: string) => entry.querySelector<HTMLElement>(part)?.innerText.trim() ?? '';
      return entries
        .map((entry) => ({ entry, top: entry.getBoundingClientRect().top }))
        .sort((a, b) => a.top - b.top)
        .map(({ entry }) => `${text(entry, '.file-path .status')} ${text(entry, '.file-path .title:not(.original) .label-name')}`.trim());
    });
  }

  /** The diff of a file in view, by a part of its name. */
  entry(name: string): DiffEditor {
    return new DiffEditor(this.page, this.entries.filter({ has: this.page.locator('.file-path', { hasText: name }) }));
  }
}
