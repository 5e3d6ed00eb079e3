//! A store locked by another process: the hook waits briefly, lets the call run, and reports the gap.

use std::fs::File;
use std::time::{Duration, Instant};

use rusqlite::Connection;
use serde_json::{Value, json};

use super::{begun, checkpoints, gaps, harmless};
use crate::support::World;
use crate::support::history::Checkpoint;
use crate::support::limits::at_most;

/// Checkpoints that report gaps, with their gaps.
fn not_recorded(world: &World) -> Vec<(String, Vec<String>)> {
    let detail = |item: &Value| item["detail"].as_str().expect("a text").to_owned();
    let said = |c: &Checkpoint| {
        let items = c.json["coverage"]["items"]
            .as_array()
            .expect("items")
            .iter();
        (c.line.clone(), items.map(detail).collect())
    };
    let all = world.checkpoints();
    let some = all
        .iter()
        .filter(|c| c.json["coverage"]["failed"].as_i64() > Some(0));
    some.map(said).collect()
}

/// U-20: another process writes all the time, longer than an agent may wait.
#[test]
fn a_busy_store_delays_the_agent_only_briefly() {
    let world = begun();
    let agent = world.agent();
    let call = |name: &str| {
        let input = json!({"file_path": world.path("a.txt"), "content": "two\n"});
        let fields = json!({"tool_name": "Write", "tool_input": input, "tool_use_id": "busy"});
        agent.payload(name, fields)
    };
    let db = Connection::open(world.store().join("store.db")).expect("the store");
    db.execute_batch("BEGIN IMMEDIATE").expect("a transaction");
    for name in ["PreToolUse", "PostToolUse"] {
        let began = Instant::now();
        let output = world.hook(&call(name)).expect_code(0);
        // no output: the call runs
        assert_eq!(output.stdout, "");
        assert_eq!(output.stderr.lines().count(), 1, "{output}");
        assert!(output.stderr.contains("locked"), "{output}");
        // it waits, since writers usually finish within milliseconds, but not forever
        let waited = began.elapsed();
        let limits = Duration::from_secs(1)..at_most(Duration::from_secs(12));
        assert!(limits.contains(&waited), "{waited:?}: {output}");
        world.write("a.txt", "two\n");
    }
    harmless(&mut world.hook_command(), b"nonsense", 1);
    assert_eq!(gaps(&world).len(), 3);
    assert!(not_recorded(&world).is_empty());
    db.execute_batch("ROLLBACK").expect("the end");

    world.agent().prompt("next");
    assert_eq!(gaps(&world), Vec::<String>::new(), "taken in");
    let said = not_recorded(&world);
    let [(line, items)] = said.as_slice() else {
        panic!("not one checkpoint: {said:?}")
    };
    assert_eq!(line, "you (not recorded)");
    // equal reports are shown once
    assert_eq!(items.len(), 2, "{items:?}");
    assert!(
        items[0].contains("locked") && !items[1].contains("locked"),
        "{items:?}"
    );
    // the changes of the call are found, but not attributed
    let log = checkpoints(&world);
    let changed: Vec<_> = log
        .iter()
        .filter(|c| c["kind"] != "turn" && c["changes"][0]["path"] == "a.txt")
        .collect();
    assert_eq!(changed.len(), 1, "{log:#?}");
    assert_eq!(
        changed[0]["changes"][0]["origin"]["by"], "unknown",
        "{log:#?}"
    );
    assert_eq!(world.at("@", "a.txt").as_deref(), Some("two\n"));
    world.ok(["verify"]);
}

/// A gap is recorded although another process holds the lock of the gaps. It is read once, although the lock is still
/// held.
#[test]
fn a_gap_is_recorded_while_another_holds_the_gap_lock() {
    let world = begun();
    let path = world.store().join("gap.lock");
    let lock = File::options()
        .create(true)
        .append(true)
        .open(path)
        .expect("a lock");
    lock.lock().expect("a lock");
    harmless(&mut world.hook_command(), b"nonsense", 1);
    assert_eq!(gaps(&world).len(), 1);
    world.agent().prompt("next");
    assert_eq!(gaps(&world).len(), 0);
    assert_eq!(not_recorded(&world).len(), 1);
    harmless(&mut world.hook_command(), b"nonsense", 1);
    drop(lock);
    world.agent().prompt("and next");
    world.agent().prompt("and next");
    assert_eq!(gaps(&world).len(), 0);
    assert_eq!(not_recorded(&world).len(), 2);
    world.ok(["verify"]);
}
