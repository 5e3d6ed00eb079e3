//! Partial rewinds and reverts: single hunks instead of a whole turn, one turn instead of all later ones, and the
//! plans of both.

use serde_json::{Value, json};

use super::client::{Client, Editor};
use crate::support::scenarios::{NINE_LINES, two_files};

/// The command of the code action with this title.
fn action(client: &mut Client, line: usize, title: &str) -> Value {
    let offered = client.actions("a.txt", line..line + 1);
    let found = offered.iter().find(|(offered, _)| offered == title);
    found
        .unwrap_or_else(|| panic!("no {title}: {offered:#?}"))
        .1
        .clone()
}

/// The document shown last by the server that is not one of the workspace.
fn shown_document(client: &Client) -> String {
    let uri = client.shown.last().expect("shown");
    let path = uri.strip_prefix("file://").expect("a file");
    let path = path.replace("%20", " ").replace("%5E", "^");
    std::fs::read_to_string(path).expect("it stands there")
}

/// Lines that a diff adds and removes.
fn changes(diff: &str) -> Vec<&str> {
    let is_change = |line: &&str| {
        line.starts_with(['+', '-']) && !line.starts_with("+++") && !line.starts_with("---")
    };
    diff.lines().filter(is_change).collect()
}

/// A code action reverts the hunk at the cursor. Other hunks, later turns and typed text stay.
#[test]
fn an_action_reverts_the_hunk_at_the_cursor() {
    let world = two_files(NINE_LINES);
    let mut agent = world.agent();
    agent.prompt("make it two");
    agent.edit("a.txt", "two\n", "2\ntwo and a half\n");
    agent.edit("a.txt", "six\n", "6\n");
    agent.write("b.txt", "another\n");
    agent.prompt("and eight");
    agent.edit("a.txt", "eight\n", "8\n");
    agent.stop();
    let mut client = Client::start(&world, Editor::Helix);
    client.open("a.txt");
    client.type_over("a.txt", "one\n", "mine\none\n");
    client.type_over("a.txt", "nine", "mine, too");
    let take_back = action(&mut client, 3, "Rewind these lines to before turn 1");
    assert_eq!(take_back["arguments"][0]["lines"], json!([3, 4]));
    let of_all = client.actions("a.txt", 0..11);
    let of_all: Vec<&Value> = of_all
        .iter()
        .filter(|(_, command)| command["command"] != "backstitch.breakpoint.toggle")
        .map(|(_, command)| &command["arguments"][0]["lines"])
        .filter(|lines| !lines.is_null())
        .collect();
    assert_eq!(of_all, [&json!([2, 8]), &json!([9, 10])]);
    client.will_choose("Rewind");
    client.run(&take_back);
    let [asked] = client.asked.as_slice() else {
        panic!("{:?}", client.asked)
    };
    assert!(asked.contains("” (just now)"), "{asked}");
    let counts = ": 1 file changes (1 merged with your edits).";
    assert!(asked.contains(counts), "{asked}");
    let expected = "mine\none\ntwo\nthree\nfour\nfive\n6\nseven\n8\nmine, too\n";
    assert_eq!(client.text("a.txt"), expected);
    client.save("a.txt");
    assert_eq!(world.read("a.txt"), expected);
    assert_eq!(world.read("b.txt"), "another\n");
    client.command("backstitch.undo", json!({ "confirm": false }));
    assert_eq!(
        client.text("a.txt"),
        expected.replace("two\n", "2\ntwo and a half\n")
    );
    client.leave();
    world.ok(["verify"]);
}

/// A selection across two hunks reverts both. Where there is nothing to revert, the server says so.
#[test]
fn a_selection_reverts_the_hunks_it_touches() {
    let world = two_files(NINE_LINES);
    let mut agent = world.agent();
    agent.prompt("make it two");
    agent.edit("a.txt", "two\n", "2\n");
    agent.edit("a.txt", "five\n", "");
    agent.edit("a.txt", "eight\n", "8\n");
    agent.stop();
    let own = json!({ "reloadsFromDisk": true, "notifications": true });
    let mut client = Client::with(&world, Editor::Vscode, &own);
    client.open("a.txt");
    let uri = client.uri("a.txt");
    let rewind =
        |lines: Value| json!({ "rev": "t1", "uri": uri, "lines": lines, "confirm": false });
    let command = "backstitch.rewind";
    let params = json!({ "command": command, "arguments": [rewind(json!([2, 3]))] });
    let error = client.fails("workspace/executeCommand", params);
    assert_eq!(error["data"]["kind"], "not_found", "{error}");
    assert_eq!(
        error["message"],
        "Rewind to t1 changes nothing at these lines"
    );
    // the line above it is gone, with the lines before it
    client.command(command, rewind(json!([0, 4])));
    assert_eq!(world.read("a.txt"), NINE_LINES.replace("eight", "8"));
    client.reload("a.txt");
    client.close("a.txt");
    // for a closed document the file is used
    client.command(command, rewind(json!([7, 8])));
    assert_eq!(world.read("a.txt"), NINE_LINES);
    client.leave();
    world.ok(["verify"]);
}

