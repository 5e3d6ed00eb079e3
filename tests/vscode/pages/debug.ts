// VS Code's debugger: its toolbar, its views, its console, and its marks in an editor.
import { expect, type Locator, type Page } from '@playwright/test';
import { choose } from './menu.ts';
import type { TextEditor } from './text-editor.ts';
import { Tree } from './tree.ts';

export class Debugger {
  readonly toolbar: Locator;
  /** The frames, from above. */
  readonly stack: Locator;
  readonly variables: Tree;
  readonly watch: Tree;
  /** Lines of the console. */
  readonly lines: Locator;
  /** A hover with a value. */
  readonly hover: Locator;
  /** The message at the line of a failure. */
  readonly failure: Locator;
  private readonly page: Page;

  constructor(page: Page) {
    this.page = page;
    this.toolbar = page.locator('.debug-toolbar');
    this.stack = page.locator('.debug-call-stack .monaco-list-row').filter({ has: page.locator('.stack-frame') });
    this.variables = new Tree(page, 'Variables');
    this.watch = new Tree(page, 'Watch');
    this.lines = page.locator('.repl .repl-tree .monaco-list-row');
    this.hover = page.locator('.debug-hover-widget:visible');
    this.failure = page.locator('.exception-widget');
  }

  /** A button of the toolbar: `Step Back`. */
  button(name: string): Locator {
    return this.toolbar.locator(`a[role="button"][aria-label^="${name}"]`);
  }

  /** Waits until the job stands at a step, by the name of its first frame. */
  async at(step: string | RegExp): Promise<void> {
    const name = typeof step === 'string' ? new RegExp(`^${RegExp.escape(step)}$`) : step;
    await expect.poll(async () => (await this.frames())[0] ?? '').toMatch(name);
  }

  /** Presses a button, and waits until the job stands at a step. */
  async go(button: string, step: string | RegExp): Promise<void> {
    await this.button(button).click();
    await this.at(step);
  }

  /** The names of the frames in view, from above. */
  async frames(): Promise<string[]> {
    const found = await this.stack.evaluateAll((rows) =>
      rows.map((row) => ({
        top: parseFloat((row as HTMLElement).style.top),
        name: row.querySelector('.stack-frame .label')?.textContent ?? '',
      })),
    );
    return found.sort((a, b) => a.top - b.top).map(({ name }) => name);
  }

  /** The names of the frames of each session. Several sessions have a row each. */
  async stacks(): Promise<Record<string, string[]>> {
    const rows = await this.page.locator('.debug-call-stack .monaco-list-row').evaluateAll((rows) =>
      rows.map((row) => ({
        top: parseFloat((row as HTMLElement).style.top),
        session: row.querySelector('.session .name')?.textContent ?? undefined,
        frame: row.querySelector('.stack-frame .label')?.textContent ?? undefined,
      })),
    );
    const stacks: Record<string, string[]> = {};
    let own: string[] = [];
    for (const { session, frame } of rows.sort((a, b) => a.top - b.top)) {
      if (session !== undefined) own = stacks[session] ??= [];
      if (frame !== undefined) own.push(frame);
    }
    return stacks;
  }

  /** The row of a session, which there is where there are several. */
  session(name: string): Locator {
    const named = this.page.locator('.session .name', { hasText: name });
    return this.page.locator('.debug-call-stack .monaco-list-row').filter({ has: named });
  }

  /** Opens the row of a session, which VS Code folds. */
  async unfold(session: string): Promise<void> {
    const row = this.session(session);
    await expect(async () => {
      if ((await row.getAttribute('aria-expanded')) === 'false') await row.locator('.monaco-tl-twistie').click({ timeout: 5_000 });
      await expect(row).toHaveAttribute('aria-expanded', 'true', { timeout: 2_000 });
    }).toPass();
  }

  /** The row of a frame. */
  frame(name: string): Locator {
    return this.stack.filter({ hasText: name }).first();
  }

  /** Runs the step of a frame again by its button, which it has where the mouse is. */
  async restart(frame: string): Promise<void> {
    const row = this.frame(frame);
    await expect(async () => {
      await row.hover({ timeout: 5_000 });
      await row.getByRole('button', { name: 'Restart Frame' }).click({ timeout: 5_000 });
    }).toPass();
  }

