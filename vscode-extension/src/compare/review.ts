// Review of changes since a checkpoint: the user undoes or keeps each one. Kept changes are no longer marked: the file is
// compared with its text at the checkpoint plus the kept changes. The server stores them, for all editors.

import * as vscode from "vscode";

import type { Ctx, Disposable } from "../ctx.ts";
import { type Base, NOTHING, type Sides, baseOf, onDisk, textAt } from "../documents/open.ts";
import type { Outcome, Restores } from "../restore/restores.ts";
import { type Text, rev as revOf, shown } from "../server/protocol.ts";
import { message } from "../show/errors.ts";
import { type Hunk, areAll, hunks, isSame, lines, touched } from "./hunks.ts";

/** Text with the kept changes; null if the deletion is kept. */
type Kept = string | null;
/** Extent of an undo: lines of the file, the whole file to its kept text, or the whole file to the checkpoint. */
type Extent = "part" | "kept" | "file";
/** Time after which a comparison that is not in front has lost its keys, in milliseconds. */
const LEAVE_DELAY = 600;
/** Keys under which older versions stored kept changes. */
const OLD_KEYS = ["kept", "keptTimes"];

/** A present file and the base of its comparison. */
export type Pair = { base: Base; file: vscode.Uri; isGone: boolean };
/** One of all shown changes. All of them together reveal if the file has changed since. */
export type Change = { hunk: Hunk; all: readonly Hunk[] };
/** A selected change of a file, or the whole file. `shown` is the server's name for the state in the list. */
export type Pointed = Pair & { change?: Change; isBinary?: boolean; shown?: string | undefined };
/** The comparison in which the cursor is, on one of its sides. `isAlone`: it has no other file. */
export type Active = { editor: vscode.TextEditor; pair: Pair; side: keyof Hunk; isAlone: boolean };
/** A text to compare with, and its kept changes. */
type Original = { text: string; kept: Kept | undefined };

export class Review implements vscode.Disposable {
  /** By base. */
  private readonly originals = new Map<string, Promise<Original>>();
  private readonly changed = new vscode.EventEmitter<Base[]>();
  /** Comparisons in multi-file editors, by title and then by the documents of both sides. */
  private readonly titles = new Map<string, Map<string, Pair>>();
  private readonly disposables: Disposable[];
  private leaving: NodeJS.Timeout | undefined;
  /** Serializes keeps: the lines of each are those after the previous one. */
  private keepQueue: Promise<void> = Promise.resolve();
  readonly onDidChange = this.changed.event;

  constructor(private readonly ctx: Ctx) {
    for (const key of OLD_KEYS) void ctx.extension.workspaceState.update(key, undefined);
    const set = (isComparing: boolean) =>
      void vscode.commands.executeCommand("setContext", "backstitch.comparing", isComparing);
    const updateContext = () => {
      clearTimeout(this.leaving);
      if (this.active() !== undefined) set(true);
      // between two files there is none for a moment, and a key would be lost
      else this.leaving = setTimeout(set, LEAVE_DELAY, false);
    };
    this.disposables = [
      this.changed,
      ctx.on("backstitch/timelineChanged", ({ workspace }) => {
        void this.readAgain(shown(workspace));
      }),
      ctx.onDidChangeState(({ name }) => {
        if (name === "running") void this.readAgain();
      }),
      vscode.window.onDidChangeActiveTextEditor(updateContext),
      vscode.window.tabGroups.onDidChangeTabs(updateContext),
      vscode.window.tabGroups.onDidChangeTabGroups(updateContext),
    ];
    updateContext();
  }

  /** Text that a file is compared with: that of the checkpoint, with kept changes. */
  async original(base: Base): Promise<string> {
    return (await this.read(base)).text;
  }

  /** Text with kept changes that a file is compared with; undefined for the checkpoint's own text. */
  async kept(base: Base): Promise<Kept | undefined> {
    return (await this.read(base)).kept;
  }