/// A plan for lines names the hunks there, and the restore of these hunks is exactly that plan.
#[test]
fn a_plan_for_lines_is_run_by_its_hunks() {
    let world = two_files(NINE_LINES);
    let mut agent = world.agent();
    agent.prompt("make it two");
    agent.edit("a.txt", "two\n", "2\n");
    agent.edit("a.txt", "eight\n", "8\n");
    let own = json!({ "reloadsFromDisk": true, "notifications": true });
    let mut client = Client::with(&world, Editor::Vscode, &own);
    client.open("a.txt");
    let uri = client.uri("a.txt");
    let asked = json!({ "rev": "t1", "uri": uri, "lines": [1, 2], "texts": true });
    let plan = client.ok("backstitch/plan", asked.clone());
    assert_eq!(plan["hunks"].as_array().map(Vec::len), Some(1), "{plan}");
    let then = NINE_LINES.replace("eight", "8");
    assert_eq!(plan["texts"][0]["then"], then, "{plan}");
    let sentences = plan["summary"].to_string();
    assert!(
        sentences.contains("A turn has not ended yet"),
        "{sentences}"
    );
    agent.stop();
    let plan = client.ok("backstitch/plan", asked);
    assert!(!plan["summary"].to_string().contains("turn has not ended"));
    client.command(
        "backstitch.rewind",
        json!({ "rev": "t1", "uri": uri, "paths": [uri], "hunks": plan["hunks"], "plan": plan["plan"] }),
    );
    assert_eq!(world.read("a.txt"), then);
    let back = client.ok("backstitch/plan", json!({ "undo": true }));
    assert_eq!(back["brings_back"], true, "{back}");
    client.leave();
    world.ok(["verify"]);
}

/// Conflicts elsewhere in the file do not block hunks without conflicts.
#[test]
fn a_conflict_elsewhere_does_not_block_a_hunk() {
    let world = two_files(NINE_LINES);
    let mut agent = world.agent();
    agent.prompt("make it two");
    agent.edit("a.txt", "two\n", "2\n");
    agent.edit("a.txt", "eight\n", "8\n");
    agent.stop();
    world.write("a.txt", world.read("a.txt").replace("2\n", "2 and mine\n"));
    let mut client = Client::start(&world, Editor::Eglot);
    client.open("a.txt");
    let take_back = action(&mut client, 7, "Rewind these lines to before turn 1");
    client.will_choose("Rewind");
    client.run(&take_back);
    client.save("a.txt");
    assert_eq!(world.read("a.txt"), NINE_LINES.replace("two", "2 and mine"));
    client.leave();
    world.ok(["verify"]);
}

/// U-17: the changes of one turn are shown apart from everything that a rewind to it would undo.
#[test]
fn an_action_shows_what_one_turn_changed() {
    let world = two_files(NINE_LINES);
    let mut agent = world.agent();
    agent.prompt("make it two");
    agent.edit("a.txt", "two\n", "2\n");
    agent.prompt("and six");
    agent.edit("a.txt", "six\n", "VI\n");
    agent.edit("a.txt", "VI\n", "6\n");
    world.write("a.txt", world.read("a.txt").replace("nine", "mine"));
    agent.edit("a.txt", "seven\n", "7\n");
    agent.write("b.txt", "another\n");
    agent.prompt("and one");
    agent.edit("a.txt", "one\n", "1\n");
    agent.stop();
    let mut client = Client::start(&world, Editor::Helix);
    client.open("a.txt");
    let own = action(&mut client, 5, "Show what turn 2 changed here");
    let answer = client.run(&own);
    assert_eq!(answer["from"], "t2", "{answer}");
    let diff = shown_document(&client);
    assert_eq!(changes(&diff), ["-six", "+6", "-seven", "+7"], "{diff}");
    client.run(&json!({ "command": "backstitch.diff", "arguments": [{ "turn": "t2" }] }));
    let diff = shown_document(&client);
    let all = ["-six", "+6", "-seven", "+7", "-other", "+another"];
    assert_eq!(changes(&diff), all, "{diff}");
    client.run(&json!({
        "command": "backstitch.diff",
        "arguments": [{ "rev": "t2", "uri": client.uri("a.txt") }],
    }));
    let since = shown_document(&client);
    assert!(changes(&since).contains(&"+mine"), "{since}");
    assert!(changes(&since).contains(&"+1"), "{since}");
    let of_b = json!([{ "turn": "t1", "uri": client.uri("b.txt") }]);
    client.run(&json!({ "command": "backstitch.diff", "arguments": of_b }));
    client.until(|client| {
        let said = client.said.last();
        said.is_some_and(|said| said == "t1 itself changed nothing here.")
    });
    client.leave();
}

