//! Bridges of programs that die, are replaced or cannot be had.

use serde_json::{Value, json};

use super::{PAUSED, Program, output, world};
use crate::control::Watcher;
use crate::repl::kills;
use crate::support::limits::EVENT_TIMEOUT;

/// Kills the bridge of a program.
pub fn kill_children(program: &Program) {
    let children = format!("/proc/{0}/task/{0}/children", program.child.id());
    let all = std::fs::read_to_string(&children).expect("children");
    let ended = std::process::Command::new("kill")
        .arg("-9")
        .args(all.split_whitespace())
        .status();
    assert!(ended.expect("kill").success());
}

/// A bridge that dies is replaced, and the program is still held; one that ends with its program leaves no pause behind.
#[test]
fn a_bridge_that_dies_is_replaced() {
    let world = world();
    let mut watcher = Watcher::start(&world);
    let program = Program::start(&world, PAUSED);
    watcher.until("held");
    assert_eq!(output(&world, "p1", "depth"), "3");
    for _ in 0..3 {
        kill_children(&program);
        assert_eq!(output(&world, "p1", "self.state['step']"), "1");
    }
    assert_eq!(world.json(["pauses"])["pauses"][0]["state"], "held");
    world.ok(["resume"]);
    assert_eq!(program.end().0, 0);
    // the program is killed: its pause is over
    let mut program = Program::start(&world, PAUSED);
    let pause = watcher.until("held");
    program.child.kill().expect("killed");
    let over = watcher.until("lost");
    assert_eq!(over["id"], pause["id"]);
    let failed = world.run(["repl", pause["id"].as_str().expect("an id"), "-e", "1"]);
    assert_ne!(failed.code, 0);
}

/// An input whose bridge dies while it is evaluated is evaluated once, and its answer comes over the next bridge.
#[test]
fn an_input_is_evaluated_once() {
    let source = r"
import threading
import backstitch_debug as bs
bs.on()
begun, gate, count = threading.Event(), threading.Event(), []
def tells():
    begun.wait()
    print('begun', flush=True)
threading.Thread(target=tells).start()
def step():
    count.append(1)
    begun.set()
    gate.wait()
    return 'done', len(count)
opens = threading.Thread(target=lambda: input() and gate.set())
opens.start()
bs.pause('here')
";
    let world = world();
    let mut watcher = Watcher::start(&world);
    let mut program = Program::start_with_input(&world, source);
    watcher.until("held");
    let entry = std::thread::scope(|scope| {
        let asks = scope.spawn(|| world.json(["repl", "p1", "-e", "step()"]));
        assert_eq!(program.line(), "begun");
        let dead = kills::bridge_of(program.pid()).expect("a bridge");
        kills::kill(dead);
        let until = std::time::Instant::now() + EVENT_TIMEOUT;
        while kills::bridge_of(program.pid()).is_none_or(|now| now == dead) {
            assert!(std::time::Instant::now() < until, "no other bridge");
        }
        program.says("go");
        asks.join().expect("answered")["entry"].clone()
    });
    assert_eq!(entry["output"], "('done', 1)");
    assert_eq!(output(&world, "p1", "len(count)"), "1");
    world.ok(["resume"]);
    assert_eq!(program.end(), (0, String::new(), String::new()));
}

/// Forked and started processes have their own pauses.
#[test]
fn forks_and_child_processes() {
    let source = r#"
import os, subprocess, sys
import backstitch_debug as bs
bs.on()
child = os.fork()
if child == 0:
    bs.pause("in the fork")
    print("fork", flush=True)
    os._exit(0)
os.waitpid(child, 0)
bs.pause("in the parent")
if len(sys.argv) == 1:
    subprocess.run([sys.executable, __file__, "child"], check=True)
print("end", flush=True)
"#;
    let world = world();
    let mut watcher = Watcher::start(&world);
    let mut program = Program::start(&world, source);
    let fork = watcher.until("held");
    assert_eq!(fork["tool"], "in the fork");
    let id = |pause: &Value| pause["id"].as_str().expect("an id").to_owned();
    assert_eq!(output(&world, &id(&fork), "child"), "0");
    world.ok(["resume"]);
    assert_eq!(program.line(), "fork");
    for expected in ["in the parent", "in the fork", "in the parent"] {
        let pause = watcher.until("held");
        assert_eq!(pause["tool"], expected);
        world.ok(["resume"]);
    }
    let (code, rest, errors) = program.end();
    assert_eq!((code, errors.as_str()), (0, ""));
    assert_eq!(rest, "fork\nend\nend\n");
}

/// Off, every wrapper is a plain call, and no process is started. `breakpoint()` pauses where it is told to.
#[test]
fn off_and_breakpoint() {
    let source = r#"
import backstitch_debug as bs
class Thing:
    total = 3
    def add(self, n): self.total += n; return self.total
    def __len__(self): return 4
    def __eq__(self, other): return isinstance(other, Thing)
thing = bs.watch(Thing())
print(bs.is_on(), bs.call(max, 1, 2), thing.add(2), len(thing), thing == Thing(), isinstance(thing, Thing), thing.total)
bs.pause("nothing")
breakpoint()
print("end")
"#;
    let world = world();
    let off = Program::start_with(
        &world,
        source,
        &[("PYTHONBREAKPOINT", "backstitch_debug.pause")],
    );
    let (code, rest, errors) = off.end();
    assert_eq!((code, errors.as_str()), (0, ""));
    assert_eq!(rest, "False 2 5 4 True True 5\nend\n");
    assert_eq!(world.json(["pauses", "--all"])["pauses"], json!([]));
    let env = [
        ("PYTHONBREAKPOINT", "backstitch_debug.pause"),
        ("BACKSTITCH", "on"),
    ];
    let mut watcher = Watcher::start(&world);
    let on = Program::start_with(&world, source, &env);
    for _ in 0..2 {
        watcher.until("held");
        world.ok(["resume"]);
    }
    let (code, rest, errors) = on.end();
    assert_eq!((code, errors.as_str()), (0, ""));
    assert_eq!(rest, "True 2 5 4 True True 5\nend\n");
}

/// A program that continues since no bridge can be had any longer leaves no pause that stays held.
#[test]
fn a_pause_without_a_bridge_is_given_up() {
    let world = world();
    let link = world.root.join("bridge-program");
    std::os::unix::fs::symlink(crate::support::binary::path(), &link).expect("a link");
    let source = format!(
        "
import threading
import backstitch_debug as bs
bs.on(binary={link:?}, lost='continue')
bs.pause('here')
print('went on', flush=True)
threading.Event().wait()
"
    );
    let mut watcher = Watcher::start(&world);
    let mut program = Program::start(&world, &source);
    watcher.until("held");
    std::fs::remove_file(&link).expect("removed");
    kill_children(&program);
    assert_eq!(program.line(), "went on");
    // the program is alive, and nobody takes the pause over
    assert_eq!(world.json(["pauses"])["pauses"][0]["state"], "held");
    let mark = world.store().join("holds/p1.orphan");
    let earlier = std::time::SystemTime::now() - std::time::Duration::from_mins(1);
    let file = std::fs::File::options().write(true).open(&mark);
    file.expect("a mark").set_modified(earlier).expect("set");
    assert_eq!(watcher.until("lost")["id"], "p1");
    assert_eq!(world.json(["pauses"])["pauses"], json!([]));
    assert!(!mark.exists());
}
