//! Decisions on a paused program that are refused, interrupted or odd.

use std::process::Stdio;

use serde_json::Value;

use super::bridges::kill_children;
use super::{Program, output, world};
use crate::control::Watcher;
use crate::support::World;

/// S5-066, S5-120, S5-122: the program continues at once when its pause is decided in the midst of an evaluation; the result that is
/// refused afterwards changes nothing in it.
#[test]
fn a_refused_result_is_ignored() {
    let source = r#"
import threading
import backstitch_debug as bs
bs.on()
begun, gate = threading.Event(), threading.Event()
def tells():
    begun.wait()
    print("begun", flush=True)
threading.Thread(target=tells).start()
bs.pause("here")
print("resumed", gate.is_set(), flush=True)
gate.set()
# each of them waits for an evaluation, and posts its result
for thread in threading.enumerate():
    if thread.name == "backstitch wait": thread.join()
bs.pause("there")
print("end")
"#;
    let world = world();
    let mut watcher = Watcher::start(&world);
    let mut program = Program::start(&world, source);
    watcher.until("held");
    let mut asks = world.backstitch();
    asks.args(["repl", "p1", "-e", "begun.set() or gate.wait()"]);
    let asks = asks.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    assert_eq!(program.line(), "begun");
    world.ok(["resume"]);
    assert_eq!(program.line(), "resumed False");
    let refused = asks
        .expect("a terminal")
        .wait_with_output()
        .expect("an end");
    let said = String::from_utf8_lossy(&refused.stderr);
    assert!(said.contains("is closed: its pause was decided"), "{said}");
    // the result has come, and the program evaluates on
    watcher.until("held");
    assert_eq!(output(&world, "p2", "gate.is_set()"), "True");
    world.ok(["resume"]);
    let (code, rest, errors) = program.end();
    assert_eq!((code, &*rest, &*errors), (0, "end\n", ""));
    let list = world.json(["repl", "list", "--pause", "p1"]);
    assert_eq!(list["sessions"][0]["entries"], 0, "{list:#}");
}

/// The program whose decisions are attacked: each call of `work` is held.
const DECIDED: &str = r"
import backstitch_debug as bs
bs.on()
def work(n): return n
while True:
    try:
        print('got', bs.call(work, 1), flush=True)
    except KeyboardInterrupt:
        print('interrupted', flush=True)
";

fn skips(world: &World, value: &str) -> std::process::Child {
    let mut command = world.backstitch();
    command.args(["skip", "--value", value]);
    command.stderr(Stdio::piped()).spawn().expect("it starts")
}

fn said(child: std::process::Child) -> (i32, String) {
    let output = child.wait_with_output().expect("it ends");
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    (output.status.code().unwrap_or(-1), errors)
}

/// Waits until an expression of a decision runs.
fn until_it_runs(world: &World) {
    let until = std::time::Instant::now() + crate::support::limits::EVENT_TIMEOUT;
    while !world.exists("runs") {
        assert!(std::time::Instant::now() < until, "it never runs");
        std::thread::yield_now();
    }
    std::fs::remove_file(world.path("runs")).expect("removed");
}

/// A bridge that dies while the expression of a decision runs: the program is held all the same, by the next one, and the
/// decision is refused or carried out as if nothing had been.
#[test]
fn a_bridge_dies_during_a_decision() {
    let world = world();
    world.ok(["breakpoint", "add", "function", "work"]);
    let mut watcher = Watcher::start(&world);
    let mut program = Program::start(&world, DECIDED);
    watcher.until("held");
    let waits =
        |end: &str| format!("[open('runs', 'w').close(), __import__('time').sleep(1), {end}][2]");
    let skip = skips(&world, &waits("1 / 0"));
    until_it_runs(&world);
    kill_children(&program);
    let (code, errors) = said(skip);
    assert!(
        code == 1 && errors.contains("ZeroDivisionError"),
        "{code} {errors}"
    );
    // a bridge holds it again, so that it is not an orphan
    for _ in 0..3 {
        assert_eq!(world.json(["pauses"])["pauses"][0]["state"], "held");
    }
    assert!(!world.store().join("holds/p1.orphan").exists());
    assert_eq!(output(&world, "p1", "n"), "1");
    let skip = skips(&world, &waits("'value'"));
    until_it_runs(&world);
    kill_children(&program);
    assert_eq!(said(skip).0, 0);
    assert_eq!(program.line(), "got value");
    watcher.until("held");
}

