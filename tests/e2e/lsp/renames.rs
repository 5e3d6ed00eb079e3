//! Files that the user renames in the editor: the state of their documents is kept.

use std::time::{Duration, Instant};

use serde_json::json;

use super::client::{Client, Editor};
use super::unsaved_text::until_unsaved;
use crate::support::World;

const TEXT: &str = "one\ntwo\nthree\nfour\nfive\nsix\nseven\n";

/// Waits until the condition holds.
fn until(mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_mins(1);
    while !holds() {
        assert!(Instant::now() < deadline, "it does not come to hold");
    }
}

/// A document with unsaved text and a pending save of a rewind keeps both. The server does not ask about the old file,
/// and the rename is the user's.
#[test]
fn a_renamed_document_keeps_unsaved_text_and_its_pending_save() {
    let world = World::committed(&[("a.txt", TEXT)]);
    let mut agent = world.agent();
    agent.prompt("make it two");
    agent.edit("a.txt", "two\n", "2\n");
    agent.stop();
    let mut client = Client::start(&world, Editor::Vscode);
    client.open("a.txt");
    client.command(
        "backstitch.rewind",
        json!({ "rev": "t1", "confirm": false }),
    );
    client.type_over("a.txt", "six", "mine");
    until_unsaved(&world, &["a.txt"]);
    client.rename("a.txt", "sub/b.txt");
    until_unsaved(&world, &["sub/b.txt"]);
    until(|| world.json(["status"])["pending_saves"][0]["path"] == "sub/b.txt");
    client.save("sub/b.txt");
    let mine = TEXT.replace("six", "mine");
    assert_eq!(world.read("sub/b.txt"), mine);
    world.ok(["checkpoint"]);
    assert_eq!(world.json(["status"])["pending_saves"], json!([]));
    client.command("backstitch.undo", json!({ "confirm": false }));
    assert_eq!(client.text("sub/b.txt"), mine.replace("two", "2"));
    client.save("sub/b.txt");
    let blame = world.json(["blame", "sub/b.txt"]);
    let runs = blame["runs"].as_array().expect("runs").iter();
    let of_agent = runs.filter(|run| run["turn"] == "t1").count();
    assert_eq!(of_agent, 1, "{blame}");
    assert_eq!(client.asked, Vec::<String>::new());
    assert!(!world.exists("a.txt"));
    client.leave();
    world.ok(["verify"]);
}

/// The directory above a document is renamed: the lines keep their authors at once.
#[test]
fn documents_in_a_renamed_directory_keep_their_authors() {
    let world = World::committed(&[("dir/a.txt", TEXT)]);
    let mut agent = world.agent();
    agent.prompt("make it two");
    agent.edit("dir/a.txt", "two\n", "2\n");
    agent.stop();
    let mut client = Client::start(&world, Editor::Vscode);
    let operations = &client.capabilities["workspace"]["fileOperations"];
    for operation in ["didCreate", "didRename", "didDelete"] {
        assert!(operations[operation].is_object(), "{operations}");
    }
    client.open("dir/a.txt");
    assert_eq!(client.lenses("dir/a.txt").len(), 4);
    let renamed = json!({ "oldUri": client.uri("dir"), "newUri": client.uri("dir2") });
    std::fs::rename(world.path("dir"), world.path("dir2")).expect("renamed");
    client.close("dir/a.txt");
    client.open("dir2/a.txt");
    client.notify("workspace/didRenameFiles", json!({ "files": [renamed] }));
    until(|| client.lenses("dir2/a.txt").len() == 4);
    assert_eq!(
        world.since_start().last().map(String::as_str),
        Some("you: rename dir/a.txt -> dir2/a.txt")
    );
    client.leave();
    world.ok(["verify"]);
}
