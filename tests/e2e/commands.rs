//! Every command as documented: text and `--json`, exit codes, and error messages.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::support::history::path;
use crate::support::scenarios::{an_edit_and_a_new_file, kinds_of_changes};
use crate::support::tree::{assert_same, tree};
use crate::support::{Output, World, finish};

fn keys(value: &Value) -> BTreeSet<&str> {
    value
        .as_object()
        .expect("an object")
        .keys()
        .map(String::as_str)
        .collect()
}

#[track_caller]
pub fn has(value: &Value, names: &[&str]) {
    for name in names {
        assert!(keys(value).contains(name), "no {name} in {value:#}");
    }
}

/// Asserts that an error names these things and gives a hint in a second line.
#[track_caller]
pub fn says(output: &Output, code: i32, words: &[&str]) {
    assert_eq!(output.code, code, "{output}");
    assert_eq!(output.stdout, "", "{output}");
    assert!(output.stderr.starts_with("error: "), "{output}");
    for word in words {
        assert!(output.stderr.contains(word), "no {word:?} in {output}");
    }
}

/// `git apply` takes the patch forwards and backwards, with binaries, modes and renames.
#[test]
fn diff_output_applies_with_git() {
    let world = kinds_of_changes();
    let patch = world.home.join("patch");
    fs::write(&patch, world.ok(["diff", "t1", "@"]).bytes).expect("written");
    let after = world.tree();
    let apply = |how: &[&str]| {
        let mut git = world.command("git");
        git.args(["apply", "--whitespace=nowarn"])
            .args(how)
            .arg(&patch);
        finish(&mut git, b"").expect_code(0)
    };
    apply(&["-R"]);
    assert_eq!(world.read("a.txt"), "one\ntwo\nthree\n");
    assert_eq!(world.bytes("pic"), b"\0one");
    assert_eq!(world.mode("run.sh") & 0o111, 0);
    assert!(
        world.exists("b.txt")
            && !world.exists("c.txt")
            && !world.exists("empty")
            && !world.exists("mine.txt")
    );
    apply(&[]);
    assert_same(&world.tree(), &after);

    fs::write(&patch, world.ok(["diff", "@", "t1"]).bytes).expect("written");
    apply(&[]);
    assert_eq!(world.read("a.txt"), "one\ntwo\nthree\n");
}

/// Diffs against the disk, between two revisions, for some paths, in each format. The same question has the same
/// answer twice.
#[test]
fn diff_prints_every_format() {
    let world = kinds_of_changes();
    assert_eq!(world.ok(["diff"]).stdout, "");
    world.write("a.txt", "one\nTWO words\nthree\n");
    for _ in 0..2 {
        assert_eq!(world.ok(["diff", "--name-status"]).stdout, "M\ta.txt\n");
    }
    let stat = world.ok(["diff", "t1", "--stat"]).stdout;
    assert!(
        stat.contains("a.txt") && stat.contains("+1") && stat.contains("-1"),
        "{stat}"
    );
    let only = world
        .ok(["diff", "t1", "--name-status", "--", "mine.txt"])
        .stdout;
    assert_eq!(only, "A\tmine.txt\n");
    let words = world.ok(["diff", "--word"]).stdout;
    assert!(words.contains("{+") && words.contains("words"), "{words}");
    let answer = world.json(["diff", "t1", "--", "a.txt"]);
    assert_eq!(
        (&answer["to"], answer["files"].as_array().map(Vec::len)),
        (&json!("disk"), Some(1))
    );
    let hunk = &answer["files"][0]["hunks"][0];
    has(hunk, &["id", "old", "new", "removed", "added"]);
    assert_eq!(
        (&hunk["old"], &hunk["added"]),
        (&json!([2, 1]), &json!(["TWO words"]))
    );
    says(
        &world.run(["diff", "t1", "nowhere"]),
        3,
        &["nowhere", "backstitch log"],
    );
    let colour = world.ok(["diff", "--color", "always"]).stdout;
    assert!(colour.contains("\u{1b}["), "{colour:?}");
    world.run(["diff", "a", "b", "c"]).expect_code(2);
}

