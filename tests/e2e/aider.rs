//! Aider has no hooks: its turns are read from the chat history that it writes, by the scans of any command and of a language
//! server. Here the history is written by hand; `real_agents/aider.rs` runs the real one.

use std::fs::OpenOptions;
use std::io::Write as _;

use serde_json::{Value, json};

use crate::lsp::client::{Client, Editor};
use crate::support::World;

const HISTORY: &str = ".aider.chat.history.md";
const SEVEN: &str = "1\n2\n3\n4\n5\n6\n7\n";

/// A workspace with a history of one checkpoint, in which aider's files are ignored.
fn begun() -> World {
    let world = World::committed(&[
        ("a.txt", SEVEN),
        ("b.txt", "b\n"),
        (".gitignore", ".aider*\n"),
    ]);
    world.ok(["init"]);
    world
}

fn append(world: &World, text: &str) {
    let mut options = OpenOptions::new();
    let file = options.append(true).create(true).open(world.path(HISTORY));
    let mut file = file.expect("the history");
    file.write_all(text.as_bytes()).expect("written");
}

fn session(world: &World, time: &str) {
    append(
        world,
        &format!("\n# aider chat started at {time}\n\n> Aider v0.86.2  \n"),
    );
}

fn prompt(world: &World, text: &str) {
    append(world, &format!("\n#### {text}  \n"));
}

fn answer(world: &World) {
    append(
        world,
        "\nDone:\n\n```\n\n#### no prompt  \n```\n\n> Tokens: 1.0k sent, 30 received.  \n",
    );
}

fn applied(world: &World, path: &str) {
    append(world, &format!("> Applied edit to {path}  \n"));
}

/// Commits all, as aider does.
fn commit(world: &World, subject: &str) {
    world.git_ok(["add", "-A"]);
    world.git_ok(["commit", "-q", "-m", subject]);
    let hash = world.git_ok(["rev-parse", "--short", "HEAD"]);
    append(world, &format!("> Commit {} {subject}  \n", hash.trim()));
}

/// A whole turn that replaces a text of a file.
fn turn(world: &World, text: &str, path: &str, (old, new): (&str, &str)) {
    prompt(world, text);
    answer(world);
    world.write(path, world.read(path).replace(old, new));
    applied(world, path);
    commit(world, &format!("feat: {text}"));
}

/// Author of each line: the turn, or the user.
fn authors(world: &World, path: &str) -> Vec<String> {
    let blame = world.json(["blame", path]);
    let lines = blame["lines"].as_array().expect("lines").iter();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    lines
        .map(|line| match line["by"].as_str() {
            Some("agent") => text(&line["turn"]),
            _ => text(&line["by"]),
        })
        .collect()
}

fn scanned(world: &World) -> Vec<String> {
    world.ok(["scan"]);
    world.ok(["verify"]);
    world.since_start()
}

/// Turns that passed between two scans: git has the states between them, so each line and each step is its author's.
#[test]
fn turns_between_two_scans_are_told_apart_by_their_commits() {
    let world = begun();
    session(&world, "2026-11-26 03:21:07");
    world.write("a.txt", SEVEN.replace('7', "mine"));
    commit(&world, "mine");
    turn(&world, "change one", "a.txt", ("1", "one"));
    world.write("a.txt", world.read("a.txt").replace('4', "mine"));
    // aider commits the user's changes first
    prompt(&world, "change two");
    answer(&world);
    commit(&world, "mine");
    world.write("a.txt", world.read("a.txt").replace('2', "two"));
    world.write("new/c.txt", "new\n");
    applied(&world, "a.txt");
    applied(&world, "new/c.txt");
    commit(&world, "feat: change two");
    world.write("a.txt", world.read("a.txt").replace('6', "mine"));
    world.write("b.txt", "mine\n");
    assert_eq!(
        scanned(&world),
        [
            "you: modify b.txt",
            "t1: change one",
            "you: modify a.txt",
            "t1 edit: modify a.txt",
            "t2: change two",
            "you: modify a.txt",
            "t2 edit: modify a.txt, create new/c.txt",
            "you: modify a.txt",
        ]
    );
    assert_eq!(
        authors(&world, "a.txt"),
        ["t1", "t2", "before", "user", "before", "user", "user"]
    );
    world.ok(["rewind", "t2"]);
    assert_eq!(world.read("a.txt"), "one\n2\n3\nmine\n5\nmine\nmine\n");
    assert!(!world.exists("new"));
    world.ok(["undo"]);
    world.ok(["revert", "t1"]);
    assert_eq!(world.read("a.txt"), "1\ntwo\n3\nmine\n5\nmine\nmine\n");
    world.ok(["verify"]);
}

