//! Evaluations and values that could harm the program that pauses.

use serde_json::{Value, json};

use super::{PAUSED, Program, ask, output, world};
use crate::control::Watcher;

/// S5-080, S5-081, S5-109…115, S5-119, S5-128, U-30: whatever an evaluation does, it ends with an entry, and the program continues
/// as if nobody had asked.
#[test]
fn evaluations_that_misbehave() {
    let source = r#"
import backstitch_debug as bs
bs.on()
class Odd:
    def __repr__(self): raise RuntimeError("no")
    def __eq__(self, other): raise RuntimeError("no")
    def __hash__(self): raise RuntimeError("no")
    def __reduce_ex__(self, protocol): raise RuntimeError("no")
class Pauses:
    def __repr__(self):
        bs.pause("inside")
        return "shown"
odd, pauses = Odd(), Pauses()
odd_proxy = bs.watch(odd)
bs.pause("here")
print("went on")
"#;
    let world = world();
    world.configure("[repl]\nevalTimeout = 1\n");
    let mut watcher = Watcher::start(&world);
    let program = Program::start(&world, source);
    watcher.until("held");
    let entries = ask(
        &world,
        "p1",
        &[
            "odd",
            "odd_proxy",
            "pauses",
            "'x' * 10**6",
            "while True: pass",
            "1 + 1",
            "import threading; threading.Thread(target=print, daemon=True).start()",
            "__import__('threading').Lock()",
            "import sys; sys.setrecursionlimit(300)\ndef r(): return r()\nr()",
            "raise KeyboardInterrupt",
            "odd",
        ],
    );
    let outputs: Vec<&str> = entries
        .iter()
        .map(|entry| entry["output"].as_str().expect("text"))
        .collect();
    assert_eq!(
        (outputs[0], outputs[1]),
        (
            "<unprintable Odd: RuntimeError>",
            "<unprintable Odd: RuntimeError>"
        )
    );
    assert_eq!((outputs[2], &entries[0]["cid"]), ("shown", &Value::Null));
    assert!(outputs[3].len() < 110_000 && outputs[3].contains("1000002 characters"));
    assert!(
        outputs[4].contains("TimeoutError: no end within 1 s"),
        "{}",
        outputs[4]
    );
    assert_eq!(outputs[5], "2");
    assert_eq!(entries[7]["cid"], Value::Null);
    assert!(outputs[8].contains("RecursionError") && outputs[9].contains("KeyboardInterrupt"));
    world.ok(["resume"]);
    let (code, rest, errors) = program.end();
    assert_eq!((code, errors.as_str()), (0, ""));
    assert!(rest.ends_with("went on\n"), "{rest}");
}

/// A value is stored under the hash of its bytes, with a view; its bytes are given out, and never read.
#[test]
fn values_are_stored_and_not_read() {
    let source = r#"
import os, backstitch_debug as bs
bs.on()
class Evil:
    def __reduce__(self): return (os.system, ("touch was-run",))
evil, data = Evil(), {"rows": [1, 2, {"<b>": "\x1b[31mred"}]}
bs.pause("here")
"#;
    let world = world();
    let mut watcher = Watcher::start(&world);
    let program = Program::start(&world, source);
    watcher.until("held");
    let entries = ask(&world, "p1", &["data", "evil"]);
    let cid = entries[0]["cid"].as_str().expect("a content id").to_owned();
    assert!(cid.starts_with("sha256:"));
    let object = world.json(["repl", "object", &cid]);
    assert_eq!(object["view"]["fields"]["'rows'"]["length"], 3, "{object}");
    world.ok(["repl", "object", &cid, "--save", "data.pickle"]);
    assert!(world.path("data.pickle").exists());
    let evil = entries[1]["cid"].as_str().expect("a content id").to_owned();
    world.ok(["repl", "object", &evil]);
    world.ok(["repl", "list"]);
    let session = world.json(["repl", "list"])["sessions"][0]["id"]
        .as_str()
        .expect("an id")
        .to_owned();
    let shown = world.ok(["repl", "show", &session]).stdout;
    assert!(!shown.contains('\u{1b}'), "{shown:?}");
    assert!(!world.path("was-run").exists());
    world.ok(["resume"]);
    assert_eq!(program.end().0, 0);
}

