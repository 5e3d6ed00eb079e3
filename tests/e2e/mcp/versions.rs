//! Versions of the protocol: the newest, without a handshake, and those before it.

use serde_json::{Value, json};

use super::{LibraryClient, PlainClient, recorded};
use crate::control::Watcher;
use crate::support::World;

/// Client and server agree on a version with a handshake; one that is not known gets the last of those.
#[test]
fn a_version_is_negotiated() {
    let world = World::new();
    for (asked, agreed) in [
        ("2025-11-25", "2025-11-25"),
        ("2025-06-18", "2025-06-18"),
        ("2024-11-05", "2024-11-05"),
        ("2026-07-28", "2025-11-25"),
        ("1999-01-01", "2025-11-25"),
        ("nonsense", "2025-11-25"),
    ] {
        let mut client = PlainClient::start(&world);
        let answer = client.begin(asked);
        assert_eq!(answer["result"]["protocolVersion"], agreed, "{asked}");
        assert_eq!(answer["result"]["serverInfo"]["name"], "backstitch");
        assert!(client.call("log", &json!({}))["checkpoints"].is_array());
        assert_eq!(client.close().0, Some(0));
    }
}

/// The newest version has no handshake: each request says its version.
#[test]
fn each_request_says_its_version() {
    let world = recorded();
    let mut client = PlainClient::start(&world);
    let meta = |version: &str| {
        json!({
            "io.modelcontextprotocol/protocolVersion": version,
            "io.modelcontextprotocol/clientInfo": { "name": "newest", "version": "1" },
            "io.modelcontextprotocol/clientCapabilities": {},
        })
    };
    let discovered = client.ask("server/discover", &json!({ "_meta": meta("2026-07-28") }));
    let versions = discovered["result"]["supportedVersions"].as_array();
    let versions = versions.unwrap_or_else(|| panic!("{discovered:#}"));
    assert!(versions.contains(&json!("2026-07-28")), "{versions:?}");
    assert!(versions.contains(&json!("2025-11-25")), "{versions:?}");
    let call = |version: &str, name: &str, arguments: Value| json!({ "_meta": meta(version), "name": name, "arguments": arguments });
    let log = client.ask("tools/call", &call("2026-07-28", "log", json!({})));
    assert_eq!(log["result"]["resultType"], "complete", "{log:#}");
    let unknown = client.ask("tools/call", &call("2099-01-01", "log", json!({})));
    assert_eq!(
        unknown["error"]["data"]["requested"], "2099-01-01",
        "{unknown:#}"
    );
    // a decision is asked for in the same way
    let mut watcher = Watcher::start(&world);
    let id = client.send(
        "tools/call",
        &call("2026-07-28", "propose_rewind", json!({})),
    );
    assert_eq!(watcher.until("held")["agent"], "newest");
    world.ok(["resume"]);
    let done = client.answer_to(id);
    assert_eq!(
        done["result"]["structuredContent"]["state"], "applied",
        "{done:#}"
    );
    assert_eq!(client.close().0, Some(0));
}

/// The library's client speaks the newest version, too.
#[test]
fn the_library_speaks_the_newest_version() {
    let world = recorded();
    let client = LibraryClient::newest(&world);
    assert_eq!(client.ok("log", &json!({})).document["branch"], "main");
    let (kind, _) = client.fails("show", &json!({ "rev": "c99" }));
    assert_eq!(kind, "not_found");
    client.end();
}
