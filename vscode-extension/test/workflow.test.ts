import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { expressionsIn, isWorkflow, jobAt, jobsIn, scopeAt, valueAt } from "../src/debug/workflow.ts";

const TEXT = `on: push
jobs: # all
  # the first
  build:
    if: github.ref == 'refs/heads/main'
    steps:
      - run: |
          echo \${{ env.A }} \${{ format('{0}}}', env.B) }}
  "test-it" :
    steps:
      - if: >
          success() &&
          env.A == 'x'
        run: echo "\${{

          steps.a.outputs.b }}"

# after
env: {A: x}
`;
const LINES = TEXT.split("\n");

test("a workflow is a YAML file in its folder", () => {
  assert.ok(isWorkflow("/w/.github/workflows/ci.yml"));
  assert.ok(isWorkflow("C:\\w\\.github\\workflows\\ci.yaml"));
  assert.ok(!isWorkflow("/w/.github/workflows/a/ci.yml"));
  assert.ok(!isWorkflow("/w/act/action.yml"));
});

test("jobs are found with their lines", () => {
  assert.deepEqual(jobsIn(LINES), [
    { id: "build", first: 3, last: 7 },
    { id: "test-it", first: 8, last: 15 },
  ]);
  assert.equal(jobAt(LINES, 6)?.id, "build");
  assert.equal(jobAt(LINES, 8)?.id, "test-it");
  for (const outside of [0, 1, 2, 17, 18]) assert.equal(jobAt(LINES, outside), undefined);
  assert.deepEqual(jobsIn(["on: push", "jobs: {build: {steps: []}}"]), []);
  assert.deepEqual(scopeAt(["runs:", "  steps: []"], 1), { first: 0, last: 1 });
});

test("expressions are those in braces and the values of conditions", () => {
  const found = expressionsIn(TEXT);
  assert.deepEqual(
    found.map(({ line, text }) => [line, text]),
    [
      [4, "github.ref == 'refs/heads/main'"],
      [7, "env.A"],
      [7, "format('{0}}}', env.B)"],
      [11, "success() && env.A == 'x'"],
      [15, "steps.a.outputs.b"],
    ],
  );
  for (const { line, column, endLine, endColumn, text } of found.filter(({ line }) => line !== 11)) {
    assert.equal(line, endLine);
    assert.equal(LINES[line]?.slice(column, endColumn), text);
  }
  const [whole] = expressionsIn("if: ${{ always() }}");
  assert.deepEqual(whole, { line: 0, column: 8, endLine: 0, endColumn: 16, text: "always()" });
  assert.equal(expressionsIn("- if: 'env.A == ''x''' # why")[0]?.text, "env.A == 'x'");
  assert.deepEqual(expressionsIn("if: ''\nrun: echo if: x"), []);
});

test("the value under a place of an expression", () => {
  const at = (text: string, part: string) => {
    const found = valueAt(text, text.indexOf(part));
    return found && text.slice(found.start, found.end);
  };
  const text = "steps.build.outputs['a.b'] == 'env.X' && contains(env.A, true)";
  assert.equal(at(text, "teps"), "steps");
  assert.equal(at(text, "uild"), "steps.build");
  assert.equal(at(text, ".build"), "steps.build");
  assert.equal(at(text, "utputs"), "steps.build.outputs");
  assert.equal(at(text, "a.b"), "steps.build.outputs['a.b']");
  assert.equal(at(text, "env.A"), "env");
  assert.equal(at(text, "A,"), "env.A");
  for (const none of ["env.X", "contains", "true", "=="]) assert.equal(at(text, none), undefined);
});

test("the schema of configurations has the arguments of the page, and no other", () => {
  const page = readFileSync(new URL("../../server/docs/dap.md", import.meta.url), "utf8");
  const table = page.split("| argument | value |")[1]?.split("\n\n")[0] ?? "";
  const names = table
    .split("\n")
    .flatMap((row) => [...(row.split(" | ")[0] ?? "").matchAll(/`(\w+)`/g)].map(([, name]) => name));
  const text = readFileSync(new URL("../package.json", import.meta.url), "utf8");
  const { contributes } = JSON.parse(text) as {
    contributes: {
      debuggers: { configurationAttributes: Record<string, { properties: Record<string, unknown> }> }[];
    };
  };
  const attributes = contributes.debuggers[0]?.configurationAttributes ?? {};
  assert.deepEqual(Object.keys(attributes["launch"]?.properties ?? {}).sort(), names.sort());
  assert.deepEqual(Object.keys(attributes["attach"]?.properties ?? {}), ["run"]);
});
