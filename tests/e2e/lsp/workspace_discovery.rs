//! The workspace that a document belongs to, and when: folders that are added and removed, histories that begin later,
//! files outside every workspace.

use serde_json::{Value, json};

use super::client::{Client, Editor};
use super::unsaved_text::until_unsaved;
use crate::support::World;
use crate::support::scenarios::{THREE_LINES, one_turn};

/// A directory next to the workspace, outside of it.
fn outside(world: &World) -> std::path::PathBuf {
    let root = world.path("").canonicalize().expect("a root");
    let name = root.file_name().expect("a name").to_string_lossy();
    let dir = root.with_file_name(format!("{name}-libraries"));
    std::fs::create_dir_all(&dir).expect("a directory");
    dir
}

/// Library files that are opened cost nothing, and requests without a path still mean the one workspace.
#[test]
fn files_outside_the_folders_are_ignored() {
    let world = one_turn(THREE_LINES);
    let mut client = Client::start(&world, Editor::Vscode);
    client.open("a.txt");
    assert_eq!(client.lenses("a.txt").len(), 4);
    let before = client.threads();
    let dir = outside(&world);
    for number in 0..30 {
        let own = dir.join(format!("lib{number}"));
        std::fs::create_dir_all(&own).expect("a directory");
        let file = own.join("lib.rs");
        std::fs::write(&file, "pub fn it() {}\n").expect("a file");
        let file = file.to_str().expect("a path");
        client.open_with(file, "pub fn it() {}\n");
        assert_eq!(client.lenses(file), []);
    }
    // a workspace would start several threads of its own
    let after = client.threads();
    assert!(after < before + 10, "{before} threads before, {after} now");
    let done = client.command("backstitch.undo", json!({ "plan": "no plan" }));
    let message = done["error"]["message"].as_str().unwrap_or_default();
    assert!(!message.contains("several workspaces"), "{done}");
    client.leave();
    std::fs::remove_dir_all(dir).expect("removed");
}

/// Without folders the document decides the workspace, which is closed with the last of its documents.
#[test]
fn without_folders_a_workspace_closes_with_its_last_document() {
    let world = one_turn(THREE_LINES);
    let mut client = Client::in_folders(&world, Editor::Helix, &Value::Null, &[]);
    client.ok("backstitch/blame", json!({ "uri": "untitled:1" }));
    client.open("a.txt");
    assert_eq!(client.lenses("a.txt").len(), 4);
    let done = client.command("backstitch.checkpoint", json!({}));
    assert!(done["error"].is_null(), "{done}");
    client.close("a.txt");
    // asks until it is closed
    client.said.clear();
    while client.command("backstitch.checkpoint", json!({}))["error"]["message"]
        != "no workspace is open"
    {}
    client.open("a.txt");
    assert_eq!(client.lenses("a.txt").len(), 4);
    client.leave();
}

/// An added folder attaches the documents in it to workspaces, and a removed one detaches them.
#[test]
fn a_folder_added_later_attaches_open_documents() {
    let world = one_turn(THREE_LINES);
    let dir = outside(&world);
    let elsewhere = dir.to_str().expect("a path");
    let mut client = Client::in_folders(&world, Editor::Vscode, &Value::Null, &[elsewhere]);
    client.open("a.txt");
    assert_eq!(client.lenses("a.txt"), []);
    let folder = json!({ "uri": client.uri(""), "name": "workspace" });
    let change =
        |added: Value, removed: Value| json!({ "event": { "added": added, "removed": removed } });
    client.notify(
        "workspace/didChangeWorkspaceFolders",
        change(json!([folder]), json!([])),
    );
    assert_eq!(client.lenses("a.txt").len(), 4);
    client.type_over("a.txt", "three", "mine");
    until_unsaved(&world, &["a.txt"]);
    client.notify(
        "workspace/didChangeWorkspaceFolders",
        change(json!([]), json!([folder])),
    );
    client.close("a.txt");
    client.open("a.txt");
    assert_eq!(client.lenses("a.txt"), []);
    client.leave();
    std::fs::remove_dir_all(dir).expect("removed");
}

