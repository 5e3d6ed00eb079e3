//! Edits of the workflow and of the user's files while a job stands.

use std::fs;

use super::super::{job, workflow, workflow_with};
use super::conversation::{Conversation, place_of};
use super::{FILE, edit};
use crate::support::World;

const THREE: &str = "
- name: One
  run: echo one >> log
- name: Two
  run: exit 3
- name: Three
  run: echo three >> log";

/// A failed step is mended in the workflow: one step back, and the job continues with the new text.
#[test]
fn a_mended_step_runs_after_a_step_back() {
    let world = workflow(&job(THREE));
    let mut talk = Conversation::begin(&world);
    assert_eq!(talk.stop("c"), "failed Two");
    edit(&world, "exit 3", "echo two >> log");
    let back = talk.ask("b");
    assert_eq!(place_of(&back), "before Two");
    let said = back["said"].as_str().expect("a text");
    assert!(said.contains("Steps ahead: 1 changed."), "{said}");
    assert_eq!(talk.stop("c"), "end");
    assert_eq!(talk.read("log"), "one\ntwo\nthree\n");
    assert_eq!(talk.end(), 0);
}

/// The step is run again at once: the new text, in one command.
#[test]
fn a_mended_step_runs_again_at_once() {
    for word in [":again", ":retry"] {
        let world = workflow(&job(THREE));
        let mut talk = Conversation::begin(&world);
        assert_eq!(talk.stop("c"), "failed Two");
        edit(&world, "exit 3", "echo two >> log");
        assert_eq!(talk.stop(word), "before Three", "{word}");
        assert_eq!(talk.read("log"), "one\ntwo\n");
        talk.end();
    }
}

/// A workflow with problems is named, and the steps stay as they were; a mended one is read again.
#[test]
fn a_workflow_with_problems_changes_nothing() {
    let world = workflow(&job(THREE));
    let mut talk = Conversation::begin(&world);
    let text = world.read(FILE);
    for (broken, reason) in [
        ("jobs: [", "ci.yml (Line: "),
        (
            "on: push\njobs:\n  other:\n    runs-on: x\n    steps: [{run: x}]\n",
            "The job build is no longer in",
        ),
    ] {
        world.write(FILE, broken);
        let answer = talk.ask(":goto One");
        let said = answer["said"].as_str().expect("a text");
        assert!(said.contains(reason), "{said}");
        assert!(said.ends_with("The steps stay as they were."), "{said}");
    }
    fs::remove_file(world.path(FILE)).expect("removed");
    let answer = talk.ask("n");
    assert_eq!(place_of(&answer), "before Two");
    let said = answer["said"].as_str().expect("a text");
    assert!(said.contains("cannot be read"), "{said}");
    world.write(FILE, text.replace("exit 3", "echo two >> log"));
    assert_eq!(talk.stop("c"), "end");
    assert_eq!(talk.read("log"), "one\ntwo\nthree\n");
    talk.end();
}

/// Steps that are added or removed ahead are taken up; none before the place runs.
#[test]
fn steps_are_added_and_removed() {
    let world = workflow(&job(THREE));
    let mut talk = Conversation::begin(&world);
    assert_eq!(talk.stop("n"), "before Two");
    edit(
        &world,
        "- name: One",
        "- name: Zero\n        run: echo zero >> log\n      - name: One",
    );
    edit(
        &world,
        "- name: Two\n        run: exit 3",
        "- name: Half\n        run: echo half >> log",
    );
    edit(
        &world,
        "echo three >> log",
        "echo three >> log\n      - name: Four\n        run: echo four >> log",
    );
    let answer = talk.ask("n");
    assert_eq!(place_of(&answer), "before Three");
    let said = answer["said"].as_str().expect("a text");
    assert!(
        said.contains("'Zero' stands before a step that has run, so it does not run"),
        "{said}"
    );
    assert!(said.contains("Steps ahead: 1 changed, 1 added."), "{said}");
    assert_eq!(talk.stop("c"), "end");
    assert_eq!(talk.read("log"), "one\nhalf\nthree\nfour\n");
    // the beginning has all of it
    assert_eq!(talk.stop("r"), "before Zero");
    assert_eq!(talk.stop("c"), "end");
    assert_eq!(talk.read("log"), "zero\none\nhalf\nthree\nfour\n");
    assert_eq!(talk.end(), 0);
}

/// A step that has run keeps its results under a new name, and a change of it is said.
#[test]
fn a_step_that_has_run_is_renamed() {
    let steps = "
- name: Cache
  id: old
  run: echo \"v=1\" >> $GITHUB_OUTPUT
- name: Two
  run: echo ${{ steps.new.outputs.v }} >> log";
    let world = workflow(&job(steps));
    let mut talk = Conversation::begin(&world);
    assert_eq!(talk.stop("n"), "before Two");
    edit(&world, "id: old", "id: new");
    let answer = talk.ask("n");
    let said = answer["said"].as_str().expect("a text");
    assert!(
        said.contains("'Cache' has run with its earlier text"),
        "{said}"
    );
    assert_eq!(talk.read("log"), "1\n");
    talk.end();
}

/// An edit that was made while a needed job ran, before the job stood, is taken up.
#[test]
fn an_edit_before_the_first_stop_is_taken_up() {
    let text = "on: push
jobs:
  first:
    runs-on: ubuntu-latest
    steps:
      - run: sed -i 's/exit 3/echo mended >> log/' \"$SOURCE\"
  build:
    needs: first
    runs-on: ubuntu-latest
    steps:
      - name: One
        run: exit 3
";
    let world = workflow(text);
    let variables = world.path("variables");
    world.write(
        "variables",
        format!("SOURCE={}\n", world.path(FILE).display()),
    );
    let file = variables.to_str().expect("a path");
    let mut talk = Conversation::with(&world, &["--env-file", file]);
    talk.place.set_file_name("ci-build-1");
    let answer = talk.ask("n");
    assert_eq!(place_of(&answer), "end");
    let said = answer["said"].as_str().expect("a text");
    assert!(said.contains("Steps ahead: 1 changed."), "{said}");
    assert_eq!(talk.read("log"), "mended\n");
    talk.end();
}

