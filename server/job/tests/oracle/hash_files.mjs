// Answers lines {workspace, patterns, follow} by GitHub's package @actions/glob: {ok: digest} or {error: message}. The
// runner's own script (actions/runner, expressionFunc/hashFiles) calls it so, with the workspace as its current folder.
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const folder = `${process.argv[2]}/node_modules/@actions/glob/lib`;
const glob = await import(pathToFileURL(`${folder}/glob.js`).href);

// the package writes its debug messages to the standard output
const write = process.stdout.write.bind(process.stdout);
process.stdout.write = () => true;

for await (const line of createInterface({ input: process.stdin })) {
  const { workspace, patterns, follow } = JSON.parse(line);
  let answer;
  try {
    process.chdir(workspace);
    answer = { ok: await glob.hashFiles(patterns, workspace, { followSymbolicLinks: follow }) };
  } catch (error) {
    answer = { error: error.message };
  }
  write(`${JSON.stringify(answer)}\n`);
}
