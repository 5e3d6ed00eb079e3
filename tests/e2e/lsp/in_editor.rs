//! Agents that work inside the editor: what goes through `backstitch/applyEdit` is theirs, what is typed is the
//! user's.

use serde_json::{Value, json};

use super::client::{Client, Editor, Edits};
use crate::support::World;

const TEXT: &str = "one\ntwo\nthree\nfour\nfive\nsix\nseven\n";

fn own() -> Value {
    json!({ "reloadsFromDisk": true, "notifications": true })
}

fn replace(client: &Client, path: &str, line: usize, new: &str) -> Value {
    let range = json!({
        "start": { "line": line, "character": 0 },
        "end": { "line": line + 1, "character": 0 },
    });
    json!({ "changes": { client.uri(path): [{ "range": range, "newText": new }] } })
}

fn begin(client: &mut Client, prompt: &str) {
    client.ok(
        "backstitch/turnBegin",
        json!({ "agent": "helper", "session": "s1", "prompt": prompt }),
    );
}

/// An edit through the editor is a step of the agent's turn, and what the user types beside it is
/// the user's, in the same file and before any of it is saved.
#[test]
fn an_agents_edit_through_the_editor_is_its_own() {
    let world = World::committed(&[("a.txt", TEXT), ("b.txt", "other\n")]);
    let mut client = Client::with(&world, Editor::Vscode, &own());
    client.open("a.txt");
    client.type_over("a.txt", "seven", "typed before");
    begin(&mut client, "make it two");
    let edit = replace(&client, "a.txt", 1, "2\n");
    let answer = client.ok(
        "backstitch/applyEdit",
        json!({ "label": "Edit", "edit": edit }),
    );
    assert_eq!(answer["applied"], true, "{answer}");
    client.type_over("a.txt", "four", "typed after");
    let edit = replace(&client, "a.txt", 4, "5\n");
    client.ok(
        "backstitch/applyEdit",
        json!({ "label": "Edit", "edit": edit }),
    );
    client.ok(
        "backstitch/turnEnd",
        json!({ "agent": "helper", "session": "s1" }),
    );
    assert_eq!(
        world.since_start(),
        [
            "t1: make it two",
            "you: modify a.txt",
            "t1 Edit: modify a.txt",
            "you: modify a.txt",
            "t1 Edit: modify a.txt",
        ]
    );
    assert_eq!(world.read("a.txt"), TEXT, "nothing was saved");
    let titles: Vec<u64> = client.lenses("a.txt").iter().map(|lens| lens.0).collect();
    assert_eq!(titles, [0, 1, 1, 1, 4, 4, 4]);
    client.save("a.txt");
    let saved = "one\n2\nthree\ntyped after\n5\nsix\ntyped before\n";
    assert_eq!(world.read("a.txt"), saved);
    client.command(
        "backstitch.rewind",
        json!({ "rev": "t1", "confirm": false }),
    );
    client.reload("a.txt");
    assert_eq!(
        client.text("a.txt"),
        "one\ntwo\nthree\ntyped after\nfive\nsix\ntyped before\n"
    );
    client.leave();
    world.ok(["verify"]);
}

/// A rewind before anything was saved changes the document alone.
#[test]
fn a_rewind_before_it_is_saved() {
    let world = World::committed(&[("a.txt", TEXT), ("b.txt", "other\n")]);
    let mut client = Client::with(&world, Editor::Vscode, &own());
    client.open("a.txt");
    begin(&mut client, "make it two");
    let edit = replace(&client, "a.txt", 1, "2\n");
    client.ok(
        "backstitch/applyEdit",
        json!({ "label": "Edit", "edit": edit }),
    );
    client.ok(
        "backstitch/turnEnd",
        json!({ "agent": "helper", "session": "s1" }),
    );
    client.type_over("a.txt", "six", "mine");
    client.command(
        "backstitch.rewind",
        json!({ "rev": "t1", "confirm": false }),
    );
    assert_eq!(client.text("a.txt"), TEXT.replace("six", "mine"));
    assert_eq!(world.read("a.txt"), TEXT);
    client.command("backstitch.undo", json!({ "confirm": false }));
    assert_eq!(
        client.text("a.txt"),
        TEXT.replace("six", "mine").replace("two", "2")
    );
    client.leave();
    world.ok(["verify"]);
}

/// What the editor did not take is nobody's step.
#[test]
fn an_edit_that_was_not_taken_is_not_recorded() {
    let world = World::committed(&[("a.txt", TEXT)]);
    let mut client = Client::with(&world, Editor::Vscode, &own());
    client.open("a.txt");
    let edit = replace(&client, "a.txt", 1, "2\n");
    let error = client.fails("backstitch/applyEdit", json!({ "edit": edit }));
    assert_eq!(error["data"]["kind"], "usage", "{error}");
    begin(&mut client, "make it two");
    client.edits = Edits::Pretended;
    let answer = client.ok("backstitch/applyEdit", json!({ "edit": edit }));
    assert_eq!(answer["applied"], false, "{answer}");
    assert_eq!(answer["checkpoints"], json!([]), "{answer}");
    assert_eq!(world.since_start(), ["t1: make it two"]);
    client.leave();
}
