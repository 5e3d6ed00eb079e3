// Values of expressions where a job stands: in a hover, and behind the lines of its steps.

import * as vscode from "vscode";

import { TYPE } from "./jobs.ts";
import type { JobSession, JobSessions } from "./sessions.ts";
import { type Expression, LANGUAGES, expressionsIn, scopeAt, valueAt } from "./workflow.ts";

/** Longest expression with an inline value. */
const MAX_INLINE = 60;

/** Registered while there are jobs: other debuggers may have these languages, too. */
export class JobValues implements vscode.EvaluatableExpressionProvider, vscode.InlineValuesProvider {
  private registered: vscode.Disposable[] = [];
  private readonly listener: vscode.Disposable;

  constructor(private readonly sessions: JobSessions) {
    this.listener = sessions.onDidCount((count) => {
      if (count === 0) this.unregister();
      else if (this.registered.length === 0) this.register();
    });
  }

  private register(): void {
    this.registered = LANGUAGES.flatMap((language) => [
      vscode.languages.registerEvaluatableExpressionProvider(language, this),
      vscode.languages.registerInlineValuesProvider(language, this),
    ]);
  }

  private unregister(): void {
    for (const each of this.registered.splice(0)) each.dispose();
  }

  /** The lines of the job that stands in this document; none if it stands elsewhere. */
  private scope(
    document: vscode.TextDocument,
  ): { first: number; last: number; session: JobSession } | undefined {
    const active = vscode.debug.activeDebugSession;
    const session = active?.type === TYPE ? this.sessions.get(active) : undefined;
    const stop = session?.stop;
    if (session === undefined || stop?.file !== document.uri.fsPath) return undefined;
    return { ...scopeAt(document.getText().split(/\r?\n/), stop.line), session };
  }

  provideEvaluatableExpression(
    document: vscode.TextDocument,
    position: vscode.Position,
  ): vscode.EvaluatableExpression | undefined {
    const scope = this.scope(document);
    if (scope === undefined || position.line < scope.first || position.line > scope.last) return undefined;
    const found = expressionsIn(document.getText()).find((each) => rangeOf(each).contains(position));
    if (found === undefined) return undefined;
    const whole = rangeOf(found);
    // a part is found by its column, which a text on several lines does not keep
    const isLine = found.line === found.endLine && document.getText(whole) === found.text;
    const part = isLine ? valueAt(found.text, position.character - found.column) : undefined;
    if (part === undefined) return new vscode.EvaluatableExpression(whole, found.text);
    const range = new vscode.Range(
      found.line,
      found.column + part.start,
      found.line,
      found.column + part.end,
    );
    return new vscode.EvaluatableExpression(range, found.text.slice(part.start, part.end));
  }

  provideInlineValues(
    document: vscode.TextDocument,
    _view: vscode.Range,
    context: vscode.InlineValueContext,
  ): vscode.InlineValue[] {
    const scope = this.scope(document);
    // a step that has run had other values
    if (scope === undefined || scope.session.isPast(context.frameId)) return [];
    const last = context.stoppedLocation.start.line;
    return expressionsIn(document.getText())
      .filter(
        ({ line, endLine, text }) =>
          line >= scope.first && endLine <= scope.last && text.length <= MAX_INLINE,
      )
      .filter(({ line }) => line <= stepEnd(document, last))
      .map((each) => new vscode.InlineValueEvaluatableExpression(rangeOf(each), each.text));
  }

  dispose(): void {
    this.listener.dispose();
    this.unregister();
  }
}

function rangeOf({ line, column, endLine, endColumn }: Expression): vscode.Range {
  return new vscode.Range(line, column, endLine, endColumn);
}

/** The last line of the step that begins at a line: those after it are deeper, or empty. */
function stepEnd(document: vscode.TextDocument, first: number): number {
  const indent = document.lineAt(first).firstNonWhitespaceCharacterIndex;
  let last = first;
  while (last + 1 < document.lineCount) {
    const next = document.lineAt(last + 1);
    if (!next.isEmptyOrWhitespace && next.firstNonWhitespaceCharacterIndex <= indent) break;
    last += 1;
  }
  return last;
}