/// `cat` prints a file byte for byte.
#[test]
fn cat_prints_a_file_at_a_checkpoint() {
    let world = kinds_of_changes();
    assert_eq!(world.ok(["cat", "t1", "pic"]).bytes, b"\0one");
    assert_eq!(world.ok(["cat", "@", "n.txt"]).bytes, b"no newline");
    let answer = world.json(["cat", "@", "a.txt"]);
    assert_eq!(answer["content"], "one\nTWO\nthree\n");
    assert_eq!(world.json(["cat", "t1", "pic"])["content"], "\0one");
    says(
        &world.run(["cat", "t1", "c.txt"]),
        3,
        &["c.txt is not recorded at t1", "backstitch log --path c.txt"],
    );
    says(&world.run(["cat", "t77", "a.txt"]), 3, &["t77"]);
    says(&world.run(["cat", "t1", "."]), 2, &["directory"]);
}

/// In a subdirectory a path is relative to it, else to the root, as the log prints it.
#[test]
fn paths_in_a_subdirectory_are_relative_to_it() {
    let world = World::committed(&[("sub/a.txt", "one\n"), ("b.txt", "b\n")]);
    let mut agent = world.agent();
    agent.session_start();
    agent.prompt("x");
    agent.edit("sub/a.txt", "one", "two");
    agent.edit("b.txt", "b", "B");
    agent.stop();
    let inside = |args: &[&str]| {
        let mut command = world.backstitch();
        finish(command.args(args).current_dir(world.path("sub")), b"").expect_code(0)
    };
    for path in ["a.txt", "sub/a.txt"] {
        assert_eq!(inside(&["cat", "@", path]).stdout, "two\n", "{path}");
        let names = inside(&["diff", "t1", "--name-status", "--", path]).stdout;
        assert_eq!(names, "M\tsub/a.txt\n", "{path}");
        let log = inside(&["log", "--path", path]).stdout;
        assert!(log.contains("sub/a.txt"), "{log}");
    }
    inside(&["rewind", "t1", "--path", "sub/a.txt"]);
    assert_eq!(world.read("sub/a.txt"), "one\n");
    assert_eq!(world.read("b.txt"), "B\n");
}

/// A file that moves back is shown with its source.
#[test]
fn a_plan_names_the_source_of_a_rename() {
    let world = kinds_of_changes();
    let plan = world.json(["rewind", "t1", "--dry-run"]);
    let actions = plan["actions"].as_array().expect("actions");
    let moved = actions.iter().find(|a| a["path"] == "b.txt");
    assert_eq!(moved.expect("b.txt")["from"], "c.txt", "{plan:#}");
}

/// S4-036, S4-038: status reports the store's numbers, and that it works.
#[test]
fn status_reports_the_store_in_numbers() {
    let world = kinds_of_changes();
    let status = world.json(["status"]);
    has(
        &status,
        &[
            "workspace",
            "store",
            "store_bytes",
            "branch",
            "head",
            "checkpoints",
            "turns",
            "sessions",
            "tracked_files",
            "last_scan",
            "coverage",
            "open_calls",
            "open_operation",
            "gaps",
        ],
    );
    assert_eq!(
        (
            &status["checkpoints"],
            &status["turns"],
            &status["sessions"]
        ),
        (&json!(6), &json!(1), &json!(1))
    );
    assert_eq!(status["tracked_files"], 7);
    assert!(status["store_bytes"].as_u64() > Some(1000), "{status}");
    let text = world.ok(["status"]).stdout;
    for part in [
        "workspace",
        "store",
        "6 checkpoints, 1 turn, 1 session",
        "7 tracked",
    ] {
        assert!(text.contains(part), "no {part:?} in\n{text}");
    }
}

