//! A clone that brings its own store: nothing of it is believed, and nothing is written where git would run it.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::path::{Path, PathBuf};

use rusqlite::Connection;

use crate::support::World;
use crate::support::history::gaps;

const HOOK: &str = ".git/hooks/post-checkout";
const SCRIPT: &str = "#!/bin/sh\ntouch \"$(git rev-parse --show-toplevel)/../ran\"\n";

/// Opens the one store in a directory of stores.
fn open(stores: &Path) -> Connection {
    let dirs = fs::read_dir(stores).expect("stores").flatten();
    let found = dirs.map(|e| e.path().join("store.db")).find(|p| p.exists());
    Connection::open(found.expect("a store")).expect("opens")
}

/// Adds an operation that is not over, with one file: this path gets the content and mode of `script.sh`.
fn plant(db: &Connection, path: &str, machine: Option<&str>) {
    // stores of before have no such column
    let known = db
        .prepare("SELECT machine FROM operation")
        .map(|_| ())
        .is_ok();
    db.execute_batch(
        "INSERT INTO operation (kind, root, branch, target, time, state)
         SELECT 'rewind', id, branch, 't1', 1, 'open' FROM root LIMIT 1",
    )
    .expect("an operation");
    let op = db.last_insert_rowid();
    if known {
        db.execute(
            "UPDATE operation SET machine = ?1 WHERE id = ?2",
            (machine, op),
        )
        .expect("updated");
    }
    db.execute(
        "INSERT INTO journal (operation, path, before, after, made_dirs, temp, state)
         SELECT ?1, CAST(?2 AS BLOB), x'00', image, 0, '.backstitch-tmp-9', 'planned'
         FROM file_state WHERE path = CAST('script.sh' AS BLOB)",
        (op, path),
    )
    .expect("a line");
    db.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
        .expect("a checkpoint");
}

/// Records `script.sh`, whose content a journal can name.
fn record_script(world: &World, more: &[&str]) {
    world.write("script.sh", SCRIPT);
    world.set_mode("script.sh", 0o755);
    let mut args = more.to_vec();
    args.extend(["checkpoint", "-m", "script"]);
    world.ok(["init"].iter().chain(more));
    world.write("script.sh", format!("{SCRIPT}true\n"));
    world.ok(&args);
}

/// A clone, in the place that the one who prepared it knew, with a store whose journal writes a hook of git.
fn clone() -> World {
    let world = World::committed(&[("a.txt", "one\n")]);
    let other = world.home.join("other state");
    let stores = world.path(".s");
    let theirs = |world: &World| {
        let mut world = world.beside("work");
        world.state.clone_from(&other);
        world
    };
    record_script(
        &theirs(&world),
        &["--store-dir", stores.to_str().expect("plain")],
    );
    let db = open(&stores);
    plant(&db, HOOK, Some("theirs"));
    drop(db);
    world.write(".backstitch.toml", "[store]\ndir = \".s\"\n");
    world.git_ok(["add", "-A", "-f"]);
    world.git_ok(["commit", "-q", "-m", "prepared"]);
    let bare = world.home.join("origin.git");
    let bare = bare.to_str().expect("plain");
    world.git_ok(["clone", "-q", "--bare", ".", bare]);
    fs::remove_dir_all(&world.root).expect("removed");
    fs::create_dir(&world.root).expect("made");
    world.git_ok(["clone", "-q", bare, "."]);
    world
}

fn nothing_ran(world: &World) {
    world.git_ok(["checkout", "-q", "-b", "elsewhere"]);
    assert!(!world.path("../ran").exists(), "a hook of git was run");
    assert!(!world.exists(HOOK), "a hook of git was written");
    world.git_ok(["checkout", "-q", "-"]);
    world.git_ok(["branch", "-q", "-D", "elsewhere"]);
}

