// Work that takes long: shown once it has taken a while, with a way to call it off.

import * as vscode from "vscode";

/** What is done within this is not worth a word, in milliseconds. */
const AFTER = 700;

export async function busy<T>(
  title: string,
  run: (token: vscode.CancellationToken) => Promise<T>,
): Promise<T> {
  const called = new vscode.CancellationTokenSource();
  const done = run(called.token);
  const ended = done.then(
    () => undefined,
    () => undefined,
  );
  const timer = setTimeout(() => {
    const options = { location: vscode.ProgressLocation.Notification, title, cancellable: true };
    void vscode.window.withProgress(options, (_, token) => {
      token.onCancellationRequested(() => {
        called.cancel();
      });
      return ended;
    });
  }, AFTER);
  try {
    return await done;
  } finally {
    clearTimeout(timer);
    called.dispose();
  }
}
