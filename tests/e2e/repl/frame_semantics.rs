//! Generated inputs in the frame of a function with parameters, locals, closures and a global that a local hides: they give what
//! `CPython` gives in the same frame.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::{env, fs};

use serde_json::Value;

use super::python::{Program, world};
use crate::control::Watcher;
use crate::support::rng::{self, Rng};
use crate::support::{World, finish};

/// Inputs of one session.
const INPUTS: usize = 10;

/// The program. It is paused in the same frame either at a pause, or with `code.InteractiveInterpreter`.
///
/// On purpose different there, as the Python client's own tests say: an expression gives its repr, an input is a unit of any
/// number of statements, one that is incomplete is an error, `SystemExit` ends nothing, and names of the frame that no input has
/// assigned are those of the frame.
const PROGRAM: &str = r#"
import ast, asyncio, code, contextlib, inspect, io, json, sys, warnings
import backstitch_debug as bs
warnings.simplefilter("ignore")
FACTOR = 3
total = "the global one"
items = ["global"]
shared = []
def scale(n): return n * FACTOR
def grow():
    global FACTOR
    FACTOR += 1
    return FACTOR
def kept(value):
    shared.append(value)
    return len(shared)
class Box:
    size = 2
    def __init__(self, value): self.value = value
    def __repr__(self): return "Box(%r)" % (self.value,)
    def __add__(self, other): return Box((self.value, other))
    def twice(self): return self.value * 2

def last_line(text):
    lines = [line for line in text.strip().splitlines() if line.strip()]
    return lines[-1] if lines else ""

