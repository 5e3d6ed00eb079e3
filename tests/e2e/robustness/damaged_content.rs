//! Damaged contents: `verify` names them and their files, and all others can still be read and restored.

use std::fs;
use std::path::PathBuf;

use rusqlite::Connection;
use serde_json::Value;

use crate::support::rng::Rng;
use crate::support::{Output, World};

/// A store with contents in the database, one of them a delta of another, and two contents in a pack.
struct Damaged {
    world: World,
    db: Connection,
}

impl Damaged {
    fn begin() -> Self {
        let world = World::in_memory();
        let mut rng = Rng::new(4);
        world.write("in-pack.bin", rng.bytes(700_000));
        world.write("also-in-pack.bin", rng.bytes(700_000));
        let words: Vec<String> = (0..200)
            .map(|n| format!("line {n} {}\n", rng.next()))
            .collect();
        let mut agent = world.agent();
        agent.prompt("first");
        agent.write("a.txt", "one\n");
        agent.write("long.txt", &words.concat());
        agent.prompt("go");
        agent.edit("long.txt", "line 7 ", "LINE 7 ");
        agent.edit("a.txt", "one", "two");
        agent.bash("rm in-pack.bin also-in-pack.bin; echo other > other.txt");
        agent.stop();
        world.ok(["verify"]);
        let db = Connection::open(world.store().join("store.db")).expect("the store");
        Self { world, db }
    }

    /// Hash of a file's content at a revision.
    fn hash(&self, rev: &str, path: &str) -> blake3::Hash {
        blake3::hash(&self.world.ok(["cat", rev, path]).bytes)
    }

    /// Position of a content in its pack.
    fn packed(&self, hash: blake3::Hash) -> (PathBuf, usize) {
        let sql = "SELECT pack, at + len / 2 FROM blob WHERE hash = ?1 AND data IS NULL";
        let place = |r: &rusqlite::Row<'_>| Ok((r.get::<_, String>(0)?, r.get(1)?));
        let (pack, middle) = self
            .db
            .query_row(sql, [hash.as_bytes()], place)
            .expect("a packed content");
        (self.world.store().join("packs").join(pack), middle)
    }

    /// Flips a byte in the middle of a content stored in the database.
    fn flip_row(&self, hash: blake3::Hash) {
        let read = "SELECT data FROM blob WHERE hash = ?1";
        let key = hash.as_bytes();
        let mut data: Vec<u8> = self
            .db
            .query_row(read, [key], |r| r.get(0))
            .expect("a content in the database");
        let middle = data.len() / 2;
        data[middle] ^= 0xff;
        let write = "UPDATE blob SET data = ?2 WHERE hash = ?1";
        let changed = self.db.execute(write, (key, data)).expect("written");
        assert_eq!(changed, 1);
    }

    /// Problems that `verify` reports; asserts that stderr and JSON agree.
    #[track_caller]
    fn problems(&self) -> Vec<String> {
        let output = self.world.run(["--json", "verify"]).expect_code(4);
        let answer = output.json();
        assert_eq!(
            (&answer["schema"], &answer["ok"]),
            (&1.into(), &false.into())
        );
        for count in ["contents", "checkpoints", "changes"] {
            assert!(answer[count].as_u64() > Some(0), "{count}: {answer:#}");
        }
        let problems = answer["problems"].as_array().expect("problems");
        let text = |p: &Value| p.as_str().expect("a text").to_owned();
        let problems: Vec<_> = problems.iter().map(text).collect();
        let said = self.world.run(["verify"]).expect_code(4);
        for problem in &problems {
            assert!(said.stderr.contains(problem), "{problem}\n{said}");
        }
        problems
    }

    /// Asserts that the file cannot be read at this revision, and is reported as damaged, not as missing.
    #[track_caller]
    fn assert_lost(&self, rev: &str, path: &str) -> Output {
        let output = self.world.run(["cat", rev, path]).expect_code(4);
        assert_eq!(output.stdout, "");
        assert!(output.stderr.contains("verify"), "{output}");
        output
    }
}

