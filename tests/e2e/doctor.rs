//! `doctor` names what does not work and how to fix it, and shows that the rest works.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use rusqlite::Connection;
use serde_json::{Value, json};

use crate::robustness::Small;
use crate::support::rng::Rng;
use crate::support::{Output, World, finish};

/// A workspace with some history, and Claude Code set up to report to the binary under test.
fn healthy() -> World {
    let world = World::committed(&[("a.txt", "one\n")]);
    let mut agent = world.agent();
    agent.prompt("make it two");
    agent.edit("a.txt", "one", "two");
    agent.stop();
    world.ok(["setup", "claude-code"]);
    world
}

/// Runs `doctor` with a program `claude` first on the path that prints this version.
fn examine(world: &World, version: &str) -> Output {
    let bin = world.home.join("bin");
    fs::create_dir_all(&bin).expect("a directory");
    let claude = bin.join("claude");
    fs::write(&claude, format!("#!/bin/sh\necho '{version}'\n")).expect("written");
    fs::set_permissions(&claude, fs::Permissions::from_mode(0o755)).expect("a mode");
    let mut doctor = world.backstitch();
    let path = std::env::var("PATH").expect("a path");
    doctor
        .args(["doctor", "--json"])
        .env("PATH", format!("{}:{path}", bin.display()));
    finish(&mut doctor, b"")
}

const VERSION: &str = "2.1.300 (Claude Code)";

/// Problems and suggestions, by message.
fn complaints(output: &Output) -> Vec<(String, String)> {
    let answer: Value = serde_json::from_str(&output.stdout).expect("JSON");
    let findings = answer["findings"].as_array().expect("findings").clone();
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    findings
        .iter()
        .filter(|finding| finding["state"] != json!("good"))
        .map(|finding| {
            assert!(!text(&finding["hint"]).is_empty(), "{finding}");
            (text(&finding["state"]), text(&finding["said"]))
        })
        .collect()
}

#[track_caller]
fn complains(output: &Output, state: &str, said: &str) {
    let all = complaints(output);
    assert!(
        all.iter()
            .any(|(s, text)| s == state && text.contains(said)),
        "{said} in {all:?}"
    );
    assert_eq!(output.code, i32::from(state == "wrong"), "{output}");
}

/// `doctor` tests a hook by running it, isolated from the workspace.
#[test]
fn a_healthy_workspace_has_no_complaints() {
    let world = healthy();
    let before = world.json(["log"]);
    let output = examine(&world, VERSION);
    assert_eq!(complaints(&output), [], "{output}");
    assert_eq!(output.code, 0);
    assert!(output.stdout.contains("fires and is recorded"), "{output}");
    assert!(output.stdout.contains("version 2.1.300"), "{output}");
    assert_eq!(world.json(["log"]), before, "nothing is recorded by it");
    let text = world.ok(["doctor"]).stdout;
    assert!(text.contains("✓ history: "), "{text}");
}

