//! Python programs that pause: real processes, asked over the command line.

use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::{Child, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

use crate::control::Watcher;
use crate::lsp::client::{Client, Editor};
use crate::support::World;
use crate::support::limits::EVENT_TIMEOUT;

/// A program that runs. Its output is read as it comes.
pub struct Program {
    child: Child,
    stdout: BufReader<ChildStdout>,
}

impl Program {
    pub fn start(world: &World, source: &str) -> Self {
        Self::start_with(world, source, &[])
    }

    fn start_with(world: &World, source: &str, env: &[(&str, &str)]) -> Self {
        Self::spawn(Self::python(world, source, env))
    }

    /// A program that reads lines.
    fn start_with_input(world: &World, source: &str) -> Self {
        let mut command = Self::python(world, source, &[]);
        command.stdin(Stdio::piped());
        Self::spawn(command)
    }

    fn python(world: &World, source: &str, env: &[(&str, &str)]) -> Command {
        world.write("program.py", source);
        let client = concat!(env!("CARGO_MANIFEST_DIR"), "/../server/clients/python/src");
        let mut command = world.command("python3");
        command
            .args(["-u", "program.py"])
            .env("PYTHONPATH", client)
            .env("PYTHONDONTWRITEBYTECODE", "1");
        for (name, value) in env {
            command.env(name, value);
        }
        command
    }

    /// Starts a program in any language.
    pub fn spawn(mut command: Command) -> Self {
        command
            .env("BACKSTITCH_BIN", crate::support::binary::path())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn().expect("a program");
        let stdout = BufReader::new(child.stdout.take().expect("a pipe"));
        Self { child, stdout }
    }

    /// The next line of its output.
    pub fn line(&mut self) -> String {
        let mut line = String::new();
        self.stdout.read_line(&mut line).expect("a line");
        line.trim_end_matches('\n').to_owned()
    }

    /// Gives it a line.
    fn says(&mut self, line: &str) {
        let stdin = self.child.stdin.as_mut().expect("a pipe");
        writeln!(stdin, "{line}").expect("it reads");
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    pub fn has_ended(&mut self) -> bool {
        self.child.try_wait().expect("a status").is_some()
    }

    /// Waits for its end. Returns the rest of its output, and what it printed to stderr.
    pub fn end(mut self) -> (i32, String, String) {
        let mut rest = String::new();
        self.stdout.read_to_string(&mut rest).expect("text");
        let mut errors = String::new();
        let mut stderr = self.child.stderr.take().expect("a pipe");
        stderr.read_to_string(&mut errors).expect("text");
        let status = self.child.wait().expect("an end");
        (status.code().unwrap_or(-1), rest, errors)
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

pub fn world() -> World {
    let world = World::committed(&[("a.txt", "a\n")]);
    world.ok(["checkpoint"]);
    world
}

/// Evaluates these inputs in one session, and returns the entries.
fn ask(world: &World, pause: &str, inputs: &[&str]) -> Vec<Value> {
    let mut args = vec!["repl", pause];
    for input in inputs {
        args.extend(["-e", input]);
    }
    let said = world.ok(["--json"].into_iter().chain(args)).stdout;
    serde_json::Deserializer::from_str(&said)
        .into_iter::<Value>()
        .map(|one| one.expect("JSON")["entry"].clone())
        .collect()
}

fn output(world: &World, pause: &str, input: &str) -> String {
    let entries = ask(world, pause, &[input]);
    entries[0]["output"].as_str().expect("text").to_owned()
}

const PAUSED: &str = r#"
import backstitch_debug as bs
bs.on()
LIMIT = 10
class Agent:
    def __init__(self): self.state = {"step": 1}
    def plan(self, goal, depth=2):
        local = [1, 2, 3]
        bs.pause("planning")
        print("state", self.state, "local", local)
Agent().plan("go", depth=3)
"#;

/// S5-001, S5-002, S5-067…079, S5-081…087, S5-091…098, S5-108, S5-D3, U-28: an expression gives its repr, statements give
/// nothing, errors their traceback from the input on; names of a session are its own, above those of the frame.
#[test]
fn evaluation_at_a_frame() {
    let world = world();
    let mut watcher = Watcher::start(&world);
    let program = Program::start(&world, PAUSED);
    let pause = watcher.until("held");
    assert_eq!(
        (pause["by"].as_str(), pause["tool"].as_str()),
        (Some("program"), Some("planning"))
    );
    let entries = ask(
        &world,
        "p1",
        &[
            "goal",
            "depth",
            "LIMIT",
            "self.state",
            "None",
            "local = 7",
            "local",
            "del local",
            "local",
            "import math",
            "math.sqrt(16)",
            "def fact(n):\n    return 1 if n < 2 else n * fact(n - 1)",
            "fact(20)",
            "[fact(n) for n in range(4) if n < LIMIT]",
            "''",
            "1 +",
            "def f():",
            "undefined_name",
            "1 / 0",
            "class A:\n    x = 3\n\nprint(A.x)",
            "self.state['step'] = 9",
            "'äöü ☃ \\u0000'",
            "print('out'); print('two')",
            "__import__('sys').stderr.write('err\\n')",
        ],
    );
    let outputs: Vec<&str> = entries
        .iter()
        .map(|entry| entry["output"].as_str().expect("text"))
        .collect();
    let shown = |at: usize| (outputs[at], entries[at]["shows"].as_str().expect("text"));
    assert_eq!(&outputs[..5], ["'go'", "3", "10", "{'step': 1}", "None"]);
    assert_eq!(shown(5), ("", "nothing"));
    assert_eq!((outputs[6], outputs[8]), ("7", "[1, 2, 3]"));
    assert_eq!(
        (outputs[10], outputs[12], outputs[13]),
        ("4.0", "2432902008176640000", "[1, 1, 2, 6]")
    );
    assert_eq!(shown(14), ("''", "value"));
    assert!(outputs[15].contains("SyntaxError"), "{}", outputs[15]);
    assert!(outputs[16].contains("incomplete input"), "{}", outputs[16]);
    assert!(outputs[17].contains("NameError: name 'undefined_name' is not defined"));
    assert!(
        outputs[18].starts_with("Traceback") && outputs[18].contains("File \"<repl>\", line 1"),
        "{}",
        outputs[18]
    );
    assert!(!outputs[18].contains("backstitch_debug"), "{}", outputs[18]);
    assert_eq!(
        (
            entries[19]["stdout"].as_str(),
            entries[19]["shows"].as_str()
        ),
        (Some("3\n"), Some("stdout"))
    );
    assert_eq!(outputs[21], "'äöü ☃ \\x00'");
    assert_eq!(entries[22]["stdout"], "out\ntwo\n");
    assert_eq!(
        (
            entries[23]["stdout"].as_str(),
            entries[23]["shows"].as_str()
        ),
        (Some("err\n"), Some("both"))
    );
    // another session has its own names, and sees the same objects
    let other = ask(&world, "p1", &["fact", "self.state"]);
    assert_eq!(other[0]["isError"], true);
    assert_eq!(other[1]["output"], "{'step': 9}");
    world.ok(["resume"]);
    let (code, rest, errors) = program.end();
    assert_eq!((code, errors.as_str()), (0, ""));
    assert_eq!(rest, "state {'step': 9} local [1, 2, 3]\n");
}

/// S5-105: inputs at two pauses, one of which replaces streams, keep their output apart. The program sees its own streams.
#[test]
fn a_replaced_stream_takes_no_other_output() {
    let source = r#"
import sys, threading, contextlib, io
import backstitch_debug as bs
bs.on()
counted = threading.Semaphore(0)
seen = []
go = threading.Event()
def beside():
    while not go.wait(0.001):
        seen.append(sys.stdout is sys.__stdout__ and isinstance(sys.stdout, io.TextIOWrapper))
def stop(name):
    bs.pause(name)
threads = [threading.Thread(target=stop, args=(name,)) for name in ("one", "two")]
watcher = threading.Thread(target=beside)
watcher.start()
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
go.set()
watcher.join()
print(all(seen), len(seen) > 0, sys.stdout is sys.__stdout__, type(sys).__name__)
"#;
    let world = world();
    let mut watcher = Watcher::start(&world);
    let program = Program::start(&world, source);
    watcher.until("held");
    watcher.until("held");
    let pauses = world.json(["pauses"])["pauses"].clone();
    let pause = |label: &str| {
        let all = pauses.as_array().expect("pauses");
        let found = all.iter().find(|pause| pause["tool"] == label);
        found.expect("a pause")["id"]
            .as_str()
            .expect("an id")
            .to_owned()
    };
    // each waits for the other's lines: they run at once
    let prints = "for n in range(300): print(n); counted.release()";
    let replaces = r"old = sys.stdout
class Twice:
    def write(self, text): return old.write(text + text)
    def flush(self): pass
for n in range(100):
    for _ in range(3): counted.acquire()
    with contextlib.redirect_stdout(io.StringIO()) as kept: print('kept')
    assert kept.getvalue() == 'kept\n', kept.getvalue()
    sys.stdout = Twice()
    sys.stdout.write('%d ' % n)
    sys.stdout = None
    print('nowhere')
    sys.stdout = old";
    let [first, second] = [("one", prints), ("two", replaces)].map(|(label, input)| {
        let (world, id) = (&world, pause(label));
        move || world.json(["repl", &id, "-e", input])["entry"].clone()
    });
    let (first, second) = std::thread::scope(|scope| {
        let (first, second) = (scope.spawn(first), scope.spawn(second));
        (
            first.join().expect("an entry"),
            second.join().expect("an entry"),
        )
    });
    let lines: Vec<_> = (0..300).map(|n| n.to_string()).collect();
    assert_eq!(first["stdout"], lines.join("\n") + "\n", "{first:#}");
    let twice: Vec<_> = (0..100).map(|n| format!("{n} {n} ")).collect();
    assert_eq!(second["stdout"], twice.concat(), "{second:#}");
    world.ok(["resume", &pause("one")]);
    world.ok(["resume", &pause("two")]);
    let (code, rest, errors) = program.end();
    assert_eq!((code, errors.as_str()), (0, ""));
    assert_eq!(rest, "True True True module\n");
}

/// S5-020, S5-040: the session of a `pause()` has the function that is paused, the reason with its label, the
/// breakpoint of a watched call, and its end. All are found by a search.
#[test]
fn a_session_is_named_by_its_function() {
    let source = r#"
import backstitch_debug as bs
bs.on()
def work():
    bs.pause("label-1")
@bs.watch
def plan(n):
    return n
work()
plan(1)
"#;
    let world = world();
    world.ok(["breakpoint", "add", "function", "plan"]);
    let mut watcher = Watcher::start(&world);
    let program = Program::start(&world, source);
    watcher.until("held");
    let session = |pause: &str| {
        world.json(["repl", pause, "-e", "1 + 1"]);
        let found = world.json(["repl", "list", "--pause", pause])["sessions"][0].clone();
        (found["id"].as_str().expect("an id").to_owned(), found)
    };
    let (asked_for, at_pause) = session("p1");
    assert_eq!(at_pause["function"], "work");
    assert_eq!(at_pause["why"], "pause(\"label-1\")");
    assert_eq!(at_pause["breakpoint"], Value::Null);
    assert_eq!(at_pause["hit"], Value::Null);
    world.ok(["resume", "p1"]);
    watcher.until("held");
    let (watched, at_call) = session("p2");
    assert_eq!(at_call["function"], "__main__.plan");
    assert_eq!(at_call["breakpoint"], "b1");
    assert_eq!(
        (&at_call["hit"]["kind"], &at_call["hit"]["summary"]),
        (&json!("function"), &json!("plan"))
    );
    world.ok(["resume", "p2"]);
    let (code, _, errors) = program.end();
    assert_eq!((code, errors.as_str()), (0, ""));
    let found = |search: &str| {
        let found = world.json(["repl", "list", "--search", search])["sessions"].clone();
        let ids = found.as_array().expect("sessions").iter();
        ids.map(|one| one["id"].as_str().expect("an id").to_owned())
            .collect::<Vec<_>>()
    };
    for (search, expected) in [
        ("work", &asked_for),
        ("wo", &asked_for),
        ("label-1", &asked_for),
        ("plan", &watched),
        ("pla", &watched),
    ] {
        assert_eq!(found(search), [expected.as_str()], "{search}");
    }
    let page = world.ok(["repl", "show", &watched]).stdout;
    assert!(
        page.contains("of __main__.plan, b1 function plan, started "),
        "{page}"
    );
    assert!(page.contains(", ended "), "{page}");
    assert!(
        world
            .ok(["repl", "show", &asked_for])
            .stdout
            .contains("of work, pause(\"label-1\")")
    );
}

/// S5-100…104: output of the program stands where it belongs, byte for byte, before, during and after evaluations of all kinds.
#[test]
fn output_stays_where_it_belongs() {
    let source = r#"
import sys, threading, contextlib, io
import backstitch_debug as bs
bs.on()
go = threading.Event()
def other():
    for n in range(200):
        sys.stdout.write("other %d\n" % n)
        go.wait(0.001)
t = threading.Thread(target=other)
print("before")
t.start()
bs.pause("here")
t.join()
print("after", sys.stdout is sys.__stdout__, sys.stderr is sys.__stderr__)
"#;
    let world = world();
    let mut watcher = Watcher::start(&world);
    let program = Program::start(&world, source);
    watcher.until("held");
    let entries = ask(
        &world,
        "p1",
        &[
            "print('mine')",
            "sys.stdout = io.StringIO(); print('lost?')",
            "with contextlib.redirect_stdout(io.StringIO()) as f: print('caught')",
            "f.getvalue()",
            "raise SystemExit(4)",
            "[print(n) for n in range(3)]",
        ],
    );
    assert_eq!(entries[0]["stdout"], "mine\n");
    assert_eq!(entries[3]["output"], "'caught\\n'");
    assert!(
        entries[4]["output"]
            .as_str()
            .expect("text")
            .contains("SystemExit: 4")
    );
    assert_eq!(entries[5]["stdout"], "0\n1\n2\n");
    world.ok(["resume"]);
    let (code, rest, errors) = program.end();
    assert_eq!((code, errors.as_str()), (0, ""));
    let mut expected = "before\n".to_owned();
    for n in 0..200 {
        let _ = writeln!(expected, "other {n}");
    }
    expected.push_str("after True True\n");
    let mut lines: Vec<&str> = rest.lines().collect();
    lines.sort_unstable();
    let mut wanted: Vec<&str> = expected.lines().collect();
    wanted.sort_unstable();
    assert_eq!(lines, wanted);
}

/// S5-090, S5-149: breakpoints at functions before and after their calls; arguments and results are changed, calls skipped
/// and raised at; the calls are a tree.
#[test]
fn breakpoints_at_functions() {
    // never a breakpoint that says it denies, and lets pass
    let refused = world().run(["breakpoint", "add", "function", "plan", "--action", "deny"]);
    assert_eq!(refused.code, 2, "{refused}");
    assert!(
        refused.stderr.contains("let the breakpoint pause"),
        "{refused}"
    );
    let source = r"
import backstitch_debug as bs
bs.on()
def inner(n): return n + 1
def plan(x, y=2): return bs.call(inner, x * y)
for n in range(6):
    try:
        print(n, bs.call(plan, n, y=10))
    except Exception as error:
        print(n, type(error).__name__, error)
";
    let world = world();
    world.ok([
        "breakpoint",
        "add",
        "function",
        "plan",
        "--when",
        ".args[\"0\"] != \"0\"",
    ]);
    let mut watcher = Watcher::start(&world);
    let mut program = Program::start(&world, source);
    assert_eq!(program.line(), "0 1");
    let pause = watcher.held("p1");
    assert_eq!(
        (pause["tool"].as_str(), pause["at"].as_str()),
        (Some("__main__.plan"), Some("before"))
    );
    assert_eq!(output(&world, "p1", "x, y, n"), "(1, 10, 1)");
    // an expression that fails, and a parameter that is not there: the program is held as before, with its REPLs
    let session = world.json(["repl", "list"])["sessions"][0]["id"].clone();
    for (input, why) in [
        (
            "{\"x\": \"nope + 1\"}",
            "NameError: name 'nope' is not defined",
        ),
        ("{\"z\": \"1\"}", "has no parameter `z`"),
        ("{\"7\": \"1\"}", "has no number 7"),
        ("{\"x\": \"1 +\"}", "SyntaxError"),
    ] {
        world.write("args.json", input);
        let refused = world.run(["resume", "--input", "args.json"]).expect_code(1);
        assert!(refused.stderr.contains(why), "{refused}");
        assert!(refused.stderr.contains("held as before"), "{refused}");
    }
    let refused = world.run(["skip", "--value", "1/0"]).expect_code(1);
    assert!(refused.stderr.contains("ZeroDivisionError"), "{refused}");
    let open = world.json(["pauses"]);
    assert_eq!(open["pauses"][0]["state"], "held", "{open:#}");
    assert_eq!(output(&world, "p1", "x"), "1");
    let listed = world.json(["repl", "list"]);
    let sessions = listed["sessions"].as_array().expect("sessions");
    assert!(
        sessions.iter().any(|one| one["id"] == session),
        "{listed:#}"
    );
    world.write("args.json", "{\"x\": \"n + 4\", \"y\": \"2\"}");
    world.ok(["resume", "--input", "args.json"]);
    assert_eq!(program.line(), "1 11");
    watcher.held("p2");
    world.ok(["skip", "--value", "['instead', n]"]);
    assert_eq!(program.line(), "2 ['instead', 2]");
    watcher.held("p3");
    world.ok(["deny", "-m", "not this one"]);
    assert_eq!(program.line(), "3 Raised not this one");
    watcher.held("p4");
    world.ok(["breakpoint", "clear"]);
    world.ok(["breakpoint", "add", "function", "__main__.in*", "--after"]);
    world.ok(["resume"]);
    let after = watcher.held("p5");
    assert_eq!(
        (after["tool"].as_str(), after["at"].as_str()),
        (Some("__main__.inner"), Some("after"))
    );
    assert_eq!(
        output(&world, after["id"].as_str().expect("an id"), "result"),
        "41"
    );
    world.ok(["skip", "--value", "result * 100"]);
    assert_eq!(program.line(), "4 4100");
    watcher.held("p6");
    world.ok(["resume"]);
    assert_eq!(program.line(), "5 51");
    let (code, _, errors) = program.end();
    assert_eq!((code, errors.as_str()), (0, ""));
}

/// S5-013, S5-089: several threads are paused at once, each with its own pause, and others continue; coroutines, too.
#[test]
fn threads_and_coroutines() {
    let source = r#"
import asyncio, threading
import backstitch_debug as bs
bs.on()
def work(name):
    value = name * 2
    bs.pause(name)
    print(name, flush=True)
threads = [threading.Thread(target=work, args=(name,)) for name in ("one", "two")]
for t in threads: t.start()
for t in threads: t.join()
async def step(n):
    await asyncio.sleep(0)
    return n + 1
async def ticker(ticks):
    while True:
        ticks.append(1)
        await asyncio.sleep(0.001)
async def main():
    ticks = []
    task = asyncio.ensure_future(ticker(ticks))
    print(await bs.acall(step, 41), len(ticks) > 20, flush=True)
    task.cancel()
asyncio.run(main())
"#;
    let world = world();
    world.ok(["breakpoint", "add", "function", "step"]);
    let mut watcher = Watcher::start(&world);
    let mut program = Program::start(&world, source);
    let first = watcher.until("held");
    let second = watcher.until("held");
    let name = |pause: &Value| pause["tool"].as_str().expect("a name").to_owned();
    let id = |pause: &Value| pause["id"].as_str().expect("an id").to_owned();
    for pause in [&first, &second] {
        let twice = format!("'{0}{0}'", name(pause));
        assert_eq!(output(&world, &id(pause), "value"), twice);
    }
    world.ok(["resume", &id(&second)]);
    assert_eq!(program.line(), name(&second));
    world.ok(["resume", &id(&first)]);
    assert_eq!(program.line(), name(&first));
    let third = watcher.until("held");
    assert_eq!(output(&world, &id(&third), "len(ticks) >= 0"), "True");
    // the event loop continues meanwhile
    while output(&world, &id(&third), "len(ticks) > 30") != "True" {}
    world.ok(["resume"]);
    assert_eq!(program.line(), "42 True");
    let (code, _, errors) = program.end();
    assert_eq!((code, errors.as_str()), (0, ""));
}

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

/// Kills the bridge of a program.
fn kill_children(program: &Program) {
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

/// S5-097, S5-099: the names of a session are dropped when it closes, while its pause continues; another session keeps its own.
#[test]
fn names_of_a_session_end_with_it() {
    let source = r#"
import weakref
import backstitch_debug as bs
bs.on()
alive = weakref.WeakValueDictionary()
class Probe:
    def __init__(self, name): alive[name] = self
bs.pause("here")
print("end")
"#;
    let world = world();
    let mut watcher = Watcher::start(&world);
    let program = Program::start(&world, source);
    watcher.until("held");
    let mut viewer = Client::with(&world, Editor::Vscode, &json!({ "panels": true }));
    viewer.open("a.txt");
    let started = viewer.ok("backstitch/repl/start", json!({ "pause": "p1" }));
    let session = started["session"]["id"].clone();
    let mut evaluates = |input: &str| {
        let asked = json!({ "session": session, "input": input });
        viewer.ok("backstitch/repl/eval", asked)["entry"]["output"].clone()
    };
    evaluates("mine = Probe('kept')");
    let entries = ask(
        &world,
        "p1",
        &[
            "mine = Probe('dropped')",
            "sorted(alive)",
            "mine is alive['dropped']",
        ],
    );
    assert_eq!(entries[1]["output"], "['dropped', 'kept']");
    assert_eq!(entries[2]["output"], "True");
    // the terminal's session is closed; its program hears of it a moment later
    while evaluates("sorted(alive)") != "['kept']" {}
    assert_eq!(evaluates("mine is alive['kept']"), "True");
    viewer.leave();
    world.ok(["resume"]);
    assert_eq!(program.end(), (0, "end\n".to_owned(), String::new()));
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

/// A paused call whose task is cancelled is over: its pause and its sessions end with it, and the program can pause again.
#[test]
fn a_cancelled_task_withdraws_its_pause() {
    let source = r#"
import asyncio, os
import backstitch_debug as bs
bs.on()
def step(n): return n + 1
async def main():
    task = asyncio.ensure_future(bs.acall(step, 1))
    while not os.path.exists("cancel"):
        await asyncio.sleep(0.001)
    task.cancel()
    try:
        await task
    except asyncio.CancelledError:
        print("cancelled", flush=True)
    # after the call, too
    task = asyncio.ensure_future(bs.acall(step, 2))
    while not os.path.exists("cancel again"):
        await asyncio.sleep(0.001)
    task.cancel()
    await asyncio.wait([task])
    print("cancelled again", task.cancelled(), flush=True)
    print(await bs.acall(step, 41), flush=True)
asyncio.run(main())
"#;
    let world = world();
    world.ok(["breakpoint", "add", "function", "step"]);
    let mut watcher = Watcher::start(&world);
    let mut program = Program::start(&world, source);
    watcher.until("held");
    let mut asks = world.backstitch();
    asks.args([
        "repl",
        "p1",
        "-e",
        "open('cancel', 'w').close() or __import__('threading').Event().wait()",
    ]);
    let asks = asks.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    assert_eq!(watcher.until("ended")["id"], "p1");
    assert_eq!(program.line(), "cancelled");
    let refused = asks
        .expect("a terminal")
        .wait_with_output()
        .expect("an end");
    let said = String::from_utf8_lossy(&refused.stderr);
    assert!(said.contains("is closed: its pause is over"), "{said}");
    assert_eq!(watcher.until("held")["id"], "p2");
    world.ok(["breakpoint", "clear"]);
    world.ok(["breakpoint", "add", "function", "step", "--after"]);
    world.ok(["resume"]);
    assert_eq!(watcher.until("held")["id"], "p3");
    assert_eq!(output(&world, "p3", "result"), "3");
    world.write("cancel again", "");
    assert_eq!(watcher.until("ended")["id"], "p3");
    assert_eq!(program.line(), "cancelled again True");
    assert_eq!(watcher.until("held")["id"], "p4");
    world.ok(["resume"]);
    assert_eq!(program.end(), (0, "42\n".to_owned(), String::new()));
    assert_eq!(world.json(["pauses"])["pauses"], json!([]));
    let list = world.json(["repl", "list", "--status", "active"]);
    assert_eq!(list["sessions"], json!([]));
}

/// Tasks that are cancelled at any moment, also before their pause is there, leave no pause behind.
#[test]
fn tasks_that_are_cancelled_at_any_moment() {
    let source = r#"
import asyncio, random
import backstitch_debug as bs
bs.on()
def step(n): return n
async def one(n, moment):
    task = asyncio.ensure_future(bs.acall(step, n))
    await asyncio.sleep(moment)
    task.cancel()
    await asyncio.wait([task])
async def main():
    moments = random.Random(20261125)
    await asyncio.gather(*[one(n, moments.random() / 20) for n in range(60)])
    print("cancelled", flush=True)
    print(await bs.acall(step, "last"), flush=True)
asyncio.run(main())
"#;
    let world = world();
    world.ok(["breakpoint", "add", "function", "step"]);
    let mut program = Program::start(&world, source);
    assert_eq!(program.line(), "cancelled");
    let until = std::time::Instant::now() + EVENT_TIMEOUT;
    let last = loop {
        let all = world.json(["pauses"])["pauses"].clone();
        if let [last] = &all.as_array().expect("pauses")[..]
            && output(&world, last["id"].as_str().expect("an id"), "n") == "'last'"
        {
            break last["id"].clone();
        }
        assert!(std::time::Instant::now() < until, "{all:#}");
    };
    world.ok(["resume", last.as_str().expect("an id")]);
    assert_eq!(program.end(), (0, "last\n".to_owned(), String::new()));
}

/// A call that is skipped or refused before it runs opens no pause after it that nobody waits for.
#[test]
fn breakpoints_before_and_after_one_function() {
    let source = r"
import backstitch_debug as bs
bs.on()
def step(n): return n + 1
for n in range(4):
    try:
        print(bs.call(step, n), flush=True)
    except bs.Raised as error:
        print(error, flush=True)
";
    let world = world();
    world.ok(["breakpoint", "add", "function", "step"]);
    world.ok(["breakpoint", "add", "function", "step", "--after"]);
    let mut watcher = Watcher::start(&world);
    let mut program = Program::start(&world, source);
    watcher.until("held");
    world.ok(["skip", "--value", "'instead'"]);
    assert_eq!(program.line(), "instead");
    watcher.until("held");
    world.ok(["deny", "-m", "not this one"]);
    assert_eq!(program.line(), "not this one");
    watcher.until("held");
    world.ok(["skip"]);
    assert_eq!(program.line(), "None");
    let before = watcher.until("held");
    assert_eq!(
        (&before["id"], &before["at"]),
        (&json!("p4"), &json!("before"))
    );
    world.ok(["resume"]);
    let after = watcher.until("held");
    assert_eq!(
        (&after["id"], &after["at"]),
        (&json!("p5"), &json!("after"))
    );
    world.ok(["resume"]);
    assert_eq!(program.end(), (0, "4\n".to_owned(), String::new()));
    assert_eq!(world.json(["pauses"])["pauses"], json!([]));
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
        let dead = super::kills::bridge_of(program.pid()).expect("a bridge");
        super::kills::kill(dead);
        let until = std::time::Instant::now() + EVENT_TIMEOUT;
        while super::kills::bridge_of(program.pid()).is_none_or(|now| now == dead) {
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

/// The client's own tests: 3,000 generated inputs against `code.InteractiveInterpreter`, on each Python that is here.
#[test]
fn the_clients_own_tests() {
    let world = world();
    let client = concat!(env!("CARGO_MANIFEST_DIR"), "/../server/clients/python");
    let mut tried = 0;
    for python in pythons() {
        let mut command = world.command(&python);
        command
            .args(["-m", "unittest", "discover", "-s", "tests"])
            .current_dir(client)
            .env("PYTHONPATH", format!("{client}/src"))
            .env("PYTHONDONTWRITEBYTECODE", "1");
        let output = command.output().expect("a Python");
        tried += 1;
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{}: {said}", python.display());
    }
    assert!(tried > 0, "no Python is here");
}

/// Each Python from 3.8 on that is here: that of the search path, and those of pyenv.
fn pythons() -> Vec<std::path::PathBuf> {
    let mut all = vec!["python3".into()];
    let home = std::env::var_os("HOME").unwrap_or_default();
    let root = std::env::var_os("PYENV_ROOT");
    let root = root.map_or_else(|| std::path::Path::new(&home).join(".pyenv"), Into::into);
    let versions = std::fs::read_dir(root.join("versions"))
        .into_iter()
        .flatten()
        .flatten();
    for version in versions {
        let name = version.file_name().to_string_lossy().into_owned();
        let minor = name
            .strip_prefix("3.")
            .and_then(|rest| rest.split('.').next()?.parse::<u32>().ok());
        if minor.is_some_and(|minor| minor >= 8) {
            all.push(version.path().join("bin/python"));
        }
    }
    all
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
    assert_eq!(outputs[3], "");
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

/// Ctrl-C at a pause ends it: the program continues with its exception, and nobody is asked about a pause that is over.
#[test]
fn a_signal_ends_a_pause() {
    let source = r#"
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
import backstitch_debug as bs
bs.on()
try:
    bs.pause("first")
except KeyboardInterrupt:
    print("interrupted", flush=True)
bs.pause("second")
print("went on")
"#;
    let world = world();
    let mut watcher = Watcher::start(&world);
    let mut program = Program::start(&world, source);
    watcher.until("held");
    let pid = program.pid().to_string();
    let interrupted = std::process::Command::new("kill")
        .args(["-INT", &pid])
        .status();
    assert!(interrupted.expect("kill").success());
    assert_eq!(program.line(), "interrupted");
    watcher.until("ended");
    let second = watcher.until("held");
    assert_eq!(second["tool"], "second");
    let open = world.json(["pauses"]);
    assert_eq!(open["pauses"].as_array().map(Vec::len), Some(1), "{open:#}");
    world.ok(["resume"]);
    assert_eq!(program.end().1, "went on\n");
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

/// S5-013: a watched coroutine function stays one, and its event loop continues while it is paused; methods, too.
#[test]
fn watched_coroutines() {
    let source = r"
import asyncio, inspect
import backstitch_debug as bs
bs.on()
class Model:
    async def ask(self, n):
        await asyncio.sleep(0)
        return n + 1
async def plain(n): return n * 2
model, plain = bs.watch(Model()), bs.watch(plain)
async def ticker(ticks):
    while True:
        ticks.append(1)
        await asyncio.sleep(0.001)
TICKS = []
async def main():
    ticks = TICKS
    task = asyncio.ensure_future(ticker(ticks))
    both = await asyncio.gather(model.ask(1), plain(4))
    print(both, len(ticks) > 20, asyncio.iscoroutinefunction(model.ask), flush=True)
    bs.off()
    print(await model.ask(5), await plain(5), flush=True)
    task.cancel()
asyncio.run(main())
";
    let world = world();
    world.ok(["breakpoint", "add", "function", "Model.ask"]);
    let mut watcher = Watcher::start(&world);
    let mut program = Program::start(&world, source);
    let pause = watcher.until("held");
    assert_eq!(pause["tool"], "Model.ask");
    assert_eq!(output(&world, "p1", "n"), "1");
    let ticks = "ticks";
    while output(&world, "p1", &format!("len({ticks}) > 30")) == "False" {}
    world.ok(["skip", "--value", "n + 40"]);
    assert_eq!(program.line(), "[41, 8] True True");
    assert_eq!(program.line(), "6 10");
    let (code, _, errors) = program.end();
    assert_eq!((code, errors.as_str()), (0, ""));
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

/// A name that a session assigns is its own, also where its value is the one that the frame has.
#[test]
fn a_name_with_the_value_that_was_there_is_the_sessions() {
    let source = r"
import backstitch_debug as bs
bs.on()
FACTOR = 3
def grow():
    global FACTOR
    FACTOR += 1
bs.pause('here')
";
    let world = world();
    let mut watcher = Watcher::start(&world);
    let program = Program::start(&world, source);
    watcher.until("held");
    let entries = ask(&world, "p1", &["FACTOR = 3", "grow()", "FACTOR"]);
    assert_eq!(entries[2]["output"], "3");
    let entries = ask(
        &world,
        "p1",
        &["[FACTOR for FACTOR in range(2)]", "grow()", "FACTOR"],
    );
    assert_eq!(entries[2]["output"], "5");
    world.ok(["resume"]);
    assert_eq!(program.end().0, 0);
}

/// A name of a function is not a path: `*` stands for any letters, `/` included.
#[test]
fn a_pattern_of_functions_is_no_path() {
    let source = r"
import backstitch_debug as bs
bs.on()
get = bs.watch(lambda: 1, 'GET /users/all')
print(get())
";
    let world = world();
    world.ok(["breakpoint", "add", "function", "*GET*all"]);
    let mut watcher = Watcher::start(&world);
    let mut program = Program::start(&world, source);
    assert_eq!(watcher.until("held")["tool"], "GET /users/all");
    world.ok(["resume"]);
    assert_eq!(program.line(), "1");
    assert_eq!(program.end().0, 0);
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
