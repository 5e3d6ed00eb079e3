//! Statistics of the history (`stats`), and its removal (`clear`).

use serde_json::json;

use crate::commands::{has, says};
use crate::support::World;
use crate::support::scenarios::kinds_of_changes;
use crate::support::tree::assert_same;

/// S4-036: checkpoints by kind, sessions, files, lines by author, sizes, times.
#[test]
fn stats_counts_the_history() {
    let world = kinds_of_changes();
    let stats = world.json(["stats"]);
    has(
        &stats,
        &[
            "schema",
            "checkpoints",
            "kinds",
            "turns",
            "steps",
            "sessions",
            "files",
            "lines",
            "store_bytes",
            "oldest",
            "newest",
        ],
    );
    assert_eq!(stats["checkpoints"], 6);
    assert_eq!(
        stats["kinds"],
        json!({"turn": 1, "step": 2, "manual": 1, "external": 1, "rewind": 0, "squash": 0, "import": 0, "start": 1})
    );
    assert_eq!((&stats["turns"], &stats["steps"]), (&json!(1), &json!(2)));
    assert_eq!(stats["sessions"], json!({"claude-code": 1}));
    assert_eq!(stats["files"], 7);
    assert_eq!(stats["lines"]["agents"], json!({"added": 2, "removed": 1}));
    assert_eq!(stats["lines"]["user"], json!({"added": 1, "removed": 0}));
    assert_eq!(stats["lines"]["unknown"], json!({"added": 0, "removed": 0}));
    let log = world.json(["log"])["checkpoints"].clone();
    assert_eq!(stats["newest"], log[0]["time"]);
    assert_eq!(stats["oldest"], log[5]["time"]);
    let bytes = &stats["store_bytes"];
    let sum: u64 = ["contents", "database", "log"]
        .map(|part| bytes[part].as_u64().expect("a size"))
        .iter()
        .sum();
    assert_eq!(bytes["total"], sum);
    assert_eq!(
        world.json(["stats"])["lines"],
        stats["lines"],
        "counted once"
    );
    // lines moved by a rewind are not counted as written
    world.ok(["rewind", "t1"]);
    assert_eq!(world.json(["stats"])["lines"], stats["lines"]);
    let text = world.ok(["stats"]).stdout;
    for part in [
        "7  1 by hand",
        "claude-code 1",
        "by agents",
        "+2 -1",
        "by you",
        "KiB",
    ] {
        assert!(text.contains(part), "no {part:?} in\n{text}");
    }
    let none = World::new();
    assert_eq!(none.json(["stats"])["checkpoints"], 0);
    assert!(
        none.ok(["stats"])
            .stdout
            .contains("Nothing has been recorded")
    );
}

/// S4-035: `clear` removes every session with its checkpoints, keeps the files, and recording begins again.
#[test]
fn clear_removes_the_history_and_keeps_the_files() {
    let world = kinds_of_changes();
    world.ok(["fork", "t1", "idea2", "--switch"]);
    let files = world.tree();
    says(
        &world.run(["clear"]),
        1,
        &["deletes 6 checkpoints", "--yes"],
    );
    assert_eq!(world.json(["status"])["branch"], "idea2");
    let removed = world.json(["clear", "--yes"]);
    assert_eq!(
        (&removed["turns"], &removed["sessions"]),
        (&json!(1), &json!(1))
    );
    assert_same(&world.tree(), &files);
    let status = world.json(["status"]);
    assert_eq!(
        (
            &status["checkpoints"],
            &status["branch"],
            &status["head"],
            &status["tracked_files"]
        ),
        (&json!(0), &json!("main"), &json!(null), &json!(0))
    );
    assert_eq!(world.json(["log"])["checkpoints"], json!([]));
    assert!(
        world
            .ok(["log"])
            .stdout
            .contains("Nothing has been recorded")
    );
    let store = world.store();
    let left = world.sh(&format!(
        "grep -rl 'make it better' {} || true",
        store.display()
    ));
    assert_eq!(left.stdout, "", "nothing of it is on the disk");
    says(
        &world.run(["show", "t1"]),
        3,
        &["nothing has been recorded"],
    );

    let mut agent = world.agent();
    agent.session_start();
    agent.prompt("anew");
    agent.edit("a.txt", "two", "zwei");
    agent.stop();
    assert_eq!(world.json(["verify"])["ok"], true);
    world.ok(["rewind", "t1"]);
    assert_same(&world.tree(), &files);
    assert_eq!(
        world.json(["log", "--text", "anew"])["checkpoints"][0]["turn"],
        "t1"
    );
    assert_eq!(
        world.json(["log", "--text", "better"])["checkpoints"],
        json!([])
    );
    let none = World::new();
    assert!(
        none.ok(["clear"])
            .stdout
            .contains("there is nothing to delete")
    );
    assert!(!none.state.join("backstitch").exists());
}

/// While an agent is at work, or another directory shares the history, `clear` needs `--yes`.
#[test]
fn clear_asks_for_yes_while_the_history_is_in_use() {
    let world = kinds_of_changes();
    let mut agent = world.agent();
    agent.session_start();
    agent.prompt("at work");
    let call = agent.pre_edit("a.txt", "three", "drei");
    says(&world.run(["clear"]), 1, &["an agent is at work", "--yes"]);
    let response = agent.apply(&call);
    agent.post(&call, &response);
    agent.stop();

    let beside = world.beside("beside");
    let dir = beside.root.to_str().expect("UTF-8");
    world.ok(["fork", "@", "idea2", "--into", dir]);
    says(&world.run(["clear"]), 1, &[dir, "--yes"]);
    says(
        &beside.run(["clear", "--yes"]),
        1,
        &["was forked", world.root.to_str().expect("UTF-8")],
    );
    assert_ne!(world.json(["status"])["checkpoints"], 0);
    let (here, there) = (world.tree(), beside.tree());
    world.ok(["clear", "--yes"]);
    assert_same(&world.tree(), &here);
    assert_same(&beside.tree(), &there);
    // from now on each has its own history
    beside.ok(["checkpoint", "-m", "alone"]);
    world.ok(["checkpoint", "-m", "here"]);
    for (of, label) in [(&beside, "alone"), (&world, "here")] {
        let log = of.json(["log"]);
        let labels = log["checkpoints"].as_array().expect("rows").iter();
        let labels: Vec<_> = labels.map(|c| c["label"].clone()).collect();
        assert_eq!(labels, [json!(label), json!("start")]);
    }
}
