//! Hints after an error: the command line names its options, the language server its commands and arguments.

use serde_json::{Value, json};

use super::client::{Client, Editor};
use crate::support::World;
use crate::support::scenarios::{THREE_LINES, one_turn};

fn client(world: &World) -> Client<'_> {
    Client::with(world, Editor::Vscode, &json!({ "notifications": true }))
}

/// Hint of a command that fails with an error of this kind.
fn in_editor(client: &mut Client, kind: &str, command: &str, arguments: &Value) -> String {
    let params = json!({ "command": command, "arguments": [arguments] });
    hint(kind, &client.fails("workspace/executeCommand", params))
}

fn hint(kind: &str, error: &Value) -> String {
    assert_eq!(error["data"]["kind"], kind, "{error}");
    let hint = error["data"]["hint"].as_str().expect("a hint").to_owned();
    assert!(!hint.contains(" --"), "{hint}");
    hint
}

fn in_terminal(world: &World, code: i32, args: &[&str]) -> String {
    let args = args.iter().chain(&["--json"]);
    let error = world.run(args).expect_code(code).json();
    error["error"]["hint"].as_str().expect("a hint").to_owned()
}

#[test]
fn conflict_hints_name_the_options_of_each_interface() {
    let world = one_turn(THREE_LINES);
    world.write("a.txt", "one\n2 and mine\nthree\n");
    let said = in_terminal(&world, 1, &["rewind", "t1"]);
    assert!(said.starts_with("--on-conflict markers|"), "{said}");
    let mut client = client(&world);
    client.open("a.txt");
    let arguments = json!({ "rev": "t1", "confirm": false });
    let said = in_editor(&mut client, "conflict", "backstitch.rewind", &arguments);
    assert!(said.starts_with("`onConflict` resolves them"), "{said}");
    assert!(said.contains("`paths`"), "{said}");
    client.leave();
}

#[test]
fn scope_hints_fit_each_interface() {
    let world = one_turn(THREE_LINES);
    let history = world.history();
    let said = in_terminal(&world, 1, &["rewind", "t1", "--scope", "both"]);
    assert!(said.starts_with("--scope code "), "{said}");
    let mut client = client(&world);
    client.open("a.txt");
    let arguments = json!({ "rev": "t1", "scope": "both", "confirm": false });
    let said = in_editor(&mut client, "refused", "backstitch.rewind", &arguments);
    assert!(said.starts_with("scope `code` "), "{said}");
    let arguments = json!({ "rev": "t1", "scope": "files", "confirm": false });
    let params = json!({ "command": "backstitch.rewind", "arguments": [arguments] });
    let error = client.fails("workspace/executeCommand", params);
    assert_eq!(error["data"]["kind"], "usage", "{error}");
    client.leave();
    assert_eq!(world.history(), history);
}

#[test]
fn missing_path_hints_name_the_commands_of_each_interface() {
    let world = one_turn(THREE_LINES);
    world.write("gone.txt", "it goes\n");
    world.ok(["checkpoint"]);
    world.remove("gone.txt");
    world.ok(["checkpoint"]);
    for args in [&["blame", "gone.txt", "@"][..], &["blame", "gone.txt"]] {
        let said = in_terminal(&world, 3, args);
        assert!(
            said.starts_with("`backstitch log --path gone.txt` lists the checkpoints"),
            "{said}"
        );
    }
    let mut client = client(&world);
    client.open("a.txt");
    let root = world.root.to_string_lossy().replace('/', "%2F");
    let uri = format!("backstitch://{root}/t1/gone.txt");
    let error = client.fails("backstitch/content", json!({ "uri": uri }));
    let said = hint("not_found", &error);
    assert!(
        said.starts_with("`backstitch.timeline` with the `uri` of gone.txt shows the checkpoints"),
        "{said}"
    );
    client.leave();
}

#[test]
fn unknown_name_hints_fit_each_interface() {
    let world = one_turn(THREE_LINES);
    let mut client = client(&world);
    client.open("a.txt");
    for (terminal, code, command, arguments, kind, [there, here]) in [
        (
            &["undo"][..],
            1,
            "backstitch.undo",
            json!({ "confirm": false }),
            "refused",
            ["`backstitch log` shows", "asks which turn"],
        ),
        (
            &["diff", "nowhere"],
            3,
            "backstitch.diff",
            json!({ "rev": "nowhere" }),
            "not_found",
            ["`backstitch log` lists", "`backstitch.timeline` lists"],
        ),
        (
            &["switch", "nowhere"],
            3,
            "backstitch.switch",
            json!({ "branch": "nowhere", "confirm": false }),
            "not_found",
            ["`backstitch branch` lists", "without `branch`"],
        ),
    ] {
        let said = in_terminal(&world, code, terminal);
        assert!(said.contains(there), "{terminal:?}: {said}");
        let said = in_editor(&mut client, kind, command, &arguments);
        assert!(said.contains(here), "{command}: {said}");
    }
    client.leave();
}

#[test]
fn an_undo_of_a_switch_refuses_paths() {
    let world = one_turn(THREE_LINES);
    world.ok(["fork", "t1", "idea", "--switch"]);
    world.ok(["switch", "main"]);
    let said = in_terminal(&world, 2, &["undo", "--path", "a.txt"]);
    assert_eq!(said, "leave out --path");
    let mut client = client(&world);
    client.open("a.txt");
    let arguments = json!({ "paths": ["a.txt"], "confirm": false });
    let said = in_editor(&mut client, "usage", "backstitch.undo", &arguments);
    assert_eq!(said, "leave out `paths`");
    client.leave();
}

#[test]
fn newer_store_hints_fit_each_interface() {
    let world = one_turn(THREE_LINES);
    let db = rusqlite::Connection::open(world.store().join("store.db")).expect("a database");
    db.execute_batch("PRAGMA user_version = 999")
        .expect("made newer");
    drop(db);
    let said = in_terminal(&world, 4, &["log"]);
    assert_eq!(
        said,
        "update Backstitch to the newer version, or use another --store-dir"
    );
    let mut client = client(&world);
    client.open("a.txt");
    let error = client.fails("backstitch/timeline", json!({}));
    assert_eq!(error["data"]["kind"], "store", "{error}");
    let said = error["data"]["hint"].as_str().expect("a hint");
    assert!(
        said.starts_with("install the newer version and restart the language server"),
        "{said}"
    );
    client.leave();
}
