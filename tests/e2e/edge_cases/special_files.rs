//! Special files: next to files, and in the place of one.

use std::fs;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::os::unix::net::UnixListener;

use super::{turn, world};
use crate::support::World;
use crate::support::history::{actions, gaps};
use crate::support::tree::assert_same;

/// Creates a special file of this name.
type Make = fn(&World, &str) -> bool;

const KINDS: [(&str, Make); 3] = [
    ("pipe", |world, name| {
        world.sh(&format!("mkfifo {name}")).code == 0
    }),
    ("socket", |world, name| {
        UnixListener::bind(world.path(name)).is_ok()
    }),
    ("device", |world, name| {
        // only the superuser may do this, and not in every container
        let made = world.sh(&format!("mknod {name} c 1 3")).code == 0;
        if !made {
            eprintln!("SKIPPED: edge_cases::special_files: no device can be made");
        }
        made
    }),
];

/// A device is named, never read, and not touched by a restore.
#[test]
fn a_device_is_named_and_left_alone() {
    let world = World::in_memory();
    world.write("a.txt", "one\n");
    let (_, device) = KINDS[2];
    if !device(&world, "null") {
        return;
    }
    world.ok(["init"]);
    let was = fs::metadata(world.path("null")).expect("there");
    turn(&world, "echo two > a.txt; echo two > b.txt");
    let items = &world.json(["status"])["coverage"]["items"];
    assert_eq!(
        (&items[0]["path"], &items[0]["reason"]),
        (&"null".into(), &"special".into()),
        "{items:#}"
    );
    for how in [
        &["rewind", "t1"][..],
        &["undo"],
        &["rewind", "t1", "--exact"],
    ] {
        world.ok(how);
        let now = fs::metadata(world.path("null")).expect("there");
        assert!(now.file_type().is_char_device(), "{how:?}");
        assert_eq!((now.ino(), now.rdev()), (was.ino(), was.rdev()), "{how:?}");
    }
    assert_eq!(world.read("a.txt"), "one\n");
    assert!(!world.exists("b.txt"));
    world.ok(["verify"]);
}

/// A special file in the place of a file outside the restore: the file's last state is kept, the special file stays
/// and is named. Once it is gone, the file can be restored.
#[test]
fn a_special_file_in_the_place_of_a_file_keeps_its_last_state() {
    for (kind, make) in KINDS {
        let world = world(|world| {
            world.write("a.txt", "one\n");
            world.write("b.txt", "one\n");
        });
        turn(&world, "echo two > b.txt");
        world.remove("a.txt");
        if !make(&world, "a.txt") {
            continue;
        }
        world.ok(["scan"]);
        let after = world.tree();
        let done = world.json(["rewind", "t1"]);
        assert_eq!(actions(&done), ["write b.txt"], "{kind}: {done:#}");
        assert_eq!(gaps(&done), ["special a.txt"], "{kind}: {done:#}");
        assert_eq!(world.read("b.txt"), "one\n");
        assert_eq!(world.at("@", "a.txt").as_deref(), Some("one\n"), "{kind}");
        world.ok(["undo"]);
        assert_same(&world.tree(), &after);
        world.remove("a.txt");
        world.ok(["rewind", "t1", "--exact"]);
        assert_eq!(world.read("a.txt"), "one\n", "{kind}");
        world.ok(["verify"]);
    }
}

/// A special file in the place of a file to be restored: the whole restore is undone, and it is named. Without it
/// the others are restored.
#[test]
fn a_special_file_in_the_place_of_a_restore_target_stops_the_restore() {
    for (kind, make) in KINDS {
        let world = world(|world| {
            world.write("a.txt", "one\n");
            world.write("b.txt", "one\n");
        });
        let before = world.tree();
        turn(&world, "echo two > a.txt; echo two > b.txt");
        world.remove("a.txt");
        if !make(&world, "a.txt") {
            continue;
        }
        let after = world.tree();
        for how in [&["rewind", "t1"][..], &["rewind", "t1", "--exact"]] {
            let refused = world.run(how).expect_code(1);
            assert!(refused.stderr.contains("a.txt"), "{kind}: {refused}");
            assert!(refused.stderr.contains("as they were before"), "{refused}");
            assert_same(&world.tree(), &after);
        }
        world.ok(["rewind", "t1", "--path", "b.txt"]);
        assert_eq!(world.read("b.txt"), "one\n", "{kind}");
        world.remove("a.txt");
        world.ok(["rewind", "t1", "--exact"]);
        assert_same(&world.tree(), &before);
        world.ok(["verify"]);
    }
}
