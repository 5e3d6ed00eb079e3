//! Full and read-only disks, and disks with coarse timestamps: of the files, and of the store.

use std::fs;
use std::process::Command;

use super::turn;
use crate::robustness::broken_stores::Small;
use crate::support::tree::assert_same;
use crate::support::{World, finish};

/// Bytes that do not compress.
fn noise() -> Vec<u8> {
    (0..300_000_u32)
        .flat_map(|n| (n.wrapping_mul(2_654_435_761)).to_le_bytes())
        .collect()
}

/// The disk fills up while files are restored: everything is as before, and no temporary file is left.
#[test]
fn a_restore_that_fills_the_disk_changes_nothing() {
    let world = World::new();
    let name = "edge_cases::full_disks::a_restore_that_fills_the_disk_changes_nothing";
    let Some(small) = Small::mount(name, &world.path("")) else {
        return;
    };
    world.write("a.txt", "one\n");
    world.write("big.bin", noise());
    world.ok(["init"]);
    turn(&world, "echo two > a.txt; rm big.bin");
    small.fill();
    let before = world.read("a.txt");
    let failed = world.run(["rewind", "t1"]);
    assert_eq!(failed.code, 1, "{failed}");
    assert!(failed.stderr.contains("space"), "{failed}");
    assert_eq!(world.read("a.txt"), before);
    assert!(!world.exists("big.bin"));
    let left: Vec<_> = fs::read_dir(world.path(""))
        .expect("a directory")
        .map(|entry| entry.expect("an entry").file_name())
        .filter(|name| name.to_string_lossy().contains("backstitch"))
        .collect();
    assert!(left.is_empty(), "{left:?}");
    small.empty();
    world.ok(["rewind", "t1"]);
    assert!(world.bytes("big.bin") == noise());
    assert_eq!(world.read("a.txt"), "one\n");
    world.ok(["verify"]);
}

/// No restore begins without room for its record; once there is room it works.
#[test]
fn no_restore_begins_without_room_in_the_store() {
    let world = World::new();
    let name = "edge_cases::full_disks::no_restore_begins_without_room_in_the_store";
    let Some(small) = Small::mount(name, &world.state.join("backstitch")) else {
        return;
    };
    world.write("a.txt", "one\n");
    world.write("big.bin", noise());
    world.ok(["init"]);
    let before = world.tree();
    turn(&world, "echo two > a.txt; rm big.bin");
    let after = world.tree();
    for (restore, from, to) in [
        (&["rewind", "t1"][..], &after, &before),
        (&["undo"], &before, &after),
    ] {
        small.fill();
        let history = world.history();
        let failed = world.run(restore).expect_code(1);
        assert!(failed.stderr.contains("disk is full"), "{failed}");
        assert!(failed.stderr.contains("free some disk space"), "{failed}");
        assert_same(&world.tree(), from);
        assert_eq!(world.history(), history);
        small.empty();
        world.ok(restore);
        assert_same(&world.tree(), to);
        world.ok(["verify"]);
    }
}

/// The store's disk is mounted read-only: the agent works and gets a message at every event, queries are answered, and
/// no restore begins. Gaps cannot be recorded there. Changes made meanwhile are found, but not attributed.
#[test]
fn a_read_only_store_never_blocks_the_agent() {
    let world = World::committed(&[("a.txt", "one\n"), ("b.txt", "one\n")]);
    let place = world.state.join("backstitch");
    let name = "edge_cases::full_disks::a_read_only_store_never_blocks_the_agent";
    let Some(_small) = Small::mount(name, &place) else {
        return;
    };
    let mut agent = world.agent();
    agent.prompt("begin");
    agent.edit("a.txt", "one", "two");
    agent.stop();
    let remount = |how: &str| {
        let mut mount = Command::new("mount");
        mount.args(["-o", &format!("remount,{how}")]).arg(&place);
        finish(&mut mount, b"").expect_code(0);
    };
    remount("ro");
    agent.let_complain();
    let history = world.history();
    let said = agent.prompt("read-only");
    assert_eq!((said.code, said.stderr.lines().count()), (0, 1), "{said}");
    assert!(said.stderr.contains("Read-only file system"), "{said}");
    agent.edit("b.txt", "one", "two");
    agent.stop();
    assert_eq!(world.history(), history, "it can be read as it was");
    let before = world.tree();
    for restore in [&["rewind", "t1"][..], &["rewind", "t1", "--exact"]] {
        let refused = world.run(restore).expect_code(1);
        assert!(
            refused.stderr.contains("Read-only file system") && refused.stderr.contains("hint: "),
            "{refused}"
        );
        assert_same(&world.tree(), &before);
    }
    let doctor = world.run(["doctor"]).expect_code(1);
    let why = "is not writable: nothing is recorded";
    assert!(doctor.stdout.contains(why), "{doctor}");

    remount("rw");
    agent.prompt("again");
    agent.edit("a.txt", "two", "three");
    agent.stop();
    assert_eq!(
        world.since_start(),
        [
            "t1: begin",
            "t1 Edit: modify a.txt",
            "you: modify b.txt",
            "t2: again",
            "t2 Edit: modify a.txt",
        ]
    );
    let after = world.tree();
    world.ok(["rewind", "t1"]);
    assert_eq!(
        (&*world.read("a.txt"), &*world.read("b.txt")),
        ("one\n", "two\n")
    );
    world.ok(["undo"]);
    assert_same(&world.tree(), &after);
    world.ok(["verify"]);
}

/// Edits of the same size within one second are detected on a disk with timestamps of whole seconds.
#[test]
fn edits_within_a_second_are_detected_with_coarse_timestamps() {
    let world = World::new();
    let Some(_small) = Small::with_coarse_stamps(&world.path("")) else {
        // a unit test in `disk::stat` covers the rule itself
        eprintln!(
            "SKIPPED: edge_cases::full_disks::edits_within_a_second_are_detected_with_coarse_timestamps: no loop device"
        );
        return;
    };
    world.write("a.txt", "n00\n");
    world.ok(["init"]);
    for n in 10..30 {
        let text = format!("n{n}\n");
        world.write("a.txt", &text);
        world.ok(["checkpoint", "-m", &text]);
        assert_eq!(world.at("@", "a.txt").as_deref(), Some(&*text));
    }
    turn(&world, "echo n77 > a.txt");
    world.ok(["rewind", "t1"]);
    assert_eq!(world.read("a.txt"), "n29\n");
    world.ok(["undo"]);
    assert_eq!(world.read("a.txt"), "n77\n");
    world.ok(["verify"]);
}
