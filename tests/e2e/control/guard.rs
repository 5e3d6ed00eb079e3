//! An agent decides by no front end: each deciding command, as it is declared, with each mark of an agent.

use std::io::Write as _;
use std::process::Stdio;

use backstitch_protocol::{COMMANDS, Effect, Expected, Field, REQUESTS};
use serde_json::{Map, Value, json};

use super::{HeldHook, Watcher, before, began, edit};
use crate::lsp::client::{Client, Editor};
use crate::support::{World, finish};

const FILE: &str = "a.txt";

fn world() -> World {
    World::committed(&[(FILE, "one\ntwo\n")])
}

/// The rows of a table of the page that is made of the declarations, without backquotes.
fn declared(heading: &str) -> Vec<Vec<String>> {
    let page = include_str!("../../../server/docs/effects.md");
    let (_, table) = page.split_once(heading).expect("the table");
    let rows = table.lines().skip_while(|line| !line.starts_with("|--"));
    let rows = rows.skip(1).take_while(|line| line.starts_with('|'));
    let cells = |row: &str| {
        let cells = row.trim_matches('|').split('|');
        cells.map(|cell| cell.trim().replace('`', "")).collect()
    };
    rows.map(cells).collect()
}

fn marks() -> Vec<String> {
    declared("## Marks of agents").concat()
}

/// Nothing was decided: the breakpoint is there, the call is held, and it runs once the user says so.
fn undecided(world: &World, hook: HeldHook) {
    let left = world.json(["breakpoint", "list"]);
    assert_eq!(left["breakpoints"].as_array().map(Vec::len), Some(1));
    assert_eq!(world.json(["pauses"])["pauses"][0]["state"], "held");
    world.ok(["resume"]);
    assert_eq!(hook.answer(), Value::Null);
}

fn held(world: &World) -> HeldHook {
    let agent = began(world);
    world.ok(["breakpoint", "add", "tool", "Edit"]);
    let payload = before(&agent, "c1", "Edit", &edit(world, FILE, "one", "1"));
    let mut watcher = Watcher::start(world);
    let hook = HeldHook::start(world, &payload, 600);
    watcher.until("held");
    hook
}

/// The command line: every command that is declared to decide is refused with every mark of every agent, and no refusal
/// names a way round. Those that read are not refused.
#[test]
fn every_deciding_command_is_refused_with_every_mark() {
    let world = world();
    let hook = held(&world);
    let marks = marks();
    assert!(marks.len() > 10, "{marks:?}");
    let mut count = 0;
    for row in declared("## Command line") {
        let (line, effect) = (&row[0], &row[1]);
        let run = |mark: &str| {
            let mut command = world.backstitch();
            command.args(line.split(' ')).env(mark, "1");
            finish(&mut command, b"")
        };
        if effect == "decides" {
            for mark in &marks {
                let refused = run(mark);
                assert_eq!(refused.code, 1, "{mark} {line}: {refused}");
                let reason = format!("inside an agent ({mark} is set)");
                assert!(refused.stderr.contains(&reason), "{line}: {refused}");
                assert!(refused.stderr.contains("your user's"), "{line}: {refused}");
                assert!(
                    !refused.stderr.contains("allowControl"),
                    "{line}: {refused}"
                );
                assert!(!refused.stderr.contains("config.toml"), "{line}: {refused}");
                count += 1;
            }
        } else if effect == "reads" {
            let read = run("CLAUDECODE");
            assert!(!read.stderr.contains("inside an agent"), "{line}: {read}");
        }
    }
    assert!(count > 300, "{count}");
    undecided(&world, hook);
}

/// A value of an argument, by its declaration.
fn sample(field: &Field) -> Value {
    match field.expected {
        Expected::Name => json!("p1"),
        Expected::Text => json!("x"),
        Expected::Flag => json!(true),
        Expected::Names => json!(["a.txt"]),
        Expected::Count => json!(1),
        Expected::Lines => json!([0, 1]),
        Expected::Edit | Expected::Json | Expected::Fields => json!({}),
        Expected::Texts => json!([]),
    }
}

/// The smallest arguments with which it decides.
fn arguments(client: &Client<'_>, name: &str, fields: &[Field]) -> Value {
    let required = fields.iter().filter(|field| field.is_required);
    let mut all: Map<String, Value> = required
        .map(|field| (field.name.clone(), sample(field)))
        .collect();
    match name {
        "backstitch.pin" => drop(all.insert("pinned".to_owned(), json!(false))),
        "backstitch/review" => drop(all.insert("action".to_owned(), json!("keep"))),
        "backstitch.breakpoint.toggle" => {
            drop(all.insert("uri".to_owned(), json!(client.uri(FILE))));
        }
        _ => {}
    }
    Value::Object(all)
}

