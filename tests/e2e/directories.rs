//! Directories that a turn made, removed or gave other permission bits come back with the files, and nobody's files go.

use std::fs;

use crate::support::World;
use crate::support::history::gaps;
use crate::support::tree::{Tree, assert_same};

const COMMAND: &str =
    "mkdir -p a/b/c; rmdir logs; chmod 700 keep; rm -r data; mkdir -m 750 made; echo 1 > made/x";

/// A workspace with an empty directory, and one whose permission bits are its own.
fn world() -> World {
    let world = World::new();
    world.write("keep/k.txt", "k\n");
    world.write("data/deep/d.txt", "d\n");
    fs::create_dir(world.path("logs")).expect("a directory");
    world.set_mode("data", 0o711);
    world
}

fn turn(world: &World, command: &str) -> Tree {
    let mut agent = world.agent();
    agent.prompt("tidy up");
    agent.bash(command);
    agent.stop();
    world.tree()
}

#[test]
fn directories_of_a_turn_come_and_go_with_it() {
    for exact in [&[][..], &["--exact"]] {
        let world = world();
        world.ok(["init"]);
        let before = world.tree();
        let after = turn(&world, COMMAND);
        assert_ne!(after, before);
        let args = ["rewind", "t1"].into_iter().chain(exact.iter().copied());
        world.ok(args);
        assert_same(&world.tree(), &before);
        for (command, tree) in [("undo", &after), ("redo", &before), ("undo", &after)] {
            world.ok([command]);
            assert_same(&world.tree(), tree);
        }
        world.ok(["revert", "t1"]);
        assert_same(&world.tree(), &before);
        // nothing of it counts as a change of the user
        assert_eq!(world.ok(["diff"]).stdout, "");
        let kinds: Vec<_> = world.history();
        assert!(
            kinds.iter().all(|line| !line.contains("external")),
            "{kinds:?}"
        );
        world.ok(["verify"]);
    }
}

/// A turn that changes directories alone is a step, is shown, and is undone.
#[test]
fn a_turn_of_directories_alone_is_a_step() {
    let world = world();
    world.ok(["init"]);
    let before = world.tree();
    turn(&world, "mkdir -p a/b; rmdir logs; chmod 700 keep");
    let log = world.ok(["log"]).stdout;
    assert!(
        log.contains("made a/, made a/b/, keep/ 755 → 700, removed logs/"),
        "{log}"
    );
    let output = world.ok(["rewind", "t1"]);
    assert!(output.stdout.contains("logs"), "{output}");
    assert_same(&world.tree(), &before);
}

/// Files that the user has put into a directory stay, and so does the directory.
#[test]
fn a_directory_with_files_of_the_user_stays() {
    let world = world();
    world.ok(["init"]);
    turn(&world, "mkdir -p a/b/c; chmod 700 keep");
    world.write("a/b/mine.txt", "mine\n");
    world.set_mode("keep", 0o750);
    let plan = world.plan(["rewind", "t1"]);
    let expected = ["directory a", "directory a/b", "directory keep"];
    assert_eq!(gaps(&plan), expected, "{plan:#}");
    world.ok(["rewind", "t1"]);
    assert_eq!(world.read("a/b/mine.txt"), "mine\n");
    assert!(!world.exists("a/b/c"));
    assert_eq!(world.mode("keep"), 0o750);
}

/// A copy of a state, a fork into a directory and a switch have the directories, too.
#[test]
fn copies_and_branches_have_the_directories() {
    let world = world();
    world.ok(["init"]);
    let before = world.tree();
    let after = turn(&world, COMMAND);
    let copy = world.home.join("copy");
    world.ok(["materialize", "t1", "--into", copy.to_str().expect("UTF-8")]);
    assert_same(&world.beside("home/copy").tree(), &before);
    world.ok(["fork", "t1", "idea", "--switch"]);
    assert_same(&world.tree(), &before);
    world.ok(["switch", "main"]);
    assert_same(&world.tree(), &after);
}

/// A directory whose last file a restore removes is not a new directory of the user's.
#[test]
fn an_emptied_directory_is_no_change() {
    let world = World::new();
    world.write("a.txt", "a\n");
    fs::create_dir(world.path("here")).expect("a directory");
    world.ok(["init"]);
    let mut agent = world.agent();
    agent.prompt("write");
    agent.bash("echo x > here/x; mkdir there; echo y > there/y");
    agent.prompt("remove");
    agent.bash("rm here/x");
    agent.stop();
    world.ok(["rewind", "t1"]);
    assert!(world.exists("here") && !world.exists("here/x") && !world.exists("there"));
    world.ok(["diff"]);
    let history = world.history();
    assert!(
        history.iter().all(|line| !line.contains("external")),
        "{history:?}"
    );
}
