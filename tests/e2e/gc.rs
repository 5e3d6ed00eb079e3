//! Retention: old checkpoints are squashed into one, held checkpoints stay, and the store shrinks.

use std::time::{Duration, Instant};

use rusqlite::Connection;
use serde_json::{Value, json};

use crate::support::World;
use crate::support::limits::EVENT_TIMEOUT;
use crate::support::rng::Rng;
use crate::support::scenarios::{NINE_LINES, six_turns_and_an_own_edit};

fn rows(world: &World) -> Vec<Value> {
    let log = world.json(["log", "--all"]);
    log["checkpoints"].as_array().expect("rows").clone()
}

fn ids(rows: &[Value]) -> Vec<String> {
    let of = |row: &Value| row["id"].as_str().expect("an id").to_owned();
    rows.iter().map(of).collect()
}

fn database(world: &World) -> Connection {
    // forked directories have their own file, which names the store
    let store = world.json(["status"])["store"].clone();
    let store = std::path::Path::new(store.as_str().expect("a path")).join("store.db");
    Connection::open(store).expect("the store")
}

/// Moves the older half of the history this many days into the past, and the rest to the days from then to now: work of
/// some days, without a long gap.
fn age(world: &World, days: i64) {
    let shift = days * 24 * 3600 * 1_000_000;
    let updated = database(world)
        .execute(
            "WITH numbered AS (SELECT id, row_number() OVER (ORDER BY id) AS at, count(*) OVER () AS all_of FROM node)
             UPDATE node SET time = time - ?1 * MIN(all_of - at, all_of / 2) / (all_of / 2) FROM numbered
             WHERE numbered.id = node.id",
            [shift],
        )
        .expect("a column");
    assert!(updated > 1);
}

/// Sets the clock this many days ahead, as the records show it: the whole history is older by then.
fn set_clock_ahead(world: &World, days: i64) {
    let shift = days * 24 * 3600 * 1_000_000;
    database(world)
        .execute("UPDATE node SET time = time - ?1", [shift])
        .expect("a column");
}

/// S2-R5, S3-030, S4-D4, U-27: remaining checkpoints are unchanged and have their parents, removed ones are reported, a
/// tagged one stays, and no file on disk changes.
#[test]
fn old_checkpoints_are_squashed() {
    let world = six_turns_and_an_own_edit();
    world.ok(["tag", "works", "t3"]);
    let before = ids(&rows(&world));
    let (disk, then) = (world.tree(), world.ok(["cat", "works", "a.txt"]).stdout);

    let dry = world.json(["gc", "--keep-days", "0", "--dry-run"]);
    assert_eq!(ids(&rows(&world)), before, "a dry run does nothing");
    let done = world.json(["gc", "--keep-days", "0"]);
    assert!(done["gone"].as_u64().expect("a number") > 5, "{done}");
    assert_eq!(dry["dry_run"], json!(true));
    for field in ["gone", "made", "contents"] {
        assert_eq!(dry[field], done[field], "{field}");
    }
    assert!(world.tree() == disk);
    world.ok(["verify"]);

    // the tagged turn is whole, the turns before and after it are squashed, the newest turn is there
    let after = rows(&world);
    let kinds: Vec<&str> = after
        .iter()
        .map(|row| row["kind"].as_str().expect("a kind"))
        .collect();
    assert_eq!(
        kinds,
        [
            "step", "step", "turn", "squash", "step", "step", "turn", "squash", "manual"
        ]
    );
    let made = &after[3];
    assert_eq!(made["squashed"]["turns"], json!(2));
    assert_eq!(made["squashed"]["agents"], json!(["claude-code"]));
    assert!(ids(&after).iter().all(|id| before.contains(id)));
    for row in &after[..after.len() - 1] {
        let parent = row["parent"].as_str().expect("a parent").to_owned();
        assert!(ids(&after).contains(&parent), "{row}");
    }
    assert_eq!(world.ok(["cat", "works", "a.txt"]).stdout, then);
    let log = world.ok(["log"]).stdout;
    assert!(log.contains("checkpoints of 2 turns, squashed"), "{log}");
    let id = made["id"].as_str().expect("an id");
    let shown = world.ok(["show", id]).stdout;
    assert!(
        shown.contains("replaces") && shown.contains("a.txt"),
        "{shown}"
    );
    let patch = world.ok(["show", id, "--patch"]).stdout;
    assert!(patch.contains("+four of t4"), "{patch}");

    for gone in ["t1", "t4", "c2"] {
        let output = world.run(["rewind", gone]);
        assert_eq!(output.code, 3, "{output}");
        assert!(output.stderr.contains("`gc` squashed it"), "{output}");
    }
    let none = world.run(["rewind", "t99"]);
    assert!(none.stderr.contains("there is no turn t99"), "{none}");

    // a second run removes nothing, and the next turn gets the next number
    let again = world.json(["gc", "--keep-days", "0"]);
    assert_eq!(again["gone"], json!(0));
    let mut agent = world.agent();
    agent.prompt("one more");
    agent.edit("a.txt", "eight", "8");
    assert!(world.ok(["log"]).stdout.contains("t7"));
    world.ok(["verify"]);
}

