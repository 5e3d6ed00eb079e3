// Comparisons of one file or all: a checkpoint with the present files, two checkpoints, the changes of one turn.

import * as vscode from "vscode";

import type { Ctx } from "../ctx.ts";
import * as documents from "../documents/open.ts";
import { parts } from "../documents/uri.ts";
import { type Checkpoint, type CheckpointResult, type Where, shown } from "../server/protocol.ts";
import { counts, sentence, titleOf, which } from "../show/words.ts";
import type { Review } from "./review.ts";
import { type StepPair, binaries, oldestFirst, spans, stepPairs } from "./spans.ts";
import { inform } from "../show/outside.ts";

/** `line`: the line of the file that is revealed. */
export type Since = Where & { rev?: string | null; rev2?: string | null; line?: number };

/** Compares one file if a document is named, else all changed files. */
export async function since(ctx: Ctx, review: Review, asked: Since): Promise<void> {
  const place = where(asked);
  const from = await ctx.request("backstitch/checkpoint", { ...place, rev: asked.rev ?? "@" });
  const to =
    typeof asked.rev2 === "string"
      ? await ctx.request("backstitch/checkpoint", { ...place, rev: asked.rev2 })
      : undefined;
  const root = await rootOf(ctx, place);
  const uri = typeof asked.uri === "string" ? asked.uri : null;
  const { files } = await ctx.request("backstitch/diff", {
    ...place,
    uri,
    from: from.id,
    to: to?.id ?? "buffer",
  });
  const say = vscode.l10n.t;
  const title =
    to === undefined ? say("since {0}", titleOf(from, say)) : `${titleOf(from, say)} ↔ ${titleOf(to, say)}`;
  const all = files
    .filter((file) => !file.binary)
    .map((file) => documents.sides(root, file, from.id, to?.id));
  const [only] = all;
  if (only === undefined) {
    const names = files.map(({ path }) => shown(path)).join(", ");
    const same =
      files.length === 0
        ? vscode.l10n.t("No differences: {0}", title)
        : vscode.l10n.t("Only binary files differ: {0} ({1})", names, title);
    void inform(same);
  } else if (uri !== null && all.length === 1) {
    const at = asked.line === undefined ? {} : { selection: new vscode.Range(asked.line, 0, asked.line, 0) };
    await documents.diff(only, `${documents.basename(only.resource)} (${title})`, at);
  } else {
    const binary = files.length - all.length;
    const without = binary === 0 ? "" : vscode.l10n.t("without {0} binary", binary);
    const named = [sentence(title), counts(files), without].filter(Boolean).join(" ");
    const counted = to === undefined ? review.shownAs(named, from.id, all) : named;
    const bases = all.flatMap(({ original }) => documents.baseOf(original) ?? []);
    const isKept = await Promise.all(bases.map(async (base) => (await review.kept(base)) !== undefined));
    const names = bases.filter((_, at) => isKept[at]).map((base) => documents.baseUri(base).toString());
    await documents.changes(counted, all, (base) => names.includes(documents.baseUri(base).toString()));
  }
}

/** A file beside its text at a checkpoint, with the words for that. */
export type Compared = { sides: documents.Sides; since: string };

/** Compares one file with a checkpoint; undefined if it does not differ, or has no lines. */
export async function ofFile(
  ctx: Ctx,
  { uri, rev }: { uri: string; rev: string },
): Promise<Compared | undefined> {
  const place = where({ uri });
  const from = await ctx.request("backstitch/checkpoint", { ...place, rev });
  const { files } = await ctx.request("backstitch/diff", { ...place, uri, from: from.id, to: "buffer" });
  const [file] = files;
  if (file === undefined || file.binary) return undefined;
  const root = await rootOf(ctx, place);
  const say = vscode.l10n.t;
  return {
    sides: documents.sides(root, file, from.id, undefined),
    since: say("since {0}", titleOf(from, say)),
  };
}

/** The files that a turn changed, for a review since then. */
export async function filesOfTurn(
  ctx: Ctx,
  asked: Since,
): Promise<{ uri: vscode.Uri; rev: string | undefined }[]> {
  const place = where(asked);
  const root = await rootOf(ctx, place);
  const rev = asked.rev ?? "@turn";
  const found = await ctx.request("backstitch/checkpoint", { ...place, rev });
  const steps = found.kind === "turn" ? found.steps : [found];
  const isBinary = new Map(
    steps.flatMap(({ changes }) => changes.map(({ path, binary }) => [shown(path), binary] as const)),
  );
  return [...isBinary]
    .sort(([one], [other]) => one.localeCompare(other))
    .map(([path, binary]) => ({ uri: documents.onDisk(root, path), rev: binary ? undefined : rev }));
}

