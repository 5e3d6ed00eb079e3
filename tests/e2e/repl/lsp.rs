//! REPLs over the language server: requests, errors, notifications.

use serde_json::json;

use super::python::Program;
use crate::control::{HeldHook, Watcher, before, began, edit};
use crate::lsp::client::{Client, Editor};
use crate::support::World;

/// S5-047…060, S5-142, S5-143, S5-148: sessions over LSP, with the kinds of their errors; a second viewer hears of each entry and of the end.
#[test]
fn sessions_over_lsp() {
    let world = World::committed(&[("a.txt", "one\ntwo\nthree\n")]);
    let own = json!({ "reloadsFromDisk": true, "notifications": true, "panels": true });
    let mut client = Client::with(&world, Editor::Vscode, &own);
    client.open("a.txt");
    let agent = began(&world);
    world.ok(["breakpoint", "add", "tool", "Edit"]);
    let input = edit(&world, "a.txt", "two", "2");
    let hook = HeldHook::start(&world, &before(&agent, "c1", "Edit", &input), 600);
    let told = |client: &Client<'_>, method: &str| {
        client
            .notified
            .iter()
            .filter(|(name, _)| name == method)
            .count()
    };
    client.until(|client| told(client, "backstitch/didPause") == 1);
    let kind = |error: serde_json::Value| {
        error["data"]["kind"]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    };
    assert_eq!(
        kind(client.fails("backstitch/repl/start", json!({ "pause": "p9" }))),
        "unknown_pause"
    );
    let started = client.ok("backstitch/repl/start", json!({ "pause": "p1" }));
    let session = started["session"]["id"].clone();
    client.until(|client| told(client, "backstitch/replChanged") == 1);
    let evaluated = client.ok(
        "backstitch/repl/eval",
        json!({ "session": session, "input": ".call.tool" }),
    );
    assert_eq!(evaluated["entry"]["output"], "\"Edit\"");
    client.until(|client| told(client, "backstitch/replOutput") == 1);
    assert_eq!(
        kind(client.fails(
            "backstitch/repl/eval",
            json!({ "session": session, "input": " " })
        )),
        "missing_field"
    );
    assert_eq!(
        kind(client.fails(
            "backstitch/repl/eval",
            json!({ "session": "1-1.000000", "input": "1" })
        )),
        "unknown_session"
    );
    assert_eq!(
        kind(client.fails("backstitch/repl/show", json!({ "session": "1-1.000000" }))),
        "unknown_session"
    );
    assert_eq!(
        kind(client.fails("backstitch/repl/close", json!({ "session": "1-1.000000" }))),
        "unknown_session"
    );
    assert_eq!(
        kind(client.fails("backstitch/repl/object", json!({ "cid": "sha256:0" }))),
        "not_found"
    );
    assert_eq!(
        kind(client.fails("backstitch/stack", json!({ "pause": "p9" }))),
        "unknown_pause"
    );
    let shown = client.ok("backstitch/repl/show", json!({ "session": session }));
    assert_eq!(
        (
            shown["entries"].as_array().map(Vec::len),
            shown["session"]["status"].as_str()
        ),
        (Some(1), Some("active"))
    );
    // an evaluation holds nothing else up, and its request can be cancelled
    let id = client.begin(
        "backstitch/repl/eval",
        json!({ "session": session, "input": "!sleep 300" }),
    );
    client.ok("backstitch/pauses", json!({}));
    client.notify("$/cancelRequest", json!({ "id": id }));
    assert_eq!(client.response(id)["error"]["code"], -32800);
    let id = client.begin(
        "backstitch/repl/eval",
        json!({ "session": session, "input": "!sleep 300" }),
    );
    client.command("backstitch.resume", json!({ "pause": "p1" }));
    assert_eq!(
        client.response(id)["error"]["data"]["kind"],
        "session_closed"
    );
    hook.answer();
    client.until(|client| told(client, "backstitch/replChanged") >= 2);
    assert_eq!(
        kind(client.fails("backstitch/repl/start", json!({ "pause": "p1" }))),
        "already_resumed"
    );
    assert_eq!(
        kind(client.fails(
            "backstitch/repl/eval",
            json!({ "session": session, "input": "1" })
        )),
        "session_closed"
    );
    let list = client.ok(
        "backstitch/repl/list",
        json!({ "search": "call.tool", "status": "closed" }),
    );
    assert_eq!(
        (list["sessions"].as_array().map(Vec::len), &list["more"]),
        (Some(1), &json!(false))
    );
    assert_eq!(
        client.ok("backstitch/calls", json!({}))["programs"],
        json!([])
    );
    client.leave();
}

