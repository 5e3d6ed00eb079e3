//! `server/docs/protocol.md` matches the server: every name appears in both.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use backstitch_core::config::Key;
use backstitch_protocol::{COMMANDS, Field, NOTIFICATIONS, REQUESTS, Shape};
use serde_json::{Deserializer, Value, json};

use super::client::{Client, Editor};
use crate::control::{HeldHook, before, edit};
use crate::support::World;
use crate::support::agent::Agent;

fn server() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../server")
}

/// Words of a text that begin with `start` and consist of name characters.
fn names(text: &str, start: &str) -> BTreeSet<String> {
    let after = |at: usize| {
        let rest = &text[at + start.len()..];
        let end = rest.find(|c: char| !c.is_ascii_alphabetic() && c != '.' && c != '/');
        let name = rest[..end.unwrap_or(rest.len())].trim_end_matches(['.', '/']);
        format!("{start}{name}")
    };
    text.match_indices(start).map(|(at, _)| after(at)).collect()
}

fn documented(start: &str) -> BTreeSet<String> {
    let page = fs::read_to_string(server().join("docs/protocol.md")).expect("the page");
    // in tables and in text, between backquotes
    names(&page, &format!("`{start}"))
        .into_iter()
        .map(|name| name.trim_start_matches('`').to_owned())
        .collect()
}

fn in_code(start: &str) -> BTreeSet<String> {
    let mut all = BTreeSet::new();
    let rooms = [
        "src/lsp",
        "src/lsp/commands",
        "src/lsp/dispatch",
        "src/lsp/documents",
        "src/lsp/features",
        "src/lsp/handler",
        "src/lsp/session",
        "src/lsp/unsaved",
        "src/transport",
        "protocol/src",
    ];
    let files = rooms.map(|room| fs::read_dir(server().join(room)).expect("the code"));
    let files = files.into_iter().flatten();
    let files = files.map(|file| file.expect("a file").path());
    // files in directories there are for tests
    for file in files.filter(|path| path.is_file()) {
        let text = fs::read_to_string(file).expect("text");
        let found = names(&text, &format!("\"{start}"));
        all.extend(
            found
                .into_iter()
                .map(|name| name.trim_start_matches('"').to_owned()),
        );
    }
    all
}

/// Names of the settings, which have the form of commands.
fn settings() -> BTreeSet<String> {
    let keys = Key::ALL.iter();
    keys.map(|key| format!("backstitch.{}", key.name()))
        .collect()
}

#[test]
fn every_name_is_documented() {
    for start in ["backstitch/", "backstitch."] {
        let mut documented = documented(start);
        documented.retain(|name| !settings().contains(name));
        assert_eq!(in_code(start), documented);
    }
    let page = fs::read_to_string(server().join("docs/settings.md")).expect("the page");
    for key in Key::ALL {
        let row = format!("| `{}` |", key.name());
        assert!(page.contains(&row), "{row}");
    }
}

/// Every request of the page is answered, and every command is offered.
#[test]
fn every_documented_request_is_answered() {
    let world = World::committed(&[("a.txt", "one\n")]);
    let mut client = Client::start(&world, Editor::Vscode);
    for method in documented("backstitch/") {
        let told = [
            "did",
            "changedOnDisk",
            "breakpointsChanged",
            "pauseChanged",
            "replOutput",
            "replChanged",
            "timelineChanged",
            "status",
            "unreadable",
        ];
        let name = method.trim_start_matches("backstitch/");
        if told.iter().any(|told| name.starts_with(told)) {
            continue;
        }
        let id = client.begin(&method, json!({}));
        let response = client.response(id);
        assert_ne!(response["error"]["code"], -32601, "{method}: {response}");
    }
    client.leave();
}

