// Progress notification for long work, shown after a delay, with a button to cancel it.

import * as vscode from "vscode";

/** Delay before the notification, in milliseconds. */
const DELAY = 700;

export async function busy<T>(
  title: string,
  run: (token: vscode.CancellationToken) => Promise<T>,
): Promise<T> {
  const cancellation = new vscode.CancellationTokenSource();
  const done = run(cancellation.token);
  const ended = done.then(
    () => undefined,
    () => undefined,
  );
  const timer = setTimeout(() => {
    const options = { location: vscode.ProgressLocation.Notification, title, cancellable: true };
    void vscode.window.withProgress(options, (_, token) => {
      token.onCancellationRequested(() => {
        cancellation.cancel();
      });
      return ended;
    });
  }, DELAY);
  try {
    return await done;
  } finally {
    clearTimeout(timer);
    cancellation.dispose();
  }
}
