// Files of held calls: as they are now, as they would be, and the input of the tool. The latter two can be edited where the
// agent can take a change: a save has the server predict anew. It decides nothing.

import * as vscode from "vscode";

import type { Ctx } from "../ctx.ts";
import { NOTHING } from "../documents/open.ts";
import {
  type Pause,
  type PauseDetails,
  type PredictResult,
  type PredictedFile,
  shown,
} from "../server/protocol.ts";
import { message } from "../show/errors.ts";
import { isProposal, takesChanges } from "./held.ts";
import { HELD_SCHEME, type HeldPlace, placeOf, uriParts } from "./place.ts";

/** A held call as it is shown, with the user's changes. */
type Call = {
  pause: Pause;
  root: string;
  shown: Pick<PredictResult, "inputText" | "command" | "predicted" | "fingerprint">;
  /** True once the user has changed the input, or a file. */
  isChanged: boolean;
  edition: number;
};

/** End of the name of an input. `jsonValidation` in `package.json` has the schemas of the tools before it. */
const INPUT_SUFFIX = ".held-input.json";
/** End of the name of a shell command, by which VS Code takes it for one. */
const COMMAND_SUFFIX = ".held-command.sh";

const encoder = new TextEncoder();

/** Both sides of a predicted file. `NOTHING` stands for the side on which it does not exist. */
export type HeldSides = { file: PredictedFile; path: string; now: vscode.Uri; then: vscode.Uri };

export class HeldFiles implements vscode.FileSystemProvider, vscode.Disposable {
  private readonly changes = new vscode.EventEmitter<vscode.FileChangeEvent[]>();
  readonly onDidChangeFile = this.changes.event;
  private readonly predictions = new vscode.EventEmitter<void>();
  /** After each new prediction. */
  readonly onDidPredict = this.predictions.event;
  private readonly registered = vscode.workspace.registerFileSystemProvider(HELD_SCHEME, this, {
    isCaseSensitive: true,
  });
  private readonly calls = new Map<string, Call>();

  constructor(private readonly ctx: Ctx) {}

  /** Registers a held call. Changes of the user stay. */
  keep(details: PauseDetails): void {
    const { pause } = details;
    const root = shown(pause.root);
    const key = keyOf(pause.id, root);
    const known = this.calls.get(key);
    if (known?.isChanged === true) return;
    this.calls.set(key, {
      pause,
      root,
      shown: details,
      isChanged: false,
      edition: (known?.edition ?? 0) + 1,
    });
    if (known !== undefined) this.fire(key);
    this.predictions.fire();
  }

  /** The call as it was shown last; undefined if it was not. */
  known(pause: Pause): Readonly<Call> | undefined {
    return this.calls.get(keyOf(pause.id, shown(pause.root)));
  }

  /**
   * Takes the text that is being edited, saved or not, and returns the input that was shown, with its fingerprint: only that
   * may run. Fails if the agent cannot take it. Undefined if the call was not shown.
   */
  async taken(pause: Pause): Promise<{ inputText?: string; fingerprint: string } | undefined> {
    const key = keyOf(pause.id, shown(pause.root));
    for (const document of this.dirty(pause)) {
      const place = placeOf(document.uri);
      const call = this.calls.get(key);
      if (place === undefined || call === undefined) continue;
      await this.predict(call, place, document.getText());
      // the same text, and no newer file until it is saved: the editor is clean again
      const isSaved = await document.save();
      this.renew(call);
      if (!isSaved) throw new vscode.CancellationError();
    }
    const call = this.calls.get(key);
    if (call === undefined) return undefined;
    const { inputText, fingerprint } = call.shown;
    return call.isChanged ? { inputText, fingerprint } : { fingerprint };
  }

  /** Documents of a call with text that is not saved. */
  dirty(pause: Pause): vscode.TextDocument[] {
    const key = keyOf(pause.id, shown(pause.root));
    return vscode.workspace.textDocuments.filter(
      ({ isDirty, uri }) => isDirty && keyOfPlace(placeOf(uri)) === key,
    );
  }

