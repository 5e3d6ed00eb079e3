//! Large files: never whole in memory, small changes take little space, and restores are exact to the byte.

use std::fs::{self, File};
use std::io::{Seek as _, Write as _};
use std::process::Command;
use std::sync::mpsc;
use std::thread;

use rusqlite::Connection;

use crate::support::{Output, World, finish};

/// A size above which content is stored in pieces, and below which files are merged by lines.
const LARGE: usize = 20 << 20;
/// A size that is not compared by lines.
const LONG: usize = 80 << 20;
/// Limit for a process's own memory, in KiB.
const MEMORY_LIMIT_KIB: usize = 64 << 10;

/// A workspace without a size limit for files.
fn world() -> World {
    let world = World::new();
    world.configure("capture.maxFileSize = \"256 MiB\"\n");
    world
}

/// A line that has little in common with others.
fn line(n: u32) -> String {
    format!(
        "let v{n} = f{};\n",
        n.wrapping_mul(2_654_435_761) % 999_999_937
    )
}

/// Writes a file of this many bytes, of such lines.
fn fill(world: &World, name: &str, bytes: usize) {
    fill_from(world, name, bytes, 0);
}

fn fill_from(world: &World, name: &str, bytes: usize, first: u32) {
    let file = File::create(world.root.join(name)).expect("created");
    let mut file = std::io::BufWriter::new(file);
    let mut written = 0;
    for n in first.. {
        if written >= bytes {
            break;
        }
        let line = line(n);
        written += line.len();
        file.write_all(line.as_bytes()).expect("written");
    }
}

/// Runs a command with limited memory.
fn limited(command: &Command, input: &[u8]) -> Output {
    let mut sh = Command::new("sh");
    sh.arg("-c")
        .arg(format!(
            "ulimit -d {MEMORY_LIMIT_KIB} && exec \"$0\" \"$@\""
        ))
        .arg(command.get_program())
        .args(command.get_args())
        .env_clear();
    for (name, value) in command.get_envs() {
        if let Some(value) = value {
            sh.env(name, value);
        }
    }
    sh.current_dir(command.get_current_dir().expect("a directory"));
    finish(&mut sh, input)
}

fn hash(world: &World, name: &str) -> blake3::Hash {
    let mut hasher = blake3::Hasher::new();
    let file = File::open(world.root.join(name)).expect("opened");
    hasher.update_reader(file).expect("read");
    hasher.finalize()
}

fn database(world: &World) -> Connection {
    Connection::open(world.store().join("store.db")).expect("the store")
}

/// Size and number of the stored contents.
fn contents(world: &World) -> (i64, i64) {
    database(world)
        .query_row(
            "SELECT SUM(COALESCE(LENGTH(data), len)), COUNT(*) FROM blob",
            [],
            |r| Ok((r.get(0)?, r.get(1)?)),
        )
        .expect("a sum")
}

/// A capture, a hook, a rewind and other commands need only a fraction of the file's size in memory.
#[test]
fn files_larger_than_the_memory_limit_are_captured_and_restored() {
    let world = world();
    fill(&world, "big.txt", LONG);
    let run = |args: &[&str]| limited(world.backstitch().args(args), b"").expect_code(0);
    run(&["init"]);
    let start = hash(&world, "big.txt");

    let agent = world.agent();
    let sent = |name: &str| {
        let tool = serde_json::json!({
            "tool_name": "Bash",
            "tool_use_id": "call",
            "tool_input": { "command": "sed" },
            "tool_response": {},
        });
        let payload = agent.payload(name, tool);
        limited(&world.hook_command(), payload.to_string().as_bytes()).expect_code(0);
    };
    sent("PreToolUse");
    world.sh("sed -i -e '1500000s/.*/changed/' -e '1500010i more' big.txt");
    sent("PostToolUse");
    let changed = hash(&world, "big.txt");
    assert!(start != changed);

    run(&["rewind", "c1"]);
    assert_eq!(hash(&world, "big.txt"), start);
    run(&["undo"]);
    assert_eq!(hash(&world, "big.txt"), changed);
    let shown = run(&["diff", "c1", "@"]);
    assert!(
        shown.stderr.contains("too large to compare by lines"),
        "{shown}"
    );
    run(&["verify"]);

    let mut cat = world.backstitch();
    cat.args(["cat", "c1", "big.txt"]);
    let printed = limited(&cat, b"").expect_code(0);
    assert!(blake3::hash(printed.stdout.as_bytes()) == start);

    world.ok(["fork", "--into", "../other", "c1", "other"]);
    let there = fs::read(world.root.join("../other/big.txt")).expect("read");
    assert!(blake3::hash(&there) == start);
}

