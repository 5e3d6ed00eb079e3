//! `server/docs/protocol.md` is what the server does: every name stands on both sides.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use serde_json::json;

use super::client::{Client, Editor};
use crate::support::World;

fn server() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../server")
}

/// The words of a text that begin with `start`, as far as names go.
fn names(text: &str, start: &str) -> BTreeSet<String> {
    let after = |at: usize| {
        let rest = &text[at + start.len()..];
        let end = rest.find(|c: char| !c.is_ascii_alphabetic() && c != '.');
        let name = rest[..end.unwrap_or(rest.len())].trim_end_matches('.');
        format!("{start}{name}")
    };
    text.match_indices(start).map(|(at, _)| after(at)).collect()
}

fn documented(start: &str) -> BTreeSet<String> {
    let page = fs::read_to_string(server().join("docs/protocol.md")).expect("the page");
    // in tables and text alike, between ticks
    names(&page, &format!("`{start}"))
        .into_iter()
        .map(|name| name.trim_start_matches('`').to_owned())
        .collect()
}

fn in_code(start: &str) -> BTreeSet<String> {
    let mut all = BTreeSet::new();
    let files = fs::read_dir(server().join("src/lsp")).expect("the code");
    let files = files.map(|file| file.expect("a file").path());
    // what is in folders there is for tests
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

#[test]
fn every_name_is_documented() {
    for start in ["backstitch/", "backstitch."] {
        let documented = documented(start);
        assert_eq!(in_code(start), documented);
    }
}

/// What the page calls a request is answered as one, and every command is offered.
#[test]
fn every_documented_request_is_answered() {
    let world = World::committed(&[("a.txt", "one\n")]);
    let mut client = Client::start(&world, Editor::Vscode);
    for method in documented("backstitch/") {
        let told = ["did", "timelineChanged", "unreadable"];
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
