#!/usr/bin/env python3
"""record_repls.py PYTHON NODE - records the answers of IPython and of Node's own REPL.

The inputs are those of tests/e2e/repl/others/*.json, where the answers are renewed. PYTHON is a Python with IPython
(`pip install ipython` in a virtual environment), NODE is Node. The test `repl::others` compares Backstitch's answers with them,
so that it needs neither.
"""

import json
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
OTHERS = HERE.parent / "e2e" / "repl" / "others"

PYTHON = r"""
import json, sys
import IPython
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output

shell = InteractiveShell.instance()
shell.displayhook.write_output_prompt = lambda: None
shell.displayhook.write_format_data = lambda data, md=None: print(data["text/plain"])
shell.showtraceback = lambda *args, **kw: None
shell.showsyntaxerror = lambda *args, **kw: None
shell.colors = "nocolor"
answers = []
for text in json.load(sys.stdin):
    with capture_output() as captured:
        done = shell.run_cell(text, store_history=True)
    error = done.error_before_exec or done.error_in_exec
    shown = captured.stdout.strip()
    if error is not None:
        shown = f"{type(error).__name__}: {getattr(error, 'msg', None) or error}"
    answers.append({"input": text, "shows": shown, "fails": error is not None})
version = ".".join(map(str, sys.version_info[:2]))
json.dump({"of": f"IPython {IPython.__version__} on Python {version}", "answers": answers}, sys.stdout)
"""

NODE = r"""
const repl = require('node:repl');
const { Console } = require('node:console');
const { PassThrough } = require('node:stream');
const PROMPT = '\u0001', MORE = /(\.\.\.|\|) $/;
async function main() {
  const inputs = JSON.parse(require('node:fs').readFileSync(0, 'utf8'));
  const [input, output] = [new PassThrough(), new PassThrough()];
  let seen = '', changed = () => {};
  output.on('data', (part) => { seen += part; changed(); });
  const until = async (is) => { while (!is()) await new Promise((done) => { changed = done; }); };
  const server = repl.start({ input, output, prompt: PROMPT, useColors: false, terminal: false });
  server.context.console = new Console({ stdout: output, stderr: output, colorMode: false });
  await until(() => seen.endsWith(PROMPT));
  const answers = [];
  for (const text of inputs) {
    seen = '';
    input.write(`${text}\n`);
    await until(() => seen.endsWith(PROMPT) || MORE.test(seen));
    if (!seen.endsWith(PROMPT)) {
      answers.push({ input: text, shows: '... ', fails: false });
      seen = '';
      input.write('.break\n');
      await until(() => seen.endsWith(PROMPT));
      continue;
    }
    const shown = seen.slice(0, -PROMPT.length).trim();
    const error = /^Uncaught:?\s+([\s\S]*)$/.exec(shown);
    // the rest is the stack
    const [first] = (error ? error[1] : '').split('\n');
    answers.push({ input: text, shows: error ? first : shown, fails: Boolean(error) });
  }
  process.stdout.write(JSON.stringify({ of: `Node ${process.versions.node}`, answers }), () => process.exit(0));
}
main();
"""


def record(name: str, command: list) -> None:
    path = OTHERS / f"{name}.json"
    inputs = [answer["input"] for answer in json.loads(path.read_text())["answers"]]
    run = subprocess.run(command, input=json.dumps(inputs), capture_output=True, text=True, timeout=120)
    if run.returncode != 0:
        sys.exit(run.stderr)
    got = json.loads(run.stdout)
    path.write_text(json.dumps(got, indent=2, ensure_ascii=False) + "\n")
    print(f"{path.name}: {got['of']}, {len(got['answers'])} answers")


def main() -> None:
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    record("python", [sys.argv[1], "-c", PYTHON])
    record("javascript", [sys.argv[2], "-e", NODE])


main()