/// S2-R4, S3-026: one damaged byte of a pack loses only the content that it belongs to, which is named.
#[test]
fn a_damaged_byte_in_a_pack_loses_one_content() {
    let damaged = Damaged::begin();
    let world = &damaged.world;
    let lost = damaged.hash("t2", "in-pack.bin");
    let (pack, at) = damaged.packed(lost);
    let mut bytes = fs::read(&pack).expect("a pack");
    bytes[at] ^= 0xff;
    fs::write(&pack, bytes).expect("a pack");

    let problems = damaged.problems();
    assert_eq!(problems.len(), 1, "{problems:#?}");
    assert!(problems[0].contains(lost.to_hex().as_str()), "{problems:?}");
    assert!(problems[0].contains("in-pack.bin"), "{problems:?}");
    damaged.assert_lost("t2", "in-pack.bin");

    // a restore that needs it changes nothing; a restore of the others works
    let before = world.tree();
    let output = world.run(["rewind", "t2"]).expect_code(1);
    assert!(output.stderr.contains("in-pack.bin"), "{output}");
    crate::support::tree::assert_same(&world.tree(), &before);
    let args = [
        "rewind",
        "t2",
        "--path",
        "also-in-pack.bin",
        "--path",
        "a.txt",
    ];
    world.ok(args);
    assert_eq!(world.read("a.txt"), "one\n");
    let back = blake3::hash(&world.bytes("also-in-pack.bin"));
    assert_eq!(back, damaged.hash("t2", "also-in-pack.bin"));
}

/// S3-026: the end of a pack is missing, or the whole pack.
#[test]
fn a_truncated_or_missing_pack_is_named() {
    let damaged = Damaged::begin();
    let (pack, _) = damaged.packed(damaged.hash("t2", "in-pack.bin"));
    let bytes = fs::read(&pack).expect("a pack");
    fs::write(&pack, &bytes[..bytes.len() - 1]).expect("a pack");
    let problems = damaged.problems();
    assert_eq!(problems.len(), 1, "{problems:#?}");

    fs::remove_file(&pack).expect("a pack");
    let problems = damaged.problems();
    assert_eq!(problems.len(), 2, "{problems:#?}");
    for path in ["in-pack.bin", "also-in-pack.bin"] {
        damaged.assert_lost("t2", path);
    }
    // the next event is recorded nevertheless
    damaged.world.agent().prompt("go on");
    damaged.world.ok(["rewind", "t2", "--path", "a.txt"]);
    assert_eq!(damaged.world.read("a.txt"), "one\n");
}

/// S3-026: a damaged content in the database.
#[test]
fn a_damaged_row_loses_one_content() {
    let damaged = Damaged::begin();
    let world = &damaged.world;
    let lost = damaged.hash("t2", "a.txt");
    damaged.flip_row(lost);
    let problems = damaged.problems();
    assert_eq!(problems.len(), 1, "{problems:#?}");
    assert!(problems[0].contains(lost.to_hex().as_str()), "{problems:?}");
    damaged.assert_lost("t2", "a.txt");
    assert_eq!(world.ok(["cat", "@", "a.txt"]).stdout, "two\n");
    world.ok(["rewind", "t2", "--path", "in-pack.bin"]);
    assert!(world.exists("in-pack.bin"));
}

/// S3-026: contents stored as deltas of a lost content are lost with it, and named, too.
#[test]
fn a_lost_base_loses_the_contents_stored_against_it() {
    let damaged = Damaged::begin();
    let world = &damaged.world;
    let (first, second) = (
        damaged.hash("t2", "long.txt"),
        damaged.hash("@", "long.txt"),
    );
    damaged.flip_row(first);
    let problems = damaged.problems();
    for lost in [first, second] {
        let hash = lost.to_hex();
        let named = |p: &&String| p.contains(hash.as_str()) && p.contains("long.txt");
        assert_eq!(problems.iter().filter(named).count(), 1, "{problems:#?}");
    }
    damaged.assert_lost("t2", "long.txt");
    damaged.assert_lost("@", "long.txt");

    // new contents are not stored as deltas of it
    let agent = world.agent();
    agent.edit("long.txt", "line 9 ", "LINE 9 ");
    let now = world.read("long.txt");
    assert_eq!(world.ok(["cat", "@", "long.txt"]).stdout, now);
}