class Reference:
    """One dictionary over the frame: names that an input assigned stay, all others are those of the frame."""
    def __init__(self, frame):
        self.frame, self.own, self.filled = frame, set(), {}
        self.interpreter = code.InteractiveInterpreter({})
        self.names = self.interpreter.locals
    def fill(self):
        there = {**self.frame.f_globals, **self.frame.f_locals}
        for name in self.filled:
            if name not in self.own and name not in there: self.names.pop(name, None)
        self.names.update((name, value) for name, value in there.items() if name not in self.own)
        self.filled = there
    def settle(self):
        self.own = {name for name, value in self.names.items()
                    if name in self.own or self.filled.get(name, self) is not value}
    def ask(self, source):
        self.fill()
        out, err = io.StringIO(), io.StringIO()
        value = None
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            try:
                tree = ast.parse(source.strip(" \t\n"), "<repl>")
            except (SyntaxError, ValueError):
                tree = None
            if tree and tree.body and isinstance(tree.body[-1], ast.Expr):
                last = ast.Expression(tree.body.pop().value)
                try:
                    exec(compile(tree, "<repl>", "exec"), self.names)
                    compiled = compile(last, "<repl>", "eval", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
                    result = eval(compiled, self.names)
                    value = repr(asyncio.run(result) if compiled.co_flags & inspect.CO_COROUTINE else result)
                except BaseException:
                    self.interpreter.showtraceback()
            elif self.interpreter.runsource(source + "\n" if "\n" in source else source, "<repl>", "exec"):
                err.write("SyntaxError: incomplete input")
        self.settle()
        return [value if value is not None else last_line(err.getvalue()), out.getvalue()]

def stop():
    frame = sys._getframe(1)
    answers = []
    for session in json.load(sys.stdin):
        reference = Reference(frame)
        answers.append([reference.ask(source) for source in session])
    print(json.dumps(answers))

if sys.argv[1:] == ["reference"]:
    stand_still = stop
else:
    bs.on()
    stand_still = bs.pause

def outer(start, *, unit="kg"):
    count = start
    def step(by, text="wörd", *rest, key=None, **named):
        nonlocal count
        count += by
        total = [by, *rest]
        items = (1, "two", None)
        table = {0: "zero", "a": total}
        box = Box(by)
        def peek(): return count, unit, total
        def put(value):
            nonlocal count
            count = value
            return count
        stand_still()
        return repr((by, text, rest, key, named, count, total, items, table, box, peek()))
    return step

print([outer(10)(2, "two", 3, 4, key="k", other=None), total, items, FACTOR, shared])
"#;

/// Names of the frame, of its closures and its module, and one that is in none of them.
const NAMES: [&str; 18] = [
    "by", "text", "rest", "key", "named", "count", "unit", "total", "items", "table", "box",
    "peek", "FACTOR", "scale", "shared", "Box", "own", "missing",
];
/// Names that inputs assign: those of the frame, closures, globals, and new ones.
const ASSIGNED: [&str; 9] = [
    "by", "text", "count", "unit", "total", "items", "FACTOR", "own", "box",
];
const WORDS: [&str; 8] = [
    "'äöü'",
    "'☃'",
    "''",
    "b'\\x00\\xff'",
    "f'{by + 1} {unit!r}'",
    "None",
    "True",
    "1.5",
];
const WRONG: [&str; 20] = [
    "def f():",
    "for n in rest:",
    "(count,",
    "'open",
    "count +",
    "by = = 2",
    "def f(:\n    pass",
    "return total",
    "yield by",
    "break",
    "a b",
    "  x = 1\n y = 2",
    "class A(",
    "try:\n    count",
    "await peek()",
    "nonlocal count",
    "def f():\n    nonlocal count\n    count = 1",
    "del count + 1",
    "lambda: (yield",
    "if by",
];

struct Inputs(Rng);

impl Inputs {
    fn name(&mut self) -> &'static str {
        self.0.pick::<&str>(&NAMES)
    }

    fn expression(&mut self, depth: usize) -> String {
        if depth == 0 {
            return match self.0.below(4) {
                0 => self.0.below(100).to_string(),
                1 => (*self.0.pick(&WORDS)).to_owned(),
                _ => self.name().to_owned(),
            };
        }
        let (a, b) = (self.expression(depth - 1), self.expression(depth - 1));
        let name = self.name();
        let n = self.0.below(6);
        match self.0.below(26) {
            0 => format!("{a} + {b}"),
            1 => format!("{a} * {n}"),
            2 => format!("({a}, {b})"),
            3 => format!("[{name} for n in range({n})]"),
            4 => format!("[(n, {name}, {a}) for n in rest if n != {n}]"),
            5 => format!("{{{a}: {b}}}"),
            6 => format!("(lambda v, w={name}: (v, w, count))({a})"),
            7 => format!("{a} if {b} else {name}"),
            8 => format!("{a} == {b}"),
            9 => format!("{name}[0]"),
            10 => format!("{name}.upper()"),
            11 => format!("scale({a})"),
            12 => "peek()".to_owned(),
            13 => "grow(), FACTOR, scale(1)".to_owned(),
            14 => format!("kept({a}), len(shared)"),
            15 => format!("put({n}), count, peek()"),
            16 => format!("print({a}, {b})"),
            17 => format!("Box({a}).twice()"),
            18 => format!("box + {a}"),
            19 => format!("{{k: (v, {name}) for k, v in table.items()}}"),
            20 => format!("sorted(map(str, [{a}, {b}, {name}]))"),
            21 => format!("total.append({n}) or total"),
            22 => format!("'{name}' in globals(), '{name}' in locals(), globals() is locals()"),
            23 => format!("eval('{name}'), [eval('{name}') for _ in 'ab']"),
            24 => format!("(own := {a}), own"),
            _ => format!("next(v for v in [{a}, {name}])"),
        }
    }

    fn statement(&mut self) -> String {
        let value = self.expression(1);
        let name = *self.0.pick(&ASSIGNED);
        let read = self.name();
        let n = self.0.below(6);
        match self.0.below(24) {
            0 | 1 => format!("{name} = {value}"),
            2 => format!("{name} += {value}"),
            3 => format!("del {name}"),
            4 => format!("del {name}\nprint({name})"),
            5 => format!("global {name}\n{name} = {value}"),
            6 => format!("for {name} in range({n}): pass\nprint({name})"),
            7 => {
                format!("def own(n):\n    return {read} if n < 2 else own(n - 1)\nprint(own({n}))")
            }
            8 => format!(
                "def f({name}={value}):\n    def inner():\n        nonlocal {name}\n        {name} = ({name}, {read})\n        \
                 return {name}\n    return inner(), {name}\nprint(f())"
            ),
            9 => format!("def f():\n    {name} = {name}\nf()"),
            10 => format!("def f():\n    global {name}\n    {name} = {value}\nf(); print({name})"),
            11 => format!(
                "class A:\n    {name} = {name}\n    got = [{name} for _ in range(2)]\nprint(A.{name}, A.got)"
            ),
            12 => format!(
                "try:\n    {name} = {value}\nexcept Exception as error:\n    print(type(error).__name__)\nfinally:\n    print({read})"
            ),
            13 => format!(
                "with contextlib.suppress(Exception):\n    print({value})\n    {name} = {value}"
            ),
            14 => format!("import math as {name}\nprint({name}.floor(2.5))"),
            15 => format!("assert {value}, {read}"),
            16 => format!("raise ValueError({value})"),
            17 => format!("{name}: int = {n}"),
            18 => format!("print({value}); {name} = {read}; print({name})"),
            19 => format!("exec('{name} = {n}'); print({name})"),
            20 => format!("{name}, *own = {n}, {read}, {value}"),
            21 => format!("total.append({n})"),
            22 => format!("put({value})"),
            _ => format!("lambda: {value}; {read}"),
        }
    }

    fn next(&mut self) -> String {
        match self.0.below(20) {
            0..9 => {
                let depth = 1 + self.0.below(2);
                self.expression(depth)
            }
            9..18 => self.statement(),
            _ => (*self.0.pick(&WRONG)).to_owned(),
        }
    }
}

