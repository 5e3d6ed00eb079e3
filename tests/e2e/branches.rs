//! Branches, tags, switching, and a second directory on the same history.

use std::fs;

use serde_json::{Value, json};

use crate::support::history::{actions, conflicts, path};
use crate::support::scenarios::{SEVEN_LINES, an_edit_and_a_new_file};
use crate::support::tree::assert_same;
use crate::support::{Output, World};

#[track_caller]
fn says(output: &Output, code: i32, words: &[&str]) {
    assert_eq!(output.code, code, "{output}");
    for word in words {
        assert!(output.stderr.contains(word), "no {word:?} in {output}");
    }
}

/// Asserts that a scan finds nothing to record.
#[track_caller]
fn nothing_new(world: &World) {
    let before = world.history();
    world.json(["diff"]);
    assert_eq!(world.history(), before);
}

fn names(world: &World) -> Vec<String> {
    let branches = world.json(["branch", "list"])["branches"].clone();
    let name = |b: &Value| {
        let mark = if b["current"] == true { "*" } else { "" };
        format!("{}{mark}", b["name"].as_str().expect("a name"))
    };
    let all = branches.as_array().expect("branches").iter();
    all.filter(|b| b["deleted"] == false).map(name).collect()
}

fn current(world: &World) -> Vec<String> {
    let log = world.json(["log"]);
    let all = log["checkpoints"].as_array().expect("checkpoints").iter();
    let line = |c: &Value| match c["kind"].as_str() {
        Some("turn") => format!(
            "{}: {}",
            c["turn"].as_str().expect("t"),
            c["prompt"].as_str().expect("p")
        ),
        Some(kind) => format!("{kind} {}", c["tool"].as_str().unwrap_or_default())
            .trim()
            .to_owned(),
        None => String::new(),
    };
    let mut lines: Vec<String> = all.map(line).collect();
    lines.reverse();
    lines
}

/// S2-068, S2-069, S2-072, S2-075, S2-076, S2-078, S2-080, S2-D3, S4-063, S4-064: a second idea on a branch of its
/// own, each branch with its own files.
#[test]
fn branches_keep_their_own_files() {
    let world = an_edit_and_a_new_file();
    let first = world.tree();
    assert_eq!(names(&world), ["main*"]);
    let made = world.json(["fork", "t1", "idea2", "-m", "the other way"])["branch"].clone();
    for (field, expected) in [
        ("name", json!("idea2")),
        ("parent", json!("main")),
        ("fork_point", json!(world.id("t1: first idea"))),
        ("description", json!("the other way")),
        ("current", json!(false)),
    ] {
        assert_eq!(made[field], expected, "{made:#}");
    }
    let (point, time) = (world.checkpoint("t1: first idea").json, &made["created"]);
    let after = |a: &Value, b: &Value| a.as_str().expect("a time") >= b.as_str().expect("a time");
    assert!(after(time, &point["time"]), "{made:#}");
    let listed = world.json(["branch"])["branches"][1].clone();
    assert_eq!(
        (&listed["created"], &listed["checkpoints"]),
        (time, &json!([]))
    );
    assert_same(&world.tree(), &first);
    world.ok(["switch", "idea2"]);
    assert_eq!(world.read("a.txt"), SEVEN_LINES);
    assert!(!world.exists("b.txt"));
    assert_eq!(names(&world), ["main", "idea2*"]);
    assert_eq!(current(&world), ["manual", "t1: first idea"]);
    let mut agent = world.agent();
    agent.prompt("second idea");
    agent.edit("a.txt", "seven", "SEVEN");
    agent.write("e.txt", "e\n");
    agent.stop();
    let second = world.tree();
    world.ok(["switch", "main"]);
    assert_same(&world.tree(), &first);
    assert_eq!(
        current(&world),
        ["manual", "t1: first idea", "step Edit", "step Write"]
    );
    world.ok(["branch", "switch", "idea2"]);
    assert_same(&world.tree(), &second);
    // each branch continues from its own head
    let mut agent = world.agent();
    agent.prompt("third");
    agent.bash("echo more >> e.txt");
    world.ok(["rewind", "t2", "--exact"]);
    assert_eq!(world.read("a.txt"), SEVEN_LINES);
    world.ok(["switch", "main"]);
    assert_same(&world.tree(), &first);
    let all = world.json(["branch"])["branches"].clone();
    let idea2 = all
        .as_array()
        .expect("branches")
        .iter()
        .find(|b| b["name"] == "idea2")
        .expect("it")
        .clone();
    assert_eq!(
        idea2["checkpoints"].as_array().expect("ids").len(),
        6,
        "{idea2:#}"
    );
    world.ok(["verify"]);
}

/// S2-097: a rewind, a fork and a second try with another prompt leave every checkpoint of the first try readable.
#[test]
fn a_second_try_leaves_the_first_readable() {
    let world = an_edit_and_a_new_file();
    let first = world.tree();
    world.ok(["rewind", "t1"]);
    world.ok(["fork", "t1", "idea2", "--switch"]);
    let mut agent = world.agent();
    agent.prompt("second idea");
    agent.edit("a.txt", "seven", "SEVEN");
    agent.stop();
    assert!(!world.exists("b.txt"));
    let of_main = world.json(["log", "--branch", "main"]).to_string();
    for (line, a, b) in [
        ("t1: first idea", SEVEN_LINES.to_owned(), None),
        (
            "t1 Edit: modify a.txt",
            SEVEN_LINES.replace("one", "ONE"),
            None,
        ),
        (
            "t1 Write: create b.txt",
            SEVEN_LINES.replace("one", "ONE"),
            Some("b\n"),
        ),
    ] {
        let id = world.id(line);
        assert!(of_main.contains(&format!("\"{id}\"")), "{line}");
        assert_eq!(world.at(&id, "a.txt"), Some(a), "{line}");
        assert_eq!(world.at(&id, "b.txt").as_deref(), b, "{line}");
    }
    world.ok(["switch", "main"]);
    let last = world.id("t1 Write: create b.txt");
    world.ok(["rewind", &last, "--exact"]);
    assert_same(&world.tree(), &first);
}

