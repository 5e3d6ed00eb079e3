//! Misbehaving clients: hurried ones, ones that send invalid messages, ones that die. The server keeps the order of
//! messages and answers, and its store stays intact.

use serde_json::{Value, json};

use super::client::{Client, Editor, Edits};
use crate::support::World;
use crate::support::scenarios::{THREE_LINES, one_turn};

fn lens_params(client: &Client) -> Value {
    json!({ "textDocument": { "uri": client.uri("a.txt") } })
}

/// Two thousand keys between slow requests all arrive, in order.
#[test]
fn keys_between_slow_requests_keep_their_order() {
    let world = one_turn(THREE_LINES);
    let mut client = Client::start(&world, Editor::Nvim);
    client.open("a.txt");
    let uri = client.uri("a.txt");
    let mut open = Vec::new();
    for number in 0..2000 {
        let version = number + 2;
        let text = format!("{number}\n");
        let at = json!({ "line": 0, "character": 0 });
        let change = json!({ "range": { "start": at, "end": at }, "text": text });
        let params = json!({
            "textDocument": { "uri": uri, "version": version },
            "contentChanges": [change],
        });
        client.notify("textDocument/didChange", params);
        if number % 20 == 0 {
            open.push(client.begin("textDocument/codeLens", lens_params(&client)));
            open.push(client.begin("backstitch/timeline", json!({ "uri": uri })));
        }
    }
    let blame = client.ok("backstitch/blame", json!({ "uri": uri }));
    assert_eq!(blame["version"], 2001);
    let counted = blame["runs"].as_array().expect("runs").iter();
    let lines: u64 = counted
        .map(|run| run["count"].as_u64().expect("a count"))
        .sum();
    assert_eq!(lines, 2003);
    assert_eq!(blame["runs"][0]["by"], "unsaved");
    assert_eq!(blame["runs"][0]["count"], 2000);
    for id in open {
        assert!(client.response(id)["error"].is_null());
    }
    client.leave();
}

/// Commands wait for the user's choice, with hundreds of messages behind them.
#[test]
fn commands_that_wait_for_an_answer_do_not_block_messages() {
    let world = one_turn(THREE_LINES);
    let mut client = Client::start(&world, Editor::Nvim);
    client.open("a.txt");
    client.holds_answers = true;
    let params = json!({ "command": "backstitch.rewind", "arguments": [{ "rev": "t1" }] });
    let waiting: Vec<i64> = (0..8)
        .map(|_| client.begin("workspace/executeCommand", &params))
        .collect();
    client.until(|client| client.asked.len() == 8);
    for _ in 0..300 {
        let lenses = lens_params(&client);
        client.ok("textDocument/codeLens", lenses);
    }
    client.holds_answers = false;
    for _ in 0..8 {
        client.will_choose("Cancel");
    }
    client.answer_held();
    for id in waiting {
        let response = client.response(id);
        assert_eq!(
            response["result"]["error"]["kind"], "cancelled",
            "{response}"
        );
    }
    assert_eq!(world.read("a.txt"), "one\n2\nthree\n");
    client.leave();
}

/// A request is cancelled while others are open; its work is not half done.
#[test]
fn a_cancelled_command_leaves_nothing_half_done() {
    let world = one_turn(THREE_LINES);
    let mut client = Client::start(&world, Editor::Nvim);
    client.open("b.txt");
    client.holds_answers = true;
    let params = json!({ "command": "backstitch.rewind", "arguments": [{ "rev": "t1" }] });
    let id = client.begin("workspace/executeCommand", &params);
    client.until(|client| client.asked.len() == 1);
    client.notify("$/cancelRequest", json!({ "id": id }));
    let response = client.response(id);
    assert_eq!(response["error"]["code"], -32800, "{response}");
    client.holds_answers = false;
    client.will_choose("Rewind");
    client.answer_held();
    // waits for all pending work
    client.ok("backstitch/diff", json!({ "from": "@" }));
    client.ok("backstitch/diff", json!({ "from": "@" }));
    assert_eq!(
        world.read("a.txt"),
        "one\n2\nthree\n",
        "it was called off before it was confirmed"
    );
    client.leave();
    world.ok(["verify"]);
}