/// A signal that the program catches while the expression of a decision runs ends its pause; the person learns that the
/// decision came to nothing. So it is for a program that is killed.
#[test]
fn a_signal_during_a_decision() {
    let world = world();
    world.ok(["breakpoint", "add", "function", "work"]);
    let mut watcher = Watcher::start(&world);
    let mut program = Program::start(&world, DECIDED);
    watcher.until("held");
    let slow = "[open('runs', 'w').close(), __import__('time').sleep(2)][1] or 5";
    let skip = skips(&world, slow);
    until_it_runs(&world);
    let interrupt = |program: &Program, signal: &str| {
        let sent = std::process::Command::new("kill")
            .args([signal, &program.pid().to_string()])
            .status();
        assert!(sent.expect("kill").success());
    };
    interrupt(&program, "-INT");
    assert_eq!(program.line(), "interrupted");
    let (code, errors) = said(skip);
    assert!(
        code == 1 && errors.contains("gave the call up"),
        "{code} {errors}"
    );
    assert_eq!(watcher.until("held")["id"], "p2");
    let open = world.json(["pauses"]);
    assert_eq!(open["pauses"].as_array().map(Vec::len), Some(1), "{open:#}");
    let skip = skips(&world, slow);
    until_it_runs(&world);
    interrupt(&program, "-KILL");
    let (code, errors) = said(skip);
    assert!(code == 1 && errors.contains("was gone"), "{code} {errors}");
    world.ok(["clear", "--yes"]);
}

/// Decisions that no program can carry out are refused, whatever they are.
#[test]
fn odd_decisions_are_refused() {
    let world = world();
    world.ok(["breakpoint", "add", "function", "work"]);
    let mut watcher = Watcher::start(&world);
    let mut program = Program::start(&world, DECIDED);
    watcher.until("held");
    for (input, why) in [
        ("{\"args\": [\"5\"]}", "has no parameter `args`"),
        ("{\"²\": \"1\"}", "has no parameter `²`"),
        ("{\"n\": \"\"}", "an empty text is not an expression"),
        ("{\"n\": \"import os\"}", "is a statement"),
    ] {
        world.write("args.json", input);
        let refused = world.run(["resume", "--input", "args.json"]).expect_code(1);
        assert!(refused.stderr.contains(why), "{input}: {refused}");
    }
    for (value, why) in [("x = 5", "is a statement"), (" ", "empty")] {
        let refused = world.run(["skip", "--value", value]);
        assert!(
            refused.code != 0 && refused.stderr.contains(why),
            "{refused}"
        );
    }
    // an input that waits meanwhile is answered, and one that runs keeps its output
    let mut command = world.backstitch();
    let slow = "print('A'); __import__('time').sleep(1); print('B')";
    command.args(["--json", "repl", "p1", "-e", slow, "-e", "n"]);
    let asks = command.stdout(Stdio::piped()).spawn().expect("it starts");
    let running = |world: &World| world.json(["repl", "list"])["sessions"][0]["status"] == "active";
    while !running(&world) {}
    let refused = world.run(["skip", "--value", "1 / 0"]).expect_code(1);
    assert!(refused.stderr.contains("ZeroDivisionError"), "{refused}");
    let output = asks.wait_with_output().expect("an end");
    let entries: Vec<Value> = serde_json::Deserializer::from_slice(&output.stdout)
        .into_iter::<Value>()
        .map(|one| one.expect("JSON")["entry"].clone())
        .collect();
    assert_eq!(entries[0]["stdout"], "A\nB\n", "{entries:#?}");
    assert_eq!(entries[1]["output"], "1", "{entries:#?}");
    world.ok(["skip", "--value", "'end'"]);
    assert_eq!(program.line(), "got end");
}
