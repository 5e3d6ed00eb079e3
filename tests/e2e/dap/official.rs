//! Dialogues of Microsoft's own client of the protocol (`tests/dap/dialogues.test.mjs`). `tests/dap/install.sh` installs it; where it
//! is missing, the test says so and passes, and with `CI=true` fails.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use serde_json::Value;

use super::super::jobs::workflow_with;
use super::schema::{Direction, check, packages};
use crate::support::{binary, finish, skip};

const WORKFLOW: &str = "on: push
jobs:
  build:
    runs-on: ubuntu-latest
    steps:
      - name: Checkout
        uses: actions/checkout@v4
      - name: One
        id: one
        run: echo v=1 >> $GITHUB_OUTPUT; echo A=1 >> $GITHUB_ENV
      - name: Use
        uses: ./act
      - name: Two
        run: \"echo 'seen: two'; test -f mended\"
      - name: Three
        run: echo three >> log
  slow:
    runs-on: ubuntu-latest
    steps:
      - name: Sleep
        run: echo begins; exec sleep 300
      - name: Always
        if: always()
        run: \"echo 'seen: always'\"
";

const ACTION: &str = "name: a
runs:
  using: composite
  steps:
    - {name: Inner one, shell: bash, run: echo in1 >> log}
    - {name: Inner two, shell: bash, run: echo in2 >> log}
";

/// Requests that begin and end a dialogue, which the page names elsewhere or takes for granted.
const FRAME: [&str; 10] = [
    "attach",
    "breakpointLocations",
    "cancel",
    "completions",
    "configurationDone",
    "exceptionInfo",
    "initialize",
    "launch",
    "loadedSources",
    "threads",
];

/// Each request of the page is in a whole dialogue, and all messages are those of the protocol. It works from any
/// client of the protocol.
#[test]
fn microsofts_client_speaks_every_request() {
    let packages = packages();
    if !packages.join("schema.json").exists() {
        let reason = "Microsoft's debug client is not installed (tests/dap/install.sh)";
        return skip(
            "dap::official::microsofts_client_speaks_every_request",
            reason,
        );
    }
    let tests = Path::new(env!("CARGO_MANIFEST_DIR"));
    let world = workflow_with(WORKFLOW, &[("act/action.yml", ACTION)]);
    let messages = world.root.with_extension("messages");
    let mut node = world.command("node");
    node.arg("--test").arg(tests.join("dap/dialogues.test.mjs"));
    node.env("DAP_PACKAGES", &packages)
        .env("DAP_ADAPTER", binary::path())
        .env("DAP_MESSAGES", &messages);
    finish(&mut node, b"").expect_code(0);

    let lines = fs::read_to_string(&messages).expect("messages");
    let mut served = BTreeSet::new();
    for line in lines.lines() {
        let line: Value = serde_json::from_str(line).expect("JSON");
        let message = &line["message"];
        let direction = if line["direction"] == "toClient" {
            Direction::ToClient
        } else {
            let command = message["command"].as_str().expect("a name");
            served.insert(command.to_owned());
            Direction::ToAdapter
        };
        if let Err(reason) = check(direction, message) {
            panic!("not of the protocol: {reason}");
        }
    }
    let page = fs::read_to_string(tests.join("../server/docs/dap.md")).expect("a page");
    let table = page.split("| request | effect |").nth(1).expect("a table");
    let table = table.split("\n\n").next().expect("a table");
    let rows = table.lines().filter_map(|line| line.strip_prefix("| `"));
    let named = rows.flat_map(|row| {
        let cell = row.split(" | ").next().unwrap_or_default();
        cell.split('`').step_by(2).filter(|name| !name.is_empty())
    });
    let named: BTreeSet<String> = named.chain(FRAME).map(str::to_owned).collect();
    assert_eq!(served, named);
}