/// S2-R5: pinned checkpoints and the starts of branches stay, unchanged.
#[test]
fn pinned_checkpoints_and_fork_points_stay() {
    let world = six_turns_and_an_own_edit();
    let at = |rev: &str| {
        ["a.txt", "b.txt", "shell.txt"].map(|path| world.run(["cat", rev, path]).stdout)
    };
    world.ok(["checkpoint", "pin", "t3"]);
    world.ok(["fork", "t5", "other"]);
    let fork = world.json(["show", "t5"])["id"].clone();
    let (pinned, forked) = (at("t3"), at("t5"));
    let done = world.json(["gc", "--keep-days", "0", "--keep", "1", "--max-bytes", "1"]);
    assert!(done["gone"].as_u64() > Some(3), "{done}");
    assert_eq!((at("t3"), at("t5")), (pinned, forked));
    assert_eq!(world.json(["show", "t5"])["id"], fork);
    world.ok(["rewind", "t3", "--exact"]);
    assert_eq!(world.read("a.txt"), at("t3")[0]);
    world.ok(["undo"]);
    world.ok(["verify"]);
}

/// S3-033, U-19: a rewind across squashed checkpoints takes the agent's lines out and keeps the user's.
#[test]
fn a_rewind_works_across_squashed_checkpoints() {
    let world = six_turns_and_an_own_edit();
    world.ok(["tag", "works", "t3"]);
    world.ok(["gc", "--keep-days", "0"]);
    world.ok(["rewind", "works"]);
    assert_eq!(
        world.read("a.txt"),
        NINE_LINES
            .replace("one", "one of t1")
            .replace("two", "two of t2")
    );
    assert_eq!(world.read("shell.txt"), "1\n2\n");
    assert_eq!(world.read("b.txt"), NINE_LINES.replace("seven", "mine"));
    world.ok(["undo"]);
    assert!(world.read("a.txt").contains("six of t6"));
    world.ok(["verify"]);
    let blame = world.json(["blame", "a.txt"]);
    assert!(blame.to_string().contains("claude-code"), "{blame}");
}

/// U-19: where the user and an agent edited one file within a squash, the authors of its lines are unknown. Such edits
/// stay, and the plan says so.
#[test]
fn squashed_edits_of_two_writers_stay_and_are_named() {
    let world = World::committed(&[("a.txt", NINE_LINES)]);
    let mut agent = world.agent();
    agent.prompt("before");
    agent.edit("a.txt", "eight", "8");
    agent.stop();
    world.ok(["tag", "start"]);
    agent.prompt("both");
    agent.edit("a.txt", "one", "1");
    agent.stop();
    world.write("a.txt", world.read("a.txt").replace("three", "mine"));
    agent.prompt("and on");
    agent.edit("a.txt", "five", "5");
    agent.stop();
    agent.prompt("the newest");
    world.ok(["gc", "--keep-days", "0"]);
    let plan = world.json(["rewind", "start", "--dry-run"]);
    assert_eq!(plan["actions"], json!([]), "{plan}");
    assert!(plan["gaps"].to_string().contains("is uncertain"), "{plan}");
    world.ok(["rewind", "start", "--uncertain", "take"]);
    assert_eq!(world.read("a.txt"), NINE_LINES.replace("eight", "8"));
}