/// User edits stay with the branch that is left: they are neither lost nor carried along.
#[test]
fn user_edits_stay_with_the_branch_that_is_left() {
    let world = an_edit_and_a_new_file();
    world.ok(["fork", "t1", "idea2"]);
    world.write("c.txt", "mine\n");
    world.write("new.txt", "new\n");
    let left = world.tree();
    world.ok(["switch", "idea2"]);
    assert_eq!(world.read("c.txt"), "c\n");
    assert!(!world.exists("new.txt"));
    world.ok(["switch", "main"]);
    assert_same(&world.tree(), &left);
}

/// `--carry` merges user edits into the other branch. They also stay on the branch that is left.
#[test]
fn carry_merges_user_edits_into_the_other_branch() {
    let world = an_edit_and_a_new_file();
    world.ok(["fork", "t1", "idea2"]);
    world.write("a.txt", world.read("a.txt").replace("seven", "mine"));
    world.write("new.txt", "new\n");
    let left = world.tree();
    let plan = world.plan(["switch", "idea2", "--carry"]);
    assert_eq!(actions(&plan), ["merge a.txt", "delete b.txt"]);
    assert_same(&world.tree(), &left);
    world.ok(["switch", "idea2", "--carry"]);
    assert_eq!(world.read("a.txt"), SEVEN_LINES.replace("seven", "mine"));
    assert_eq!(world.read("new.txt"), "new\n");
    assert!(!world.exists("b.txt"));
    let there = world.tree();
    nothing_new(&world);
    world.ok(["switch", "main"]);
    assert_same(&world.tree(), &left);
    world.ok(["switch", "idea2"]);
    assert_same(&world.tree(), &there);
    world.ok(["verify"]);
}

/// Where carried edits conflict, nothing changes until the conflict is decided.
#[test]
fn a_carry_with_conflicts_changes_nothing() {
    let decided = |how: &str| {
        let world = an_edit_and_a_new_file();
        world.ok(["fork", "t1", "idea2"]);
        world.ok(["switch", "idea2"]);
        let mut agent = world.agent();
        agent.prompt("second idea");
        agent.edit("a.txt", "seven", "SEVEN");
        world.ok(["switch", "main"]);
        world.write("a.txt", world.read("a.txt").replace("seven", "mine"));
        let before = world.tree();
        let output = world.run(["--json", "switch", "idea2", "--carry"]);
        assert_eq!(
            (output.code, conflicts(&output.json())),
            (1, vec!["a.txt".to_owned()])
        );
        assert_same(&world.tree(), &before);
        assert_eq!(names(&world), ["main*", "idea2"]);
        world.ok(["switch", "idea2", "--carry", "--on-conflict", how]);
        assert_eq!(names(&world), ["main", "idea2*"]);
        let text = world.read("a.txt");
        world.ok(["switch", "main"]);
        assert_same(&world.tree(), &before);
        text
    };
    assert_eq!(decided("current"), SEVEN_LINES.replace("seven", "mine"));
    assert_eq!(decided("target"), SEVEN_LINES.replace("seven", "SEVEN"));
    let marked = decided("markers");
    for part in ["<<<<<<<", "SEVEN", "=======", "mine", ">>>>>>>"] {
        assert!(marked.contains(part), "{marked}");
    }
}

/// A switch is an operation: `undo` goes back, `redo` goes forward again, and `oplog` lists it.
#[test]
fn a_switch_can_be_undone_and_redone() {
    let world = an_edit_and_a_new_file();
    let here = world.tree();
    world.ok(["fork", "t1", "idea2"]);
    let switched = world.json(["switch", "idea2"]);
    let there = world.tree();
    world.ok(["undo"]);
    assert_same(&world.tree(), &here);
    assert_eq!(names(&world), ["main*", "idea2"]);
    world.ok(["redo"]);
    assert_same(&world.tree(), &there);
    let log = world.json(["oplog"])["operations"].clone();
    let kinds: Vec<_> = log
        .as_array()
        .expect("a list")
        .iter()
        .map(|o| o["kind"].clone())
        .collect();
    assert_eq!(kinds, ["redo", "undo", "switch", "fork"]);
    assert_eq!(log[2]["id"], switched["operation"]);
    says(
        &world.run(["undo", log[3]["id"].as_str().expect("an id")]),
        1,
        &["changed no file", "branch delete"],
    );
    // a turn on this branch blocks the undo; a turn on another branch does not
    let mut agent = world.agent();
    agent.prompt("second idea");
    agent.edit("a.txt", "one", "1");
    agent.stop();
    says(&world.run(["undo"]), 1, &["turn t2 began after"]);
    world.ok(["undo", switched["operation"].as_str().expect("an id")]);
    assert_same(&world.tree(), &here);
}