  private read(base: Base): Promise<Original> {
    const known = this.originals.get(key(base));
    if (known !== undefined) return known;
    const reading = textAt(this.ctx, base, true).then(({ text, kept, deleted }) => ({
      text,
      kept: deleted === true ? null : kept === true ? text : undefined,
    }));
    this.originals.set(key(base), reading);
    reading.catch(() => {
      if (this.originals.get(key(base)) === reading) this.originals.delete(key(base));
    });
    return reading;
  }

  /** Reads texts again, of one workspace or all. Others may have kept changes. */
  private async readAgain(root?: string): Promise<void> {
    const all = [...this.originals].filter(([name]) => root === undefined || parse(name).root === root);
    for (const [name] of all) this.originals.delete(name);
    const isOther = await Promise.all(
      all.map(async ([name, before]) => {
        try {
          const [old, now] = [await before, await this.read(parse(name))];
          return old.text !== now.text || old.kept !== now.kept;
        } catch (error) {
          // the next use reports it
          this.ctx.log.info(message(error));
          return false;
        }
      }),
    );
    const changed = all.filter((_, at) => isOther[at]).map(([name]) => parse(name));
    if (changed.length > 0) this.changed.fire(changed);
  }

  /** Registers the title of a multi-file editor, and returns it. Another checkpoint of the same name has its id there. */
  shownAs(name: string, rev: string, all: readonly Sides[]): string {
    const pairs = all.flatMap((sides): [string, Pair][] => {
      const pair = pairOf(sides.original, sides.modified);
      if (pair === undefined) return [];
      return [
        [sides.original.toString(), pair],
        [(pair.isGone ? sides.original : sides.modified).toString(), pair],
      ];
    });
    const others = [...(this.titles.get(name)?.values() ?? [])];
    const title = others.every(({ base }) => base.rev === rev) ? name : `${name} · ${rev}`;
    this.titles.set(title, new Map(pairs));
    return title;
  }

  /** Returns the active comparison with a checkpoint, if there is one. */
  active(): Active | undefined {
    const editor = vscode.window.activeTextEditor;
    const tab = vscode.window.tabGroups.activeTabGroup.activeTab;
    if (editor === undefined || tab === undefined) return undefined;
    const uri = editor.document.uri.toString();
    let pair: Pair | undefined;
    if (tab.input instanceof vscode.TabInputTextDiff) {
      const { original, modified } = tab.input;
      // an editor that opened inside it shows another file
      const isOne = [original, modified].some((side) => side.toString() === uri);
      pair = isOne ? pairOf(original, modified) : undefined;
    } else {
      pair = this.shownIn(tab.label)?.get(uri);
    }
    const isAlone = tab.input instanceof vscode.TabInputTextDiff;
    return pair && { editor, pair, side: pair.file.toString() === uri ? "now" : "old", isAlone };
  }

  /** Files of the active comparison with a checkpoint. */
  compared(): Pair[] {
    const tab = vscode.window.tabGroups.activeTabGroup.activeTab;
    if (tab === undefined) return [];
    if (!(tab.input instanceof vscode.TabInputTextDiff)) {
      return [...new Set(this.shownIn(tab.label)?.values() ?? [])];
    }
    const pair = pairOf(tab.input.original, tab.input.modified);
    return pair === undefined ? [] : [pair];
  }

  /** VS Code adds the number of files to the title. */
  private shownIn(label: string): Map<string, Pair> | undefined {
    const found = [...this.titles].findLast(([title]) => label === title || label.startsWith(`${title} (`));
    return found?.[1];
  }

