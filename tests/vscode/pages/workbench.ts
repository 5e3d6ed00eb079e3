// The whole window: access to all other page objects, and commands.
import { expect, type Locator, type Page } from '@playwright/test';
import { ActivityBar } from './activity-bar.ts';
import { DiffEditor, MultiDiffEditor } from './diff-editor.ts';
import { MergeEditor } from './merge-editor.ts';
import { Dialog, Notifications } from './notifications.ts';
import { Plan } from './plan.ts';
import { QuickInput } from './quick-input.ts';
import { StatusBar } from './status-bar.ts';
import { TextEditor } from './text-editor.ts';
import { Tree } from './tree.ts';
import { Webview } from './webview.ts';

export class Workbench {
  readonly page: Page;
  readonly activity: ActivityBar;
  readonly quick: QuickInput;
  readonly notifications: Notifications;
  readonly dialog: Dialog;
  readonly status: StatusBar;
  /** Folders and files of the explorer. */
  readonly files: Locator;
  /** The text editor of the group that has the focus. */
  readonly editor: TextEditor;
  readonly diff: DiffEditor;
  readonly multiDiff: MultiDiffEditor;
  readonly merge: MergeEditor;
  /** The plan of a restore. */
  readonly plan: Plan;

  constructor(page: Page) {
    this.page = page;
    const group = page.locator('.editor-group-container.active');
    this.files = page.locator('.explorer-folders-view .monaco-list-row');
    this.activity = new ActivityBar(page);
    this.quick = new QuickInput(page);
    this.notifications = new Notifications(page);
    this.dialog = new Dialog(page);
    this.status = new StatusBar(page);
    this.editor = new TextEditor(page, group.locator('.editor-instance > .monaco-editor').first(), group);
    this.diff = new DiffEditor(page, group);
    this.multiDiff = new MultiDiffEditor(page, group);
    this.merge = new MergeEditor(page, group);
    this.plan = new Plan(page, group, this.multiDiff, this.quick);
  }

  async ready(): Promise<void> {
    await this.page.locator('.monaco-workbench .part.statusbar').waitFor({ timeout: 120_000 });
  }

  /** Runs a command by the title that the palette shows, category included: `Git: Commit`. */
  async run(title: string): Promise<void> {
    const { quick } = this;
    await expect(async () => {
      // extensions register commands at their start; an open palette does not list them
      await quick.cancel();
      await this.page.keyboard.press('F1');
      await quick.type(`>${title}`);
      await quick.item(title).first().waitFor({ timeout: 3_000 });
    }).toPass({ timeout: 120_000 });
    await quick.pick(title);
  }

  /** Runs the same by keys alone: the command that the list has first. */
  async command(title: string): Promise<void> {
    const { quick } = this;
    await expect(async () => {
      await quick.cancel();
      await this.page.keyboard.press('F1');
      await expect(quick.input).toBeFocused({ timeout: 3_000 });
      await this.page.keyboard.type(title);
      await expect(quick.item(title).first()).toBeVisible({ timeout: 3_000 });
    }).toPass();
    await this.page.keyboard.press('Enter');
  }

  /** The part of the window that has the focus. */
  focused(): Promise<string> {
    return this.page.evaluate(() => {
      const active = document.activeElement;
      if (active === null || active === document.body) return 'nowhere';
      if (active.matches('iframe')) return 'web view';
      const parts = { '.quick-input-widget': 'choice', '.monaco-diff-editor': 'comparison', '.pane': 'list', '.monaco-editor': 'editor' };
      return Object.entries(parts).find(([part]) => active.closest(part) !== null)?.[1] ?? active.className;
    });
  }

  /** Opens a file by its path below the workspace. */
  async open(file: string): Promise<TextEditor> {
    const name = file.slice(file.lastIndexOf('/') + 1);
    // the list closes where something takes the focus, and a click is lost where its rows are drawn anew
    await expect(async () => {
      await this.quick.cancel();
      await this.page.keyboard.press('Control+P');
      await this.quick.type(file);
      await this.quick.item(name).first().click({ timeout: 3_000 });
      await expect(this.editor.tab).toHaveAttribute('data-resource-name', name, { timeout: 5_000 });
    }).toPass({ timeout: 120_000 });
    await this.editor.ready(name);
    return this.editor;
  }

  /** Opens a file from the explorer, which must be in view: no extension takes part in that. */
  async openFromExplorer(file: string): Promise<void> {
    const names = file.split('/');
    const row = (name: string) =>
      this.files.filter({ has: this.page.locator('.label-name', { hasText: new RegExp(`^${RegExp.escape(name)}$`) }) }).first();
    for (const folder of names.slice(0, -1)) {
      if ((await row(folder).getAttribute('aria-expanded')) === 'false') await row(folder).click();
      await expect(row(folder)).toHaveAttribute('aria-expanded', 'true');
    }
    await row(names.at(-1)!).dblclick();
  }

  /** The tree of a view by its title, as in the side bar: `Outline`. */
  tree(view: string): Tree {
    return new Tree(this.page, view);
  }

  /** A webview: of an extension by its id, in an editor or in a view. */
  webview(which: { extension?: string; purpose?: 'webviewView' | 'customEditor' } = {}): Webview {
    return new Webview(this.page, which);
  }

  /** A button at the right of the tabs, by its tooltip. */
  titleAction(name: string | RegExp): Locator {
    return this.page.locator('.editor-group-container.active .editor-actions').getByRole('button', { name });
  }

  /** A tab of any group, by the name of its file. */
  tab(name: string): Locator {
    return this.page.locator(`.tab[data-resource-name="${name}"]`);
  }
}