/// S2-070, S2-071: names of branches, tags and labels may have blanks, in both forms and in every command that takes one.
#[test]
fn names_may_have_blanks() {
    let world = an_edit_and_a_new_file();
    world.ok(["checkpoint", "-m", "all tests green"]);
    world.ok([
        "branch",
        "create",
        "my second idea",
        "--from",
        "all tests green",
    ]);
    let made = world.ok(["branch", "t1", "a c1 fix"]).stdout;
    assert!(
        made.contains("To switch: backstitch switch 'a c1 fix'"),
        "{made}"
    );
    world.ok(["tag", "works on c2", "all tests green"]);
    assert_eq!(names(&world), ["main*", "my second idea", "a c1 fix"]);
    world.ok(["switch", "my second idea"]);
    world.ok(["diff", "a c1 fix", "works on c2^"]);
    world.ok(["rewind", "works on c2", "--exact"]);
    world.ok(["switch", "a c1 fix"]);
    assert!(
        world
            .ok(["log", "--graph", "--all"])
            .stdout
            .contains("◀ a c1 fix")
    );
    world.ok(["branch", "rename", "my second idea", "another idea"]);
    world.ok(["branch", "delete", "another idea"]);
    assert_eq!(names(&world), ["main", "a c1 fix*"]);
    let oplog = world.ok(["oplog"]).stdout;
    assert!(oplog.contains("a c1 fix"), "{oplog}");
    let refused = world.run(["undo"]).expect_code(1);
    let again = "`backstitch branch create 'another idea' --from c5` restores it";
    assert!(refused.stderr.contains(again), "{refused}");
    world.ok(["tag", "--delete", "works on c2"]);
    world.ok(["verify"]);
}

/// S2-070, S2-071, S2-073, S2-077, S2-082, S2-D2, S4-062, S4-071, S4-072: names, both forms of each command, and the
/// names that they refuse. Each command is a separate process that reads the names saved by an earlier one.
#[test]
fn branch_and_tag_names_are_checked() {
    let world = an_edit_and_a_new_file();
    let t1 = world.id("t1: first idea");
    world.ok(["branch", "create", "one", "--from", "t1"]);
    world.ok(["branch", "t1", "two"]);
    world.ok(["branch", "create", "three"]);
    world.ok(["checkpoint", "-m", "a label"]);
    world.ok(["branch", "create", "four", "--from", "a label"]);
    assert_eq!(names(&world), ["main*", "one", "two", "three", "four"]);
    assert_eq!(
        world.json(["ancestor", "two", "main"])["ancestor"],
        json!(t1)
    );
    world.ok(["branch", "rename", "two", "deux"]);
    world.ok(["branch", "delete", "one"]);
    assert_eq!(names(&world), ["main*", "deux", "three", "four"]);
    // the name is free again
    world.ok(["branch", "create", "one"]);
    world.ok(["tag", "works", "t1"]);
    world.ok(["tag", "now"]);
    assert_eq!(world.json(["show", "works"])["tags"], json!(["works"]));
    let tags = world.json(["tag"])["tags"].clone();
    assert_eq!(
        (&tags[0]["name"], &tags[1]["checkpoint"]),
        (&json!("now"), &json!(t1))
    );
    world.ok(["tag", "--delete", "works"]);
    for (args, code, words) in [
        (
            vec!["switch", "nowhere"],
            3,
            vec!["nowhere", "backstitch branch"],
        ),
        (
            vec!["branch", "create", "x", "--from", "c99"],
            3,
            vec!["c99"],
        ),
        (vec!["branch", "create", "main"], 1, vec!["main", "already"]),
        (
            vec!["branch", "create", "now"],
            1,
            vec!["tag `now`", "already"],
        ),
        (vec!["tag", "three"], 1, vec!["branch `three`", "already"]),
        (vec!["tag", "c1"], 1, vec!["c1", "numbers"]),
        (vec!["branch", "create", "t7"], 1, vec!["t7", "numbers"]),
        (vec!["branch", "create", "a\tb"], 1, vec!["character"]),
        (vec!["branch", "create", " a"], 1, vec!["blank"]),
        (vec!["tag", "a  b"], 1, vec!["a  b", "blank"]),
        (
            vec!["branch", "create", "x (deleted, 3)"],
            1,
            vec!["deleted branches"],
        ),
        (vec!["branch", "create", ""], 1, vec!["empty"]),
        (vec!["branch", "delete", "main"], 1, vec!["main", "current"]),
        (
            vec!["branch", "delete", "one and only"],
            3,
            vec!["one and only"],
        ),
        (
            vec!["branch", "rename", "three", "main"],
            1,
            vec!["main", "already"],
        ),
        (
            vec!["tag", "--delete", "works"],
            3,
            vec!["works", "backstitch tag"],
        ),
        (vec!["branch", "t1"], 2, vec!["NAME"]),
    ] {
        says(&world.run(&args), code, &words);
    }
}