  /** Returns the changes at the cursor. */
  async atCursor(): Promise<Pointed[]> {
    const say = vscode.l10n.t;
    const active = this.active();
    if (active === undefined) throw new Error(say("No file is being compared with a checkpoint"));
    const { editor, pair, side } = active;
    if (pair.isGone) return [pair];
    const now = await vscode.workspace.openTextDocument(pair.file);
    const all = hunks(await this.original(pair.base), now.getText());
    if (all === undefined) {
      throw new Error(say("Too much differs to separate the changes. Rewind the whole file."));
    }
    const { start, end } = editor.selection;
    // a selection of whole lines ends at the beginning of the next
    const last = end.line > start.line && end.character === 0 ? end.line - 1 : end.line;
    const some = touched(all, side, start.line, last);
    if (some.length === 0) throw new Error(say("There is no change at the cursor. Move it into one."));
    return some.map((hunk) => ({ ...pair, change: { hunk, all } }));
  }

  /** Returns all changes of a file that are not kept. One of too many differences, or of a file that is gone, is the whole. */
  async changesOf(pair: Pair): Promise<Pointed[]> {
    if (pair.isGone) return (await this.kept(pair.base)) === null ? [] : [pair];
    const now = await vscode.workspace.openTextDocument(pair.file);
    const all = hunks(await this.original(pair.base), now.getText());
    return all?.map((hunk) => ({ ...pair, change: { hunk, all } })) ?? [pair];
  }

  /** Undoes changes of one file, or whole files. With `all` nobody selected each change, and the user's own stay. */
  async takeBack(restores: Restores, pointed: readonly Pointed[], all = false): Promise<Outcome | undefined> {
    const extents = await Promise.all(pointed.map((each) => this.extent(each)));
    const of = (extent: Extent) => pointed.filter((_, at) => extents[at] === extent);
    const whole = of("file");
    const [first] = whole;
    if (first !== undefined) {
      const paths = whole.map(({ file }) => file.toString());
      const at = { workspace: first.base.root, rev: first.base.rev };
      // the name for people
      const rev = revOf(await this.ctx.request("backstitch/checkpoint", at));
      const done = await restores.run("backstitch.rewind", { ...at, rev, paths, exact: !all });
      if (done === "called off") return done;
    }
    for (const changes of byFile(of("part"))) {
      if ((await this.takeBackIn(restores, changes, all)) === "called off") return "called off";
    }
    const kept = of("kept");
    if (all && kept.length > 0) {
      const names = kept.map(({ file }) => vscode.workspace.asRelativePath(file)).join(", ");
      throw new Error(vscode.l10n.t("You kept other changes of {0}. Undo it separately.", names));
    }
    for (const each of kept) await this.restoreKept(each);
    return undefined;
  }

  /** A file with kept changes is undone to its kept text. */
  private async extent({ base, file, isGone, isBinary, change }: Pointed): Promise<Extent> {
    const kept = await this.kept(base);
    const isText = !isGone && isBinary !== true && (await exists(file));
    if (kept === null || (kept !== undefined && !isText)) return "kept";
    if (!isText || (change === undefined && kept === undefined)) return "file";
    if (base.there || change === undefined || kept !== undefined) return "part";
    const now = await vscode.workspace.openTextDocument(file);
    const [start, end] = change.hunk.now;
    const isAll = end - start >= lines(now.getText()).filter((line) => line !== "").length;
    return isAll ? "file" : "part";
  }

  /** Restores the kept text of a file, or its kept deletion. */
  private async restoreKept({ base, file, isGone }: Pair): Promise<void> {
    const kept = (await this.kept(base)) ?? null;
    // the user has not seen the present file
    if (isGone && (await exists(file))) throw changedMeanwhile();
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
    const some = selectedHunks(old, document.getText(), changes);
    // the server computes hunks of the file, without unsaved text
    const ids = document.isDirty ? undefined : await this.ids(pair, old, document.getText(), some);
    if (ids !== undefined) {
      // the author does not matter: the user selected this change
      const place = { workspace: base.root, rev: base.rev, paths: [file.toString()] };
      return restores.run("backstitch.rewind", { ...place, hunks: ids, exact: !all }, !all);
    }
    const wanted = all ? await this.byAgents(document, some) : some;
    const isSameBase = (await this.original(base)) === old;
    // no await between this check and the edit
    if (!isSameBase || document.version !== version) throw changedMeanwhile();
    await putBack(document, old, wanted);
    return undefined;
  }