/// Manual checkpoints, with a description or without.
#[test]
fn checkpoints_are_made_with_and_without_a_description() {
    let world = kinds_of_changes();
    let made = world.json(["checkpoint", "create", "by hand"]);
    assert_eq!(
        (&made["kind"], &made["label"]),
        (&json!("manual"), &json!("by hand"))
    );
    let text = world.ok(["checkpoint"]).stdout;
    assert_eq!(
        text.trim(),
        world.json(["log"])["head"].as_str().expect("an id")
    );
    assert_eq!(world.ok(["-q", "checkpoint", "-m", "x"]).stderr, "");
}

/// A checkpoint is pinned when it is made or later, and every list marks it.
#[test]
fn checkpoints_can_be_pinned() {
    let world = kinds_of_changes();
    let pinned = |world: &World| -> Vec<String> {
        let log = world.json(["log", "--all"]);
        let rows = log["checkpoints"].as_array().expect("rows").iter();
        rows.filter(|row| row["pinned"] == json!(true))
            .map(|row| row["id"].as_str().expect("an id").to_owned())
            .collect()
    };
    let made = world.json(["checkpoint", "create", "kept", "--pin"]);
    let id = made["id"].as_str().expect("an id").to_owned();
    assert_eq!(made["pinned"], json!(true));
    assert_eq!(pinned(&world), [id.as_str()]);
    assert!(world.ok(["log"]).stdout.contains("kept”  [pinned]"));
    assert!(world.ok(["show", &id]).stdout.contains("pinned"));
    // a turn by its name; pinning it twice is not an error
    assert_eq!(
        world.json(["checkpoint", "pin", "t1"])["pinned"],
        json!(true)
    );
    let again = world.ok(["checkpoint", "pin", "t1"]);
    assert!(again.stdout.contains("is already pinned"), "{again}");
    assert_eq!(pinned(&world).len(), 2);
    world.ok(["checkpoint", "unpin", "t1"]);
    world.ok(["checkpoint", "unpin"]);
    assert_eq!(pinned(&world), [""; 0]);
    let unknown = world.run(["checkpoint", "pin", "c999"]);
    assert_eq!(unknown.code, 3, "{unknown}");
}

/// S2-058, S4-024: a new process reads everything, and `verify` finds no damage.
#[test]
fn a_new_process_reads_and_verifies_everything() {
    let world = kinds_of_changes();
    let answer = world.json(["verify"]);
    assert_eq!(
        (&answer["ok"], &answer["checkpoints"], &answer["problems"]),
        (&json!(true), &json!(6), &json!([]))
    );
    let text = world.ok(["verify"]).stdout;
    assert!(text.starts_with("intact: 6 checkpoints"), "{text}");
}

/// `materialize` writes the whole tree of a checkpoint to another directory, never over existing files.
#[test]
fn materialize_writes_the_tree_of_a_checkpoint() {
    let world = kinds_of_changes();
    let there = world.home.join("then");
    let text = there.to_str().expect("UTF-8");
    let answer = world.json(["materialize", "@", "--into", text]);
    assert_eq!(answer["files"], 7);
    assert_same(&tree(&there), &world.tree());
    let output = world.run(["materialize", "t1", "--into", text]);
    says(&output, 1, &["is not empty", "an empty or a new directory"]);
    assert_same(&tree(&there), &world.tree());
    says(
        &world.run(["materialize", "t1", "--into", "inside"]),
        1,
        &["inside the workspace"],
    );
    world.run(["materialize", "t1"]).expect_code(2);
}

/// `oplog` lists operations, newest first.
#[test]
fn oplog_lists_operations_newest_first() {
    let world = kinds_of_changes();
    let text = world.ok(["oplog"]).stdout;
    assert!(text.contains("No operations yet"), "{text}");
    world.ok(["rewind", "t1"]);
    world.ok(["undo"]);
    world.ok(["redo"]);
    let answer = world.json(["oplog"]);
    let kinds: Vec<_> = answer["operations"]
        .as_array()
        .expect("operations")
        .iter()
        .map(|o| {
            has(
                o,
                &[
                    "id",
                    "kind",
                    "target",
                    "checkpoint",
                    "of",
                    "undone_by",
                    "state",
                    "files",
                    "time",
                ],
            );
            (
                o["id"].as_str().expect("an id"),
                o["kind"].as_str().expect("a kind"),
                o["state"].as_str().expect("a state"),
            )
        })
        .collect();
    assert_eq!(
        kinds,
        [
            ("op3", "redo", "done"),
            ("op2", "undo", "done"),
            ("op1", "rewind", "done")
        ]
    );
    let text = world.ok(["oplog"]).stdout;
    assert!(text.contains("undo of the rewind to before “"), "{text}");
}