/// S2-083: a second agent next to the first, in a directory of its own: they share one history and no file.
#[test]
fn a_forked_directory_shares_the_history_and_no_files() {
    let world = an_edit_and_a_new_file();
    let other = world.beside("idea2");
    world.write("left.tmp", "");
    world.write(".gitignore", "*.tmp\n");
    let made = world.json(["fork", "t1", "idea2", "--into", "../idea2"]);
    assert_eq!(
        path(&made["branch"]["root"]),
        other.root.to_str().expect("UTF-8")
    );
    assert_eq!(other.read("a.txt"), SEVEN_LINES);
    assert!(!other.exists("b.txt") && !other.exists(".git") && !other.exists("left.tmp"));
    let status = other.json(["status"]);
    assert_eq!(
        (&status["branch"], path(&status["workspace"])),
        (
            &json!("idea2"),
            other.root.to_str().expect("UTF-8").to_owned()
        )
    );
    // both work at once, with overlapping shells and files of the same names
    let (mut a, mut b) = (world.agent(), other.agent());
    a.prompt("here");
    b.prompt("there");
    let (x, y) = (
        a.pre_bash("echo here >> c.txt; echo h > same.txt"),
        b.pre_bash("echo there >> c.txt; echo t > same.txt"),
    );
    let (out_x, out_y) = (
        world.sh("echo here >> c.txt; echo h > same.txt"),
        other.sh("echo there >> c.txt; echo t > same.txt"),
    );
    a.post_bash(&x, &out_x);
    b.post_bash(&y, &out_y);
    a.stop();
    b.stop();
    assert_eq!(
        (world.read("c.txt"), other.read("c.txt")),
        ("c\nhere\n".into(), "c\nthere\n".into())
    );
    let lines = world.history();
    for line in [
        "t2 Bash: modify c.txt, create same.txt",
        "t3 Bash: modify c.txt, create same.txt",
    ] {
        assert!(lines.contains(&line.to_owned()), "{lines:#?}");
    }
    assert_eq!(
        current(&other),
        ["manual", "t1: first idea", "t3: there", "step Bash"]
    );
    // the two branches compared from either side
    for place in [&world, &other] {
        let diff = place.json(["diff", "main", "idea2"]);
        let files: Vec<String> = diff["files"]
            .as_array()
            .expect("files")
            .iter()
            .map(|f| format!("{} {}", f["kind"].as_str().expect("kind"), path(&f["path"])))
            .collect();
        assert_eq!(
            files,
            [
                "delete .gitignore",
                "modify a.txt",
                "delete b.txt",
                "modify c.txt",
                "modify same.txt"
            ]
        );
    }
    // a rewind here does not change the other directory, and undo does not reach across
    let (here, there) = (world.tree(), other.tree());
    world.ok(["rewind", "t2"]);
    assert_same(&other.tree(), &there);
    says(&other.run(["undo"]), 1, &["no operation to undo"]);
    world.ok(["undo"]);
    assert_same(&world.tree(), &here);
    // one branch, one directory
    says(&world.run(["switch", "idea2"]), 1, &["idea2", "branch of"]);
    says(&world.run(["branch", "delete", "idea2"]), 1, &["idea2"]);
    says(&other.run(["init"]), 1, &["forked from another"]);
    says(
        &world.run(["fork", "@", "idea3", "--into", "../idea2"]),
        1,
        &["not empty"],
    );
    says(
        &world.run(["fork", "@", "idea3", "--into", "below"]),
        1,
        &["inside the workspace"],
    );
    assert!(!names(&world).contains(&"idea3".to_owned()));
    assert!(!world.exists("below"));
    nothing_new(&world);
    // its work is taken over: that of a whole session, or of one turn by reverting its revert
    let session = other.checkpoint("t3: there").json["session"]
        .as_str()
        .expect("an id")
        .to_owned();
    let plan = world
        .run(["--json", "rewind", "idea2", "--session", &session])
        .expect_code(1)
        .json();
    assert_eq!(conflicts(&plan), ["c.txt", "same.txt"]);
    world.ok(["rewind", "t2"]);
    world.ok(["rewind", "idea2", "--session", &session]);
    assert_eq!(world.read("c.txt"), "c\nthere\n");
    assert_eq!(world.read("same.txt"), "t\n");
    assert!(
        world.read("a.txt").starts_with("ONE\n"),
        "the work of others stays"
    );
    world.ok(["undo"]);
    other.ok(["revert", "t3"]);
    assert!(!other.exists("same.txt"));
    let reverted = other.json(["log", "-n", "1"])["checkpoints"][0]["id"]
        .as_str()
        .expect("an id")
        .to_owned();
    world.ok(["revert", &reverted]);
    assert_eq!(world.read("same.txt"), "t\n");
    for place in [&world, &other] {
        place.ok(["verify"]);
    }
    // once the directory is gone, its branch can be switched to from here
    fs::remove_dir_all(&other.root).expect("removed");
    world.ok(["switch", "idea2"]);
    assert_eq!(world.read("a.txt"), SEVEN_LINES);
    world.ok(["switch", "main"]);
    assert_eq!(world.read("same.txt"), "t\n");
    world.ok(["verify"]);
}

/// A file adopted on one branch alone stays in place, and none of its states is lost.
#[test]
fn a_file_adopted_on_one_branch_stays() {
    let world = World::committed(&[("a.txt", SEVEN_LINES), (".gitignore", "*.log\n")]);
    world.write("x.log", "before\n");
    world.ok(["checkpoint"]);
    world.ok(["branch", "create", "other"]);
    world.write(".gitignore", "");
    world.ok(["checkpoint", "-m", "seen"]);
    assert_eq!(world.at("seen", "x.log").as_deref(), Some("before\n"));
    world.write("x.log", "changed\n");
    world.ok(["switch", "other"]);
    assert_eq!(world.read(".gitignore"), "*.log\n");
    assert_eq!(
        world.read("x.log"),
        "changed\n",
        "not known there: left alone"
    );
    assert_eq!(world.at("@", "x.log"), None);
    world.write("x.log", "changed again\n");
    let output = world.run(["switch", "main"]);
    says(&output, 1, &["conflicts in 1 file"]);
    world.write("x.log", "changed\n");
    world.ok(["switch", "main"]);
    assert_eq!(world.at("@", "x.log").as_deref(), Some("changed\n"));
    assert_eq!(world.at("seen", "x.log").as_deref(), Some("before\n"));
    nothing_new(&world);
    world.ok(["rewind", "seen", "--exact"]);
    assert_eq!(world.read("x.log"), "before\n");
    world.ok(["verify"]);
}