/// Only the changed part is stored. Below the size limit for it, files are merged by lines.
#[test]
fn a_small_change_costs_little_and_merges_by_lines() {
    let world = world();
    fill(&world, "big.txt", LARGE);
    world.ok(["init"]);
    let text = world.read("big.txt");
    let before = contents(&world);

    let mut agent = world.agent();
    agent.prompt("one");
    let (one, two) = (line(1_000), line(500_000));
    agent.edit("big.txt", &one, &format!("// before\n{one}"));
    agent.stop();
    let after = contents(&world);
    let grown = after.0 - before.0;
    // the list of pieces, the new pieces, and the call
    assert!(grown < 40_000, "{grown} bytes");
    assert!(after.1 - before.1 < 8, "{} contents", after.1 - before.1);

    agent.prompt("two");
    agent.bash("sed -i '500002s/^/really /' big.txt; printf 'end' >> big.txt");
    agent.stop();
    let shown = world.ok(["diff", "c1", "@"]).stdout;
    assert!(
        shown.contains("+// before") && shown.contains("+end"),
        "{shown}"
    );

    world.ok(["revert", "t1"]);
    let both = text.replacen(&two, &format!("really {two}"), 1) + "end";
    assert!(world.read("big.txt") == both);
    world.ok(["rewind", "c1"]);
    assert!(world.read("big.txt") == text);
    world.ok(["verify"]);
}

/// A damaged piece is a named loss of the versions that contain it, and of nothing else. No wrong content is restored.
#[test]
fn a_damaged_piece_is_a_named_loss() {
    let world = world();
    fill(&world, "big.txt", LARGE);
    world.write("a.txt", "one\n");
    world.ok(["init"]);
    let agent = world.agent();
    agent.bash("sed -i '500001s/^/really /' big.txt; echo two > a.txt");
    let now = hash(&world, "big.txt");
    let store = database(&world);
    // a piece that only the first version has, against which the second one is stored
    let piece: i64 = store
        .query_row("SELECT base FROM blob WHERE base IS NOT NULL", [], |r| {
            r.get(0)
        })
        .expect("a piece that is the base of another");
    let flip = "UPDATE blob SET data = CAST(substr(data, 1, 5000) || x'ffffff' || substr(data, 5004) AS BLOB)
                WHERE n = ?1";
    assert_eq!(store.execute(flip, [piece]).expect("written"), 1);
    let verified = world.run(["verify"]).expect_code(4);
    assert!(
        verified.stdout.contains("big.txt") || verified.stderr.contains("big.txt"),
        "{verified}"
    );
    let failed = world.run(["rewind", "c1"]);
    assert!(failed.code != 0, "{failed}");
    assert_eq!(hash(&world, "big.txt"), now);
    assert_eq!(world.read("a.txt"), "two\n");
    world.ok(["rewind", "c1", "--path", "a.txt"]);
    assert_eq!(world.read("a.txt"), "one\n");
}

