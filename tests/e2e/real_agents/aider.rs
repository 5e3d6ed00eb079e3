//! The real aider, offline, without any setup: its turns are read from its chat history, by a language server while it works and
//! by a scan after it. It takes 570 MB, so that only a long run has it.

use std::fs;

use serde_json::{Value, json};

use super::{ONE, Session, agents, told};
use crate::lsp::client::{Client, Editor};
use crate::real_claude::rig;
use crate::support::World;
use crate::support::rng::is_long;

/// A workspace with a history, as the script expects it.
fn begun(test: &str) -> Option<Session> {
    if !is_long() {
        eprintln!("SKIPPED: real_agents::aider::{test}: only in a long run (tests/run --long)");
        return None;
    }
    let agents = agents(test, "aider")?;
    let text = fs::read_to_string(rig().join("scripts/aider.json")).expect("a script");
    let script: Value = serde_json::from_str(&text).expect("JSON");
    let files = script["workspace"].as_object().expect("files").iter();
    let files: Vec<_> = files
        .map(|(path, text)| (path.as_str(), text.as_str().expect("text")))
        .collect();
    let world = World::committed(&files);
    world.ok(["init"]);
    Some(Session {
        world,
        agents,
        name: "aider",
        model: None,
    })
}

/// Plays three turns, with an edit of the user before the last one.
fn play(session: &Session) {
    let script = rig().join("scripts/aider.json");
    let between =
        "[ $TURN = 3 ] && echo mine >> notes.txt && sed -i 's/fn main/fn mine/' src/main.rs; true";
    let report = session.play_file(&script, Some(between));
    assert_eq!(report["exit"], 0, "{report:#}");
    session.world.ok(["scan"]);
}

fn check(world: &World) {
    let text = |text: &str| text.to_owned();
    let turn = |prompt: &str| (text(prompt), text("aider"));
    let step = |path: &str| (text("edit"), text(path));
    let expected = [
        turn("change one to two"),
        step("src/main.rs"),
        turn("add added.rs and change two to three"),
        step("src/added.rs"),
        turn("make old.rs new"),
        step("src/old.rs"),
    ];
    let told = told(world);
    assert_eq!(told, expected);
    let log = world.json(["log", "--all"]);
    let all = log["checkpoints"].as_array().expect("checkpoints").iter();
    let steps: Vec<_> = all.filter(|one| one["kind"] == "step").collect();
    for step in &steps {
        // the scripted model names each commit so
        assert_eq!(step["label"], "title", "{step:#}");
        let shown = world.json(["show", step["id"].as_str().expect("an id")]);
        for change in shown["changes"].as_array().expect("changes") {
            assert_eq!(change["origin"]["step_certainty"], "certain", "{shown:#}");
        }
    }
    assert_eq!(steps.len(), 3, "{log:#}");
    let blame = world.json(["blame", "notes.txt"]);
    assert_eq!(blame["lines"][1]["by"], "user", "{blame:#}");
    let blame = world.json(["blame", "src/main.rs"]);
    assert_eq!(blame["lines"][0]["by"], "user", "{blame:#}");
    let line = &blame["lines"][1];
    assert_eq!(
        (&line["by"], &line["turn"]),
        (&json!("agent"), &json!("t2")),
        "{blame:#}"
    );
    world.ok(["rewind", "t2", "--yes"]);
    let mine = ONE.replace("one", "two").replace("fn main", "fn mine");
    assert_eq!(world.read("src/main.rs"), mine);
    // the third run is a separate session, whose work stays
    assert_eq!(world.read("src/old.rs"), "pub fn new() {}\n");
    assert!(!world.exists("src/added.rs"));
    assert_eq!(world.read("notes.txt"), "first note\nmine\n");
    world.ok(["verify"]);
}

#[test]
fn three_turns_with_a_language_server() {
    let Some(session) = begun("three_turns_with_a_language_server") else {
        return;
    };
    let world = &session.world;
    let mut client = Client::with(world, Editor::Vscode, &json!({ "notifications": true }));
    client.until(|client| {
        let mut all = client.notified.iter();
        all.any(|(method, params)| {
            method == "backstitch/status" && params["recorder"]["state"] == "watching"
        })
    });
    play(&session);
    check(world);
    client.leave();
}

#[test]
fn three_turns_that_one_scan_finds() {
    let Some(session) = begun("three_turns_that_one_scan_finds") else {
        return;
    };
    play(&session);
    check(&session.world);
}
