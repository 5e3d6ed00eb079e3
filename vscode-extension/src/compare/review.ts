// Changes since a checkpoint, one after the other: taken back, or kept. What is kept is marked no more: it is compared
// with the file at the checkpoint that has those changes in it.

import * as vscode from "vscode";

import type { Outcome, Restores } from "../commands/restore.ts";
import type { Ctx, Owned } from "../ctx.ts";
import { type Base, NOTHING, type Sides, baseOf, contentOf, onDisk } from "../documents/open.ts";
import { rev as revOf, shown } from "../server/protocol.ts";
import { type Hunk, hunks, isSame, lines, overlapping, touched, withHunks } from "./hunks.ts";

/** Null: that it is gone is kept. */
type Text = string | null;
/** How much is remembered of a file, and of all of them, in characters. */
const MOST_OF_ONE = 1 << 20;
const MOST = 4 << 20;
const KEPT = "kept";
const TIMES = "keptTimes";

/** A file as it is now, and what it is compared with. */
export type Pair = { base: Base; file: vscode.Uri; isGone: boolean };
/** Of which this is meant, or all of it. */
export type Pointed = Pair & { hunk?: Hunk; isBinary?: boolean };

export class Review implements vscode.Disposable {
  private readonly kept: Map<string, Text>;
  private readonly changed = new vscode.EventEmitter<Base[]>();
  /** What is compared in editors of several files, by their titles and then by the documents of both sides. */
  private readonly titles = new Map<string, Map<string, Pair>>();
  private readonly heard: Owned[];
  /** One after the other, since each begins with what the last one kept. */
  private keeping: Promise<void> = Promise.resolve();
  readonly onDidChange = this.changed.event;

  constructor(private readonly ctx: Ctx) {
    this.kept = new Map(ctx.extension.workspaceState.get<[string, Text][]>(KEPT, []));
    const look = () => {
      void vscode.commands.executeCommand("setContext", "backstitch.comparing", this.looked() !== undefined);
    };
    this.heard = [
      this.changed,
      vscode.window.onDidChangeActiveTextEditor(look),
      vscode.window.tabGroups.onDidChangeTabs(look),
      vscode.window.tabGroups.onDidChangeTabGroups(look),
    ];
    look();
  }

  /** What a file is compared as; undefined: as it was at the checkpoint. */
  text(base: Base): Text | undefined {
    return this.kept.get(key(base));
  }

  private async original(base: Base): Promise<string> {
    const kept = this.text(base);
    if (kept !== undefined) return kept ?? "";
    return base.there ? contentOf(this.ctx, base) : "";
  }

  /** An editor of several files has this title. */
  shownAs(title: string, all: readonly Sides[]): void {
    const pairs = all.flatMap((sides): [string, Pair][] => {
      const pair = pairOf(sides.original, sides.modified);
      if (pair === undefined) return [];
      return [
        [sides.original.toString(), pair],
        [(pair.isGone ? sides.original : sides.modified).toString(), pair],
      ];
    });
    this.titles.set(title, new Map(pairs));
  }

  /** What is looked at, if it is compared with a checkpoint. */
  private looked(): { editor: vscode.TextEditor; pair: Pair; side: keyof Hunk } | undefined {
    const editor = vscode.window.activeTextEditor;
    const tab = vscode.window.tabGroups.activeTabGroup.activeTab;
    if (editor === undefined || tab === undefined) return undefined;
    const uri = editor.document.uri.toString();
    let pair: Pair | undefined;
    if (tab.input instanceof vscode.TabInputTextDiff) {
      const { original, modified } = tab.input;
      // an editor that opened within it shows another file
      const isOne = [original, modified].some((side) => side.toString() === uri);
      pair = isOne ? pairOf(original, modified) : undefined;
    } else {
      pair = this.shownIn(tab.label)?.get(uri);
    }
    return pair && { editor, pair, side: pair.file.toString() === uri ? "now" : "old" };
  }

  /** VS Code adds the number of files to the title. */
  private shownIn(label: string): Map<string, Pair> | undefined {
    const found = [...this.titles].findLast(([title]) => label === title || label.startsWith(`${title} (`));
    return found?.[1];
  }

  /** The changes at the cursor. */
  async atCursor(): Promise<Pointed[]> {
    const say = vscode.l10n.t;
    const looked = this.looked();
    if (looked === undefined) throw new Error(say("No file is being compared with a checkpoint"));
    const { editor, pair, side } = looked;
    if (pair.isGone) return [pair];
    const now = await vscode.workspace.openTextDocument(pair.file);
    const all = hunks(await this.original(pair.base), now.getText());
    const { start, end } = editor.selection;
    // a selection of whole lines ends at the beginning of the next
    const last = end.line > start.line && end.character === 0 ? end.line - 1 : end.line;
    const some = touched(all, side, start.line, last);
    if (some.length === 0) throw new Error(say("There is no change at the cursor. Put it into one."));
    return some.map((hunk) => ({ ...pair, hunk }));
  }