fn client() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../server/clients/python/src")
}

/// Each Python from 3.8 on that is here: that of the search path, and those of pyenv.
fn pythons() -> Vec<PathBuf> {
    let mut all = vec![PathBuf::from("python3")];
    let root = env::var_os("PYENV_ROOT").map(PathBuf::from);
    let home = env::var_os("HOME").unwrap_or_default();
    let root = root.unwrap_or_else(|| Path::new(&home).join(".pyenv"));
    let versions = fs::read_dir(root.join("versions")).into_iter().flatten();
    for version in versions.flatten() {
        let name = version.file_name().to_string_lossy().into_owned();
        let minor = name.strip_prefix("3.");
        let minor = minor.and_then(|rest| rest.split('.').next()?.parse::<u32>().ok());
        if minor.is_some_and(|minor| minor >= 8) {
            all.push(version.path().join("bin/python"));
        }
    }
    all
}

/// The text without addresses of objects, which differ.
fn bare(text: &str) -> String {
    let mut parts = text.split("0x");
    let mut bare = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let rest = part.trim_start_matches(|c: char| c.is_ascii_hexdigit());
        bare.push_str("0x");
        bare.push_str(rest);
    }
    bare
}

fn last_line(text: &str) -> &str {
    let mut lines = text.lines().rev();
    lines.find(|line| !line.trim().is_empty()).unwrap_or("")
}

/// Result, or the last line of the error, and the printed text of each input of a session at the pause.
fn asked(world: &World, inputs: &[String]) -> Vec<(String, String)> {
    let mut args = vec!["--json", "repl", "p1"];
    for input in inputs {
        args.extend(["-e", input]);
    }
    let said = world.ok(args).stdout;
    let entries = serde_json::Deserializer::from_str(&said).into_iter::<Value>();
    let shown = |one: Result<Value, _>| {
        let entry = one.expect("JSON")["entry"].clone();
        let text = |field: &str| entry[field].as_str().expect("text").to_owned();
        let output = text("output");
        let output = if entry["isError"] == true {
            last_line(&output)
        } else {
            &output
        };
        (bare(output), bare(&text("stdout")))
    };
    entries.map(shown).collect()
}

