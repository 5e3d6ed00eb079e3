//! Two sessions of one real agent in one workspace at the same time: each edit is its session's, certainly; the work of shell
//! commands that run at once is uncertain, unless it was seen before. A revert of one leaves the other's work.

use std::fs;
use std::path::PathBuf;
use std::thread;

use serde_json::{Value, json};

use super::{Session, real};
use crate::support::{World, finish};

fn edit(file: &str, old: &str, new: &str) -> Value {
    let patch =
        format!("*** Begin Patch\n*** Update File: {file}\n@@\n-{old}\n+{new}\n*** End Patch\n");
    json!({"tool": "apply_patch", "freeform": patch})
}

/// A command that makes a file, and ends once another command has made the other file.
fn meet(own: &str, other: &str) -> Value {
    let command = format!("echo {own} > {own}; while [ ! -e {other} ]; do sleep 0.02; done");
    json!({"tool": "exec_command", "args": {"cmd": command}})
}

#[test]
fn two_sessions_of_codex() {
    let test = "side_by_side::two_sessions_of_codex";
    let Some(first) = Session::new(test, real("codex")) else {
        return;
    };
    let world = &first.world;
    // the other session is of the same user, with its own record
    let home: PathBuf = world.home.join("other");
    fs::create_dir_all(home.join(".codex")).expect("made");
    for file in ["config.toml", "hooks.json"] {
        let place = format!(".codex/{file}");
        if world.home.join(&place).exists() {
            fs::copy(world.home.join(&place), home.join(&place)).expect("copied");
        }
    }
    let part = |text: Vec<Value>| json!({ "prompts": ["go on"], "workspace": {}, "expect": {}, "codex": text });
    let one = part(vec![
        meet("one.txt", "two.txt"),
        edit(
            "src/main.rs",
            "    println!(\"one\");",
            "    println!(\"first\");",
        ),
        json!({"text": "done"}),
    ]);
    let two = part(vec![
        meet("two.txt", "one.txt"),
        edit("notes.txt", "first note", "second note"),
        json!({"text": "done"}),
    ]);
    let run = |home: &PathBuf, script: &Value| {
        let path = home.join("script.json");
        fs::write(&path, script.to_string()).expect("written");
        let mut command = first.command(&path, home);
        // the user's trust is that of one file of hooks
        command.arg("--trust");
        finish(&mut command, b"").expect_code(0)
    };
    thread::scope(|scope| {
        let other = scope.spawn(|| run(&home, &two));
        run(&world.home, &one);
        other.join().expect("it ends");
    });

    let log = world.json(["log", "--kind", "step"]);
    let steps = log["checkpoints"].as_array().expect("steps");
    let of = |path: &str| {
        let touches = |step: &&Value| {
            let changes = step["changes"].as_array().expect("changes");
            changes.iter().any(|change| change["path"] == path)
        };
        let found = steps.iter().find(touches);
        found.unwrap_or_else(|| panic!("{path}: {log:#}"))
    };
    let session = |path: &str| of(path)["session"].clone();
    assert_ne!(session("src/main.rs"), session("notes.txt"));
    let blame = |path: &str| world.json(["blame", path])["lines"].clone();
    for (path, line) in [("src/main.rs", 1), ("notes.txt", 0)] {
        let line = &blame(path)[line];
        assert_eq!(line["by"], "agent", "{path}: {line:#}");
        assert_ne!(line["certainty"], "uncertain", "{path}: {line:#}");
    }
    // both commands ran when at least one of the files was made
    let mut uncertain = 0;
    for path in ["one.txt", "two.txt"] {
        let step = of(path);
        let mut changes = step["changes"].as_array().expect("changes").iter();
        let change = changes.find(|change| change["path"] == path);
        if change.expect("a change")["origin"]["step_certainty"] == "certain" {
            let command = step["command"].as_str().expect("a command");
            assert!(command.starts_with(&format!("echo {path}")), "{step:#}");
        } else {
            uncertain += 1;
        }
    }
    assert!(uncertain > 0, "{log:#}");

    let turn = of("src/main.rs")["turn"]
        .as_str()
        .expect("a turn")
        .to_owned();
    undone(world, &["revert", &turn, "--yes"]);
    assert!(world.read("src/main.rs").contains("\"one\""));
    assert_eq!(world.read("notes.txt"), "second note\n");
}

