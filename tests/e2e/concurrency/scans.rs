//! Concurrent scans of the whole tree: one does the work, none repeats it, and one that dies blocks nobody.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::process::{Child, Stdio};
use std::sync::Barrier;
use std::thread;
use std::time::Instant;

use rusqlite::Connection;

use super::{changes, checkpoints, database};
use crate::support::World;
use crate::support::limits::EVENT_TIMEOUT;
use crate::support::rng::Rng;
use crate::support::tree;

/// A workspace with enough files for scans to overlap, more than the database takes in one piece.
fn populated() -> World {
    let world = World::in_memory();
    let mut rng = Rng::new(2);
    for n in 0..400 {
        let text = format!("file {n}\n{}\n", rng.next());
        world.write(format!("d{}/f{n}.txt", n % 20), text);
    }
    world.write("big.bin", rng.bytes(1_300_000));
    world
}

/// The same after a scan, and with changes: again more than the database takes in one piece.
fn changed() -> World {
    let world = populated();
    world.ok(["init"]);
    world.write("more.bin", Rng::new(3).bytes(1_300_000));
    world.write("d0/f0.txt", "changed\n");
    world
}

const CHANGES: &str = "you: modify d0/f0.txt, create more.bin";

/// Runs these commands concurrently, and asserts that each succeeds.
fn at_once(world: &World, commands: &[&[&str]]) {
    let start = Barrier::new(commands.len());
    thread::scope(|scope| {
        for args in commands {
            scope.spawn(|| {
                start.wait();
                world.ok(*args);
            });
        }
    });
}

/// Asserts that all files on disk are recorded, and the store is intact.
fn assert_known(world: &World) {
    world.ok(["verify"]);
    let into = world.home.join("out");
    fs::remove_dir_all(&into).ok();
    world.ok(["materialize", "@", "--into", into.to_str().expect("UTF-8")]);
    assert!(tree::tree(&into) == world.tree());
}

/// S4-023: concurrent first scans make one start, and each file is recorded once.
#[test]
fn concurrent_scans_make_one_start() {
    let world = populated();
    at_once(&world, &[&["scan"][..]; 4]);
    assert_eq!(world.history(), ["\"start\""]);
    assert_eq!(world.json(["status"])["tracked_files"], 401);
    assert_known(&world);
}

/// S4-023: concurrent scans record one change for each changed file.
#[test]
fn concurrent_scans_record_each_change_once() {
    let world = populated();
    world.ok(["scan"]);
    for round in 0..4 {
        let mut expected = BTreeMap::new();
        for n in 0..60 {
            let path = format!("d{}/f{n}.txt", n % 20);
            world.write(&path, format!("round {round} of {n}\n"));
            expected.insert(path, 1);
            let path = format!("d{}/new-{round}-{n}.txt", n % 20);
            world.write(&path, format!("new {round} of {n}\n"));
            expected.insert(path, 1);
        }
        let known = checkpoints(&world).len();
        let commands: [&[&str]; 6] = [
            &["scan"],
            &["scan"],
            &["scan"],
            &["diff", "--stat"],
            &["checkpoint", "-m", "beside"],
            &["scan"],
        ];
        at_once(&world, &commands);
        let log = checkpoints(&world);
        let mut found = BTreeMap::new();
        for (path, ..) in changes(&log[..log.len() - known]) {
            *found.entry(path).or_insert(0) += 1;
        }
        assert_eq!(found, expected);
        assert_known(&world);
    }
}

/// A process that only checks for a running scan must not take its lock.
#[test]
fn a_second_scan_leaves_the_work_to_the_first() {
    let world = changed();
    let lock = File::options()
        .create(true)
        .append(true)
        .open(world.store().join("scan.lock"))
        .expect("a lock");
    lock.lock().expect("a lock");
    world.ok(["scan"]);
    assert_eq!(world.history(), ["\"start\""]);
    drop(lock);
    world.ok(["scan"]);
    assert_eq!(world.history(), ["\"start\"", CHANGES]);
    assert_known(&world);
}

/// Starts a scan that has read the files and waits for the store, which this connection locks.
fn scan_that_waits(world: &World, db: &Connection) -> Child {
    db.execute_batch("BEGIN IMMEDIATE").expect("a transaction");
    let packs = world.store().join("packs");
    let count = || fs::read_dir(&packs).expect("packs").count();
    let before = count();
    let mut command = world.backstitch();
    command
        .arg("scan")
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let mut child = command.spawn().expect("a scan");
    // it scans under its lock, and its first visible effect is a pack
    let until = Instant::now() + EVENT_TIMEOUT;
    while count() == before {
        let ended = child.try_wait().expect("a child");
        assert!(
            ended.is_none() && Instant::now() < until,
            "no pack: {ended:?}"
        );
        thread::yield_now();
    }
    child
}

#[test]
fn a_second_scan_ends_while_the_first_still_runs() {
    let world = changed();
    let db = database(&world);
    let mut first = scan_that_waits(&world, &db);
    world.ok(["scan"]);
    assert!(first.try_wait().expect("a child").is_none(), "it ended");
    assert_eq!(world.history(), ["\"start\""]);
    db.execute_batch("ROLLBACK").expect("the end");
    assert!(first.wait().expect("an end").success());
    assert_eq!(world.history(), ["\"start\"", CHANGES]);
    assert_known(&world);
}

/// U-20: a killed scan does not block the next one.
#[test]
fn a_scan_killed_under_its_lock_does_not_block_the_next() {
    let world = changed();
    let db = database(&world);
    let mut first = scan_that_waits(&world, &db);
    first.kill().expect("a child to kill");
    first.wait().expect("an end");
    db.execute_batch("ROLLBACK").expect("the end");
    world.ok(["scan"]);
    assert_eq!(world.history(), ["\"start\"", CHANGES]);
    assert_known(&world);
}
