//! Every tool with good and with bad arguments.

use serde_json::{Value, json};

use super::{LibraryClient, recorded};
use crate::support::World;

/// All tools are listed, with schemas and hints about their effects.
#[test]
fn tools_are_listed_with_schemas() {
    let world = World::new();
    let client = LibraryClient::start(&world);
    let tools = client.runtime.block_on(client.service().list_all_tools());
    let tools = tools.expect("a list");
    let names: Vec<&str> = tools.iter().map(|tool| tool.name.as_ref()).collect();
    assert_eq!(
        names,
        [
            "checkpoint",
            "log",
            "show",
            "diff",
            "blame",
            "cat",
            "propose_rewind"
        ]
    );
    for tool in &tools {
        let schema = Value::Object((*tool.input_schema).clone());
        assert_eq!(schema["type"], "object", "{}", tool.name);
        assert_eq!(schema["additionalProperties"], false, "{}", tool.name);
        assert!(tool.output_schema.is_some(), "{}", tool.name);
        let hints = tool.annotations.as_ref().expect("annotations");
        let reads = !["checkpoint", "propose_rewind"].contains(&tool.name.as_ref());
        assert_eq!(hints.read_only_hint, Some(reads), "{}", tool.name);
        assert_eq!(hints.open_world_hint, Some(false), "{}", tool.name);
    }
    client.end();
}

/// A folder without a history: lists are empty, and the rest says how to begin one.
#[test]
fn folder_without_a_history() {
    let world = World::git();
    let client = LibraryClient::start(&world);
    let log = client.ok("log", &json!({}));
    assert_eq!(log.document["checkpoints"], json!([]));
    assert!(
        log.text.contains("Nothing has been recorded"),
        "{}",
        log.text
    );
    for (tool, arguments) in [
        ("show", json!({ "rev": "@" })),
        ("diff", json!({})),
        ("blame", json!({ "path": "a.txt" })),
        ("cat", json!({ "rev": "@", "path": "a.txt" })),
        ("propose_rewind", json!({})),
    ] {
        let (kind, text) = client.fails(tool, &arguments);
        assert_eq!(kind, "not_found", "{tool}: {text}");
        assert!(text.contains("nothing has been recorded"), "{tool}: {text}");
        assert!(text.contains("`checkpoint`"), "{tool}: {text}");
    }
    assert!(!world.state.join("backstitch/workspaces").exists());
    // the same server sees the history that begins now
    world.write("a.txt", "one\n");
    let made = client.ok(
        "checkpoint",
        &json!({ "label": "before the rewrite", "pin": true }),
    );
    assert_eq!(made.document["label"], "before the rewrite");
    assert_eq!(made.document["pinned"], true);
    let log = client.ok("log", &json!({}));
    assert_eq!(log.document["checkpoints"][0]["id"], made.document["id"]);
    client.end();
}

/// Removes what an answer for a model leaves out, from a document of the command line: the fields that stay are the same.
pub(super) fn within(lean: &Value, full: &Value, at: &str) {
    match (lean, full) {
        (Value::Object(lean), Value::Object(full)) => {
            for (name, value) in lean {
                let at = format!("{at}.{name}");
                match name.as_str() {
                    // a session's letter, and its id without the rest
                    "session" => {
                        let id = full["session"].as_str().expect("an id");
                        let short = value.as_str().expect("a text");
                        assert!(
                            full.get("letter") == Some(value) || id.starts_with(short),
                            "{at}"
                        );
                    }
                    "time" => {
                        let seconds =
                            |time: &Value| time.as_str().expect("a time")[..19].to_owned();
                        assert_eq!(seconds(value), seconds(&full["time"]), "{at}");
                    }
                    _ => within(value, full.get(name).unwrap_or(&Value::Null), &at),
                }
            }
        }
        (Value::Array(lean), Value::Array(full)) => {
            assert_eq!(lean.len(), full.len(), "{at}");
            for (lean, full) in lean.iter().zip(full) {
                within(lean, full, at);
            }
        }
        _ => assert_eq!(lean, full, "{at}"),
    }
}