/// Takes work out. A file that was written while the command of the other ran stays as uncertain, until one takes it.
#[track_caller]
fn undone(world: &World, args: &[&str]) {
    let undone = world.run(args);
    assert!(
        undone.code == 0 || undone.stderr.contains("uncertain"),
        "{undone}"
    );
    if undone.stdout.contains("uncertain   src/main.rs") {
        world.ok([args, &["--uncertain", "take"]].concat());
    }
}

/// Codex and Qwen Code at work at the same time: each edit is its agent's, and a rewind of one keeps the other's work.
#[test]
fn two_agents_at_once() {
    let test = "side_by_side::two_agents_at_once";
    let Some(first) = Session::new(test, real("codex")) else {
        return;
    };
    if super::agents(test, "qwen").is_none() {
        return;
    }
    let world = &first.world;
    world.ok(["setup", "qwen"]);
    let home: PathBuf = world.home.join("other");
    fs::create_dir_all(home.join(".qwen")).expect("made");
    let settings = ".qwen/settings.json";
    fs::copy(world.home.join(settings), home.join(settings)).expect("copied");
    let whole = |name: &str, steps: Vec<Value>| json!({ "prompts": ["go on"], "workspace": {}, "expect": {}, name: steps });
    let codex = whole(
        "codex",
        vec![
            meet("one.txt", "two.txt"),
            edit(
                "src/main.rs",
                "    println!(\"one\");",
                "    println!(\"codex\");",
            ),
            json!({"text": "done"}),
        ],
    );
    let notes = world.path("notes.txt");
    let both = "echo two.txt > two.txt; while [ ! -e one.txt ]; do sleep 0.02; done";
    let qwen = whole(
        "qwen",
        vec![
            json!({"tool": "run_shell_command", "args": {"command": both, "description": "wait", "is_background": false}}),
            json!({"tool": "read_file", "args": {"file_path": notes}}),
            json!({"tool": "edit", "args": {"file_path": notes, "old_string": "first", "new_string": "second"}}),
            json!({"text": "done"}),
        ],
    );
    let run = |name: &str, home: &PathBuf, script: &Value| {
        let path = home.join("script.json");
        fs::write(&path, script.to_string()).expect("written");
        finish(&mut first.command_of(name, &path, home), b"").expect_code(0)
    };
    thread::scope(|scope| {
        let other = scope.spawn(|| run("qwen", &home, &qwen));
        run("codex", &world.home, &codex);
        other.join().expect("it ends");
    });
    let turn_of = |path: &str, line: usize, agent: &str| {
        let line = world.json(["blame", path])["lines"][line].clone();
        assert_eq!(line["by"], "agent", "{path}: {line:#}");
        let turn = line["turn"].as_str().expect("a turn").to_owned();
        let shown = world.json(["show", &turn]);
        assert!(
            shown
                .to_string()
                .contains(&format!("\"agent\":\"{agent}\"")),
            "{shown:#}"
        );
        turn
    };
    let of_codex = turn_of("src/main.rs", 1, "codex");
    turn_of("notes.txt", 0, "qwen");
    let session = world.json(["show", &of_codex]).to_string();
    assert!(!session.contains("\"agent\":\"qwen\""), "{session}");
    // the other agent's work stays, whichever turn came first
    undone(world, &["rewind", &of_codex, "--yes"]);
    assert!(world.read("src/main.rs").contains("\"one\""));
    assert_eq!(world.read("notes.txt"), "second note\n");
}
