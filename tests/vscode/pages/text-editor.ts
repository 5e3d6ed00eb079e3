// Text editor: its lines as drawn, its gutter, and widgets between lines.
import { expect, type Locator, type Page } from '@playwright/test';
import { REWIND_LENS } from '../rig/titles.ts';
import { choose } from './menu.ts';

/** Bar of VS Code's version control beside changed lines. */
export interface QuickDiff {
  line: number;
  kind: 'added' | 'modified' | 'deleted';
}

export class TextEditor {
  readonly root: Locator;
  /** Lenses between lines. */
  readonly lenses: Locator;
  /** Text of a hover. */
  readonly hoverBox: Locator;
  /** Widget between lines, such as the peek of a change. */
  readonly peek: Locator;
  /** Name in the tab. */
  readonly tab: Locator;
  private readonly page: Page;

  /** `group` contains the tab. */
  constructor(page: Page, root: Locator, group: Locator) {
    this.page = page;
    this.root = root;
    this.lenses = root.locator('.codelens-decoration a');
    this.hoverBox = page
      .locator('.monaco-hover:visible')
      .filter({ has: page.locator('.hover-contents') })
      .first();
    this.peek = root.locator('.peekview-widget');
    this.tab = group.locator('.tab.active');
  }

  /** Waits until the file of this name is shown. */
  async ready(name: string): Promise<void> {
    await expect(this.tab).toHaveAttribute('data-resource-name', name, { timeout: 120_000 });
    await this.root.locator('.view-line').first().waitFor();
  }

  // ---- text ------------------------------------------------------------------------------------------------------

  /** The lines in view. */
  async lines(): Promise<string[]> {
    return this.root.locator('.view-lines').first().evaluate((lines) => {
      const top = (line: Element) => parseFloat((line as HTMLElement).style.top);
      return [...lines.querySelectorAll('.view-line')]
        .sort((a, b) => top(a) - top(b))
        .map((line) => (line.textContent ?? '').replaceAll('\u00a0', ' '));
    });
  }

  /** Waits until these are the lines in view; the text must fit into the view. */
  async expectText(text: string): Promise<void> {
    await expect.poll(async () => (await this.lines()).join('\n')).toBe(text);
  }

  async focus(): Promise<void> {
    const lines = this.root.locator('.view-lines').first();
    // lines that are drawn anew on a busy machine are never still for a click; the focus says that it arrived
    await expect(async () => {
      await lines.click({ position: { x: 400, y: 2 }, force: true, timeout: 5_000 });
      await this.hasFocus(2_000);
    }).toPass();
  }

  /** Waits until it has the focus. */
  async hasFocus(timeout = 60_000): Promise<void> {
    await expect(this.root).toHaveClass(/(^| )focused( |$)/, { timeout });
  }

  /** Puts the cursor at the beginning of a line, from 1. */
  async goto(line: number): Promise<void> {
    const input = this.page.locator('.quick-input-widget .quick-input-box input');
    await this.page.keyboard.press('Control+G');
    await input.fill(`:${line}`);
    await input.press('Enter');
    await expect(input).toBeHidden();
  }

  /** Selects whole lines, from 1, both included. */
  async select(first: number, last: number): Promise<void> {
    await this.goto(first);
    for (let line = first; line < last; line++) await this.page.keyboard.press('Shift+ArrowDown');
    await this.page.keyboard.press('Shift+End');
  }

  /** Types at the beginning of a line, from 1. */
  async type(line: number, text: string): Promise<void> {
    await this.goto(line);
    for (const [at, part] of text.split('\n').entries()) {
      // an Enter right after a word is lost at times
      if (at > 0) {
        const before = await this.lines();
        await this.page.keyboard.press('Enter');
        await expect.poll(() => this.lines()).not.toEqual(before);
      }
      await this.page.keyboard.type(part);
      await expect.poll(async () => (await this.lines()).join('\n')).toContain(part);
    }
  }

  async isDirty(): Promise<boolean> {
    return this.tab.evaluate((tab) => tab.classList.contains('dirty'));
  }

  async expectDirty(dirty: boolean): Promise<void> {
    await expect.poll(() => this.isDirty()).toBe(dirty);
  }

