//! Text that is not saved, case by case, over the real server: it is part of the state, and nothing of it is lost.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::client::{Client, Editor};
use crate::support::World;

const TEXT: &str = "one\ntwo\nthree\nfour\nfive\nsix\nseven\n";

fn start() -> World {
    World::committed(&[("a.txt", TEXT), ("b.txt", "other\n")])
}

fn own() -> Value {
    json!({ "reloadsFromDisk": true, "notifications": true })
}

/// The documents that the store knows to be unsaved.
fn unsaved(world: &World) -> Vec<String> {
    let editors = world.json(["status"])["editors"].clone();
    let editors = editors.as_array().expect("editors").iter();
    editors
        .flat_map(|editor| editor["unsaved"].as_array().cloned().unwrap_or_default())
        .map(|path| path.as_str().expect("a path").to_owned())
        .collect()
}

/// Asks until it is so.
pub fn until_unsaved(world: &World, paths: &[&str]) {
    let deadline = Instant::now() + Duration::from_mins(1);
    while unsaved(world) != paths {
        assert!(Instant::now() < deadline, "{:?}", unsaved(world));
    }
}

/// What was typed and not saved when the prompt was sent is part of that checkpoint.
#[test]
fn typed_before_a_prompt() {
    let world = start();
    world.ok(["checkpoint"]);
    let mut client = Client::with(&world, Editor::Vscode, &own());
    client.open("a.txt");
    client.type_over("a.txt", "six", "mine");
    until_unsaved(&world, &["a.txt"]);
    let mut agent = world.agent();
    agent.prompt("go");
    agent.edit("b.txt", "other", "another");
    agent.stop();
    let turn = world.json(["show", "t1"]);
    assert_eq!(turn["unsaved"][0]["path"], "a.txt", "{turn}");
    let kept = world.ok(["cat", "t1", "a.txt", "--unsaved"]);
    assert_eq!(kept.stdout, TEXT.replace("six", "mine"));
    client.save("a.txt");
    until_unsaved(&world, &[]);
    client.leave();
}

/// An agent that writes to the file below is announced, and the text is kept with its checkpoint.
#[test]
fn an_agent_writes_below_it() {
    let world = start();
    world.ok(["checkpoint"]);
    let mut client = Client::with(&world, Editor::Vscode, &own());
    client.open("a.txt");
    client.type_over("a.txt", "six", "mine");
    until_unsaved(&world, &["a.txt"]);
    let mut agent = world.agent();
    agent.prompt("go");
    client.until(|client| !client.notified.is_empty());
    agent.edit("a.txt", "two\n", "2\n");
    agent.stop();
    client.until(|client| {
        client
            .said
            .iter()
            .any(|said| said.contains("a.txt on disk"))
    });
    let said = client
        .said
        .iter()
        .find(|said| said.contains("on disk"))
        .expect("said");
    assert!(
        said.starts_with("claude-code changed a.txt on disk, where you have text"),
        "{said}"
    );
    let step = world.id("t1 Edit: modify a.txt");
    assert!(
        said.ends_with(&format!("Your text is kept at {step}.")),
        "{said}"
    );
    let kept = world.ok(["cat", &step, "a.txt", "--unsaved"]);
    assert_eq!(kept.stdout, TEXT.replace("six", "mine"));
    assert_eq!(client.text("a.txt"), TEXT.replace("six", "mine"));
    client.leave();
}

/// One hunk of what an agent did is taken out of a document with text that is not saved.
#[test]
fn one_hunk_is_taken_out_of_it() {
    let world = start();
    let mut agent = world.agent();
    agent.prompt("go");
    agent.edit("a.txt", "two\n", "2\n");
    agent.edit("a.txt", "five\n", "5\n");
    agent.stop();
    let mut client = Client::with(&world, Editor::Vscode, &own());
    client.open("a.txt");
    client.type_over("a.txt", "seven", "mine");
    let diff = client.ok("backstitch/diff", json!({ "from": "t1", "to": "@" }));
    let hunk = &diff["files"][0]["hunks"][1];
    assert_eq!(hunk["added"], json!(["5"]), "{diff}");
    assert_eq!(hunk["words"]["added"], json!([[0, 0, 1]]), "{diff}");
    client.command(
        "backstitch.rewind",
        json!({ "rev": "t1", "hunks": [hunk["id"]], "confirm": false }),
    );
    let expected = TEXT.replace("two", "2").replace("seven", "mine");
    assert_eq!(client.text("a.txt"), expected);
    client.save("a.txt");
    assert_eq!(world.read("a.txt"), expected);
    client.leave();
}

