//! Unsaved text, case by case, over the real server: it is part of the recorded state, and none of it is lost.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::client::{Client, Editor, Edits};
use crate::support::World;
use crate::support::scenarios::{SEVEN_LINES, two_files};

fn client_options() -> Value {
    json!({ "reloadsFromDisk": true, "notifications": true })
}

/// Documents that the store knows as unsaved.
fn unsaved(world: &World) -> Vec<String> {
    let editors = world.json(["status"])["editors"].clone();
    let editors = editors.as_array().expect("editors").iter();
    editors
        .flat_map(|editor| editor["unsaved"].as_array().cloned().unwrap_or_default())
        .map(|path| path.as_str().expect("a path").to_owned())
        .collect()
}

/// Waits until these documents are recorded as unsaved.
pub fn until_unsaved(world: &World, paths: &[&str]) {
    let deadline = Instant::now() + Duration::from_mins(1);
    while unsaved(world) != paths {
        assert!(Instant::now() < deadline, "{:?}", unsaved(world));
    }
}

/// Text that is unsaved when the prompt is sent is part of that checkpoint.
#[test]
fn unsaved_text_at_a_prompt_is_in_its_checkpoint() {
    let world = two_files(SEVEN_LINES);
    world.ok(["checkpoint"]);
    let mut client = Client::with(&world, Editor::Vscode, &client_options());
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
    assert_eq!(kept.stdout, SEVEN_LINES.replace("six", "mine"));
    client.save("a.txt");
    until_unsaved(&world, &[]);
    client.leave();
}

/// A message announces an agent's write to the file below unsaved text, and the text is kept with its checkpoint.
#[test]
fn an_agents_write_below_unsaved_text_is_announced() {
    let world = two_files(SEVEN_LINES);
    world.ok(["checkpoint"]);
    let mut client = Client::with(&world, Editor::Vscode, &client_options());
    client.open("a.txt");
    client.type_over("a.txt", "six", "mine");
    until_unsaved(&world, &["a.txt"]);
    let mut agent = world.agent();
    agent.prompt("go");
    client.until(|client| !client.notified.is_empty());
    agent.edit("a.txt", "two\n", "2\n");
    agent.stop();
    let step = world.id("t1 Edit: modify a.txt");
    let changed = until_changed_on_disk(&mut client);
    assert_eq!(changed["uri"], client.uri("a.txt"));
    assert_eq!(changed["agent"], "claude-code");
    assert_eq!(changed["checkpoint"], step);
    assert_eq!(changed["conflicts"], 0);
    assert_eq!(changed["unsaved"], true);
    let kept = world.ok(["cat", &step, "a.txt", "--unsaved"]);
    assert_eq!(kept.stdout, SEVEN_LINES.replace("six", "mine"));
    assert_eq!(client.text("a.txt"), SEVEN_LINES.replace("six", "mine"));
    client.leave();
}

/// One hunk of the agent is reverted in a document with unsaved text.
#[test]
fn one_hunk_is_reverted_in_an_unsaved_document() {
    let world = two_files(SEVEN_LINES);
    let mut agent = world.agent();
    agent.prompt("go");
    agent.edit("a.txt", "two\n", "2\n");
    agent.edit("a.txt", "five\n", "5\n");
    agent.stop();
    let mut client = Client::with(&world, Editor::Vscode, &client_options());
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
    let expected = SEVEN_LINES.replace("two", "2").replace("seven", "mine");
    assert_eq!(client.text("a.txt"), expected);
    client.save("a.txt");
    assert_eq!(world.read("a.txt"), expected);
    client.leave();
}

