//! Replays what the real Claude Code sent: every recorded payload in the order of a session, with its tool's changes
//! made in between.

use std::collections::BTreeSet;
use std::path::Path;
use std::{fs, iter};

use serde_json::{Value, json};

use crate::support::World;

const MAIN: &str = "fn main() {\n    println!(\"one\");\n}\n";
const MAIN_TWO: &str = "fn main() {\n    println!(\"two\");\n}\n";

fn folder() -> &'static Path {
    Path::new(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/agents/payloads/claude"
    ))
}

/// A recorded payload with this world's directories.
fn recorded(world: &World, name: &str) -> Value {
    let text = fs::read_to_string(folder().join(format!("{name}.json"))).expect(name);
    let text = text
        .replace("/home/dev/project", world.root.to_str().expect("UTF-8"))
        .replace("/home/dev", world.home.to_str().expect("UTF-8"));
    serde_json::from_str(&text).expect(name)
}

/// Sends a recorded payload with some fields changed, and asserts that the hook prints nothing.
#[track_caller]
fn play(world: &World, name: &str, other: Value) -> Value {
    let mut payload = recorded(world, name);
    let Value::Object(other) = other else {
        panic!("fields are an object")
    };
    payload.as_object_mut().expect("an object").extend(other);
    let output = world.hook(&payload);
    let answer = (output.code, output.stdout.as_str(), output.stderr.as_str());
    assert_eq!(answer, (0, "", ""), "{name}");
    payload
}

#[track_caller]
fn send(world: &World, names: &[&str]) {
    for name in names {
        play(world, name, json!({}));
    }
}

/// Replays a call with its effect between the two events. The recorded "before" may be of another call of the same
/// tool, so its input and id are those of the "after".
#[track_caller]
fn call(world: &World, before: &str, after: &str, other: &Value) {
    let mut fields = other.clone();
    let end = recorded(world, after);
    for name in ["tool_input", "tool_use_id"] {
        if other[name].is_null() {
            fields[name] = end[name].clone();
        }
    }
    play(world, before, fields.clone());
    effect(world, &end);
    play(world, after, fields);
}

/// Makes the changes of the tool.
fn effect(world: &World, payload: &Value) {
    let text = |v: &Value| v.as_str().expect("text").to_owned();
    let (input, response) = (&payload["tool_input"], &payload["tool_response"]);
    match payload["tool_name"].as_str() {
        Some("Edit") => {
            let path = text(&input["file_path"]);
            let content = world.read(&path);
            world.write(
                &path,
                content.replacen(&text(&input["old_string"]), &text(&input["new_string"]), 1),
            );
        }
        Some("Write") => world.write(text(&input["file_path"]), text(&input["content"])),
        Some("NotebookEdit") => {
            world.write(
                text(&input["notebook_path"]),
                text(&response["updated_file"]),
            );
        }
        // a sleeping command runs in the background: each test handles its end
        Some("Bash") => {
            let command = text(&input["command"]);
            let now = command.split("sleep").next().expect("a part");
            world.sh(now.trim_end_matches([' ', ';']));
        }
        _ => {}
    }
}

fn workspace() -> World {
    let notebook = recorded(&World::new(), "PostToolUse-NotebookEdit");
    let notebook = notebook["tool_response"]["original_file"].as_str();
    World::committed(&[
        ("src/main.rs", MAIN),
        ("old.txt", "old\n"),
        ("a.txt", "one\n"),
        ("book.ipynb", notebook.expect("the old text")),
    ])
}

/// Replays each payload alone, in a workspace without a history.
#[test]
fn every_recorded_payload_is_accepted_silently() {
    let names = fs::read_dir(folder()).expect("payloads");
    let names: BTreeSet<_> = names
        .map(|e| e.expect("an entry").path())
        .map(|path| path.file_stem().expect("a name").to_owned())
        .collect();
    assert!(names.len() >= 38, "{names:?}");
    for name in names {
        let world = workspace();
        let git = world.git_digest();
        let before = world.tree();
        play(&world, name.to_str().expect("UTF-8"), json!({}));
        assert_eq!(world.tree(), before, "{name:?}");
        assert_eq!(world.git_digest(), git, "{name:?}");
        world.ok(["verify"]);
    }
}