/// `init` makes a directory its own workspace. The home directory becomes one only this way.
#[test]
fn init_makes_a_directory_a_workspace() {
    let world = World::new();
    world.write("a.txt", "one\n");
    let answer = world.json(["init"]);
    assert_eq!(
        (&answer["tracked_files"], path(&answer["workspace"])),
        (&json!(1), world.root.to_str().expect("UTF-8").to_owned())
    );
    assert_eq!(world.history(), ["\"start\""]);
    let home = world.home.to_str().expect("UTF-8");
    let output = world.run(["--workspace", home, "log"]);
    says(&output, 1, &["home", "backstitch init"]);
    world.ok(["init", home]);
    world.ok(["--workspace", home, "log"]);
    says(&world.run(["init", "nowhere"]), 3, &["nowhere"]);
    world.write("sub/x.txt", "x\n");
    let elsewhere = world.home.join("stores");
    let elsewhere_arg = elsewhere.to_str().expect("UTF-8");
    world.ok(["--store-dir", elsewhere_arg, "checkpoint"]);
    assert!(elsewhere.is_dir());
    let mut inside = world.backstitch();
    inside
        .args(["--json", "status"])
        .current_dir(world.path("sub"));
    let status = finish(&mut inside, b"").expect_code(0).json();
    assert_eq!(
        path(&status["workspace"]),
        world.root.to_str().expect("UTF-8"),
        "the enclosing one"
    );
}

/// Read-only commands create no store: otherwise a query in a directory would make it the workspace of all
/// repositories below it.
#[test]
fn read_only_commands_create_no_store() {
    let world = World::new();
    world.write("projects/one/.git/HEAD", "ref: refs/heads/main\n");
    world.write("projects/one/a.txt", "one\n");
    let projects = world.path("projects");
    let asks = |args: &[&str], dir: &Path| {
        let mut command = world.backstitch();
        command.args(args).current_dir(dir);
        finish(&mut command, b"")
    };
    for command in ["diff", "verify", "undo"] {
        says(
            &asks(&[command], &projects),
            3,
            &["projects", "nothing has been recorded"],
        );
    }
    let status = asks(&["--json", "status"], &projects).expect_code(0).json();
    assert_eq!(
        (&status["head"], &status["checkpoints"]),
        (&json!(null), &json!(0))
    );
    asks(&["checkpoint"], &projects.join("one")).expect_code(0);
    let status = asks(&["--json", "status"], &projects.join("one"))
        .expect_code(0)
        .json();
    assert!(
        path(&status["workspace"]).ends_with("projects/one"),
        "{status}"
    );
    says(
        &asks(&["diff"], &projects),
        3,
        &["nothing has been recorded"],
    );
    let log = asks(&["--json", "log"], &projects).expect_code(0).json();
    assert_eq!(log["checkpoints"], json!([]));
}