/// S3-036, U-20: an exact rewind to another branch restores a file that was adopted there and never changed. Undo and
/// redo take it away and restore it.
#[test]
fn an_exact_rewind_restores_a_file_adopted_on_another_branch() {
    let world = an_edit_and_a_new_file();
    world.write(".gitignore", "*.log\n");
    world.ok(["checkpoint"]);
    world.ok(["branch", "create", "other"]);
    world.write("x.log", "before\n");
    world.write(".gitignore", "");
    world.ok(["checkpoint", "-m", "seen"]);
    let there = world.tree();
    let switch = ["switch", "other"];
    let rewind = ["rewind", "seen", "--exact"];
    // the file is still there
    world.ok(switch);
    world.ok(rewind);
    assert_same(&world.tree(), &there);
    world.ok(["undo"]);
    assert_eq!(world.read("x.log"), "before\n");
    // it is there no more
    fs::remove_file(world.path("x.log")).expect("a file to remove");
    let here = world.tree();
    world.ok(rewind);
    assert_same(&world.tree(), &there);
    let again = world.json([&rewind[..], &["--dry-run"]].concat());
    assert_eq!(actions(&again), Vec::<String>::new(), "{again}");
    for (command, tree) in [("undo", &here), ("redo", &there)] {
        world.ok([command]);
        assert_same(&world.tree(), tree);
    }
    nothing_new(&world);
    world.ok(["verify"]);
}

/// U-20: a switch and its undo, where two files with one path were adopted on one branch each.
#[test]
fn a_switch_between_two_adopted_files_can_be_undone() {
    let world = World::committed(&[("a.txt", SEVEN_LINES), (".gitignore", "*.log\n")]);
    world.ok(["checkpoint"]);
    world.ok(["branch", "create", "other"]);
    world.write("x.log", "one\n");
    world.write(".gitignore", "");
    world.ok(["checkpoint"]);
    world.ok(["switch", "other"]);
    world.write("x.log", "two\n");
    world.write(".gitignore", "");
    world.ok(["checkpoint"]);
    world.write("x.log", "two\nmore\n");
    world.ok(["checkpoint"]);
    let there = world.tree();
    world.ok(["switch", "main"]);
    assert_eq!(world.read("x.log"), "one\n");
    for (command, text) in [("undo", "two\nmore\n"), ("redo", "one\n")] {
        world.ok([command]);
        assert_eq!(world.read("x.log"), text);
    }
    world.ok(["undo"]);
    assert_same(&world.tree(), &there);
    nothing_new(&world);
    world.ok(["verify"]);
}

/// A fork that cannot be finished leaves neither a branch nor a root.
#[test]
fn a_fork_that_cannot_be_finished_leaves_no_branch() {
    let world = an_edit_and_a_new_file();
    let other = world.beside("other");
    fs::create_dir(&other.root).expect("made");
    other.ok(["init"]);
    says(
        &world.run(["fork", "@", "idea2", "--into", "../other"]),
        1,
        &["its own history"],
    );
    assert_eq!(names(&world), ["main*"]);
    assert_eq!(other.json(["status"])["branch"], "main");
    world.ok(["verify"]);
}

/// `@`, the current state, includes edits that are not recorded yet, for every command that starts from it. So does
/// the name of the current branch.
#[test]
fn the_current_revision_includes_unrecorded_edits() {
    let world = an_edit_and_a_new_file();
    let mut text = world.read("a.txt");
    let mut edit = |line: &str| {
        text.push_str(line);
        text.push('\n');
        world.write("a.txt", &text);
        text.clone()
    };
    for (line, args, rev) in [
        ("by fork", &["fork", "@", "f"][..], "f"),
        ("by name", &["fork", "main", "f1"], "f1"),
        ("by create", &["branch", "create", "f2"], "f2"),
        ("by branch", &["branch", "@", "f3"], "f3"),
        ("by tag", &["tag", "v1"], "v1"),
        ("by its name", &["tag", "v2", "main"], "v2"),
    ] {
        let now = edit(line);
        world.ok(args);
        assert_eq!(world.at(rev, "a.txt"), Some(now), "{args:?}");
    }
    let now = edit("into");
    world.ok(["fork", "@", "f4", "--into", "../f4"]);
    assert_eq!(world.beside("f4").read("a.txt"), now);
    let now = edit("copied");
    world.ok(["materialize", "@", "--into", "../copy"]);
    assert_eq!(world.beside("copy").read("a.txt"), now);
    // a revision of another branch needs no scan
    edit("not recorded");
    let before = world.history();
    world.ok(["tag", "old", "t1"]);
    world.ok(["fork", "t1", "old-one"]);
    assert_eq!(world.history(), before);
    // the dry run and the run agree
    edit("more");
    let plan = world.plan(["rewind", "@", "--exact"]);
    assert_eq!(actions(&plan), Vec::<String>::new(), "{plan:#}");
    edit("and more");
    let kept = world.tree();
    world.ok(["rewind", "@", "--exact"]);
    assert_same(&world.tree(), &kept);
    // compared with the disk it is the state recorded before the scan, however often this is asked
    edit("seen");
    for rev in ["@", "main", "@"] {
        let diff = world.json(["diff", rev]);
        assert_eq!(diff["files"].as_array().map(Vec::len), Some(1), "{diff:#}");
    }
}

