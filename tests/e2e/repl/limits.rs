//! Ends of evaluations: one that eats memory or time at a held call, and one that is closed in its midst.

use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::python::{Program, world};
use crate::control::{HeldHook, Watcher, before, began};
use crate::lsp::client::{Client, Editor};
use crate::support::limits::{EVENT_TIMEOUT, at_most};
use crate::support::{Over, World};

/// `repl.evalTimeout` of these tests.
const TIME: Duration = Duration::from_secs(2);
/// Time in which an evaluation reaches every other limit.
const AMPLE: Duration = Duration::from_mins(1);
/// Address space of an evaluation in bytes.
const ADDRESSES: u64 = 2 << 30;
/// Resident memory of an evaluation in KiB: 128 MiB of values, each with what it takes to hold it, and the program itself.
const RESIDENT: u64 = 400 << 10;

/// Gives each evaluation so much time.
fn give(world: &World, time: Duration) {
    world.configure(&format!("[repl]\nevalTimeout = {}\n", time.as_secs()));
}

/// A command of the shell whose call is held.
fn held(world: &World) -> HeldHook {
    give(world, TIME);
    let agent = began(world);
    world.ok(["breakpoint", "add", "tool", "Bash"]);
    let mut watcher = Watcher::start(world);
    let input = json!({"command": "make", "description": "x"});
    let hook = HeldHook::start(world, &before(&agent, "c1", "Bash", &input), 600);
    watcher.until("held");
    hook
}

/// Processes that evaluate an input in this world.
fn evaluations(world: &World) -> Vec<u32> {
    let home = format!("HOME={}", world.home.display());
    let is_ours = |pid: &u32| {
        let read = |name| fs::read(format!("/proc/{pid}/{name}")).unwrap_or_default();
        let has = |text: &[u8], part: &[u8]| text.split(|&byte| byte == 0).any(|it| it == part);
        has(&read("cmdline"), b"eval") && has(&read("environ"), home.as_bytes())
    };
    let all = fs::read_dir("/proc").expect("processes").flatten();
    all.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(is_ours)
        .collect()
}

/// A number in a file of a process, in the line that begins so.
fn number(pid: u32, file: &str, line: &str) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{pid}/{file}")).ok()?;
    let line = text.lines().find_map(|it| it.strip_prefix(line))?;
    line.split_whitespace().next()?.parse().ok()
}

/// The entry of an input, the time that it took, the largest resident memory of its process that was seen in KiB, and the
/// limit of its addresses.
fn measured(world: &World, input: &str) -> (Value, Duration, u64, Option<u64>) {
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        let over = Over(&is_over);
        let watch = scope.spawn(|| {
            let (mut most, mut limit) = (0, None);
            while !is_over.load(Ordering::Relaxed) {
                for pid in evaluations(world) {
                    most = most.max(number(pid, "status", "VmHWM:").unwrap_or(0));
                    limit = number(pid, "limits", "Max address space").or(limit);
                }
            }
            (most, limit)
        });
        let began = Instant::now();
        let entry = world.json(["repl", "p1", "-e", input])["entry"].clone();
        let took = began.elapsed();
        drop(over);
        let (most, limit) = watch.join().expect("a watcher");
        (entry, took, most, limit)
    })
}