/// A1: the workspace's own file does not say where the store is: the history begins in the user's state directory, and
/// `status` and `doctor` say that the line is not heeded.
#[test]
fn a_store_that_a_clone_brings_is_not_used() {
    let world = clone();
    let mut agent = world.agent();
    agent.let_complain();
    let said = agent.prompt("go").stderr;
    agent.bash("echo two >> a.txt");
    agent.stop();
    nothing_ran(&world);
    assert!(said.contains(".backstitch.toml:2: `store.dir`: "), "{said}");
    let status = world.run(["status", "--json"]).expect_code(0);
    let store = status.json()["store"].as_str().expect("a path").to_owned();
    let own = world.state.join("backstitch/workspaces");
    assert!(store.starts_with(own.to_str().expect("plain")), "{store}");
    for command in ["status", "doctor"] {
        let output = world.run([command]);
        let said = format!("{}{}", output.stdout, output.stderr);
        assert!(
            said.contains(".backstitch.toml:2: `store.dir`: a file in a workspace cannot name"),
            "{command}: {output}"
        );
        assert!(
            said.contains("the user's state directory is used"),
            "{output}"
        );
    }
    world.ok(["rewind", "t1"]);
    assert_eq!(world.read("a.txt"), "one\n");
    nothing_ran(&world);
    world.ok(["verify"]);
}

/// A1: a user who names the place in person gets a refusal that says why, and nothing is written.
#[test]
fn a_prepared_store_that_the_user_names_is_refused() {
    let world = clone();
    let before = world.tree();
    for command in [
        &["log"][..],
        &["checkpoint"],
        &["rewind", "t1"],
        &["verify"],
    ] {
        let args = ["--store-dir", ".s"].iter().chain(command);
        let output = world.run(args).expect_code(1);
        assert!(
            output
                .stderr
                .contains("was not made by you on this machine"),
            "{output}"
        );
        assert!(output.stderr.contains("move its directory out"), "{output}");
    }
    let payload = world
        .agent()
        .payload("UserPromptSubmit", serde_json::json!({"prompt": "p"}));
    let mut hook = world.hook_command();
    hook.args(["--store-dir", ".s"]);
    let output = crate::support::finish(&mut hook, payload.to_string().as_bytes());
    assert_eq!(output.code, 0, "{output}");
    assert!(output.stderr.contains("was not made by you"), "{output}");
    crate::support::tree::assert_same(&world.tree(), &before);
    nothing_ran(&world);
}

/// A1: one that the user makes in the tree in person goes on to work, by option and by the user's own settings.
#[test]
fn a_store_in_the_tree_that_the_user_made_works() {
    let world = World::committed(&[("a.txt", "one\n")]);
    let dir = world.config.join("backstitch");
    fs::create_dir_all(&dir).expect("a directory");
    let inside = world.path(".mine");
    let said = format!("store.dir = {:?}\n", inside.to_str().expect("plain"));
    fs::write(dir.join("config.toml"), said).expect("written");
    let mut agent = world.agent();
    agent.session_start();
    agent.prompt("go");
    agent.bash("echo two >> a.txt");
    agent.stop();
    assert!(inside.is_dir() && !world.state.join("backstitch/workspaces").exists());
    world.ok(["rewind", "t1"]);
    assert_eq!(world.read("a.txt"), "one\n");
    world.ok(["--store-dir", ".mine", "undo"]);
    assert_eq!(world.read("a.txt"), "one\ntwo\n");
    world.ok(["verify"]);
}

/// A1: what was cut off on another machine is not carried out here, though the store is in the user's own place.
#[test]
fn a_journal_of_another_machine_is_not_believed() {
    let world = World::committed(&[("a.txt", "one\n")]);
    record_script(&world, &[]);
    let stores = world.state.join("backstitch/workspaces");
    plant(&open(&stores), "planted.sh", Some("theirs"));
    let output = world.ok(["log"]);
    assert!(!world.exists("planted.sh"), "{output}");
    let status = world.json(["status"]);
    assert!(status["open_operation"].is_null(), "{status:#}");
    assert!(
        status["gaps"].to_string().contains("not begun by you"),
        "{status:#}"
    );
    world.ok(["gc"]);
    world.ok(["verify"]);
}

