// oracle.mjs PACKAGES - answers for the tests of server/job: what GitHub's own parser makes of workflows and actions.
//
// PACKAGES is a directory with node_modules, made by install.sh. Standard input has one JSON object a line:
//   {"kind": "workflow" or "action", "text": "…"}
// Standard output has one answer a line: {"problems": [{"line", "column", "message"}], "jobs": […], "syntax": true}.
// A problem of the whole file has no line. `syntax` is set if the text is not YAML.
import { createInterface } from "node:readline";
import { register } from "node:module";
import { pathToFileURL } from "node:url";
import { join, resolve } from "node:path";

// the packages import JSON as bundlers do
register(
  "data:text/javascript," +
    encodeURIComponent(`
import { readFile } from "node:fs/promises";
export async function load(url, context, next) {
  if (!url.endsWith(".json")) return next(url, context);
  const source = "export default " + (await readFile(new URL(url), "utf8"));
  return { format: "module", shortCircuit: true, source };
}`),
);
const packages = resolve(process.argv[2]);
const load = (path) => import(pathToFileURL(join(packages, "node_modules/@actions/workflow-parser/dist", path)).href);
const { parseWorkflow, convertWorkflowTemplate, NoOperationTraceWriter } = await load("index.js");
const { parseAction, convertActionTemplate } = await load("actions/index.js");
const { YamlObjectReader } = await load("workflows/yaml-object-reader.js");

const file = (text) => ({ name: "file.yml", content: text });

async function answer({ kind, text }) {
  const isAction = kind === "action";
  const parsed = (isAction ? parseAction : parseWorkflow)(file(text), new NoOperationTraceWriter());
  const { context, value } = parsed;
  let model;
  if (context.errors.count === 0) {
    model = isAction
      ? convertActionTemplate(context, value)
      : await convertWorkflowTemplate(context, value);
  }
  const problems = context.errors.getErrors().map((error) => ({
    line: error.range?.start.line,
    column: error.range?.start.column,
    // excerpts of a text may end within a pair of surrogates
    message: error.rawMessage.toWellFormed(),
  }));
  const steps = (job) => job.steps?.map((step) => ({ id: step.id, if: step.if?.expression })) ?? [];
  const jobs =
    problems.length === 0 && !isAction
      ? (model.jobs ?? []).map((job) => ({ id: job.id.value, if: job.if.expression, steps: steps(job) }))
      : undefined;
  const syntax = value === undefined && new YamlObjectReader(1, text).errors.length > 0;
  return { problems, jobs, syntax };
}

for await (const line of createInterface({ input: process.stdin })) {
  let result;
  try {
    result = await answer(JSON.parse(line));
  } catch (error) {
    // a fault of the package itself
    result = { problems: [{ message: `exception: ${error.message}` }], exception: true };
  }
  process.stdout.write(JSON.stringify(result) + "\n");
}
