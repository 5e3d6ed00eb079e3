//! The list of tests with which the REPL was first specified: `seed_tests.md` names ours for each. Here are those that had no
//! other place: real Python programs, asked by an editor over its language server.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use super::python::{Program, world};
use crate::control::Watcher;
use crate::lsp::client::{Client, Editor};
use crate::support::World;

const TABLE: &str = include_str!("seed_tests.md");

/// An editor that asks.
fn editor(world: &World) -> Client<'_> {
    let own = json!({ "notifications": true, "panels": true });
    let mut client = Client::with(world, Editor::Vscode, &own);
    client.open("a.txt");
    client
}

fn start(client: &mut Client<'_>, pause: &str) -> Value {
    client.ok("backstitch/repl/start", json!({ "pause": pause }))["session"].clone()
}

fn evaluate(client: &mut Client<'_>, session: &Value, input: &str) -> Value {
    let asked = json!({ "session": session["id"], "input": input });
    client.ok("backstitch/repl/eval", asked)["entry"].clone()
}

fn ids(list: &Value) -> Vec<&str> {
    let all = list.as_array().expect("sessions").iter();
    all.map(|one| one["id"].as_str().expect("an id")).collect()
}

fn kind(error: &Value) -> &str {
    error["data"]["kind"].as_str().unwrap_or_default()
}

const CALLS: &str = r#"
import backstitch_debug as bs
bs.on()
def plan(goal, steps):
    bs.pause("inside")
    return steps
def other(): bs.pause("beside")
steps = ["first"]
print(bs.call(plan, "go", steps), flush=True)
bs.call(other)
"#;

/// S5-019, S5-021…026, S5-032, S5-033, S5-037, S5-051, S5-054, S5-124…129, S5-149: sessions of a call from their start to their
/// end, field by field; the call, the stack and the lists name them.
#[test]
fn sessions_of_a_call_field_by_field() {
    let world = world();
    let mut watcher = Watcher::start(&world);
    let mut program = Program::start(&world, CALLS);
    watcher.until("held");
    let mut client = editor(&world);
    let calls = client.ok("backstitch/calls", json!({}))["programs"][0].clone();
    let call = &calls["calls"][0];
    assert_eq!(call["replSessions"], json!([]));
    let session = start(&mut client, "p1");
    let id = session["id"].as_str().expect("an id").to_owned();
    let (pid, time) = id.split_once('-').expect("two parts");
    assert_eq!(pid, program.pid().to_string());
    assert!(
        time.split_once('.')
            .is_some_and(|(_, micros)| micros.len() == 6),
        "{id}"
    );
    let expected = json!({
        "id": id, "pause": "p1", "pid": program.pid(), "process": calls["id"], "function": "plan",
        "why": "pause(\"inside\")", "call": call["id"], "language": "python", "started": session["started"], "status": "active", "entries": 0,
    });
    assert_eq!(without_nulls(&session), expected);
    // a value, output, an error
    let entry = evaluate(
        &mut client,
        &session,
        "print('seen') or steps.append(goal) or steps",
    );
    assert_eq!(
        (
            &entry["index"],
            &entry["input"],
            &entry["output"],
            &entry["stdout"],
            &entry["isError"],
            &entry["shows"]
        ),
        (
            &json!(1),
            &json!("print('seen') or steps.append(goal) or steps"),
            &json!("['first', 'go']"),
            &json!("seen\n"),
            &json!(false),
            &json!("both"),
        )
    );
    let cid = entry["cid"].as_str().expect("a content id").to_owned();
    // times in UTC: a later one is a greater text
    let time = |of: &Value| {
        of.as_str()
            .expect("a time")
            .trim_end_matches('Z')
            .to_owned()
    };
    assert!(
        time(&entry["time"]) >= time(&session["started"]),
        "{entry:#}"
    );
    let object = client.ok("backstitch/repl/object", json!({ "cid": cid }));
    assert_eq!(object["view"]["repr"], "['first', 'go']", "{object:#}");
    let failed = evaluate(&mut client, &session, "steps[9]");
    assert_eq!(
        (&failed["index"], &failed["isError"], &failed["cid"]),
        (&json!(2), &json!(true), &Value::Null)
    );
    // another session at the same pause
    let second = start(&mut client, "p1");
    assert_ne!(second["id"], session["id"]);
    let both = json!([session["id"], second["id"]]);
    let sorted = |list: &Value| {
        let mut all: Vec<String> = ids(list).into_iter().map(str::to_owned).collect();
        all.sort();
        json!(all)
    };
    let stack = client.ok("backstitch/stack", json!({ "pause": "p1" }));
    assert_eq!(sorted(&stack["sessions"]), both);
    let calls = client.ok("backstitch/calls", json!({}));
    let mut named = calls["programs"][0]["calls"][0]["replSessions"].clone();
    named
        .as_array_mut()
        .expect("ids")
        .sort_by_key(ToString::to_string);
    assert_eq!(named, both);
    for by in [
        json!({ "pause": "p1" }),
        json!({ "call": call["id"] }),
        json!({}),
    ] {
        let list = client.ok("backstitch/repl/list", &by);
        assert_eq!(sorted(&list["sessions"]), both, "{by}");
    }
    for by in [json!({ "pause": "p7" }), json!({ "call": 77 })] {
        let list = client.ok("backstitch/repl/list", &by);
        assert_eq!(list["sessions"], json!([]), "{by}");
    }
    // one is closed, the other closes with the pause
    let asked = json!({ "session": second["id"] });
    let closed = client.ok("backstitch/repl/close", &asked)["session"].clone();
    assert!(
        closed["status"] == "closed" && closed["closed"].is_string(),
        "{closed:#}"
    );
    assert_eq!(
        client.ok("backstitch/repl/close", &asked)["session"],
        closed
    );
    world.ok(["resume"]);
    assert_eq!(program.line(), "['first', 'go']");
    let shown = client.ok("backstitch/repl/show", json!({ "session": id }));
    assert_eq!(shown["session"]["status"], "closed");
    assert_eq!(shown["entries"], json!([entry, failed]));
    let list = client.ok("backstitch/repl/list", json!({ "call": call["id"] }));
    assert_eq!(sorted(&list["sessions"]), both);
    watcher.until("held");
    let calls = client.ok("backstitch/calls", json!({}));
    assert_eq!(calls["programs"][0]["calls"][1]["replSessions"], json!([]));
    client.leave();
    world.ok(["resume"]);
    assert_eq!(program.end().0, 0);
}