/// `gc` keeps the pieces of remaining versions, and removes the others.
#[test]
fn gc_removes_only_unused_pieces() {
    let world = world();
    fill(&world, "big.txt", LARGE);
    world.ok(["init"]);
    let start = hash(&world, "big.txt");
    let mut agent = world.agent();
    for n in 0..3 {
        agent.prompt(&format!("turn {n}"));
        // a completely different content, then the first one again
        agent.bash("mv big.txt kept; head -c 18000000 /dev/urandom > big.txt");
        agent.bash("mv kept big.txt");
        agent.stop();
    }
    let (before, _) = contents(&world);
    assert!(before > 3 * 18_000_000, "{before}");
    world.ok(["gc", "--keep-days", "0", "--keep", "1"]);
    let (after, _) = contents(&world);
    assert!(after < before - 2 * 18_000_000, "{before} -> {after}");
    world.ok(["verify"]);
    assert_eq!(hash(&world, "big.txt"), start);
    let recorded = world.ok(["cat", "@", "big.txt"]).bytes;
    assert_eq!(blake3::hash(&recorded), start);
}

/// A large file to which another process keeps appending is recorded as it was at one moment.
#[test]
fn a_growing_large_file_is_captured_consistently() {
    let world = world();
    fill(&world, "log.txt", LARGE);
    world.ok(["init"]);
    let path = world.root.join("log.txt");
    thread::scope(|scope| {
        let (go_on, received) = mpsc::channel();
        scope.spawn(move || {
            let mut log = File::options().append(true).open(path).expect("opened");
            for n in received {
                for line in 0..50_000 {
                    writeln!(log, "line {n} {line}").expect("written");
                }
            }
        });
        for n in 0..6 {
            go_on.send(n).expect("heard");
            world.ok(["checkpoint", "-m", &format!("look {n}")]);
        }
    });
    world.ok(["checkpoint", "-m", "at rest"]);
    let whole = fs::read(world.root.join("log.txt")).expect("read");
    assert!(world.ok(["cat", "@", "log.txt"]).bytes == whole);
    for n in 0..6 {
        let was = world.ok(["cat", &format!("look {n}"), "log.txt"]).bytes;
        assert!(whole.starts_with(&was), "look {n} has what never was");
    }
    world.ok(["verify"]);
}

/// A process that dies between pieces leaves unreferenced ones: nothing is damaged, the next scan is complete, and
/// `gc` removes them.
#[test]
fn a_capture_killed_between_pieces_leaves_the_store_whole() {
    const ALL: &str = "SELECT COUNT(*) FROM blob";
    const WHOLE: &str = "SELECT COUNT(*) FROM blob WHERE coding = 3";
    let mut between = 0;
    for point in 1..60 {
        let world = World::in_memory();
        world.configure("capture.maxFileSize = \"256 MiB\"\n");
        fill(&world, "big.txt", LARGE);
        let mut scan = world.backstitch();
        scan.arg("scan").env("BACKSTITCH_FAULT", point.to_string());
        let output = finish(&mut scan, b"");
        if output.code == 0 {
            break;
        }
        assert_eq!(output.code, 137, "{output}");
        let count = |sql: &str| -> i64 {
            let db = database(&world);
            db.query_row(sql, [], |r| r.get(0)).expect("a number")
        };
        let has_schema = "SELECT COUNT(*) FROM sqlite_schema WHERE name = 'blob'";
        if count(has_schema) == 0 || count(ALL) < 2 || count(WHOLE) > 0 {
            continue;
        }
        between += 1;
        world.ok(["verify"]);
        // other content than that of the pieces
        fill_from(&world, "big.txt", LARGE, 5_000_000);
        world.ok(["scan"]);
        world.ok(["verify"]);
        world.ok(["gc"]);
        let pieces = count("SELECT SUM(LENGTH(data)) / 32 FROM blob WHERE coding = 3");
        // the pieces and the list of them
        assert_eq!(count(ALL), pieces + 1, "point {point}");
        let recorded = world.ok(["cat", "@", "big.txt"]).bytes;
        assert_eq!(blake3::hash(&recorded), hash(&world, "big.txt"));
    }
    assert!(between >= 3, "{between} times between pieces");
}