#[test]
fn broken_hooks_are_named() {
    let world = healthy();
    let settings = world.home.join(".claude/settings.json");
    let was = fs::read_to_string(&settings).expect("settings");
    let set = |text: &str| fs::write(&settings, text).expect("written");

    // the binary that they name is missing, or is another program
    let gone = was.replace("backstitch hook", "backstitch-gone hook");
    assert_ne!(gone, was);
    set(&gone);
    complains(
        &examine(&world, VERSION),
        "wrong",
        "does not work: it runs ",
    );
    complains(
        &examine(&world, VERSION),
        "wrong",
        "backstitch-gone, which does not exist",
    );
    let folder = world
        .home
        .join(".vscode/extensions/backstitch.backstitch-0.1.0/bin");
    fs::create_dir_all(&folder).expect("a directory");
    let inside = folder.join("backstitch");
    let built = world.backstitch().get_program().to_owned();
    fs::copy(&built, &inside).expect("a program");
    set(&was.replace(&*built.to_string_lossy(), &inside.display().to_string()));
    let output = examine(&world, VERSION);
    let said = "which the next update of the editor's extension deletes";
    complains(&output, "warning", said);
    assert!(
        output.stdout.contains("setup claude-code --repair"),
        "{output}"
    );
    let other = world.home.join("backstitch-other");
    fs::write(&other, "#!/bin/sh\ncat > /dev/null\n").expect("written");
    fs::set_permissions(&other, fs::Permissions::from_mode(0o755)).expect("a mode");
    let mut value: Value = serde_json::from_str(&was).expect("JSON");
    for groups in value["hooks"].as_object_mut().expect("hooks").values_mut() {
        groups[0]["hooks"][0]["command"] = json!(format!("{} hook claude-code", other.display()));
    }
    set(&value.to_string());
    let output = examine(&world, VERSION);
    complains(&output, "wrong", "it ran, but nothing was recorded");

    // some hooks are missing, or all, or they are disabled
    let mut value: Value = serde_json::from_str(&was).expect("JSON");
    value["hooks"]
        .as_object_mut()
        .expect("hooks")
        .remove("Stop");
    set(&value.to_string());
    complains(&examine(&world, VERSION), "wrong", "has no hook for Stop");
    let mut value: Value = serde_json::from_str(&was).expect("JSON");
    value["disableAllHooks"] = json!(true);
    set(&value.to_string());
    complains(&examine(&world, VERSION), "wrong", "disables all hooks");
    set("{}");
    complains(
        &examine(&world, VERSION),
        "wrong",
        "hooks are not installed",
    );
    set("{ \"hooks\": ");
    complains(&examine(&world, VERSION), "wrong", "settings.json");

    // an old version of the agent
    set(&was);
    complains(&examine(&world, "1.0.9 (Claude Code)"), "wrong", "too old");
    complains(
        &examine(&world, "hello"),
        "warning",
        "does not print its version",
    );
}

#[test]
fn problems_of_a_store_are_named() {
    let world = healthy();
    let store = world.store();
    let open = fs::Permissions::from_mode(0o644);
    fs::set_permissions(store.join("store.db"), open).expect("a mode");
    complains(&examine(&world, VERSION), "warning", "mode 644");
    let private = fs::Permissions::from_mode(0o600);
    fs::set_permissions(store.join("store.db"), private).expect("a mode");

    world.write(".backstitch.toml", "[store]\nkeepDays = 0\n");
    world.configure("[store]\nmaxBytes = \"1 MiB\"\n");
    world.write("noise.bin", Rng::new(5).bytes(1_200_000));
    world.ok(["checkpoint"]);
    let output = examine(&world, VERSION);
    complains(&output, "warning", "is not a number of days");
    complains(&output, "warning", "of its limit of");
    world.remove(".backstitch.toml");

    let db = Connection::open(store.join("store.db")).expect("the store");
    db.pragma_update(None, "user_version", 999).expect("set");
    drop(db);
    complains(&examine(&world, VERSION), "wrong", "newer Backstitch");
    fs::write(store.join("store.db"), b"no database").expect("written");
    let _ = fs::remove_file(store.join("store.db-wal"));
    complains(&examine(&world, VERSION), "wrong", "store");
}

/// U-20: a full disk is named before it costs a checkpoint.
#[test]
fn a_full_disk_is_named() {
    let world = World::committed(&[("a.txt", "one\n")]);
    let place = world.state.join("backstitch");
    let Some(small) = Small::mount("doctor::a_full_disk_is_named", &place) else {
        return;
    };
    world.ok(["checkpoint"]);
    let none_left = |output: &Output| {
        let all = complaints(output);
        let full = |(state, said): &(String, String)| {
            state == "wrong" && said.starts_with("0 B are left on the disk of ")
        };
        all.iter().any(full)
    };
    assert!(!none_left(&examine(&world, VERSION)));
    small.fill();
    let output = examine(&world, VERSION);
    assert!(none_left(&output), "{output}");
    assert_eq!(output.code, 1);
    small.empty();
    assert!(!none_left(&examine(&world, VERSION)));
}

#[test]
fn without_an_agent_it_says_how_to_begin() {
    let world = World::committed(&[("a.txt", "one\n")]);
    let mut doctor = world.backstitch();
    doctor
        .args(["doctor", "--json"])
        .env("PATH", "/usr/bin:/bin");
    let output = finish(&mut doctor, b"");
    complains(&output, "warning", "no agent was found");
    assert!(
        output.stdout.contains("nothing is recorded here yet"),
        "{output}"
    );
}
