//! A client in a hurry, one that says nonsense, one that dies: the server keeps the order of what it was told,
//! answers, and its store is whole.

use serde_json::{Value, json};

use super::client::{Client, Editor, Edits};
use crate::support::World;

fn start() -> World {
    let world = World::committed(&[("a.txt", "one\ntwo\nthree\n"), ("b.txt", "other\n")]);
    let mut agent = world.agent();
    agent.prompt("make it two");
    agent.edit("a.txt", "two\n", "2\n");
    agent.stop();
    world
}

fn lens_params(client: &Client) -> Value {
    json!({ "textDocument": { "uri": client.uri("a.txt") } })
}

/// Two thousand keys between requests that take long: every one arrives, in order.
#[test]
fn keys_between_slow_requests_keep_their_order() {
    let world = start();
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

/// Commands that wait for somebody to choose, and hundreds of messages behind them.
#[test]
fn commands_that_wait_for_an_answer_hold_nothing_up() {
    let world = start();
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

/// A request is called off while others are open; what it asked for is not half done.
#[test]
fn a_cancelled_command_changes_nothing_by_half() {
    let world = start();
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
    // waits behind whatever was still to be done
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

/// What is no JSON, no request, or names what is not there, is answered and survived.
#[test]
fn nonsense_is_answered_and_survived() {
    let world = start();
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
    // versions that go back, ranges beyond the text or turned round, documents that nobody opened
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

/// A document far above the limit is left alone, and everything else goes on.
#[test]
fn a_document_of_a_hundred_megabytes() {
    let world = start();
    let mut client = Client::start(&world, Editor::Vscode);
    let line = "a line of some length that repeats and repeats and repeats\n";
    client.open_with("big.txt", &line.repeat(100 * 1024 * 1024 / line.len()));
    client.type_over("big.txt", "a line", "the line");
    assert_eq!(client.lenses("big.txt"), []);
    client.open("a.txt");
    assert_eq!(client.lenses("a.txt").len(), 4);
    client.leave();
}

/// The client dies without a word, in the middle of a rewind that waits for it.
#[test]
fn a_client_that_dies_leaves_a_whole_store() {
    let world = start();
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
    // the text that was typed is kept
    let rewind = world.history().len();
    let kept = world.ok(["cat", &format!("c{rewind}"), "a.txt", "--unsaved"]);
    assert_eq!(kept.stdout, "one\n2\nmine\n");
}