/// A file that is overwritten in place all the time: its final state is recorded.
#[test]
fn a_large_file_overwritten_in_place_is_captured_in_its_final_state() {
    let world = world();
    let letters = |letter: u8| vec![letter; LARGE];
    world.write("big.txt", letters(b'a'));
    world.ok(["init"]);
    let path = world.root.join("big.txt");
    thread::scope(|scope| {
        let (go_on, received) = mpsc::channel();
        scope.spawn(move || {
            let mut file = File::options().write(true).open(path).expect("opened");
            for letter in received {
                file.rewind().expect("at the beginning");
                for part in letters(letter).chunks(1 << 20) {
                    file.write_all(part).expect("written");
                }
            }
        });
        for (n, letter) in (b'b'..=b'g').enumerate() {
            go_on.send(letter).expect("heard");
            world.ok(["checkpoint", "-m", &format!("look {n}")]);
        }
    });
    world.ok(["checkpoint", "-m", "at rest"]);
    assert!(world.ok(["cat", "@", "big.txt"]).bytes == letters(b'g'));
    world.ok(["verify"]);
}

/// Two agents, an appending process, and `gc` all run at once: no hook fails, nothing is lost.
#[test]
fn large_files_are_captured_beside_agents_and_gc() {
    let world = world();
    fill(&world, "log.txt", LARGE);
    world.ok(["init"]);
    let path = world.root.join("log.txt");
    thread::scope(|scope| {
        let (go_on, received) = mpsc::channel::<u32>();
        scope.spawn(move || {
            let mut log = File::options().append(true).open(path).expect("opened");
            for n in received {
                for line in 0..20_000 {
                    writeln!(log, "line {n} {line}").expect("written");
                }
            }
        });
        let world = &world;
        for name in ["one.txt", "two.txt"] {
            let go_on = go_on.clone();
            scope.spawn(move || {
                let mut agent = world.agent();
                agent.prompt(name);
                for n in 0..5 {
                    go_on.send(n).expect("heard");
                    agent.bash(&format!("echo {n} >> {name}")).expect_code(0);
                }
                agent.stop();
            });
        }
        scope.spawn(move || {
            for _ in 0..5 {
                world.ok(["gc"]);
            }
        });
        drop(go_on);
    });
    world.ok(["checkpoint"]);
    let whole = fs::read(world.root.join("log.txt")).expect("read");
    assert!(world.ok(["cat", "@", "log.txt"]).bytes == whole);
    world.ok(["verify"]);
}

/// A damaged list of pieces is a named loss; later changes are recorded nevertheless.
#[test]
fn a_damaged_list_of_pieces_is_a_named_loss() {
    let world = world();
    fill(&world, "big.txt", LARGE);
    world.ok(["init"]);
    let cut = "UPDATE blob SET data = substr(data, 1, 100) WHERE coding = 3";
    let changed = database(&world).execute(cut, []).expect("written");
    assert_eq!(changed, 1);
    let verified = world.run(["verify"]).expect_code(4);
    assert!(format!("{verified}").contains("big.txt"), "{verified}");
    world.agent().bash("echo more >> big.txt").expect_code(0);
    let now = fs::read(world.root.join("big.txt")).expect("read");
    assert!(world.ok(["cat", "@", "big.txt"]).bytes == now);
    let refused = world.run(["rewind", "c1", "--exact"]);
    assert!(refused.code != 0, "{refused}");
    assert!(fs::read(world.root.join("big.txt")).expect("read") == now);
    let out = world.home.join("out");
    let refused = world.run(["materialize", "c1", "--into", out.to_str().expect("UTF-8")]);
    assert!(
        refused.code != 0 && !out.join("big.txt").exists(),
        "{refused}"
    );
}