  /** Changes of one file, or files as a whole; `all`: nobody pointed at each of them, and what is the user's stays. */
  async takeBack(restores: Restores, pointed: readonly Pointed[], all = false): Promise<void> {
    const parts = await Promise.all(pointed.map((each) => this.isPart(each)));
    const whole = pointed.filter((_, at) => !parts[at]);
    const [first] = whole;
    if (first !== undefined) {
      const paths = whole.map(({ file }) => file.toString());
      const at = { workspace: first.base.root, rev: first.base.rev };
      // by the name that people know it by
      const rev = revOf(await this.ctx.request("backstitch/checkpoint", at));
      const done = await restores.run("backstitch.rewind", { ...at, rev, paths, exact: !all });
      if (done === "called off") return;
    }
    const files = new Map<string, Pointed[]>();
    for (const each of pointed.filter((_, at) => parts[at])) {
      files.set(each.file.toString(), [...(files.get(each.file.toString()) ?? []), each]);
    }
    for (const changes of files.values()) {
      if ((await this.takeBackIn(restores, changes, all)) === "called off") return;
    }
  }

  /** Some changes of a text, and not the file as a whole: where some of it is kept, only the rest is meant. */
  private async isPart({ base, file, isGone, isBinary, hunk }: Pointed): Promise<boolean> {
    const isText = !isGone && isBinary !== true && (await isThere(file));
    if (!isText || (hunk === undefined && typeof this.text(base) !== "string")) return false;
    if (base.there || hunk === undefined || this.text(base) !== undefined) return true;
    // all of a file that was made
    const now = await vscode.workspace.openTextDocument(file);
    return hunk.now[1] - hunk.now[0] < lines(now.getText()).filter((line) => line !== "").length;
  }

  private async takeBackIn(
    restores: Restores,
    changes: readonly Pointed[],
    all: boolean,
  ): Promise<Outcome | undefined> {
    const [pair] = changes;
    if (pair === undefined) return undefined;
    const { base, file } = pair;
    const document = await vscode.workspace.openTextDocument(file);
    const old = await this.original(base);
    const { version } = document;
    const differ = hunks(old, document.getText());
    const some = changes.some(({ hunk }) => hunk === undefined)
      ? differ
      : differ.filter((each) => changes.some(({ hunk }) => hunk && overlapping([each], hunk).length > 0));
    const ids = await this.ids(pair, old, some);
    if (ids !== undefined) {
      // whoever wrote it: this very change is pointed at
      const place = { workspace: base.root, rev: base.rev, paths: [file.toString()] };
      return restores.run("backstitch.rewind", { ...place, hunks: ids, exact: !all }, !all);
    }
    if (document.version !== version) {
      throw new Error(vscode.l10n.t("The file has changed meanwhile. Take the change back again."));
    }
    const wanted = all ? await this.byAgents(file, some) : some;
    await putBack(document, old, wanted);
    return undefined;
  }

  /** The server's names of these changes; undefined where it cuts the file otherwise, or other lines came before them. */
  private async ids(
    { base, file }: Pair,
    text: string,
    some: readonly Hunk[],
  ): Promise<string[] | undefined> {
    const where = { workspace: base.root, uri: file.toString() };
    const { files } = await this.ctx.request("backstitch/diff", { ...where, from: base.rev, to: "buffer" });
    const all = files.flatMap((changed) => changed.hunks);
    const was = lines(text);
    const ids = some.map(({ old, now }) => {
      const isAt = (range: [number, number], [start, end]: [number, number]) =>
        range[0] - 1 === start && range[1] === end - start;
      const found = all.find((hunk) => isAt(hunk.old, old) && isAt(hunk.new, now));
      const removed = found?.removed.map((line) => shown(line).replace(/[\r\n]+$/, ""));
      return removed && isSame(removed.join("\n"), was.slice(...old).join("\n")) ? found?.id : undefined;
    });
    return ids.every((id) => id !== undefined) ? ids : undefined;
  }

  /** Those of which an agent wrote every line; where lines are only gone, nobody can tell. */
  private async byAgents(file: vscode.Uri, some: readonly Hunk[]): Promise<Hunk[]> {
    const { runs } = await this.ctx.request("backstitch/blame", { uri: file.toString() });
    const isAgents = (line: number) =>
      runs.some(({ by, start, count }) => by === "agent" && start <= line && line < start + count);
    return some.filter(({ now: [start, end] }) => {
      for (let line = start; line < end; line++) if (!isAgents(line)) return false;
      return end > start;
    });
  }

  /** They are marked no more. What cannot be kept does not keep the others from it. */
  async keep(pointed: readonly Pointed[]): Promise<void> {
    const run = async () => {
      const kept: Base[] = [];
      const failed: string[] = [];
      for (const { base, file, hunk } of pointed) {
        try {
          await this.remember(base, file, hunk);
          kept.push(base);
        } catch (error) {
          failed.push(error instanceof Error ? error.message : String(error));
        }
      }
      await this.save(kept);
      if (failed.length > 0) throw new Error(failed.join("; "));
    };
    const done = this.keeping.then(run);
    this.keeping = done.catch(() => undefined);
    await done;
  }