/// A1: whoever wrote the journal: neither recovery nor a rewind writes where version control keeps its own, in any
/// case and at any depth, nor through a link.
#[test]
fn no_restore_writes_for_version_control_or_through_a_link() {
    let world = World::committed(&[("a.txt", "one\n")]);
    record_script(&world, &[]);
    let mut agent = world.agent();
    agent.prompt("go");
    agent.edit("a.txt", "one", "two");
    agent.stop();
    world.ok(["rewind", "t1"]);
    let stores = world.state.join("backstitch/workspaces");
    let machine: Option<String> = open(&stores)
        .query_row("SELECT machine FROM operation", [], |r| r.get(0))
        .expect("the rewind's");
    assert!(machine.is_some());
    let outside = world.home.join("outside");
    fs::create_dir(&outside).expect("made");
    world.symlink(&outside, "link");
    fs::create_dir_all(world.path("sub/.git/hooks")).expect("made");
    fs::create_dir_all(world.path("sub/.Jj")).expect("made");
    // this machine's journal is carried out where it may write
    plant(&open(&stores), "planted.sh", machine.as_deref());
    world.ok(["log"]);
    assert!(world.exists("planted.sh"));
    for path in [
        HOOK,
        ".git/config.new",
        "sub/.git/hooks/post-checkout",
        "sub/.git/new/deep",
        ".GIT/hooks/post-checkout",
        ".gi\u{200c}t/x",
        "sub/.Jj/x",
        ".hg/hgrc",
        "other/.git",
        "link/x",
    ] {
        let db = open(&stores);
        plant(&db, path, machine.as_deref());
        let op = db.last_insert_rowid();
        drop(db);
        world.ok(["log"]);
        assert!(!world.exists(path), "{path} was written");
        let state: String = open(&stores)
            .query_row(
                "SELECT state FROM operation ORDER BY id DESC LIMIT 1",
                [],
                |r| r.get(0),
            )
            .expect("a state");
        assert_eq!(state, "incomplete", "{path} {op}");
    }
    assert!(fs::read_dir(&outside).expect("there").next().is_none());
    assert!(!world.exists("sub/.git/new") && !world.exists(".GIT") && !world.exists(".hg"));
    nothing_ran(&world);
}

/// A1: a store of before, in the user's state directory, is taken over without a word, and what was cut off in it is
/// finished.
#[test]
fn a_store_of_before_is_taken_over() {
    for point in [6, 9, 12] {
        let world = World::committed(&[("a.txt", "one\n")]);
        let mut agent = world.agent();
        agent.prompt("go");
        agent.bash("echo two >> a.txt; echo b > b.txt");
        agent.stop();
        let after = world.tree();
        let mut rewind = world.backstitch();
        rewind
            .args(["rewind", "t1"])
            .env("BACKSTITCH_FAULT", point.to_string());
        crate::support::finish(&mut rewind, b"").expect_code(137);
        let db = open(&world.state.join("backstitch/workspaces"));
        db.execute_batch("UPDATE operation SET machine = NULL")
            .expect("as before");
        drop(db);
        fs::remove_file(world.store().join("owner")).expect("a stamp");
        let output = world.ok(["log"]);
        assert_eq!(output.stderr, "");
        let tree = world.tree();
        assert!(tree == after || world.read("a.txt") == "one\n", "{point}");
        let status = world.json(["status"]);
        assert!(status["open_operation"].is_null(), "{status:#}");
        assert_eq!(gaps(&world.plan(["rewind", "t1"])), [""; 0]);
        assert!(world.store().join("owner").is_file());
        world.ok(["verify"]);
    }
}

/// A1: a store that belongs to another user, or that others can write, is refused with the next step.
#[test]
fn a_store_that_others_can_write_is_refused() {
    let world = World::committed(&[("a.txt", "one\n")]);
    world.ok(["init"]);
    let store = world.store();
    let mode = |path: &PathBuf, mode| {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("a mode");
    };
    for (path, open, shut) in [
        (store.clone(), 0o770, 0o700),
        (store.join("store.db"), 0o602, 0o600),
    ] {
        mode(&path, open);
        let output = world.run(["log"]).expect_code(1);
        assert!(
            output.stderr.contains("can be written by other users"),
            "{output}"
        );
        assert!(output.stderr.contains("chmod -R go-w"), "{output}");
        mode(&path, shut);
        world.ok(["log"]);
    }
    // only the superuser can give a file away
    if chown(store.join("store.db"), Some(65534), None).is_ok() {
        let output = world.run(["log"]).expect_code(1);
        assert!(
            output.stderr.contains("belongs to another user"),
            "{output}"
        );
    }
}