/// The language server: every command and request that is declared to decide is refused in a server that an agent runs, of a
/// plain client and of our own. The held call is shown to nobody there.
#[test]
fn every_deciding_command_of_a_server_is_refused() {
    let world = world();
    let hook = held(&world);
    for (at, mark) in marks().iter().enumerate() {
        let is_ours = at % 2 == 0;
        let own = json!({ "notifications": is_ours, "panels": is_ours });
        let mut client = Client::with_variable(&world, Editor::Helix, mark, &own);
        client.open(FILE);
        client.lenses(FILE);
        let mut tried = 0;
        for command in COMMANDS.iter().filter(|one| one.effect == Effect::Decides) {
            let arguments = arguments(&client, command.name, &(command.fields)());
            let params = json!({ "command": command.name, "arguments": [arguments] });
            let id = client.begin("workspace/executeCommand", params);
            let response = client.response(id).to_string();
            assert!(
                response.contains("inside an agent"),
                "{}: {response}",
                command.name
            );
            assert!(
                !response.contains("allowControl"),
                "{}: {response}",
                command.name
            );
            tried += 1;
        }
        for request in REQUESTS.iter().filter(|one| one.effect == Effect::Decides) {
            let params = arguments(&client, request.method, &(request.fields)());
            let id = client.begin(request.method, params);
            let response = client.response(id).to_string();
            assert!(
                response.contains("inside an agent"),
                "{}: {response}",
                request.method
            );
            tried += 1;
        }
        assert!(tried > 25, "{tried}");
        assert_eq!(client.asked, [""; 0]);
        client.leave();
    }
    undecided(&world, hook);
}

/// Each attempt is reported: by `status`, `doctor` and `pauses`, and in the user's own editor while it happens.
#[test]
fn attempts_are_told_to_the_user() {
    let world = world();
    let hook = held(&world);
    let own = json!({ "notifications": true, "panels": true });
    let mut client = Client::with(&world, Editor::Vscode, &own);
    client.open(FILE);
    client.until(|client| {
        let mut all = client.notified.iter();
        all.any(|(method, _)| method == "backstitch/didPause")
    });
    let mut command = world.backstitch();
    command.args(["breakpoint", "clear"]).env("GEMINI_CLI", "1");
    finish(&mut command, b"").expect_code(1);
    let told = "an agent tried to decide: `breakpoint clear` was refused (GEMINI_CLI is set)";
    client.until(|client| client.said.iter().any(|said| said.contains(told)));
    for command in [
        &["status"][..],
        &["doctor"],
        &["pauses"],
        &["pauses", "--all"],
    ] {
        let said = world.run(command);
        let said = format!("{}{}", said.stdout, said.stderr);
        assert!(said.contains(told), "{command:?}: {said}");
    }
    let all = world.json(["pauses", "--all"])["attempts"].clone();
    assert_eq!(all[0]["command"], "breakpoint clear");
    assert_eq!(world.json(["status"])["safeguards"][0]["kind"], "attempt");
    client.leave();
    undecided(&world, hook);
}

/// The user is not locked out of their own editor: it may run agents itself, whose hooks it starts.
#[test]
fn the_editor_that_starts_hooks_is_not_an_agent() {
    let world = world();
    let agent = began(&world);
    world.ok(["breakpoint", "add", "tool", "Edit"]);
    let payload = before(&agent, "c1", "Edit", &edit(&world, FILE, "one", "1"));
    let mut hook = world.hook_command();
    hook.args(["--limit", "600"])
        .env("CLAUDE_CODE_SESSION_ATTENDED", "0")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    let mut hook = hook.spawn().expect("the hook");
    let mut stdin = hook.stdin.take().expect("a pipe");
    stdin
        .write_all(payload.to_string().as_bytes())
        .expect("read");
    drop(stdin);
    // this process is the agent of the hook, and the editor of the server
    let own = json!({ "notifications": true, "panels": true });
    let mut client = Client::with(&world, Editor::Vscode, &own);
    client.open(FILE);
    client.until(|client| {
        let mut all = client.notified.iter();
        all.any(|(method, _)| method == "backstitch/didPause")
    });
    let refused = world.run(["resume"]).expect_code(1);
    assert!(refused.stderr.contains("inside claude-code"), "{refused}");
    client.command("backstitch.resume", json!({ "pause": "p1" }));
    assert!(hook.wait().expect("ended").success());
    client.leave();
}