/** Shows the changes of a turn's steps alone. */
export async function turn(ctx: Ctx, asked: Where, rev: string): Promise<void> {
  const found = await ctx.request("backstitch/checkpoint", { ...where(asked), rev });
  await changed(ctx, where(asked), found, typeof asked.uri === "string" ? asked.uri : undefined);
}

/** Shows the changes of one checkpoint; of a turn, those of its steps. */
export async function changed(
  ctx: Ctx,
  place: Where,
  checkpoint: CheckpointResult,
  uri?: string,
): Promise<void> {
  const root = await rootOf(ctx, place);
  const steps = checkpoint.kind === "turn" ? oldestFirst(checkpoint.steps) : [checkpoint];
  const all = spans(steps, await interrupted(ctx, place, steps))
    .map(({ change, from, to }) => documents.sides(root, change, from, to))
    .filter((sides) => uri === undefined || sides.resource.toString() === vscode.Uri.parse(uri).toString());
  const say = vscode.l10n.t;
  const name = titleOf(checkpoint, say);
  const binary = binaries(steps)
    .map((path) => documents.onDisk(root, path))
    .filter((file) => uri === undefined || file.toString() === vscode.Uri.parse(uri).toString());
  const without = binary.length === 0 ? "" : say("without {0} binary", binary.length);
  const title = [name, without].filter(Boolean).join(" ");
  const [only] = all;
  if (only === undefined) await onlyBinary(name, binary);
  else if (all.length === 1) await documents.diff(only, `${documents.basename(only.resource)} (${title})`);
  else await documents.changes(title, all);
}

/** Says that a checkpoint has no lines to show, and why. */
async function onlyBinary(name: string, files: readonly vscode.Uri[]): Promise<void> {
  const say = vscode.l10n.t;
  const [first] = files;
  if (first === undefined) {
    void inform(say("{0} changed no files", name));
    return;
  }
  const names = files.map((file) => vscode.workspace.asRelativePath(file)).join(", ");
  const open = say("Open {0}", documents.basename(first));
  const text = say("{0} changed only binary files, which have no lines to compare: {1}", name, names);
  const isThere = await Promise.resolve(vscode.workspace.fs.stat(first)).then(
    () => true,
    () => false,
  );
  void inform(text, ...(isThere ? [open] : [])).then((chosen) => {
    if (chosen === open) void vscode.commands.executeCommand("vscode.open", first);
  });
}

/** Returns pairs of consecutive steps on the same file between which others changed that file, too. */
async function interrupted(ctx: Ctx, place: Where, steps: readonly Checkpoint[]): Promise<StepPair[]> {
  const pairs = stepPairs(steps);
  const others = await Promise.all(
    pairs.map(async ({ path, last, next }) => {
      if (next.parent === null || next.parent === last) return false;
      const uri = documents.onDisk(await rootOf(ctx, place), path).toString();
      const { files } = await ctx.request("backstitch/diff", { ...place, uri, from: last, to: next.parent });
      return files.length > 0;
    }),
  );
  return pairs.filter((_, at) => others[at]);
}

/** Opens a file at a checkpoint. */
export async function openAt(ctx: Ctx, asked: Where & { rev?: string }): Promise<void> {
  if (asked.rev === undefined || typeof asked.uri !== "string") return;
  const place = where(asked);
  const root = await rootOf(ctx, place);
  const found = await ctx.request("backstitch/checkpoint", { ...place, rev: asked.rev });
  const { id } = found;
  const path = documents.below(root, vscode.Uri.parse(asked.uri).fsPath);
  if (path === undefined) return;
  const document = vscode.Uri.from(parts({ root, rev: id, path }));
  const say = vscode.l10n.t;
  const name = [which(found, say), titleOf(found, say)].filter(Boolean).join(" ");
  const title = `${documents.basename(document)} (${name})`;
  await vscode.commands.executeCommand("vscode.open", document, { preview: true }, title);
}

/** Shows the changes of one checkpoint in one file, or in all of its files. */
export async function openChange(ctx: Ctx, asked: Where & { rev?: string }): Promise<void> {
  if (asked.rev === undefined) return;
  const place = where(asked);
  const found = await ctx.request("backstitch/checkpoint", { ...place, rev: asked.rev });
  await changed(ctx, place, found, asked.uri ?? undefined);
}

export async function rootOf(ctx: Ctx, place: Where): Promise<string> {
  const { workspace } = await ctx.request("backstitch/timeline", { ...place, limit: 1 });
  return shown(workspace);
}

/** Parameters that name the workspace; a document alone would limit the request to that file. */
function where(asked: Where): Where {
  return typeof asked.workspace === "string" ? { workspace: asked.workspace } : { uri: asked.uri ?? null };
}
