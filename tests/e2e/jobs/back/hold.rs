//! `job run --hold`, and steps of composite actions on the way of `continue`.

use serde_json::Value;

use super::super::{job, newest, workflow, workflow_with};
use super::debug;
use crate::support::{World, finish};

const FAILS: &str = "
- name: One
  run: echo one >> log
- name: Two
  run: test -f mended && echo two >> log
- name: Clean
  if: always()
  run: echo clean >> log";

/// Runs with `--hold`: the answers to lines, the report, and the exit code.
fn hold(world: &World, lines: &str) -> (Vec<Value>, Value, i32) {
    let mut command = world.backstitch();
    command.args(["--json", "job", "run", "ci.yml", "--hold", "--yes"]);
    let output = finish(&mut command, lines.as_bytes());
    let values = serde_json::Deserializer::from_str(&output.stdout).into_iter::<Value>();
    let values = values.collect::<Result<Vec<Value>, _>>();
    let mut values = values.unwrap_or_else(|error| panic!("{error}: {output:?}"));
    let report = values.pop().expect("a report");
    (values, report, output.code)
}

/// A run waits at the step that failed. It is mended, undone, and the job continues to its end.
#[test]
fn a_run_holds_at_a_failure() {
    let world = workflow(&job(FAILS));
    let (answers, report, code) = hold(&world, "b\n!touch mended\nc\n");
    assert_eq!(answers[0]["stop"], "failed");
    assert_eq!(answers[0]["step"], "Two");
    assert_eq!(answers[1]["stop"], "before");
    assert_eq!((report["result"].as_str(), code), (Some("success"), 0));
    let log = newest(&world).join("files/work/work/work/log");
    let log = std::fs::read_to_string(log).expect("a log");
    assert_eq!(log, "one\ntwo\nclean\n");
}

/// Without anybody who decides, the rest of the job runs, as it does without the option.
#[test]
fn a_run_continues_where_nobody_decides() {
    let world = workflow(&job(FAILS));
    let (answers, report, code) = hold(&world, "");
    assert_eq!(answers.len(), 1);
    assert_eq!((report["result"].as_str(), code), (Some("failure"), 1));
    let log = newest(&world).join("files/work/work/work/log");
    let log = std::fs::read_to_string(log).expect("a log");
    assert_eq!(log, "one\nclean\n");
}

/// A run that succeeds asks nothing.
#[test]
fn a_run_without_a_failure_does_not_wait() {
    let world = workflow(&job("- run: \"true\""));
    let (answers, report, code) = hold(&world, "");
    assert_eq!(answers, Vec::<Value>::new());
    assert_eq!((report["result"].as_str(), code), (Some("success"), 0));
}

const ACTION: &str = "name: a
runs:
  using: composite
  steps:
    - {name: Inner one, shell: bash, run: echo 1 >> log}
    - {name: Inner two, shell: bash, run: echo 2 >> log; test -f mended}
    - {name: Inner three, shell: bash, run: echo 3 >> log}
";

/// `continue` makes a checkpoint before each step of a composite action, and stops at the inner step that fails. A step back from
/// there leads to before that inner step; one from the job's own steps passes the inner ones.
#[test]
fn continue_makes_checkpoints_within_composite_actions() {
    let steps = "- uses: actions/checkout@v4\n- name: Use\n  uses: ./act\n- name: Last\n  run: echo last >> log";
    let world = workflow_with(&job(steps), &[("act/action.yml", ACTION)]);
    let ran = debug(
        &world,
        &[
            "c",
            ":checkpoints",
            "b",
            "!touch mended",
            "c",
            "b",
            "b",
            ":checkpoints",
            "c",
        ],
    );
    assert_eq!(ran.stop(0), "failed Inner two");
    assert_eq!(
        ran.said(1),
        "  [0] before 'Run actions/checkout@v4'\n  [1] before 'Use'\n  [2] before 'Inner one'\n  [3] before 'Inner two'"
    );
    assert_eq!(ran.stop(2), "before Inner two");
    assert_eq!(ran.stop(4), "end");
    assert_eq!(ran.stop(5), "before Last");
    assert_eq!(ran.stop(6), "before Use");
    assert_eq!(ran.checkpoints(6), 1);
    assert_eq!(ran.stop(8), "failed Inner two");
}

/// The outcome of an inner step that failed is decided before its action ends.
#[test]
fn the_outcome_of_the_last_inner_step_is_decided() {
    let action = ACTION.replace(
        "    - {name: Inner three, shell: bash, run: echo 3 >> log}\n",
        "",
    );
    let steps = "- uses: actions/checkout@v4\n- name: Use\n  uses: ./act\n- name: Last\n  run: echo last >> log";
    let world = workflow_with(&job(steps), &[("act/action.yml", &action)]);
    let ran = debug(&world, &["c", ":outcome success", "job.status", "c"]);
    assert_eq!(ran.stop(0), "failed Inner two");
    assert_eq!(ran.stop(1), "before Last");
    assert_eq!(ran.said(2), "success");
    assert_eq!(ran.stop(3), "end");
    assert_eq!(ran.code, 0);
}

/// A failure within an action that may fail is none to stop at.
#[test]
fn continue_passes_a_failure_that_does_not_count() {
    let steps = "- uses: actions/checkout@v4\n- name: Use\n  uses: ./act\n  continue-on-error: true\n- name: Last\n  run: echo last >> log";
    let world = workflow_with(&job(steps), &[("act/action.yml", ACTION)]);
    let ran = debug(&world, &["c"]);
    assert_eq!(ran.stop(0), "end");
    assert_eq!(ran.file("log"), "1\n2\nlast\n");
    assert_eq!(ran.code, 0);
}