/// S5-110…113: an expression that would eat memory, time or the stack at a held call ends with the limit that it has reached. The
/// call stays held, the session usable, and the hook continues.
#[test]
fn jq_that_eats_memory_or_time() {
    let world = World::committed(&[("a.txt", "a\n")]);
    let hook = held(&world);
    let memory = "it needed more than 128 MiB";
    let steps = "it took more than 500000 steps";
    let nested = "its values or calls are nested too deeply";
    // the clock of the evaluation, or the one of the hook
    let late = [
        "it did not end within 2000 ms",
        "it did not end within 2 s, and was stopped",
    ];
    for (input, reasons) in [
        ("[limit(1e9; repeat(\"x\"*1000000))]", &[memory][..]),
        ("\"x\" * 1000000000 | length", &[memory]),
        ("reduce range(1e9) as $n (\"x\"; . + .) | length", &[memory]),
        ("[range(1e12)]", &[memory, steps]),
        ("[range(1e12)] | length", &[memory, steps]),
        ("def f: [f]; f", &[memory, nested, steps]),
        ("reduce range(1e9) as $n (null; [.])", &[nested]),
        ("last(range(1e12))", &late),
        ("def f: f; f", &[steps, nested]),
        ("[limit(1e9; repeat(1))] | length", &[memory, steps]),
        // no `try` catches a limit
        ("try [range(1e12)] catch \"caught\"", &[memory, steps]),
        ("[.[]?, (range(1e12) | tojson)]", &[memory, steps]),
    ] {
        // on a slow machine, the time would end what another limit ends
        let time = if reasons == late { TIME } else { AMPLE };
        give(&world, time);
        let (entry, took, most, _) = measured(&world, input);
        let output = entry["output"].as_str().expect("text");
        assert_eq!(entry["isError"], true, "{input}: {output:.200}");
        assert!(reasons.contains(&output), "{input}: {output:.200}");
        assert!(took < at_most(time * 3), "{input}: {took:?}");
        assert!(most < RESIDENT, "{input}: {most} KiB");
        assert_eq!(world.json(["pauses"])["pauses"][0]["state"], "held");
    }
    give(&world, AMPLE);
    // the failed one ends its script, and not the next one
    let script = [
        "repl",
        "p1",
        "-e",
        "1 + 1",
        "-e",
        "[range(1e12)]",
        "-e",
        "3",
    ];
    let said = world.run(script).expect_code(1).stdout;
    let lines: Vec<&str> = said.lines().collect();
    assert_eq!((lines[0], lines.len()), ("2", 2), "{said}");
    let said = world.ok(["repl", "p1", "-e", ".call.tool"]).stdout;
    assert_eq!(said, "\"Bash\"\n");
    world.ok(["resume"]);
    assert_eq!(hook.answer(), Value::Null);
}

/// S5-112: an evaluation has a limit of its addresses, and no process of one that took all of its time is left.
#[test]
fn an_evaluation_has_limits_of_its_process() {
    let world = World::committed(&[("a.txt", "a\n")]);
    let hook = held(&world);
    let (entry, took, most, limit) = measured(&world, "last(range(1e12))");
    assert_eq!(entry["isError"], true, "{entry:#}");
    assert!(took < at_most(TIME * 3), "{took:?}");
    assert!(most < RESIDENT, "{most} KiB");
    assert_eq!(limit, Some(ADDRESSES));
    assert_eq!(evaluations(&world), [0; 0]);
    assert_eq!(world.json(["pauses"])["pauses"][0]["state"], "held");
    world.ok(["resume"]);
    assert_eq!(hook.answer(), Value::Null);
}

const LOOPS: &str = r#"
import threading
import backstitch_debug as bs
bs.on()
begun = threading.Event()
done = False
def tells():
    begun.wait()
    print("begun", flush=True)
threading.Thread(target=tells, daemon=True).start()
def work(n):
    bs.pause("here")
    print("went on", n, done, flush=True)
work(7)
"#;

