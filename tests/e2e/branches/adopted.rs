//! Files that were adopted on one branch, and untracked files in the way of a switch.

use std::fs;

use super::{names, nothing_new, says};
use crate::support::World;
use crate::support::history::{actions, conflicts};
use crate::support::scenarios::{SEVEN_LINES, an_edit_and_a_new_file};
use crate::support::tree::assert_same;

/// A file adopted on one branch alone stays in place, and none of its states is lost.
#[test]
fn a_file_adopted_on_one_branch_stays() {
    let world = World::committed(&[("a.txt", SEVEN_LINES), (".gitignore", "*.log\n")]);
    world.write("x.log", "before\n");
    world.ok(["checkpoint"]);
    world.ok(["branch", "create", "other"]);
    world.write(".gitignore", "");
    world.ok(["checkpoint", "-m", "seen"]);
    assert_eq!(world.at("seen", "x.log").as_deref(), Some("before\n"));
    world.write("x.log", "changed\n");
    world.ok(["switch", "other"]);
    assert_eq!(world.read(".gitignore"), "*.log\n");
    assert_eq!(
        world.read("x.log"),
        "changed\n",
        "not known there: left alone"
    );
    assert_eq!(world.at("@", "x.log"), None);
    world.write("x.log", "changed again\n");
    let output = world.run(["switch", "main"]);
    says(&output, 1, &["conflicts in 1 file"]);
    world.write("x.log", "changed\n");
    world.ok(["switch", "main"]);
    assert_eq!(world.at("@", "x.log").as_deref(), Some("changed\n"));
    assert_eq!(world.at("seen", "x.log").as_deref(), Some("before\n"));
    nothing_new(&world);
    world.ok(["rewind", "seen", "--exact"]);
    assert_eq!(world.read("x.log"), "before\n");
    world.ok(["verify"]);
}

/// S3-036, U-20: an exact rewind to another branch restores a file that was adopted there and never changed. Undo and
/// redo take it away and restore it.
#[test]
fn an_exact_rewind_restores_a_file_adopted_on_another_branch() {
    let world = an_edit_and_a_new_file();
    world.write(".gitignore", "*.log\n");
    world.ok(["checkpoint"]);
    world.ok(["branch", "create", "other"]);
    world.write("x.log", "before\n");
    world.write(".gitignore", "");
    world.ok(["checkpoint", "-m", "seen"]);
    let there = world.tree();
    let switch = ["switch", "other"];
    let rewind = ["rewind", "seen", "--exact"];
    // the file is still there
    world.ok(switch);
    world.ok(rewind);
    assert_same(&world.tree(), &there);
    world.ok(["undo"]);
    assert_eq!(world.read("x.log"), "before\n");
    // it is there no more
    fs::remove_file(world.path("x.log")).expect("a file to remove");
    let here = world.tree();
    world.ok(rewind);
    assert_same(&world.tree(), &there);
    let again = world.json([&rewind[..], &["--dry-run"]].concat());
    assert_eq!(actions(&again), Vec::<String>::new(), "{again}");
    for (command, tree) in [("undo", &here), ("redo", &there)] {
        world.ok([command]);
        assert_same(&world.tree(), tree);
    }
    nothing_new(&world);
    world.ok(["verify"]);
}

/// U-20: a switch and its undo, where two files with one path were adopted on one branch each.
#[test]
fn a_switch_between_two_adopted_files_can_be_undone() {
    let world = World::committed(&[("a.txt", SEVEN_LINES), (".gitignore", "*.log\n")]);
    world.ok(["checkpoint"]);
    world.ok(["branch", "create", "other"]);
    world.write("x.log", "one\n");
    world.write(".gitignore", "");
    world.ok(["checkpoint"]);
    world.ok(["switch", "other"]);
    world.write("x.log", "two\n");
    world.write(".gitignore", "");
    world.ok(["checkpoint"]);
    world.write("x.log", "two\nmore\n");
    world.ok(["checkpoint"]);
    let there = world.tree();
    world.ok(["switch", "main"]);
    assert_eq!(world.read("x.log"), "one\n");
    for (command, text) in [("undo", "two\nmore\n"), ("redo", "one\n")] {
        world.ok([command]);
        assert_eq!(world.read("x.log"), text);
    }
    world.ok(["undo"]);
    assert_same(&world.tree(), &there);
    nothing_new(&world);
    world.ok(["verify"]);
}

/// A switch restores all files of the other branch or does nothing. Untracked files in the way survive, whichever way
/// conflicts are decided.
#[test]
fn untracked_files_survive_a_switch() {
    let world = World::committed(&[("a.txt", SEVEN_LINES), (".gitignore", "*.log\n")]);
    world.ok(["checkpoint"]);
    world.ok(["fork", "@", "h", "--switch"]);
    let mut agent = world.agent();
    agent.prompt("named, though ignored");
    agent.write("x.log", "agent's\n");
    agent.write("dir", "a file\n");
    agent.stop();
    world.ok(["switch", "main"]);
    assert!(!world.exists("x.log"));
    world.write("x.log", "mine\n");
    world.write("dir/secret.log", "mine, too\n");
    let before = world.tree();
    for how in ["fail", "target", "current", "markers"] {
        let output = world.run(["--json", "switch", "h", "--on-conflict", how]);
        assert_eq!(
            (output.code, conflicts(&output.json())),
            (1, vec!["dir".to_owned(), "x.log".to_owned()]),
            "{how}"
        );
        assert_same(&world.tree(), &before);
        assert_eq!(names(&world), ["main*", "h"]);
    }
    let output = world.run(["switch", "h", "--on-conflict", "target"]);
    says(&output, 1, &["conflicts in 2 files", "move away"]);
    fs::rename(world.path("x.log"), world.path("y.log")).expect("moved");
    fs::remove_dir_all(world.path("dir")).expect("removed");
    world.ok(["switch", "h"]);
    assert_eq!(world.read("x.log"), "agent's\n");
    world.ok(["switch", "main"]);
    assert_eq!(world.read("y.log"), "mine\n");
    world.ok(["verify"]);
}
