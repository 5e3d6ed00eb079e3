//! Restores over text that is not saved: what the agent did goes, what was typed stays, whatever came in between.

use serde_json::{Value, json};

use super::client::{Client, Editor};
use crate::support::World;

const TEXT: &str = "one\ntwo\nthree\nfour\nfive\nsix\nseven\n";

fn start() -> World {
    World::committed(&[("a.txt", TEXT)])
}

fn own() -> Value {
    json!({ "reloadsFromDisk": true, "notifications": true })
}

fn quiet(rev: &str) -> Value {
    json!({ "rev": rev, "confirm": false })
}

/// By whom each line of the file is, as it was saved.
fn by(world: &World) -> Vec<String> {
    let blame = world.json(["blame", "a.txt"]);
    let lines = blame["lines"].as_array().expect("lines").iter();
    lines
        .map(|line| line["by"].as_str().expect("words").to_owned())
        .collect()
}

/// Two turns beneath what is typed, taken out one after the other, nothing saved in between: each goes from the
/// document, too, and undo brings each back.
#[test]
fn one_after_the_other() {
    for (editor, own) in [(Editor::Nvim, json!({})), (Editor::Vscode, own())] {
        let world = start();
        let mut agent = world.agent();
        let mut client = Client::with(&world, editor, &own);
        client.open("a.txt");
        client.type_over("a.txt", "one\n", "TYPED\none\n");
        agent.prompt("first");
        agent.edit("a.txt", "three\n", "three\nA1\n");
        agent.prompt("second");
        agent.edit("a.txt", "five\n", "five\nA2\n");
        agent.stop();
        client.command("backstitch.rewind", quiet("t2"));
        let first = client.text("a.txt").to_owned();
        assert!(
            first.contains("TYPED\n") && !first.contains("A2"),
            "{first}"
        );
        client.command("backstitch.rewind", quiet("t1"));
        let typed = TEXT.replace("one\n", "TYPED\none\n");
        assert_eq!(client.text("a.txt"), typed, "{editor:?}");
        client.command("backstitch.undo", json!({ "confirm": false }));
        assert_eq!(client.text("a.txt"), first, "{editor:?}");
        client.command("backstitch.redo", json!({ "confirm": false }));
        assert_eq!(client.text("a.txt"), typed, "{editor:?}");
        client.save("a.txt");
        client.leave();
        assert_eq!(world.read("a.txt"), typed);
        assert_eq!(by(&world)[0], "user");
        assert!(by(&world)[1..].iter().all(|by| by == "before"));
        world.ok(["verify"]);
    }
}

/// A key at once after the editor has read the file anew: what it goes on from is the agent's by then.
#[test]
fn typed_right_after_the_file_was_read_anew() {
    for own in [json!({}), own()] {
        let world = start();
        let mut agent = world.agent();
        let mut client = Client::with(&world, Editor::Vscode, &own);
        client.open("a.txt");
        client.idle();
        agent.prompt("first");
        agent.edit("a.txt", "three\n", "three\nA1\n");
        client.type_over("a.txt", "three\n", "three\nA1\n");
        client.type_over("a.txt", "seven\n", "seven\nTYPED\n");
        client.command("backstitch.rewind", quiet("t1"));
        let typed = format!("{TEXT}TYPED\n");
        assert_eq!(client.text("a.txt"), typed);
        client.save("a.txt");
        client.leave();
        assert_eq!(by(&world)[7], "user");
        assert!(by(&world)[..7].iter().all(|by| by == "before"));
    }
}

/// The agent changed a file and its mode: both are taken back, and what was typed stays.
#[test]
fn a_mode_beside_the_content() {
    let world = start();
    let mut agent = world.agent();
    let mut client = Client::start(&world, Editor::Nvim);
    client.open("a.txt");
    agent.prompt("make it run");
    agent.bash("sed -i 's/^two$/2/' a.txt && chmod +x a.txt");
    agent.stop();
    client.type_over("a.txt", "two\n", "2\n");
    client.type_over("a.txt", "seven\n", "seven\nTYPED\n");
    let done = client.command("backstitch.rewind", quiet("t1"));
    assert_eq!(done["gaps"], json!([]), "{done}");
    let typed = format!("{TEXT}TYPED\n");
    assert_eq!(client.text("a.txt"), typed);
    assert_eq!(world.read("a.txt"), TEXT);
    assert_eq!(world.mode("a.txt") & 0o111, 0);
    client.save("a.txt");
    client.leave();
    assert_eq!(world.read("a.txt"), typed);
    assert_eq!(by(&world)[1], "before");
    world.ok(["verify"]);
}

/// Text that an exact rewind takes out of a document is named before, and `undo` gives it back with what was typed
/// since.
#[test]
fn what_an_exact_rewind_takes_out_comes_back() {
    let world = start();
    let mut agent = world.agent();
    agent.prompt("make it two");
    agent.edit("a.txt", "two\n", "2\n");
    agent.stop();
    let mut client = Client::start(&world, Editor::Helix);
    client.open("a.txt");
    client.type_over("a.txt", "seven\n", "seven\nTYPED\n");
    let typed = client.text("a.txt").to_owned();
    client.will_choose("Rewind");
    client.command("backstitch.rewind", json!({ "rev": "t1", "exact": true }));
    assert_eq!(client.text("a.txt"), TEXT);
    let asked = client.asked[0].clone();
    assert!(
        asked.contains("text that is not saved is replaced"),
        "{asked}"
    );
    client.type_over("a.txt", "one\n", "ONE\n");
    client.command("backstitch.undo", json!({ "confirm": false }));
    assert_eq!(client.text("a.txt"), typed.replace("one\n", "ONE\n"));
    client.leave();
    world.ok(["verify"]);
}