/// S3-009…012, S3-016…019, S4-001, S4-013, S4-014: a turn of edits, each with its image before.
#[test]
fn a_turn_of_edit_tools_is_recorded() {
    let world = workspace();
    send(&world, &["SessionStart-startup", "UserPromptSubmit"]);
    send(
        &world,
        &["PreToolUse-Read", "PostToolUse-Read", "PostToolBatch"],
    );
    let here = json!({});
    call(&world, "PreToolUse-Edit", "PostToolUse-Edit", &here);
    call(&world, "PreToolUse-Write", "PostToolUse-Write", &here);
    call(
        &world,
        "PreToolUse-Write",
        "PostToolUse-Write-update",
        &here,
    );
    let search = "PreToolUse-ToolSearch";
    send(&world, &[search, "PostToolUse-ToolSearch"]);
    call(
        &world,
        "PreToolUse-NotebookEdit",
        "PostToolUse-NotebookEdit",
        &here,
    );
    send(&world, &["Stop", "SessionEnd"]);

    assert_eq!(
        world.since_start(),
        [
            "t1: change one to two and add added.rs",
            "t1 Edit: modify src/main.rs",
            "t1 Write: create src/added.rs",
            "t1 Write: modify old.txt",
            "t1 NotebookEdit: modify book.ipynb",
        ]
    );
    let before = |line: &str, path: &str| world.at(&format!("{}^", world.id(line)), path);
    let text = |t: &str| Some(t.to_owned());
    assert_eq!(
        before("t1 Edit: modify src/main.rs", "src/main.rs"),
        text(MAIN)
    );
    assert_eq!(
        before("t1 Write: create src/added.rs", "src/added.rs"),
        None
    );
    assert_eq!(before("t1 Write: modify old.txt", "old.txt"), text("old\n"));
    let told = recorded(&world, "PostToolUse-NotebookEdit");
    let old = told["tool_response"]["original_file"].as_str();
    let line = "t1 NotebookEdit: modify book.ipynb";
    assert_eq!(before(line, "book.ipynb").as_deref(), old);
    assert_eq!(world.at("@", "src/main.rs"), text(MAIN_TWO));
}

/// The user saves the notebook while the agent waits for permission to edit it: `original_file` shows the user's
/// change.
#[test]
fn a_notebook_edit_reveals_the_users_save() {
    let world = workspace();
    send(&world, &["SessionStart-startup", "UserPromptSubmit"]);
    let told = recorded(&world, "PostToolUse-NotebookEdit");
    let response = &told["tool_response"];
    world.write("book.ipynb", "{\"cells\": []}\n");
    send(&world, &["PreToolUse-NotebookEdit"]);
    let user = response["original_file"].as_str().expect("text");
    world.write("book.ipynb", user);
    effect(&world, &told);
    send(&world, &["PostToolUse-NotebookEdit", "Stop"]);
    assert_eq!(
        world.since_start(),
        [
            "t1: change one to two and add added.rs",
            "you: modify book.ipynb",
            "you: modify book.ipynb",
            "t1 NotebookEdit: modify book.ipynb",
        ]
    );
    world.ok(["rewind", "t1"]);
    assert_eq!(world.read("book.ipynb"), user);
}

