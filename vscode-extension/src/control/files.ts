// Files of held calls: as they are now, as they would be, and the input of the tool. The latter two can be edited: a save
// has the server predict anew. It decides nothing.

import * as vscode from "vscode";

import type { Ctx } from "../ctx.ts";
import { type Pause, type PauseDetails, type PredictResult, shown } from "../server/protocol.ts";
import { message } from "../show/errors.ts";

export const HELD_SCHEME = "backstitch-held";

/** A held call as it is shown, with the user's changes. */
type Call = {
  pause: Pause;
  root: string;
  shown: PredictResult;
  /** True once the user has changed the input, or a file. */
  isChanged: boolean;
  edition: number;
};

/** End of the name of an input. `jsonValidation` in `package.json` has the schemas of the tools before it. */
const INPUT_SUFFIX = ".held-input.json";

type Place = { key: string; kind: "now" | "then" | "input"; path: string };

const encoder = new TextEncoder();

export class HeldFiles implements vscode.FileSystemProvider, vscode.Disposable {
  private readonly changes = new vscode.EventEmitter<vscode.FileChangeEvent[]>();
  readonly onDidChangeFile = this.changes.event;
  private readonly registered = vscode.workspace.registerFileSystemProvider(HELD_SCHEME, this, {
    isCaseSensitive: true,
  });
  private readonly calls = new Map<string, Call>();

  constructor(private readonly ctx: Ctx) {}

  /** Registers a held call. Changes of the user stay. */
  keep(details: PauseDetails): void {
    const { pause, input, inputText, predicted, unpredicted, fingerprint } = details;
    const key = keyOf(pause.id, shown(pause.root));
    const known = this.calls.get(key);
    if (known?.isChanged === true) return;
    const root = shown(pause.root);
    this.calls.set(key, {
      pause,
      root,
      shown: { input, inputText, predicted, unpredicted, fingerprint },
      isChanged: false,
      edition: (known?.edition ?? 0) + 1,
    });
    if (known !== undefined) this.fire(key);
  }

  /** Saves what is being edited, and returns the changed input with its fingerprint; undefined if nothing was changed. */
  async changed(pause: Pause): Promise<{ inputText: string; fingerprint: string } | undefined> {
    const key = keyOf(pause.id, shown(pause.root));
    for (const document of vscode.workspace.textDocuments) {
      if (document.isDirty && placeOf(document.uri)?.key === key && !(await document.save())) {
        throw new vscode.CancellationError();
      }
    }
    const call = this.calls.get(key);
    if (call?.isChanged !== true) return undefined;
    return { inputText: call.shown.inputText, fingerprint: call.shown.fingerprint };
  }

  /** Both sides of each predicted file. */
  sides(pause: Pause): { path: string; now: vscode.Uri; then: vscode.Uri }[] {
    const key = keyOf(pause.id, shown(pause.root));
    const files = this.calls.get(key)?.shown.predicted ?? [];
    return files
      .filter(({ now, then }) => now !== null || then !== null)
      .map((file) => {
        const path = shown(file.path);
        return { path, now: uriOf(pause, "now", path), then: uriOf(pause, "then", path) };
      });
  }

  /** The warning about a prediction that is not certain. */
  doubts(pause: Pause): string[] {
    const files = this.calls.get(keyOf(pause.id, shown(pause.root)))?.shown.predicted ?? [];
    return files.flatMap(({ path, why, fails }) =>
      why === null
        ? []
        : [fails ? vscode.l10n.t("{0} will fail: {1}", shown(path), why) : `${shown(path)}: ${why}`],
    );
  }

  inputOf(pause: Pause): vscode.Uri {
    return uriOf(pause, "input", inputName(pause));
  }

  watch(): vscode.Disposable {
    return new vscode.Disposable(() => undefined);
  }

