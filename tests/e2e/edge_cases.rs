//! Unusual files, names, clocks and repositories: each has a defined outcome.

mod changing_limits;
mod excluded;
mod full_disks;
mod limits;
mod permissions;
mod prepared_store;
mod roots_and_paths;
mod special_files;

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};

use crate::support::World;
use crate::support::history::{actions, gaps};
use crate::support::tree::{assert_same, tree};

/// A workspace in memory, with a first checkpoint of these files.
fn world(fill: impl FnOnce(&World)) -> World {
    let world = World::in_memory();
    fill(&world);
    world.ok(["init"]);
    world
}

/// Runs one turn of an agent with this shell command.
fn turn(world: &World, command: &str) {
    let mut agent = world.agent();
    agent.prompt("a turn");
    agent.bash(command).expect_code(0);
    agent.stop();
}

/// S4-L5: every content is restored to the byte, with its mode.
#[test]
fn contents_of_every_kind_are_restored() {
    let kinds: [(&str, &[u8]); 9] = [
        ("crlf.txt", b"one\r\ntwo\r\nthree\r\n"),
        ("mixed.txt", b"one\r\ntwo\nthree\r"),
        ("bom.txt", b"\xef\xbb\xbfone\ntwo\n"),
        ("no-end.txt", b"one\ntwo"),
        ("latin1.txt", b"gr\xfc\xdfe\nan alle\n"),
        ("nul.bin", b"a\0b\0c"),
        ("empty.txt", b""),
        ("newline.txt", b"\n"),
        ("wide.txt", b"\xff\xfeo\0n\0e\0\n\0"),
    ];
    let world = world(|world| {
        for (name, bytes) in kinds {
            world.write(name, bytes);
        }
        world.set_mode("no-end.txt", 0o755);
        world.set_mode("crlf.txt", 0o444);
    });
    let before = world.tree();
    turn(
        &world,
        "for f in *.txt *.bin; do chmod u+w $f; printf 'more\\n' >> $f; done; chmod 644 no-end.txt; rm empty.txt",
    );
    assert!(world.tree() != before);
    let after = world.tree();
    world.ok(["rewind", "t1"]);
    assert!(world.tree() == before);
    world.ok(["undo"]);
    assert!(world.tree() == after);
    world.ok(["verify"]);
}

/// The agent changed one line and the user another: the merge of a rewind keeps line ends and bytes.
#[test]
fn merges_keep_line_ends_and_bytes() {
    let kinds: [(&str, &[u8]); 6] = [
        ("crlf.txt", b"one\r\ntwo\r\nthree\r\nfour\r\nfive\r\n"),
        ("mixed.txt", b"one\r\ntwo\nthree\r\nfour\nfive\r\n"),
        ("bom.txt", b"\xef\xbb\xbfone\ntwo\nthree\nfour\nfive\n"),
        (
            "bom-crlf.txt",
            b"\xef\xbb\xbfone\r\ntwo\r\nthree\r\nfour\r\nfive\r\n",
        ),
        ("no-end.txt", b"one\ntwo\nthree\nfour\nfive"),
        (
            "latin1.txt",
            b"one gr\xfc\xdfe\ntwo \xe9\nthree\nfour\nfive \xff\n",
        ),
    ];
    let world = world(|world| {
        for (name, bytes) in kinds {
            world.write(name, bytes);
        }
    });
    turn(&world, "sed -i s/one/ONE/ *.txt");
    let with_both: Vec<_> = kinds.map(|(name, _)| with_users_line(&world, name)).into();
    let done = world.json(["rewind", "t1"]);
    let mut expected = kinds.map(|(name, _)| format!("merge {name}"));
    expected.sort();
    assert_eq!(actions(&done), expected, "{done:#}");
    for (name, bytes) in kinds {
        let expected = replaced(bytes, b"five", b"mine");
        assert_eq!(world.bytes(name), expected, "{name}");
    }
    world.ok(["undo"]);
    for ((name, _), both) in kinds.iter().zip(with_both) {
        assert_eq!(world.bytes(name), both, "{name}");
    }
    world.ok(["verify"]);
}

/// Appends the user's own last line. Returns the whole content.
fn with_users_line(world: &World, name: &str) -> Vec<u8> {
    let bytes = world.bytes(name);
    let both = replaced(&bytes, b"five", b"mine");
    assert_ne!(both, bytes, "{name}");
    world.write(name, &both);
    both
}

fn replaced(bytes: &[u8], old: &[u8], new: &[u8]) -> Vec<u8> {
    let at = bytes.windows(old.len()).position(|w| w == old);
    let at = at.expect("it is in there");
    [&bytes[..at], new, &bytes[at + old.len()..]].concat()
}