  private async remember(base: Base, file: vscode.Uri, hunk: Hunk | undefined): Promise<void> {
    let text = await textOf(file);
    if (hunk !== undefined) {
      const old = await this.original(base);
      const now = (await vscode.workspace.openTextDocument(file)).getText();
      text = withHunks(old, now, overlapping(hunks(old, now), hunk));
      sureOfLetters(text, file);
    }
    if ((text?.length ?? 0) > MOST_OF_ONE) {
      throw new Error(
        vscode.l10n.t("{0} is too long to be remembered as kept", vscode.workspace.asRelativePath(file)),
      );
    }
    this.kept.delete(key(base));
    this.kept.set(key(base), text);
  }

  /** Whether nothing of a file is left to be looked at. */
  async isKept(base: Base, file: vscode.Uri): Promise<boolean> {
    const text = this.text(base);
    if (text === undefined) return false;
    const now = await textOf(file);
    return text === null || now === null ? text === now : isSame(text, now);
  }

  /** Everything since this checkpoint is marked again. */
  async forget(root: string, rev: string): Promise<void> {
    const mine = [...this.kept.keys()].map(parse).filter((base) => base.root === root && base.rev === rev);
    for (const base of mine) this.kept.delete(key(base));
    await this.save(mine);
  }

  /** A checkpoint is compared with: where a history was cleared, another may have its name by now. */
  async sure(root: string, rev: string, time: string | null): Promise<void> {
    const state = this.ctx.extension.workspaceState;
    const times = state.get<Record<string, string | null>>(TIMES, {});
    const name = JSON.stringify([root, rev]);
    if (name in times && times[name] !== time) await this.forget(root, rev);
    if (times[name] !== time) await state.update(TIMES, { ...times, [name]: time });
  }

  private async save(changed: Base[]): Promise<void> {
    const gone: Base[] = [];
    let size = [...this.kept.values()].reduce((sum, text) => sum + (text?.length ?? 0), 0);
    for (const [oldest, text] of this.kept) {
      if (size <= MOST) break;
      size -= text?.length ?? 0;
      this.kept.delete(oldest);
      gone.push(parse(oldest));
    }
    await this.ctx.extension.workspaceState.update(KEPT, [...this.kept]);
    this.changed.fire([...changed, ...gone]);
  }

  dispose(): void {
    for (const each of this.heard) each.dispose();
  }
}

function pairOf(original: vscode.Uri, modified: vscode.Uri): Pair | undefined {
  const base = baseOf(original);
  if (base === undefined) return undefined;
  const isGone = modified.toString() === NOTHING.toString();
  return { base, isGone, file: isGone ? onDisk(base.root, base.path) : modified };
}

/** The older lines in place of these, as if typed. */
async function putBack(document: vscode.TextDocument, old: string, some: readonly Hunk[]): Promise<void> {
  const wasClean = !document.isDirty;
  const was = lines(old);
  sureOfLetters(some.flatMap((hunk) => was.slice(...hunk.old)).join(), document.uri);
  const eol = document.eol === vscode.EndOfLine.CRLF ? "\r\n" : "\n";
  const edit = new vscode.WorkspaceEdit();
  for (const hunk of some) {
    const [start, end] = hunk.now;
    const older = was.slice(...hunk.old);
    const isLast = end >= document.lineCount;
    const from = isLast && start > 0 ? document.lineAt(start - 1).range.end : new vscode.Position(start, 0);
    const to = isLast ? document.lineAt(document.lineCount - 1).range.end : new vscode.Position(end, 0);
    const between = older.join(eol);
    const text = older.length === 0 ? "" : isLast ? `${start > 0 ? eol : ""}${between}` : `${between}${eol}`;
    edit.replace(document.uri, new vscode.Range(from, to), text);
  }
  const isDone = await vscode.workspace.applyEdit(edit);
  if (!isDone) throw new Error(vscode.l10n.t("The editor did not take the change back"));
  // what is not saved otherwise is not either
  if (wasClean) await document.save();
}

/** The server takes every file for UTF-8; what it could not read is not to be written. */
function sureOfLetters(text: string, file: vscode.Uri): void {
  if (!text.includes("\uFFFD")) return;
  const name = vscode.workspace.asRelativePath(file);
  throw new Error(vscode.l10n.t("{0} is no UTF-8. Rewind the file as a whole.", name));
}

async function isThere(file: vscode.Uri): Promise<boolean> {
  return (await textOf(file)) !== null;
}

function key({ root, rev, path, there }: Base): string {
  return JSON.stringify([root, rev, path, there]);
}

function parse(key: string): Base {
  const [root, rev, path, there] = JSON.parse(key) as [string, string, string, boolean];
  return { root, rev, path, there };
}

async function textOf(file: vscode.Uri): Promise<Text> {
  try {
    const bytes = await vscode.workspace.fs.readFile(file);
    return new TextDecoder().decode(bytes);
  } catch (error) {
    if (error instanceof vscode.FileSystemError && error.code === "FileNotFound") return null;
    throw error;
  }
}