/// The fields that say something.
fn without_nulls(object: &Value) -> Value {
    let fields = object.as_object().expect("an object").iter();
    let fields = fields.filter(|(_, value)| !value.is_null());
    fields
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}

/// S5-037…039, S5-041…045, S5-048, S5-055, S5-058: lists by function, text, state and time, page by page; requests without their fields are
/// refused.
#[test]
fn lists_over_lsp() {
    let world = world();
    let mut watcher = Watcher::start(&world);
    let mut program = Program::start(&world, CALLS);
    let mut client = editor(&world);
    assert_eq!(
        client.ok("backstitch/repl/list", json!({})),
        json!({ "sessions": [], "more": false })
    );
    watcher.until("held");
    let mut first: Vec<Value> = (0..5).map(|_| start(&mut client, "p1")).collect();
    evaluate(&mut client, &first[2], "'needle', goal");
    for wrong in [
        json!({ "session": first[0]["id"] }),
        json!({ "input": "1" }),
    ] {
        assert_eq!(
            client.fails("backstitch/repl/eval", &wrong)["code"],
            -32602,
            "{wrong}"
        );
    }
    let empty = json!({ "session": first[0]["id"], "input": "" });
    assert_eq!(
        kind(&client.fails("backstitch/repl/eval", empty)),
        "missing_field"
    );
    world.ok(["resume"]);
    program.line();
    watcher.until("held");
    let mut second: Vec<Value> = (0..3).map(|_| start(&mut client, "p2")).collect();
    first.reverse();
    second.reverse();
    let all: Vec<&str> = second
        .iter()
        .chain(&first)
        .map(|one| one["id"].as_str().expect("an id"))
        .collect();
    let (second, first) = all.split_at(3);
    let time = |client: &mut Client<'_>, id: &str| {
        let shown = client.ok("backstitch/repl/show", json!({ "session": id }));
        shown["session"]["started"].clone()
    };
    let (from, to) = (time(&mut client, first[3]), time(&mut client, second[1]));
    let cases = [
        (json!({}), all.clone()),
        (json!({ "search": "insid" }), first.to_vec()),
        (json!({ "search": "beside" }), second.to_vec()),
        (json!({ "search": "needle" }), vec![first[2]]),
        (json!({ "search": "neither" }), vec![]),
        (json!({ "status": "active" }), second.to_vec()),
        (json!({ "status": "closed" }), first.to_vec()),
        (json!({ "from": from }), all[..7].to_vec()),
        (json!({ "to": to }), all[1..].to_vec()),
        (
            json!({ "from": from, "to": to, "status": "closed" }),
            first[..4].to_vec(),
        ),
        (json!({ "search": "go", "status": "active" }), vec![]),
        (
            json!({ "search": "go", "status": "closed" }),
            vec![first[2]],
        ),
    ];
    for (filter, expected) in cases {
        let list = client.ok("backstitch/repl/list", &filter);
        assert_eq!(
            (ids(&list["sessions"]), &list["more"]),
            (expected, &json!(false)),
            "{filter}"
        );
    }
    let mut pages = Vec::new();
    let mut before = Value::Null;
    loop {
        let list = client.ok(
            "backstitch/repl/list",
            json!({ "limit": 3, "before": before }),
        );
        let page: Vec<String> = ids(&list["sessions"])
            .into_iter()
            .map(str::to_owned)
            .collect();
        before = json!(page.last());
        pages.push(page);
        if list["more"] == false {
            break;
        }
    }
    assert_eq!(pages.iter().map(Vec::len).collect::<Vec<_>>(), [3, 3, 2]);
    assert_eq!(pages.concat(), all);
    world.ok(["resume"]);
    assert_eq!(program.end().0, 0);
    // no pause is named, and none is there
    let refused = client.fails("backstitch/repl/start", json!({}));
    assert!(!kind(&refused).is_empty(), "{refused:#}");
    client.leave();
}

