//! Missing permissions: unreadable and unwritable paths are named, and nothing is left half done.

use super::turn;
use crate::support::World;
use crate::support::history::{actions, gaps};
use crate::support::tree::assert_same;

/// A workspace with a first checkpoint, for a user whom permissions bind.
fn world(files: &[&str]) -> World {
    let world = World::in_memory();
    for path in files {
        world.write(path, "one\n");
    }
    let world = world.for_ordinary_user();
    world.ok(["init"]);
    world
}

/// A read-only file in a writable directory is restored with its mode.
#[test]
fn a_read_only_file_is_restored_with_its_mode() {
    let world = World::in_memory();
    world.write("a.txt", "one\n");
    world.set_mode("a.txt", 0o400);
    let world = world.for_ordinary_user();
    world.ok(["init"]);
    let before = world.tree();
    turn(&world, "chmod 600 a.txt; echo two > a.txt; chmod 444 a.txt");
    let after = world.tree();
    assert!(after != before);
    world.ok(["rewind", "t1"]);
    assert_same(&world.tree(), &before);
    world.ok(["undo"]);
    assert_same(&world.tree(), &after);
    world.ok(["verify"]);
}

/// A file of a restore is in a read-only directory: the whole restore is undone and the file is named. Without
/// that file the others are restored, and with permission all are.
#[test]
fn a_read_only_directory_stops_the_whole_restore() {
    let world = world(&["b.txt", "locked/a.txt"]);
    let before = world.tree();
    turn(
        &world,
        "echo two > b.txt; echo two > locked/a.txt; chmod 500 locked",
    );
    let after = world.tree();
    let refused = world.run(["rewind", "t1"]).expect_code(1);
    let why = "locked/a.txt  it cannot be replaced: its directory cannot be written to";
    assert!(refused.stdout.contains(why), "{refused}");
    assert!(refused.stderr.contains("nothing was changed"), "{refused}");
    assert!(refused.stderr.contains("--path b.txt"), "{refused}");
    assert_same(&world.tree(), &after);
    world.ok(["rewind", "t1", "--path", "b.txt"]);
    assert_eq!(
        (&*world.read("b.txt"), &*world.read("locked/a.txt")),
        ("one\n", "two\n")
    );
    world.ok(["undo"]);
    assert_same(&world.tree(), &after);
    world.set_mode("locked", 0o755);
    world.ok(["rewind", "t1"]);
    assert_same(&world.tree(), &before);
    world.ok(["verify"]);
}

/// A file that became unreadable keeps its last recorded state, and a rewind past it says that its content is unknown.
#[test]
fn an_unreadable_file_keeps_its_last_known_state() {
    let world = world(&["b.txt", "secret.txt"]);
    let before = world.tree();
    turn(
        &world,
        "echo two > b.txt; echo unknown > secret.txt; chmod 000 secret.txt",
    );
    let after = world.tree();
    let items = &world.json(["status"])["coverage"]["items"];
    assert_eq!(
        (&items[0]["path"], &items[0]["reason"]),
        (&"secret.txt".into(), &"unreadable".into()),
        "{items:#}"
    );
    assert_eq!(world.at("@", "secret.txt").as_deref(), Some("one\n"));
    let done = world.json(["rewind", "t1"]);
    assert_eq!(actions(&done), ["write b.txt"], "{done:#}");
    assert_eq!(gaps(&done), ["unreadable secret.txt"], "{done:#}");
    assert_eq!(world.read("b.txt"), "one\n");
    assert_eq!(world.mode("secret.txt"), 0o000);
    world.ok(["undo"]);
    assert_same(&world.tree(), &after);

    // once readable it is as it was before, unless an exact rewind is requested
    world.set_mode("secret.txt", 0o644);
    let done = world.json(["rewind", "t1"]);
    assert_eq!(gaps(&done), [""; 0], "{done:#}");
    assert_eq!(world.read("secret.txt"), "unknown\n");
    world.ok(["rewind", "t1", "--exact"]);
    assert_same(&world.tree(), &before);
    world.ok(["verify"]);
}

/// An unreadable file that the agent had changed: the restore does not guess its content.
#[test]
fn an_unreadable_restore_target_stops_the_restore() {
    let world = world(&["b.txt", "secret.txt"]);
    let before = world.tree();
    turn(&world, "echo two > b.txt; echo two > secret.txt");
    world.set_mode("secret.txt", 0o000);
    let after = world.tree();
    let refused = world.run(["rewind", "t1"]).expect_code(1);
    assert!(refused.stderr.contains("secret.txt"), "{refused}");
    assert!(refused.stderr.contains("as they were before"), "{refused}");
    assert_same(&world.tree(), &after);
    world.ok(["rewind", "t1", "--path", "b.txt"]);
    assert_eq!(world.read("b.txt"), "one\n");
    world.set_mode("secret.txt", 0o644);
    world.ok(["rewind", "t1"]);
    assert_same(&world.tree(), &before);
    world.ok(["verify"]);
}
