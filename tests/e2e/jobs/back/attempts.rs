//! Attempts of steps, and the history of a run.

use super::super::{job, workflow, workflow_with};
use super::conversation::Conversation;
use super::debug;
use super::stepped::SteppedJob;
use crate::support::World;

const STEPS: &str = "
- uses: actions/checkout@v4
- name: Build
  id: build
  run: cat src > out; echo $MODE >> out
- name: Test
  run: grep -q good out";

fn world() -> World {
    workflow_with(&job(STEPS), &[("src", "source\n")])
}

/// `:diff` shows what a step changed, and how the files differ after two attempts. Attempts that a step back undid are kept.
#[test]
fn two_attempts_are_compared() {
    let ran = debug(
        &world(),
        &[
            ":env MODE=bad",
            "c",
            ":diff Build",
            "b 2",
            ":env MODE=good",
            "c",
            ":diff build 1 2",
            ":diff 2 2 1",
            ":diff Build 1 7",
            ":diff Nothing",
            ":diff Build 2 2",
            ":checkpoints",
        ],
    );
    assert_eq!(ran.stop(1), "failed Test");
    let out = "work/work/work/out";
    let made = ran.said(2);
    assert!(made.contains("+source\n+bad"), "{made}");
    assert_eq!(ran.stop(5), "end");
    assert_eq!(
        ran.said(6),
        format!(
            "diff --git a/{out} b/{out}\n--- a/{out}\n+++ b/{out}\n@@ -1,2 +1,2 @@\n source\n-bad\n+good"
        )
    );
    assert!(ran.said(7).ends_with("-good\n+bad"), "{}", ran.said(7));
    assert_eq!(
        ran.stop(8),
        "error: Build: attempt 7 has not ended; there are: 1, 2"
    );
    assert!(
        ran.stop(9)
            .starts_with("error: Nothing: no such step has run")
    );
    assert_eq!(ran.said(10), "The files are equal.");
    assert!(
        ran.said(11).contains("[1] before 'Build'  attempt 2"),
        "{}",
        ran.said(11)
    );
}

/// Steps are left out, and a command runs by its word.
#[test]
fn steps_are_left_out() {
    let world = workflow(&job(
        "- name: One\n  run: echo one >> log\n- name: Bad\n  run: exit 1\n- name: Last\n  run: echo last >> log",
    ));
    let ran = debug(
        &world,
        &[
            ":skip",
            "n",
            ":skip",
            ":run export A=1; echo more >> log",
            "env.A",
            "n",
            ":skip",
        ],
    );
    assert_eq!(ran.stop(0), "before Bad");
    assert_eq!(ran.stop(1), "failed Bad");
    assert_eq!(ran.stop(2), "before Last");
    assert_eq!((ran.said(3), ran.said(4)), ("Set: A.", "1"));
    assert_eq!(ran.stop(5), "end");
    assert_eq!(ran.stop(6), "error: The job has ended: no step is left.");
    assert_eq!(ran.file("log"), "more\nlast\n");
    assert_eq!(ran.code, 0);
}

/// A job is a turn of the run's history, and its steps are the steps of that turn: `log`, `show`, `diff` and `blame` know them.
#[test]
fn steps_are_those_of_the_history() {
    let world = world();
    let ran = debug(&world, &[":env MODE=good", "c", "!echo own >> out"]);
    assert_eq!(ran.stop(1), "end");
    let files = ran.place.join("files");
    let run = |arguments: &[&str]| {
        let mut command = world.backstitch();
        let output = command.current_dir(&files).args(arguments).output();
        let output = output.expect("an output");
        assert!(output.status.success(), "{arguments:?}: {output:?}");
        String::from_utf8(output.stdout).expect("a text")
    };
    let log = run(&["log"]);
    for step in ["step  Run actions/checkout@v4", "step  Build", "step  Test"] {
        assert!(log.contains(step), "{log}");
    }
    let turn = run(&["show", "t1"]);
    assert!(turn.contains("prompt      build"), "{turn}");
    let blame = run(&["blame", "work/work/work/out"]);
    assert!(blame.contains("t1 step"), "{blame}");
    let diff = run(&["diff", "t1", "--", "work/work/work/out"]);
    assert!(diff.contains("+good"), "{diff}");
}