/// S5-053, S5-057, S5-112, S5-113: a program that answers nothing: the request fails with the kind of a time-out, and the session is
/// there and can be closed.
#[test]
fn a_program_that_never_answers() {
    let world = world();
    world.configure("[repl]\nevalTimeout = 1\n");
    let mut talk = super::bridge::Talk::start(&world);
    let pause = talk.pause(1);
    let mut client = editor(&world);
    let session = start(&mut client, &pause);
    let asked = json!({ "session": session["id"], "input": "x" });
    let failed = client.fails("backstitch/repl/eval", &asked);
    assert_eq!(kind(&failed), "eval_timeout", "{failed:#}");
    let shown = client.ok("backstitch/repl/show", json!({ "session": session["id"] }));
    assert_eq!(shown["session"]["status"], "active");
    let closed = client.ok("backstitch/repl/close", json!({ "session": session["id"] }));
    assert_eq!(closed["session"]["status"], "closed");
    client.leave();
    talk.end();
}

/// S5-118: a program that is killed in the midst of an evaluation: whoever waits is informed at once, what was answered stays in the
/// transcript, and closing the session is not an error.
#[test]
fn a_program_is_killed_in_an_evaluation() {
    let source = r#"
import threading
import backstitch_debug as bs
bs.on()
begun = threading.Event()
def tells():
    begun.wait()
    print("begun", flush=True)
threading.Thread(target=tells, daemon=True).start()
bs.pause("here")
"#;
    let world = world();
    let mut watcher = Watcher::start(&world);
    let mut program = Program::start(&world, source);
    watcher.until("held");
    let mut client = editor(&world);
    let session = start(&mut client, "p1");
    let entry = evaluate(&mut client, &session, "6 * 7");
    let endless =
        json!({ "session": session["id"], "input": "begun.set() or threading.Event().wait()" });
    let id = client.begin("backstitch/repl/eval", endless);
    assert_eq!(program.line(), "begun");
    drop(program);
    let response = client.response(id);
    assert_eq!(kind(&response["error"]), "session_closed", "{response:#}");
    assert_eq!(watcher.until("lost")["id"], "p1");
    let closed = client.ok("backstitch/repl/close", json!({ "session": session["id"] }));
    assert_eq!(closed["session"]["status"], "closed");
    let shown = client.ok("backstitch/repl/show", json!({ "session": session["id"] }));
    assert_eq!(shown["entries"], json!([entry]));
    client.leave();
}

