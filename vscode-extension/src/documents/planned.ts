// What files would be after a restore, as documents of their own, for as long as anybody looks at them.

import { randomUUID } from "node:crypto";

import * as vscode from "vscode";

import { type PlanResult, shown } from "../server/protocol.ts";
import { NOTHING, type Sides } from "./open.ts";

const SCHEME = "backstitch-plan";
/** Of how many plans the texts are kept. */
const KEPT = 5;

type Texts = NonNullable<PlanResult["texts"]>;

export class Planned implements vscode.TextDocumentContentProvider, vscode.Disposable {
  private readonly registered = vscode.workspace.registerTextDocumentContentProvider(SCHEME, this);
  /** By the number of the plan. */
  private readonly plans = new Map<number, Map<string, string>>();
  private count = 0;
  /** Tabs that are there again after the window is another's. */
  private readonly window = randomUUID();

  /** Makes the texts of a plan documents; by path. */
  keep(texts: Texts): Map<string, Sides> {
    this.count++;
    const contents = new Map<string, string>();
    this.plans.set(this.count, contents);
    this.plans.delete(this.count - KEPT);
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