/// Every name of the page has its types in the declarations of both languages.
#[test]
fn every_documented_name_has_its_types() {
    let page = |name: &str| fs::read_to_string(server().join(name)).expect("a page");
    let typescript = page("protocol/generated/backstitch.d.ts");
    let lua = page("../nvim-plugin/lua/backstitch/protocol.lua");
    let declared = |method: &str, shapes: &[Shape]| {
        assert!(
            typescript.contains(&format!("  \"{method}\": ")),
            "{method}"
        );
        assert!(lua.contains(&format!("[\"{method}\"]")), "{method}");
        for shape in shapes {
            let name = shape.name();
            let own = [format!("interface {name} {{"), format!("type {name} =")];
            assert!(own.iter().any(|own| typescript.contains(own)), "{name}");
            let own = [
                format!("---@class backstitch.{name}\n"),
                format!("---@alias backstitch.{name} "),
            ];
            assert!(own.iter().any(|own| lua.contains(own)), "{name}");
        }
        method.to_owned()
    };
    let requests = REQUESTS
        .iter()
        .map(|r| declared(r.method, &[r.params, r.result]));
    let told = NOTIFICATIONS
        .iter()
        .map(|n| declared(n.method, &[n.params]));
    let mut methods: BTreeSet<String> = requests.chain(told).collect();
    // a name inside the server, which is not a message
    methods.insert("backstitch/unreadable".to_owned());
    assert_eq!(methods, documented("backstitch/"));
    let commands = COMMANDS
        .iter()
        .map(|c| declared(c.name, &[c.params, c.result]));
    let commands: BTreeSet<String> = commands.collect();
    let mut documented = documented("backstitch.");
    documented.retain(|name| !settings().contains(name));
    assert_eq!(commands, documented);
}

/// Returns the second cell of the row of a command or request.
fn arguments_cell<'a>(page: &'a str, name: &str) -> &'a str {
    let row = page
        .lines()
        .find(|line| line.starts_with(&format!("| `{name}` |")));
    let row = row.unwrap_or_else(|| panic!("no row has {name}"));
    row.split('|').nth(2).expect("a cell")
}

/// Words between backquotes. Text in parentheses, which describes values, is left out.
fn quoted(text: &str) -> BTreeSet<String> {
    let mut depth = 0;
    let mut plain = String::new();
    for letter in text.chars() {
        match letter {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ if depth == 0 => plain.push(letter),
            _ => {}
        }
    }
    let words = plain.split('`').skip(1).step_by(2);
    words.map(str::to_owned).collect()
}

/// The tables list the arguments that the types declare, and no others.
#[test]
fn every_argument_is_documented() {
    let page = fs::read_to_string(server().join("docs/protocol.md")).expect("the page");
    let place = ["uri", "workspace"].map(str::to_owned);
    let start = page
        .find("The options of a restore are ")
        .expect("the options");
    let end = page[start..].find("\n\n").expect("an end");
    let options = quoted(&page[start..start + end]);
    let redo = COMMANDS.iter().find(|c| c.name == "backstitch.redo");
    let mut declared = names_of((redo.expect("a command").fields)());
    declared.retain(|name| !place.contains(name));
    assert_eq!(options, declared);
    let commands = COMMANDS.iter().map(|c| (c.name, c.fields));
    let requests = REQUESTS.iter().map(|r| (r.method, r.fields));
    for (name, fields) in commands.chain(requests) {
        let cell = arguments_cell(&page, name);
        let mut listed = quoted(cell);
        if cell.contains("the options of a restore") {
            listed.extend(options.iter().cloned());
        }
        // each takes these, and most rows leave them out
        listed.extend(place.iter().cloned());
        assert_eq!(listed, names_of(fields()), "{name}");
    }
}

fn names_of(fields: Vec<Field>) -> BTreeSet<String> {
    fields.into_iter().map(|field| field.name).collect()
}