/// S5-116: inputs that an editor sends one after the other, without waiting, are evaluated in that order.
#[test]
fn inputs_are_evaluated_in_the_order_of_the_requests() {
    let world = World::committed(&[("a.txt", "one\ntwo\nthree\n")]);
    let own = json!({ "reloadsFromDisk": true, "notifications": true, "panels": true });
    let mut client = Client::with(&world, Editor::Vscode, &own);
    client.open("a.txt");
    let mut watcher = Watcher::start(&world);
    let program = Program::start(&world, COUNTER);
    watcher.until("held");
    let started = client.ok("backstitch/repl/start", json!({ "pause": "p1" }));
    let session = started["session"]["id"].clone();
    let ids: Vec<i64> = (0..40)
        .map(|n| {
            let input = format!("seen.append({n}) or len(seen) - 1");
            let asked = json!({ "session": session, "input": input });
            client.begin("backstitch/repl/eval", asked)
        })
        .collect();
    for (n, id) in ids.into_iter().enumerate() {
        let entry = client.response(id)["result"]["entry"].clone();
        assert_eq!(entry["output"], n.to_string(), "{entry:#}");
        assert_eq!(entry["index"], n + 1, "{entry:#}");
    }
    world.ok(["resume"]);
    assert_eq!(program.end().0, 0);
    client.leave();
}

const COUNTER: &str = r#"import backstitch_debug as bs
bs.on()
seen = []
bs.pause("here")
"#;

/// An editor skips a program's call with a result. One that fails is refused, and the call stays held, with its REPL.
#[test]
fn a_result_is_given_over_lsp() {
    let world = World::committed(&[("a.txt", "a\n")]);
    world.ok(["checkpoint"]);
    world.ok(["breakpoint", "add", "function", "plan"]);
    let own = json!({ "reloadsFromDisk": true, "notifications": true, "panels": true });
    let mut client = Client::with(&world, Editor::Vscode, &own);
    client.open("a.txt");
    let source = r"
import backstitch_debug as bs
bs.on()
def plan(x): return x
print(bs.call(plan, 3))
";
    let mut program = Program::start(&world, source);
    client.until(|client| {
        let mut notified = client.notified.iter();
        notified.any(|(name, _)| name == "backstitch/didPause")
    });
    let started = client.ok("backstitch/repl/start", json!({ "pause": "p1" }));
    let session = started["session"]["id"].clone();
    let skip = |value: &str| json!({ "command": "backstitch.skip", "arguments": [{ "pause": "p1", "value": value }] });
    let refused = client.fails("workspace/executeCommand", skip("x / 0"));
    let message = refused["message"].as_str().unwrap_or_default();
    assert!(message.contains("ZeroDivisionError"), "{refused:#}");
    let evaluated = client.ok(
        "backstitch/repl/eval",
        json!({ "session": session, "input": "x" }),
    );
    assert_eq!(evaluated["entry"]["output"], "3");
    // nothing else waits while the program evaluates
    let slow =
        "[0 for _ in iter(lambda: __import__('os').path.exists('go'), True)] and 0 or x * 14";
    let id = client.begin("workspace/executeCommand", skip(slow));
    client.ok("backstitch/repl/list", json!({}));
    client.ok("backstitch/pauses", json!({}));
    world.write("go", "");
    assert!(client.response(id)["error"].is_null());
    assert_eq!(program.line(), "42");
    assert_eq!(program.end().0, 0);
    client.leave();
}
