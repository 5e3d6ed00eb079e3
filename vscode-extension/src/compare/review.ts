// Changes since a checkpoint, one after the other: taken back, or kept. What is kept is marked no more: it is compared
// with the file at the checkpoint that has those changes in it.

import * as vscode from "vscode";

import type { Outcome, Restores } from "../commands/restore.ts";
import type { Ctx, Owned } from "../ctx.ts";
import { type Base, NOTHING, type Sides, baseOf, contentOf, onDisk } from "../documents/open.ts";
import { type Text, rev as revOf, shown } from "../server/protocol.ts";
import { message } from "../show/errors.ts";
import { type Hunk, areAll, hunks, isSame, lines, touched, withHunks } from "./hunks.ts";

/** Null: that it is gone is kept. */
type Kept = string | null;
/** How a change is taken back: as lines of its text, as a file to what is kept of it, as a file to the checkpoint. */
type Extent = "part" | "kept" | "file";
/** How much is remembered of a file, and of all of them, in characters. */
const MOST_OF_ONE = 1 << 20;
const MOST = 4 << 20;
const KEPT = "kept";
const TIMES = "keptTimes";

/** A file as it is now, and what it is compared with. */
export type Pair = { base: Base; file: vscode.Uri; isGone: boolean };
/** One of all the changes that whoever compared has shown: by these it can be told whether the file is still the same. */
export type Change = { hunk: Hunk; all: readonly Hunk[] };
/** Of which this is meant, or all of it. */
export type Pointed = Pair & { change?: Change; isBinary?: boolean };

export class Review implements vscode.Disposable {
  private readonly kept: Map<string, Kept>;
  private readonly changed = new vscode.EventEmitter<Base[]>();
  /** What is compared in editors of several files, by their titles and then by the documents of both sides. */
  private readonly titles = new Map<string, Map<string, Pair>>();
  private readonly heard: Owned[];
  /** One after the other, since each begins with what the last one kept. */
  private keeping: Promise<void> = Promise.resolve();
  readonly onDidChange = this.changed.event;