/// S5-116, S5-117: inputs of two sessions that are sent at once are evaluated one after the other, and each transcript has its own.
#[test]
fn two_sessions_at_once() {
    let source = r#"
import backstitch_debug as bs
bs.on()
running, order = [], []
def step(name):
    running.append(name)
    order.append(name)
    alone = len(running) == 1
    running.remove(name)
    return name, alone
bs.pause("here")
"#;
    let world = world();
    let mut watcher = Watcher::start(&world);
    let program = Program::start(&world, source);
    watcher.until("held");
    let mut client = editor(&world);
    let sessions = [start(&mut client, "p1"), start(&mut client, "p1")];
    for (n, session) in sessions.iter().enumerate() {
        evaluate(&mut client, session, &format!("own = {n}"));
    }
    let asked: Vec<i64> = (0..40)
        .map(|n| {
            let session = &sessions[n % 2]["id"];
            let input = format!("step({n}), own");
            client.begin(
                "backstitch/repl/eval",
                json!({ "session": session, "input": input }),
            )
        })
        .collect();
    for (n, id) in asked.into_iter().enumerate() {
        let response = client.response(id);
        let expected = format!("(({n}, True), {})", n % 2);
        assert_eq!(
            response["result"]["entry"]["output"], expected,
            "{response:#}"
        );
    }
    for (at, session) in sessions.iter().enumerate() {
        let shown = client.ok("backstitch/repl/show", json!({ "session": session["id"] }));
        let entries = shown["entries"].as_array().expect("entries").iter();
        let mut inputs: Vec<&str> = entries
            .map(|entry| entry["input"].as_str().expect("text"))
            .collect();
        inputs[1..].sort_unstable();
        let own = (0..40).filter(|n| n % 2 == at);
        let mut expected: Vec<String> = own.map(|n| format!("step({n}), own")).collect();
        expected.sort_unstable();
        expected.insert(0, format!("own = {at}"));
        assert_eq!(inputs, expected);
    }
    let order = evaluate(
        &mut client,
        &sessions[0],
        "sorted(order) == list(range(40)), running",
    );
    assert_eq!(order["output"], "(True, [])");
    client.leave();
    world.ok(["resume"]);
    assert_eq!(program.end().0, 0);
}

/// S5-084…087, S5-097, S5-102, S5-103, S5-109: inputs of several lines are one unit, and names that they define are there later;
/// incomplete ones are said to be so.
#[test]
fn inputs_of_several_lines() {
    let source = "import backstitch_debug as bs\nbs.on()\nbs.pause('here')\n";
    let world = world();
    let mut watcher = Watcher::start(&world);
    let program = Program::start(&world, source);
    watcher.until("held");
    let mut client = editor(&world);
    let session = start(&mut client, "p1");
    let complete = [
        (
            "def twice(n):\n    print('twice', n)\n    return 2 * n",
            "",
            "",
        ),
        ("twice(twice(1) + 1)", "6", "twice 1\ntwice 3\n"),
        (
            "class Shape:\n    sides = 4\n    def name(self):\n        return f'{self.sides} sides'",
            "",
            "",
        ),
        ("Shape().name()", "'4 sides'", ""),
        ("for n in range(3):\n    print(n)", "", "0\n1\n2\n"),
        (
            "if n == 2:\n    print('two')\nelse:\n    print('other')",
            "",
            "two\n",
        ),
        (
            "try:\n    1 / 0\nexcept ZeroDivisionError as error:\n    print(error)\nfinally:\n    print('done')",
            "",
            "division by zero\ndone\n",
        ),
        (
            "import contextlib\nwith contextlib.suppress(KeyError):\n    {}['x']\nprint('after')",
            "None",
            "after\n",
        ),
        ("[\n    1,\n    2,\n]", "[1, 2]", ""),
        ("1 + 1", "2", ""),
        ("import threading", "", ""),
        // beside the thread that is paused
        (
            "threading.current_thread() is threading.main_thread()",
            "False",
            "",
        ),
    ];
    for (input, output, stdout) in complete {
        let entry = evaluate(&mut client, &session, input);
        assert_eq!(
            (&entry["output"], &entry["stdout"], &entry["isError"]),
            (&json!(output), &json!(stdout), &json!(false)),
            "{entry:#}"
        );
    }
    for incomplete in [
        "def f():",
        "for n in range(3):",
        "if n:",
        "class A:",
        "with open('x') as f:",
        "(1,",
        "[1, 2",
        "'''open",
    ] {
        let entry = evaluate(&mut client, &session, incomplete);
        let output = entry["output"].as_str().expect("text");
        assert!(
            entry["isError"] == true && output.contains("SyntaxError: incomplete input"),
            "{entry:#}"
        );
    }
    client.leave();
    world.ok(["resume"]);
    assert_eq!(program.end().0, 0);
}