/// Where no prompt was recorded, the step is shown and rewound.
#[test]
fn a_step_without_a_turn_is_shown_alone() {
    let world = two_files(NINE_LINES);
    let agent = world.agent();
    agent.edit("a.txt", "two\n", "2\n");
    agent.edit("a.txt", "six\n", "6\n");
    agent.stop();
    let mut client = Client::start(&world, Editor::Helix);
    client.open("a.txt");
    let own = action(&mut client, 1, "Show what claude-code changed here");
    client.run(&own);
    let diff = shown_document(&client);
    assert_eq!(changes(&diff), ["-two", "+2"], "{diff}");
    let rewind = action(&mut client, 1, "Rewind these lines to before claude-code");
    client.will_choose("Rewind");
    client.run(&rewind);
    assert_eq!(client.text("a.txt"), NINE_LINES.replace("six", "6"));
    client.leave();
}

/// A plan shows changed lines, for an open document against its unsaved text, up to a limit.
#[test]
fn a_plan_shows_the_changed_lines() {
    let world = two_files(NINE_LINES);
    let mut agent = world.agent();
    agent.prompt("make it two");
    agent.edit("a.txt", "two\n", "2\n");
    for number in 1..=5 {
        agent.write(&format!("new{number}.txt"), &"new\n".repeat(400));
    }
    agent.stop();
    let mut client = Client::start(&world, Editor::Helix);
    client.open("a.txt");
    client.type_over("a.txt", "four", "mine");
    client.will_choose("Show changes");
    client.will_choose("Cancel");
    client.command("backstitch.rewind", json!({ "rev": "t1" }));
    let plan = shown_document(&client);
    assert!(
        plan.starts_with("Rewind to before “") && plan.contains("\n\nwrite   a.txt  +1 -1\n"),
        "{plan}"
    );
    let of_a = "--- a/a.txt\n+++ b/a.txt\n@@ -1,5 +1,5 @@\n one\n-2\n+two\n three\n mine\n five\n";
    assert!(plan.contains(of_a), "{plan}");
    assert!(plan.contains("+++ /dev/null\n"), "{plan}");
    assert_eq!(plan.matches(" more lines\n").count(), 4, "{plan}");
    assert!(plan.ends_with("\n … 1 more file\n"), "{plan}");
    assert!(plan.lines().count() < 1100, "{}", plan.lines().count());
    client.leave();
}

/// Changes that a rewind does not reach are reported before and after it.
#[test]
fn unreached_changes_are_reported_before_and_after() {
    let world = two_files(NINE_LINES);
    let mut agent = world.agent();
    agent.prompt("something new");
    agent.write("new.txt", "new\n");
    agent.stop();
    let mut client = Client::start(&world, Editor::Helix);
    client.open("new.txt");
    client.type_over("new.txt", "new", "newer");
    client.will_choose("Rewind");
    client.command("backstitch.rewind", json!({ "rev": "t1" }));
    let [asked] = client.asked.as_slice() else {
        panic!("{:?}", client.asked)
    };
    for part in [
        "Rewind to before “something new” (",
        ": 1 file changes (1 deleted).",
        "Cannot be restored: 1 file with unsaved text, left as it is.",
    ] {
        assert!(asked.contains(part), "no {part:?} in {asked}");
    }
    let said =
        "Rewound to before “something new”: 1 file (1 deleted). Cannot be restored: 1 unsaved.";
    client.until(|client| client.said.iter().any(|one| one == said));
    client.leave();
}