  constructor(private readonly ctx: Ctx) {
    this.kept = new Map(ctx.extension.workspaceState.get<[string, Kept][]>(KEPT, []));
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
  text(base: Base): Kept | undefined {
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
    if (all === undefined) {
      throw new Error(say("Too much differs to tell the changes apart. Rewind the file as a whole."));
    }
    const { start, end } = editor.selection;
    // a selection of whole lines ends at the beginning of the next
    const last = end.line > start.line && end.character === 0 ? end.line - 1 : end.line;
    const some = touched(all, side, start.line, last);
    if (some.length === 0) throw new Error(say("There is no change at the cursor. Put it into one."));
    return some.map((hunk) => ({ ...pair, change: { hunk, all } }));
  }

  /** Changes of one file, or files as a whole; `all`: nobody pointed at each of them, and what is the user's stays. */
  async takeBack(restores: Restores, pointed: readonly Pointed[], all = false): Promise<void> {
    const extents = await Promise.all(pointed.map((each) => this.extent(each)));
    const of = (extent: Extent) => pointed.filter((_, at) => extents[at] === extent);
    const whole = of("file");
    const [first] = whole;
    if (first !== undefined) {
      const paths = whole.map(({ file }) => file.toString());
      const at = { workspace: first.base.root, rev: first.base.rev };
      // by the name that people know it by
      const rev = revOf(await this.ctx.request("backstitch/checkpoint", at));
      const done = await restores.run("backstitch.rewind", { ...at, rev, paths, exact: !all });
      if (done === "called off") return;
    }
    for (const changes of byFile(of("part"))) {
      if ((await this.takeBackIn(restores, changes, all)) === "called off") return;
    }
    const kept = of("kept");
    if (all && kept.length > 0) {
      const names = kept.map(({ file }) => vscode.workspace.asRelativePath(file)).join(", ");
      throw new Error(vscode.l10n.t("Of {0} you kept something else. Take it back by itself.", names));
    }
    for (const each of kept) await this.toKept(each);
  }

  /** Where some of a file is kept, only the rest is meant. */
  private async extent({ base, file, isGone, isBinary, change }: Pointed): Promise<Extent> {
    const kept = this.text(base);
    const isText = !isGone && isBinary !== true && (await isThere(file));
    if (kept === null || (kept !== undefined && !isText)) return "kept";
    if (!isText || (change === undefined && kept === undefined)) return "file";
    if (base.there || change === undefined || kept !== undefined) return "part";
    const now = await vscode.workspace.openTextDocument(file);
    const [start, end] = change.hunk.now;
    const isAll = end - start >= lines(now.getText()).filter((line) => line !== "").length;
    return isAll ? "file" : "part";
  }

  /** As it was kept: with its text, or not there. */
  private async toKept({ base, file, isGone }: Pair): Promise<void> {
    const kept = this.text(base) ?? null;
    // nobody saw what is there now
    if (isGone && (await isThere(file))) throw meanwhile();
    const edit = new vscode.WorkspaceEdit();
    if (kept === null) edit.deleteFile(file, { ignoreIfNotExists: true });
    else edit.createFile(file, { overwrite: true, contents: new TextEncoder().encode(kept) });
    await apply(edit);
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
    const some = meant(old, document.getText(), changes);
    // the server cuts what is in the file, and not what is not saved
    const ids = document.isDirty ? undefined : await this.ids(pair, old, document.getText(), some);
    if (ids !== undefined) {
      // whoever wrote it: this very change is pointed at
      const place = { workspace: base.root, rev: base.rev, paths: [file.toString()] };
      return restores.run("backstitch.rewind", { ...place, hunks: ids, exact: !all }, !all);
    }
    const wanted = all ? await this.byAgents(document, some) : some;
    const isSameBase = (await this.original(base)) === old;
    // from here on nothing is waited for before the edit
    if (!isSameBase || document.version !== version) throw meanwhile();
    await putBack(document, old, wanted);
    return undefined;
  }

  /** The server's names of these changes; undefined where it cuts the file otherwise, or has other lines. */
  private async ids(
    { base, file }: Pair,
    text: string,
    now: string,
    some: readonly Hunk[],
  ): Promise<string[] | undefined> {
    const where = { workspace: base.root, uri: file.toString() };
    const { files } = await this.ctx.request("backstitch/diff", { ...where, from: base.rev, to: "buffer" });
    const all = files.flatMap((changed) => changed.hunks);
    const [was, is] = [lines(text), lines(now)];
    const isAt = (range: [number, number], [start, end]: [number, number]) =>
      range[0] - 1 === start && range[1] === end - start;
    const has = (found: readonly Text[], expected: readonly string[]) =>
      isSame(found.map((line) => shown(line).replace(/[\r\n]+$/, "")).join("\n"), expected.join("\n"));
    const ids = some.map(({ old, now }) => {
      const found = all.find((hunk) => isAt(hunk.old, old) && isAt(hunk.new, now));
      const isIt = found && has(found.removed, was.slice(...old)) && has(found.added, is.slice(...now));
      return isIt === true ? found.id : undefined;
    });
    return ids.length > 0 && ids.every((id) => id !== undefined) ? ids : undefined;
  }

  /** Those of which an agent wrote every line; where lines are only gone, nobody can tell. */
  private async byAgents(document: vscode.TextDocument, some: readonly Hunk[]): Promise<Hunk[]> {
    const { version, runs } = await this.ctx.request("backstitch/blame", { uri: document.uri.toString() });
    if (version !== document.version) throw meanwhile();
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
      for (const changes of byFile(pointed)) {
        const [first] = changes;
        if (first === undefined) continue;
        try {
          await this.remember(first, changes);
          kept.push(first.base);
        } catch (error) {
          failed.push(message(error));
        }
      }
      await this.save(kept);
      if (failed.length > 0) throw new Error(failed.join("; "));
    };
    const done = this.keeping.then(run);
    this.keeping = done.catch(() => undefined);
    await done;
  }

  private async remember({ base, file, isGone }: Pair, changes: readonly Pointed[]): Promise<void> {
    const text = isGone ? null : await this.chosen(base, file, changes);
    // nobody saw what is there now
    if (isGone && (await isThere(file))) throw meanwhile();
    if (text === undefined) throw noUtf8(file);
    if ((text?.length ?? 0) > MOST_OF_ONE) {
      throw new Error(
        vscode.l10n.t("{0} is too long to be remembered as kept", vscode.workspace.asRelativePath(file)),
      );
    }
    this.kept.delete(key(base));
    this.kept.set(key(base), text);
  }