/// A document that shows a rewind is closed without being saved: it is written or not, as the user says.
#[test]
fn it_is_closed_without_being_saved() {
    for (answer, expected) in [
        ("Write it", TEXT.to_owned()),
        ("Leave the file", TEXT.replace("two", "2")),
    ] {
        let world = start();
        let mut agent = world.agent();
        agent.prompt("go");
        agent.edit("a.txt", "two\n", "2\n");
        agent.stop();
        let mut client = Client::start(&world, Editor::Helix);
        client.open("a.txt");
        client.command(
            "backstitch.rewind",
            json!({ "rev": "t1", "confirm": false }),
        );
        assert_eq!(client.text("a.txt"), TEXT);
        assert_eq!(world.json(["status"])["pending_saves"][0]["path"], "a.txt");
        client.will_choose(answer);
        client.close("a.txt");
        client.until(|client| {
            client
                .asked
                .iter()
                .any(|asked| asked.starts_with("a.txt was closed"))
        });
        let deadline = Instant::now() + Duration::from_mins(1);
        while world.json(["status"])["pending_saves"] != json!([]) {
            assert!(Instant::now() < deadline, "it still waits");
        }
        assert_eq!(world.read("a.txt"), expected, "{answer}");
        client.leave();
        world.ok(["verify"]);
    }
}

/// Two editors have the file open, one with text that is not saved: the other's rewind leaves that alone, and says so.
#[test]
fn two_editors_on_one_file() {
    let world = start();
    let mut agent = world.agent();
    agent.prompt("go");
    agent.edit("a.txt", "two\n", "2\n");
    agent.stop();
    let mut first = Client::with(&world, Editor::Vscode, &own());
    let mut second = Client::with(&world, Editor::Nvim, &own());
    first.open("a.txt");
    second.open("a.txt");
    first.type_over("a.txt", "six", "mine");
    until_unsaved(&world, &["a.txt"]);
    let rewind = json!({ "rev": "t1", "confirm": false });
    let asked = json!({ "command": "backstitch.rewind", "arguments": [rewind] });
    let error = second.fails("workspace/executeCommand", &asked);
    let message = error["message"].as_str().expect("words");
    assert!(
        message.starts_with("text that is not saved is in the way: a.txt in Visual Studio Code"),
        "{message}"
    );
    assert_eq!(world.read("a.txt"), TEXT.replace("two", "2"));
    assert_eq!(
        first.text("a.txt"),
        TEXT.replace("two", "2").replace("six", "mine")
    );
    first.save("a.txt");
    until_unsaved(&world, &[]);
    second.reload("a.txt");
    second.ok("workspace/executeCommand", &asked);
    assert_eq!(world.read("a.txt"), TEXT.replace("six", "mine"));
    first.leave();
    second.leave();
}

/// The command line rewinds a file that an editor has not saved: the editor does it.
#[test]
fn a_command_line_asks_the_editor() {
    let world = start();
    let mut agent = world.agent();
    agent.prompt("go");
    agent.edit("a.txt", "two\n", "2\n");
    agent.stop();
    let mut client = Client::with(&world, Editor::Vscode, &own());
    client.open("a.txt");
    client.type_over("a.txt", "six", "mine");
    until_unsaved(&world, &["a.txt"]);
    std::thread::scope(|scope| {
        let rewind = scope.spawn(|| world.json(["rewind", "t1"]));
        client.until(|client| client.edited > 0);
        let answer = loop {
            client.ok("backstitch/sessions", json!({}));
            if rewind.is_finished() {
                break rewind.join().expect("an answer");
            }
        };
        assert_eq!(answer["editor"]["name"], "Visual Studio Code", "{answer}");
    });
    assert_eq!(client.text("a.txt"), TEXT.replace("six", "mine"));
    assert_eq!(world.read("a.txt"), TEXT.replace("two", "2"));
    client.save("a.txt");
    assert_eq!(world.read("a.txt"), TEXT.replace("six", "mine"));
    client.leave();
}

/// A reload is told as a close and an open: nothing was left, and nothing is asked.
#[test]
fn a_close_and_an_open_are_one_change() {
    let world = start();
    let mut agent = world.agent();
    agent.prompt("go");
    agent.edit("a.txt", "two\n", "2\n");
    agent.stop();
    let mut client = Client::start(&world, Editor::Nvim);
    client.open("a.txt");
    client.command(
        "backstitch.rewind",
        json!({ "rev": "t1", "confirm": false }),
    );
    let text = client.text("a.txt").to_owned();
    client.close("a.txt");
    client.open_with("a.txt", &text);
    until_unsaved(&world, &["a.txt"]);
    client.save("a.txt");
    until_unsaved(&world, &[]);
    assert_eq!(client.asked, Vec::<String>::new());
    client.leave();
}