/// `undo` and `redo` of a switch do not return to a branch that was deleted meanwhile. They say how to recreate it.
#[test]
fn undo_does_not_return_to_a_deleted_branch() {
    let world = an_edit_and_a_new_file();
    world.ok(["fork", "t1", "idea2", "--switch"]);
    let switched = world.json(["oplog"])["operations"][0]["id"].clone();
    let switched = switched.as_str().expect("an id");
    let main = world.json(["branch"])["branches"][0]["head"].clone();
    let main = main.as_str().expect("a head").to_owned();
    world.ok(["branch", "delete", "main"]);
    let there = world.tree();
    let again = format!("`backstitch branch create main --from {main}`");
    for args in [&["undo"][..], &["undo", switched], &["undo", "--dry-run"]] {
        says(&world.run(args), 1, &["main", "deleted", &again]);
        assert_same(&world.tree(), &there);
    }
    let all = world.json(["branch", "list"])["branches"].clone();
    assert_eq!(
        (&all[0]["name"], &all[0]["deleted"]),
        (&json!("main"), &json!(true))
    );
    assert_eq!(
        (&all[1]["name"], &all[1]["parent"]),
        (&json!("idea2"), &json!("main"))
    );
    assert_eq!(names(&world), ["idea2*"]);
    world.ok(["branch", "create", "main", "--from", &main]);
    world.ok(["switch", "main"]);
    assert!(world.exists("b.txt"));
    // and in the other direction
    world.ok(["undo"]);
    world.ok(["branch", "delete", "main"]);
    says(&world.run(["redo"]), 1, &["main", "deleted", &again]);
}

/// `--carry` takes the edits that the user made since the last switch, and nothing older: neither edits parked by an
/// earlier switch nor files from before the branch.
#[test]
fn carry_takes_only_edits_since_the_last_switch() {
    let world = an_edit_and_a_new_file();
    for name in ["idea2", "idea3", "idea4"] {
        world.ok(["fork", "t1", name]);
    }
    world.write("parked.txt", "parked\n");
    world.ok(["switch", "idea2"]);
    world.ok(["switch", "main"]);
    world.write("fresh.txt", "fresh\n");
    let carried = world.plan(["switch", "idea2", "--carry"]);
    assert_eq!(
        actions(&carried),
        ["write a.txt", "delete b.txt", "delete parked.txt"]
    );
    world.ok(["switch", "idea2", "--carry"]);
    assert!(!world.exists("parked.txt"));
    assert_eq!(world.read("fresh.txt"), "fresh\n");
    // edits carried here are carried on from here
    world.ok(["switch", "idea3", "--carry"]);
    assert_eq!(world.read("fresh.txt"), "fresh\n");
    world.ok(["switch", "main"]);
    assert!(world.exists("parked.txt") && world.exists("fresh.txt"));
    // the edits stay with the branch on which they were recorded
    world.write("c.txt", "mine\n");
    world.ok(["fork", "@", "side", "--switch"]);
    assert_eq!(world.read("c.txt"), "mine\n");
    world.ok(["switch", "idea4", "--carry"]);
    assert_eq!(world.read("c.txt"), "c\n");
    // after switching back, the files are as before
    world.ok(["switch", "main"]);
    world.write("again.txt", "again\n");
    world.ok(["switch", "idea4"]);
    world.ok(["undo"]);
    world.ok(["switch", "idea4", "--carry"]);
    assert_eq!(world.read("again.txt"), "again\n");
    assert!(!world.exists("parked.txt"));
    world.ok(["verify"]);
}

/// The undo of a switch takes out the edits that it carried, and redo carries them again. Nothing is lost.
#[test]
fn undo_of_a_switch_takes_out_carried_edits() {
    let world = an_edit_and_a_new_file();
    world.ok(["fork", "t1", "idea2"]);
    world.write("a.txt", world.read("a.txt").replace("seven", "mine"));
    world.write("new.txt", "new\n");
    let here = world.tree();
    let switched = world.json(["switch", "idea2", "--carry"]);
    let there = world.tree();
    let carried = world.at("@", "a.txt");
    for _ in 0..2 {
        let plan = world.plan(["undo"]);
        assert_eq!(plan["uncarried"], json!(["a.txt", "new.txt"]), "{plan:#}");
        world.ok(["undo"]);
        assert_same(&world.tree(), &here);
        assert_eq!(names(&world), ["main*", "idea2"]);
        assert_eq!(world.at("idea2", "a.txt").as_deref(), Some(SEVEN_LINES));
        assert_eq!(world.at("idea2", "new.txt"), None);
        nothing_new(&world);
        world.ok(["redo"]);
        assert_same(&world.tree(), &there);
        assert_eq!(names(&world), ["main", "idea2*"]);
        nothing_new(&world);
    }
    let node = switched["checkpoint"].as_str().expect("an id");
    assert_eq!(world.at(node, "a.txt"), carried);
    let op = switched["operation"].as_str().expect("an id");
    for line in [
        "you (carried from main): modify a.txt, create new.txt".to_owned(),
        format!("undo {op}: modify a.txt, delete new.txt"),
        format!("redo {op}: modify a.txt, create new.txt"),
    ] {
        assert!(world.history().contains(&line), "{:#?}", world.history());
    }
    // text that the user has written there since stays there
    world.write("a.txt", world.read("a.txt").replace("one", "since"));
    world.ok(["undo"]);
    assert_same(&world.tree(), &here);
    assert_eq!(
        world.at("idea2", "a.txt"),
        Some(SEVEN_LINES.replace("one", "since"))
    );
    world.ok(["switch", "idea2"]);
    assert!(!world.exists("new.txt"));
    world.ok(["switch", "main"]);
    assert_same(&world.tree(), &here);
    world.ok(["verify"]);
}