/// U-20, U-24: a rewind that is kept can still be undone, and so the checkpoints it moved are kept, too.
#[test]
fn rewinds_that_can_be_undone_stay() {
    let world = six_turns_and_an_own_edit();
    world.ok(["rewind", "t2"]);
    let before = world.tree();
    let done = world.json(["gc", "--keep-days", "0"]);
    // only checkpoints before the turn that it went back to
    assert_eq!(done["made"].as_array().map(Vec::len), Some(1), "{done}");
    world.ok(["undo"]);
    assert!(world.read("a.txt").contains("six of t6"));
    world.ok(["redo"]);
    assert!(world.tree() == before);
    world.ok(["verify"]);
}

/// S3-030, S3-Q2: after thirty days gc runs when a session stops, which does not wait for it.
#[test]
fn gc_runs_automatically_when_something_is_old() {
    let world = six_turns_and_an_own_edit();
    let before = rows(&world).len();
    let mut agent = world.agent();
    agent.prompt("nothing is old");
    agent.stop();
    assert_eq!(world.json(["gc"])["gone"], json!(0));
    age(&world, 29);
    assert_eq!(world.json(["gc"])["gone"], json!(0));
    age(&world, 2);
    world.write(".backstitch.toml", "[store]\nkeepDays = 40\n");
    assert_eq!(world.json(["gc"])["gone"], json!(0));
    world.remove(".backstitch.toml");
    agent.prompt("old things go");
    let stopped = agent.stop();
    assert_eq!((stopped.code, stopped.stderr.as_str()), (0, ""));
    let until = Instant::now() + EVENT_TIMEOUT;
    let is_one = || {
        rows(&world)
            .iter()
            .any(|row| row["kind"] == json!("squash"))
    };
    while !is_one() {
        assert!(Instant::now() < until, "nothing was made one");
        std::thread::sleep(Duration::from_millis(20));
    }
    world.ok(["verify"]);
    assert!(rows(&world).len() < before);
}

/// Output of a `gc`, once the one that a stop has started in the background has ended.
fn alone(world: &World, command: &[&str]) -> String {
    loop {
        let done = world.run(command);
        if !done.stderr.contains("another gc is running") {
            return done.expect_code(0).stdout;
        }
    }
}

/// One reading of the clock ages nothing. A clock that is ahead, or was behind, or goes back and forth costs no
/// history: neither in the background nor by hand, where the gap is told and `--trust-clock` decides.
#[test]
fn a_wrong_clock_costs_no_history() {
    for jumps in [
        &[800][..],
        &[40],
        &[-800, 800],
        &[40, -40, 40, -40, 40],
        &[-3, 800, -800],
    ] {
        let world = six_turns_and_an_own_edit();
        // an earlier run: what came before it is not protected by being new
        assert_eq!(world.json(["gc"])["gone"], json!(0));
        let mut agent = world.agent();
        for (n, jump) in jumps.iter().enumerate() {
            set_clock_ahead(&world, *jump);
            agent.prompt(&format!("turn {n}"));
            agent.stop();
            alone(&world, &["gc", "--if-due"]);
            let done = alone(&world, &["gc", "--json"]);
            let gone: Value = serde_json::from_str(&done).expect("JSON");
            assert_eq!(gone["gone"], json!(0), "{jumps:?}");
        }
        for n in 0..8 {
            agent.prompt(&format!("later {n}"));
            agent.stop();
        }
        alone(&world, &["gc", "--if-due"]);
        let squashed = rows(&world)
            .iter()
            .filter(|row| row["kind"] == json!("squash"))
            .count();
        assert_eq!(squashed, 0, "{jumps:?}");
        world.ok(["show", "t1"]);
        world.ok(["verify"]);
    }
    let world = six_turns_and_an_own_edit();
    set_clock_ahead(&world, 800);
    world.ok(["checkpoint", "-m", "after the gap"]);
    let said = world.ok(["gc"]);
    assert!(said.stdout.contains("Nothing to squash"), "{said}");
    assert!(
        said.stderr.contains("a gap of 800 days before c") && said.stderr.contains("--trust-clock"),
        "{said}"
    );
    let done = world.json(["gc", "--trust-clock"]);
    assert!(done["gone"].as_u64() > Some(3), "{done}");
    world.ok(["verify"]);
}