/// The agent starts after the document was opened, in a directory above it that was not a workspace before.
#[test]
fn an_open_document_joins_a_history_that_begins_later() {
    let world = World::new();
    world.write("sub/a.txt", THREE_LINES);
    let mut client = Client::in_folders(&world, Editor::Nvim, &Value::Null, &[]);
    client.open("sub/a.txt");
    assert_eq!(client.lenses("sub/a.txt"), []);
    let mut agent = world.agent();
    agent.prompt("make it two");
    agent.edit("sub/a.txt", "two\n", "2\n");
    agent.stop();
    client.type_over("sub/a.txt", "two", "2");
    assert_eq!(client.lenses("sub/a.txt").len(), 4);
    client.leave();
}

/// A file whose directory does not exist yet.
#[test]
fn a_document_in_a_missing_directory_is_recorded_later() {
    let world = one_turn(THREE_LINES);
    let mut client = Client::start(&world, Editor::Vscode);
    client.open_with("new/b.txt", "one\n");
    until_unsaved(&world, &["new/b.txt"]);
    client.save("new/b.txt");
    until_unsaved(&world, &[]);
    client.leave();
}

/// Files of a version control system, such as a commit message, are never recorded.
#[test]
fn commit_messages_are_not_recorded() {
    let world = one_turn(THREE_LINES);
    let mut client = Client::start(&world, Editor::Vscode);
    client.open_with(".git/COMMIT_EDITMSG", "a secret\n");
    client.open("a.txt");
    client.type_over("a.txt", "three", "mine");
    until_unsaved(&world, &["a.txt"]);
    let uri = client.uri(".git/COMMIT_EDITMSG");
    let blame = client.ok("backstitch/blame", json!({ "uri": uri }));
    assert_eq!(blame["version"], Value::Null);
    client.leave();
}

/// Lens requests for documents without lines return nothing, with one message about the unsaved text of a huge one.
#[test]
fn binary_and_huge_documents_are_skipped() {
    let world = one_turn(THREE_LINES);
    world.write("huge.txt", "line\n".repeat(3 << 20));
    world.write("bin.dat", b"a\0b\n");
    let mut client = Client::start(&world, Editor::Vscode);
    for (path, text) in [
        ("bin.dat", "a\0b\n".to_owned()),
        ("huge.txt", world.read("huge.txt")),
    ] {
        client.open_with(path, &text);
        client.close(path);
        client.open_with(path, &text);
        assert_eq!(client.lenses(path), []);
        let uri = client.uri(path);
        let at = json!({ "line": 0, "character": 0 });
        let params = json!({ "textDocument": { "uri": uri }, "position": at });
        assert_eq!(client.ok("textDocument/hover", params), Value::Null);
        assert_eq!(client.actions(path, 0..1), []);
    }
    client.until(|client| !client.said.is_empty());
    let said = &client.said;
    assert!(
        said.len() == 1 && said[0].starts_with("huge.txt"),
        "{said:?}"
    );
    client.leave();
}

/// No history begins at the root of the file system because an editor has it open. The server says so, and a document
/// in it belongs to its own workspace.
#[test]
fn the_root_of_the_file_system_is_no_workspace() {
    let world = World::new();
    world.write("a.txt", THREE_LINES);
    let mut client = Client::in_folders(&world, Editor::Vscode, &Value::Null, &["/"]);
    client.open_with("/backstitch-none.txt", THREE_LINES);
    assert_eq!(client.lenses("/backstitch-none.txt"), []);
    for command in ["backstitch.checkpoint", "backstitch.undo"] {
        let refused = client.command(command, json!({}));
        let message = &refused["error"]["message"];
        assert_eq!(message, "no workspace is open", "{refused}");
    }
    let left = std::fs::read_dir(&world.state)
        .expect("a directory")
        .count();
    assert_eq!(left, 0, "nothing is kept");
    client.open("a.txt");
    let done = client.command("backstitch.checkpoint", json!({}));
    assert_eq!(done["coverage"]["captured"], 1, "{done}");
    client.leave();
    let status = world.json(["status"]);
    assert_eq!(status["workspace"], json!(world.root), "{status}");
}