/// S5-118, S5-120…123: a session is closed while its input loops in a paused program. The request for it is answered at once,
/// nothing of it is kept, the program is paused, is asked by another session, and continues when it is resumed.
#[test]
fn a_session_is_closed_in_the_midst_of_an_evaluation() {
    let world = world();
    let own = json!({ "notifications": true, "panels": true });
    let mut client = Client::with(&world, Editor::Vscode, &own);
    client.open("a.txt");
    let mut watcher = Watcher::start(&world);
    let mut program = Program::start(&world, LOOPS);
    watcher.until("held");
    let starts = |client: &mut Client<'_>| {
        let started = client.ok("backstitch/repl/start", json!({ "pause": "p1" }));
        started["session"]["id"].clone()
    };
    let session = starts(&mut client);
    let evaluates = |session: &Value, input: &str| json!({ "session": session, "input": input });
    let kept = client.ok("backstitch/repl/eval", evaluates(&session, "n"));
    assert_eq!(kept["entry"]["output"], "7");
    let endless = "print('lost')\nbegun.set()\nwhile not done: pass";
    let first = client.begin("backstitch/repl/eval", evaluates(&session, endless));
    // one more waits for its turn
    let second = client.begin("backstitch/repl/eval", evaluates(&session, "n + 1"));
    assert_eq!(program.line(), "begun");
    let closed = client.ok("backstitch/repl/close", json!({ "session": session }));
    assert_eq!(closed["session"]["status"], "closed", "{closed:#}");
    for id in [first, second] {
        let error = client.response(id)["error"].clone();
        assert_eq!(error["data"]["kind"], "session_closed", "{error:#}");
        let message = error["message"].as_str().expect("a message");
        assert!(message.contains("it was closed"), "{message}");
    }
    let pauses = world.json(["pauses"]);
    assert_eq!(pauses["pauses"][0]["state"], "held", "{pauses:#}");
    let refused = client.fails("backstitch/repl/eval", evaluates(&session, "n"));
    assert_eq!(refused["data"]["kind"], "session_closed");
    // the loop continues by itself, and holds nobody up
    let other = starts(&mut client);
    let asked = client.ok("backstitch/repl/eval", evaluates(&other, "n + 2"));
    assert_eq!(asked["entry"]["output"], "9");
    let shown = client.ok("backstitch/repl/show", json!({ "session": session }));
    assert_eq!(
        shown["entries"].as_array().map(Vec::len),
        Some(1),
        "{shown:#}"
    );
    client.command("backstitch.resume", json!({ "pause": "p1" }));
    assert_eq!(program.line(), "went on 7 False");
    client.leave();
    assert_eq!(program.end(), (0, String::new(), String::new()));
    let id = session.as_str().expect("an id");
    let shown = world.json(["repl", "show", id]);
    assert_eq!(
        shown["entries"].as_array().map(Vec::len),
        Some(1),
        "{shown:#}"
    );
    assert_eq!(shown["session"]["reason"], "it was closed");
}

const GATED: &str = r#"
import gc, threading, weakref
import backstitch_debug as bs
bs.on()
alive = weakref.WeakValueDictionary()
class Probe:
    def __init__(self, name): alive[name] = self
begun, gate = threading.Event(), threading.Event()
def waiters(): return sum(thread.name == "backstitch wait" for thread in threading.enumerate())
def tells():
    begun.wait()
    print("begun", flush=True)
threading.Thread(target=tells, daemon=True).start()
bs.pause("here")
print("went on", flush=True)
"#;

/// S5-099, S5-115, S5-123: an input that is given up after its session was closed leaves no names of that session behind.
#[test]
fn names_of_a_session_that_was_closed_in_the_midst() {
    let world = world();
    world.configure("[repl]\nevalTimeout = 1\n");
    let own = json!({ "notifications": true, "panels": true });
    let mut client = Client::with(&world, Editor::Vscode, &own);
    client.open("a.txt");
    let mut watcher = Watcher::start(&world);
    let mut program = Program::start(&world, GATED);
    watcher.until("held");
    let started = client.ok("backstitch/repl/start", json!({ "pause": "p1" }));
    let session = started["session"]["id"].clone();
    let waits = "mine = Probe('mine')\nbegun.set()\ngate.wait()";
    let asked = json!({ "session": session, "input": waits });
    let id = client.begin("backstitch/repl/eval", asked);
    assert_eq!(program.line(), "begun");
    client.ok("backstitch/repl/close", json!({ "session": session }));
    assert_eq!(
        client.response(id)["error"]["data"]["kind"],
        "session_closed"
    );
    let output = |input: &str| world.json(["repl", "p1", "-e", input])["entry"]["output"].clone();
    let until = |input: &str, expected: &str| {
        let end = Instant::now() + EVENT_TIMEOUT;
        while output(input) != expected {
            assert!(Instant::now() < end, "{input} is not {expected}");
        }
    };
    assert_eq!(output("sorted(alive)"), "['mine']");
    // given up: only the waiter of this very input is there
    until("waiters()", "1");
    assert_eq!(output("gate.set()"), "None");
    until("(gc.collect(), sorted(alive))[1]", "[]");
    world.ok(["resume"]);
    assert_eq!(program.line(), "went on");
    client.leave();
    assert_eq!(program.end(), (0, String::new(), String::new()));
}
