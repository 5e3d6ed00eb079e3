// Notifications and dialogs of VS Code.
import type { Locator, Page } from '@playwright/test';

export class Notifications {
  readonly toasts: Locator;
  /** The texts of the toasts. */
  readonly messages: Locator;

  constructor(page: Page) {
    this.toasts = page.locator('.notifications-toasts .notification-toast');
    this.messages = this.toasts.locator('.notification-list-item-message');
  }

  /** Toast with this text. */
  toast(text: string | RegExp): Locator {
    return this.toasts.filter({ hasText: text });
  }

  /** Button of the toast with this text. */
  action(text: string | RegExp, button: string): Locator {
    return this.toast(text).getByRole('button', { name: button });
  }

  async dismiss(text: string | RegExp): Promise<void> {
    await this.toast(text).hover();
    await this.toast(text).getByRole('button', { name: /^Clear Notification/ }).click();
  }
}

export class Dialog {
  readonly root: Locator;
  readonly message: Locator;
  readonly detail: Locator;
  readonly buttons: Locator;

  constructor(page: Page) {
    this.root = page.locator('.monaco-dialog-box');
    this.message = this.root.locator('.dialog-message-text');
    this.detail = this.root.locator('.dialog-message-detail');
    this.buttons = this.root.locator('.dialog-buttons .monaco-button');
  }

  async press(button: string): Promise<void> {
    await this.buttons.filter({ hasText: button }).first().click();
    await this.root.waitFor({ state: 'hidden' });
  }
}