/// Usage errors and missing things have different exit codes. With `--json` every failure is one document, too.
#[test]
fn usage_errors_differ_from_not_found() {
    let world = kinds_of_changes();
    for (args, code, kind) in [
        (&["rewind", "t9"][..], 3, "not_found"),
        (&["undo"], 1, "refused"),
        (&["rewind", "t1", "--bogus"], 2, "usage"),
        (&["nonsense"], 2, "usage"),
        (&["cat", "t1", "../x"], 2, "usage"),
        (&["--workspace", "/nonexistent", "log"], 3, "not_found"),
        (&["--workspace", "a.txt", "log"], 2, "usage"),
        (&["log", "--session", "nope"], 3, "not_found"),
        (&["rewind", "t1", "--session", "nope"], 3, "not_found"),
        (&["undo", "op9"], 3, "not_found"),
        (&["rewind", "t1", "--path", "typo.txt"], 3, "not_found"),
    ] {
        let output = world.run(["--json"].iter().chain(args)).expect_code(code);
        let answer = output.json();
        assert_eq!(
            (&answer["schema"], &answer["error"]["kind"]),
            (&json!(1), &json!(kind)),
            "{output}"
        );
        assert_ne!(answer["error"]["message"], "", "{output}");
        let text = world.run(args).expect_code(code);
        assert_eq!(text.stdout, "", "{text}");
        assert!(text.stderr.starts_with("error: "), "{text}");
        if code == 3 || args.contains(&"../x") || args.contains(&"a.txt") {
            assert!(text.stderr.contains("hint: "), "{text}");
        }
    }
    world.run::<&str>([]).expect_code(2);
    world.ok(["--help"]);
    world.ok(["rewind", "--help"]);
}

/// A reader that closes the pipe early causes no error.
#[test]
fn a_closed_pipe_is_no_failure() {
    let world = kinds_of_changes();
    let binary = world.backstitch().get_program().to_owned();
    let script = format!("set -o pipefail; {} log --all | true", binary.display());
    let output = finish(world.command("bash").args(["-c", &script]), b"");
    assert_eq!((output.code, output.stderr.as_str()), (0, ""), "{output}");
}

/// An installed shell can load its completions.
#[test]
fn completions_work_in_three_shells() {
    let world = World::new();
    for shell in ["bash", "zsh", "fish"] {
        let script = world.ok(["completions", shell]).stdout;
        assert!(script.contains("BACKSTITCH_COMPLETE"), "{shell}: {script}");
        let mut check = world.command(shell);
        check.arg("-n");
        if check.output().is_ok() {
            let mut check = world.command(shell);
            finish(check.arg("-n"), script.as_bytes()).expect_code(0);
        }
    }
    world.run(["completions", "tcl"]).expect_code(2);
}

/// The demo runs in an empty directory and reports that each of its checks holds.
#[test]
fn the_demo_runs() {
    let world = World::new();
    let before = world.tree();
    let demo = world.ok(["demo"]);
    // nothing that it shows is a fault of the demo
    assert!(
        !demo.stdout.contains("note:") && demo.stderr.is_empty(),
        "{demo}"
    );
    let text = demo.stdout;
    for part in [
        "fork t2 idea2",
        "idea2 (current)  forked from main",
        "backstitch setup",
    ] {
        assert!(text.contains(part), "{text}");
    }
    // an agent may run it, too: it decides nothing of the user's
    let world = world.with("CLAUDECODE", "1");
    let answer = world.json(["demo"]);
    has(&answer, &["workspace", "store", "kept", "checks"]);
    assert_same(&world.tree(), &before);
    assert!(!fs::exists(path(&answer["workspace"])).expect("known"));
}

/// Names in `--name-status` are quoted as git does, and can be read back.
#[test]
fn name_status_quotes_names_that_are_not_text() {
    use std::os::unix::ffi::OsStrExt as _;
    let world = World::committed(&[("a.txt", "a\n")]);
    world.ok(["checkpoint"]);
    for name in [
        &b"bad\xff.txt"[..],
        b"tab\there",
        "schön.txt".as_bytes(),
        b"quo\"te",
    ] {
        world.write(std::ffi::OsStr::from_bytes(name), "x\n");
    }
    let text = world.ok(["diff", "--name-status"]).stdout;
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(
        lines,
        [
            "A\t\"bad\\377.txt\"",
            "A\t\"quo\\\"te\"",
            "A\tschön.txt",
            "A\t\"tab\\there\""
        ]
    );
}