  async save(): Promise<void> {
    await this.page.keyboard.press('Control+S');
    await this.expectDirty(false);
  }

  // ---- lenses ----------------------------------------------------------------------------------------------------

  /** A lens by a part of its title. */
  lens(title: string | RegExp): Locator {
    return this.lenses.filter({ hasText: title });
  }

  /** The lens of the full form that rewinds to before a turn. `about`: the beginning of the rest of its title. */
  rewindLens(about = ''): Locator {
    return this.lens(about === '' ? REWIND_LENS : `${REWIND_LENS} · ${about}`);
  }

  /** A group of lenses of one line by a part of its text, which may have no command. */
  lensGroup(text: string | RegExp): Locator {
    return this.root.locator('.codelens-decoration').filter({ hasText: text });
  }

  /** The titles of the lenses in view, from above. */
  async lensTitles(): Promise<string[]> {
    // VS Code hides those out of view
    const found = await this.lenses.evaluateAll((all) =>
      all
        .filter((lens) => lens.checkVisibility({ visibilityProperty: true }))
        .map((lens) => ({ top: lens.getBoundingClientRect().top, title: lens.textContent ?? '' })),
    );
    return found.sort((a, b) => a.top - b.top).map(({ title }) => title.replaceAll('\u00a0', ' '));
  }

  /** The line below the first lens with this title. */
  async above(title: string): Promise<string> {
    const lens = await this.lens(title).first().boundingBox();
    return this.root.locator('.view-lines').first().evaluate((lines, top) => {
      const below = [...lines.querySelectorAll('.view-line')].map((line) => ({
        distance: line.getBoundingClientRect().top - top,
        text: (line.textContent ?? '').replaceAll('\u00a0', ' '),
      }));
      return below.filter(({ distance }) => distance > 0).sort((a, b) => a.distance - b.distance)[0]?.text ?? '';
    }, lens?.y ?? 0);
  }

  // ---- the edge --------------------------------------------------------------------------------------------------

  /** The bars of version control in view. */
  async quickDiffs(): Promise<QuickDiff[]> {
    return this.root.locator('.margin-view-overlays').first().evaluate((margin) => {
      const kinds = ['added', 'modified', 'deleted'] as const;
      const found: { line: number; kind: (typeof kinds)[number] }[] = [];
      for (const row of margin.children) {
        const line = Number(row.querySelector('.line-numbers')?.textContent);
        for (const kind of kinds) {
          if (row.querySelector(`.dirty-diff-glyph.dirty-diff-${kind}`)) found.push({ line, kind });
        }
      }
      return found.sort((a, b) => a.line - b.line);
    });
  }

  /** Gutter of a line, from 1. */
  private margin(line: number): Locator {
    const number = this.page.locator('.line-numbers', { hasText: new RegExp(`^${line}$`) });
    return this.root.locator('.margin-view-overlays > div').filter({ has: number });
  }

  /** Clicks the bar at a line, from 1, which opens the peek of the change. */
  async clickQuickDiff(line: number): Promise<void> {
    // only the bar itself takes a click; it is at the left of its box
    const bar = this.margin(line).locator('.dirty-diff-glyph').first();
    await bar.click({ position: { x: 1, y: 8 } });
    await this.peek.waitFor();
  }

  /** Decorations of a line's gutter with this in their class name. */
  glyph(line: number, className: string): Locator {
    return this.margin(line).locator(`[class*="${className}"]`);
  }

  /** The lines in view beside which extensions have an icon in the margin. */
  async marked(): Promise<number[]> {
    return this.root.evaluate((editor) => {
      const middle = (element: Element) => {
        const { top, height } = element.getBoundingClientRect();
        return top + height / 2;
      };
      const icons = editor.querySelectorAll('.glyph-margin-widgets [class*="TextEditorDecorationType"]');
      const places = [...icons].map(middle);
      return [...editor.querySelectorAll('.margin-view-overlays .line-numbers')]
        .filter((number) => places.some((place) => Math.abs(place - middle(number)) < 4))
        .map((number) => Number(number.textContent))
        .sort((a, b) => a - b);
    });
  }

