//! Thirty inputs each to a paused Python and to a paused Node program, beside the recorded answers of `IPython` (the kernel of
//! Jupyter) and of Node's own REPL. `tests/programs/record_repls.py` renews these.

use std::process::Stdio;

use serde_json::Value;

use super::node::node;
use super::python::{Program, ask, world};
use crate::control::Watcher;

/// An input to which Backstitch answers otherwise: its answer, and the reason.
type Difference = (&'static str, &'static str, &'static str);

const LAST: &str = "`_` is a name of the program here, so that no answer changes it";

const PYTHON: &[Difference] = &[
    ("_", "NameError: name '_' is not defined", LAST),
    (
        "list(range(40))",
        "[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, \
         30, 31, 32, 33, 34, 35, 36, 37, 38, 39]",
        "IPython breaks lists into lines; a value is its repr here, as in Python's own REPL",
    ),
    (
        "type(3)",
        "<class 'int'>",
        "IPython names types; a value is its repr here",
    ),
    (
        "!echo shell",
        "SyntaxError: invalid syntax",
        "a program evaluates its own language; shell commands are for held calls",
    ),
];

const STATEMENTS: &str = "statements without a value show none";

const JAVASCRIPT: &[Difference] = &[
    ("const a = 3", "", STATEMENTS),
    (
        "1 +",
        "SyntaxError: Unexpected end of input",
        "an input is whole here: \\ at its end continues it",
    ),
    (
        "for (let i = 0; i < 3; i++) console.log(i)",
        "0\n1\n2",
        STATEMENTS,
    ),
    ("_", "ReferenceError: _ is not defined", LAST),
];

/// An entry as the terminal shows it. Only the line with the name of an error: the traceback has other frames.
fn shown(entry: &Value) -> String {
    let text = |field: &str| entry[field].as_str().expect("text").trim().to_owned();
    match entry["shows"].as_str().expect("text") {
        "both" => format!("{}\n{}", text("stdout"), text("output")),
        "stdout" => text("stdout"),
        "value" => text("output"),
        "nothing" => String::new(),
        _ => {
            let output = text("output");
            let is_error = |line: &&str| !line.starts_with([' ', '^']) && line.contains("Error");
            output.lines().find(is_error).unwrap_or(&output).to_owned()
        }
    }
}

/// Compares the answers of a program with recorded ones. The differences are exactly those that are listed.
fn compare(recorded: &str, differences: &[Difference], answers: impl Fn(&[&str]) -> Vec<Value>) {
    let recorded: Value = serde_json::from_str(recorded).expect("JSON");
    let all = recorded["answers"].as_array().expect("answers");
    let text = |answer: &'_ Value, field: &str| answer[field].as_str().expect("text").to_owned();
    let inputs: Vec<String> = all.iter().map(|answer| text(answer, "input")).collect();
    assert_eq!(inputs.len(), 30, "{}", recorded["of"]);
    let inputs: Vec<&str> = inputs.iter().map(String::as_str).collect();
    let entries = answers(&inputs);
    let mut found = Vec::new();
    for ((input, theirs), entry) in inputs.iter().zip(all).zip(&entries) {
        let ours = shown(entry);
        let is_same = ours == text(theirs, "shows")
            && (entry["shows"] == "error") == (theirs["fails"] == true);
        if !is_same {
            found.push((*input, ours));
        }
    }
    let listed = differences.iter().map(|(input, ours, reason)| {
        assert!(!reason.is_empty(), "{input}");
        (*input, (*ours).to_owned())
    });
    let listed: Vec<_> = listed.collect();
    assert_eq!(found, listed, "beside {}", recorded["of"]);
}

#[test]
fn python_answers_as_ipython_does() {
    let world = world();
    let mut watcher = Watcher::start(&world);
    let source = "import backstitch_debug as bs\nbs.on()\nbs.pause('here')\n";
    let _program = Program::start(&world, source);
    watcher.until("held");
    compare(include_str!("others/python.json"), PYTHON, |inputs| {
        ask(&world, "p1", inputs)
    });
}

#[test]
fn javascript_answers_as_node_does() {
    let Some(node) = node() else {
        eprintln!("skipped: javascript_answers_as_node_does: no node is here");
        assert!(std::env::var_os("CI").is_none(), "node is missing");
        return;
    };
    let world = world();
    let client = concat!(env!("CARGO_MANIFEST_DIR"), "/../server/clients/js");
    let source =
        format!("const bs = require({client:?});\nbs.on();\nbs.pause('here', (s) => eval(s));\n");
    world.write("program.js", &source);
    let mut watcher = Watcher::start(&world);
    let mut command = world.command(&node);
    command.arg("program.js").stdin(Stdio::null());
    let _program = Program::spawn(command);
    watcher.until("held");
    compare(
        include_str!("others/javascript.json"),
        JAVASCRIPT,
        |inputs| ask(&world, "p1", inputs),
    );
}