/// S4-023: shell commands; the changes of a failed one are certain, too.
#[test]
fn a_turn_of_shell_commands_is_recorded() {
    let world = workspace();
    send(&world, &["SessionStart-startup", "UserPromptSubmit"]);
    call(&world, "PreToolUse-Bash", "PostToolUse-Bash", &json!({}));
    send(&world, &["PostToolBatch"]);
    call(
        &world,
        "PreToolUse-Bash",
        "PostToolUseFailure-Bash",
        &json!({}),
    );
    send(&world, &["PostToolBatch-several", "Stop"]);
    assert_eq!(
        world.since_start(),
        [
            "t1: change one to two and add added.rs",
            "t1 Bash: modify src/main.rs",
            "t1 Bash: create partly.txt",
        ]
    );
    world.ok(["rewind", "t1"]);
    assert_eq!(world.read("src/main.rs"), MAIN);
    assert!(!world.exists("partly.txt"));
}

/// U-13: a subagent's edit after the main Stop, and even after a later prompt, belongs to the turn that started it.
#[test]
fn late_edits_of_a_subagent_belong_to_its_turn() {
    let world = workspace();
    send(&world, &["SessionStart-startup", "UserPromptSubmit"]);
    send(
        &world,
        &[
            "PreToolUse-Agent",
            "PostToolUse-Agent",
            "SubagentStart",
            "Stop",
        ],
    );
    let second = json!({"prompt_id": "second", "prompt": "go on"});
    play(&world, "UserPromptSubmit", second);
    let sub = "-in_subagent";
    let name = |event: &str| format!("{event}{sub}");
    send(
        &world,
        &[&name("PreToolUse-Read"), &name("PostToolUse-Read")],
    );
    call(
        &world,
        &name("PreToolUse-Edit"),
        &name("PostToolUse-Edit"),
        &json!({}),
    );
    send(&world, &[&name("PostToolBatch"), "SubagentStop"]);
    let of_second = json!({"prompt_id": "second", "tool_use_id": "toolu_2_0"});
    call(&world, "PreToolUse-Write", "PostToolUse-Write", &of_second);
    assert_eq!(
        world.since_start(),
        [
            "t1: change one to two and add added.rs",
            "t2: go on",
            "t1 Edit by a subagent: modify src/main.rs",
            "t2 Write: create src/added.rs",
        ]
    );
    world.ok(["revert", "t1"]);
    assert_eq!(world.read("src/main.rs"), MAIN);
    assert!(world.exists("src/added.rs"));
}

/// U-12, U-13: the notification that a task has ended opens no turn; the agent's reaction belongs to the turn of the
/// task.
#[test]
fn a_task_notification_continues_its_turn() {
    let world = workspace();
    send(
        &world,
        &["SessionStart-startup", "UserPromptSubmit", "Stop"],
    );
    let notice = play(&world, "UserPromptSubmit-task-notification", json!({}));
    let under_notice = json!({"prompt_id": notice["prompt_id"]});
    call(&world, "PreToolUse-Edit", "PostToolUse-Edit", &under_notice);
    // its id refers to that turn even when the user has begun another one
    let second = json!({"prompt_id": "second", "prompt": "go on"});
    play(&world, "UserPromptSubmit", second);
    call(
        &world,
        "PreToolUse-Write",
        "PostToolUse-Write",
        &under_notice,
    );
    assert_eq!(
        world.since_start(),
        [
            "t1: change one to two and add added.rs",
            "t1 Edit: modify src/main.rs",
            "t2: go on",
            "t1 Write: create src/added.rs",
        ]
    );
}

/// A denied call and a call that the agent itself refuses record nothing.
#[test]
fn denied_and_refused_calls_leave_nothing() {
    let world = workspace();
    send(&world, &["SessionStart-startup", "UserPromptSubmit"]);
    let batch = recorded(&world, "PostToolBatch-denied");
    let denied = &batch["tool_calls"][0];
    let fields = json!({"tool_input": denied["tool_input"], "tool_use_id": denied["tool_use_id"]});
    play(&world, "PreToolUse-Write", fields);
    send(
        &world,
        &["PostToolBatch-denied", "PostToolBatch-refused", "Stop"],
    );
    assert_eq!(
        world.since_start(),
        ["t1: change one to two and add added.rs"]
    );
    assert_eq!(world.json(["status"])["open_calls"], 0);
}

