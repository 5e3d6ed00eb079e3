//! The timeline and its checkpoints, in text and in JSON.

use std::collections::BTreeSet;

use serde_json::json;

use crate::commands::{has, says};
use crate::support::World;
use crate::support::history::path;
use crate::support::scenarios::{kinds_of_changes, two_turns_around_an_own_edit};
use crate::support::tree::assert_same;

/// The changes of an undone operation are marked as taken out, until it is redone.
#[test]
fn an_undone_operation_is_marked() {
    let world = kinds_of_changes();
    world.ok(["rewind", "t1"]);
    let marked = || {
        let text = world.ok(["log"]).stdout;
        let line = text.lines().find(|l| l.contains("”  op1"));
        line.expect("the rewind").contains("(undone)")
    };
    assert!(!marked());
    world.ok(["undo"]);
    assert!(marked());
    world.ok(["redo"]);
    assert!(!marked());
}

/// S2-063, S4-D5: a rewind marks what came after as undone on the branch. It stays reachable, and `undo` brings it
/// back.
#[test]
fn a_rewind_marks_later_turns_and_keeps_their_states() {
    let world = two_turns_around_an_own_edit();
    let newest = world.tree();
    let undone = || {
        let all = world.checkpoints().into_iter();
        let undone = all.filter(|c| c.json["taken_out"] == true);
        undone.map(|c| c.line).collect::<Vec<_>>()
    };
    world.ok(["rewind", "t2"]);
    let later = [
        "t2: second",
        "t2 Edit: modify a.txt",
        "t2 Bash: delete c.txt",
    ];
    assert_eq!(undone(), later);
    world.ok(["rewind", &world.id(later[2]), "--exact"]);
    assert_same(&world.tree(), &newest);
    world.ok(["undo"]);
    assert_eq!(undone(), later);
    world.ok(["undo"]);
    assert_eq!(undone(), [""; 0]);
    assert_same(&world.tree(), &newest);
}

/// S3-031, S3-047, S4-019, S4-020, S4-034, S4-052, S4-053, S4-L4: the log lists all checkpoints, including creation
/// and rewind, without contents, in JSON and in text.
#[test]
fn log_lists_all_checkpoints() {
    let world = kinds_of_changes();
    world.ok(["rewind", "t1"]);
    let log = world.json(["log"]);
    has(
        &log,
        &["schema", "checkpoints", "branches", "head", "branch"],
    );
    let checkpoints = log["checkpoints"].as_array().expect("checkpoints");
    assert_eq!(checkpoints[0]["id"], log["head"], "newest first");
    assert_eq!(log["branch"], "main");
    for checkpoint in checkpoints {
        has(
            checkpoint,
            &[
                "id",
                "parent",
                "kind",
                "session",
                "agent",
                "turn",
                "iteration",
                "tool",
                "label",
                "prompt",
                "time",
                "branch",
                "tags",
                "changes",
                "coverage",
            ],
        );
        has(
            &checkpoint["coverage"],
            &[
                "captured",
                "ignored",
                "too_large",
                "outside",
                "failed",
                "items",
            ],
        );
        for change in checkpoint["changes"].as_array().expect("changes") {
            has(
                change,
                &["path", "kind", "added", "removed", "origin", "binary"],
            );
        }
        if checkpoint["kind"] == "turn" {
            assert_eq!(checkpoint["changes"], json!([]));
        }
    }
    let mut without_commands = log.clone();
    for checkpoint in without_commands["checkpoints"]
        .as_array_mut()
        .expect("checkpoints")
    {
        // a command is the agent's own text, which may hold what it wrote
        for field in ["command", "summary"] {
            checkpoint.as_object_mut().expect("an object").remove(field);
        }
    }
    assert!(
        !without_commands.to_string().contains("no newline"),
        "no contents"
    );
    let kinds: Vec<_> = checkpoints
        .iter()
        .rev()
        .map(|c| c["kind"].as_str().expect("a kind"))
        .collect();
    assert_eq!(
        kinds,
        [
            "manual", "turn", "step", "step", "external", "manual", "rewind"
        ]
    );
    let step = &checkpoints[3]["changes"];
    let kinds: BTreeSet<_> = step
        .as_array()
        .expect("changes")
        .iter()
        .map(|c| {
            (
                path(&c["path"]),
                c["kind"].as_str().expect("a kind"),
                c["binary"].as_bool().expect("a flag"),
            )
        })
        .collect();
    let expected = [
        ("c.txt", "rename", false),
        ("empty", "create", false),
        ("n.txt", "create", false),
        ("pic", "modify", true),
        ("run.sh", "mode", false),
    ];
    assert_eq!(
        kinds,
        expected
            .map(|(p, k, b)| (p.to_owned(), k, b))
            .into_iter()
            .collect()
    );
    assert_eq!(world.json(["timeline"]), world.json(["log"]));
    let none = world.ok(["log", "-n", "0"]).stdout;
    assert!(
        none.contains("… more: backstitch log") && none.lines().count() == 1,
        "{none}"
    );

    let text = world.ok(["log"]).stdout;
    for part in [
        "“start”",
        "t1",
        "make it better",
        "claude-code",
        "Edit",
        "a.txt +1 -1",
        "b.txt → c.txt",
        "you",
        "mine.txt",
        "“green”",
        "rewind to before “make it better”  op1",
        "just now",
    ] {
        assert!(text.contains(part), "no {part:?} in\n{text}");
    }
    assert!(
        text.find("“green”") < text.find("“start”"),
        "newest first\n{text}"
    );
    let graph = world.ok(["log", "--graph"]).stdout;
    assert!(graph.contains('├') && graph.contains('●'), "{graph}");
    let list = world.ok(["checkpoint", "list"]).stdout;
    assert_eq!(list.lines().count(), 7, "{list}");
    let all = world.json(["checkpoint", "list"]);
    assert_eq!(all["checkpoints"], log["checkpoints"]);
}

