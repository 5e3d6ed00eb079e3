//! Python programs that pause: real processes, asked over the command line.

mod bridges;
mod decided;
mod functions;
mod misbehaving;

use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::{Child, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

use crate::control::Watcher;
use crate::lsp::client::{Client, Editor};
use crate::support::World;

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
pub fn ask(world: &World, pause: &str, inputs: &[&str]) -> Vec<Value> {
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
