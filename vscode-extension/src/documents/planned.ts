// Texts of files after a planned restore, as read-only documents for the preview.

import { randomUUID } from "node:crypto";

import * as vscode from "vscode";

import { type PlanResult, shown } from "../server/protocol.ts";
import { NOTHING, type Sides } from "./open.ts";

const SCHEME = "backstitch-plan";
/** Number of plans whose texts stay available. */
const MAX_PLANS = 5;

type Texts = NonNullable<PlanResult["texts"]>;

export class Planned implements vscode.TextDocumentContentProvider, vscode.Disposable {
  private readonly registered = vscode.workspace.registerTextDocumentContentProvider(SCHEME, this);
  /** Keyed by the number of the plan. */
  private readonly plans = new Map<number, Map<string, string>>();
  private count = 0;
  /** Identifies this window: tabs restored in a later window have another id. */
  private readonly window = randomUUID();

  /** Registers the texts of a plan as documents, and returns them by path. */
  keep(texts: Texts): Map<string, Sides> {
    this.count++;
    const contents = new Map<string, string>();
    this.plans.set(this.count, contents);
    this.plans.delete(this.count - MAX_PLANS);
    const side = (path: string, which: "now" | "then", text: string | null) => {
      if (text === null) return NOTHING;
      const uri = vscode.Uri.from({
        scheme: SCHEME,
        path: `/${path}`,
        query: `${this.count}-${which}-${this.window}`,
      });
      contents.set(uri.toString(), text);
      return uri;
    };
    return new Map(
      texts.map((text) => {
        const path = shown(text.path);
        const original = side(shown(text.from ?? text.path), "now", text.now);
        const modified = side(path, "then", text.then);
        return [path, { original, modified, resource: modified === NOTHING ? original : modified }];
      }),
    );
  }

  provideTextDocumentContent(uri: vscode.Uri): string {
    const plan = this.plans.get(Number.parseInt(uri.query, 10));
    return plan?.get(uri.toString()) ?? "";
  }

  dispose(): void {
    this.registered.dispose();
  }
}