/// `undo` in a run that has ended undoes the last step back, and `redo` does it again. Both work in the job's workspace, too, although
/// that is a repository itself. The turn has ended with the job.
#[test]
fn the_last_step_back_is_undone_later() {
    let world = world();
    let ran = debug(&world, &[":env MODE=good", "c", "b 2"]);
    assert_eq!(ran.stop(2), "before Build");
    let out = ran.workspace().join("out");
    assert!(!out.exists());
    for dir in [ran.place.join("files"), ran.workspace()] {
        let run = |arguments: &[&str]| {
            let mut command = world.backstitch();
            let output = command.current_dir(&dir).args(arguments).output();
            let output = output.expect("an output");
            assert!(output.status.success(), "{arguments:?}: {output:?}");
            String::from_utf8(output.stdout).expect("a text")
        };
        let plan = run(&["undo", "--dry-run"]);
        assert!(plan.contains("Undo the rewind to c3"), "{plan}");
        assert!(!plan.contains("has not ended"), "{plan}");
        run(&["undo", "--yes"]);
        assert_eq!(ran.file("out"), "source\ngood\n");
        assert!(run(&["log", "--all"]).contains("undo"));
        assert!(run(&["diff", "c3", "@"]).contains("+good"));
        run(&["redo", "--yes"]);
        assert!(!out.exists());
    }
}

/// While a debugger holds the run, the history is read there, and commands that would change it name the debugger and its words.
#[test]
fn a_held_run_is_read_and_not_changed() {
    let world = world();
    let mut talk = Conversation::begin(&world);
    talk.said(":env MODE=good");
    assert_eq!(talk.stop("c"), "end");
    assert_eq!(talk.stop("b"), "before Test");
    let files = talk.place.join("files");
    let run = |arguments: &[&str]| {
        let mut command = world.backstitch();
        let output = command.current_dir(&files).args(arguments).output();
        output.expect("an output")
    };
    let reading: [&[&str]; 6] = [
        &["log"],
        &["show", "t1"],
        &["diff", "t1"],
        &["blame", "work/work/work/out"],
        &["undo", "--dry-run"],
        &["checkpoint", "-m", "mine"],
    ];
    for arguments in reading {
        let output = run(arguments);
        assert!(output.status.success(), "{arguments:?}: {output:?}");
    }
    for arguments in [&["undo", "--yes"][..], &["rewind", "t1", "--yes"], &["gc"]] {
        let output = run(arguments);
        let error = String::from_utf8_lossy(&output.stderr);
        let reason = "steps through the run ci-build-1, whose files these are";
        assert!(error.contains(reason), "{arguments:?}: {output:?}");
        assert!(error.contains("`:undo`"), "{error}");
        assert!(!output.status.success(), "{output:?}");
    }
    assert_eq!(talk.stop("c"), "end");
    assert_eq!(talk.end(), 0);
    let output = run(&["rewind", "c3", "--exact", "--yes"]);
    assert!(output.status.success(), "{output:?}");
}

/// The run's own Python environment, which the first start of Python makes, is not a change of a step.
#[test]
fn the_own_python_of_a_run_is_no_change() {
    let world = workflow(&job(
        "\n- {name: One, run: python3 -c 'print(1)' && echo one > one}\n- {name: Two, run: 'true'}",
    ));
    let mut job = SteppedJob::start(&world);
    assert_eq!(job.said("n"), "before Two");
    let shown = job.said(":diff One");
    assert!(shown.contains("one"), "{shown}");
    assert!(!shown.contains("python"), "{shown}");
    job.end();
}