/// Names that can trouble a shell, a terminal or JSON.
#[test]
fn names_of_every_kind_are_captured_and_restored() {
    let long = "n".repeat(255);
    let names: [&[u8]; 12] = [
        b"two\nlines",
        b"-rf",
        b"--help",
        b" ",
        b"tab\there",
        b"\x1b[31mred",
        b"caf\xe9",
        b"\xff\xfe",
        b"README",
        b"readme",
        b"*?[a]",
        long.as_bytes(),
    ];
    let world = world(|world| {
        for name in names {
            world.write(OsStr::from_bytes(name), "one\n");
        }
    });
    let before = world.tree();
    assert_eq!(before.len(), names.len());
    turn(&world, "for f in ./* './ '; do echo two > \"$f\"; done");
    let log = world.json(["log"]);
    let changes = log["checkpoints"][0]["changes"]
        .as_array()
        .expect("changes");
    assert_eq!(changes.len(), names.len(), "{log}");
    let text = world.ok(["log"]).stdout;
    assert!(!text.contains('\x1b'), "{text:?}");
    world.ok(["rewind", "t1"]);
    assert!(world.tree() == before);
    let diff = world.ok(["diff", "@"]);
    assert_eq!(diff.code, 0, "{diff}");
    world.ok(["verify"]);
}

/// Paths of the maximum length that the system allows.
#[test]
fn paths_of_maximum_length_are_captured() {
    let world = world(|world| world.write("a.txt", "one\n"));
    // the root itself uses a part of the maximum length
    let room = 4095 - world.path("").as_os_str().len() - 2;
    let part = "d".repeat(250);
    let depth = room / 251 - 1;
    let dir: PathBuf = std::iter::repeat_n(part.as_str(), depth).collect();
    world.write(dir.join("deep.txt"), "one\n");
    world.ok(["checkpoint"]);
    let many: PathBuf = std::iter::repeat_n("x", 900).collect();
    world.write(many.join("steps.txt"), "one\n");
    world.ok(["checkpoint"]);
    let before = world.tree();
    turn(
        &world,
        "find . -name '*.txt' -exec sh -c 'echo two > \"$1\"' sh {} ';'",
    );
    assert!(world.tree() != before);
    world.ok(["rewind", "t1"]);
    assert!(world.tree() == before);
    world.ok(["verify"]);
}

/// A file above the size limit is reported at once. It takes no space in the store and is not read.
#[test]
fn a_sparse_file_of_eleven_gigabytes_costs_nothing() {
    let world = world(|world| {
        world.write("a.txt", "one\n");
        let file = File::create(world.path("huge.img")).expect("a file");
        file.set_len(11 << 30).expect("a sparse file");
    });
    turn(&world, "echo two > a.txt");
    let status = world.json(["status"]);
    assert!(status["store_bytes"].as_u64() < Some(4 << 20), "{status}");
    assert!(
        status["coverage"].to_string().contains("huge.img"),
        "{status}"
    );
    world.ok(["rewind", "t1"]);
    assert_eq!(world.read("a.txt"), "one\n");
    let length = fs::metadata(world.path("huge.img")).expect("there").len();
    assert_eq!(length, 11 << 30);
}

#[test]
fn a_hundred_thousand_files_in_one_directory_are_captured() {
    const FILES: usize = 100_000;
    let world = world(|world| {
        fs::create_dir(world.path("many")).expect("a directory");
        for n in 0..FILES {
            fs::write(world.path(format!("many/{n}")), format!("{n}\n")).expect("written");
        }
    });
    let status = world.json(["status"]);
    assert_eq!(status["tracked_files"], json!(FILES));
    turn(
        &world,
        "echo changed > many/7; rm many/8; echo new > many/new; mv many/9 many/nine",
    );
    let log = world.json(["log"]);
    let changes = log["checkpoints"][0]["changes"]
        .as_array()
        .expect("changes");
    assert_eq!(changes.len(), 4, "{changes:?}");
    world.ok(["rewind", "t1"]);
    assert_eq!(world.read("many/7"), "7\n");
    assert_eq!(world.read("many/8"), "8\n");
    assert_eq!(world.read("many/9"), "9\n");
    assert!(!world.exists("many/new") && !world.exists("many/nine"));
}