  /** What a file is compared as once these changes are kept. */
  private async chosen(base: Base, file: vscode.Uri, changes: readonly Pointed[]): Promise<Kept | undefined> {
    if (changes.some(({ change }) => change === undefined)) return textOf(file);
    const old = await this.original(base);
    const now = (await vscode.workspace.openTextDocument(file)).getText();
    const text = withHunks(old, now, meant(old, now, changes));
    sureOfLetters(text, file);
    return text;
  }

  /** Whether nothing of a file is left to be looked at. */
  async isKept(base: Base, file: vscode.Uri): Promise<boolean> {
    const text = this.text(base);
    if (text === undefined) return false;
    const now = await textOf(file);
    if (now === undefined) return false;
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
    const name = JSON.stringify([root, rev]);
    const known = state.get<Record<string, string | null>>(TIMES, {})[name];
    if (known !== undefined && known !== time) await this.forget(root, rev);
    // of others only as long as something is kept
    const inUse = new Set(
      [...this.kept.keys()].map(parse).map((base) => JSON.stringify([base.root, base.rev])),
    );
    const times = state.get<Record<string, string | null>>(TIMES, {});
    const left = Object.entries(times).filter(([each]) => inUse.has(each));
    await state.update(TIMES, { ...Object.fromEntries(left), [name]: time });
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
  await apply(edit);
  // what is not saved otherwise is not either
  if (wasClean && !(await document.save())) {
    const name = vscode.workspace.asRelativePath(document.uri);
    throw new Error(vscode.l10n.t("{0} is changed in the editor, and could not be saved", name));
  }
}

async function apply(edit: vscode.WorkspaceEdit): Promise<void> {
  const isDone = await vscode.workspace.applyEdit(edit);
  if (!isDone) throw new Error(vscode.l10n.t("The editor did not take the change back"));
}

/** Which of all that differs is pointed at. Fails where that is not what was shown. */
function meant(old: string, now: string, changes: readonly Pointed[]): Hunk[] {
  const whole: Hunk = { old: [0, lines(old).length], now: [0, lines(now).length] };
  const isWhole = changes.some(({ change }) => change === undefined);
  const some = isWhole ? (hunks(old, now) ?? [whole]) : changes.flatMap(({ change }) => change?.hunk ?? []);
  const isAsShown = changes.every(({ change }) => change === undefined || areAll(old, now, change.all));
  if (!isAsShown || some.length === 0) throw meanwhile();
  return some;
}

function byFile(pointed: readonly Pointed[]): Pointed[][] {
  const files = new Map<string, Pointed[]>();
  for (const each of pointed) {
    const name = key(each.base) + each.file.toString();
    files.set(name, [...(files.get(name) ?? []), each]);
  }
  return [...files.values()];
}

function meanwhile(): Error {
  return new Error(vscode.l10n.t("The file has changed meanwhile. Look at the change again."));
}

function noUtf8(file: vscode.Uri): Error {
  const name = vscode.workspace.asRelativePath(file);
  return new Error(vscode.l10n.t("{0} is no UTF-8. Rewind the file as a whole.", name));
}

/** The server takes every file for UTF-8; what it could not read is not to be written. */
function sureOfLetters(text: string, file: vscode.Uri): void {
  if (text.includes("\uFFFD")) throw noUtf8(file);
}

async function isThere(file: vscode.Uri): Promise<boolean> {
  try {
    await vscode.workspace.fs.stat(file);
    return true;
  } catch (error) {
    if (isAbsent(error)) return false;
    throw error;
  }
}

function isAbsent(error: unknown): boolean {
  return (
    error instanceof vscode.FileSystemError && ["FileNotFound", "FileNotADirectory"].includes(error.code)
  );
}

function key({ root, rev, path, there }: Base): string {
  return JSON.stringify([root, rev, path, there]);
}

function parse(key: string): Base {
  const [root, rev, path, there] = JSON.parse(key) as [string, string, string, boolean];
  return { root, rev, path, there };
}

/** Undefined: it is no UTF-8. */
async function textOf(file: vscode.Uri): Promise<Kept | undefined> {
  let bytes: Uint8Array;
  try {
    bytes = await vscode.workspace.fs.readFile(file);
  } catch (error) {
    if (isAbsent(error)) return null;
    throw error;
  }
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
}
