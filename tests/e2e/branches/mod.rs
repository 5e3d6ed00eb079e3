//! Branches, tags, switching, and a second directory on the same history.

mod adopted;
mod carried;
mod directories;
mod names;

use serde_json::{Value, json};

use crate::support::history::actions;
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
        listed["checkpoints"],
        Value::Null,
        "nobody asked: {listed:#}"
    );
    let asked = ["branch", "list", "--checkpoints"];
    let listed = world.json(asked)["branches"][1].clone();
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
    let all = world.json(asked)["branches"].clone();
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