/// S2-054, S2-055: the start of a history does not count as a manual checkpoint. `checkpoint list --all` lists all
/// branches.
#[test]
fn only_manual_checkpoints_count_as_manual() {
    let world = World::committed(&[("a.txt", "a\n")]);
    world.ok(["init"]);
    let kinds = world.json(["stats"])["kinds"].clone();
    assert_eq!((&kinds["manual"], &kinds["start"]), (&0.into(), &1.into()));
    assert!(!world.ok(["stats"]).stdout.contains("by hand"));
    world.ok(["checkpoint", "-m", "mine"]);
    let stats = world.json(["stats"]);
    let kinds = &stats["kinds"];
    assert_eq!((&kinds["manual"], &kinds["start"]), (&1.into(), &1.into()));
    let sum: i64 = kinds
        .as_object()
        .expect("kinds")
        .values()
        .filter_map(serde_json::Value::as_i64)
        .sum();
    assert_eq!(Some(sum), stats["checkpoints"].as_i64());
    assert!(world.ok(["stats"]).stdout.contains("1 by hand"));
    world.ok(["fork", "@~1", "idea2", "--switch"]);
    world.ok(["checkpoint", "create", "there"]);
    let labels = |args: &[&str]| -> Vec<String> {
        let all = world.json(args)["checkpoints"].clone();
        let all = all.as_array().expect("a list").iter();
        all.map(|c| c["label"].as_str().expect("a label").to_owned())
            .collect()
    };
    assert_eq!(labels(&["checkpoint", "list"]), ["there", "start"]);
    assert_eq!(
        labels(&["checkpoint", "list", "--all"]),
        ["there", "mine", "start"]
    );
}

/// A file renamed and edited by one command shows as a rename, where half of its lines are the same and only one
/// source is possible. The history keeps two changes.
#[test]
fn a_rename_with_edits_shows_as_one_change() {
    let lines: Vec<String> = (1..=10).map(|n| format!("line {n}\n")).collect();
    let text = lines.concat();
    let world = World::committed(&[("a.txt", &text), ("c.txt", "c\n"), ("e.txt", "1\n2\n3\n")]);
    let mut agent = world.agent();
    agent.prompt("move it");
    agent.bash("mv a.txt b.txt && sed -i 's/line 5/LINE 5/' b.txt; echo else > d.txt; rm c.txt");
    agent.stop();
    let names = |args: &[&str]| -> Vec<String> {
        let text = world.ok(args).stdout;
        text.lines().map(str::to_owned).collect()
    };
    let expected = ["R\ta.txt\tb.txt", "D\tc.txt", "A\td.txt"];
    let mut diff = names(&["diff", "t1", "--name-status"]);
    diff.sort_by_key(|l| l[2..].to_owned());
    assert_eq!(diff, expected);
    let step = world.checkpoints().pop().expect("a step").id;
    let mut shown = names(&["show", &step, "--name-status"]);
    shown.sort_by_key(|l| l[2..].to_owned());
    assert_eq!(shown, expected);
    let stat = world.ok(["show", &step]).stdout;
    assert!(
        stat.contains("a.txt → b.txt") && stat.contains("+1 -1"),
        "{stat}"
    );
    let log = world.ok(["log", "--verbose"]).stdout;
    assert!(
        log.contains("a.txt → b.txt +1 -1") && !log.contains("a.txt -10"),
        "{log}"
    );
    let graph = world.ok(["log", "--graph"]).stdout;
    assert!(graph.contains("a.txt → b.txt"), "{graph}");
    let own = &world.json(["log"])["checkpoints"];
    let step = own
        .as_array()
        .expect("rows")
        .iter()
        .find(|row| row["kind"] == "step");
    let kinds: Vec<_> = step.expect("a step")["changes"]
        .as_array()
        .expect("changes")
        .iter()
        .map(|each| each["kind"].clone())
        .collect();
    assert_eq!(
        kinds,
        ["delete", "create", "delete", "create"],
        "the history has two files"
    );
    let patch = world.ok(["diff", "t1"]).stdout;
    assert!(
        patch.contains("rename from a.txt\nrename to b.txt\n"),
        "{patch}"
    );
    world.ok(["rewind", "t1"]);
    assert_eq!(world.read("a.txt"), text);
    assert!(!world.exists("b.txt"));
    world.write("patch", &patch);
    world.git_ok(["apply", "patch"]);
    assert_eq!(world.read("b.txt"), text.replace("line 5", "LINE 5"));
    // two possible sources: neither is taken
    world.remove("patch");
    world.ok(["checkpoint", "-m", "here"]);
    world
        .sh("sed 's/line 2/2/' b.txt > x.txt; sed 's/line 3/3/' b.txt > y.txt; rm b.txt")
        .expect_code(0);
    let mut diff = names(&["diff", "here", "--name-status"]);
    diff.sort();
    assert_eq!(diff, ["A\tx.txt", "A\ty.txt", "D\tb.txt"]);
}