/// A document that shows a rewind is closed without a save: the user decides whether the file is written.
#[test]
fn closing_a_rewound_document_asks_whether_to_write_it() {
    for (answer, expected) in [
        ("Write it", SEVEN_LINES.to_owned()),
        ("Leave the file", SEVEN_LINES.replace("two", "2")),
    ] {
        let world = two_files(SEVEN_LINES);
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
        assert_eq!(client.text("a.txt"), SEVEN_LINES);
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

/// Two editors have the file open, one with unsaved text: the other's rewind goes through that one.
#[test]
fn a_rewind_goes_through_the_editor_with_unsaved_text() {
    for editor in [Editor::Nvim, Editor::Helix] {
        let world = two_files(SEVEN_LINES);
        let mut agent = world.agent();
        agent.prompt("go");
        agent.edit("a.txt", "two\n", "2\n");
        agent.stop();
        let mut first = Client::with(&world, Editor::Vscode, &client_options());
        let mut second = Client::start(&world, editor);
        first.open("a.txt");
        second.open("a.txt");
        first.type_over("a.txt", "six", "mine");
        until_unsaved(&world, &["a.txt"]);
        let rewind = json!({ "rev": "t1", "confirm": false });
        let asked = json!({ "command": "backstitch.rewind", "arguments": [rewind] });
        let id = second.begin("workspace/executeCommand", &asked);
        first.until(|first| first.edited > 0);
        let answer = second.response(id)["result"].clone();
        assert_eq!(answer["editor"]["name"], "Visual Studio Code", "{answer}");
        assert_eq!(first.text("a.txt"), SEVEN_LINES.replace("six", "mine"));
        assert_eq!(world.read("a.txt"), SEVEN_LINES.replace("two", "2"));
        assert_eq!(second.edited, 0);
        first.save("a.txt");
        until_unsaved(&world, &[]);
        assert_eq!(world.read("a.txt"), SEVEN_LINES.replace("six", "mine"));
        first.leave();
        second.leave();
        world.ok(["verify"]);
    }
}

/// Both editors have unsaved text that a rewind would change: each of them merges its own.
#[test]
fn each_editor_merges_its_own_unsaved_text() {
    let world = two_files(SEVEN_LINES);
    let mut agent = world.agent();
    agent.prompt("go");
    agent.edit("a.txt", "two\n", "2\n");
    agent.edit("b.txt", "other\n", "another\nlast\n");
    agent.stop();
    let mut first = Client::with(&world, Editor::Vscode, &client_options());
    let mut second = Client::with(&world, Editor::Nvim, &client_options());
    first.open("a.txt");
    first.type_over("a.txt", "six", "mine");
    until_unsaved(&world, &["a.txt"]);
    second.open("b.txt");
    second.type_over("b.txt", "last\n", "last\nmine\n");
    let rewind = json!({ "rev": "t1", "confirm": false, "onConflict": "target" });
    let asked = json!({ "command": "backstitch.rewind", "arguments": [rewind] });
    let id = second.begin("workspace/executeCommand", &asked);
    first.until(|first| first.edited > 0);
    let answer = second.response(id)["result"].clone();
    assert_eq!(answer["gaps"], json!([]), "{answer}");
    assert!(second.text("b.txt").starts_with("other\n"), "{answer}");
    assert_eq!(first.text("a.txt"), SEVEN_LINES.replace("six", "mine"));
    assert_eq!(world.read("a.txt"), SEVEN_LINES);
    first.save("a.txt");
    assert_eq!(world.read("a.txt"), SEVEN_LINES.replace("six", "mine"));
    first.leave();
    second.leave();
    world.ok(["verify"]);
}

/// The command line rewinds a file with unsaved text: the editor carries it out.
#[test]
fn a_command_line_rewind_edits_the_unsaved_document() {
    let world = two_files(SEVEN_LINES);
    let mut agent = world.agent();
    agent.prompt("go");
    agent.edit("a.txt", "two\n", "2\n");
    agent.stop();
    let mut client = Client::with(&world, Editor::Vscode, &client_options());
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
    assert_eq!(client.text("a.txt"), SEVEN_LINES.replace("six", "mine"));
    assert_eq!(world.read("a.txt"), SEVEN_LINES.replace("two", "2"));
    client.save("a.txt");
    assert_eq!(world.read("a.txt"), SEVEN_LINES.replace("six", "mine"));
    client.leave();
}

/// An editor refuses the new text: the command line says so, and fails.
#[test]
fn a_command_line_rewind_fails_when_the_editor_refuses() {
    for edits in [Edits::Refused, Edits::Pretended] {
        let world = two_files(SEVEN_LINES);
        let mut agent = world.agent();
        agent.prompt("go");
        agent.edit("a.txt", "two\n", "2\n");
        agent.stop();
        let mut client = Client::with(&world, Editor::Nvim, &client_options());
        client.open("a.txt");
        client.type_over("a.txt", "six", "mine");
        until_unsaved(&world, &["a.txt"]);
        client.edits = edits;
        let output = std::thread::scope(|scope| {
            let rewind = scope.spawn(|| world.run(["rewind", "t1", "--json"]));
            client.until(|client| {
                client
                    .said
                    .iter()
                    .any(|said| said.contains("did not apply"))
            });
            rewind.join().expect("an answer")
        });
        let name = if edits == Edits::Refused {
            "not_taken"
        } else {
            "awaited"
        };
        assert_eq!(output.code, 1, "{output}");
        assert!(output.stdout.contains(name), "{output}");
        assert!(
            output.stderr.contains("did not show the new text of a.txt")
                || output.stdout.contains("did not show the new text of a.txt"),
            "{output}"
        );
        assert_eq!(world.read("a.txt"), SEVEN_LINES.replace("two", "2"));
        client.leave();
    }
}

/// While the editor has not answered a command line's request, it still gets notifications.
#[test]
fn an_unanswered_edit_does_not_block_notifications() {
    let world = two_files(SEVEN_LINES);
    let mut agent = world.agent();
    agent.prompt("go");
    agent.edit("a.txt", "two\n", "2\n");
    let mut client = Client::with(&world, Editor::Nvim, &client_options());
    client.open("a.txt");
    client.type_over("a.txt", "six", "mine");
    until_unsaved(&world, &["a.txt"]);
    client.edits = Edits::Held;
    std::thread::scope(|scope| {
        let rewind = scope.spawn(|| world.run(["rewind", "t1", "--yes"]));
        client.until(|client| client.edited > 0);
        agent.edit("b.txt", "other", "another");
        client.until(|client| {
            let mut notified = client.notified.iter();
            notified.any(|(_, params)| params["checkpoint"].to_string().contains("b.txt"))
        });
        // long enough for a command that was answered to end
        world.ok(["status"]);
        world.ok(["status"]);
        assert!(!rewind.is_finished(), "it was given up");
        client.edits = Edits::Taken;
        client.answer_held();
        while !rewind.is_finished() {
            client.ok("backstitch/sessions", json!({}));
        }
        let output = rewind.join().expect("an answer");
        assert_eq!(output.code, 0, "{output}");
    });
    client.leave();
}

/// Text typed before the workspace has a history is in the very first checkpoint.
#[test]
fn text_typed_before_the_history_is_in_its_first_checkpoint() {
    let world = two_files(SEVEN_LINES);
    let mut client = Client::with(&world, Editor::Vscode, &client_options());
    client.open("a.txt");
    client.type_over("a.txt", "six", "mine");
    until_unsaved(&world, &["a.txt"]);
    let mut agent = world.agent();
    agent.prompt("go");
    let kept = world.ok(["cat", "t1", "a.txt", "--unsaved"]);
    assert_eq!(kept.stdout, SEVEN_LINES.replace("six", "mine"));
    client.leave();
    world.ok(["verify"]);
}

/// In a directory that does not look like a workspace, typing begins no history. The text is recorded when another
/// program begins one.
#[test]
fn typing_begins_no_history_but_is_recorded_when_one_begins() {
    let world = World::new();
    world.write("a.txt", SEVEN_LINES);
    let other = world.beside("work-beside");
    std::fs::create_dir(&other.root).expect("made");
    other.write("b.txt", "other\n");
    other.ok(["init"]);
    let folders = ["", "../work-beside"];
    let mut client = Client::in_folders(&world, Editor::Vscode, &client_options(), &folders);
    client.open("a.txt");
    client.type_over("a.txt", "six", "mine");
    // where there is a history, text typed into two documents is recorded together
    let beside = other.path("b.txt");
    let beside = beside.to_str().expect("text");
    client.open_with(beside, "other\n");
    client.type_over(beside, "other", "another");
    until_unsaved(&other, &["b.txt"]);
    assert_eq!(world.json(["status"])["editors"], json!([]));
    let mut agent = world.agent();
    agent.prompt("go");
    until_unsaved(&world, &["a.txt"]);
    client.kill();
    let left = world.json(["status"])["unsaved_left"].clone();
    assert_eq!(left[0]["path"], "a.txt", "{left}");
}

/// The turn of an agent inside the editor begins the history, with text typed just before.
#[test]
fn an_editor_agents_first_turn_includes_typed_text() {
    let world = World::new();
    world.write("a.txt", SEVEN_LINES);
    let mut client = Client::with(&world, Editor::Vscode, &client_options());
    client.open("a.txt");
    client.type_over("a.txt", "six", "mine");
    let turn = json!({ "agent": "helper", "session": "s1", "prompt": "go" });
    client.ok("backstitch/turnBegin", turn);
    let kept = world.ok(["cat", "t1", "a.txt", "--unsaved"]);
    assert_eq!(kept.stdout, SEVEN_LINES.replace("six", "mine"));
    client.leave();
}

/// An agent writes the same text that is typed above it: nothing is unsaved any longer.
#[test]
fn text_that_an_agent_writes_identically_is_not_unsaved() {
    let world = two_files(SEVEN_LINES);
    world.ok(["checkpoint"]);
    let mut client = Client::start(&world, Editor::Helix);
    client.open("a.txt");
    let mut agent = world.agent();
    agent.prompt("go");
    client.type_over("a.txt", "two", "2");
    until_unsaved(&world, &["a.txt"]);
    agent.edit("a.txt", "two\n", "2\n");
    until_unsaved(&world, &[]);
    agent.stop();
    client.leave();
}

/// An agent deletes and moves files whose documents have unsaved text: the server says so, and the text is kept.
#[test]
fn unsaved_text_survives_an_agents_deletion_and_move() {
    let world = two_files(SEVEN_LINES);
    world.ok(["checkpoint"]);
    let mut client = Client::with(&world, Editor::Vscode, &client_options());
    for path in ["a.txt", "b.txt"] {
        client.open(path);
        let text = client.text(path).to_owned();
        client.type_over(path, &text, "mine\n");
    }
    until_unsaved(&world, &["a.txt", "b.txt"]);
    let mut agent = world.agent();
    agent.prompt("go");
    client.until(|client| !client.notified.is_empty());
    agent.bash("rm a.txt");
    let changed = until_changed_on_disk(&mut client);
    assert_eq!(changed["deleted"], true, "{changed}");
    assert_eq!(changed["unsaved"], true, "{changed}");
    let uri = client.uri("a.txt");
    let merge = json!({ "command": "backstitch.merge", "arguments": [{ "uri": uri }] });
    let failed = client.fails("workspace/executeCommand", merge);
    assert_eq!(failed["message"], "a.txt is no longer on disk");
    let kept = world.ok(["cat", "@", "a.txt", "--unsaved"]);
    assert_eq!(kept.stdout, "mine\n");
    agent.bash("mv b.txt c.txt");
    client.notified.clear();
    let changed = until_changed_on_disk(&mut client);
    assert_eq!(changed["renamedTo"], client.uri("c.txt"), "{changed}");
    assert_eq!(changed["unsaved"], true, "{changed}");
    let kept = world.ok(["cat", "@", "b.txt", "--unsaved"]);
    assert_eq!(kept.stdout, "mine\n");
    agent.stop();
    client.leave();
}

/// An editor that has reloaded a file before the agent's report has no unsaved text.
#[test]
fn a_reload_before_the_agents_report_is_not_unsaved_text() {
    let world = two_files(SEVEN_LINES);
    world.ok(["checkpoint"]);
    let mut client = Client::with(&world, Editor::Vscode, &client_options());
    client.open("a.txt");
    let mut agent = world.agent();
    agent.prompt("go");
    client.until(|client| !client.notified.is_empty());
    let call = agent.pre_edit("a.txt", "two\n", "2\n");
    let response = agent.apply(&call);
    client.type_over("a.txt", "two", "2");
    agent.post(&call, &response);
    agent.edit("b.txt", "other", "another");
    client.until(|client| {
        let mut notified = client.notified.iter();
        notified.any(|(_, params)| params["checkpoint"].to_string().contains("b.txt"))
    });
    assert_eq!(client.said, Vec::<String>::new());
    agent.stop();
    client.leave();
}

/// An editor that exits cleanly has discarded its unsaved text: nobody is asked about it. Until then even the last key
/// is recorded.
#[test]
fn a_clean_exit_leaves_no_unsaved_text() {
    let world = two_files(SEVEN_LINES);
    world.ok(["checkpoint"]);
    let mut client = Client::with(&world, Editor::Vscode, &client_options());
    client.open("a.txt");
    client.type_over("a.txt", "six", "mine");
    client.ok("shutdown", Value::Null);
    assert_eq!(unsaved(&world), ["a.txt"]);
    assert_eq!(client.exit(), Some(0));
    let status = world.json(["status"]);
    assert_eq!(status["unsaved_left"], json!([]), "{status}");
    assert_eq!(status["editors"], json!([]), "{status}");
}

/// A reload is sent as a close and an open: no pending save is left, and nothing is asked.
#[test]
fn a_close_and_reopen_count_as_a_reload() {
    let world = two_files(SEVEN_LINES);
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

/// Waits for the notification of a change below a document.
fn until_changed_on_disk(client: &mut Client) -> Value {
    let method = "backstitch/changedOnDisk";
    client.until(|client| client.notified.iter().any(|(name, _)| name == method));
    let mut found = client.notified.iter();
    let found = found.find(|(name, _)| name == method).expect("notified");
    found.1.clone()
}

/// An agent's change on disk is merged into unsaved text. The save then has both, and each line its author.
#[test]
fn a_change_on_disk_is_merged_into_unsaved_text() {
    let world = two_files(SEVEN_LINES);
    world.ok(["checkpoint"]);
    let mut client = Client::with(&world, Editor::Nvim, &client_options());
    client.open("a.txt");
    let uri = client.uri("a.txt");
    let merge = json!({ "uri": uri });
    assert_eq!(
        client.command("backstitch.merge", &merge),
        json!({ "uri": uri, "merged": false, "conflicts": 0 })
    );
    client.type_over("a.txt", "six", "mine");
    until_unsaved(&world, &["a.txt"]);
    let mut agent = world.agent();
    agent.prompt("go");
    agent.edit("a.txt", "two\n", "2\n2b\n");
    until_changed_on_disk(&mut client);
    // the document is the only candidate, so it need not be named
    assert_eq!(
        client.command("backstitch.merge", json!({})),
        json!({ "uri": uri, "merged": true, "conflicts": 0 })
    );
    let both = SEVEN_LINES.replace("two", "2\n2b").replace("six", "mine");
    assert_eq!(client.text("a.txt"), both);
    assert_eq!(
        client.command("backstitch.merge", &merge)["merged"],
        false,
        "nothing is left to merge"
    );
    // a second edit starts from the merged state
    agent.edit("a.txt", "four\n", "4\n");
    client.notified.clear();
    until_changed_on_disk(&mut client);
    assert_eq!(client.command("backstitch.merge", &merge)["merged"], true);
    let both = both.replace("four", "4");
    assert_eq!(client.text("a.txt"), both);
    client.save("a.txt");
    until_unsaved(&world, &[]);
    agent.stop();
    assert_eq!(world.read("a.txt"), both);
    world.ok(["rewind", "t1"]);
    assert_eq!(world.read("a.txt"), SEVEN_LINES.replace("six", "mine"));
    client.leave();
    world.ok(["verify"]);
}

/// Neovim sends a merge together with a key that was typed right after it. The merge has arrived all the same: the key is
/// not taken for a conflict, and the next merge begins where this one ended.
#[test]
fn a_key_right_after_a_merge_is_no_conflict_with_it() {
    let world = two_files(SEVEN_LINES);
    world.ok(["checkpoint"]);
    let mut client = Client::with(&world, Editor::Nvim, &client_options());
    client.open("a.txt");
    let merge = json!({ "uri": client.uri("a.txt") });
    client.type_over("a.txt", "six", "mine");
    let mut agent = world.agent();
    agent.prompt("go");
    agent.edit("a.txt", "two\n", "2\n2b\n");
    until_changed_on_disk(&mut client);
    client.types_after = Some(("2b".into(), "2b of mine".into()));
    let merged = client.command("backstitch.merge", &merge);
    assert_eq!(
        (&merged["merged"], &merged["conflicts"]),
        (&json!(true), &json!(0))
    );
    assert_eq!(client.edited, 1);
    let both = SEVEN_LINES
        .replace("two", "2\n2b of mine")
        .replace("six", "mine");
    assert_eq!(client.text("a.txt"), both);
    assert_eq!(client.command("backstitch.merge", &merge)["merged"], false);
    agent.edit("a.txt", "four\n", "4\n");
    agent.stop();
    client.notified.clear();
    assert_eq!(until_changed_on_disk(&mut client)["conflicts"], 0);
    assert_eq!(client.command("backstitch.merge", &merge)["merged"], true);
    assert_eq!(client.text("a.txt"), both.replace("four", "4"));
    client.leave();
    world.ok(["verify"]);
}

/// A client merges the file by itself, and the agent writes it once more before the client says so: only what the client has
/// merged is the new base, and the second change is still to be merged.
#[test]
fn a_merge_of_the_client_is_the_new_base() {
    let world = two_files(SEVEN_LINES);
    world.ok(["checkpoint"]);
    let mut client = Client::with(&world, Editor::Nvim, &client_options());
    client.open("a.txt");
    let uri = client.uri("a.txt");
    client.type_over("a.txt", "six", "mine");
    let mut agent = world.agent();
    agent.prompt("go");
    agent.edit("a.txt", "two\n", "2\n");
    let first = world.read("a.txt");
    client.type_over("a.txt", "two", "2");
    agent.edit("a.txt", "three\n", "");
    agent.stop();
    let told = client.command("backstitch.merge", json!({ "uri": uri, "merged": first }));
    assert_eq!(told, json!({ "uri": uri, "merged": true, "conflicts": 0 }));
    assert_eq!(client.edited, 0);
    let merged = client.command("backstitch.merge", json!({ "uri": uri }));
    assert_eq!(
        merged,
        json!({ "uri": uri, "merged": true, "conflicts": 0 })
    );
    let both = SEVEN_LINES
        .replace("two\nthree\n", "2\n")
        .replace("six", "mine");
    assert_eq!(client.text("a.txt"), both);
    client.leave();
    world.ok(["verify"]);
}

/// Both changed one line: nothing is decided without being asked for.
#[test]
fn conflicts_with_a_change_on_disk_are_decided_as_requested() {
    for (decided, line) in [
        ("current", "mine\n"),
        ("target", "2\n"),
        (
            "markers",
            "<<<<<<< your unsaved text\nmine\n=======\n2\n>>>>>>> on disk\n",
        ),
    ] {
        let world = two_files(SEVEN_LINES);
        world.ok(["checkpoint"]);
        let mut client = Client::with(&world, Editor::Vscode, &client_options());
        client.open("a.txt");
        client.type_over("a.txt", "two", "mine");
        until_unsaved(&world, &["a.txt"]);
        let mut agent = world.agent();
        agent.prompt("go");
        agent.edit("a.txt", "two\n", "2\n");
        agent.edit("a.txt", "six\n", "6\n");
        assert_eq!(until_changed_on_disk(&mut client)["conflicts"], 1);
        let uri = client.uri("a.txt");
        let command = json!({ "command": "backstitch.merge", "arguments": [{ "uri": uri }] });
        let failed = client.fails("workspace/executeCommand", &command);
        assert_eq!(failed["data"]["kind"], "conflict", "{failed}");
        let conflict = &failed["data"]["conflicts"][0];
        assert_eq!(conflict["path"], "a.txt", "{failed}");
        assert_eq!(conflict["hunks"][0]["target"], json!([1, 2]), "{failed}");
        assert_eq!(conflict["hunks"][0]["kept"], json!([1, 2]), "{failed}");
        assert_eq!(client.text("a.txt"), SEVEN_LINES.replace("two", "mine"));
        let merged = client.command(
            "backstitch.merge",
            json!({ "uri": uri, "onConflict": decided }),
        );
        assert_eq!(
            merged,
            json!({ "uri": uri, "merged": true, "conflicts": 1 })
        );
        let expected = SEVEN_LINES.replace("two\n", line).replace("six", "6");
        assert_eq!(client.text("a.txt"), expected, "{decided}");
        client.leave();
    }
}

/// An editor without our plugin gets a short question, whose first word is the checkpoint with the text.
#[test]
fn a_plain_client_is_offered_a_merge() {
    let world = two_files(SEVEN_LINES);
    world.ok(["checkpoint"]);
    for (editor, line, answers) in [
        (Editor::Helix, "mine", &["Merge"][..]),
        (Editor::Eglot, "2", &["Merge", "Take the lines on disk"]),
    ] {
        world.write("a.txt", SEVEN_LINES);
        let mut client = Client::start(&world, editor);
        client.open("a.txt");
        let typed = if line == "2" { "two" } else { "six" };
        client.type_over("a.txt", typed, "mine");
        client.idle();
        until_unsaved(&world, &["a.txt"]);
        for answer in answers {
            client.will_choose(answer);
        }
        let mut agent = world.agent();
        agent.prompt("go");
        agent.edit("a.txt", "two\n", "2\n");
        agent.stop();
        client.until(|client| client.edited > 0);
        client.idle();
        let (first, rest) = client.asked[0].split_once(' ').expect("words");
        assert!(first.starts_with('c'), "{first}");
        assert_eq!(rest, "keeps your text: a.txt changed on disk");
        let text = client.text("a.txt").to_owned();
        assert!(text.contains("\n2\n"), "{text}");
        assert!(text.contains(line), "{text}");
        client.leave();
    }
}

/// An editor that keeps the text of an open file though an agent changed the file says so, once until it reads the file again.
#[test]
fn a_plain_client_is_told_of_a_file_to_reload() {
    for (editor, reload) in [
        (Editor::Helix, ":reload"),
        (Editor::Eglot, "M-x revert-buffer"),
    ] {
        let world = two_files(SEVEN_LINES);
        world.ok(["checkpoint"]);
        let mut client = Client::start(&world, editor);
        client.open("a.txt");
        // the server follows the history by then
        client.type_over("a.txt", "six", "6");
        client.idle();
        until_unsaved(&world, &["a.txt"]);
        client.save("a.txt");
        until_unsaved(&world, &[]);
        let mut agent = world.agent();
        agent.prompt("go");
        agent.edit("a.txt", "two\n", "2\n");
        agent.edit("a.txt", "three\n", "3\n");
        // no editor has this one open
        agent.write("b.txt", "other\n");
        let told = format!("claude-code changed a.txt: {reload} shows it");
        client.until(|client| client.said.contains(&told));
        client.idle();
        let count = |client: &Client| client.said.iter().filter(|one| **one == told).count();
        assert_eq!(count(&client), 1, "{:?}", client.said);
        client.type_over("a.txt", "two\nthree\n", "2\n3\n");
        client.save("a.txt");
        agent.edit("a.txt", "four\n", "4\n");
        agent.stop();
        client.until(|client| count(client) == 2);
        assert!(
            !client.said.iter().any(|one| one.contains("b.txt")),
            "{:?}",
            client.said
        );
        client.leave();
    }
}

/// Neovim has a line in every buffer: an empty file is shown as one newline, which is no unsaved text, however the file became
/// empty.
#[test]
fn one_newline_is_no_unsaved_text_of_an_empty_file() {
    let world = two_files("");
    world.ok(["checkpoint"]);
    let mut client = Client::with(&world, Editor::Nvim, &client_options());
    client.open_with("a.txt", "\n");
    client.idle();
    until_unsaved(&world, &[]);
    let mut agent = world.agent();
    agent.prompt("go");
    agent.write("a.txt", "full\n");
    agent.stop();
    client.type_over("a.txt", "\n", "full\n");
    client.idle();
    // the reload after the rewind shows the empty file as a newline again
    let rewound = client.command(
        "backstitch.rewind",
        json!({ "rev": "t1", "confirm": false }),
    );
    assert_eq!(rewound["conflicts"], json!([]), "{rewound}");
    assert_eq!(world.bytes("a.txt"), b"");
    client.type_over("a.txt", "full\n", "\n");
    client.idle();
    until_unsaved(&world, &[]);
    let undone = client.command("backstitch.undo", json!({ "confirm": false }));
    assert_eq!(undone["conflicts"], json!([]), "{undone}");
    assert_eq!(world.read("a.txt"), "full\n");
    client.leave();
}

/// A command empties a file and fills it later: the editor reloads the empty file in between, and nobody typed anything.
#[test]
fn a_file_that_is_emptied_and_filled_raises_no_message() {
    let world = two_files(SEVEN_LINES);
    world.ok(["checkpoint"]);
    let mut client = Client::with(&world, Editor::Nvim, &client_options());
    client.open("a.txt");
    let mut agent = world.agent();
    agent.prompt("go");
    let call = agent.pre_bash("regenerate a.txt");
    world.write("a.txt", "");
    client.type_over("a.txt", SEVEN_LINES, "\n");
    // another event of the agent meanwhile
    agent.edit("b.txt", "other", "another");
    client.idle();
    world.write("a.txt", SEVEN_LINES.replace("two", "2"));
    agent.edit("b.txt", "another", "a third");
    client.idle();
    agent.post(&call, &json!({ "stdout": "", "stderr": "" }));
    agent.stop();
    client.idle();
    let method = "backstitch/changedOnDisk";
    let told = client.notified.iter().filter(|(name, _)| name == method);
    assert_eq!(told.count(), 0, "{:?}", client.notified);
    until_unsaved(&world, &[]);
    client.leave();
}

/// An agent renames an open file: the client is told the new name, with and without unsaved text.
#[test]
fn a_rename_of_an_open_file_names_the_new_path() {
    let world = two_files(SEVEN_LINES);
    world.ok(["checkpoint"]);
    let mut client = Client::with(&world, Editor::Vscode, &client_options());
    let mut plain = Client::start(&world, Editor::Helix);
    client.open("a.txt");
    plain.open("a.txt");
    let mut agent = world.agent();
    agent.prompt("go");
    agent.bash("mkdir src && mv a.txt src/a.txt");
    agent.stop();
    let changed = until_changed_on_disk(&mut client);
    assert_eq!(changed["uri"], client.uri("a.txt"));
    assert_eq!(changed["renamedTo"], client.uri("src/a.txt"));
    assert_eq!(changed["unsaved"], false);
    plain.until(|plain| {
        let mut said = plain.said.iter();
        said.any(|said| said.ends_with(": a.txt was renamed to src/a.txt by claude-code"))
    });
    client.leave();
    plain.leave();
}

/// S3-L2: many programs empty a file before they fill it. A merge that comes in between waits for the text.
#[test]
fn a_merge_waits_for_a_file_that_is_being_written() {
    let world = World::committed(&[("a.txt", "one\ntwo\nthree\n")]);
    let mut client = Client::with(&world, Editor::Nvim, &client_options());
    client.open("a.txt");
    let uri = client.uri("a.txt");
    client.ok("backstitch/blame", json!({ "uri": uri }));
    client.type_over("a.txt", "one", "mine");
    world.write("a.txt", "");
    let merge = json!({ "command": "backstitch.merge", "arguments": [{ "uri": uri }] });
    let id = client.begin("workspace/executeCommand", merge);
    // the request is answered only after the merge: it is under way now
    client.ok("backstitch/timeline", json!({}));
    world.write("a.txt", "one\ntwo\nTHREE\n");
    assert_eq!(client.response(id)["result"]["merged"], true);
    assert_eq!(client.text("a.txt"), "mine\ntwo\nTHREE\n");
    client.leave();
}
