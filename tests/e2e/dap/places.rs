//! Places at which breakpoints act: lines of steps, the first step, and steps that are passed over.

use serde_json::{Value, json};

use super::super::jobs::{job, newest, workflow};
use super::talk::DapTalk;

const BLOCKS: &str = "on: push
jobs:
  build:
    runs-on: ubuntu-latest
    steps:
      - name: One
        run: |
          echo one

      - name: Two
        run: >-
          echo
          two

      # a comment
      - name: Three
        run: |
          echo three
  other:
    runs-on: ubuntu-latest
    steps:
      - run: echo
";

/// The lines of a step end with its text: the next step, a comment and the next job are not of it.
#[test]
fn a_line_is_of_the_step_that_has_it() {
    let world = workflow(BLOCKS);
    let mut talk = DapTalk::begin(&world, &json!({}));
    let file = world.root.join(".github/workflows/ci.yml");
    let lines = [6, 8, 9, 10, 13, 15, 16, 18, 19, 22];
    let wanted: Vec<Value> = lines.iter().map(|line| json!({"line": line})).collect();
    let answers = talk.ok(
        "setBreakpoints",
        &json!({"source": {"path": file}, "breakpoints": wanted}),
    );
    let answers = answers["breakpoints"].as_array().expect("a list").iter();
    let places: Vec<(u64, bool)> = answers
        .map(|one| {
            let line = one["line"].as_u64().expect("a line");
            (line, one["verified"] == true)
        })
        .collect();
    assert_eq!(
        places,
        [
            (6, true),
            (6, true),
            (9, false),
            (10, true),
            (10, true),
            (15, false),
            (16, true),
            (16, true),
            (19, false),
            (22, true),
        ]
    );
    let target = json!({"source": {"path": file}, "line": 10});
    let targets = talk.ok("gotoTargets", &target);
    assert_eq!(
        targets["targets"][0]["label"],
        "ahead to 'Two', leaving out 1 step"
    );
    talk.leave(&json!({"terminateDebuggee": true}));
}

/// A failure that is known before the first step stops the job there, also without a stop on entry.
#[test]
fn an_absent_action_stops_before_the_first_step() {
    let world = workflow(&job("- {name: Absent, uses: acme/absent@v1}"));
    let mut talk = DapTalk::launch(&world, &json!({"stopOnEntry": false}));
    talk.ok("configurationDone", &json!({}));
    assert!(
        talk.stop().starts_with("exception: before 'Absent'"),
        "{:#?}",
        talk.all
    );
    talk.leave(&json!({"terminateDebuggee": true}));
}

/// A breakpoint acts before a step that is passed over, and its frame has the condition. No checkpoint is made there.
#[test]
fn a_breakpoint_acts_before_a_step_that_is_passed_over() {
    let world = workflow(&job("
- {name: One, run: echo one >> log}
- {name: Two, if: failure(), run: echo two >> log}
- {name: Three, if: \"false\", run: echo three >> log}
- {name: Four, run: echo four >> log}"));
    let mut talk = DapTalk::begin(&world, &json!({}));
    let file = world.root.join(".github/workflows/ci.yml");
    talk.set_lines(
        &file,
        &json!([{"line": 7}, {"line": 8, "condition": "env.NEVER"}, {"line": 9}]),
    );
    assert_eq!(talk.go("continue"), "breakpoint: before 'Two'");
    let frames = talk.frames();
    assert_eq!(frames[0].0, "Two (is skipped: if: failure())");
    assert_eq!(talk.go("next"), "breakpoint: before 'Four'");
    assert_eq!(talk.go("stepBack"), "step: stepped back: before 'One'");
    assert_eq!(talk.go("continue"), "breakpoint: before 'Two'");
    assert_eq!(talk.go("continue"), "breakpoint: before 'Four'");
    talk.ok("continue", &json!({"threadId": 1}));
    assert_eq!(talk.end(), 0);
    let log = newest(&world).join("files/work/work/work/log");
    assert_eq!(std::fs::read_to_string(log).expect("a file"), "one\nfour\n");
}
