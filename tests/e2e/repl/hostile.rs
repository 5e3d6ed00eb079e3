//! Values and names that a program would have run, or act on a terminal: they are bytes and text.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use proc_macro2::{TokenStream, TokenTree};
use serde_json::{Value, json};
use toml_edit::DocumentMut;

use super::python::{Program, world};
use crate::control::{HeldHook, Watcher, before, began};
use crate::lsp::client::{Client, Editor};
use crate::support::{World, finish};

fn in_repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path)
}

/// Files below a directory with this ending.
fn files(directory: &Path, ending: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).expect("a directory") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            found.extend(files(&path, ending));
        } else if path.to_string_lossy().ends_with(ending) {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// Names of the packages that the product is built of, from `Cargo.lock`; those of its own tests, too.
fn packages() -> BTreeSet<String> {
    let lock = fs::read_to_string(in_repository("Cargo.lock")).expect("a lock file");
    let lock: DocumentMut = lock.parse().expect("TOML");
    let all = lock["package"].as_array_of_tables().expect("packages");
    let mut needs: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for package in all {
        let name = package["name"].as_str().expect("a name").to_owned();
        let of = package.get("dependencies").and_then(|it| it.as_array());
        let names = of.into_iter().flatten().filter_map(|it| it.as_str());
        // a version may follow
        let names = names.map(|it| it.split(' ').next().unwrap_or_default().to_owned());
        needs.entry(name).or_default().extend(names);
    }
    let mut reached = BTreeSet::new();
    let mut open = ["backstitch", "backstitch-core", "backstitch-protocol"]
        .map(str::to_owned)
        .to_vec();
    while let Some(name) = open.pop() {
        if reached.insert(name.clone()) {
            open.extend(needs.get(&name).into_iter().flatten().cloned());
        }
    }
    reached
}

/// Texts and names in the code of a Rust source, without comments.
fn words(tokens: TokenStream, found: &mut Vec<String>) {
    for token in tokens {
        match token {
            TokenTree::Group(group) => {
                let mut inner = Vec::new();
                words(group.stream(), &mut inner);
                // a comment of documentation is an attribute
                if inner.first().is_none_or(|word| word != "doc") {
                    found.append(&mut inner);
                }
            }
            TokenTree::Literal(literal) => found.push(literal.to_string()),
            TokenTree::Ident(name) => found.push(name.to_string()),
            TokenTree::Punct(_) => {}
        }
    }
}

/// True for a text that would start an interpreter: its first word names one. `"python"` and `"node"` alone are names of a
/// language and of a row of the history.
fn is_interpreter(word: &str) -> bool {
    let text = word.trim_matches(['"', 'b', 'c', 'r', '#']);
    let first = text.split_whitespace().next().unwrap_or_default();
    let name = first.rsplit('/').next().unwrap_or_default();
    let bare = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    word.starts_with(['"', 'b', 'c', 'r'])
        && (matches!(bare, "python" | "pypy" | "deno" | "bun" | "perl" | "ruby")
            && text != "python"
            || bare == "node"
                && text
                    .split_whitespace()
                    .nth(1)
                    .is_some_and(|it| it.starts_with('-')))
}

/// No package of the product unpickles or has an interpreter of Python or JavaScript in it, and no source names one, or a call
/// that reads pickled bytes.
#[test]
fn the_product_has_no_unpickler() {
    let packages = packages();
    assert!(
        packages.contains("serde_json") && packages.len() > 100,
        "{packages:?}"
    );
    let forbidden = [
        "pickle", "python", "pyo3", "marshal", "v8", "deno", "quickjs", "boa", "napi", "neon",
        "duktape", "jsc",
    ];
    for package in &packages {
        let parts: Vec<&str> = package.split(['-', '_']).collect();
        let is_part =
            |part: &&str| parts.contains(part) || part.len() > 4 && package.contains(*part);
        assert_eq!(
            forbidden.iter().find(|part| is_part(part)),
            None,
            "{package}"
        );
    }

    let mut checked = 0;
    for directory in [
        "server/src",
        "server/agents/src",
        "server/control/src",
        "server/core/src",
        "server/protocol/src",
        "server/frontend/src",
    ] {
        let directory = in_repository(directory);
        for file in files(&directory, ".rs") {
            // tests beside the sources run programs, and are not part of the product
            let mut parts = file.strip_prefix(&directory).expect("below it").iter();
            if parts.any(|part| part == "tests" || part == "tests.rs") {
                continue;
            }
            // a list of programs that an agent's command may name: none of them is started
            if file.ends_with("command_words/programs.rs") {
                continue;
            }
            let source = fs::read_to_string(&file).expect("a source");
            let tokens: TokenStream = source.parse().expect("Rust");
            let mut found = Vec::new();
            words(tokens, &mut found);
            checked += 1;
            for word in found {
                let name = file.display();
                assert!(!is_interpreter(&word), "{name}: {word}");
                let is_name = !word.starts_with('"');
                let lower = word.to_lowercase();
                assert!(!(is_name && lower.contains("pickle")), "{name}: {word}");
            }
        }
    }
    assert!(checked > 200, "{checked} sources");
}

/// Names in Python by which bytes or text become code or objects.
const DANGEROUS: &str = r#"
import ast, os, sys
NAMES = {"eval", "exec", "load", "loads", "Unpickler", "_Unpickler", "_load", "_loads", "marshal", "shelve", "runpy", "execfile",
         "find_class", "persistent_load", "CodeType", "literal_eval"}
for path in sys.argv[1:]:
    tree = ast.parse(open(path, encoding="utf-8").read())
    def visit(node, inside):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            inside = inside + [node.name]
        names = []
        if isinstance(node, ast.Name): names = [(node.id, node.id)]
        elif isinstance(node, ast.Attribute): names = [(node.attr, ast.unparse(node))]
        elif isinstance(node, ast.alias): names = [(part, "import " + node.name) for part in node.name.split(".")]
        elif isinstance(node, ast.Constant) and isinstance(node.value, str): names = [(node.value, repr(node.value))]
        for name, whole in names:
            if name in NAMES: print(os.path.basename(path), ".".join(inside), whole)
        for child in ast.iter_child_nodes(node): visit(child, inside)
    visit(tree, [])
"#;

/// The clients read no pickled and no marshalled bytes. Python's evaluates inputs in one place, and Node's only in the ways that
/// its README names.
#[test]
fn the_clients_have_no_unpickler() {
    let world = World::new();
    world.write("dangerous.py", DANGEROUS);
    let sources = files(&in_repository("server/clients/python/src"), ".py");
    assert_eq!(sources.len(), 11, "{sources:?}");
    let said = finish(
        world.command("python3").arg("dangerous.py").args(&sources),
        b"",
    )
    .expect_code(0);
    let expected = [
        // messages of the bridge
        "_bridge.py Bridge._read json.loads",
        // an input as it was compiled, and the place where it is evaluated
        "_evaluate.py Part types.CodeType",
        "_evaluate.py _run types.CodeType",
        "_evaluate.py _run eval",
        // the mode is named to the check for an incomplete input, to the parser, and to the compiler
        "_evaluate.py _compile 'exec'",
        "_evaluate.py _compile 'exec'",
        "_evaluate.py _compile 'exec'",
        "_evaluate.py _compile 'exec'",
        "_evaluate.py _compile 'eval'",
    ];
    assert_eq!(said.stdout.lines().collect::<Vec<_>>(), expected);

    let scripts = files(&in_repository("server/clients/js/src"), ".js");
    assert_eq!(scripts.len(), 4, "{scripts:?}");
    for script in scripts {
        let source = fs::read_to_string(&script).expect("a source");
        for word in ["deserialize", "unserialize", "pickle", "import("] {
            assert!(
                !source.to_lowercase().contains(word),
                "{}: {word}",
                script.display()
            );
        }
    }
}

const EVIL: &str = r#"
import os, backstitch_debug as bs
bs.on()
class Evil:
    def __init__(self, name): self.name = name
    def __reduce__(self): return (os.system, ("touch was-run-" + self.name,))
class Sly:
    def __reduce_ex__(self, protocol): return (eval, ("open('was-run-sly', 'w').close()",))
evil, sly = Evil("evil"), Sly()
nested = {"rows": [1, Evil("nested")], "sly": (sly,)}
def make(n): return Evil("result")
bs.pause("here")
bs.call(make, evil)
print("end")
"#;

/// Values that do harm when they are unpickled are shown, listed, searched and saved in all ways, and their bytes are
/// never read: they would have written files.
#[test]
fn values_that_would_run_code() {
    let world = world();
    world.ok(["breakpoint", "add", "function", "make", "--after"]);
    let mut watcher = Watcher::start(&world);
    let program = Program::start(&world, EVIL);
    watcher.until("held");
    let names = ["evil", "sly", "nested"];
    let said = world
        .ok(["repl", "p1", "-e", "evil", "-e", "sly", "-e", "nested"])
        .stdout;
    assert!(said.contains("Evil object at"), "{said}");
    let mut client = Client::with(
        &world,
        Editor::Vscode,
        &json!({ "notifications": true, "panels": true }),
    );
    client.open("a.txt");
    let started = client.ok("backstitch/repl/start", json!({ "pause": "p1" }));
    let session = started["session"]["id"].as_str().expect("an id").to_owned();
    let mut values = Vec::new();
    for name in names {
        let entry = world.json(["repl", "p1", "-e", name])["entry"].clone();
        let cid = entry["cid"].as_str().expect("a content id").to_owned();
        let asked = json!({ "session": session, "input": name });
        let again = client.ok("backstitch/repl/eval", asked)["entry"].clone();
        assert_eq!(again["cid"], cid.as_str(), "{again:#}");
        values.push(cid);
    }
    for cid in &values {
        world.ok(["repl", "object", cid]);
        world.json(["repl", "object", cid]);
        client.ok("backstitch/repl/object", json!({ "cid": cid }));
        world.ok([
            "repl",
            "object",
            cid,
            "--save",
            &format!("{}.pickle", &cid[7..15]),
        ]);
    }
    world.ok(["repl", "show", &session]);
    world.json(["repl", "show", &session]);
    client.ok("backstitch/repl/show", json!({ "session": session }));
    world.json(["repl", "list", "--search", "nested"]);
    // as an argument, a result and what a call gives instead of it
    world.ok(["resume"]);
    watcher.until("held");
    world.ok(["inspect"]);
    world.ok(["repl", "p2", "-e", "result"]);
    client.ok("backstitch/calls", json!({}));
    world.ok(["skip", "--value", "Evil('instead')"]);
    client.leave();
    assert_eq!(program.end(), (0, "end\n".to_owned(), String::new()));
    world.ok(["verify"]);
    world.ok(["gc"]);

    let written = |world: &World| -> Vec<String> {
        let all = fs::read_dir(&world.root).expect("a directory");
        let names = all.map(|entry| {
            entry
                .expect("an entry")
                .file_name()
                .to_string_lossy()
                .into_owned()
        });
        let mut names: Vec<String> = names.filter(|name| name.starts_with("was-run")).collect();
        names.sort();
        names
    };
    assert_eq!(written(&world), [""; 0]);
    // the bytes are as dangerous as they were made
    let unpickles = "import glob, pickle\nfor name in sorted(glob.glob('*.pickle')): pickle.load(open(name, 'rb'))";
    finish(world.command("python3").args(["-c", unpickles]), b"").expect_code(0);
    assert_eq!(
        written(&world),
        ["was-run-evil", "was-run-nested", "was-run-sly"]
    );
}

/// The beginning of a name, and what would act on a terminal or in a page.
const NAME: &str = "\u{1b}]0;pwned\u{7}\u{1b}[31mred\r\n<b onclick=x>&amp;\u{202e}\u{2066}\u{2028}\u{9b}1m\u{7f}\u{8}";

/// The name is read from a file, so that it stands in no source line.
const NAMED: &str = r#"
import json, threading, backstitch_debug as bs
name = json.load(open("name.json"))
bs.on()
class Arg:
    def __repr__(self): return "arg" + name
def plan(x, **named):
    bs.pause("label" + name)
    print(name, end="")
    return x
plan.__qualname__ = "plan" + name
changes = {"co_name": "code" + name, "co_filename": "file" + name + ".py"}
if hasattr(plan.__code__, "co_qualname"): changes["co_qualname"] = "code" + name
plan.__code__ = plan.__code__.replace(**changes)
arg = Arg()
def run(): bs.call(plan, arg, **{"key" + name: arg})
thread = threading.Thread(target=run, name="thread" + name)
thread.start()
thread.join()
"#;

/// Characters that a terminal would act on, or that would turn a line around.
fn acts(c: char) -> bool {
    c != '\n' && c.is_control() || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Runs these commands. None prints a character that acts.
#[track_caller]
fn assert_text(world: &World, commands: &[&[&str]]) -> String {
    let mut all = String::new();
    for command in commands {
        let output = world.run(command.iter().chain(&["--color", "never"]));
        for text in [&output.stdout, &output.stderr] {
            let found: Vec<&str> = text.lines().filter(|line| line.contains(acts)).collect();
            assert!(found.is_empty(), "{command:?}: {found:?}");
            all.push_str(text);
        }
    }
    all
}

/// Names of functions, arguments, threads and files, labels, values and inputs that hold escape sequences, line ends and HTML are
/// text on a terminal, and exactly themselves in JSON.
#[test]
fn names_that_act_on_a_terminal() {
    let world = world();
    world.write("name.json", json!(NAME).to_string());
    let named = |begin: &str| json!(format!("{begin}{NAME}"));
    world.ok(["breakpoint", "add", "function", "*plan*"]);
    let mut watcher = Watcher::start(&world);
    let program = Program::start(&world, NAMED);
    let call = watcher.until("held");
    assert_eq!(call["tool"], named("__main__.plan"));
    assert_eq!(call["why"], named("calls __main__.plan"));
    let asks: [&[&str]; 8] = [
        &["pauses"],
        &["pauses", "--all"],
        &["inspect"],
        &["status"],
        &["breakpoint", "list"],
        &["breakpoint", "hits"],
        &["repl", "list"],
        &[
            "repl",
            "-e",
            "x",
            "-e",
            "print(name)",
            "-e",
            "raise ValueError(name)",
            "-e",
            "arg, name",
        ],
    ];
    assert!(assert_text(&world, &asks).contains("__main__.plan"));
    // as commands would give them back
    let odd = format!("'{NAME}'\nname");
    let entry = world.json(["repl", "-e", &odd])["entry"].clone();
    assert_eq!(entry["input"], odd.as_str());
    assert_eq!(
        world.json(["repl", "-e", "x"])["entry"]["output"],
        named("arg")
    );
    let printed = world.json(["repl", "-e", "print(name)"])["entry"]["stdout"].clone();
    assert_eq!(printed, format!("{NAME}\n"));
    world.ok(["resume"]);

    let pause = watcher.until("held");
    assert_eq!(pause["tool"], named("label"));
    let id = pause["id"].as_str().expect("an id");
    let entry = world.json(["repl", id, "-e", "arg"])["entry"].clone();
    let cid = entry["cid"].clone();
    let list = world.json(["repl", "list", "--pause", id]);
    let session = list["sessions"][0].clone();
    let label = named("label");
    let why = format!("pause(\"{}\")", label.as_str().expect("a text"));
    assert_eq!(session["why"], why);
    let session = session["id"].as_str().expect("an id");
    let shown = world.json(["repl", "show", session]);
    assert_eq!(shown["session"]["why"], why);
    assert_eq!(shown["entries"][0]["output"], named("arg"));
    let inspected = world.json(["inspect", id]);
    assert_eq!(inspected["pause"]["tool"], named("label"));
    assert_eq!(world.json(["pauses"])["pauses"][0]["tool"], named("label"));

    let old = world.json(["repl", "list"])["sessions"].clone();
    let old: Vec<&str> = old
        .as_array()
        .expect("sessions")
        .iter()
        .filter_map(|one| one["id"].as_str())
        .collect();
    for session in &old {
        assert_text(&world, &[&["repl", "show", session]]);
    }
    assert_text(&world, &asks);
    assert_text(
        &world,
        &[
            &["repl", "list", "--search", NAME],
            &["repl", "show", NAME],
            &["repl", NAME, "-e", "1"],
        ],
    );
    assert_text(
        &world,
        &[
            &["resume", NAME],
            &["repl", "object", NAME],
            &["deny", "p9", "-m", NAME],
        ],
    );
    if let Some(cid) = cid.as_str() {
        assert_text(&world, &[&["repl", "object", cid]]);
    }

    let mut client = Client::with(
        &world,
        Editor::Vscode,
        &json!({ "notifications": true, "panels": true }),
    );
    client.open("a.txt");
    let calls = client.ok("backstitch/calls", json!({}));
    let call = &calls["programs"][0]["calls"][0];
    assert_eq!(call["function"], named("__main__.plan"), "{calls:#}");
    assert_eq!(call["thread"], named("thread"));
    let args: Vec<(&String, &Value)> = call["args"]
        .as_object()
        .expect("arguments")
        .iter()
        .collect();
    assert_eq!(args.len(), 2, "{args:?}");
    assert!(
        args.iter().all(|(_, value)| **value == named("arg")),
        "{args:?}"
    );
    assert!(
        args.iter().any(|(name, _)| json!(name) == named("key")),
        "{args:?}"
    );
    let stack = client.ok("backstitch/stack", json!({ "pause": id }));
    // the innermost frame is first
    let frames = stack["frames"].as_array().expect("frames");
    assert_eq!(frames[0]["name"], named("code"), "{stack:#}");
    let path = frames[0]["path"].as_str().expect("a path");
    assert!(path.ends_with(&format!("file{NAME}.py")), "{path:?}");
    client.leave();

    let said = assert_text(&world, &[&["deny", id, "-m", NAME]]);
    assert!(said.contains("label"), "{said}");
    let (code, _, errors) = program.end();
    assert_eq!(code, 0, "{errors}");
    assert_text(
        &world,
        &[
            &["pauses", "--all"],
            &["log", "--all"],
            &["repl", "list"],
            &["status"],
        ],
    );
}

/// Names and values in the input of an agent's held call, in its file names and in its prompt are text on a terminal, too.
#[test]
fn inputs_that_act_on_a_terminal() {
    let world = World::committed(&[("a.txt", "one\n")]);
    let agent = began(&world);
    world.ok(["breakpoint", "add", "tool", "*"]);
    let mut watcher = Watcher::start(&world);
    let path = world.path(format!("b{NAME}.txt"));
    let odd = json!({
        "file_path": path, "content": format!("new{NAME}\n"), format!("key{NAME}"): 1,
        "list": [NAME, { format!("inner{NAME}"): NAME }],
    });
    for tool in ["Write", "mcp__x__odd"] {
        let hook = HeldHook::start(&world, &before(&agent, tool, tool, &odd), 600);
        let pause = watcher.until("held");
        let id = pause["id"].as_str().expect("an id");
        let inspected = world.json(["inspect", id]);
        assert_eq!(inspected["pause"]["input"], odd, "{inspected:#}");
        let asks: [&[&str]; 6] = [
            &["pauses"],
            &["inspect", id],
            &[
                "repl",
                id,
                "-e",
                ".call.input",
                "-e",
                ":input",
                "-e",
                ":diff",
                "-e",
                ".nothing | error(\"\\u001b[31m\")",
            ],
            &["repl", "list"],
            &["breakpoint", "hits"],
            &["status"],
        ];
        assert!(assert_text(&world, &asks).contains("key"));
        let list = world.json(["repl", "list", "--pause", id]);
        let session = list["sessions"][0]["id"]
            .as_str()
            .expect("an id")
            .to_owned();
        assert_text(
            &world,
            &[&["repl", "show", &session], &["deny", id, "-m", NAME]],
        );
        hook.answer();
    }
}

const NO_UNICODE: &str = r#"
import sys, backstitch_debug as bs
bs.on()
print("on", flush=True)
bs.pause("label \ud800")
print("end", flush=True)
"#;

/// Arguments, labels and printed texts that are not Unicode hold nothing up: the program pauses, answers and continues.
#[test]
fn texts_that_are_no_unicode() {
    let world = world();
    world.configure("[repl]\nevalTimeout = 1\n");
    world.write("program.py", NO_UNICODE);
    let start = |argument: &OsStr| {
        // a program that hangs ends, so that this test does
        let mut command = world.command("timeout");
        command
            .args(["20", "python3", "-u", "program.py"])
            .arg(argument);
        command.env("PYTHONPATH", in_repository("server/clients/python/src"));
        command.env("PYTHONDONTWRITEBYTECODE", "1");
        Program::spawn(command)
    };
    let mut watcher = Watcher::start(&world);
    let mut program = start(OsStr::from_bytes(b"caf\xe9.txt"));
    assert_eq!(program.line(), "on", "it hangs at its begin");
    let pause = watcher.until("held");
    let id = pause["id"].as_str().expect("an id");
    assert!(
        pause["tool"].as_str().expect("text").starts_with("label "),
        "{pause:#}"
    );
    for (input, output) in [
        ("print('a\\ud800b')", "None"),
        ("'a\\ud800b'", "'a\\ud800b'"),
        ("sys.argv[1]", "'caf\\udce9.txt'"),
    ] {
        let entry = world.json(["repl", id, "-e", input])["entry"].clone();
        assert_eq!(
            (&entry["output"], &entry["isError"]),
            (&json!(output), &json!(false)),
            "{entry:#}"
        );
    }
    world.ok(["resume"]);
    assert_eq!(program.end(), (0, "end\n".to_owned(), String::new()));
}
