//! `undo` and `redo`: the operations that they apply to, and when they are refused.

use crate::rewind::{refused, with};
use crate::support::scenarios::two_turns_around_an_own_edit;
use crate::support::tree::assert_same;

/// S4-051, S4-D3, U-20: every restore can be undone, each by a new process; `redo` repeats it.
#[test]
fn every_restore_can_be_undone_and_redone() {
    let world = two_turns_around_an_own_edit();
    let mut trees = vec![world.tree()];
    for rev in ["t2", "t1"] {
        world.ok(["rewind", rev]);
        trees.push(world.tree());
    }
    for at in [1, 0] {
        world.ok(["undo"]);
        assert_same(&world.tree(), &trees[at]);
    }
    refused(
        &world,
        &["undo"],
        &["no operation to undo", "`backstitch rewind`"],
    );
    for at in [1, 2] {
        world.ok(["redo"]);
        assert_same(&world.tree(), &trees[at]);
    }
    refused(&world, &["redo"], &["nothing to redo"]);
    world.ok(["undo", "op1"]);
    refused(&world, &["undo", "op1"], &["op1 is already undone", "redo"]);
    world.run(["undo", "op99"]).expect_code(3);
    world.ok(["verify"]);
}

/// An operation older than the newest turn is not undone by accident.
#[test]
fn undo_of_an_operation_older_than_the_newest_turn_is_refused() {
    let world = two_turns_around_an_own_edit();
    world.ok(["rewind", "t2"]);
    let mut agent = world.agent();
    agent.prompt("third");
    agent.edit("a.txt", "two", "2");
    agent.stop();
    refused(
        &world,
        &["undo"],
        &["t3", "`backstitch undo op1`", "`backstitch revert t3`"],
    );
    world.ok(["undo", "op1"]);
    assert_eq!(
        world.read("a.txt"),
        with(&[
            ("one", "1"),
            ("two", "2"),
            ("five", "5"),
            ("nine", "NINE (mine)")
        ])
    );
    assert!(!world.exists("c.txt"), "what came later stays");
}

/// New work does not discard the redo, a new operation does.
#[test]
fn only_a_new_operation_drops_the_redo() {
    let world = two_turns_around_an_own_edit();
    world.ok(["rewind", "t2"]);
    world.ok(["undo"]);
    world.write("e.txt", "mine\n");
    world.ok(["checkpoint", "-m", "here"]);
    world.ok(["redo"]);
    assert!(world.exists("c.txt") && world.exists("e.txt"));
    world.ok(["undo"]);
    let step = world.id("t1 Write: create b.txt");
    world.ok(["revert", &step]);
    refused(
        &world,
        &["redo"],
        &["nothing to redo", "no operation after it"],
    );
}

/// A file that exists neither before nor after an undo is not listed as changed, whatever its record says.
#[test]
fn a_file_absent_before_and_after_undo_is_no_change() {
    let world = two_turns_around_an_own_edit();
    world.remove("b.txt");
    world.ok(["rewind", "t1"]);
    world.ok(["undo"]);
    let all = world.checkpoints();
    for checkpoint in &all {
        for change in checkpoint.json["changes"].as_array().expect("changes") {
            assert_ne!(change["path"], "", "{checkpoint:#?}");
        }
    }
    let oplog = world.json(["oplog"])["operations"].clone();
    let files = all
        .iter()
        .rev()
        .take(2)
        .map(|c| c.json["changes"].as_array().expect("changes").len());
    assert_eq!(
        files.collect::<Vec<_>>(),
        [&oplog[0], &oplog[1]]
            .map(|o| usize::try_from(o["files"].as_u64().expect("n")).expect("n"))
    );
}