/// The answers of `CPython` to all sessions, and the end of the program.
fn reference(
    world: &World,
    python: &Path,
    sessions: &[Vec<String>],
) -> (Vec<Vec<(String, String)>>, String) {
    let mut command = world.command(python);
    command
        .args(["program.py", "reference"])
        .env("PYTHONPATH", client())
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .env("PYTHONUTF8", "1");
    let sessions = serde_json::to_vec(sessions).expect("JSON");
    let output = finish(&mut command, &sessions).expect_code(0);
    let (answers, end) = output.stdout.split_once('\n').expect("two lines");
    let answers: Vec<Vec<(String, String)>> = serde_json::from_str(answers).expect("JSON");
    let bare_of = |(result, printed): (String, String)| (bare(&result), bare(&printed));
    let answers = answers
        .into_iter()
        .map(|session| session.into_iter().map(bare_of).collect())
        .collect();
    (answers, end.to_owned())
}

/// Compares sessions with these seeds on one Python. Returns the number of inputs.
fn compare(python: &Path, seeds: &[u64]) -> usize {
    let world = world();
    world.write("program.py", PROGRAM);
    let sessions: Vec<Vec<String>> = seeds
        .iter()
        .map(|&seed| {
            let mut inputs = Inputs(Rng::new(seed));
            (0..INPUTS).map(|_| inputs.next()).collect()
        })
        .collect();
    let (expected, end) = reference(&world, python, &sessions);

    let mut watcher = Watcher::start(&world);
    let mut command = world.command(python);
    command
        .args(["-u", "program.py"])
        .env("PYTHONPATH", client())
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .env("PYTHONUTF8", "1")
        .stdin(Stdio::null());
    let program = Program::spawn(command);
    watcher.until("held");
    let mut wrong = String::new();
    for ((seed, inputs), expected) in seeds.iter().zip(&sessions).zip(&expected) {
        let got = asked(&world, inputs);
        assert_eq!(got.len(), expected.len(), "seed {seed}");
        for ((input, got), expected) in inputs.iter().zip(&got).zip(expected) {
            if got != expected {
                let python = python.display();
                writeln!(
                    wrong,
                    "seed {seed}, {python}: {input}\n  {got:?}\n  not {expected:?}"
                )
                .expect("text");
            }
        }
    }
    assert_eq!(wrong, "");
    world.ok(["resume"]);
    let (code, rest, errors) = program.end();
    assert_eq!((code, bare(&rest), &*errors), (0, bare(&end), ""));
    sessions.iter().map(Vec::len).sum()
}

/// S5-002, S5-070…079, S5-082…086, S5-091…098, S5-D3, U-28: 640 generated inputs, 6,400 in a long run, or ten for each of
/// `BACKSTITCH_FRAME_SESSIONS`, in the frame of a nested function: values, output, errors and effects are those of `CPython`, on
/// each Python that is here.
#[test]
fn inputs_in_a_function_frame() {
    let sessions = rng::cases("BACKSTITCH_FRAME_SESSIONS", 64, 640);
    let first = Rng::seed("BACKSTITCH_SEED", 20_261_126);
    let pythons = pythons();
    let seeds: Vec<u64> = (first..first + sessions).collect();
    let share = seeds.len().div_ceil(pythons.len());
    let count: usize = std::thread::scope(|scope| {
        let all: Vec<_> = pythons
            .iter()
            .zip(seeds.chunks(share))
            .map(|(python, seeds)| scope.spawn(|| compare(python, seeds)))
            .collect();
        all.into_iter()
            .map(|one| one.join().expect("the same"))
            .sum()
    });
    assert_eq!(count, seeds.len() * INPUTS);
    if pythons.len() == 1 {
        // they are the machine's, and no script of this project installs them
        eprintln!("skipped: other versions of Python, of which none is here");
    }
}
