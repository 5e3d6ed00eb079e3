// Lines that move with edits of their text. Pure.

/** Lines from 0, the end excluded. */
export type Span = { start: number; end: number };
type Position = { line: number; character: number };
/** An edit: the range that it replaces, and the number of line ends that it brings. */
export type TextEdit = { start: Position; end: Position; brought: number };

/** Returns the place of a line after an edit. One that is replaced stands where the edit begins. */
export function movedLine(line: number, { start, end, brought }: TextEdit): number {
  const isBefore = end.line < line || (end.line === line && end.character === 0);
  if (isBefore) return Math.max(0, line + brought - (end.line - start.line));
  return start.line < line ? start.line : line;
}

export function movedSpan({ start, end }: Span, edit: TextEdit): Span {
  const first = movedLine(start, edit);
  return { start: first, end: Math.max(first + 1, movedLine(end - 1, edit) + 1) };
}
