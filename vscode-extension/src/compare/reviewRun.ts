// A review that goes through the changes of several files: one comparison after the other, in one tab.

import * as vscode from "vscode";

import type { Ctx } from "../ctx.ts";
import * as documents from "../documents/open.ts";
import { withErrors } from "../show/errors.ts";
import { type Compared, ofFile } from "./compare.ts";
import { type Hunk, isEqual } from "./hunks.ts";
import { type Active, type Pair, type Pointed, type Review, pairOf } from "./review.ts";
import { inform } from "../show/outside.ts";

/** A file to review, and the oldest turn with changes of it; none for a file that has no lines. */
export type FileToReview = { uri: vscode.Uri; rev: string | undefined };
type Act = (changes: readonly Pointed[]) => Promise<unknown>;

/** Time in which an editor shows a decision, in milliseconds. */
const SHOWN_TIMEOUT = 3_000;

export class ReviewRun {
  private files: readonly FileToReview[] = [];

  constructor(
    private readonly ctx: Ctx,
    private readonly review: Review,
  ) {}

  /** Begins a review of these files with one of them, or with the first that has changes. */
  async begin(files: readonly FileToReview[], first = 0): Promise<void> {
    this.files = files;
    const file = files[first];
    if (file?.rev === undefined && file !== undefined) {
      await vscode.commands.executeCommand("vscode.open", file.uri);
    } else if (!(await this.showFrom(first, 1))) await this.finish();
  }

  /** Moves the cursor to the next or the previous change, also into another file. */
  async go(step: 1 | -1): Promise<void> {
    const active = this.active();
    const all = hunksOf(await this.review.changesOf(active.pair));
    const line = active.editor.selection.active.line;
    const starts = (hunk: Hunk) => startIn(active, hunk);
    const found =
      step === 1 ? all.find((hunk) => starts(hunk) > line) : all.findLast((hunk) => starts(hunk) < line);
    if (found !== undefined) reveal(active, found);
    else if (!active.isAlone) await goInAll(step);
    else if (!(await this.showFrom(this.at(active.pair) + step, step))) {
      const other = step === 1 ? all[0] : all.at(-1);
      if (other !== undefined) reveal(active, other);
    }
  }

  /** Shows the first change of the next file. */
  async nextFile(): Promise<void> {
    await this.showFrom(this.at(this.active().pair) + 1, 1);
  }

  /** Decides about the changes at the cursor, or all of the file, and moves the cursor to the next change. */
  async decide(act: Act, extent: "at cursor" | "file" = "at cursor"): Promise<void> {
    const active = this.active();
    const { pair } = active;
    const changes = extent === "file" ? await this.review.changesOf(pair) : await this.review.atCursor();
    const first = hunksOf(changes)[0];
    if (changes.length === 0 || (await act(changes)) === "called off") return;
    const left = hunksOf(await this.afterDecision(pair, changes));
    const now = this.review.active();
    // the user has gone to another file meanwhile
    if (now !== undefined && now.pair.file.toString() !== pair.file.toString()) return;
    const next = first && left.find((hunk) => hunk.now[0] >= first.now[0]);
    if (next !== undefined && now !== undefined) reveal(now, next);
    // a comparison of all files would take the focus from the palette
    else if (active.isAlone && this.at(pair) >= 0) await this.nextOrEnd(pair);
  }

  private async nextOrEnd(pair: Pair): Promise<void> {
    if (!(await this.showFrom(this.at(pair) + 1, 1))) await this.finish();
  }

  private active(): Active {
    const active = this.review.active();
    if (active === undefined) throw new Error(vscode.l10n.t("No file is being compared with a checkpoint"));
    return active;
  }

  /** The place of a file in this review; -1 for another file. */
  private at({ file }: Pair): number {
    return this.files.findIndex(({ uri }) => uri.toString() === file.toString());
  }

  /** Shows the first file from `at` on that has a change. Returns false if no file has one. */
  private async showFrom(at: number, step: 1 | -1): Promise<boolean> {
    const { length } = this.files;
    for (let tried = 0; tried < length; tried++) {
      if (await this.show((at + tried * step + 2 * length) % length, step)) return true;
    }
    return false;
  }