/// A file outside the workspace is not captured, and the checkpoint says so.
#[test]
fn a_file_outside_is_a_gap() {
    let world = workspace();
    send(&world, &["SessionStart-startup", "UserPromptSubmit"]);
    let request = recorded(&world, "PermissionRequest-Write");
    let fields = json!({"tool_input": request["tool_input"], "tool_use_id": "toolu_9"});
    play(&world, "PreToolUse-Write", fields.clone());
    send(&world, &["PermissionRequest-Write"]);
    world.write(world.home.join("outside.txt"), "no\n");
    play(&world, "PostToolUse-Write", fields);
    let outside = format!("outside {}", world.home.join("outside.txt").display());
    assert_eq!(
        world.checkpoint("t1 Write").not_captured(),
        std::slice::from_ref(&outside)
    );
    let gaps = crate::support::history::gaps(&world.plan(["rewind", "t1"]));
    assert_eq!(gaps, [outside]);
}

/// A change made while a background command runs may be the command's or the user's: it stays uncertain, even when the
/// next scan runs only after the command's end.
#[test]
fn changes_beside_a_background_command_are_uncertain() {
    for (after, makes, look_between) in [
        ("PostToolUse-Bash-background", None, true),
        ("PostToolUse-Bash-background", None, false),
        (
            "PostToolUse-Bash-moved_to_background",
            Some("t1 Bash: create begun.txt"),
            true,
        ),
        (
            "PostToolUse-Bash-moved_to_background",
            Some("t1 Bash: create begun.txt"),
            false,
        ),
    ] {
        let world = workspace();
        send(&world, &["SessionStart-startup", "UserPromptSubmit"]);
        call(&world, "PreToolUse-Bash-background", after, &json!({}));
        send(&world, &["Stop-background_task"]);
        world.write("late.txt", "late\n");
        if look_between {
            world.ok(["diff"]);
        }
        send(&world, &["UserPromptSubmit-task-notification", "Stop"]);
        world.write("mine.txt", "mine\n");
        world.ok(["diff"]);
        let prompt = "t1: change one to two and add added.rs";
        let lines = ["you: create late.txt ?", "you: create mine.txt"];
        let expected: Vec<_> = iter::once(prompt).chain(makes).chain(lines).collect();
        assert_eq!(world.since_start(), expected, "{after}, {look_between}");
        let gaps = crate::support::history::gaps(&world.plan(["rewind", "t1"]));
        assert_eq!(gaps, ["uncertain late.txt"]);
        world.run(["rewind", "t1"]).expect_code(1);
        assert!(world.exists("late.txt"));
        world.ok(["rewind", "t1", "--uncertain", "take"]);
        assert!(!world.exists("late.txt") && world.exists("mine.txt"));
    }
}

/// S3-028: a resumed session continues, also after `SessionEnd`.
#[test]
fn a_resumed_session_goes_on() {
    let world = workspace();
    send(&world, &["SessionStart-startup", "UserPromptSubmit"]);
    call(&world, "PreToolUse-Edit", "PostToolUse-Edit", &json!({}));
    send(&world, &["Stop", "SessionEnd", "SessionStart-resume"]);
    let second = json!({"prompt_id": "second"});
    play(
        &world,
        "UserPromptSubmit",
        json!({"prompt_id": "second", "prompt": "more"}),
    );
    call(&world, "PreToolUse-Write", "PostToolUse-Write", &second);
    let sessions: BTreeSet<_> = world
        .checkpoints()
        .iter()
        .filter_map(|c| c.json["session"].as_str().map(str::to_owned))
        .collect();
    assert_eq!(sessions.len(), 1);
    let write = world.checkpoint("t2 Write: create src/added.rs");
    assert_eq!(write.json["iteration"], 2, "iterations go on");
}
