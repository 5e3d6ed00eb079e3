//! Ignored paths are not recorded, and what becomes of them is reported.

use serde_json::{Value, json};

use crate::support::World;

fn world() -> World {
    let world = World::committed(&[(".gitignore", ".env\ndata/\n*.o\n"), ("a.txt", "1\n")]);
    world.write(".env", "KEY=1\n");
    world.write("data/base.db", "rows\n");
    world.write("b.o", "object\n");
    world
}

fn ignored(value: &Value) -> Vec<String> {
    let items = value["coverage"]["items"].as_array().expect("items");
    let items = items.iter().filter(|item| item["reason"] == "ignored");
    let shown = |item: &Value| {
        let text = |field: &str| item[field].as_str().expect("a text").to_owned();
        format!("{} {}", text("detail"), text("path"))
    };
    items.map(shown).collect()
}

/// A command that removes or changes ignored paths is reported with their names, per step, in `show`, `log` and the plan.
#[test]
fn ignored_paths_that_a_command_removes_are_named() {
    let world = world();
    let mut agent = world.agent();
    agent.prompt("clean up");
    agent.bash("echo 2 > a.txt; echo KEY=2 > $(ls -a | grep env)");
    agent.bash("git clean -qfdX");
    agent.stop();
    let shown = world.json(["show", "t1"]);
    let steps = shown["steps"].as_array().expect("steps");
    assert_eq!(ignored(&steps[0]), ["changed .env"], "{shown}");
    assert_eq!(
        ignored(&steps[1]),
        ["removed .env", "removed b.o", "removed data/"],
        "{shown}"
    );
    let log = world.ok(["log"]).stdout;
    assert!(
        log.contains("3 ignored paths removed, not recorded: .env, b.o, data/"),
        "{log}"
    );
    let plan = world.json(["rewind", "t1", "--dry-run"]);
    let gaps = plan["gaps"].to_string();
    for path in ["\".env\"", "\"data/\"", "\"b.o\""] {
        assert!(gaps.contains(path), "{path}: {gaps}");
    }
    world.ok(["rewind", "t1"]);
    assert_eq!(world.read("a.txt"), "1\n");
}

/// A change inside a small ignored directory that no command names is reported, and one inside a cache is not. The plan
/// names a directory whose recorded files come back.
#[test]
fn a_change_inside_an_ignored_directory_is_named() {
    let world = world();
    world.write(".gitignore", ".env\ndata/\n*.o\ncache/\n__pycache__/\n");
    for dir in ["cache", "__pycache__", "data/deep/er"] {
        world.write(format!("{dir}/a"), "1\n");
    }
    world.write(
        "cache/CACHEDIR.TAG",
        "Signature: 8a477f597d28d172789f06886806bc55\n",
    );
    world.write(
        "run.sh",
        "for d in cache __pycache__ data/deep/er; do echo 2 >> $d/a; done\n",
    );
    let mut agent = world.agent();
    agent.prompt("run it");
    agent.bash("sh run.sh");
    agent.bash("true");
    agent.bash("rm -r data");
    agent.stop();
    let shown = world.json(["show", "t1"]);
    let steps = shown["steps"].as_array().expect("steps");
    assert_eq!(ignored(&steps[0]), ["changed inside data/"], "{shown}");
    assert_eq!(steps.len(), 2, "{shown}");
    let plan = world.ok(["rewind", "c3", "--dry-run"]).stdout;
    assert!(
        plan.contains("the files that were recorded come back"),
        "{plan}"
    );
}

/// Where nothing but ignored paths went, a rewind does not say that the files have their state, and fails.
#[test]
fn a_rewind_that_cannot_bring_ignored_paths_back_says_so() {
    let world = world();
    let mut agent = world.agent();
    agent.prompt("remove it");
    agent.bash("rm -r $(ls | grep da)");
    agent.stop();
    let done = world.run(["rewind", "t1"]);
    assert_eq!(done.code, 1, "{done}");
    assert!(
        done.stderr
            .contains("1 ignored path is gone, and was not recorded: data/"),
        "{done}"
    );
    assert!(
        !done.to_string().contains("already have that state"),
        "{done}"
    );
}

/// An ignored file that the agent has read, or that a command names, is recorded before it goes, and comes back.
#[test]
fn an_ignored_file_that_was_read_or_named_comes_back() {
    let world = world();
    let mut agent = world.agent();
    agent.prompt("read, then remove");
    agent.read(".env");
    agent.bash("rm .e*");
    agent.bash("rm -f b.o");
    agent.stop();
    assert!(!world.exists(".env") && !world.exists("b.o"));
    world.ok(["rewind", "t1"]);
    assert_eq!(
        (world.read(".env"), world.read("b.o")),
        ("KEY=1\n".into(), "object\n".into())
    );
    world.ok(["undo"]);
    assert!(!world.exists(".env") && !world.exists("b.o"));
    // a file that the settings exclude is not recorded
    let world = self::world();
    world.configure("capture.exclude = [\".env\"]\n");
    let mut agent = world.agent();
    agent.prompt("read, then remove");
    agent.read(".env");
    agent.bash("rm .env");
    agent.stop();
    let done = world.run(["rewind", "t1"]);
    assert!(done.code == 1 && !world.exists(".env"), "{done}");
}

