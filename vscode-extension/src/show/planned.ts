// Texts of files after a planned restore, as read-only documents for the preview.

import { randomUUID } from "node:crypto";

import * as vscode from "vscode";

import { cells } from "../documents/cells.ts";
import { NOTHING, type Sides } from "../documents/open.ts";
import { type Action, type PlanResult, shown } from "../server/protocol.ts";
import { type PlanText, described, isOwn, plannedFiles } from "./planText.ts";
import { actionOf } from "./words.ts";

export const SCHEME = "backstitch-plan";
/** Number of plans whose texts stay available. */
const MAX_PLANS = 5;
/** File name of the plan itself, which `package.json` gives a language and settings of its own. */
const PLAN_NAME = "Backstitch Plan";

export class Planned implements vscode.TextDocumentContentProvider, vscode.Disposable {
  private readonly registered = vscode.Disposable.from(
    vscode.workspace.registerTextDocumentContentProvider(SCHEME, this),
    // a file of the plan is not a problem of the workspace: JSON without checks, and cells as text
    vscode.workspace.onDidOpenTextDocument((document) => {
      if (document.uri.scheme !== SCHEME) return;
      const language = unchecked(document);
      if (language === undefined) return;
      const set = vscode.languages.setTextDocumentLanguage;
      // VS Code's own extension for JSON may be off
      set(document, language).then(undefined, () => set(document, "plaintext"));
    }),
  );
  /** Keyed by the number of the plan. */
  private readonly plans = new Map<number, Map<string, string>>();
  private count = 0;
  /** Identifies this window: tabs restored in a later window have another id. */
  private readonly window = randomUUID();

  /** Registers the texts of a plan as documents: first the plan itself, then a row for each file, in the plan's order. */
  keep(plan: PlanResult, text: PlanText): Sides[] {
    this.count++;
    const contents = new Map<string, string>();
    this.plans.set(this.count, contents);
    this.plans.delete(this.count - MAX_PLANS);
    const side = (path: string, which: "now" | "then", content: string | null) => {
      if (content === null) return NOTHING;
      const uri = vscode.Uri.from({
        scheme: SCHEME,
        path: `/${path}`,
        query: `${this.count}-${which}-${this.window}`,
      });
      contents.set(uri.toString(), content);
      return uri;
    };
    const row = (path: string, from: string, now: string | null, then: string | null): Sides => {
      const original = side(from, "now", now);
      const modified = side(path, "then", then);
      return { original, modified, resource: modified === NOTHING ? original : modified };
    };
    const texts = new Map((plan.texts ?? []).map((each) => [shown(each.path), each]));
    const files = plannedFiles(plan);
    const rows = plan.actions.flatMap((action) => {
      const path = shown(action.path);
      const from = shown(action.from ?? action.path);
      const known = texts.get(path);
      texts.delete(path);
      if (known !== undefined) {
        return [row(path, from, readable(path, known.now), readable(path, known.then))];
      }
      if (!files.has(path)) return [];
      const { now, then } = withoutText(action, isOwn(plan, action));
      return [row(path, from, now, then)];
    });
    // conflicts, as they are with the older lines
    const open = [...texts.values()].map(({ path, from, now, then }) =>
      row(shown(path), shown(from ?? path), readable(shown(path), now), readable(shown(path), then)),
    );
    return [row(PLAN_NAME, PLAN_NAME, text.now, text.then), ...open, ...rows];
  }

  provideTextDocumentContent(uri: vscode.Uri): string {
    const plan = this.plans.get(Number.parseInt(uri.query, 10));
    return plan?.get(uri.toString()) ?? "";
  }

  dispose(): void {
    this.registered.dispose();
  }
}

/** A language that looks the same, and that no extension checks. */
function unchecked({ uri, languageId }: vscode.TextDocument): string | undefined {
  if (uri.path.endsWith(".ipynb")) return "plaintext";
  return languageId === "json" || languageId === "jsonc" ? "jsonl" : undefined;
}

/** A notebook by its cells. */
function readable(path: string, text: string | null): string | null {
  return text !== null && path.endsWith(".ipynb") ? (cells(text) ?? text) : text;
}

/** Stands for a file that has no lines to show. */
function withoutText(action: Action, isOwn: boolean): { now: string | null; then: string | null } {
  const say = vscode.l10n.t;
  const kind = action.added === null ? say("Binary file") : say("Too large to show, or not UTF-8");
  const effect = described(action, isOwn, say) || actionOf(action, isOwn, say);
  return {
    now: action.letter === "A" ? null : `${kind}\n`,
    then: action.letter === "D" ? null : `${kind}: ${effect}\n`,
  };
}