/// S5-090: at a call of a watched object, inputs see the arguments of its method, and the object itself.
#[test]
fn a_breakpoint_at_a_proxy() {
    let source = r#"
import backstitch_debug as bs
bs.on()
class Model:
    total = 1
    def add(self, n, times=1):
        self.total += n * times
        return self.total
model = bs.watch(Model())
def main():
    near = "of the caller"
    print(model.add(2, times=3))
main()
"#;
    let world = world();
    world.ok(["breakpoint", "add", "function", "*add"]);
    let mut watcher = Watcher::start(&world);
    let program = Program::start(&world, source);
    let pause = watcher.until("held");
    let mut client = editor(&world);
    let session = start(&mut client, "p1");
    for (input, output) in [
        ("n, times", "(2, 3)"),
        ("near", "'of the caller'"),
        ("model.total", "1"),
    ] {
        assert_eq!(
            evaluate(&mut client, &session, input)["output"],
            output,
            "{input}"
        );
    }
    let calls = client.ok("backstitch/calls", json!({}))["programs"][0]["calls"].clone();
    assert_eq!(
        (&calls[0]["kind"], &calls[0]["function"]),
        (&json!("proxy"), &pause["tool"])
    );
    client.leave();
    world.ok(["resume"]);
    assert_eq!(program.end(), (0, "7\n".to_owned(), String::new()));
}

/// S5-153, S5-L3, S5-L4, S5-L5, S5-L6, S5-L7: the page of REPLs begins with the trust model, and states its limits.
#[test]
fn the_page_begins_with_the_trust_model() {
    let page = include_str!("../../../server/docs/repl.md");
    let mut paragraphs = page.split("\n\n");
    assert_eq!(paragraphs.next(), Some("# REPLs at pauses"));
    let trust = paragraphs.next().expect("a paragraph").replace('\n', " ");
    for said in [
        "An evaluation may do everything that its program may",
        "its files and its secrets, start programs",
        "Programs that can open your state directory can evaluate; no other can",
        "An agent's own commands are refused",
    ] {
        assert!(trust.contains(said), "{said}: {trust}");
    }
    let page = page.replace('\n', " ");
    for said in [
        "an incomplete one is an error, and is not continued",
        "The stack is that of the moment of the pause, and has lines, not values",
        "A pause that is over has no REPL; its transcript stays",
        "a thread cannot be stopped",
    ] {
        assert!(page.contains(said), "{said}");
    }
}

/// The table names a test of ours that is there, or a reason, for each test of the list.
#[test]
fn the_table_is_true() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("a project");
    let (mut rows, mut names) = (0, BTreeSet::new());
    for line in TABLE.lines().filter(|line| line.starts_with("| `test_")) {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let [name, ours, note] = cells[..] else {
            panic!("not three cells: {line}");
        };
        rows += 1;
        names.insert(name);
        assert!(
            !ours.is_empty() || !note.is_empty(),
            "neither a test nor a reason: {line}"
        );
        let tests = ours.trim_matches('`').split("`, `");
        for test in tests.filter(|test| !test.is_empty()) {
            assert!(is_there(root, test), "{name}: there is no {test}");
        }
    }
    assert_eq!(
        (rows, names.len()),
        (ROWS, ROWS),
        "a test is missing, or named twice"
    );
}

/// Number of the tests in the list.
const ROWS: usize = 214;

/// True if a test is in the sources: `repl::lsp::sessions_over_lsp`, or `tests/vscode/repl.spec.ts: a title`.
fn is_there(root: &Path, test: &str) -> bool {
    if let Some((file, title)) = test.split_once(": ") {
        let text = fs::read_to_string(root.join(file)).unwrap_or_default();
        return text.contains(&format!("test('{title}'"))
            || text.contains(&format!("def {title}("));
    }
    let Some((module, name)) = test.rsplit_once("::") else {
        return false;
    };
    let file = root.join("tests/e2e").join(module.replace("::", "/"));
    let text = fs::read_to_string(file.with_extension("rs"))
        .or_else(|_| fs::read_to_string(file.join("mod.rs")))
        .unwrap_or_default();
    // as a test, not as a separate function
    let mut before = "";
    for line in text.lines() {
        if line == format!("fn {name}() {{") {
            return before == "#[test]";
        }
        before = line;
    }
    false
}