  stat(uri: vscode.Uri): vscode.FileStat {
    const { call, place } = this.at(uri);
    const size = this.read(call, place).length;
    const isReadonly = place.kind === "now" || call.pause.state !== "held";
    return {
      type: vscode.FileType.File,
      ctime: 0,
      mtime: call.edition,
      size,
      ...(isReadonly ? { permissions: vscode.FilePermission.Readonly } : {}),
    };
  }

  readFile(uri: vscode.Uri): Uint8Array {
    const { call, place } = this.at(uri);
    return this.read(call, place);
  }

  async writeFile(uri: vscode.Uri, content: Uint8Array): Promise<void> {
    const { call, place } = this.at(uri);
    if (place.kind === "now") throw vscode.FileSystemError.NoPermissions(uri);
    if (!vscode.workspace.isTrusted) {
      throw vscode.FileSystemError.NoPermissions(
        vscode.l10n.t("A call can be changed once you trust the workspace"),
      );
    }
    const text = new TextDecoder().decode(content);
    const about = { pause: call.pause.id, workspace: call.root };
    try {
      const predicted =
        place.kind === "input"
          ? await this.ctx.request("backstitch/predict", { ...about, inputText: text })
          : await this.ctx.request("backstitch/predict", { ...about, then: this.wanted(call, place, text) });
      call.shown = predicted;
      call.isChanged = true;
      call.edition++;
      this.fire(place.key);
    } catch (error) {
      throw vscode.FileSystemError.NoPermissions(message(error));
    }
  }

  /** All texts that the call is to write, with the one that is saved. */
  private wanted(call: Call, place: Place, text: string): { path: string; text: string }[] {
    const others = call.shown.predicted.filter(
      ({ path, then }) => call.isChanged && shown(path) !== place.path && then !== null,
    );
    return [
      ...others.map(({ path, then }) => ({ path: shown(path), text: then ?? "" })),
      { path: place.path, text },
    ];
  }

  private at(uri: vscode.Uri): { call: Call; place: Place } {
    const place = placeOf(uri);
    const call = place && this.calls.get(place.key);
    if (place === undefined || call === undefined) throw vscode.FileSystemError.FileNotFound(uri);
    return { call, place };
  }

  private read(call: Call, place: Place): Uint8Array {
    if (place.kind === "input") return encoder.encode(`${call.shown.inputText}\n`);
    const file = call.shown.predicted.find(({ path }) => shown(path) === place.path);
    return encoder.encode((place.kind === "now" ? file?.now : file?.then) ?? "");
  }

  /** The documents of a call changed. */
  private fire(key: string): void {
    const open = vscode.workspace.textDocuments.filter(({ uri }) => placeOf(uri)?.key === key);
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
  }
}

function inputName({ tool }: Pause): string {
  return `${tool.replaceAll(/[^\w-]/g, "_")}${INPUT_SUFFIX}`;
}

function keyOf(id: string, root: string): string {
  return `${id} ${root}`;
}

function uriOf(pause: Pause, kind: Place["kind"], path: string): vscode.Uri {
  return vscode.Uri.from({
    scheme: HELD_SCHEME,
    path: kind === "input" ? `/${pause.id}/${path}` : `/${pause.id}/${kind}/${path}`,
    query: shown(pause.root),
  });
}

function placeOf(uri: vscode.Uri): Place | undefined {
  if (uri.scheme !== HELD_SCHEME) return undefined;
  const [, id = "", kind = "", ...rest] = uri.path.split("/");
  const key = keyOf(id, uri.query);
  if (kind.endsWith(INPUT_SUFFIX)) return { key, kind: "input", path: kind };
  return kind === "now" || kind === "then" ? { key, kind, path: rest.join("/") } : undefined;
}

/** The held call that a document belongs to. */
export function callOf(uri: vscode.Uri | undefined): { id: string; root: string } | undefined {
  const place = uri && placeOf(uri);
  const id = uri?.path.split("/")[1];
  return place === undefined || id === undefined || uri === undefined ? undefined : { id, root: uri.query };
}