/// Every example of the page is a message and its response, with the declared types.
#[test]
fn every_example_matches_its_types() {
    let page = fs::read_to_string(server().join("docs/protocol.md")).expect("the page");
    let mut seen = BTreeSet::new();
    for block in page.split("```json\n").skip(1) {
        let (block, _) = block.split_once("```").expect("an end");
        let values = Deserializer::from_str(block).into_iter::<Value>();
        let mut values = values.map(|value| value.expect("JSON"));
        while let Some(message) = values.next() {
            let method = message["method"].as_str().expect("a method").to_owned();
            let params = &message["params"];
            if let Some(told) = NOTIFICATIONS.iter().find(|n| n.method == method) {
                told.params.is(params).expect("as its type");
                seen.insert(method);
                continue;
            }
            let answer = values.next().expect("an answer");
            if method == "workspace/executeCommand" {
                let name = params["command"].as_str().expect("a command");
                let command = COMMANDS.iter().find(|c| c.name == name).expect(name);
                command.params.takes(&params["arguments"][0]).expect(name);
                command.answers(&answer).expect(name);
                seen.insert(name.to_owned());
            } else {
                let request = REQUESTS.iter().find(|r| r.method == method);
                let request = request.unwrap_or_else(|| panic!("{method} is no request"));
                request.params.takes(params).expect("as its type");
                request.result.is(&answer).expect("as its type");
                seen.insert(method);
            }
        }
    }
    let requests = REQUESTS.iter().map(|request| request.method);
    let all = requests.chain(NOTIFICATIONS.iter().map(|told| told.method));
    let missing: Vec<&str> = all.filter(|name| !seen.contains(*name)).collect();
    assert!(missing.is_empty(), "without an example: {missing:?}");
}

/// Sends every request, command and notification once. The client checks each against its type.
#[test]
fn every_answer_matches_its_types() {
    let world = World::committed(&[("a.txt", "one\ntwo\nthree\n"), ("b.txt", "other\n")]);
    let mut agent = world.agent();
    agent.prompt("make it two");
    agent.edit("a.txt", "two\n", "2\n");
    agent.bash("echo new > new.txt");
    agent.stop();
    let own = json!({"reloadsFromDisk": true, "notifications": true, "panels": true});
    let mut client = Client::with(&world, Editor::Vscode, &own);
    client.open("a.txt");
    client.ok("backstitch/timeline", json!({"limit": 2}));
    client.ok("backstitch/checkpoint", json!({"rev": "t1"}));
    client.ok("backstitch/diff", json!({"from": "t1"}));
    client.ok("backstitch/plan", json!({"rev": "t1"}));
    client.ok("backstitch/sessions", json!({}));
    let file = client.uri("a.txt");
    client.ok("backstitch/review", json!({ "uri": file }));
    let document = json!({"uri": client.uri("a.txt")});
    client.ok("backstitch/blame", document);
    let root = world.path("").canonicalize().expect("a root");
    let root = root.to_str().expect("a plain path").replace('/', "%2F");
    let content = json!({"uri": format!("backstitch://{root}/t1/a.txt")});
    assert_eq!(
        client.ok("backstitch/content", content)["text"],
        "one\ntwo\nthree\n"
    );
    client.command("backstitch.rewind", json!({"rev": "t1", "confirm": false}));
    client.command("backstitch.undo", json!({"confirm": false}));
    client.command("backstitch.redo", json!({"confirm": false}));
    client.command("backstitch.undo", json!({"confirm": false}));
    client.command("backstitch.revert", json!({"turn": "t1", "confirm": false}));
    client.command("backstitch.fork", json!({"rev": "t1", "name": "other"}));
    client.command(
        "backstitch.switch",
        json!({"branch": "other", "confirm": false}),
    );
    client.command(
        "backstitch.switch",
        json!({"branch": "main", "confirm": false}),
    );
    let elsewhere = root_beside(&world);
    client.command(
        "backstitch.fork",
        json!({"rev": "t1", "name": "tree", "into": elsewhere}),
    );
    client.command("backstitch.tag", json!({"name": "here"}));
    client.command("backstitch.pin", json!({"rev": "here"}));
    client.command("backstitch.checkpoint", json!({"label": "now"}));
    client.command("backstitch.diff", json!({"rev": "t1"}));
    client.command("backstitch.timeline", json!({}));
    client.command("backstitch.review", json!({}));
    client.command("backstitch.conversation", json!({}));
    // tests with real agents have its result
    let summarize =
        json!({"command": "backstitch.summarize", "arguments": [{"turn": "t1", "part": "from"}]});
    client.fails("workspace/executeCommand", summarize);
    client.shapes.answered.insert("backstitch.summarize".into());
    let at_work = json!({"agent": "helper", "session": "s1", "prompt": "go on"});
    client.ok("backstitch/turnBegin", at_work);
    client.reload("a.txt");
    let start = json!({"line": 0, "character": 0});
    let edits = json!([{"range": {"start": start, "end": start}, "newText": "zero\n"}]);
    let edit = json!({"changes": {client.uri("a.txt"): edits}});
    client.ok(
        "backstitch/applyEdit",
        json!({"label": "Edit", "edit": edit}),
    );
    client.ok("backstitch/turnEnd", json!({}));
    client.open("b.txt");
    client.type_over("b.txt", "other\n", "other\nmine\n");
    agent.prompt("below");
    agent.edit("b.txt", "other\n", "zero\nother\n");
    client.command("backstitch.merge", json!({"uri": client.uri("b.txt")}));
    client.save("b.txt");
    // an error has its type, too
    client.fails("backstitch/checkpoint", json!({"rev": "nowhere"}));
    agent.prompt("and on");
    agent.stop();
    world.ok(["rewind", "--yes", "t1", "--path", "b.txt"]);
    held_calls(&world, &agent, &mut client);
    let told = |client: &Client<'_>| {
        let all = NOTIFICATIONS.iter();
        all.map(|n| n.method)
            .all(|n| client.shapes.answered.contains(n))
    };
    client.until(told);
    let all = REQUESTS.iter().map(|r| r.method);
    let all = all.chain(COMMANDS.iter().map(|c| c.name));
    let left: Vec<&str> = all
        .filter(|name| !client.shapes.answered.contains(*name))
        .collect();
    assert!(left.is_empty(), "never answered: {left:?}");
    client.leave();
}