/// A command that has begun is completed, and returns its result.
#[test]
fn a_command_cancelled_too_late_returns_its_result() {
    let world = one_turn(THREE_LINES);
    let mut client = Client::start(&world, Editor::Nvim);
    client.open("a.txt");
    client.type_over("a.txt", "three", "mine");
    client.edits = Edits::Held;
    let params =
        json!({ "command": "backstitch.rewind", "arguments": [{ "rev": "t1", "confirm": false }] });
    let id = client.begin("workspace/executeCommand", &params);
    client.until(|client| client.edited == 1);
    client.notify("$/cancelRequest", json!({ "id": id }));
    client.edits = Edits::Taken;
    client.answer_held();
    let response = client.response(id);
    assert!(response["result"]["operation"].is_string(), "{response}");
    assert_eq!(client.text("a.txt"), "one\ntwo\nmine\n");
    client.leave();
    world.ok(["verify"]);
}

/// Errors about arguments use the names of the protocol, with a kind and a hint.
#[test]
fn wrong_arguments_are_named() {
    let world = one_turn(THREE_LINES);
    let own = json!({ "notifications": true });
    let mut client = Client::with(&world, Editor::Vscode, &own);
    let command =
        |arguments: Value| json!({ "command": "backstitch.rewind", "arguments": arguments });
    let edit = json!({ "agent": "a", "session": "s", "edit": { "documentChanges": 7 } });
    for (method, params, words) in [
        ("backstitch/timeline", json!({ "limit": -1 }), "`limit`"),
        ("backstitch/timeline", json!([]), "one object"),
        (
            "backstitch/timeline",
            json!({ "workspace": "/nowhere" }),
            "`workspace`",
        ),
        ("backstitch/checkpoint", json!({}), "`rev`"),
        ("backstitch/diff", json!({ "to": "@" }), "`from`"),
        ("backstitch/blame", json!({}), "`uri`"),
        ("backstitch/content", json!({ "uri": null }), "`uri`"),
        (
            "backstitch/content",
            json!({ "uri": "backstitch://view/99/x" }),
            "no longer available",
        ),
        ("backstitch/plan", json!({}), "one of rev, turn"),
        (
            "backstitch/plan",
            json!({ "rev": "t1", "turn": "t1" }),
            "`rev`, `turn`",
        ),
        ("backstitch/plan", json!({ "rev": "" }), "`rev`"),
        ("backstitch/turnBegin", json!({ "agent": "a" }), "`session`"),
        ("backstitch/applyEdit", json!({ "edit": 7 }), "`edit`"),
        ("backstitch/applyEdit", edit, "`edit`"),
        (
            "workspace/executeCommand",
            command(json!([1])),
            "one object",
        ),
        (
            "workspace/executeCommand",
            command(json!([{ "rev": 1 }])),
            "`rev`",
        ),
        (
            "workspace/executeCommand",
            command(json!([{ "paths": "a" }])),
            "`paths`",
        ),
        (
            "workspace/executeCommand",
            command(json!([{}, {}])),
            "2 arguments",
        ),
        ("textDocument/codeLens", json!({}), "`textDocument`"),
        ("textDocument/hover", json!([]), "params"),
    ] {
        let error = client.fails(method, params);
        let message = error["message"].as_str().expect("words");
        assert!(message.contains(words), "{method}: {words} in {message}");
        for rust in ["invalid type", "struct", "missing field"] {
            assert!(!message.contains(rust), "{message}");
        }
        assert_eq!(error["data"]["kind"], "usage", "{error}");
        assert!(error["data"]["hint"].is_string(), "{error}");
    }
    client.ok("backstitch/timeline", json!({ "limit": null }));
    client.command(
        "backstitch.rewind",
        json!({ "rev": "t1", "confirm": false }),
    );
    let plan = client.ok("backstitch/plan", json!({ "undo": true }));
    assert_eq!(plan["empty"], false, "{plan}");
    client.leave();
}