/// A step is named by the subject of its commit, which may come after the step was recorded.
#[test]
fn a_step_is_named_by_its_commit() {
    let world = begun();
    session(&world, "2026-11-26 03:21:07");
    prompt(&world, "change one");
    scanned(&world);
    answer(&world);
    world.write("a.txt", SEVEN.replace('1', "one"));
    applied(&world, "a.txt");
    scanned(&world);
    let step = |world: &World| {
        let id = world.id("t1 edit: modify a.txt");
        world.json(["show", &id])
    };
    let before = step(&world);
    assert_eq!(before["label"], Value::Null, "{before:#}");
    // the scan before the edit has recorded the prompt, so the author is certain
    let origin = &before["changes"][0]["origin"];
    assert_eq!(
        (&origin["by"], &origin["step_certainty"]),
        (&json!("agent"), &json!("certain")),
        "{before:#}"
    );
    commit(&world, "feat: say one");
    scanned(&world);
    assert_eq!(step(&world)["label"], "feat: say one");
    let log = world.ok(["log", "--all"]);
    assert!(log.stdout.contains("feat: say one"), "{log}");
    assert_eq!(authors(&world, "a.txt")[0], "t1");
}

/// Edits after the end of a turn are the user's, also without git.
#[test]
fn edits_after_a_turn_are_the_users() {
    let world = World::new();
    world.write("a.txt", SEVEN);
    world.write("b.txt", "b\n");
    world.ok(["init"]);
    session(&world, "2026-11-26 03:21:07");
    prompt(&world, "change one");
    world.ok(["scan"]);
    world.write("a.txt", SEVEN.replace('1', "one"));
    applied(&world, "a.txt");
    world.ok(["scan"]);
    world.write("a.txt", world.read("a.txt").replace('7', "mine"));
    world.write("b.txt", "mine\n");
    world.ok(["scan"]);
    prompt(&world, "only asked");
    answer(&world);
    world.ok(["scan"]);
    world.write("a.txt", world.read("a.txt").replace('5', "mine"));
    world.ok(["scan"]);
    let authors = authors(&world, "a.txt");
    assert_eq!(
        authors,
        ["t1", "before", "before", "before", "user", "before", "user"]
    );
    world.ok(["rewind", "t1"]);
    assert_eq!(world.read("a.txt"), "1\n2\n3\n4\nmine\n6\nmine\n");
}

/// Without a commit, a scan that finds prompt and edit at once cannot know what was changed before the prompt.
#[test]
fn an_edit_that_was_found_with_its_prompt_is_uncertain_without_a_commit() {
    let world = begun();
    session(&world, "2026-11-26 03:21:07");
    prompt(&world, "change one");
    world.write("a.txt", SEVEN.replace('1', "one"));
    applied(&world, "a.txt");
    let expected = ["t1: change one", "t1 edit: modify a.txt ?"];
    assert_eq!(scanned(&world), expected);
    let id = world.id(expected[1]);
    let origin = world.json(["show", &id])["changes"][0]["origin"].clone();
    assert_eq!(
        (&origin["by"], &origin["step_certainty"]),
        (&json!("agent"), &json!("uncertain")),
        "{origin:#}"
    );
}

/// A history that is older than the workspace's own is not replayed; what is appended is read, and only once.
#[test]
fn an_old_history_is_not_replayed() {
    let world = World::committed(&[("a.txt", SEVEN), (".gitignore", ".aider*\n")]);
    session(&world, "2026-11-20 00:00:00");
    prompt(&world, "long ago");
    applied(&world, "a.txt");
    world.ok(["init"]);
    assert_eq!(world.since_start(), [""; 0]);
    turn(&world, "change one", "a.txt", ("1", "one"));
    let turns = ["t1: change one", "t1 edit: modify a.txt"];
    assert_eq!(scanned(&world), turns);
    // the session that was running is still known
    let sessions = world.json(["log", "--all"]).to_string();
    assert!(sessions.contains("2026-11-20 00:00:00"), "{sessions}");
    assert_eq!(scanned(&world), turns);
    // shortened, and written anew: nothing in it is new
    let text = world.read(HISTORY);
    world.remove(HISTORY);
    world.write(HISTORY, &text[text.len() / 2..]);
    assert_eq!(scanned(&world), turns);
    world.write(HISTORY, format!("{text}{text}"));
    assert_eq!(scanned(&world), turns);
    world.write(HISTORY, "cut");
    assert_eq!(scanned(&world), turns);
    // a new session counts in any file
    session(&world, "2026-11-26 00:00:00");
    turn(&world, "change two", "a.txt", ("2", "two"));
    assert_eq!(
        scanned(&world)[2..],
        ["t2: change two", "t2 edit: modify a.txt"]
    );
}

