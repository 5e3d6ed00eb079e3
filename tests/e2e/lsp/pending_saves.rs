//! Pending saves: files that were rewound in the editor and not saved yet, over the real server. The tests show how a
//! pending save ends, and that the record then equals disk and document.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::client::{Client, Editor};
use crate::support::World;
use crate::support::scenarios::{SEVEN_LINES, one_turn};

fn agents() -> String {
    SEVEN_LINES.replace("two", "2")
}

/// An editor that does not reload files, with the turn taken out in its document.
fn rewound(world: &World) -> Client<'_> {
    let mut client = Client::start(world, Editor::Helix);
    client.open("a.txt");
    rewind(&mut client);
    assert_eq!(client.text("a.txt"), SEVEN_LINES);
    assert_eq!(waits(world), ["a.txt"]);
    client
}

fn rewind(client: &mut Client<'_>) -> Value {
    let quiet = json!({ "rev": "t1", "confirm": false });
    client.command("backstitch.rewind", quiet)
}

fn paths(rows: &Value) -> Vec<String> {
    let rows = rows.as_array().expect("rows").iter();
    rows.map(|row| row["path"].as_str().expect("a path").to_owned())
        .collect()
}

fn waits(world: &World) -> Vec<String> {
    paths(&world.json(["status"])["pending_saves"])
}

/// Waits until the condition holds.
fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_mins(1);
    while !holds() {
        assert!(Instant::now() < deadline, "{what}");
    }
}

fn until_nothing_waits(world: &World) {
    until("it still waits", || waits(world).is_empty());
}

/// Author of each line in the document: `agent`, `user`, `before`.
fn authors(client: &mut Client<'_>) -> Vec<String> {
    let blame = client.ok("backstitch/blame", json!({ "uri": client.uri("a.txt") }));
    let runs = blame["runs"].as_array().expect("runs").clone();
    let lines = runs.iter().flat_map(|run| {
        let count = usize::try_from(run["count"].as_u64().expect("a count")).expect("small");
        vec![run["by"].as_str().expect("words").to_owned(); count]
    });
    lines.collect()
}

/// The user reverses the rewind with the editor's own undo and saves: the agent's line is there again, is attributed
/// to the agent, and can be taken out again.
#[test]
fn editor_undo_and_a_save_reverse_a_rewind() {
    let world = one_turn(SEVEN_LINES);
    let mut client = rewound(&world);
    client.type_over("a.txt", "two", "2");
    client.save("a.txt");
    until_nothing_waits(&world);
    assert_eq!(client.text("a.txt"), agents());
    assert_eq!(authors(&mut client)[..3], ["before", "agent", "before"]);
    let mut agent = world.agent();
    agent.prompt("go on");
    assert_eq!(world.at("t2", "a.txt").as_deref(), Some(agents().as_str()));
    rewind(&mut client);
    assert_eq!(client.text("a.txt"), SEVEN_LINES);
    client.save("a.txt");
    until_nothing_waits(&world);
    assert_eq!(world.read("a.txt"), SEVEN_LINES);
    assert_eq!(world.at("@", "a.txt").as_deref(), Some(SEVEN_LINES));
    client.leave();
    world.ok(["verify"]);
}

/// The same without a save, since there is nothing to save.
#[test]
fn a_document_equal_to_its_file_has_no_pending_save() {
    let world = one_turn(SEVEN_LINES);
    let mut client = rewound(&world);
    until("it is not unsaved", || paths_unsaved(&world) == ["a.txt"]);
    client.type_over("a.txt", "two", "2");
    until_nothing_waits(&world);
    assert_eq!(world.at("@", "a.txt").as_deref(), Some(agents().as_str()));
    assert_eq!(authors(&mut client)[1], "agent");
    client.leave();
    world.ok(["verify"]);
}

fn paths_unsaved(world: &World) -> Vec<String> {
    let status = world.json(["status"]);
    let editors = status["editors"].as_array().expect("editors").iter();
    let paths = editors.flat_map(|e| e["unsaved"].as_array().cloned().unwrap_or_default());
    paths
        .map(|path| path.as_str().expect("a path").to_owned())
        .collect()
}