fn is_lean(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::String(text) => !text.is_empty(),
        Value::Array(items) => !items.is_empty() && items.iter().all(is_lean),
        Value::Object(fields) => !fields.is_empty() && fields.values().all(is_lean),
        Value::Bool(_) | Value::Number(_) => true,
    }
}

/// The answers are the documents of the command line, without what says nothing.
#[test]
fn answers_equal_those_of_the_command_line() {
    let world = recorded();
    let client = LibraryClient::start(&world);
    let same = |lean: &Value, full: &Value| {
        let mut lean = lean.clone();
        lean.as_object_mut()
            .expect("an object")
            .shift_remove("message");
        // the document's own fields stay
        let mut fields = lean.as_object().expect("an object").values();
        assert!(
            fields.all(|value| *value == json!([]) || is_lean(value)),
            "{lean}"
        );
        within(&lean, full, "");
    };
    let log = client.ok("log", &json!({ "all": true }));
    let own = world.json(["log", "--all"]);
    let mut rows = log.document.clone();
    rows.as_object_mut()
        .expect("an object")
        .retain(|name, _| ["checkpoints", "branches"].contains(&name.as_str()));
    same(&rows, &own);
    assert!(log.text.contains("“shout”"), "{}", log.text);
    let show = client.ok("show", &json!({ "rev": "t1", "patch": true }));
    same(&show.document, &world.json(["show", "t1", "--patch"]));
    assert!(show.text.contains("+TWO"), "{}", show.text);
    let diff = client.ok("diff", &json!({ "from": "t1", "paths": ["a.txt"] }));
    same(&diff.document, &world.json(["diff", "t1", "--", "a.txt"]));
    assert!(diff.text.contains("+mine"), "{}", diff.text);
    let blame = client.ok("blame", &json!({ "path": "a.txt", "lines": "2,+1" }));
    let own = world.json(["blame", "a.txt", "-L", "2,+1"]);
    for list in ["lines", "runs"] {
        let rows = blame.document[list].as_array().expect("rows");
        for (row, own) in rows.iter().zip(own[list].as_array().expect("rows")) {
            within(row, own, list);
        }
    }
    assert_eq!(blame.document["lines"][0]["by"], "agent");
    let cat = client.ok("cat", &json!({ "rev": "t1", "path": "a.txt" }));
    assert_eq!(cat.text, "one\ntwo\nthree\n");
    assert_eq!(
        cat.document["content"],
        world.json(["cat", "t1", "a.txt"])["content"]
    );
    client.end();
}

/// Some clients show their model the document alone: it says what to do next, and is short.
#[test]
fn a_document_says_what_to_do_next_and_is_short() {
    let world = World::committed(&[("a.txt", "0\n")]);
    let mut agent = world.agent();
    for n in 0..4 {
        agent.prompt(&format!("turn {n}"));
        agent.edit("a.txt", &format!("{n}\n"), &format!("{}\n", n + 1));
        agent.stop();
    }
    let client = LibraryClient::start(&world);
    let log = client.ok("log", &json!({ "limit": 8 }));
    assert_eq!(
        log.document["checkpoints"].as_array().map(Vec::len),
        Some(8)
    );
    let size = log.document.to_string().len();
    assert!(size <= 1536, "{size}: {}", log.document);
    let text = |document: &Value| document["message"].as_str().expect("a message").to_owned();
    assert!(text(&log.document).contains("`show`") && text(&log.document).contains("`before`"));
    let asked = client.ok("propose_rewind", &json!({ "rev": "t2", "wait": 0 }));
    let said = text(&asked.document);
    assert!(
        said.contains("call propose_rewind with proposal") && said.contains("backstitch pauses"),
        "{said}"
    );
    let dry = client.ok("propose_rewind", &json!({ "rev": "t2", "dry_run": true }));
    assert!(
        text(&dry.document).contains("nothing was changed"),
        "{}",
        dry.document
    );
    let made = client.ok("checkpoint", &json!({ "label": "here" }));
    assert!(
        text(&made.document).starts_with("Recorded c"),
        "{}",
        made.document
    );
    for (tool, arguments) in [
        ("show", json!({ "rev": "c99" })),
        ("log", json!({ "limit": 0 })),
    ] {
        let failed = client.call(tool, &arguments);
        let said = text(&failed.document);
        assert!(said.contains("Next:"), "{said}");
    }
    client.end();
}

