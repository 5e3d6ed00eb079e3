//! A damaged byte anywhere in a store: a restore is either correct, or changes nothing and reports the damage.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use rusqlite::Connection;
use rusqlite::config::DbConfig;

use super::checkpoints;
use crate::support::rng::{Rng, cases};
use crate::support::tree::{Kind, Tree, difference};
use crate::support::{Output, World};

/// A history with everything that a checkpoint can hold, and the files at each turn.
struct Kept {
    world: World,
    store: PathBuf,
    files: BTreeMap<PathBuf, Vec<u8>>,
    first: Tree,
    second: Tree,
    now: Tree,
}

impl Kept {
    fn begin() -> Self {
        let world = World::in_memory();
        world.write("a.txt", "one\ntwo\nthree\n");
        world.write("run.sh", "#!/bin/sh\n");
        world.set_mode("run.sh", 0o755);
        world.write("d/moved.txt", "it moves\n".repeat(40));
        world.write("d/gone.txt", "it goes\n");
        world.symlink("moved.txt", "d/link");
        world.write("never.txt", "never touched\n");
        let mut rng = Rng::new(9);
        world.write("big.bin", rng.bytes(300_000));
        let mut agent = world.agent();
        let first = world.tree();
        agent.prompt("first");
        let store = world.store();
        let reader = reader(&store);
        agent.edit("a.txt", "two", "TWO");
        agent.bash("mv d/moved.txt d/there.txt; rm d/gone.txt; chmod 644 run.sh; rm big.bin");
        agent.write("made/deep/new.txt", "new\n");
        agent.stop();
        world.write("a.txt", "mine\none\nTWO\nthree\n");
        world.ok(["checkpoint"]);
        let second = world.tree();
        agent.prompt("second");
        agent.edit("a.txt", "three", "THREE");
        agent.bash("rm d/link; ln -s there.txt d/link; echo more >> made/deep/new.txt");
        agent.stop();
        world.ok(["checkpoint"]);
        drop(reader);
        let now = world.tree();
        Self {
            world,
            files: BTreeMap::new(),
            store,
            first,
            second,
            now,
        }
    }

    /// Moves all of the history into the database itself, or leaves the newest part in the write-ahead log.
    fn settle(mut self) -> Self {
        let db = Connection::open(self.store.join("store.db")).expect("the store");
        db.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
            .expect("all in one file");
        drop(db);
        self.keep();
        self
    }

    fn keep(&mut self) {
        self.files = read_all(&self.store);
    }

    /// Restores the original store and files.
    fn again(&self) {
        for path in read_all(&self.store).keys() {
            if !self.files.contains_key(path) {
                fs::remove_file(path).expect("removed");
            }
        }
        for (path, bytes) in &self.files {
            fs::write(path, bytes).expect("written");
        }
        let root = &self.world.root;
        if self.world.tree() == self.now {
            return;
        }
        for entry in fs::read_dir(root).expect("the root").flatten() {
            let path = entry.path();
            if path.is_dir() {
                fs::remove_dir_all(path).expect("removed");
            } else {
                fs::remove_file(path).expect("removed");
            }
        }
        for (path, entry) in &self.now {
            match entry.kind {
                Kind::Directory => fs::create_dir_all(root.join(path)).expect("made"),
                Kind::Symlink => self
                    .world
                    .symlink(String::from_utf8_lossy(&entry.bytes).as_ref(), path),
                _ => {
                    self.world.write(path, &entry.bytes);
                    self.world.set_mode(path, entry.mode);
                }
            }
        }
    }
}

/// Reads without an end: as long as it does, nothing newer leaves the write-ahead log.
fn reader(store: &Path) -> Connection {
    let db = Connection::open(store.join("store.db")).expect("the store");
    db.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)
        .expect("the log stays when the connection closes");
    db.execute_batch("BEGIN; SELECT count(*) FROM sqlite_schema;")
        .expect("a read");
    db
}

fn read_all(dir: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut all = BTreeMap::new();
    for entry in fs::read_dir(dir).expect("a directory").flatten() {
        let path = entry.path();
        if path.is_dir() {
            all.extend(read_all(&path));
        } else {
            let bytes = fs::read(&path).expect("a file");
            all.insert(path, bytes);
        }
    }
    all
}