  /** The lines in view whose icon in the margin has this sign: `stop`, `agent-line`. One icon may have two. */
  async icons(sign: 'stop' | 'agent-line' | 'agent-removed' | 'held'): Promise<number[]> {
    const files = {
      stop: /(\/|%2F)stop-(?!off)/i,
      'agent-line': /(\/|%2F)(stop-(off-)?agent-|agent-line-)/i,
      'agent-removed': /agent-removed-/,
      held: /(\/|%2F)held-/i,
    };
    return this.root.evaluate(
      (editor, pattern) => {
        const middle = (element: Element) => {
          const { top, height } = element.getBoundingClientRect();
          return top + height / 2;
        };
        const icons = [...editor.querySelectorAll('.glyph-margin-widgets [class*="TextEditorDecorationType"]')];
        const shown = icons.filter((icon) => new RegExp(pattern).test(getComputedStyle(icon).backgroundImage));
        const places = shown.map(middle);
        return [...editor.querySelectorAll('.margin-view-overlays .line-numbers')]
          .filter((number) => places.some((place) => Math.abs(place - middle(number)) < 4))
          .map((number) => Number(number.textContent))
          .sort((a, b) => a - b);
      },
      files[sign].source,
    );
  }

  /** Texts that extensions show behind the lines in view. */
  async notes(): Promise<string[]> {
    return this.root.evaluate((editor) => {
      const all = [...editor.querySelectorAll('.view-line [class*="ced-"]')];
      const content = (element: Element) => getComputedStyle(element, '::after').content;
      const texts = all.map(content).filter((text) => text !== 'none' && text !== 'normal');
      return texts.map((text) => text.replace(/^"|"$/g, '').replaceAll('\u00a0', ' '));
    });
  }

  // ---- hover -----------------------------------------------------------------------------------------------------

  /** Position of the first occurrence of a text in view. */
  async place(text: string): Promise<{ x: number; y: number }> {
    return this.root.locator('.view-lines').first().evaluate((lines, text) => {
      for (const line of lines.querySelectorAll('.view-line')) {
        const walker = document.createTreeWalker(line, NodeFilter.SHOW_TEXT);
        const nodes: Text[] = [];
        while (walker.nextNode()) nodes.push(walker.currentNode as Text);
        const at = nodes.map((n) => n.data.replaceAll('\u00a0', ' ')).join('').indexOf(text);
        if (at < 0) continue;
        let before = 0;
        for (const node of nodes) {
          if (at < before + node.length) {
            const range = document.createRange();
            range.setStart(node, at - before);
            range.setEnd(node, at - before + 1);
            const { x, y, width, height } = range.getBoundingClientRect();
            return { x: x + width / 2, y: y + height / 2 };
          }
          before += node.length;
        }
      }
      throw new Error(`${JSON.stringify(text)} is not in view`);
    }, text);
  }

  /** Puts the cursor into a text in view. */
  async click(text: string): Promise<void> {
    const { x, y } = await this.place(text);
    await this.page.mouse.click(x, y);
  }

  /** Rests the mouse on a text until a hover appears; returns the hover. */
  async hover(text: string): Promise<Locator> {
    await expect(async () => {
      const { x, y } = await this.place(text);
      await this.page.mouse.move(x + 200, y + 200);
      await this.page.mouse.move(x, y, { steps: 3 });
      await this.hoverBox.first().waitFor({ timeout: 3_000 });
    }).toPass({ timeout: 120_000 });
    return this.hoverBox;
  }

  /** Opens the menu of code actions at the cursor and returns its entries. */
  async codeActions(): Promise<Locator> {
    const entries = this.page.locator('.action-widget .monaco-list-row.action');
    await expect(async () => {
      await this.page.keyboard.press('Control+.');
      await entries.first().waitFor({ timeout: 3_000 });
    }).toPass({ timeout: 120_000 });
    return entries;
  }

  /** An entry of the menu that a right click on a text opens. */
  async menu(text: string, entry: string): Promise<void> {
    const open = async () => {
      const { x, y } = await this.place(text);
      await this.page.mouse.click(x, y, { button: 'right' });
    };
    await choose(this.page, open, entry);
  }
}