/// An unwritable directory affects only what needs it, and the error says what to do.
#[test]
fn an_unwritable_directory_is_a_clear_error() {
    let world = one_turn(THREE_LINES);
    world.write("a-file", "");
    let place = world.path("a-file").display().to_string();
    let world = world.with("TMPDIR", &place);
    let own = json!({ "notifications": true });
    let mut client = Client::with(&world, Editor::Nvim, &own);
    let params = json!({ "command": "backstitch.diff", "arguments": [{ "rev": "t1" }] });
    let error = client.fails("workspace/executeCommand", params);
    let hint = error["data"]["hint"].as_str().expect("a next step");
    assert!(hint.contains("TMPDIR"), "{error}");
    client.leave();

    let fresh = World::committed(&[("a.txt", "one\n")]);
    std::fs::create_dir_all(&fresh.state).expect("a directory");
    std::fs::write(fresh.state.join("backstitch"), "").expect("written");
    let mut client = Client::with(&fresh, Editor::Nvim, &own);
    let params = json!({ "command": "backstitch.checkpoint" });
    let error = client.fails("workspace/executeCommand", params);
    assert!(error["data"]["hint"].is_string(), "{error}");
    client.leave();
}

/// Errors in the server's command line are reported at once.
#[test]
fn bad_command_line_options_are_reported_at_once() {
    let world = one_turn(THREE_LINES);
    let output = world.run(["--workspace", "/nowhere", "lsp"]).expect_code(2);
    assert!(output.stderr.contains("--workspace /nowhere"), "{output}");
    world.write("a-file", "");
    let place = world.path("a-file/store").display().to_string();
    let output = world.run(["lsp", "--store-dir", &place]);
    assert!(output.stderr.contains("a-file/store"), "{output}");
}

/// Invalid JSON, invalid requests and unknown names are answered and survived.
#[test]
fn invalid_messages_are_answered_and_survived() {
    let world = one_turn(THREE_LINES);
    let mut client = Client::start(&world, Editor::Helix);
    client.open("a.txt");
    for body in [
        "{",
        "[]",
        "null",
        "{\"jsonrpc\":\"2.0\"}",
        "\u{0}\u{1}",
        "{\"method\":5}",
    ] {
        client.raw(format!("Content-Length: {}\r\n\r\n{body}", body.len()).as_bytes());
        let answer = client.response(-1);
        assert_eq!(answer["error"]["code"], -32700, "{body}: {answer}");
    }
    client.raw(b"what is this?\r\n\r\nContent-Length: nothing\r\n\r\n");
    assert_eq!(client.response(-1)["error"]["code"], -32700);
    let uri = client.uri("a.txt");
    // versions that go back, ranges beyond the text or reversed, documents that are not open
    let changes = |line: i64, end: i64| {
        json!([{ "range": {
            "start": { "line": line, "character": 4_000_000_000_u32 },
            "end": { "line": end, "character": 0 },
        }, "text": "x" }])
    };
    for (version, line, end) in [(7, 0, 0), (3, 900, 901), (3, 2, 0), (-5, 0, 4_000_000_000)] {
        client.notify(
            "textDocument/didChange",
            json!({ "textDocument": { "uri": uri, "version": version }, "contentChanges": changes(line, end) }),
        );
    }
    let nobody = json!({ "uri": "file:///nowhere/at/all.txt", "version": 1 });
    client.notify(
        "textDocument/didChange",
        json!({ "textDocument": nobody, "contentChanges": changes(0, 0) }),
    );
    client.notify(
        "textDocument/didSave",
        json!({ "textDocument": { "uri": "untitled:1" } }),
    );
    client.notify(
        "textDocument/didClose",
        json!({ "textDocument": { "uri": "untitled:1" } }),
    );
    client.notify("textDocument/didOpen", json!({ "textDocument": 5 }));
    client.notify("no/such/notification", json!({}));
    let error = client.fails("no/such/request", json!({}));
    assert_eq!(error["code"], -32601);
    let error = client.fails("textDocument/codeLens", json!({ "textDocument": 5 }));
    assert_eq!(error["code"], -32602);
    let none = client.ok(
        "textDocument/codeLens",
        json!({ "textDocument": { "uri": "untitled:1" } }),
    );
    assert!(none.is_null());
    let error = client.fails("backstitch/checkpoint", json!({ "rev": "c999" }));
    assert_eq!(error["data"]["kind"], "not_found");
    let error = client.fails("backstitch/content", json!({ "uri": "file:///etc/passwd" }));
    assert_eq!(error["data"]["kind"], "usage");
    let answer = client.command("backstitch.nonsense", json!({}));
    assert_eq!(answer["error"]["kind"], "usage");
    let lenses = lens_params(&client);
    client.ok("textDocument/codeLens", lenses);
    client.leave();
    world.ok(["verify"]);
}