/// Sends everything about breakpoints and held calls. A hit names its breakpoint and the reason.
fn held_calls(world: &World, agent: &Agent<'_>, client: &mut Client<'_>) {
    agent.write("held.txt", "for a step back\n");
    let uri = client.uri("a.txt");
    let lines = json!({"uri": uri, "lines": [0, 1]});
    client.command("backstitch.breakpoint.toggle", lines.clone());
    client.command("backstitch.breakpoint.toggle", lines);
    let log = json!({
        "kind": "path", "spec": {"glob": "a.txt"}, "action": "log", "message": "{.tool}",
    });
    client.command("backstitch.breakpoint.add", log);
    let stop = json!({"kind": "tool", "spec": {"name": "Edit"}});
    let made = client.command("backstitch.breakpoint.add", stop);
    let id = json!({"breakpoint": made["breakpoint"]["id"]});
    let mut edited = id.clone();
    edited["when"] = json!(".tool == \"Edit\"");
    client.command("backstitch.breakpoint.edit", edited);
    client.command("backstitch.breakpoint.disable", id.clone());
    client.command("backstitch.breakpoint.enable", id.clone());
    client.command("backstitch.inject", json!({"text": "hello"}));
    client.ok("backstitch/breakpoints", json!({}));
    let decisions = [
        ("backstitch.skip", json!({})),
        ("backstitch.deny", json!({"message": "no"})),
        ("backstitch.step", json!({"how": "over"})),
        ("backstitch.back", json!({"steps": 1})),
        ("backstitch.stop", json!({})),
        ("backstitch.resume", json!({})),
    ];
    let told = |client: &Client<'_>, method: &str| {
        client
            .notified
            .iter()
            .filter(|(told, _)| told == method)
            .count()
    };
    for (at, (command, mut arguments)) in decisions.into_iter().enumerate() {
        let input = edit(world, "a.txt", "two", "2");
        let hook = HeldHook::start(
            world,
            &before(agent, &format!("held{at}"), "Edit", &input),
            600,
        );
        client.until(|client| told(client, "backstitch/didPause") == at + 1);
        let mut paused = client.notified.iter().rev();
        let paused = paused.find(|(method, _)| method == "backstitch/didPause");
        let pause = paused.expect("a pause").1["pause"]["id"].clone();
        let listed = client.ok("backstitch/pauses", json!({}));
        let last = listed["pauses"]
            .as_array()
            .and_then(|all| all.last().cloned());
        let last = last.expect("a held call");
        assert_eq!(
            (&last["why"], &last["tool"]),
            (&json!("calls Edit"), &json!("Edit"))
        );
        assert!(last["breakpoint"].is_string(), "{last:#}");
        let details = client.ok("backstitch/pause", json!({"pause": pause}));
        assert_eq!(details["predicted"][0]["path"], "a.txt", "{details:#}");
        client.ok(
            "backstitch/predict",
            json!({"pause": pause, "input": input}),
        );
        client.command("backstitch.inspect", json!({"pause": pause}));
        let mut changed = input.clone();
        changed["new_string"] = json!("zwei");
        client.ok(
            "backstitch/draft",
            json!({"pause": pause, "input": changed}),
        );
        client.ok("backstitch/draft", json!({"pause": pause}));
        arguments["pause"] = pause;
        client.command(command, arguments);
        hook.answer();
        client.until(|client| told(client, "backstitch/didResume") == at + 1);
    }
    client.command("backstitch.breakpoint.remove", id);
    client.command("backstitch.pause", json!({}));
    client.command("backstitch.breakpoint.list", json!({}));
    repls(world, agent, client);
    client.command("backstitch.breakpoint.clear", json!({}));
}