const CHECKS: &str = "
- uses: actions/checkout@v4
- name: Build
  run: echo built >> log; echo run >> own
- name: Test
  run: grep -q good src
- name: Last
  run: \"true\"";

fn checks() -> World {
    workflow_with(
        &job(CHECKS),
        &[
            ("src", "top\nmiddle\nbad\n"),
            ("own", "a\n"),
            ("gone", "g\n"),
            ("kept", "k\n"),
        ],
    )
}

/// The source is mended in the user's tree: one step back, and the job continues with it. Other files stay as the run has them.
#[test]
fn a_mended_source_is_taken_up() {
    let world = checks();
    let mut talk = Conversation::begin(&world);
    assert_eq!(talk.stop("c"), "failed Test");
    world.write("src", "top\nmiddle\ngood\n");
    world.write("new/file", "new\n");
    fs::remove_file(world.path("gone")).expect("removed");
    assert_eq!(talk.stop("b"), "before Test");
    assert_eq!(talk.read("src"), "top\nmiddle\nbad\n");
    let answer = talk.ask("n");
    assert_eq!(place_of(&answer), "before Last");
    assert_eq!(
        answer["said"],
        "Your edits were taken up: gone, new/file, src."
    );
    assert_eq!(talk.read("new/file"), "new\n");
    assert!(!talk.file("gone").exists());
    assert_eq!(talk.read("own"), "a\nrun\n");
    // the point before has the files without them, and the next command takes them up again
    assert_eq!(talk.stop("b 2"), "before Build");
    assert!(talk.file("gone").exists());
    assert_eq!(
        talk.ask("n")["said"],
        "Your edits were taken up: gone, new/file, src."
    );
    assert_eq!(talk.read("src"), "top\nmiddle\ngood\n");
    assert_eq!(talk.stop("c"), "end");
    assert_eq!(talk.end(), 0);
}

/// Both sides changed a file: different lines are merged, the same ones are a conflict that is named and left.
#[test]
fn conflicts_are_named_and_left() {
    let world = checks();
    let mut talk = Conversation::begin(&world);
    assert_eq!(talk.stop("c"), "failed Test");
    talk.said("!sed -i 's/top/run/' src; echo theirs > kept");
    world.write("src", "top\nmiddle\ngood\n");
    world.write("kept", "mine\n");
    let answer = talk.ask(":retry");
    assert_eq!(place_of(&answer), "before Last");
    let said = answer["said"].as_str().expect("a text");
    assert!(said.contains("Your edits were taken up: src."), "{said}");
    assert!(
        said.contains("not taken up: kept is changed in the same lines by the run."),
        "{said}"
    );
    assert_eq!(talk.read("src"), "run\nmiddle\ngood\n");
    assert_eq!(talk.read("kept"), "theirs\n");
    talk.said("!echo mine > kept");
    assert_eq!(
        talk.said(":sync"),
        "Neither the workflow nor your files have changed."
    );
    assert_eq!(talk.ask("n")["said"], serde_json::Value::Null);
    talk.end();
}

/// The names that an edit changes, and the edit.
type Edit<'a> = (&'a str, &'a dyn Fn());

/// Edits are found one after the other while a job stands: a watch spares the listing of all files, and misses none.
#[test]
fn each_edit_is_found_by_itself() {
    let world = checks();
    let mut talk = Conversation::begin(&world);
    assert_eq!(talk.stop("n"), "before Build");
    let nothing = "Neither the workflow nor your files have changed.";
    let git = |args: &[&str]| drop(world.git_ok(args));
    let edits: [Edit<'_>; 12] = [
        ("src", &|| world.write("src", "other\n")),
        ("new", &|| world.write("new", "new\n")),
        ("kept, moved", &|| {
            fs::rename(world.path("kept"), world.path("moved")).expect("renamed");
        }),
        ("d/e/file", &|| world.write("d/e/file", "1\n")),
        ("d/e/file", &|| world.write("d/e/file", "2\n")),
        ("d/e/file, f/e/file", &|| {
            fs::rename(world.path("d"), world.path("f")).expect("renamed");
        }),
        ("f/e/file", &|| world.write("f/e/file", "3\n")),
        (".gitignore", &|| {
            world.write(".gitignore", "*.log\nlogs/\n");
        }),
        ("", &|| {
            world.write("f/a.log", "ignored\n");
            world.write("logs/b", "ignored\n");
        }),
        ("f/a.log", &|| git(&["add", "-f", "f/a.log"])),
        ("f/a.log", &|| world.write("f/a.log", "tracked\n")),
        ("gone", &|| {
            fs::remove_file(world.path("gone")).expect("removed");
        }),
    ];
    for (names, edit) in edits {
        // without an edit nothing is found, and the watch stands
        assert_eq!(talk.said(":sync"), nothing, "before {names}");
        edit();
        let expected = match names {
            "" => nothing.to_owned(),
            names => format!("Your edits were taken up: {names}."),
        };
        assert_eq!(talk.said(":sync"), expected);
    }
    assert_eq!(talk.read("f/a.log"), "tracked\n");
    // the point of the next step has all of that
    assert_eq!(talk.stop("n"), "before Test");
    assert_eq!(talk.stop("b"), "before Build");
    assert_eq!(talk.said(":sync"), nothing);
    assert_eq!(talk.read("f/a.log"), "tracked\n");
    talk.end();
}