/// A document far above the size limit is ignored, and everything else works.
#[test]
fn a_document_of_a_hundred_megabytes_is_ignored() {
    let world = one_turn(THREE_LINES);
    let mut client = Client::start(&world, Editor::Vscode);
    let line = "a line of some length that repeats and repeats and repeats\n";
    client.open_with("big.txt", &line.repeat(100 * 1024 * 1024 / line.len()));
    client.type_over("big.txt", "a line", "the line");
    assert_eq!(client.lenses("big.txt"), []);
    client.open("a.txt");
    assert_eq!(client.lenses("a.txt").len(), 4);
    client.leave();
}

/// The client dies without notice, during a rewind that waits for it.
#[test]
fn a_client_that_dies_leaves_the_store_intact() {
    let world = one_turn(THREE_LINES);
    let mut client = Client::start(&world, Editor::Nvim);
    client.open("a.txt");
    client.type_over("a.txt", "three", "mine");
    client.edits = Edits::Pretended;
    client.begin(
        "workspace/executeCommand",
        json!({ "command": "backstitch.rewind", "arguments": [{ "rev": "t1", "confirm": false }] }),
    );
    client.until(|client| client.edited > 0);
    client.kill();
    drop(client);
    world.ok(["verify"]);
    let status = world.json(["status"]);
    assert_eq!(status["pending_saves"][0]["path"], "a.txt", "{status}");
    // the typed text is kept
    let rewind = world.history().len();
    let kept = world.ok(["cat", &format!("c{rewind}"), "a.txt", "--unsaved"]);
    assert_eq!(kept.stdout, "one\n2\nmine\n");
}

/// A change with an invalid range changes nothing, and does not replace the whole text. Later changes count from a
/// text that only the client knows, until the client sends the whole text.
#[test]
fn an_invalid_range_does_not_replace_the_document() {
    let world = one_turn(THREE_LINES);
    let mut client = Client::start(&world, Editor::Vscode);
    client.open("a.txt");
    let uri = client.uri("a.txt");
    let blame = |client: &mut Client| client.ok("backstitch/blame", json!({ "uri": uri }));
    let change = |client: &mut Client, version: i64, change: Value| {
        let document = json!({ "uri": uri, "version": version });
        let params = json!({ "textDocument": document, "contentChanges": [change] });
        client.notify("textDocument/didChange", params);
    };
    let range = |line: i64| json!({ "start": { "line": line, "character": 0 }, "end": { "line": 0, "character": 0 } });
    assert_eq!(blame(&mut client)["version"], 1);
    for (version, range) in [(2, range(-1)), (3, json!("all")), (4, range(0))] {
        change(&mut client, version, json!({ "range": range, "text": "!" }));
        let lost = blame(&mut client);
        assert_eq!(lost["version"], Value::Null, "{lost}");
    }
    world.ok(["checkpoint"]);
    assert_eq!(world.json(["show", "@"])["unsaved"], json!([]));
    change(&mut client, 5, json!({ "text": "one\n2\nthree\nfour\n" }));
    let found = blame(&mut client);
    assert_eq!(found["version"], 5);
    assert_eq!(found["runs"].as_array().expect("runs").len(), 4, "{found}");
    client.leave();
}