/// Options that show a part of the timeline.
#[test]
fn log_lists_a_part_of_the_timeline() {
    let world = kinds_of_changes();
    let lines = |args: &[&str]| -> Vec<String> {
        let log = world.json(["log"].iter().chain(args));
        let all = log["checkpoints"].as_array().expect("checkpoints").clone();
        all.iter()
            .map(|c| c["kind"].as_str().expect("a kind").to_owned())
            .collect()
    };
    assert_eq!(lines(&["-n", "2"]), ["manual", "external"]);
    assert_eq!(lines(&["--path", "a.txt"]), ["step"]);
    assert_eq!(lines(&["--path", "c.txt"]), ["step"]);
    assert_eq!(lines(&["--path", "mine.txt"]), ["external"]);
    assert_eq!(lines(&["--path", "nothing"]), Vec::<String>::new());
    assert_eq!(lines(&["--session", "0000"]), ["step", "step", "turn"]);
    says(&world.run(["log", "--session", "ffff"]), 3, &["ffff"]);
    let text = world.ok(["log", "-n", "1"]).stdout;
    assert!(text.contains("… more: backstitch log --before"), "{text}");
    let none = World::git();
    let text = none.ok(["log"]).stdout;
    assert!(
        text.contains("Nothing has been recorded") && text.contains("backstitch setup"),
        "{text}"
    );
    assert_eq!(none.json(["log"])["checkpoints"], json!([]));
}

/// `show` prints one checkpoint in each format.
#[test]
fn show_prints_one_checkpoint_in_each_format() {
    let world = kinds_of_changes();
    let turn = world.ok(["show", "t1"]).stdout;
    for part in [
        "t1",
        "make it better",
        "claude-code",
        "Edit",
        "Bash",
        "a.txt",
    ] {
        assert!(turn.contains(part), "no {part:?} in\n{turn}");
    }
    assert!(!turn.contains("mine.txt"), "{turn}");
    let step = world.ok(["show", "@~2", "--stat"]).stdout;
    assert!(
        step.contains("tool") && step.contains("Bash") && step.contains("iteration"),
        "{step}"
    );
    let names = world.ok(["show", "@~2", "--name-status"]).stdout;
    assert!(
        names
            .lines()
            .any(|l| l.starts_with('R') && l.contains("b.txt") && l.contains("c.txt")),
        "{names}"
    );
    let patch = world.ok(["show", "@~3", "--patch"]).stdout;
    assert!(patch.contains("-two\n+TWO\n"), "{patch}");
    let answer = world.json(["show", "t1"]);
    assert_eq!(answer["steps"].as_array().map(Vec::len), Some(2));
    assert_eq!(
        world.json(["show", "@~3", "--patch"])["files"][0]["hunks"][0]["removed"],
        json!(["two"])
    );
    world.run(["show"]).expect_code(2);
    world
        .run(["show", "t1", "--stat", "--patch"])
        .expect_code(2);
}

/// S4-007, S4-021: processes that watch the store are notified of each checkpoint and each rewind.
#[test]
fn store_watchers_are_notified() {
    let world = kinds_of_changes();
    let store = path(&world.json(["status"])["store"]);
    let bell = || std::fs::read(format!("{store}/bell")).expect("a bell");
    let mut heard = vec![bell()];
    world.ok(["checkpoint", "-m", "x"]);
    heard.push(bell());
    world.ok(["rewind", "t1"]);
    heard.push(bell());
    let mut agent = world.agent();
    agent.prompt("go");
    heard.push(bell());
    world.ok(["log"]);
    assert_eq!(heard.last(), Some(&bell()), "looking is no news");
    heard.dedup();
    assert_eq!(heard.len(), 4);
}