/// A file to which another process keeps appending is recorded as it was at one moment; the last scan records all of
/// it.
#[test]
fn a_file_that_grows_during_a_scan_is_captured_consistently() {
    let world = world(|world| world.write("log.txt", "begun\n"));
    let path = world.root.join("log.txt");
    thread::scope(|scope| {
        let (go_on, told) = mpsc::channel();
        scope.spawn(move || {
            let mut log = File::options().append(true).open(path).expect("opened");
            // less than 10 MB in all: larger files are not recorded
            for n in told {
                for line in 0..50_000 {
                    writeln!(log, "line {n} {line}").expect("written");
                }
            }
        });
        for n in 0..10 {
            go_on.send(n).expect("heard");
            world.ok(["checkpoint", "-m", &format!("look {n}")]);
        }
    });
    world.ok(["checkpoint", "-m", "at rest"]);
    let whole = world.read("log.txt");
    assert_eq!(world.ok(["cat", "@", "log.txt"]).stdout, whole);
    let mut sizes = Vec::new();
    for n in 0..10 {
        let was = world.ok(["cat", &format!("look {n}"), "log.txt"]).stdout;
        assert!(whole.starts_with(&was), "look {n} has what never was");
        sizes.push(was.len());
    }
    assert!(
        sizes.is_sorted() && whole.len() > sizes[0],
        "{sizes:?}, {} in the end",
        whole.len()
    );
    turn(&world, "echo 'begun anew' > log.txt");
    world.ok(["rewind", "t1"]);
    assert!(world.read("log.txt") == whole);
    world.ok(["undo"]);
    assert_eq!(world.read("log.txt"), "begun anew\n");
    world.ok(["verify"]);
}

/// A link is recorded as its target path. The target itself does not matter, and a loop does not hang the scan.
#[test]
fn link_loops_and_outside_links_are_captured_as_links() {
    let world = world(|world| {
        world.write("a.txt", "one\n");
        fs::create_dir(world.path("dir")).expect("a directory");
        world.symlink("../dir", "dir/up");
        world.symlink("b", "a");
        world.symlink("a", "b");
        world.symlink("self", "self");
        world.symlink("/", "everything");
        world.symlink(&world.home, "home");
    });
    let secret = world.home.join("secret.txt");
    fs::write(&secret, "mine\n").expect("written");
    let before = world.tree();
    turn(
        &world,
        "rm a self; ln -s elsewhere self; echo theirs > home/secret.txt",
    );
    world.ok(["rewind", "t1"]);
    assert!(world.tree() == before);
    // files outside are not restored
    assert_eq!(fs::read_to_string(&secret).expect("text"), "theirs\n");
    world.ok(["verify"]);
}

/// A directory becomes a link out of the root between the plan and the restore: nothing is written through it.
#[test]
fn a_restore_does_not_follow_a_link_made_after_the_plan() {
    let world = world(|world| {
        world.write("src/a.txt", "one\n");
        world.write("src/gone.txt", "gone\n");
    });
    turn(
        &world,
        "echo two > src/a.txt; rm src/gone.txt; echo two > b.txt",
    );
    let outside = world.home.join("outside");
    fs::create_dir(&outside).expect("a directory");
    fs::write(outside.join("a.txt"), "two\n").expect("written");
    let plan = world.json(["rewind", "t1", "--dry-run"]);
    let plan = plan["plan"].as_str().expect("a fingerprint").to_owned();
    fs::remove_dir_all(world.path("src")).expect("removed");
    symlink(&outside, world.path("src")).expect("a link");
    let before = world.tree();
    let refused = world.run(["rewind", "t1", "--plan", &plan]).expect_code(1);
    let why = "the files changed since this plan was shown";
    assert!(refused.stderr.contains(why), "{refused}");
    assert_same(&world.tree(), &before);
    // a new rewind restores everything within the root, and names the rest
    let done = world.json(["rewind", "t1"]);
    assert_eq!(
        actions(&done),
        ["delete b.txt", "skip src/gone.txt"],
        "{done:#}"
    );
    assert_eq!(gaps(&done), ["outside src/gone.txt"], "{done:#}");
    assert!(!world.exists("b.txt"));
    let link = fs::read_link(world.path("src")).expect("the link stays");
    assert_eq!(link, outside);
    let there = tree(&outside);
    assert_eq!(there.len(), 1, "{there:?}");
    assert_eq!(there[Path::new("a.txt")].bytes, b"two\n");
    world.ok(["verify"]);
}

