//! Messages that are none, and the end of the client.

use serde_json::json;

use super::{PlainClient, recorded};
use crate::support::World;

/// Lines that are not messages, before and after the handshake, cost nothing but themselves.
#[test]
fn garbage_is_passed_over() {
    let world = recorded();
    let mut client = PlainClient::start(&world);
    let garbage: [&[u8]; 9] = [
        b"",
        b"hello",
        b"{",
        b"[]",
        b"null",
        b"\xff\xfe\x00",
        br#"{"jsonrpc":"2.0"}"#,
        br#"{"jsonrpc":"2.0","method":"notifications/nothing"}"#,
        br#"{"jsonrpc":"2.0","id":99,"result":{}}"#,
    ];
    for line in garbage {
        client.write(line);
    }
    // requests before the handshake are answered, and begin nothing
    client.ask("ping", &json!({}));
    for (method, params) in [
        ("tools/list", json!({})),
        ("no/such", json!({})),
        ("initialize", json!({ "protocolVersion": 7 })),
        ("server/discover", json!({})),
    ] {
        let answer = client.ask(method, &params);
        assert!(answer["error"].is_object(), "{method}: {answer}");
    }
    for line in garbage {
        client.write(line);
    }
    client.begin("2025-11-25");
    for line in garbage {
        client.write(line);
    }
    client.write("x".repeat(20 << 20));
    for (method, params) in [
        ("no/such", json!({})),
        ("tools/call", json!({ "name": 7 })),
        ("tools/call", json!({ "name": "log", "arguments": [] })),
        ("resources/read", json!({})),
        ("resources/read", json!({ "uri": null })),
        ("prompts/get", json!({ "name": "x" })),
        ("logging/setLevel", json!({ "level": "debug" })),
    ] {
        let answer = client.ask(method, &params);
        assert!(
            answer["error"]["message"].is_string(),
            "{method} {params}: {answer}"
        );
    }
    assert!(client.call("log", &json!({}))["checkpoints"].is_array());
    let (code, left) = client.close();
    assert_eq!((code, left), (Some(0), vec![]));
}

/// The server ends when stdin does, also before any message, and answers what it has begun.
#[test]
fn the_end_of_stdin_ends_the_server() {
    let world = recorded();
    let (code, said) = PlainClient::start(&world).close();
    assert_eq!((code, said), (Some(0), vec![]));
    let mut client = PlainClient::begun(&world);
    let id = client.send_call("log", &json!({}));
    let (code, said) = client.close();
    assert_eq!(code, Some(0));
    assert_eq!(
        said.last().map(|last| last["id"] == id),
        Some(true),
        "{said:?}"
    );
}

/// stdout has messages of the protocol alone, whatever is logged.
#[test]
fn logs_go_to_stderr() {
    let world = recorded();
    let mut command = world.backstitch();
    command.arg("mcp").env("RUST_LOG", "trace");
    let input = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}
{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"show","arguments":{"rev":"c99"}}}
"#;
    let output = crate::support::finish(&mut command, input.as_bytes()).expect_code(0);
    for line in output.stdout.lines() {
        let message: serde_json::Value = serde_json::from_str(line).expect("a message");
        assert_eq!(message["jsonrpc"], "2.0");
    }
    assert!(!output.stderr.is_empty());
}

/// A named directory that does not exist is an error of use; a home directory is none of the server.
#[test]
fn places_that_are_no_workspace() {
    let world = World::new();
    let missing = world
        .run(["mcp", "--workspace", "/nonexistent/place"])
        .expect_code(2);
    assert!(missing.stderr.contains("no such directory"), "{missing}");
    let mut at_home = world.beside("home");
    at_home.root = world.home.clone();
    let mut client = PlainClient::begun(&at_home);
    let id = client.send_call("log", &json!({}));
    let answer = client.answer_to(id);
    assert_eq!(answer["result"]["isError"], true, "{answer:#}");
    let text = answer["result"]["content"][0]["text"]
        .as_str()
        .expect("a text");
    assert!(text.contains("--workspace"), "{text}");
    assert_eq!(client.close().0, Some(0));
}

/// A server that is idle holds nothing: other commands work beside it, and the history can be removed.
#[test]
fn nothing_is_held_between_calls() {
    let world = recorded();
    let mut client = PlainClient::begun(&world);
    client.call("log", &json!({}));
    world.ok(["rewind", "t1", "--yes"]);
    world.ok(["gc"]);
    world.ok(["clear", "--yes"]);
    let log = client.call("log", &json!({}));
    assert_eq!(log["checkpoints"], json!([]));
    assert_eq!(client.close().0, Some(0));
}
