// Places in a file where agents removed lines. Pure.

import { type ReviewHunk, type Text, shown } from "../server/protocol.ts";

/** Lines that are gone: they stood before `line`, from 0. */
export type Removed = {
  /** Names it while lines move. */
  id: string;
  line: number;
  lines: readonly string[];
  agent: string | null;
  session: string | null;
  turn: string | null;
  prompt: string | null;
  checkpoint: string | null;
};

/** Lines that an agent wrote, from 0, end excluded. */
export type Written = { start: number; end: number; turn: string | null; session: string | null };

export function removed(hunks: readonly ReviewHunk[]): Removed[] {
  const gone = hunks.filter(({ new: [, count], removed }) => count === 0 && removed.length > 0);
  const seen = new Map<string, number>();
  return gone.map(({ new: [first], removed, agent, session, turn, prompt, checkpoint }) => {
    const lines = removed.map(withoutEnd);
    const content = JSON.stringify([checkpoint, lines]);
    const count = seen.get(content) ?? 0;
    seen.set(content, count + 1);
    return { id: `${count}${content}`, line: first - 1, lines, agent, session, turn, prompt, checkpoint };
  });
}

export function written(hunks: readonly ReviewHunk[]): Written[] {
  return hunks
    .filter(({ new: [, count] }) => count > 0)
    .map(({ new: [first, count], turn, session }) => ({
      start: first - 1,
      end: first - 1 + count,
      turn,
      session,
    }));
}

function withoutEnd(line: Text): string {
  return shown(line).replace(/\r?\n$/, "");
}