/// S5-D2, S5-L1: an evaluation that was given up keeps no stream of the process: a later one and the program print where they
/// should, and its own late output is nowhere.
#[test]
fn an_evaluation_that_was_given_up_keeps_no_stream() {
    let source = r#"
import sys, threading
import backstitch_debug as bs
bs.on()
gate, asked = threading.Event(), threading.Event()
def prints():
    asked.wait()
    print("of the program", flush=True)
threading.Thread(target=prints).start()
late = []
def waits():
    late.append(threading.current_thread())
    print("early")
    gate.wait()
    print("late")
    print("late, too", file=sys.stderr)
bs.pause("here")
gate.set()
late[0].join()
print("end", sys.stdout is sys.__stdout__)
"#;
    let world = world();
    world.configure("[repl]\nevalTimeout = 1\n");
    let mut watcher = Watcher::start(&world);
    let mut program = Program::start(&world, source);
    watcher.until("held");
    let entries = ask(&world, "p1", &["waits()", "print('mine')", "asked.set()"]);
    assert_eq!(
        (&entries[0]["stdout"], &entries[0]["isError"]),
        (&json!("early\n"), &json!(true))
    );
    assert_eq!(entries[1]["stdout"], "mine\n");
    // while the one that was given up still waits
    assert_eq!(program.line(), "of the program");
    world.ok(["resume"]);
    let (code, rest, errors) = program.end();
    assert_eq!((code, &*rest, &*errors), (0, "end True\n", ""));
}

/// `repl.maxObject`: larger values are not kept, and with 0 none is; the outputs stay.
#[test]
fn the_largest_value_is_a_setting() {
    for (setting, small, large) in [
        ("\"1 KiB\"", true, false),
        ("0", false, false),
        ("\"1 MiB\"", true, true),
    ] {
        let world = world();
        world.configure(&format!("[repl]\nmaxObject = {setting}\n"));
        let mut watcher = Watcher::start(&world);
        let program = Program::start(&world, PAUSED);
        watcher.until("held");
        let entries = ask(&world, "p1", &["[1, 2]", "'x' * 5000"]);
        let kept: Vec<bool> = entries
            .iter()
            .map(|entry| entry["cid"].is_string())
            .collect();
        assert_eq!(kept, [small, large], "{setting}: {entries:#?}");
        assert_eq!(entries[0]["output"], "[1, 2]");
        world.ok(["resume"]);
        assert_eq!(program.end().0, 0);
    }
}