/// Reversed, with a typed line next to it: the one is the agent's, the other the user's.
#[test]
fn text_typed_after_the_editors_undo_is_the_users() {
    let world = one_turn(SEVEN_LINES);
    let mut client = rewound(&world);
    client.type_over("a.txt", "two", "2");
    client.type_over("a.txt", "six", "mine");
    client.save("a.txt");
    until_nothing_waits(&world);
    let authors = authors(&mut client);
    assert_eq!(
        (authors[1].as_str(), authors[5].as_str()),
        ("agent", "user")
    );
    client.leave();
    world.ok(["verify"]);
}

/// Runs a restore of another process while the editor answers the server.
fn restore(world: &World, client: &mut Client<'_>, args: [&str; 4]) {
    std::thread::scope(|scope| {
        let command = scope.spawn(|| world.ok(args));
        while !command.is_finished() {
            client.ok("backstitch/sessions", json!({}));
        }
        command.join().expect("done");
    });
}

/// A restore follows another one closely: news of the first one ends no wait of the second. The moments between them differ.
#[test]
fn a_wait_is_not_ended_by_older_news() {
    let world = one_turn(SEVEN_LINES);
    let mut client = Client::start(&world, Editor::Helix);
    client.open("a.txt");
    let wanted = [SEVEN_LINES.to_owned(), agents()];
    for round in 0..24 {
        for (args, text) in [["rewind", "t1"], ["undo", "--json"]].iter().zip(&wanted) {
            let args = [args[0], args[1], "--yes", "--on-conflict=target"];
            restore(&world, &mut client, args);
            // the user reads a file again that the server has not brought into its document
            let disk = world.read("a.txt");
            if client.text("a.txt") != disk && disk == *text {
                let all = 0..client.text("a.txt").len();
                client.replace("a.txt", all, &disk);
            }
            for _ in 0..round {
                client.ok("backstitch/sessions", json!({}));
            }
        }
        until("the text arrives", || {
            client.ok("backstitch/sessions", json!({}));
            client.text("a.txt") == wanted[1]
        });
        if world.read("a.txt") != wanted[1] {
            client.save("a.txt");
        }
        until_nothing_waits(&world);
        assert_eq!(client.text("a.txt"), wanted[1]);
        assert_eq!(world.read("a.txt"), wanted[1]);
    }
    client.leave();
    world.ok(["verify"]);
}

/// Saving ends the pending save at once, and closing then asks nothing. The other file is closed later and asked
/// about: by then the server would have asked about the first one, too.
#[test]
fn closing_a_saved_document_asks_nothing() {
    let world = World::committed(&[
        ("a.txt", SEVEN_LINES),
        ("b.txt", SEVEN_LINES),
        ("c.txt", SEVEN_LINES),
    ]);
    let mut agent = world.agent();
    agent.prompt("make it two");
    for path in ["a.txt", "b.txt", "c.txt"] {
        agent.edit(path, "two\n", "2\n");
    }
    agent.stop();
    let mut client = Client::start(&world, Editor::Helix);
    for path in ["a.txt", "b.txt", "c.txt"] {
        client.open(path);
    }
    rewind(&mut client);
    client.save("a.txt");
    until("a.txt still waits", || waits(&world) == ["b.txt", "c.txt"]);
    client.close("a.txt");
    // saved with more than the rewind, and closed at once
    client.type_over("b.txt", "six", "mine");
    client.save("b.txt");
    client.close("b.txt");
    client.will_choose("Leave the file");
    client.close("c.txt");
    client.until(|client| !client.asked.is_empty());
    assert!(client.asked[0].starts_with("c.txt was closed"));
    until_nothing_waits(&world);
    assert_eq!(client.asked.len(), 1);
    client.leave();
    let kept = world.at("@", "b.txt").expect("there");
    assert_eq!(kept, SEVEN_LINES.replace("six", "mine"));
    world.ok(["verify"]);
}

