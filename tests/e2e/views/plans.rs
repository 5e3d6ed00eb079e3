//! Plans of restores, and the reports of their execution.

use super::{check, days_ago, session, shown};
use crate::support::scenarios::{
    SEVEN_LINES, an_edit_and_a_new_file, kinds_of_changes, one_turn, two_turns_around_an_own_edit,
};

#[test]
fn rewind_and_undo() {
    let world = two_turns_around_an_own_edit();
    days_ago(&world);
    let all: [&[&str]; 7] = [
        &["rewind", "t1", "--dry-run"],
        &["rewind", "t1"],
        &["rewind", "t1"],
        &["undo", "--dry-run"],
        &["undo"],
        &["redo", "--dry-run"],
        &["redo"],
    ];
    check("plan-rewind-and-undo", &session(&world, &all));
}

#[test]
fn every_kind_of_change() {
    let world = kinds_of_changes();
    days_ago(&world);
    let all: [&[&str]; 2] = [
        &["rewind", "t1", "--dry-run"],
        &["rewind", "t1", "--exact", "--dry-run"],
    ];
    check("plan-kinds-of-changes", &session(&world, &all));
}

#[test]
fn revert() {
    let world = two_turns_around_an_own_edit();
    days_ago(&world);
    let all: [&[&str]; 3] = [
        &["revert", "t1", "--dry-run"],
        &["revert", "t1"],
        &["revert", "t1"],
    ];
    check("plan-revert", &session(&world, &all));
}

#[test]
fn conflicts() {
    let world = one_turn(SEVEN_LINES);
    world.write("a.txt", SEVEN_LINES.replace("two", "2 and mine"));
    days_ago(&world);
    let all: [&[&str]; 4] = [
        &["rewind", "t1", "--dry-run"],
        &["rewind", "t1"],
        &["rewind", "t1", "--on-conflict", "markers"],
        &["cat", "@", "a.txt"],
    ];
    check("plan-conflict", &session(&world, &all));
}

#[test]
fn fork_and_switch() {
    let world = an_edit_and_a_new_file();
    world.write("c.txt", "mine\n");
    days_ago(&world);
    let all: [&[&str]; 5] = [
        &["fork", "t1", "idea"],
        &["fork", "t1", "aside", "--into", "../aside"],
        &["switch", "idea", "--dry-run"],
        &["switch", "idea"],
        &["undo"],
    ];
    check("plan-fork-and-switch", &session(&world, &all));
    world.write("c.txt", "mine, too\n");
    check(
        "plan-switch-carry",
        &shown(&world, &["switch", "idea", "--carry", "--dry-run"]),
    );
}

#[test]
fn after_a_commit_in_git() {
    let world = an_edit_and_a_new_file();
    world.git_ok(["commit", "-q", "-a", "-m", "next"]);
    days_ago(&world);
    check(
        "plan-git-moved",
        &shown(&world, &["rewind", "t1", "--dry-run"]),
    );
}