/// Edits of the same size with an old timestamp, timestamps in the future, and a clock set back are all detected.
#[test]
fn edits_with_misleading_timestamps_are_detected() {
    let world = world(|world| {
        world.write("a.txt", "one\n");
        world.write("b.txt", "one\n");
    });
    let set = |name: &str, time: SystemTime| {
        let file = File::options()
            .append(true)
            .open(world.path(name))
            .expect("a file");
        file.set_modified(time).expect("a time");
    };
    let was = fs::metadata(world.path("a.txt"))
        .and_then(|meta| meta.modified())
        .expect("a time");
    world.write("a.txt", "two\n");
    set("a.txt", was);
    world.write("b.txt", "two\n");
    set(
        "b.txt",
        SystemTime::now() + Duration::from_hours(24 * 365 * 50),
    );
    let diff = world.ok(["diff"]).stdout;
    assert!(diff.contains("a.txt") && diff.contains("b.txt"), "{diff}");
    set("b.txt", SystemTime::UNIX_EPOCH);
    turn(&world, "echo 333 > b.txt; touch -d 1970-01-01 b.txt");
    world.ok(["rewind", "t1"]);
    assert_eq!(world.read("b.txt"), "two\n");

    // an hour earlier than recorded timestamps
    let db = rusqlite::Connection::open(world.store().join("store.db")).expect("the store");
    db.execute("UPDATE node SET time = time + 3600000000", [])
        .expect("a column");
    drop(db);
    turn(&world, "echo 4444 > b.txt");
    let log = world.ok(["log"]).stdout;
    assert!(log.contains("t2"), "{log}");
    world.ok(["rewind", "t2"]);
    assert_eq!(world.read("b.txt"), "two\n");
    world.ok(["verify"]);
}

/// Changes by git between turns are not attributed to an agent, and no rewind moves git's own state.
#[test]
fn git_changes_between_turns_are_not_an_agents() {
    let world = World::committed(&[("a.txt", "one\n"), ("b.txt", "one\n"), ("c.txt", "one\n")]);
    let mut agent = world.agent();
    agent.prompt("first");
    agent.edit("a.txt", "one", "agent");
    agent.stop();
    world.git_ok(["commit", "-qam", "the agent's"]);
    world.git_ok(["switch", "-qc", "other", "HEAD~1"]);
    world.write("b.txt", "mine\n");
    world.git_ok(["commit", "-qam", "mine"]);
    agent.prompt("second");
    agent.edit("c.txt", "one", "agent");
    agent.stop();
    world.git_ok(["stash", "-q"]);
    world.git_ok(["rebase", "-q", "main"]);
    world.git_ok(["gc", "-q", "--prune=now"]);
    world.git_ok(["stash", "pop", "-q"]);
    agent.prompt("third");
    agent.edit("b.txt", "mine", "agent");
    agent.stop();
    let (head, refs) = (
        world.git_ok(["rev-parse", "HEAD"]),
        world.git_ok(["for-each-ref"]),
    );
    world.ok(["rewind", "t3"]);
    assert_eq!(world.read("b.txt"), "mine\n");
    let rewound = world.json(["rewind", "t2"]);
    assert_eq!(world.read("c.txt"), "one\n", "{rewound}");
    assert_eq!(world.git_ok(["rev-parse", "HEAD"]), head);
    assert_eq!(world.git_ok(["for-each-ref"]), refs);
    world.git_ok(["fsck", "--strict"]);
    world.ok(["undo"]);
    world.ok(["undo"]);
    assert_eq!(world.read("b.txt"), "agent\n");
    assert_eq!(world.read("c.txt"), "agent\n");
    world.ok(["verify"]);
}

/// Thousands of files in `node_modules` become visible: they are not recorded as new, and no rewind deletes them.
#[test]
fn thousands_of_formerly_ignored_files_are_adopted() {
    let world = World::in_memory();
    world.write(".gitignore", "node_modules/\n");
    world.write("a.txt", "one\n");
    for n in 0..3000 {
        world.write(
            format!("node_modules/p{}/f{n}.js", n % 50),
            format!("{n}\n"),
        );
    }
    world.ok(["init"]);
    let mut agent = world.agent();
    agent.prompt("a rule goes");
    agent.bash("echo '*.log' > .gitignore; echo two > a.txt");
    agent.prompt("what came into sight is changed");
    agent.bash("echo three > node_modules/p0/f0.js");
    agent.stop();
    world.ok(["rewind", "t1"]);
    assert_eq!(world.read("a.txt"), "one\n");
    assert_eq!(world.read("node_modules/p0/f0.js"), "0\n");
    assert_eq!(world.read("node_modules/p49/f2999.js"), "2999\n");
    let exact: Value = world.json(["rewind", "t1", "--exact"]);
    assert!(world.exists("node_modules/p7/f7.js"), "{exact}");
    world.ok(["verify"]);
}