/// Sends everything about REPLs.
fn repls(world: &World, agent: &Agent<'_>, client: &mut Client<'_>) {
    world.ok(["breakpoint", "add", "tool", "Bash"]);
    let input = json!({"command": "make", "description": "x"});
    let hook = HeldHook::start(world, &before(agent, "repl", "Bash", &input), 600);
    let is_held = |client: &mut Client<'_>| {
        let pauses = client.ok("backstitch/pauses", json!({}));
        pauses["pauses"].as_array().and_then(|all| {
            let held = all.iter().find(|pause| pause["state"] == "held");
            held.map(|pause| pause["id"].clone())
        })
    };
    let pause = loop {
        if let Some(pause) = is_held(client) {
            break pause;
        }
    };
    let started = client.ok("backstitch/repl/start", json!({"pause": pause}));
    let session = started["session"]["id"].clone();
    let asked = json!({"session": session, "input": ".call.tool"});
    client.ok("backstitch/repl/eval", asked.clone());
    client.ok("backstitch/repl/show", json!({"session": session}));
    client.ok("backstitch/repl/list", json!({"pause": pause}));
    client.ok("backstitch/stack", json!({"pause": pause}));
    client.ok("backstitch/calls", json!({}));
    client.fails("backstitch/repl/object", json!({"cid": "sha256:0"}));
    client
        .shapes
        .answered
        .insert("backstitch/repl/object".to_owned());
    client.ok("backstitch/repl/close", json!({"session": session}));
    let started = client.command("backstitch.repl.start", json!({"pause": pause}));
    let session = started["session"]["id"].clone();
    let asked = json!({"session": session, "input": ".call.tool"});
    client.command("backstitch.repl.eval", asked);
    client.command("backstitch.repl.list", json!({}));
    client.command("backstitch.repl.close", json!({"session": session}));
    client.command("backstitch.resume", json!({"pause": pause}));
    hook.answer();
}

fn root_beside(world: &World) -> String {
    let root = world.path("").canonicalize().expect("a root");
    let beside = root.parent().expect("a parent").join("forked");
    beside.to_str().expect("a plain path").to_owned()
}