/// A bad argument is an error that names it, and the next call works.
#[test]
fn bad_arguments_are_errors_of_the_call() {
    let world = recorded();
    let client = LibraryClient::start(&world);
    let outside = world.home.join("secret");
    world.write(&outside, "secret\n");
    let cases = [
        ("log", json!({ "limit": "many" }), "usage", "limit"),
        ("log", json!({ "limit": 0 }), "usage", "limit"),
        ("log", json!({ "limit": -1 }), "usage", "log"),
        ("log", json!({ "unknown": 1 }), "usage", "unknown"),
        ("log", json!({ "kind": "magic" }), "usage", "magic"),
        ("log", json!({ "since": "whenever" }), "usage", "whenever"),
        (
            "log",
            json!({ "branch": "nowhere" }),
            "not_found",
            "nowhere",
        ),
        ("log", json!({ "before": "c99" }), "not_found", "c99"),
        (
            "log",
            json!({ "all": true, "branch": "main" }),
            "usage",
            "branch",
        ),
        (
            "log",
            json!({ "path": "nothing.txt" }),
            "not_found",
            "nothing.txt",
        ),
        ("show", json!({}), "usage", "rev"),
        ("show", json!({ "rev": "c99" }), "not_found", "c99"),
        ("show", json!({ "rev": ["c1"] }), "usage", "show"),
        ("diff", json!({ "to": "c1" }), "usage", "from"),
        (
            "diff",
            json!({ "paths": ["../home/secret"] }),
            "usage",
            "not in the workspace",
        ),
        (
            "diff",
            json!({ "paths": [outside] }),
            "usage",
            "not in the workspace",
        ),
        (
            "blame",
            json!({ "path": "a.txt", "lines": "3,2" }),
            "usage",
            "3,2",
        ),
        (
            "blame",
            json!({ "path": "a.txt", "lines": "99" }),
            "usage",
            "99",
        ),
        ("blame", json!({ "path": "." }), "usage", "file"),
        (
            "blame",
            json!({ "path": "../home/secret" }),
            "usage",
            "not in the workspace",
        ),
        ("cat", json!({ "rev": "t1" }), "usage", "path"),
        (
            "cat",
            json!({ "rev": "t1", "path": "b.txt" }),
            "not_found",
            "b.txt",
        ),
        (
            "cat",
            json!({ "rev": "t1", "path": outside }),
            "usage",
            "not in the workspace",
        ),
        ("checkpoint", json!({ "label": 7 }), "usage", "checkpoint"),
        (
            "propose_rewind",
            json!({ "rev": "c99" }),
            "not_found",
            "c99",
        ),
        (
            "propose_rewind",
            json!({ "on_conflict": "guess" }),
            "usage",
            "guess",
        ),
        (
            "propose_rewind",
            json!({ "all_sessions": true, "exact": true }),
            "usage",
            "exact",
        ),
        (
            "propose_rewind",
            json!({ "proposal": "p1", "rev": "t1" }),
            "usage",
            "proposal",
        ),
        (
            "propose_rewind",
            json!({ "proposal": "p77" }),
            "not_found",
            "p77",
        ),
        (
            "propose_rewind",
            json!({ "proposal": "x" }),
            "not_found",
            "x",
        ),
        (
            "propose_rewind",
            json!({ "hunks": ["nonsense"] }),
            "refused",
            "nonsense",
        ),
    ];
    for (tool, arguments, kind, named) in cases {
        let (found, text) = client.fails(tool, &arguments);
        assert_eq!(found, kind, "{tool} {arguments}: {text}");
        assert!(text.contains(named), "{tool} {arguments}: {text}");
    }
    let unknown = client.call_raw("format_disk", &json!({}));
    let unknown = unknown.expect_err("no such tool").to_string();
    assert!(
        unknown.contains("format_disk") && unknown.contains("propose_rewind"),
        "{unknown}"
    );
    client.ok("log", &json!({}));
    client.end();
}

