// Tree of the timeline: entries with what is folded into them, and its filter. Pure.

import type { Checkpoint } from "../server/protocol.ts";
import { type Entry, entries, withOwnGaps } from "../show/entries.ts";

/** An entry with what was folded into it. */
export type FoldedEntry = Entry & {
  /** Edits of the user that follow one another, newest first, its own included; empty for a single one. */
  saves: Checkpoint[];
  /** Rewinds, reverts, undos and redos of this turn, newest first. */
  operations: Checkpoint[];
  /** The operation that undid this turn. */
  undoneBy: Checkpoint | undefined;
  state: "in force" | "undone" | "partly undone";
};

/** Folds operations into the turns that they undid, and edits of the user that follow one another into one entry. */
export function folded(newestFirst: readonly Checkpoint[]): FoldedEntry[] {
  const all = entries(withOwnGaps(newestFirst)).map((entry): FoldedEntry => ({
    ...entry,
    saves: [],
    operations: [],
    undoneBy: undefined,
    state: entry.checkpoint.taken_out ? "undone" : "in force",
  }));
  return mergeSaves(foldOperations(all));
}

function foldOperations(all: FoldedEntry[]): FoldedEntry[] {
  /** Entries by the ids of their checkpoints, and by the names of turns. */
  const places = new Map<string, FoldedEntry>();
  for (const entry of all) {
    for (const { id } of [entry.checkpoint, ...entry.steps]) places.set(id, entry);
    if (entry.checkpoint.kind === "turn" && entry.checkpoint.turn !== null) {
      places.set(entry.checkpoint.turn, entry);
    }
  }
  /** Rewinds and reverts that were folded, by the operation and by those that undid or redid it. */
  const known = new Map<string, { holder: FoldedEntry; first: FoldedEntry }>();
  const isFolded = new Set<FoldedEntry>();
  // a later rewind does not undo again what an earlier one has
  for (const entry of [...all].reverse()) {
    const { operation } = entry.checkpoint;
    if (operation === null || !["rewind", "revert", "undo", "redo"].includes(operation.kind)) continue;
    const isReversal = operation.kind === "undo" || operation.kind === "redo";
    const first = isReversal ? known.get(operation.of ?? "")?.first : entry;
    if (first === undefined) continue;
    const isInForce = operation.kind !== "undo" && operation.undone_by === null;
    const undone = isInForce ? undoneTurns(all, first, places) : [];
    const target = places.get(first.checkpoint.operation?.target ?? "");
    const holder = known.get(operation.of ?? "")?.holder ?? turnAt(target) ?? undone.at(-1);
    if (holder === undefined) continue;
    known.set(operation.id, { holder, first });
    holder.operations.unshift(entry.checkpoint);
    isFolded.add(entry);
    for (const turn of undone) turn.undoneBy = entry.checkpoint;
  }
  for (const entry of all) {
    const effective = entry.operations.some(
      ({ operation }) => operation?.kind !== "undo" && operation?.undone_by === null,
    );
    if (entry.state === "in force" && effective) entry.state = "partly undone";
  }
  return all.filter((entry) => !isFolded.has(entry));
}

function turnAt(entry: FoldedEntry | undefined): FoldedEntry | undefined {
  return entry?.checkpoint.kind === "turn" ? entry : undefined;
}

/** Returns the turns between the target of a rewind and the rewind that are undone by no earlier one, newest first. */
function undoneTurns(
  all: FoldedEntry[],
  by: FoldedEntry,
  places: ReadonlyMap<string, FoldedEntry>,
): FoldedEntry[] {
  const { operation } = by.checkpoint;
  const target = places.get(operation?.target ?? "");
  const to = target === undefined ? -1 : all.indexOf(target);
  const from = operation?.kind === "revert" ? to : all.indexOf(by) + 1;
  if (from < 0 || to < from) return [];
  return all
    .slice(from, to + 1)
    .filter(
      ({ checkpoint, state, undoneBy }) =>
        checkpoint.kind === "turn" && state === "undone" && undoneBy === undefined,
    );
}

function mergeSaves(all: FoldedEntry[]): FoldedEntry[] {
  const merged: FoldedEntry[] = [];
  for (const entry of all) {
    const last = merged.at(-1);
    if (last !== undefined && [last, entry].every(({ checkpoint }) => isPlainSave(checkpoint))) {
      if (last.saves.length === 0) last.saves.push(last.checkpoint);
      last.saves.push(entry.checkpoint);
    } else merged.push(entry);
  }
  return merged;
}

/** True for edits of the user without anything that needs its own row. */
function isPlainSave({ kind, label, tags, pinned, coverage, unsaved }: Checkpoint): boolean {
  const isBare = tags.length + coverage.items.length + unsaved.length === 0;
  return kind === "external" && (label ?? "") === "" && !pinned && isBare;
}

export type Filter = { session?: string; agent?: string; text?: string; path?: string; only?: "prompts" };

export function isEmpty(filter: Filter): boolean {
  return Object.values(filter).every((value) => value === "");
}

const KEYS = ["agent", "session", "path"] as const;

/** Parses a typed filter, such as `agent:claude path:"my notes/a.md" refactor`. */
export function parse(typed: string): Filter {
  const filter: Filter = {};
  const words: string[] = [];
  const parts = /(?:(agent|session|path|only):)?(?:"([^"]*)"|(\S+))/g;
  for (const [word, key, quoted, plain] of typed.matchAll(parts)) {
    const value = quoted ?? plain ?? "";
    const known = KEYS.find((each) => each === key);
    if (key === "only" && value === "prompts") filter.only = value;
    else if (known === undefined) words.push(word);
    else if (value !== "") filter[known] = value;
  }
  if (words.length > 0) filter.text = words.join(" ");
  return filter;
}

export function written(filter: Filter): string {
  const keyed = KEYS.flatMap((key) => {
    const value = filter[key];
    if (value === undefined) return [];
    // the start of an id is enough
    const short = key === "session" ? value.slice(0, 8) : value;
    return [`${key}:${/[\s"]/.test(short) ? `"${short}"` : short}`];
  });
  const only = filter.only === undefined ? [] : [`only:${filter.only}`];
  return [...keyed, ...only, ...(filter.text === undefined ? [] : [filter.text])].join(" ");
}
