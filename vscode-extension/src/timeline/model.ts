// Tree of the timeline. Pure.

import type { Change, Checkpoint, Coverage } from "../server/protocol.ts";

export type Entry = {
  checkpoint: Checkpoint;
  /** Steps of this turn, newest first. */
  steps: Checkpoint[];
};

/** Groups steps below their turns. A step whose turn is not loaded yet is an entry of its own. */
export function entries(newestFirst: readonly Checkpoint[]): Entry[] {
  const turns = new Map<string, Entry>();
  for (const checkpoint of newestFirst) {
    if (checkpoint.kind === "turn" && checkpoint.turn !== null) {
      turns.set(checkpoint.turn, { checkpoint, steps: [] });
    }
  }
  const all: Entry[] = [];
  for (const checkpoint of newestFirst) {
    const turn = checkpoint.turn === null ? undefined : turns.get(checkpoint.turn);
    if (checkpoint.kind === "turn" && turn !== undefined) all.push(turn);
    else if (checkpoint.kind === "step" && turn !== undefined) turn.steps.push(checkpoint);
    else all.push({ checkpoint, steps: [] });
  }
  return all;
}

/** Files that were not captured, of a checkpoint and all of its steps. */
export function gaps({ checkpoint, steps }: Entry): Coverage["items"] {
  return [checkpoint, ...steps].flatMap(({ coverage }) => coverage.items);
}

/** Changes of a checkpoint and all of its steps. */
export function changes({ checkpoint, steps }: Entry): Change[] {
  return [checkpoint, ...steps].flatMap((each) => each.changes);
}

export type Filter = { session?: string; agent?: string; text?: string; path?: string };

export function isEmpty(filter: Filter): boolean {
  return Object.values(filter).every((value) => value === "");
}

const KEYS = ["agent", "session", "path"] as const;

/** Parses a typed filter, such as `agent:claude path:"my notes/a.md" refactor`. */
export function parse(typed: string): Filter {
  const filter: Filter = {};
  const words: string[] = [];
  for (const [word, key, quoted, plain] of typed.matchAll(/(?:(agent|session|path):)?(?:"([^"]*)"|(\S+))/g)) {
    const value = quoted ?? plain ?? "";
    const known = KEYS.find((each) => each === key);
    if (known === undefined) words.push(word);
    else if (value !== "") filter[known] = value;
  }
  if (words.length > 0) filter.text = words.join(" ");
  return filter;
}

export function written(filter: Filter): string {
  const keyed = KEYS.flatMap((key) => {
    const value = filter[key];
    if (value === undefined) return [];
    return [`${key}:${/[\s"]/.test(value) ? `"${value}"` : value}`];
  });
  return [...keyed, ...(filter.text === undefined ? [] : [filter.text])].join(" ");
}
