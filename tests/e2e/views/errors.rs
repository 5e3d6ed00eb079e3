//! Every family of error, with its hint at the next step.

use super::{check, days_ago, session};
use crate::support::World;
use crate::support::scenarios::{SEVEN_LINES, one_turn, two_sessions};

#[test]
fn without_a_history() {
    let world = World::committed(&[("a.txt", "one\n")]);
    let all: [&[&str]; 5] = [
        &["rewind", "t1"],
        &["undo"],
        &["show", "@"],
        &["diff"],
        &["--workspace", "nowhere", "status"],
    ];
    check("error-no-history", &session(&world, &all));
}

#[test]
fn unknown_names() {
    let world = one_turn(SEVEN_LINES);
    let all: [&[&str]; 11] = [
        &["show", "t9"],
        &["rewind", "c99"],
        &["diff", "nowhere"],
        &["show", "@~99"],
        &["switch", "nowhere"],
        &["branch", "delete", "nowhere"],
        &["branch", "rename", "nowhere", "there"],
        &["tag", "--delete", "nowhere"],
        &["log", "--session", "nobody"],
        &["cat", "@", "nowhere.txt"],
        &["blame", "nowhere.txt"],
    ];
    check("error-unknown-name", &session(&world, &all));
}

#[test]
fn ambiguous_names() {
    let world = two_sessions();
    world.ok(["checkpoint", "-m", "same"]);
    world.write("a.txt", "mine\n");
    world.ok(["checkpoint", "-m", "same"]);
    let all: [&[&str]; 3] = [
        &["show", "same"],
        &["rewind", "t2", "--session", "0000"],
        &["rewind", "--iteration", "1"],
    ];
    check("error-ambiguous", &session(&world, &all));
}

#[test]
fn wrong_arguments() {
    let world = one_turn(SEVEN_LINES);
    let all: [&[&str]; 8] = [
        &["rewind", "--bogus"],
        &["rewnd", "t1"],
        &["rewind"],
        &["rewind", "t1", "--on-conflict", "mine"],
        &["log", "--since", "someday"],
        &["log", "--limit", "many"],
        &["blame", "a.txt", "-L", "9,99"],
        &["undo", "--plan", "0"],
    ];
    check("error-wrong-argument", &session(&world, &all));
}

#[test]
fn nothing_to_do() {
    let world = one_turn(SEVEN_LINES);
    let all: [&[&str]; 4] = [
        &["undo"],
        &["redo"],
        &["rewind", "@"],
        &["rewind", "t1", "--path", "b.txt"],
    ];
    check("error-nothing-to-do", &session(&world, &all));
}

#[test]
fn refusals() {
    let world = one_turn(SEVEN_LINES);
    days_ago(&world);
    world.ok(["fork", "t1", "idea"]);
    world.ok(["tag", "works"]);
    world.ok(["materialize", "@", "--into", "../full"]);
    world.write("a.txt", SEVEN_LINES.replace("two", "2 and mine"));
    let all: [&[&str]; 11] = [
        &["rewind", "t1"],
        &["rewind", "t1", "--plan", "0123456789abcdef"],
        &["rewind", "t1", "--scope", "both"],
        &["fork", "t1", "idea"],
        &["fork", "t1", "bad name"],
        &["fork", "t1", "inside", "--into", "inside"],
        &["fork", "t1", "over", "--into", "../full"],
        &["tag", "works", "t1"],
        &["branch", "delete", "main"],
        &["materialize", "@", "--into", "../full"],
        &["switch", "idea", "--carry"],
    ];
    check("error-refused", &session(&world, &all));
}

#[test]
fn settings_with_mistakes() {
    let world = one_turn(SEVEN_LINES);
    world.configure("[checkpoints]\nmax = -1\n");
    let all: [&[&str]; 2] = [&["status"], &["gc", "--dry-run"]];
    check("error-settings", &session(&world, &all));
}

#[test]
fn stores_that_cannot_be_read() {
    let newer = one_turn(SEVEN_LINES);
    let db = rusqlite::Connection::open(newer.store().join("store.db")).expect("a database");
    db.execute_batch("PRAGMA user_version = 999")
        .expect("newer");
    drop(db);
    let damaged = one_turn(SEVEN_LINES);
    damaged.write(
        damaged.store().join("store.db"),
        "no database at all\n".repeat(300),
    );
    damaged.remove(damaged.store().join("store.db-wal"));
    let both = [&newer, &damaged].map(|world| session(world, &[&["log"], &["doctor"]]));
    check("error-store", &both.join("\n"));
}