/// Where carried text was edited further, the undo is a conflict to decide. It is carried out on the branch that they
/// were carried to.
#[test]
fn undo_asks_where_carried_edits_were_changed() {
    let world = an_edit_and_a_new_file();
    world.ok(["fork", "t1", "idea2"]);
    world.ok(["fork", "t1", "idea3"]);
    world.ok(["switch", "idea2"]);
    let mut agent = world.agent();
    agent.prompt("second idea");
    agent.edit("a.txt", "seven", "SEVEN");
    agent.stop();
    world.ok(["switch", "main"]);
    world.write("a.txt", world.read("a.txt").replace("seven", "mine"));
    let here = world.tree();
    let switched = world.json(["switch", "idea2", "--carry", "--on-conflict", "markers"]);
    assert!(world.read("a.txt").contains("<<<<<<<"));
    let op = switched["operation"].as_str().expect("an id");
    world.ok(["undo"]);
    assert_same(&world.tree(), &here);
    let before = SEVEN_LINES.replace("seven", "SEVEN");
    assert_eq!(world.at("idea2", "a.txt"), Some(before.clone()));
    world.ok(["redo"]);
    assert!(world.read("a.txt").contains("<<<<<<<"));
    world.ok(["switch", "idea3"]);
    says(
        &world.run(["undo", op]),
        1,
        &["idea2", "not the current branch"],
    );
    world.ok(["switch", "idea2"]);
    world.write("a.txt", world.read("a.txt").replace("mine", "mine, too"));
    let there = world.tree();
    let output = world.run(["--json", "undo", op]);
    assert_eq!(
        (output.code, conflicts(&output.json())),
        (1, vec!["a.txt".to_owned()])
    );
    assert_same(&world.tree(), &there);
    world.ok(["undo", op, "--on-conflict", "target"]);
    assert_same(&world.tree(), &here);
    assert_eq!(world.at("idea2", "a.txt"), Some(before));
    world.ok(["verify"]);
}

/// A switch that records user edits reports them, the dry run too.
#[test]
fn a_switch_reports_the_edits_it_records() {
    let world = an_edit_and_a_new_file();
    world.ok(["fork", "t1", "idea2"]);
    world.write("c.txt", "mine\n");
    world.write("new.txt", "new\n");
    let plan = world.plan(["switch", "idea2"]);
    let node = world.json(["log", "-n", "1"])["checkpoints"][0]["id"].clone();
    assert_eq!(plan["recorded"], node);
    let node = node.as_str().expect("an id");
    assert!(
        world.plan(["switch", "idea2"])["recorded"].is_null(),
        "it is recorded by now"
    );
    world.write("new.txt", "newer\n");
    let said = world.ok(["switch", "idea2"]).stdout;
    let next = format!("c{}", node[1..].parse::<u32>().expect("a number") + 1);
    let line = format!("your edits in 1 file were recorded as {next} on main");
    assert!(said.contains(&line), "{said}");
    let said = world.ok(["switch", "main"]).stdout;
    assert!(!said.contains("recorded as"), "{said}");
    world.write("c.txt", "mine, too\n");
    let done = world.json(["switch", "idea2"]);
    assert!(done["recorded"].is_string(), "{done:#}");
    // and so does an undo of it
    world.write("c.txt", "there\n");
    assert!(world.json(["undo"])["recorded"].is_string());
}

/// The hints of a switch name the options of a switch.
#[test]
fn switch_hints_name_the_options_of_switch() {
    let world = an_edit_and_a_new_file();
    world.ok(["fork", "t1", "idea2", "--switch"]);
    world.write("a.txt", SEVEN_LINES.replace("one", "mine"));
    let before = world.tree();
    let output = world.run(["switch", "main", "--carry"]);
    says(&output, 1, &["--on-conflict", "without --carry"]);
    assert!(!output.stderr.contains("--path"), "{output}");
    world
        .run(["switch", "main", "--path", "a.txt"])
        .expect_code(2);
    assert_same(&world.tree(), &before);
    world.ok(["switch", "main"]);
    let there = world.tree();
    says(&world.run(["undo", "--path", "a.txt"]), 2, &["--path"]);
    assert_same(&world.tree(), &there);
}