/// S2-R5, S4-010: limits by number and by size: the oldest checkpoints are removed first, with their contents.
#[test]
fn gc_gets_below_its_limits() {
    let world = World::committed(&[("a.txt", NINE_LINES)]);
    let mut rng = Rng::new(3);
    let mut agent = world.agent();
    for n in 0..40 {
        agent.prompt(&format!("turn {n}"));
        // random text does not compress
        let lines: Vec<String> = (0..60)
            .map(|_| format!("{:x?}\n", rng.bytes(512)))
            .collect();
        agent.write("noise.txt", &lines.concat());
        agent.stop();
    }
    let most = 1_500_000;
    world.configure(&format!(
        "[store]\nmaxBytes = {most}\n[checkpoints]\nmax = 60\n"
    ));
    let status = world.ok(["status"]).stdout;
    assert!(status.contains("is near its limit"), "{status}");
    let done = world.json(["gc", "--max-bytes", "0"]);
    assert!(rows(&world).len() <= 62, "{}", rows(&world).len());
    assert!(done["contents"].as_u64() > Some(5), "{done}");
    let done = world.json(["gc"]);
    let size = done["bytes_after"].as_u64().expect("a size");
    assert!(size < most && done["over_limit"] == json!(false), "{done}");
    let on_disk = |name: &str| std::fs::metadata(world.store().join(name)).map_or(0, |m| m.len());
    let on_disk = on_disk("store.db") + on_disk("store.db-wal");
    assert!(on_disk < most, "{on_disk}");
    world.ok(["verify"]);

    // held checkpoints stay, whatever the limit
    world.ok(["tag", "kept"]);
    let over = world.run(["gc", "--max-bytes", "1"]);
    assert!(over.stderr.contains("above its limit"), "{over}");
    world.ok(["verify"]);
}

/// S4-011: beyond the maximum the oldest go, of all branches together. Those that must stay are counted and named.
/// 0 means no limit, for the option as for the setting.
#[test]
fn a_limit_by_number_says_what_is_left() {
    let world = World::new();
    let make = |count: usize, name: &str| {
        for n in 1..=count {
            world.write("a.txt", format!("{name} {n}\n"));
            world.ok(["checkpoint", "-m", &format!("{name} {n}")]);
        }
    };
    make(10, "main");
    let before = rows(&world).len();
    let none = world.ok(["gc", "--keep", "0"]);
    assert_eq!((rows(&world).len(), none.stderr.as_str()), (before, ""));
    world.configure("checkpoints.max = 6\n");
    let done = world.json(["gc"]);
    let left = rows(&world);
    // the start of the branch stays beside them
    assert_eq!((left.len(), &done["too_many"]), (7, &json!(7)), "{left:?}");
    let labels: Vec<&str> = left
        .iter()
        .filter_map(|row| row["label"].as_str())
        .collect();
    assert_eq!(labels.first(), Some(&"main 10"));
    assert!(!labels.contains(&"main 1"), "{labels:?}");
    assert_eq!(world.json(["gc"])["gone"], json!(0), "once is enough");
    // the checkpoints of another branch count, too
    world.ok(["fork", "@", "idea", "--switch"]);
    make(5, "idea");
    for n in 1..=5 {
        world.ok(["checkpoint", "pin", &format!("idea {n}")]);
    }
    let said = world.ok(["gc", "--keep", "2"]);
    let all = world.json(["log", "--all"])["checkpoints"].clone();
    let count = all.as_array().expect("rows").len();
    let note = format!(
        "{count} checkpoints remain, more than the limit of 2: the first checkpoint, heads and starts of branches"
    );
    assert!(said.stderr.contains(&note), "{said}");
    assert_eq!(world.json(["gc", "--keep", "2"])["too_many"], json!(count));
    world.ok(["show", "idea 1"]);
    world.ok(["verify"]);
}