  /** Returns the server's ids of these changes; undefined if its hunks or lines differ. */
  private async ids(
    { base, file }: Pair,
    text: string,
    now: string,
    some: readonly Hunk[],
  ): Promise<string[] | undefined> {
    const where = { workspace: base.root, uri: file.toString() };
    const { files } = await this.ctx.request("backstitch/diff", { ...where, from: base.rev, to: "buffer" });
    const all = files.flatMap((changed) => changed.hunks);
    const [oldLines, nowLines] = [lines(text), lines(now)];
    const isAt = (range: [number, number], [start, end]: [number, number]) =>
      range[0] - 1 === start && range[1] === end - start;
    const has = (found: readonly Text[], expected: readonly string[]) =>
      isSame(found.map((line) => shown(line).replace(/[\r\n]+$/, "")).join("\n"), expected.join("\n"));
    const ids = some.map(({ old, now }) => {
      const found = all.find((hunk) => isAt(hunk.old, old) && isAt(hunk.new, now));
      const isIt =
        found && has(found.removed, oldLines.slice(...old)) && has(found.added, nowLines.slice(...now));
      return isIt === true ? found.id : undefined;
    });
    return ids.length > 0 && ids.every((id) => id !== undefined) ? ids : undefined;
  }

  /** Returns the hunks whose lines are all an agent's. The author of a pure deletion is unknown. */
  private async byAgents(document: vscode.TextDocument, some: readonly Hunk[]): Promise<Hunk[]> {
    const { version, runs } = await this.ctx.request("backstitch/blame", { uri: document.uri.toString() });
    if (version !== document.version) throw changedMeanwhile();
    const isAgents = (line: number) =>
      runs.some(({ by, start, count }) => by === "agent" && start <= line && line < start + count);
    return some.filter(({ now: [start, end] }) => {
      for (let line = start; line < end; line++) if (!isAgents(line)) return false;
      return end > start;
    });
  }

  /** Keeps changes: they are no longer marked. A failure for one file does not affect the others. */
  async keep(pointed: readonly Pointed[]): Promise<void> {
    const run = async () => {
      const failed: string[] = [];
      for (const changes of byFile(pointed)) {
        try {
          await this.keepIn(changes);
        } catch (error) {
          failed.push(message(error));
        }
      }
      await this.readAgain();
      if (failed.length > 0) throw new Error(failed.join("; "));
    };
    const done = this.keepQueue.then(run);
    this.keepQueue = done.catch(() => undefined);
    await done;
  }

  private async keepIn(changes: readonly Pointed[]): Promise<void> {
    const [first] = changes;
    if (first === undefined) return;
    const { base, file, isGone } = first;
    // the user has not seen the present file
    if (isGone && (await exists(file))) throw changedMeanwhile();
    const asked = { uri: file.toString(), since: base.rev, action: "keep" };
    if (changes.some(({ change }) => change === undefined)) {
      const { files } = await this.ctx.request("backstitch/review", { ...asked, shown: first.shown ?? null });
      if (files.length === 0) throw changedMeanwhile();
      return;
    }
    const old = await this.original(base);
    const document = await vscode.workspace.openTextDocument(file);
    const some = selectedHunks(old, document.getText(), changes);
    for (const { now } of some) {
      const { files } = await this.ctx.request("backstitch/review", { ...asked, lines: now });
      if (files.length > 0) continue;
      const name = vscode.workspace.asRelativePath(file);
      throw new Error(
        vscode.l10n.t("A change of {0} is not recorded yet. Save the file, and keep it then.", name),
      );
    }
  }