/// A file that is too large is a gap of the steps that changed it, not of all that come later, and a plan names it
/// once.
#[test]
fn a_large_file_is_a_gap_only_where_it_changed() {
    let world = World::committed(&[("a.txt", "0\n")]);
    world.configure("capture.maxFileSize = \"1 MiB\"\n");
    world.write("big.bin", vec![b'x'; 2 << 20]);
    let mut agent = world.agent();
    for n in 0..3 {
        agent.prompt(&format!("turn {n}"));
        agent.bash(&format!("echo {n} > a.txt"));
        agent.stop();
    }
    agent.prompt("grow it");
    agent.bash("echo more >> big.bin; echo 4 > a.txt");
    agent.stop();
    let log = world.json(["log", "--all"]);
    let rows = log["checkpoints"].as_array().expect("rows");
    let with_gaps: Vec<&str> = rows
        .iter()
        .filter(|row| row["coverage"]["items"] != json!([]))
        .map(|row| row["kind"].as_str().expect("a kind"))
        .collect();
    assert_eq!(with_gaps, ["step", "manual"], "{log}");
    let status = world.ok(["status"]).stdout;
    assert!(status.contains("not captured: big.bin"), "{status}");
    let plan = world.ok(["rewind", "t4", "--dry-run"]).stdout;
    assert_eq!(plan.matches("big.bin").count(), 1, "{plan}");
}

/// Lock links and swap files of editors are not files of the project: a stale one never comes back.
#[test]
fn files_that_editors_keep_beside_a_file_do_not_come_back() {
    let world = World::committed(&[("a.txt", "1\n")]);
    world.symlink("me@host.4711:1764", ".#a.txt");
    world.write(".a.txt.swp", "swap\n");
    let mut agent = world.agent();
    agent.prompt("build");
    let call = agent.pre_bash("make");
    for path in [".#a.txt", ".a.txt.swp"] {
        std::fs::remove_file(world.path(path)).expect("removed");
    }
    world.write("out.txt", "built\n");
    let output = world.sh("true");
    agent.post_bash(&call, &output);
    agent.stop();
    let shown = world.ok(["show", "t1"]).stdout;
    assert!(
        shown.contains("out.txt") && !shown.contains("removed"),
        "{shown}"
    );
    world.ok(["rewind", "t1"]);
    for path in [".#a.txt", ".a.txt.swp", "out.txt"] {
        assert!(world.path(path).symlink_metadata().is_err(), "{path}");
    }
}

/// The ignored files of a directory that a command removes or replaces come back, too. A directory of very many is the output of a
/// program.
#[test]
fn the_ignored_files_of_a_named_directory_come_back() {
    for command in [
        "rm -r data/deep",
        "cd data && rm -rf deep",
        "rm -rf data",
        "mv data/deep ../gone",
        "rm -rf mixed",
    ] {
        let world = world();
        world.write("data/deep/rows.db", "rows\n");
        world.write("data/deep/er/rows.db", "more rows\n");
        world.write("mixed/a.o", "object\n");
        world.write("mixed/a.c", "source\n");
        let mut agent = world.agent();
        agent.prompt("clean up");
        let before = world.tree();
        agent.bash(command);
        agent.stop();
        assert!(world.tree() != before, "{command}");
        let rewound = world.ok(["rewind", "t1", "--yes"]);
        assert!(world.tree() == before, "{command}: {rewound}");
    }
    let world = world();
    for number in 0..100 {
        world.write(format!("data/out/{number}.bin"), "x\n");
    }
    let mut agent = world.agent();
    agent.prompt("clean up");
    agent.bash("rm -r data/out");
    agent.stop();
    assert_eq!(world.since_start(), ["t1: clean up", "t1 Bash"]);
    let shown = world.json(["show", "c3"]);
    assert_eq!(ignored(&shown), ["changed inside data/"], "{shown}");
}

/// A shell expands a wildcard, so what it matches is named by the command.
#[test]
fn ignored_files_that_a_wildcard_matches_come_back() {
    for command in [
        "rm -rf data/*",
        "rm data/*.db",
        "cd data && rm -rf *",
        "rm -f *.o .e*",
        "for f in data/b*; do rm $f; done",
    ] {
        let world = world();
        world.write("data/deep/c.db", "more\n");
        let mut agent = world.agent();
        agent.prompt("clean up");
        agent.bash(command);
        agent.stop();
        world.ok(["rewind", "t1"]);
        assert_eq!(world.read("data/base.db"), "rows\n", "{command}");
        assert_eq!(world.read("data/deep/c.db"), "more\n", "{command}");
        assert_eq!(world.read(".env"), "KEY=1\n", "{command}");
        assert_eq!(world.read("b.o"), "object\n", "{command}");
    }
}