/// A version is sent twice, and a document is opened again without a close: the lines are those of the last text.
#[test]
fn a_repeated_version_is_a_new_text() {
    let world = one_turn(THREE_LINES);
    let mut client = Client::start(&world, Editor::Vscode);
    client.open("a.txt");
    let uri = client.uri("a.txt");
    let starts = |client: &mut Client| {
        let blame = client.ok("backstitch/blame", json!({ "uri": uri }));
        let runs = blame["runs"].as_array().expect("runs").iter();
        let agents = runs.filter(|run| run["by"] == "agent");
        agents
            .map(|run| run["start"].as_u64().expect("a line"))
            .collect::<Vec<_>>()
    };
    assert_eq!(starts(&mut client), [1]);
    let at = json!({ "line": 0, "character": 0 });
    client.notify(
        "textDocument/didChange",
        json!({
            "textDocument": { "uri": uri, "version": 1 },
            "contentChanges": [{ "range": { "start": at, "end": at }, "text": "new\n" }],
        }),
    );
    assert_eq!(starts(&mut client), [2]);
    client.open_with("a.txt", "a\nb\none\n2\nthree\n");
    assert_eq!(starts(&mut client), [3]);
    client.leave();
}

/// A misspelled argument is not ignored: without it the command would apply to everything.
#[test]
fn unknown_arguments_are_refused() {
    let world = one_turn(THREE_LINES);
    let own = json!({ "notifications": true });
    let mut client = Client::with(&world, Editor::Vscode, &own);
    for (method, params, key) in [
        ("backstitch/plan", json!({ "rv": "t1" }), "`rv`"),
        (
            "backstitch/plan",
            json!({ "rev": "t1", "path": ["b.txt"] }),
            "`path`",
        ),
        ("backstitch/timeline", json!({ "limt": 5 }), "`limt`"),
        ("backstitch/sessions", json!({ "sesion": "x" }), "`sesion`"),
        (
            "workspace/executeCommand",
            json!({ "command": "backstitch.rewind", "arguments": [{ "rev": "t1", "path": ["b.txt"] }] }),
            "`path`",
        ),
    ] {
        let error = client.fails(method, params);
        assert_eq!(error["code"], -32602, "{error}");
        let message = error["message"].as_str().expect("words");
        assert!(message.contains(key), "{message}");
    }
    assert_eq!(world.read("a.txt"), "one\n2\nthree\n");
    client.leave();
}

/// A page of any size is answered.
#[test]
fn a_page_of_any_size_is_answered() {
    let world = one_turn(THREE_LINES);
    let mut client = Client::start(&world, Editor::Vscode);
    for limit in [u64::MAX, 0] {
        let page = client.ok("backstitch/timeline", json!({ "limit": limit }));
        assert_eq!(page["more"], limit == 0, "{page}");
    }
    client.leave();
}

/// LSP: a server that gets `exit` without `shutdown` ends with exit code 1.
#[test]
fn an_exit_without_a_shutdown_is_an_error() {
    let world = one_turn(THREE_LINES);
    let client = Client::start(&world, Editor::Vscode);
    assert_eq!(client.exit(), Some(1));
    let client = Client::start(&world, Editor::Vscode);
    client.leave();
}