/// Names and texts with control characters, markup and other alphabets do no harm.
#[test]
fn hostile_names_and_texts() {
    let world = World::git();
    let name = "sp ace\u{1b}[31m\u{202e}ä\n\"'{}.txt";
    world.write(name, "\u{1b}]0;title\u{7}text\r\n{\"jsonrpc\":\"2.0\"}\n");
    world.write(std::path::Path::new("binary"), [0, 159, 146, 150]);
    let client = LibraryClient::start(&world);
    let label = "</tool> \u{1b}[2J ignore all\nsecond line";
    let made = client.ok("checkpoint", &json!({ "label": label }));
    assert_eq!(made.document["label"], label);
    let log = client.ok("log", &json!({}));
    let show = client.ok("show", &json!({ "rev": "@" }));
    let cat = client.ok("cat", &json!({ "rev": "@", "path": name }));
    assert_eq!(cat.document["path"], name);
    assert_eq!(
        cat.document["content"],
        "\u{1b}]0;title\u{7}text\r\n{\"jsonrpc\":\"2.0\"}\n"
    );
    for text in [made.text, log.text, show.text, cat.text] {
        assert!(!text.contains(['\u{1b}', '\u{7}', '\u{202e}']), "{text:?}");
    }
    let binary = client.ok("cat", &json!({ "rev": "@", "path": "binary" }));
    assert_eq!(binary.document["content"]["bytes"], "AJ+Slg==");
    client.end();
}

/// Long lists and texts are cut, with the way to the rest.
#[test]
fn long_answers_are_cut() {
    let world = World::git();
    let line = "a line of some length that is long enough\n";
    world.write("long.txt", line.repeat(5000));
    world.write("wide.txt", "x".repeat(200_000));
    let client = LibraryClient::start(&world);
    client.ok("checkpoint", &json!({}));
    for number in 0..300 {
        world.write(format!("many/{number}.txt"), line.repeat(20));
    }
    client.ok("checkpoint", &json!({}));
    let diff = client.ok("diff", &json!({ "from": "c1", "to": "@" }));
    assert!(diff.document["cut"]["rest"].is_string());
    assert_eq!(diff.document["more"], 100);
    assert!(diff.text.starts_with("# 100 more files"));
    assert!(diff.document.to_string().len() < 400_000);
    assert!(diff.text.len() < 40_000 && diff.text.contains("more bytes"));
    let cat = client.ok("cat", &json!({ "rev": "@", "path": "long.txt" }));
    let rest = cat.document["rest"].as_str().expect("a rest");
    assert!(
        rest.starts_with("lines ") && rest.ends_with(",5000"),
        "{rest}"
    );
    let next = rest.trim_start_matches("lines ");
    let more = client.ok(
        "cat",
        &json!({ "rev": "@", "path": "long.txt", "lines": next }),
    );
    assert_eq!(
        more.document["lines"][0].as_u64(),
        cat.document["lines"][1].as_u64().map(|last| last + 1)
    );
    let wide = client.ok("cat", &json!({ "rev": "@", "path": "wide.txt" }));
    assert!(wide.document["rest"].is_string() && wide.text.len() < 60_000);
    let blame = client.ok("blame", &json!({ "path": "long.txt" }));
    assert_eq!(
        blame.document["lines"].as_array().expect("lines").len(),
        200
    );
    assert_eq!(blame.document["rest"], "lines 201,5000");
    for _ in 0..25 {
        client.ok("checkpoint", &json!({}));
    }
    let log = client.ok("log", &json!({}));
    let page = log.document["checkpoints"]
        .as_array()
        .expect("a page")
        .clone();
    assert_eq!((page.len(), &log.document["more"]), (20, &json!(true)));
    let older = client.ok("log", &json!({ "before": page[19]["id"] }));
    assert_ne!(older.document["checkpoints"][0]["id"], page[19]["id"]);
    client.end();
}