/// S5-112, S5-113, S5-118: code that ends the program, splits it, holds the interpreter or gives a gigabyte has an entry, and
/// the pause continues unless the program is gone.
#[test]
fn evaluations_that_are_dangerous() {
    let source = r#"
import backstitch_debug as bs
bs.on()
class Huge:
    def __repr__(self): return "x" * 10**9
huge = Huge()
bs.pause("here")
print("went on", flush=True)
bs.pause("there")
"#;
    let world = world();
    world.configure("[repl]\nevalTimeout = 1\n");
    let mut watcher = Watcher::start(&world);
    let mut program = Program::start(&world, source);
    watcher.until("held");
    let inputs = ["import sys; sys.exit(3)", "import time; time.sleep(10**6)"];
    let mut entries = ask(&world, "p1", &inputs);
    // a gigabyte takes a busy machine longer than a second
    world.configure("[repl]\nevalTimeout = 30\n");
    let inputs = [
        "huge",
        "import os; os.fork() and None",
        "import sys; sys.stdout = sys.stderr = None",
    ];
    entries.extend(ask(&world, "p1", &inputs));
    world.configure("[repl]\nevalTimeout = 1\n");
    let outputs: Vec<&str> = entries
        .iter()
        .map(|entry| entry["output"].as_str().expect("text"))
        .collect();
    assert!(outputs[0].contains("SystemExit: 3"), "{}", outputs[0]);
    assert!(outputs[1].contains("TimeoutError"), "{}", outputs[1]);
    assert!(
        outputs[2].contains("(1000000000 characters)"),
        "{} characters",
        outputs[2].len()
    );
    assert_eq!(outputs[3], "None");
    assert_eq!(outputs[4], "");
    // a C function that keeps the interpreter for itself: nobody answers meanwhile
    let keeps = "import ctypes; ctypes.PyDLL(None).sleep(8)";
    let stuck = world.run(["repl", "p1", "-e", keeps]);
    assert!(
        stuck.code != 0 && stuck.stderr.contains("no answer within"),
        "{stuck}"
    );
    assert_eq!(output(&world, "p1", "6 * 7"), "42");
    world.ok(["resume", "p1"]);
    assert_eq!(program.line(), "went on");
    watcher.until("held");
    world.run(["repl", "p2", "-e", "import os; os._exit(7)"]);
    watcher.until("lost");
    let (code, rest, _) = program.end();
    assert_eq!((code, rest.as_str()), (7, ""));
    let sessions = world.json(["repl", "list", "--status", "active"]);
    assert_eq!(sessions["sessions"], serde_json::json!([]), "{sessions:#}");
}

/// S5-095, S5-116, S5-117: a hundred inputs of four sessions at once are evaluated one by one, and each is in its own transcript.
#[test]
fn many_evaluations_at_once() {
    let world = world();
    let mut watcher = Watcher::start(&world);
    let program = Program::start(&world, PAUSED);
    watcher.until("held");
    let sessions: Vec<(usize, Vec<Value>)> = std::thread::scope(|scope| {
        let world = &world;
        let asking: Vec<_> = (0..4)
            .map(|who| {
                scope.spawn(move || {
                    let inputs: Vec<String> = (0..25)
                        .map(|n| format!("local.append(({who}, {n})) or ({who}, {n})"))
                        .collect();
                    let inputs: Vec<&str> = inputs.iter().map(String::as_str).collect();
                    (who, ask(world, "p1", &inputs))
                })
            })
            .collect();
        asking
            .into_iter()
            .map(|one| one.join().expect("answered"))
            .collect()
    });
    for (who, entries) in &sessions {
        let outputs: Vec<&str> = entries
            .iter()
            .map(|entry| entry["output"].as_str().expect("text"))
            .collect();
        let expected: Vec<String> = (0..25).map(|n| format!("({who}, {n})")).collect();
        assert_eq!(outputs, expected);
    }
    // each ran once
    assert_eq!(
        output(&world, "p1", "len(local), len(set(local))"),
        "(103, 103)"
    );
    world.ok(["resume"]);
    assert_eq!(program.end().0, 0);
}

/// Names and labels of a program are text on a terminal: their control characters do not reach it.
#[test]
fn hostile_names_are_text() {
    let source = r#"
import backstitch_debug as bs
bs.on()
bs.pause("\x1b]0;pwned\x07\x1b[31mred\nnew\u202eline")
"#;
    let world = world();
    let mut watcher = Watcher::start(&world);
    let program = Program::start(&world, source);
    watcher.until("held");
    let color = ["--color", "never"];
    let mut said = String::new();
    for command in [
        &["pauses"][..],
        &["pauses", "--all"],
        &["inspect"],
        &["status"],
        &["repl", "-e", "1"],
        &["repl", "list"],
        &["resume"],
        &["pauses", "--all"],
    ] {
        let output = world.ok(command.iter().chain(&color));
        said += &output.stdout;
        said += &output.stderr;
    }
    let hostile = |c: char| c != '\n' && (c.is_control() || c == '\u{202e}');
    let found: Vec<&str> = said.lines().filter(|line| line.contains(hostile)).collect();
    assert!(found.is_empty(), "{found:?}");
    assert!(said.contains("red"), "{said}");
    assert_eq!(program.end().0, 0);
}