  /** An entry of the menu of a frame. */
  async frameMenu(frame: string, entry: string): Promise<void> {
    const row = this.frame(frame);
    await choose(this.page, () => row.click({ button: 'right', timeout: 10_000 }), entry);
  }

  // ---- marks in the editor ---------------------------------------------------------------------------------------

  /** Clicks beside a line, from 1, where breakpoints are. */
  async toggleBreakpoint(line: number): Promise<void> {
    const number = this.page.locator('.editor-instance .line-numbers', { hasText: new RegExp(`^${line}$`) }).first();
    const box = (await number.boundingBox())!;
    const margin = (await this.page.locator('.editor-instance .glyph-margin').first().boundingBox())!;
    await this.page.mouse.click(margin.x + margin.width / 2, box.y + box.height / 2);
  }

  /** The lines with a mark of this kind, from 1. */
  async marked(kind: 'breakpoint' | 'stackframe'): Promise<number[]> {
    return this.page.locator('.editor-instance > .monaco-editor').first().evaluate((editor, kind) => {
      const middle = (element: Element) => {
        const { top, height } = element.getBoundingClientRect();
        return top + height / 2;
      };
      const marks = [...editor.querySelectorAll(`.glyph-margin-widgets [class*="codicon-debug-${kind}"]`)].map(middle);
      return [...editor.querySelectorAll('.margin-view-overlays .line-numbers')]
        .filter((number) => marks.some((mark) => Math.abs(mark - middle(number)) < 4))
        .map((number) => Number(number.textContent))
        .sort((a, b) => a - b);
    }, kind);
  }

  // ---- values ----------------------------------------------------------------------------------------------------

  /** Opens a scope of the variables, or closes it: `env`. */
  async scope(name: string, isOpen = true): Promise<void> {
    const row = this.variables.pane.getByRole('treeitem', { name: `Scope ${name}`, exact: true });
    await expect(async () => {
      const isThere = async () => (await row.getAttribute('aria-expanded')) === 'true';
      if ((await isThere()) !== isOpen) await row.click({ timeout: 5_000 });
      await expect.poll(isThere, { timeout: 2_000 }).toBe(isOpen);
    }).toPass();
  }

  /** A row of the variables. */
  variable(name: string): Locator {
    return this.variables.rows.filter({ hasText: new RegExp(`^${RegExp.escape(name)}\\s*=`) }).first();
  }

  /** Gives a variable a new value by keys. */
  async setVariable(name: string, value: string): Promise<void> {
    const row = this.variable(name);
    const input = this.variables.pane.locator('.monaco-inputbox input');
    await expect(async () => {
      await row.click({ timeout: 5_000 });
      await this.page.keyboard.press('F2');
      await expect(input).toBeFocused({ timeout: 2_000 });
    }).toPass();
    await input.fill(value);
    await input.press('Enter');
    await expect(row).toContainText(value);
  }

  /** Rests the mouse on a text of an editor until its value appears. */
  async hoverOn(editor: TextEditor, text: string): Promise<void> {
    await expect(async () => {
      const { x, y } = await editor.place(text);
      await this.page.mouse.move(x + 200, y + 100);
      await this.page.mouse.move(x, y, { steps: 3 });
      await this.hover.waitFor({ timeout: 3_000 });
    }).toPass();
  }

  async addWatch(expression: string): Promise<void> {
    await this.watch.show();
    await this.watch.titleAction('Add Expression');
    const input = this.watch.pane.locator('.monaco-inputbox input');
    await input.fill(expression);
    await input.press('Enter');
  }

  /** A line of the view of watches. */
  watched(expression: string): Locator {
    return this.watch.rows.filter({ hasText: expression });
  }

  // ---- console ---------------------------------------------------------------------------------------------------

  /** Types a line into the console, which opens. */
  async console(line: string): Promise<void> {
    const input = this.page.locator('.repl .repl-input-wrapper .monaco-editor');
    await expect(async () => {
      await this.page.keyboard.press('Control+Shift+Y');
      await expect(input).toHaveClass(/focused/, { timeout: 2_000 });
    }).toPass();
    await this.page.keyboard.type(line);
    await this.page.keyboard.press('Escape');
    await this.page.keyboard.press('Enter');
  }

  /** A line of the console. */
  said(text: string | RegExp): Locator {
    return this.lines.filter({ hasText: text });
  }
}
