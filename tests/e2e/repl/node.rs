//! Node programs that pause.

use std::path::PathBuf;
use std::process::Stdio;

use serde_json::{Value, json};

use super::python::{Program, ask};
use crate::control::Watcher;
use crate::lsp::client::{Client, Editor};
use crate::support::World;

/// Node of the editors' rig, or of this machine.
pub fn node() -> Option<PathBuf> {
    let own =
        std::env::var_os("BACKSTITCH_TEST_EDITORS").map(|dir| PathBuf::from(dir).join("bin/node"));
    own.filter(|path| path.exists()).or_else(|| {
        let path = std::env::var_os("PATH")?;
        std::env::split_paths(&path)
            .map(|dir| dir.join("node"))
            .find(|path| path.exists())
    })
}

fn outputs(world: &World, pause: &str, inputs: &[&str]) -> Vec<Value> {
    inputs
        .iter()
        .map(|input| world.json(["repl", pause, "-e", input])["entry"].clone())
        .collect()
}

/// S5-001, S5-090: local names by `eval`, output, errors; breakpoints at functions; a call is skipped with a value.
#[test]
fn a_node_program() {
    let Some(node) = node() else {
        eprintln!("skipped: a_node_program: no node is here");
        assert!(std::env::var_os("CI").is_none(), "node is missing");
        return;
    };
    let world = World::committed(&[("a.txt", "a\n")]);
    world.ok(["checkpoint"]);
    let client = concat!(env!("CARGO_MANIFEST_DIR"), "/../server/clients/js");
    let source = format!(
        "const bs = require({client:?});
bs.on();
function plan(x, y) {{ return x * y; }}
class Model {{ add(n) {{ return (this.n = (this.n ?? 0) + n); }} }}
const model = bs.watch(new Model());
function main() {{
  const state = {{ step: 1 }};
  bs.pause('planning', (s) => eval(s));
  console.log('state', state.step);
  console.log(bs.call(plan, 3, 4));
  console.log(bs.call(plan, 5, 6));
  console.log(model.add(2), model instanceof Model);
  try {{ bs.call(plan, 1, 1); }} catch (error) {{ console.log(error.name, error.message); }}
}}
main();
bs.off();
"
    );
    world.write("program.js", &source);
    let mut watcher = Watcher::start(&world);
    let child = world
        .command(&node)
        .arg("program.js")
        .env("BACKSTITCH_BIN", crate::support::binary::path())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("node");
    let pause = watcher.until("held");
    assert_eq!(pause["agent"], "javascript");
    let mut client = Client::with(&world, Editor::Vscode, &json!({ "panels": true }));
    let frames = client.ok("backstitch/stack", json!({ "pause": "p1" }))["frames"].clone();
    let top = frames
        .as_array()
        .and_then(|all| all.first())
        .expect("a frame");
    let context = top["context"].to_string();
    assert!(context.contains("bs.pause("), "{top:#}");
    client.leave();
    let entries = outputs(
        &world,
        "p1",
        &[
            "state",
            "state.step = 7",
            "console.log('hi')",
            "nope",
            "1 +",
            "{a: [1, 2]}",
            "'a\\u0000ü'",
            "({get x() { throw 1 }})",
        ],
    );
    let text = |at: usize| entries[at]["output"].as_str().expect("text");
    assert_eq!((text(0), text(1)), ("{ step: 1 }", "7"));
    assert_eq!(entries[2]["stdout"], "hi\n");
    assert!(
        text(3).starts_with("ReferenceError: nope is not defined") && entries[3]["isError"] == true
    );
    assert!(text(4).starts_with("SyntaxError"), "{}", text(4));
    assert_eq!((text(5), text(6)), ("{ a: [ 1, 2 ] }", "'a\\x00ü'"));
    assert!(text(7).contains("Getter"), "{}", text(7));
    assert!(
        entries[5]["cid"]
            .as_str()
            .is_some_and(|cid| cid.starts_with("sha256:"))
    );
    world.ok(["breakpoint", "add", "function", "plan"]);
    world.ok(["resume"]);
    watcher.until("held");
    assert_eq!(outputs(&world, "p2", &["args"])[0]["output"], "[ 3, 4 ]");
    // an expression that fails, and an argument that is not there: the program is held as before
    for (input, why) in [
        (
            "{\"0\": \"nope + 1\"}",
            "ReferenceError: nope is not defined",
        ),
        ("{\"z\": \"1\"}", "has no argument `z`"),
        ("{\"0\": \"1 +\"}", "SyntaxError"),
    ] {
        world.write("args.json", input);
        let refused = world.run(["resume", "--input", "args.json"]).expect_code(1);
        assert!(refused.stderr.contains(why), "{refused}");
    }
    let refused = world.run(["skip", "--value", "null.x"]).expect_code(1);
    assert!(refused.stderr.contains("TypeError"), "{refused}");
    assert_eq!(outputs(&world, "p2", &["args"])[0]["output"], "[ 3, 4 ]");
    world.write("args.json", "{\"0\": \"args[1] * 10\"}");
    world.ok(["resume", "--input", "args.json"]);
    watcher.until("held");
    world.ok(["skip", "--value", "'instead'"]);
    watcher.until("held");
    world.ok(["deny", "-m", "not this one"]);
    let output = child.wait_with_output().expect("an end");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    assert_eq!(
        String::from_utf8_lossy(&output.stdout),
        "state 7\n160\ninstead\n2 true\nRaised not this one\n"
    );
    assert_eq!(world.json(["pauses"])["pauses"], Value::Array(Vec::new()));
}

