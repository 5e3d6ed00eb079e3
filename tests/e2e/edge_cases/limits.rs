//! A workspace's own file of settings, which may come with a clone or be written by an agent: it may have less recorded
//! and more kept, and what it does is said.

use serde_json::{Value, json};

use crate::support::World;
use crate::support::rng::Rng;
use crate::support::scenarios::counting_turns;

const FILE: &str = ".backstitch.toml";

fn setting(world: &World, key: &str) -> Value {
    world.json(["status"])["settings"][key]["value"].clone()
}

/// A2: limits of retention in the workspace's file, or written there by the agent's shell, cost no checkpoint.
#[test]
fn a_workspace_cannot_have_less_kept() {
    for (line, key) in [
        ("checkpoints.max = 1", "checkpoints.max"),
        ("store.keepDays = 1", "store.keepDays"),
        ("store.maxBytes = \"1 MiB\"", "store.maxBytes"),
    ] {
        let world = counting_turns(4);
        let own = setting(&world, key);
        let database = rusqlite::Connection::open(world.store().join("store.db")).expect("opens");
        database
            .execute("UPDATE node SET time = time - 5 * 86400000000", [])
            .expect("aged");
        drop(database);
        world.write("large.bin", Rng::new(1).bytes(1_500_000));
        let mut agent = world.agent();
        agent.let_complain();
        agent.prompt("the agent writes it");
        agent.bash(&format!("echo '{line}' > {FILE}"));
        agent.stop();
        let done = world.json(["gc"]);
        assert_eq!(done["gone"], json!(0), "{line}: {done}");
        world.ok(["gc", "--if-due"]);
        for n in 1..=4 {
            world.ok(["show", &format!("t{n}")]);
        }
        assert_eq!(setting(&world, key), own, "{line}");
        let said = world.ok(["status"]).stderr;
        let expected = format!("{FILE}:1: `{key}`: a file in a workspace may ask for more");
        assert!(said.contains(&expected), "{said}");
        assert!(world.run(["doctor"]).stdout.contains(&expected), "{line}");
        world.ok(["rewind", "t2"]);
        assert_eq!(world.read("a.txt"), "1\n");
        world.ok(["verify"]);
    }
}

/// A2: it may ask for more than the user does.
#[test]
fn a_workspace_may_have_more_kept() {
    let world = counting_turns(1);
    world.configure("store.keepDays = 7\nstore.maxBytes = \"2 MiB\"\ncheckpoints.max = 5\n");
    world.write(
        FILE,
        "store.keepDays = 8\nstore.maxBytes = 0\ncheckpoints.max = 6\n",
    );
    assert_eq!(world.ok(["status"]).stderr, "");
    assert_eq!(setting(&world, "store.keepDays"), json!(8));
    assert_eq!(setting(&world, "store.maxBytes"), json!(0));
    assert_eq!(setting(&world, "checkpoints.max"), json!(6));
}

/// The other keys: less is recorded and no more, and a rewind takes out no edit of the user's.
#[test]
fn a_workspace_may_have_less_recorded_alone() {
    let world = counting_turns(1);
    world.configure("capture.exclude = [\"*.pem\"]\n");
    world.write(
        FILE,
        "capture.exclude = [\"*.log\", \"!*.pem\"]\ncapture.include = [\"target/\"]\n\
         capture.maxFileSize = \"200 MiB\"\nrestore.default = \"exact\"\ncodeLens = \"off\"\n",
    );
    let said = world.ok(["status"]).stderr;
    for (line, key) in [
        (2, "capture.include"),
        (3, "capture.maxFileSize"),
        (4, "restore.default"),
    ] {
        let expected = format!("{FILE}:{line}: `{key}`: a file in a workspace ");
        assert!(said.contains(&expected), "{said}");
    }
    assert_eq!(said.lines().count(), 3, "{said}");
    let exclude = json!(["*.log", "!*.pem", "*.pem"]);
    assert_eq!(setting(&world, "capture.exclude"), exclude);
    assert_eq!(setting(&world, "capture.include"), json!([]));
    assert_eq!(setting(&world, "capture.maxFileSize"), json!(10 << 20));
    assert_eq!(setting(&world, "restore.default"), json!("merge"));
    assert_eq!(setting(&world, "codeLens"), json!("off"));
    let mut agent = world.agent();
    agent.let_complain();
    agent.prompt("go");
    agent.bash("echo secret > key.pem; echo log > x.log; echo b > b.txt");
    agent.stop();
    for (path, code) in [("key.pem", 3), ("x.log", 3), ("b.txt", 0)] {
        world.run(["cat", "@", path]).expect_code(code);
    }
}
