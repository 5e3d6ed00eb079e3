//! A file and a directory that change places, cut off anywhere: what is there already is not somebody else's work.

use crate::support::tree::{Kind, Tree, assert_same};
use crate::support::{World, finish};

/// Without directories: an empty one is in no history.
fn files(world: &World) -> Tree {
    let mut tree = world.tree();
    tree.retain(|_, entry| entry.kind != Kind::Directory);
    tree
}

/// An exact rewind over what a command did is killed at each point, and undone by whoever comes next.
fn undone_after_each_point(start: &[(&str, &str)], command: &str) {
    let world = World::in_memory();
    for (path, content) in start {
        world.write(path, content);
    }
    let mut agent = world.agent();
    agent.prompt("change places");
    let before = files(&world);
    let output = agent.bash(command);
    assert_eq!(output.code, 0, "{output}");
    agent.stop();
    let after = files(&world);
    let (mut cut, mut undone, mut fault) = (0, 0, 0);
    loop {
        fault += 1;
        let mut rewind = world.backstitch();
        rewind
            .args(["rewind", "t1", "--exact"])
            .env("BACKSTITCH_FAULT", fault.to_string());
        let done = finish(&mut rewind, b"").code == 0;
        if fault % 2 == 0 {
            // recovered by a look, or by the undo itself
            world.json(["diff"]);
        }
        let back = world.run(["undo"]);
        if back.code == 0 {
            undone += 1;
        } else {
            assert!(!done, "{command}, {fault}: {back}");
        }
        assert_same(&files(&world), &after);
        world.json(["diff"]);
        let history = world.history();
        let users = history.iter().find(|line| line.starts_with("you"));
        assert_eq!(users, None, "{command}, {fault}: {history:#?}");
        world.ok(["rewind", "t1", "--exact"]);
        assert_same(&files(&world), &before);
        world.ok(["undo"]);
        assert_same(&files(&world), &after);
        if done {
            break;
        }
        cut += 1;
    }
    world.ok(["verify"]);
    assert!(cut > 10 && undone > 10, "{command}: {cut}, {undone}");
}

/// U-20, U-23, S3-035: a directory became a file.
#[test]
fn a_directory_that_became_a_file() {
    undone_after_each_point(
        &[("tests/a.txt", "a\n"), ("tests/deep/b.txt", "b\n")],
        "rm -rf tests; echo x > tests",
    );
}

/// U-20, U-23, S3-035: a file became a directory.
#[test]
fn a_file_that_became_a_directory() {
    undone_after_each_point(
        &[("tests", "x\n")],
        "rm tests; mkdir -p tests/deep; echo a > tests/a.txt; echo b > tests/deep/b.txt",
    );
}

/// U-20, U-23, S3-035: a file moved below the directory that took its place, and equal to what was there.
#[test]
fn a_file_that_moved_below_its_own_name() {
    undone_after_each_point(
        &[("tests", "x\n"), ("other/tests", "x\n")],
        "mv tests t; mkdir tests; mv t tests/tests; rm -r other; echo x > other",
    );
}