  /** Both sides of each predicted file. */
  sides(pause: Pause): HeldSides[] {
    const files = this.known(pause)?.shown.predicted ?? [];
    return files.map((file) => {
      const path = shown(file.path);
      const from = shown(file.movedFrom ?? file.path);
      return {
        file,
        path,
        now: file.letter === "A" ? NOTHING : uriOf(pause, "now", from),
        then: file.letter === "D" ? NOTHING : uriOf(pause, "then", path),
      };
    });
  }

  /** The warning about a prediction that is not certain. */
  doubts(pause: Pause): string[] {
    const files = this.known(pause)?.shown.predicted ?? [];
    return files.flatMap(({ path, why, fails }) =>
      why === null
        ? []
        : [fails ? vscode.l10n.t("{0} will fail: {1}", shown(path), why) : `${shown(path)}: ${why}`],
    );
  }

  inputOf(pause: Pause): vscode.Uri {
    return uriOf(pause, "input", nameOf(pause, INPUT_SUFFIX));
  }

  /** The document of a call without predicted files: its shell command as text, or its input. */
  textOf(pause: Pause): vscode.Uri {
    const command = this.known(pause)?.shown.command ?? null;
    return command === null ? this.inputOf(pause) : uriOf(pause, "command", nameOf(pause, COMMAND_SUFFIX));
  }

  watch(): vscode.Disposable {
    return new vscode.Disposable(() => undefined);
  }

  stat(uri: vscode.Uri): vscode.FileStat {
    const { call, place } = this.at(uri);
    const size = this.read(call, place).length;
    return {
      type: vscode.FileType.File,
      ctime: 0,
      mtime: call.edition,
      size,
      ...(this.isReadonly(call, place) ? { permissions: vscode.FilePermission.Readonly } : {}),
    };
  }

  /** True where a change could not run: the agent cannot take one, or the side is not a text of the call. */
  private isReadonly(call: Call, place: HeldPlace): boolean {
    if (place.kind === "now" || call.pause.state !== "held" || !takesChanges(call.pause)) return true;
    return place.kind === "then" && this.file(call, place)?.then === null;
  }

  readFile(uri: vscode.Uri): Uint8Array {
    const { call, place } = this.at(uri);
    return this.read(call, place);
  }

  async writeFile(uri: vscode.Uri, content: Uint8Array): Promise<void> {
    const { call, place } = this.at(uri);
    try {
      if (await this.predict(call, place, new TextDecoder().decode(content))) this.renew(call);
    } catch (error) {
      throw vscode.FileSystemError.NoPermissions(message(error));
    }
  }

  /** Has the server predict the call with this text. Returns false if it has it. Fails if the agent cannot take it. */
  private async predict(call: Call, place: HeldPlace, text: string): Promise<boolean> {
    const say = vscode.l10n.t;
    if (this.isReadonly(call, place)) {
      throw new Error(
        isProposal(call.pause)
          ? say("A proposed rewind is carried out as it is, or denied")
          : say("{0} cannot be given another text here", call.pause.agent),
      );
    }
    if (!vscode.workspace.isTrusted) {
      throw new Error(say("A call can be changed once you trust the workspace"));
    }
    // the same text, saved once more
    if (call.isChanged && text === new TextDecoder().decode(this.read(call, place))) return false;
    if (place.kind === "input") checkJson(text);
    const about = { pause: call.pause.id, workspace: call.root };
    const inputText =
      place.kind === "input" ? text : place.kind === "command" ? withCommand(call, text) : undefined;
    const predicted =
      inputText !== undefined
        ? await this.ctx.request("backstitch/predict", { ...about, inputText })
        : await this.ctx.request("backstitch/predict", { ...about, then: this.wanted(call, place, text) });
    if (predicted.problem !== null) throw new Error(predicted.problem);
    call.shown = predicted;
    call.isChanged = true;
    return true;
  }

  /** Tells all views that the call was changed. */
  private renew(call: Call): void {
    call.edition++;
    this.fire(keyOf(call.pause.id, call.root));
    this.predictions.fire();
  }