/// Names that git refuses, that are invisible, or that are too long are refused with the reason.
#[test]
fn names_that_git_refuses_are_refused() {
    let world = an_edit_and_a_new_file();
    let long = "x".repeat(256);
    for (name, why) in [
        ("a..b", "two dots"),
        ("..", "two dots"),
        ("../../etc", "two dots"),
        ("a//b", "slash"),
        ("/a", "slash"),
        ("a/", "slash"),
        (".hidden", "dot"),
        ("a/.b", "dot"),
        ("a.", "dot"),
        ("a.lock", ".lock"),
        ("a.lock/b", ".lock"),
        ("a\tb", "character"),
        ("a?", "character"),
        ("a*", "character"),
        ("a[b", "character"),
        ("\u{202e}abc", "character"),
        ("a\u{200b}b", "character"),
        ("a\u{1b}b", "character"),
        (&long, "255 bytes"),
    ] {
        let refused = world.run(["fork", "@", name]);
        says(&refused, 1, &["cannot be a name", why]);
        let misleads = |c: char| ['\u{202e}', '\u{1b}'].contains(&c);
        assert!(!refused.stderr.contains(misleads), "{:?}", refused.stderr);
        says(&world.run(["tag", name]), 1, &["cannot be a name", why]);
    }
    assert_eq!(names(&world), ["main*"]);
    for name in ["feature/one-two_3.4", "ü", "x.locked", &long[..255]] {
        world.ok(["fork", "@", name]);
    }
    // the third form
    world.ok(["branch", "--from", "t1", "--name", "idea2"]);
    world.ok(["branch", "--name", "idea3"]);
    assert_eq!(world.at("idea2", "a.txt").as_deref(), Some(SEVEN_LINES));
    world.run(["branch", "--from", "t1"]).expect_code(2);
    // a long name does not shift the other columns, and deleted names are marked
    world.ok(["branch", "delete", "idea3"]);
    let list = world.ok(["branch", "list"]).stdout;
    let row = |name: &str| {
        let found = list.lines().find(|line| line[2..].starts_with(name));
        found
            .unwrap_or_else(|| panic!("no {name} in {list}"))
            .to_owned()
    };
    assert!(
        row("xxx").starts_with(&format!("  {}…  c", "x".repeat(31))),
        "{list}"
    );
    assert!(row("idea3 ").contains(" deleted  from "), "{list}");
    assert!(!row("idea2 ").contains("deleted"), "{list}");
    assert!(
        list.lines().last().expect("a line").starts_with("  idea3 "),
        "{list}"
    );
}

/// A switch while an agent is at work says so.
#[test]
fn a_switch_warns_while_an_agent_works() {
    let world = an_edit_and_a_new_file();
    world.ok(["fork", "t1", "idea2"]);
    let mut agent = world.agent();
    agent.prompt("busy");
    let call = agent.pre_bash("sleep 9");
    let words = ["an agent is at work", "1 tool call is under way"];
    says(&world.run(["switch", "idea2"]), 0, &words);
    says(&world.run(["rewind", "t1", "--dry-run"]), 0, &words);
    agent.post_bash(&call, &world.sh("true"));
    agent.stop();
    let calm = world.ok(["switch", "main"]);
    assert!(!calm.stderr.contains("at work"), "{calm}");
}

/// Where nothing was ever recorded, or all of it was removed, the lists are empty and nothing can start anywhere.
#[test]
fn nothing_can_start_from_an_empty_history() {
    let world = World::committed(&[("a.txt", SEVEN_LINES)]);
    let empty = |world: &World| {
        assert_eq!(names(world), ["main*"]);
        assert!(world.ok(["branch"]).stdout.contains("* main"));
        assert_eq!(world.json(["tag"])["tags"], json!([]));
        assert!(world.ok(["tag"]).stdout.contains("No tags yet"));
        for args in [
            &["fork", "@", "x"][..],
            &["branch", "create", "x"],
            &["tag", "x"],
            &["show", "@"],
        ] {
            says(
                &world.run(args),
                3,
                &["nothing has been recorded", "backstitch checkpoint"],
            );
        }
    };
    empty(&world);
    assert!(
        !world.state.join("backstitch").exists(),
        "asking makes no store"
    );
    world.ok(["checkpoint"]);
    world.ok(["clear", "--yes"]);
    empty(&world);
}

/// A switch restores all files of the other branch or does nothing. Untracked files in the way survive, whichever way
/// conflicts are decided.
#[test]
fn untracked_files_survive_a_switch() {
    let world = World::committed(&[("a.txt", SEVEN_LINES), (".gitignore", "*.log\n")]);
    world.ok(["checkpoint"]);
    world.ok(["fork", "@", "h", "--switch"]);
    let mut agent = world.agent();
    agent.prompt("named, though ignored");
    agent.write("x.log", "agent's\n");
    agent.write("dir", "a file\n");
    agent.stop();
    world.ok(["switch", "main"]);
    assert!(!world.exists("x.log"));
    world.write("x.log", "mine\n");
    world.write("dir/secret.log", "mine, too\n");
    let before = world.tree();
    for how in ["fail", "target", "current", "markers"] {
        let output = world.run(["--json", "switch", "h", "--on-conflict", how]);
        assert_eq!(
            (output.code, conflicts(&output.json())),
            (1, vec!["dir".to_owned(), "x.log".to_owned()]),
            "{how}"
        );
        assert_same(&world.tree(), &before);
        assert_eq!(names(&world), ["main*", "h"]);
    }
    let output = world.run(["switch", "h", "--on-conflict", "target"]);
    says(&output, 1, &["conflicts in 2 files", "move away"]);
    fs::rename(world.path("x.log"), world.path("y.log")).expect("moved");
    fs::remove_dir_all(world.path("dir")).expect("removed");
    world.ok(["switch", "h"]);
    assert_eq!(world.read("x.log"), "agent's\n");
    world.ok(["switch", "main"]);
    assert_eq!(world.read("y.log"), "mine\n");
    world.ok(["verify"]);
}