/// A log reads a bounded amount of text for renames: a checkpoint of many large files has deletions and creations there.
#[test]
fn a_log_compares_no_more_text_than_it_may() {
    let line = |file: usize, n: usize| format!("{file} {n} {}\n", "x".repeat(1000));
    let text = |file: usize| (0..900).map(|n| line(file, n)).collect::<String>();
    let world = World::committed(&[("small.txt", "one\ntwo\nthree\nfour\n")]);
    for file in 0..4 {
        world.write(format!("old{file}.txt"), text(file));
    }
    world.ok(["checkpoint", "-m", "here"]);
    world
        .sh("for n in 0 1 2 3; do sed s/x1/y/ old$n.txt | sed 's/ 5 / five /' > new$n.txt; rm old$n.txt; done")
        .expect_code(0);
    world.ok(["checkpoint", "-m", "large"]);
    world
        .sh("sed s/three/3/ small.txt > little.txt; rm small.txt")
        .expect_code(0);
    world.ok(["checkpoint", "-m", "small"]);
    let log = world.ok(["log", "--verbose"]).stdout;
    assert!(log.contains("small.txt → little.txt"), "{log}");
    assert!(log.contains("  new0.txt +900, "), "{log}");
    let diff = world.ok(["diff", "here", "--name-status"]).stdout;
    assert!(diff.contains("R\told0.txt\tnew0.txt"), "{diff}");
}

/// S2-053, S4-057, S4-058, S4-060, S4-067, S4-068: a checkpoint shows its parent, branch, author and tags. The
/// comparison of two lists added, changed and removed files, line by line.
#[test]
fn a_checkpoint_names_its_parent_branch_author_and_tags() {
    let world = World::committed(&[("a.txt", "one\ntwo\nthree\n"), ("c.txt", "c\n")]);
    let mut agent = world.agent();
    agent.prompt("first");
    agent.edit("a.txt", "two", "2");
    agent.bash("echo b > b.txt; rm c.txt");
    agent.stop();
    world.ok(["fork", "@~1", "idea2", "--switch"]);
    let mut second = world.agent();
    second.prompt("second");
    second.edit("a.txt", "three", "3");
    second.stop();
    world.ok(["tag", "works"]);
    let all = world.checkpoints();
    let shown = |line: &str| {
        let found = all.iter().find(|c| c.line == line);
        found.unwrap_or_else(|| panic!("no {line}")).json.clone()
    };
    let ours = shown("t2 Edit: modify a.txt");
    let turn = shown("t2: second");
    let fork = shown("t1 Edit: modify a.txt");
    assert_eq!(ours["parent"], turn["id"]);
    assert_eq!(
        turn["parent"], fork["id"],
        "the first on a branch stands where it was forked"
    );
    assert_eq!(
        (&ours["branch"], &fork["branch"]),
        (&json!("idea2"), &json!("main"))
    );
    assert_eq!(
        (&ours["agent"], &ours["session"], &ours["tags"]),
        (
            &json!("claude-code"),
            &json!(second.session()),
            &json!(["works"])
        )
    );
    assert_eq!(fork["session"], agent.session());
    assert!(fork["time"].as_str() < ours["time"].as_str());
    let status = world.ok(["diff", "t1", "main", "--name-status"]).stdout;
    assert_eq!(status, "M\ta.txt\nA\tb.txt\nD\tc.txt\n");
    let diff = world.json(["diff", "t1", "main", "--", "a.txt"]);
    let hunk = &diff["files"][0]["hunks"][0];
    assert_eq!(
        (&hunk["old"], &hunk["removed"], &hunk["added"]),
        (&json!([2, 1]), &json!(["two"]), &json!(["2"]))
    );
}