/// An editor ended without saving, in any way: the next editor of the workspace is asked.
#[test]
fn the_next_editor_is_asked_about_pending_saves() {
    for (killed, answer) in [
        (true, "Write it"),
        (true, "Leave the file"),
        (false, "Write it"),
        (false, "Leave the file"),
    ] {
        let world = one_turn(SEVEN_LINES);
        let mut client = rewound(&world);
        if killed {
            until("not recorded", || paths_unsaved(&world) == ["a.txt"]);
            client.kill();
        } else {
            client.close("a.txt");
            client.leave();
        }
        let mut next = Client::start(&world, Editor::Helix);
        next.will_choose(answer);
        next.open("a.txt");
        next.until(|next| !next.asked.is_empty());
        assert_eq!(
            next.asked,
            ["helix ended before the changes of op1 in a.txt were saved. Write them to the file?"]
        );
        until_nothing_waits(&world);
        until("text is left", || {
            world.json(["status"])["unsaved_left"] == json!([])
        });
        if answer == "Write it" {
            let uri = next.uri("a.txt");
            next.until(|next| next.documents[&uri].text == SEVEN_LINES);
            assert_eq!(world.read("a.txt"), SEVEN_LINES);
        } else {
            assert_eq!(world.read("a.txt"), agents());
            assert_eq!(authors(&mut next)[1], "agent");
        }
        assert_eq!(next.asked.len(), 1, "{:?}", next.asked);
        next.leave();
        world.ok(["verify"]);
    }
}

/// An agent continues from the text on disk: the earlier line keeps its author, and is taken out again.
#[test]
fn an_agents_write_during_a_pending_save_keeps_line_authors() {
    let world = one_turn(SEVEN_LINES);
    let mut client = rewound(&world);
    let mut agent = world.agent();
    agent.prompt("and five");
    agent.edit("a.txt", "five\n", "5\n");
    agent.stop();
    until_nothing_waits(&world);
    client.reload("a.txt");
    let authors = authors(&mut client);
    assert_eq!(
        (authors[1].as_str(), authors[4].as_str()),
        ("agent", "agent")
    );
    client.leave();
    world.ok(["rewind", "t1", "--yes"]);
    assert_eq!(world.read("a.txt"), SEVEN_LINES.replace("five", "5"));
    world.ok(["verify"]);
}

/// `undo` skips a rewind that was reversed in the editor and never saved.
#[test]
fn undo_skips_a_rewind_that_was_never_saved() {
    let world = World::committed(&[("a.txt", SEVEN_LINES), ("b.txt", SEVEN_LINES)]);
    let mut agent = world.agent();
    agent.prompt("make it two");
    agent.edit("a.txt", "two\n", "2\n");
    agent.edit("b.txt", "two\n", "2\n");
    agent.stop();
    let mut client = Client::start(&world, Editor::Helix);
    let only = |path: &str| json!({ "rev": "t1", "confirm": false, "paths": [path] });
    client.command("backstitch.rewind", only("b.txt"));
    assert_eq!(world.read("b.txt"), SEVEN_LINES);
    client.open("a.txt");
    // while it is only unsaved, `undo` applies to it
    client.command("backstitch.rewind", only("a.txt"));
    client.command("backstitch.undo", json!({ "confirm": false }));
    assert_eq!(client.text("a.txt"), agents());
    assert_eq!(world.read("b.txt"), SEVEN_LINES);
    client.command("backstitch.rewind", only("a.txt"));
    assert_eq!(client.text("a.txt"), SEVEN_LINES);
    client.type_over("a.txt", "two", "2");
    until_nothing_waits(&world);
    client.command("backstitch.undo", json!({ "confirm": false }));
    assert_eq!(world.read("b.txt"), agents());
    assert_eq!(client.text("a.txt"), agents());
    let nothing = client.command("backstitch.undo", json!({ "confirm": false }));
    let nothing = nothing["error"]["message"].to_string();
    assert!(nothing.contains("no operation to undo"), "{nothing}");
    client.leave();
    world.ok(["verify"]);
}

/// The editor's own undo and redo before the save: the rewind is repeated, with all line authors, and can be undone.
#[test]
fn the_editors_own_redo_repeats_the_rewind() {
    let world = one_turn(SEVEN_LINES);
    let mut client = rewound(&world);
    client.type_over("a.txt", "two", "2");
    until_nothing_waits(&world);
    client.type_over("a.txt", "2", "two");
    client.type_over("a.txt", "six", "mine");
    client.save("a.txt");
    let typed = SEVEN_LINES.replace("six", "mine");
    until("it is not recorded", || {
        world.at("@", "a.txt").as_deref() == Some(typed.as_str())
    });
    let authors = authors(&mut client);
    assert_eq!(
        (authors[1].as_str(), authors[5].as_str()),
        ("before", "user")
    );
    client.command("backstitch.undo", json!({ "confirm": false }));
    assert_eq!(client.text("a.txt"), agents().replace("six", "mine"));
    client.leave();
    world.ok(["verify"]);
}
