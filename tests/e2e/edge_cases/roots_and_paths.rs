//! Unusual roots and paths: moved, too wide, too deep.

use std::fs;
use std::path::{Path, PathBuf};

use super::{turn, world};
use crate::support::tree::assert_same;
use crate::support::{World, finish};

/// The directory is renamed twice: history and restores follow it.
#[test]
fn a_moved_root_keeps_its_history() {
    let world = world(|world| {
        world.write("a.txt", "one\n");
        world.write("dir/b.txt", "one\n");
    });
    let before = world.tree();
    turn(&world, "echo two > a.txt; rm dir/b.txt; echo two > c.txt");
    let after = world.tree();
    let history = world.history();
    let mut from = world.root.clone();
    for name in ["moved", "moved again"] {
        let there = world.beside(name);
        fs::rename(&from, &there.root).expect("moved");
        assert_eq!(there.history()[..history.len()], history);
        there.ok(["rewind", "t1"]);
        assert_same(&there.tree(), &before);
        there.ok(["undo"]);
        assert_same(&there.tree(), &after);
        there.ok(["verify"]);
        from.clone_from(&there.root);
    }
    let there = world.beside("moved again");
    let mut agent = there.agent();
    agent.prompt("there");
    agent.bash("echo three > a.txt").expect_code(0);
    agent.stop();
    there.ok(["rewind", "t2"]);
    assert_same(&there.tree(), &after);
    there.ok(["verify"]);
}

/// No history begins at the root of the file system unless it is forced.
#[test]
fn the_root_of_the_file_system_is_refused() {
    let world = World::new();
    for command in [
        &["status"][..],
        &["log"],
        &["scan"],
        &["checkpoint", "-m", "all"],
        &["rewind", "t1"],
        &["undo"],
    ] {
        let mut there = world.backstitch();
        let mut named = world.backstitch();
        there.current_dir("/").args(command);
        named.args(["--workspace", "/"]).args(command);
        for run in [&mut there, &mut named] {
            let refused = finish(run, b"").expect_code(1);
            let why = "error: / is too wide to be a workspace";
            assert!(refused.stderr.starts_with(why), "{refused}");
            assert!(refused.stderr.contains("hint: "), "{refused}");
        }
    }
    let left = fs::read_dir(&world.state).expect("a directory").count();
    assert_eq!(left, 0, "nothing is kept");
}

/// Paths longer than the system allows: their start is named, everything above is captured and restored, and the rest
/// is left alone.
#[test]
fn paths_beyond_the_limit_are_named_and_left_alone() {
    let world = world(|world| world.write("a.txt", "one\n"));
    let chain = |first: &str| -> PathBuf {
        let part = "d".repeat(250);
        let rest = std::iter::repeat_n(part.as_str(), 11);
        std::iter::once(first).chain(rest).collect()
    };
    // two paths that are possible, and one moved into the other
    let (upper, lower) = (chain("upper"), chain("lower"));
    world.write(upper.join("b.txt"), "one\n");
    world.write(lower.join("deep.txt"), "deep\n");
    fs::rename(world.path("lower"), world.path(upper.join("lower"))).expect("moved");
    world.ok(["checkpoint"]);
    turn(
        &world,
        "echo two > a.txt; cd upper && find . -name b.txt -exec sh -c 'echo two > \"$1\"' sh {} ';'",
    );
    let status = world.json(["status"]);
    let items = status["coverage"]["items"].as_array().expect("a list");
    let [item] = &items[..] else {
        panic!("{items:#?}")
    };
    assert_eq!(item["reason"], "unreadable", "{item:#}");
    let named = item["path"].as_str().expect("a path");
    assert!(
        Path::new(named).starts_with(upper.join("lower")),
        "{item:#}"
    );
    assert_eq!(world.read(upper.join("b.txt")), "two\n");
    world.ok(["rewind", "t1"]);
    let read = |path: &Path| world.read(path);
    assert_eq!(read(Path::new("a.txt")), "one\n");
    assert_eq!(read(&upper.join("b.txt")), "one\n");
    world.ok(["undo"]);
    assert_eq!(read(&upper.join("b.txt")), "two\n");
    world.ok(["rewind", "t1", "--exact"]);
    assert_eq!(read(&upper.join("b.txt")), "one\n");
    world.ok(["verify"]);
    fs::rename(world.path(upper.join("lower")), world.path("lower")).expect("moved back");
    assert_eq!(read(&lower.join("deep.txt")), "deep\n");
}