/// S4-061: a checkpoint has a name and a description, and is of every file.
#[test]
fn checkpoints_have_names_and_descriptions() {
    let world = World::committed(&[("a.txt", "one\n")]);
    let about = "The state that the customer saw, before anything was moved.";
    let made = world.json(["checkpoint", "-m", "shown", "--description", about]);
    assert_eq!(
        (&made["label"], &made["description"]),
        (&"shown".into(), &about.into())
    );
    let id = made["id"].as_str().expect("an id");
    assert_eq!(world.json(["show", id])["description"], about);
    let shown = world.ok(["show", id]).stdout;
    assert!(shown.contains(about), "{shown}");
    let found = world.json(["log", "--text", "customer"]);
    assert_eq!(found["checkpoints"][0]["id"], made["id"], "{found}");
    let plain = world.json(["checkpoint", "create", "bare"]);
    assert!(plain.get("description").is_none(), "{plain}");
    assert_eq!(world.json(["show", "\"shown\""])["id"], made["id"]);
    assert_eq!(world.ok(["cat", id, "a.txt"]).stdout, "one\n");
}

/// A variable that is not set makes an empty argument. It names nothing, and so nothing is done.
#[test]
fn an_empty_argument_is_refused() {
    let world = World::committed(&[("a.txt", "one\n")]);
    world.ok(["checkpoint", "-m", "base"]);
    let all: [&[&str]; 9] = [
        &["rewind", "--path", "", "-y", "c1"],
        &["log", "--path", ""],
        &["review", ""],
        &["cat", "c1", ""],
        &["show", ""],
        &["diff", "c1", "--", ""],
        &["resume", ""],
        &["breakpoint", "remove", ""],
        &["checkpoint", "-m", ""],
    ];
    for args in all {
        let output = world.run(args);
        assert_eq!(output.code, 2, "{args:?}: {}", output.stderr);
        assert!(output.stderr.contains(" is empty"), "{}", output.stderr);
    }
    let json = world.run(["show", "--json"]);
    assert!(json.stdout.contains("<REV>"), "{}", json.stdout);
}

/// A name of nothing says so, and the way on is one that works: the newest number, names like it, another command.
#[test]
fn an_unknown_name_leads_on() {
    let world = an_edit_and_a_new_file();
    for (args, code, words) in [
        (
            &["show", "t99"][..],
            3,
            "there is no turn t99: the newest is t1",
        ),
        (
            &["rewind", "t99~2", "-y"],
            3,
            "there is no turn t99: the newest is t1",
        ),
        (
            &["diff", "c900"],
            3,
            "there is no checkpoint c900: the newest is c",
        ),
        (&["show", "tomorrow"], 3, "no checkpoint `tomorrow`"),
        (&["blame", "nosuch"], 3, "`nosuch` is in no checkpoint"),
        (&["cat", "t1", "nosuch"], 3, "`nosuch` is in no checkpoint"),
        (&["setup", "claude"], 2, "did you mean `claude-code`?"),
        (
            &["setup", "nosuch"],
            2,
            "known agents and editors: claude-code, ",
        ),
    ] {
        let said = world.run(args).expect_code(code);
        assert!(said.stderr.contains(words), "{said}");
    }
    let empty = World::new();
    let said = empty.run(["show", "t1"]);
    assert_ne!(said.code, 0, "{said}");

    let begun = world.ok(["breakpoint", "add", "turn", "t1"]).stdout;
    assert!(
        begun.contains("t1 has begun: its first call may be over"),
        "{begun}"
    );
    let next = world.ok(["breakpoint", "add", "turn", "t2"]).stdout;
    assert!(!next.contains("has begun"), "{next}");
}