  /** All texts that the call is to write, with the one that is saved. */
  private wanted(call: Call, place: HeldPlace, text: string): { path: string; text: string }[] {
    const others = call.shown.predicted.filter(
      ({ path, then }) => call.isChanged && shown(path) !== place.path && then !== null,
    );
    return [
      ...others.map(({ path, then }) => ({ path: shown(path), text: then ?? "" })),
      { path: place.path, text },
    ];
  }

  private at(uri: vscode.Uri): { call: Call; place: HeldPlace } {
    const place = placeOf(uri);
    const call = place && this.calls.get(keyOf(place.id, place.root));
    if (place === undefined || call === undefined) throw vscode.FileSystemError.FileNotFound(uri);
    return { call, place };
  }

  private file(call: Call, place: HeldPlace): PredictedFile | undefined {
    return call.shown.predicted.find(({ path, movedFrom }) =>
      place.kind === "now" ? shown(movedFrom ?? path) === place.path : shown(path) === place.path,
    );
  }

  private read(call: Call, place: HeldPlace): Uint8Array {
    if (place.kind === "input") return encoder.encode(`${call.shown.inputText}\n`);
    if (place.kind === "command") return encoder.encode(`${call.shown.command ?? ""}\n`);
    const file = this.file(call, place);
    if (file === undefined) return encoder.encode("");
    const text = place.kind === "now" ? file.now : file.then;
    return encoder.encode(text ?? withoutText(file, place.kind));
  }

  /** The documents of a call changed. */
  private fire(key: string): void {
    const open = vscode.workspace.textDocuments.filter(({ uri }) => keyOfPlace(placeOf(uri)) === key);
    this.changes.fire(open.map(({ uri }) => ({ type: vscode.FileChangeType.Changed, uri })));
  }

  readDirectory(): [string, vscode.FileType][] {
    return [];
  }

  createDirectory(uri: vscode.Uri): void {
    throw vscode.FileSystemError.NoPermissions(uri);
  }

  delete(uri: vscode.Uri): void {
    throw vscode.FileSystemError.NoPermissions(uri);
  }

  rename(uri: vscode.Uri): void {
    throw vscode.FileSystemError.NoPermissions(uri);
  }

  dispose(): void {
    this.registered.dispose();
    this.changes.dispose();
    this.predictions.dispose();
  }
}

/** Stands for a file that has no lines to show. */
function withoutText({ letter }: PredictedFile, kind: "now" | "then"): string {
  const say = vscode.l10n.t;
  const what = say("Binary file, or too large to show");
  if (kind === "now") return `${what}\n`;
  return `${what}: ${letter === "A" ? say("created") : say("modified")}\n`;
}

/** Fails with the place of the mistake. The server reads the text again, and keeps its numbers. */
function checkJson(text: string): void {
  try {
    JSON.parse(text);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new Error(vscode.l10n.t("The input is not JSON: {0}. Nothing was decided", why), { cause: error });
  }
}

function nameOf({ tool }: Pause, suffix: string): string {
  return `${tool.replaceAll(/[^\w-]/g, "_")}${suffix}`;
}

/** The input with another shell command. The order and the numbers of the agent stay. */
function withCommand({ shown: { inputText, command } }: Call, text: string): string {
  const [before, after, ...others] = inputText.split(JSON.stringify(command));
  if (before === undefined || after === undefined || others.length > 0) {
    throw new Error(vscode.l10n.t("The command cannot be changed as text here. Edit the input instead"));
  }
  // the editor's own line end
  return `${before}${JSON.stringify(text.replace(/\n$/, ""))}${after}`;
}

function keyOf(id: string, root: string): string {
  return `${id} ${root}`;
}

function keyOfPlace(place: HeldPlace | undefined): string | undefined {
  return place && keyOf(place.id, place.root);
}

function uriOf(pause: Pause, kind: HeldPlace["kind"], path: string): vscode.Uri {
  return vscode.Uri.from(uriParts({ id: pause.id, root: shown(pause.root), kind, path }));
}

/** The held call that a document belongs to, and its part of it. */
export function callOf(uri: vscode.Uri | undefined): HeldPlace | undefined {
  return uri && placeOf(uri);
}
