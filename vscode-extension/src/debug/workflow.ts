// Workflows as texts: the lines of their jobs, and the expressions in them. Pure.

/** A range in a text: lines and columns from 0, the end excluded. */
export type TextRange = { line: number; column: number; endLine: number; endColumn: number };
/** The lines of a job, from 0, both included. */
export type JobLines = { id: string; first: number; last: number };
/** An expression without `${{ }}`. */
export type Expression = TextRange & { text: string };

export const LANGUAGES = ["yaml", "github-actions-workflow"];

export function isWorkflow(path: string): boolean {
  return /[\\/]\.github[\\/]workflows[\\/][^\\/]+\.ya?ml$/.test(path);
}

function isContent(line: string): boolean {
  return !/^\s*(#|$)/.test(line);
}

/** The jobs of a workflow in block style, from above. */
export function jobsIn(lines: readonly string[]): JobLines[] {
  const start = lines.findIndex((line) => /^(["']?)jobs\1\s*:\s*(#.*)?$/.test(line));
  if (start < 0) return [];
  const after = lines.findIndex((line, at) => at > start && isContent(line) && !/^\s/.test(line));
  const end = after < 0 ? lines.length : after;
  const body = lines.slice(start + 1, end);
  const indent = /^ */.exec(body.find(isContent) ?? "")?.[0].length ?? 0;
  const key = new RegExp(`^ {${indent}}(["']?)([A-Za-z_][\\w-]*)\\1\\s*:`);
  const jobs: JobLines[] = [];
  for (const [at, line] of body.entries()) {
    const id = key.exec(line)?.[2];
    const number = start + 1 + at;
    const before = jobs.at(-1);
    if (id !== undefined) jobs.push({ id, first: number, last: number });
    else if (before !== undefined && isContent(line)) before.last = number;
  }
  return jobs;
}

/** The job around a line. */
export function jobAt(lines: readonly string[], line: number): JobLines | undefined {
  return jobsIn(lines).find(({ first, last }) => first <= line && line <= last);
}

/** The lines of a job, or all of them where the file has none there: a composite action. */
export function scopeAt(lines: readonly string[], line: number): { first: number; last: number } {
  return jobAt(lines, line) ?? { first: 0, last: lines.length - 1 };
}

/** The expressions of a text: those in `${{ }}`, and the values of `if`. */
export function expressionsIn(text: string): Expression[] {
  const lines = text.split(/\r?\n/);
  const found = [...conditionsIn(lines)];
  const starts = [0, ...[...text.matchAll(/\n/g)].map(({ index }) => index + 1)];
  const place = (offset: number) => {
    const line = starts.findLastIndex((start) => start <= offset);
    return { line, column: offset - (starts[line] ?? 0) };
  };
  for (const match of text.matchAll(/\$\{\{((?:'(?:[^']|'')*'|(?!\}\})[^'])*)\}\}/g)) {
    const inner = match[1] ?? "";
    const from = match.index + 3 + (inner.length - inner.trimStart().length);
    const trimmed = inner.trim();
    if (trimmed === "") continue;
    const end = place(from + trimmed.length);
    found.push({ ...place(from), endLine: end.line, endColumn: end.column, text: trimmed });
  }
  return found.sort((a, b) => a.line - b.line || a.column - b.column);
}

function* conditionsIn(lines: readonly string[]): Generator<Expression> {
  for (const [line, text] of lines.entries()) {
    const [, before = "", value = ""] = /^(\s*(?:- +)?if\s*: +)(\S.*)$/.exec(text) ?? [];
    if (value === "") continue;
    if (/^[|>]/.test(value)) {
      const block = blockBelow(lines, line, before.search(/if\s*:/));
      if (block !== undefined && !block.text.includes("${{")) yield block;
      continue;
    }
    const bare = value.replace(/\s+#.*$/, "").trimEnd();
    const quote = /^(["']).*\1$/.test(bare) ? 1 : 0;
    const inner = bare.slice(quote, bare.length - quote);
    if (inner === "" || bare.includes("${{")) continue;
    const column = before.length + quote;
    const text_ = bare.startsWith("'") ? inner.replaceAll("''", "'") : inner;
    yield { line, column, endLine: line, endColumn: column + inner.length, text: text_ };
  }
}

/** The lines of a block scalar below its key. */
function blockBelow(lines: readonly string[], key: number, indent: number): Expression | undefined {
  const own: string[] = [];
  for (const line of lines.slice(key + 1)) {
    if (line.trim() !== "" && line.search(/\S/) <= indent) break;
    own.push(line);
  }
  while (own.at(-1)?.trim() === "") own.pop();
  const [first, last] = [own[0], own.at(-1)];
  if (first === undefined || last === undefined) return undefined;
  return {
    line: key + 1,
    column: first.search(/\S/),
    endLine: key + own.length,
    endColumn: last.trimEnd().length,
    text: own.map((line) => line.trim()).join(" "),
  };
}

/** The value in an expression under a place of it: `steps.build` where the place is in `build` of `steps.build.outputs`. */
export function valueAt(text: string, offset: number): { start: number; end: number } | undefined {
  const chains = /'(?:[^']|'')*'|[A-Za-z_][\w-]*(?:\.[\w-]+|\.\*|\[(?:'(?:[^']|'')*'|[^\]'])*\])*(\s*\()?/g;
  for (const { 0: chain, 1: call, index } of text.matchAll(chains)) {
    if (offset < index || offset >= index + chain.length) continue;
    if (call !== undefined || chain.startsWith("'") || /^(true|false|null)$/.test(chain)) return undefined;
    // to the end of the part under the place
    const rest = chain.slice(offset - index);
    const inPart = /[.[]/.test(rest.charAt(0)) ? rest.slice(1).search(/[.[]/) + 1 : rest.search(/[.[]/);
    const more = inPart <= 0 ? chain.length : offset - index + inPart;
    const isOpen = chain.slice(0, more).split("[").length !== chain.slice(0, more).split("]").length;
    return { start: index, end: index + (isOpen ? chain.length : more) };
  }
  return undefined;
}