/// Names outside of the workspace, of missing files and of no edit at all change nothing; nor does a folder of that name.
#[test]
fn odd_histories_are_harmless() {
    let world = begun();
    let bytes = [
        b"\xff\xfe\x00#### \xff  \n> Applied edit to \xff  \n".as_slice(),
        &b"#### ".repeat(10_000),
    ]
    .concat();
    world.write(HISTORY, bytes);
    assert_eq!(scanned(&world), [""; 0]);
    session(&world, "2026-11-26 03:21:07");
    prompt(&world, "go");
    for path in [
        "../out.txt",
        "/etc/passwd",
        "",
        ".",
        ".git/config",
        "missing/file.txt",
        "b.txt",
    ] {
        applied(&world, path);
    }
    append(&world, "> Commit 0123456 nothing  \n");
    assert_eq!(scanned(&world), ["t1: go"]);
    world.remove(HISTORY);
    world.write(format!("{HISTORY}/file"), "x");
    world.write("b.txt", "mine\n");
    assert_eq!(scanned(&world)[1..], ["you: modify b.txt"]);
}

/// With recording off no turn is recorded, and none later for that time.
#[test]
fn nothing_is_read_while_recording_is_off() {
    let world = begun();
    world.configure("[checkpoints]\nautomatic = false\n");
    session(&world, "2026-11-26 03:21:07");
    turn(&world, "change one", "a.txt", ("1", "one"));
    world.ok(["scan"]);
    world.configure("");
    let all = scanned(&world);
    assert!(!all.iter().any(|line| line.contains("t1")), "{all:?}");
    turn(&world, "change two", "a.txt", ("2", "two"));
    let all = scanned(&world);
    let turns = ["t1: change two", "t1 edit: modify a.txt"];
    assert_eq!(all[all.len() - 2..], turns);
}

/// A rewind reads first what aider has done meanwhile: it undoes that, too, and the user's edits stay.
#[test]
fn a_rewind_reads_the_history_first() {
    let world = begun();
    session(&world, "2026-11-26 03:21:07");
    turn(&world, "change one", "a.txt", ("1", "one"));
    world.ok(["checkpoint", "-m", "good"]);
    turn(&world, "change two", "a.txt", ("2", "two"));
    world.write("a.txt", world.read("a.txt").replace('7', "mine"));
    world.ok(["rewind", "t1"]);
    assert_eq!(world.read("a.txt"), SEVEN.replace('7', "mine"));
    // the state of the rewind is not aider's
    turn(&world, "change three", "a.txt", ("3", "three"));
    scanned(&world);
    let authors = authors(&world, "a.txt");
    assert_eq!(authors[2..], ["t3", "before", "before", "before", "user"]);
    world.ok(["verify"]);
}

/// A language server records a prompt as soon as it is written, also into an ignored file, and each edit as a step.
#[test]
fn a_language_server_records_turns_as_they_happen() {
    let world = begun();
    let mut client = Client::with(&world, Editor::Vscode, &json!({ "notifications": true }));
    client.until(|client| {
        let mut all = client.notified.iter();
        all.any(|(method, params)| {
            method == "backstitch/status" && params["recorder"]["state"] == "watching"
        })
    });
    let mut until = |kind: &str, number: usize| {
        client.until(|client| {
            let all = client.notified.iter().filter(|(method, params)| {
                method == "backstitch/didCheckpoint" && params["checkpoint"]["kind"] == kind
            });
            all.count() >= number
        });
    };
    session(&world, "2026-11-26 03:21:07");
    prompt(&world, "change one");
    until("turn", 1);
    answer(&world);
    world.write("a.txt", SEVEN.replace('1', "one"));
    applied(&world, "a.txt");
    until("step", 1);
    world.write("a.txt", world.read("a.txt").replace('7', "mine"));
    until("external", 1);
    prompt(&world, "change two");
    until("turn", 2);
    assert_eq!(
        world.since_start(),
        [
            "t1: change one",
            "t1 edit: modify a.txt",
            "you: modify a.txt",
            "t2: change two",
        ]
    );
    let id = world.id("t1 edit: modify a.txt");
    let origin = world.json(["show", &id])["changes"][0]["origin"].clone();
    assert_eq!(
        (&origin["session_certainty"], &origin["step_certainty"]),
        (&json!("certain"), &json!("certain")),
        "{origin:#}"
    );
    client.leave();
}