/// Names that an input declares stay for the session, and `await` takes settled promises. It is so with the local names of a
/// module, and at a call, where no `eval` is given. Another session begins without them.
#[test]
fn names_and_awaits_of_a_session() {
    let Some(node) = node() else {
        eprintln!("skipped: names_and_awaits_of_a_session: no node is here");
        assert!(std::env::var_os("CI").is_none(), "node is missing");
        return;
    };
    let world = World::committed(&[("a.txt", "a\n")]);
    world.ok(["checkpoint"]);
    world.ok(["breakpoint", "add", "function", "plan"]);
    let client = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../server/clients/js/src/index.js"
    );
    let source = format!(
        "import bs from {client:?};
bs.on();
const plan = (x) => x * 2;
const seven = async () => 7;
const slow = async () => {{ await null; return 8; }};
let count = 1;
await null;
bs.pause('here', (s) => eval(s));
console.log(count, bs.call(plan, 3));
bs.off();
"
    );
    world.write("program.mjs", &source);
    let mut watcher = Watcher::start(&world);
    let mut command = world.command(&node);
    command.arg("program.mjs");
    let program = Program::spawn(command);
    watcher.until("held");
    let compare = |pause: &str, expected: &[(&str, &str)]| {
        let inputs: Vec<&str> = expected.iter().map(|(input, _)| *input).collect();
        for ((input, answer), entry) in expected.iter().zip(ask(&world, pause, &inputs)) {
            let output = entry["output"].as_str().expect("text");
            assert!(
                output.starts_with(answer) && output.is_empty() == answer.is_empty(),
                "{input}: {entry:#}"
            );
        }
    };
    compare(
        "p1",
        &[
            ("const { a, b: [c] } = { a: 1, b: [await seven()] }", ""),
            ("a + c", "8"),
            (
                "class Plan { text = 'const await' }; new Plan()",
                "Plan { text: 'const await' }",
            ),
            ("count = await seven()", "7"),
            (
                "let sum = 0; for await (const n of [seven(), 1]) sum += n; sum",
                "8",
            ),
            ("const r = await slow()", "Error: the promise is pending"),
            (
                "await nowhere",
                "ReferenceError: nowhere is not defined\n    at eval (<repl>:1:",
            ),
            ("await undefined", "undefined"),
        ],
    );
    let other = ask(&world, "p1", &["a", "count"]);
    assert_eq!(other[0]["isError"], true, "{other:#?}");
    assert_eq!(other[1]["output"], "7");
    world.ok(["resume"]);
    watcher.until("held");
    compare(
        "p2",
        &[
            ("const [first] = args; let late", ""),
            (
                "late = await first; function twice(n) { return n * 2 }",
                "3",
            ),
            ("twice(late)", "6"),
            ("const first = 1; first", "1"),
            ("globalThis.process === process", "true"),
        ],
    );
    world.write("args.json", "{\"0\": \"await Promise.resolve(21)\"}");
    world.ok(["resume", "--input", "args.json"]);
    assert_eq!(program.end(), (0, "7 42\n".to_owned(), String::new()));
}