/// S2-R5: gc runs automatically before the limit is reached.
#[test]
fn gc_runs_automatically_near_the_limit() {
    let world = World::committed(&[("a.txt", NINE_LINES)]);
    let mut rng = Rng::new(6);
    let mut agent = world.agent();
    for n in 0..30 {
        agent.prompt(&format!("turn {n}"));
        agent.write("noise.txt", &format!("{:x?}", rng.bytes(20_000)));
        agent.stop();
    }
    let kinds = |kind: &str| {
        rows(&world)
            .iter()
            .filter(|row| row["kind"] == json!(kind))
            .count()
    };
    let size = || {
        world.json(["gc", "--dry-run"])["bytes_before"]
            .as_u64()
            .expect("a size")
    };
    let is_near = || world.ok(["status"]).stdout.contains("is near its limit");
    let most = size() * 100 / 94;
    world.configure(&format!("[store]\nmaxBytes = {most}\n"));
    assert!(is_near());
    // an explicit `gc` finds the store within its limit
    assert_eq!(world.json(["gc"])["gone"], json!(0));
    let mut agent = world.agent();
    agent.prompt("another");
    let stopped = agent.stop();
    assert_eq!((stopped.code, stopped.stderr.as_str()), (0, ""));
    let until = Instant::now() + EVENT_TIMEOUT;
    while kinds("squash") == 0 || is_near() {
        assert!(Instant::now() < until, "it is not smaller");
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(kinds("turn") > 5, "and no more than that");
    world.ok(["verify"]);
}

/// S4-010: settings of gc, and errors in them.
#[test]
fn gc_settings_are_checked() {
    let world = six_turns_and_an_own_edit();
    for (text, wrong) in [
        ("[store]\nkeepDays = 0\n", "0 is not a number of days"),
        ("[store]\nkeepDays = \"30\"\n", "is not a number of days"),
        ("[store]\nmaxBytes = 10\n", "10 is less than 1 MiB"),
        ("[store]\nmaxBytes = \"much\"\n", "is not a size"),
        (
            "[checkpoints]\nmax = -1\n",
            "-1 is not a number of checkpoints",
        ),
    ] {
        world.write(".backstitch.toml", text);
        let output = world.ok(["status", "-v"]);
        assert!(
            output.stderr.contains(".backstitch.toml:2: ") && output.stderr.contains(wrong),
            "{text}: {output}"
        );
    }
    world.configure("[store]\nkeepDays = 7\nmaxBytes = \"2 GiB\"\n[checkpoints]\nmax = 500\n");
    let text = world.ok(["status", "-v"]).stdout;
    for line in ["store.keepDays", "2 GiB", "500"] {
        assert!(text.contains(line), "{line} in {text}");
    }
}

/// U-20: a rewind interrupted in another directory of the history refers to edits of any age. Gc removes nothing until
/// that rewind is finished, and it can be finished.
#[test]
fn gc_waits_for_an_interrupted_rewind_elsewhere() {
    let world = six_turns_and_an_own_edit();
    world.ok(["tag", "works", "t3"]);
    let mut killed = 0;
    for point in 4..16 {
        let fork = world.home.join(format!("fork-{point}"));
        let fork = fork.to_str().expect("UTF-8");
        let name = format!("idea-{point}");
        world.ok(["fork", "main", &name, "--into", fork]);
        let mut rewind = world.backstitch();
        rewind
            .args(["--workspace", fork, "rewind", "works"])
            .env("BACKSTITCH_FAULT", point.to_string());
        let output = crate::support::finish(&mut rewind, b"");
        let gc = world.run(["gc", "--keep-days", "0"]);
        if output.code == 137 && gc.code != 0 {
            killed += 1;
            assert!(gc.stderr.contains("was interrupted"), "{gc}");
        }
        world.ok(["--workspace", fork, "log"]);
        world.ok(["--workspace", fork, "verify"]);
    }
    assert!(killed > 3, "{killed} were cut off");
    world.ok(["gc", "--keep-days", "0"]);
    world.ok(["verify"]);
}

/// Directories that share a history use the most generous of their settings.
#[test]
fn forked_directories_use_the_most_generous_settings() {
    let world = six_turns_and_an_own_edit();
    let fork = world.home.join("fork");
    let fork = fork.to_str().expect("UTF-8");
    world.ok(["fork", "t5", "idea", "--into", fork]);
    world.write(".backstitch.toml", "[store]\nkeepDays = 365\n");
    age(&world, 100);
    let done = world.json(["--workspace", fork, "gc"]);
    assert_eq!(done["made"], json!([]), "{done}");
    world.remove(".backstitch.toml");
    let done = world.json(["--workspace", fork, "gc"]);
    assert_ne!(done["made"], json!([]), "{done}");
    world.ok(["verify"]);
}

/// Gaps are still reported after their checkpoint was squashed.
#[test]
fn gaps_survive_a_squash() {
    let world = World::committed(&[("a.txt", NINE_LINES)]);
    let mut agent = world.agent();
    agent.prompt("first");
    agent.edit("a.txt", "one", "1");
    let outside = world.home.join("outside.txt");
    agent.write(outside.to_str().expect("UTF-8"), "not ours\n");
    agent.edit("a.txt", "two", "2");
    agent.stop();
    agent.prompt("second");
    agent.edit("a.txt", "three", "3");
    agent.stop();
    let gaps = |world: &World| {
        let first = rows(world).last().expect("a first")["id"].clone();
        let plan = world.json(["rewind", first.as_str().expect("an id"), "--dry-run"]);
        plan["gaps"].to_string()
    };
    assert!(gaps(&world).contains("outside.txt"), "{}", gaps(&world));
    let done = world.json(["gc", "--keep-days", "0"]);
    assert_ne!(done["made"], json!([]), "{done}");
    assert!(gaps(&world).contains("outside.txt"), "{}", gaps(&world));
}

/// A checkpoint that cannot be squashed is reported, and the rest is squashed nevertheless.
#[test]
fn inconsistent_checkpoints_stay_and_are_named() {
    let world = six_turns_and_an_own_edit();
    world.ok(["tag", "works", "t3"]);
    // a file that changed without an edit that records the change
    let broken = database(&world)
        .execute(
            "UPDATE change SET role = 1, sum = NULL WHERE after_path = CAST('shell.txt' AS BLOB) AND node <=
               (SELECT node FROM turn WHERE number = 3)",
            [],
        )
        .expect("a column");
    assert!(broken > 0);
    let before = (rows(&world).len(), world.tree());
    let dry = world.json(["gc", "--keep-days", "0", "--dry-run"]);
    let done = world.json(["gc", "--keep-days", "0"]);
    assert!(done["stuck"].as_u64() > Some(1), "{done}");
    assert_eq!(dry["stuck"], done["stuck"]);
    assert!(done["gone"].as_u64() > Some(1), "{done}");
    assert!(rows(&world).len() < before.0 && world.tree() == before.1);
    let said = world.ok(["gc", "--keep-days", "0"]).stderr;
    assert!(said.contains("could not"), "{said}");
    let verified = world.run(["verify"]);
    assert_ne!(verified.code, 0, "{}", verified.stdout);
}

/// An agent that died during a call does not hold its turn forever. A working agent keeps its turn.
#[test]
fn a_working_agent_keeps_its_turn_and_a_dead_one_does_not() {
    let world = World::committed(&[("a.txt", NINE_LINES)]);
    let mut dead = world.agent();
    dead.prompt("dies");
    dead.edit("a.txt", "one", "1");
    dead.pre_bash("sleep 1000");
    age(&world, 400);
    database(&world)
        .execute_batch(
            "UPDATE call SET opened = opened - 34560000000000; UPDATE session SET seen = seen - 34560000000000;",
        )
        .expect("columns");
    let mut slow = world.agent();
    slow.prompt("slow");
    slow.edit("a.txt", "two", "2");
    let mut quick = world.agent();
    for n in 0..4 {
        quick.prompt(&format!("quick {n}"));
        quick.write("b.txt", &format!("{n}\n"));
        quick.stop();
    }
    let done = world.json(["gc", "--keep", "2"]);
    assert_ne!(done["made"], json!([]), "{done}");
    let log = world.ok(["log", "--all"]).stdout;
    assert!(!log.contains("dies") && log.contains("slow"), "{log}");
    slow.edit("a.txt", "three", "3");
    slow.stop();
    let newest = &rows(&world)[0];
    assert_eq!(newest["prompt"], json!("slow"), "{newest}");
    world.ok(["verify"]);
}