/// Checks that the result is correct, or that nothing changed and an error says why.
fn judge(kept: &Kept, output: &Output, expected: &Tree) -> Result<bool, String> {
    let tree = kept.world.tree();
    if output.code == 0 {
        let wrong = || format!("done wrong: {}", difference(expected, &tree));
        return (tree == *expected).then_some(true).ok_or_else(wrong);
    }
    if output.stderr.trim().is_empty() {
        return Err("nothing is said".to_owned());
    }
    let wrong = || format!("refused and yet done: {}", difference(&kept.now, &tree));
    (tree == kept.now).then_some(false).ok_or_else(wrong)
}

fn flips(kept: &Kept, file: &str, ordinary: u64, long: u64) {
    let path = kept.store.join(file);
    let whole = kept.files[&path].clone();
    let mut rng = Rng::new(Rng::seed("BACKSTITCH_FLIP_SEED", 5));
    let (mut wrong, mut right, mut refused) = (Vec::new(), 0, 0);
    for n in 0..cases("BACKSTITCH_FLIPS", ordinary, long) {
        let at = rng.below(whole.len());
        let bit = 1 << rng.below(8);
        let (rev, expected) = match rng.below(2) {
            0 => ("t1", &kept.first),
            _ => ("t2", &kept.second),
        };
        let mut bytes = whole.clone();
        bytes[at] ^= bit;
        kept.again();
        fs::write(&path, &bytes).expect("written");
        let output = kept.world.run(["rewind", rev, "--exact"]);
        match judge(kept, &output, expected) {
            Ok(true) => right += 1,
            Ok(false) => refused += 1,
            Err(why) => wrong.push(format!(
                "flip {n}: {file}[{at}] ^ {bit}, {rev}: {why}\n{output}"
            )),
        }
    }
    println!(
        "{file}: {right} right, {refused} refused, {} wrong",
        wrong.len()
    );
    assert!(
        wrong.is_empty(),
        "{} wrong\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    assert!(right > 0 && refused > 0, "{right} right, {refused} refused");
}

/// S3-026: a damaged byte of the database.
#[test]
fn a_bit_of_the_database() {
    let kept = Kept::begin().settle();
    flips(&kept, "store.db", 50, 200);
}

/// S3-026: the newest history is in the write-ahead log, from which SQLite drops damaged frames.
#[test]
fn a_bit_of_the_log_beside_it() {
    let mut kept = Kept::begin();
    kept.keep();
    flips(&kept, "store.db-wal", 20, 60);

    let path = kept.store.join("store.db-wal");
    let whole = kept.files[&path].clone();
    let mut rng = Rng::new(Rng::seed("BACKSTITCH_FLIP_SEED", 5));
    let all = {
        kept.again();
        checkpoints(&kept.world).len()
    };
    let mut lost = 0;
    for n in 0..cases("BACKSTITCH_FLIPS", 15, 40) {
        let at = rng.below(whole.len());
        let mut bytes = whole.clone();
        bytes[at] ^= 1 << rng.below(8);
        kept.again();
        fs::write(&path, &bytes).expect("written");
        let verified = kept.world.run(["verify"]);
        let log = kept.world.run(["--json", "log", "--all", "-n", "100"]);
        let left =
            (log.code == 0).then(|| log.json()["checkpoints"].as_array().map_or(0, Vec::len));
        if left != Some(all) {
            assert_ne!(
                verified.code, 0,
                "flip {n}: [{at}], {left:?} of {all}\n{verified}"
            );
            lost += 1;
        }
    }
    assert!(lost > 0);
}

/// S3-026, U-20: the history that continues reports what was lost.
#[test]
fn the_newest_is_lost_and_stays_known_to_be() {
    let mut kept = Kept::begin();
    kept.keep();
    let before = checkpoints(&kept.world).len();
    kept.again();
    let path = kept.store.join("store.db-wal");
    let whole = &kept.files[&path];
    let newest = format!("c{before}");
    // all but the last commits
    fs::write(&path, &whole[..whole.len() * 3 / 4]).expect("written");
    let verified = kept.world.run(["verify"]).expect_code(4);
    assert!(verified.stderr.contains(" lost: "), "{verified}");
    assert!(verified.stderr.contains(&newest), "{verified}");
    let mut agent = kept.world.agent();
    agent.prompt("goes on");
    let log = checkpoints(&kept.world);
    let said = log
        .iter()
        .find(|c| c["label"] == "not recorded")
        .expect("a gap");
    let id = said["id"].as_str().expect("an id");
    let shown = kept.world.ok(["show", id]).stdout;
    assert!(
        shown.contains(&newest) && shown.contains(" lost"),
        "{shown}"
    );
    kept.world.ok(["verify"]);
}