/// The client's own tests: inputs against Node's own REPL.
#[test]
fn the_clients_own_tests() {
    let Some(node) = node() else {
        eprintln!("skipped: the_clients_own_tests: no node is here");
        assert!(std::env::var_os("CI").is_none(), "node is missing");
        return;
    };
    let world = World::new();
    let tests = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../server/clients/js/tests/session.test.js"
    );
    let output = world
        .command(&node)
        .args(["--test", tests])
        .output()
        .expect("node");
    let said = String::from_utf8_lossy(&output.stdout);
    let source = std::fs::read_to_string(tests).expect("the tests");
    let written = source
        .lines()
        .filter(|line| line.starts_with("test("))
        .count();
    assert!(written > 0 && output.status.success(), "{said}");
    assert!(said.contains(&format!("pass {written}\n")), "{said}");
}

/// Arguments are changed by name or by number. With `lost: "continue"` the program continues, and warns once, when no bridge
/// can be had any longer.
#[test]
fn a_node_program_goes_on_without_a_bridge() {
    let Some(node) = node() else {
        eprintln!("skipped: a_node_program_goes_on_without_a_bridge: no node is here");
        assert!(std::env::var_os("CI").is_none(), "node is missing");
        return;
    };
    let world = World::committed(&[("a.txt", "a\n")]);
    world.ok(["checkpoint"]);
    world.ok(["breakpoint", "add", "function", "plan"]);
    let client = concat!(env!("CARGO_MANIFEST_DIR"), "/../server/clients/js");
    let program = world.root.join("bridge-program");
    std::os::unix::fs::symlink(crate::support::binary::path(), &program).expect("a link");
    let source = format!(
        "const bs = require({client:?});
bs.on({{ binary: {program:?}, lost: 'continue' }});
function plan(a, b = 2) {{ return a * b; }}
const keep = (c) => c;
console.log(bs.call(plan, 3));
console.log(bs.call(plan, 4), bs.call(keep, 5));
bs.pause('here');
console.log(bs.call(keep, 6));
"
    );
    world.write("program.js", &source);
    let mut watcher = Watcher::start(&world);
    let child = world
        .command(&node)
        .arg("program.js")
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .expect("node");
    watcher.until("held");
    world.write("input.json", "{\"a\": \"7\", \"1\": \"6\"}");
    world.ok(["resume", "--input", "input.json"]);
    watcher.until("answered");
    watcher.until("held");
    // no bridge can be started any longer, and the one that is there dies
    std::fs::remove_file(&program).expect("removed");
    let root = world.root.to_string_lossy().into_owned();
    let all = std::fs::read_dir("/proc").expect("processes").flatten();
    let bridges: Vec<String> = all
        .filter_map(|entry| {
            let words = std::fs::read(entry.path().join("cmdline")).ok()?;
            let words = String::from_utf8_lossy(&words).into_owned();
            let is_bridge = words.starts_with(&root) && words.contains("bridge\0")
                || words.ends_with("\0bridge\0") && words.contains(&root);
            is_bridge.then(|| entry.file_name().to_string_lossy().into_owned())
        })
        .collect();
    assert_eq!(bridges.len(), 1, "{bridges:?}");
    let killed = std::process::Command::new("kill")
        .arg("-9")
        .args(&bridges)
        .status();
    assert!(killed.expect("kill").success());
    let output = child.wait_with_output().expect("an end");
    let (out, errors) = (
        String::from_utf8_lossy(&output.stdout).into_owned(),
        String::from_utf8_lossy(&output.stderr).into_owned(),
    );
    assert_eq!(out, "42\n8 5\n6\n", "{errors}");
    assert_eq!(
        errors.matches("the program continues unwatched").count(),
        1,
        "{errors}"
    );
}