  /** Marks all kept changes since this checkpoint again. */
  async forget(root: string, rev: string): Promise<void> {
    await this.ctx.request("backstitch/review", { workspace: root, since: rev, action: "unkeep" });
    await this.readAgain(root);
  }

  /** Marks all kept changes of these files again. */
  async forgetOf(pairs: readonly Pair[]): Promise<void> {
    for (const { base, file } of pairs) {
      await this.ctx.request("backstitch/review", {
        uri: file.toString(),
        since: base.rev,
        action: "unkeep",
      });
    }
    await this.readAgain();
  }

  dispose(): void {
    clearTimeout(this.leaving);
    for (const each of this.disposables) each.dispose();
  }
}

export function pairOf(original: vscode.Uri, modified: vscode.Uri): Pair | undefined {
  const base = baseOf(original);
  if (base === undefined) return undefined;
  const isGone = modified.toString() === NOTHING.toString();
  return { base, isGone, file: isGone ? onDisk(base.root, base.path) : modified };
}

/** Replaces hunks with the older lines, as an edit of the user. */
export async function putBack(
  document: vscode.TextDocument,
  old: string,
  some: readonly Hunk[],
): Promise<void> {
  const wasClean = !document.isDirty;
  const oldLines = lines(old);
  ensureUtf8(some.flatMap((hunk) => oldLines.slice(...hunk.old)).join(), document.uri);
  const eol = document.eol === vscode.EndOfLine.CRLF ? "\r\n" : "\n";
  const edit = new vscode.WorkspaceEdit();
  for (const hunk of some) {
    const [start, end] = hunk.now;
    const older = oldLines.slice(...hunk.old);
    const isLast = end >= document.lineCount;
    const from = isLast && start > 0 ? document.lineAt(start - 1).range.end : new vscode.Position(start, 0);
    const to = isLast ? document.lineAt(document.lineCount - 1).range.end : new vscode.Position(end, 0);
    const between = older.join(eol);
    const text = older.length === 0 ? "" : isLast ? `${start > 0 ? eol : ""}${between}` : `${between}${eol}`;
    edit.replace(document.uri, new vscode.Range(from, to), text);
  }
  await apply(edit);
  // save only a file without other unsaved changes
  if (wasClean && !(await document.save())) {
    const name = vscode.workspace.asRelativePath(document.uri);
    throw new Error(vscode.l10n.t("{0} is changed in the editor, and could not be saved", name));
  }
}

async function apply(edit: vscode.WorkspaceEdit): Promise<void> {
  const isDone = await vscode.workspace.applyEdit(edit);
  if (!isDone) throw new Error(vscode.l10n.t("The editor did not undo the change"));
}

/** Returns the selected hunks. Fails if the file differs from the shown comparison. */
function selectedHunks(old: string, now: string, changes: readonly Pointed[]): Hunk[] {
  const whole: Hunk = { old: [0, lines(old).length], now: [0, lines(now).length] };
  const isWhole = changes.some(({ change }) => change === undefined);
  const some = isWhole ? (hunks(old, now) ?? [whole]) : changes.flatMap(({ change }) => change?.hunk ?? []);
  const isAsShown = changes.every(({ change }) => change === undefined || areAll(old, now, change.all));
  if (!isAsShown || some.length === 0) throw changedMeanwhile();
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

function changedMeanwhile(): Error {
  return new Error(vscode.l10n.t("The file has changed meanwhile. Review the change again."));
}

function notUtf8(file: vscode.Uri): Error {
  const name = vscode.workspace.asRelativePath(file);
  return new Error(vscode.l10n.t("{0} is not UTF-8. Rewind the whole file.", name));
}

/** Fails for text with replacement characters: the server reads every file as UTF-8, and they must not be written. */
function ensureUtf8(text: string, file: vscode.Uri): void {
  if (text.includes("\uFFFD")) throw notUtf8(file);
}

async function exists(file: vscode.Uri): Promise<boolean> {
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