  private async show(at: number, step: 1 | -1): Promise<boolean> {
    const file = this.files[at];
    if (file?.rev === undefined) return false;
    const compared = await ofFile(this.ctx, { uri: file.uri.toString(), rev: file.rev });
    if (compared === undefined) return false;
    const pair = pairOf(compared.sides.original, compared.sides.modified);
    if (pair === undefined) return false;
    const changes = await this.review.changesOf(pair);
    const change = step === 1 ? changes[0] : changes.at(-1);
    if (change === undefined) return false;
    const line = change.change?.hunk.now[0] ?? 0;
    const selection = new vscode.Range(line, 0, line, 0);
    await documents.diff(compared.sides, this.titleOf(compared, at), { selection, preview: true });
    return true;
  }

  private titleOf({ sides, since }: Compared, at: number): string {
    const name = documents.basename(sides.resource);
    if (this.files.length === 1) return `${name} (${since})`;
    return vscode.l10n.t("{0} · {1} of {2} ({3})", name, at + 1, this.files.length, since);
  }

  /** Waits until the comparison no longer has the decided changes, and returns the others. */
  private async afterDecision(pair: Pair, changes: readonly Pointed[]): Promise<Pointed[]> {
    const decided = hunksOf(changes);
    const until = Date.now() + SHOWN_TIMEOUT;
    for (;;) {
      const left = await this.review.changesOf(pair);
      const isShown = !hunksOf(left).some((hunk) => decided.some((other) => isEqual(hunk, other)));
      const rest = until - Date.now();
      if (isShown || rest <= 0) return left;
      await this.changed(pair, rest);
    }
  }

  /** Waits for a change of either side. */
  private changed({ file }: Pair, timeout: number): Promise<void> {
    return new Promise((resolve) => {
      const listeners: vscode.Disposable[] = [];
      const end = () => {
        clearTimeout(timer);
        for (const each of listeners) each.dispose();
        resolve();
      };
      const timer = setTimeout(end, timeout);
      listeners.push(
        this.review.onDidChange(end),
        vscode.workspace.onDidChangeTextDocument(({ document }) => {
          if (document.uri.toString() === file.toString()) end();
        }),
      );
    });
  }

  /** Says that all is reviewed. Binary files have no lines to compare, and are kept by name. */
  private async finish(): Promise<void> {
    const say = vscode.l10n.t;
    const count = this.files.length;
    const binary = await this.binary();
    if (binary.length === 0) {
      const text = count === 1 ? say("All changes are reviewed.") : say("{0} files are reviewed.", count);
      void inform(text);
      return;
    }
    const names = binary.map(({ uri }) => vscode.workspace.asRelativePath(uri)).join(", ");
    const keep = say("Keep");
    const text = say("All text is reviewed. Files without lines are left: {0}", names);
    void inform(text, keep).then((chosen) => {
      if (chosen !== keep) return;
      void withErrors(async () => {
        for (const { uri, shown } of binary) {
          await this.ctx.request("backstitch/review", { uri: uri.toString(), action: "keep", shown });
        }
      });
    });
  }

  private async binary(): Promise<{ uri: vscode.Uri; shown: string }[]> {
    const found = await Promise.all(
      this.files.map(async ({ uri }) => {
        const { files } = await this.ctx.request("backstitch/review", { uri: uri.toString() });
        return files.filter((file) => file.binary).map(({ shown }) => ({ uri, shown }));
      }),
    );
    return found.flat();
  }
}

function hunksOf(changes: readonly Pointed[]): Hunk[] {
  return changes.flatMap(({ change }) => change?.hunk ?? []);
}

/** Line of a change on the active side. A gap at the end of the file belongs to the last line. */
function startIn({ editor, side }: Active, hunk: Hunk): number {
  return Math.min(hunk[side][0], editor.document.lineCount - 1);
}

function reveal(active: Active, hunk: Hunk): void {
  const line = startIn(active, hunk);
  active.editor.selection = new vscode.Selection(line, 0, line, 0);
  active.editor.revealRange(
    new vscode.Range(line, 0, line, 0),
    vscode.TextEditorRevealType.InCenterIfOutsideViewport,
  );
}

/** In a comparison of all files VS Code itself moves from file to file. */
async function goInAll(step: 1 | -1): Promise<void> {
  await vscode.commands.executeCommand(
    step === 1 ? "multiDiffEditor.goToNextChange" : "multiDiffEditor.goToPreviousChange",
  );
}