/// A program claims no process: neither one that it does not run inside of, nor the first of the system; and it claims
/// nothing once it is gone.
#[test]
fn a_program_claims_no_other_process() {
    let world = world();
    let own = u64::from(std::process::id());
    for pid in [1, own] {
        let mut bridge = world.backstitch();
        bridge.arg("bridge");
        bridge.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut bridge = bridge.spawn().expect("a bridge");
        let mut stdin = bridge.stdin.take().expect("a pipe");
        let hello = json!({ "jsonrpc": "2.0", "id": 1, "method": "hello", "params": {
            "pid": pid, "started": 5, "argv": ["x"], "language": "python", "cwd": world.root,
        } });
        let pause = json!({ "jsonrpc": "2.0", "id": 2, "method": "pause/open", "params": {
            "label": "x", "stack": [], "thread": "m",
        } });
        let mut watcher = Watcher::start(&world);
        write!(stdin, "{hello}\n{pause}\n").expect("read");
        watcher.until("held");
        // a program that this command runs inside of may not free itself by it
        let code = i32::from(pid == own);
        world
            .run(["breakpoint", "add", "tool", "Bash"])
            .expect_code(code);
        drop(stdin);
        bridge.wait().expect("ended");
        watcher.until("lost");
        world.ok(["breakpoint", "clear"]);
    }
}

/// `armed` is lost, or an older one is put in its place: whoever looks has it written anew, and the next call is held.
#[test]
fn a_lost_armed_file_is_written_anew() {
    for (how, command) in [
        ("removed", &["breakpoint", "list"][..]),
        ("removed", &["pauses"][..]),
        ("removed", &["status"][..]),
        ("removed", &["doctor"][..]),
        ("older", &["breakpoint", "list"][..]),
        ("older", &["pauses", "--all"][..]),
        ("removed", &[][..]),
    ] {
        let world = world();
        let agent = began(&world);
        world.ok(["breakpoint", "add", "tool", "Bash"]);
        let armed = world.store().join("armed");
        let old = std::fs::read(&armed).expect("armed");
        world.ok(["breakpoint", "add", "tool", "Edit"]);
        if how == "older" {
            std::fs::write(&armed, old).expect("written");
        } else {
            std::fs::remove_file(&armed).expect("removed");
        }
        if command.is_empty() {
            let mut client = Client::start(&world, Editor::Vscode);
            let listed = client.ok("backstitch/breakpoints", json!({}));
            assert_eq!(listed["breakpoints"].as_array().map(Vec::len), Some(2));
            client.leave();
        } else {
            world.run(command);
        }
        let payload = before(&agent, "c1", "Edit", &edit(&world, FILE, "one", "1"));
        let mut watcher = Watcher::start(&world);
        let hook = HeldHook::start(&world, &payload, 600);
        watcher.until("held");
        world.ok(["resume"]);
        hook.answer();
    }
}

/// A call whose payload cannot be read does not run while a breakpoint is armed; one with a byte order mark is read.
#[test]
fn a_call_that_cannot_be_read_is_denied_where_something_is_armed() {
    let world = world();
    let agent = began(&world);
    let payload = before(&agent, "c1", "Bash", &json!({"command": "ls"})).to_string();
    let cut = payload[..payload.len() - 5].to_owned();
    let odd = payload.replace("\"ls\"", "NaN");
    let run = |text: &str| finish(&mut world.hook_command(), text.as_bytes());
    for text in [&cut, &odd] {
        let passed = run(text).expect_code(0);
        assert_eq!(passed.stdout, "", "nothing is armed: {passed}");
    }
    world.ok(["breakpoint", "add", "tool", "Read"]);
    for text in [&cut, &odd, &cut[..40].to_owned(), &String::new()] {
        let denied = run(text).expect_code(0);
        assert_eq!(super::decision(&denied.json()), Some("deny"), "{denied}");
        assert!(denied.stdout.contains("cannot be read"), "{denied}");
    }
    // another event is not a call
    let stop = agent
        .payload("Stop", json!({"stop_hook_active": false}))
        .to_string();
    let passed = run(&stop[..stop.len() - 2]).expect_code(0);
    assert_eq!(passed.stdout, "", "{passed}");
    assert_ne!(world.json(["status"])["gaps"], json!([]));
    // not one of the armed tools
    let marked = format!("\u{feff}{payload}");
    let read = run(&marked).expect_code(0);
    assert_eq!(
        (read.stdout.as_str(), read.stderr.as_str()),
        ("", ""),
        "{read}"
    );
}
