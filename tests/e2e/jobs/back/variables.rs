//! Edits of the variables that a workflow and its job declare, while the job stands.

use super::super::workflow;
use super::conversation::{Conversation, place_of};
use super::stepped::SteppedJob;
use crate::support::World;

const FILE: &str = ".github/workflows/ci.yml";

const WORKFLOW: &str = "on: push
env: {TOP: top, BOTH: top}
jobs:
  build:
    runs-on: ubuntu-latest
    env:
      BOTH: job
      PLAIN: one
      STEP: one
      MINE: one
      GONE: one
    steps:
      - name: One
        run: echo STEP=one >> $GITHUB_ENV
      - name: Two
        run: echo \"$TOP $BOTH $PLAIN $STEP $MINE ${GONE-none} ${NEW-none}\" >> log
      - name: Three
        run: echo \"$TOP $BOTH $PLAIN $STEP $MINE ${GONE-none} ${NEW-none}\" >> log
";

/// Changes, adds and removes variables of the workflow and of the job.
fn edit(world: &World) {
    let text = world.read(FILE);
    let edited = text
        .replace(
            "{TOP: top, BOTH: top}",
            "{TOP: 'new-${{ github.job }}', BOTH: top}",
        )
        .replace("      BOTH: job\n", "")
        .replace(": one\n", ": two\n")
        .replace("      GONE: two\n", "      NEW: two\n");
    assert_ne!(text, edited);
    world.write(FILE, edited);
}

const TAKEN: &str = "Variables of the workflow were taken up: GONE, TOP, BOTH, PLAIN, NEW.";
const KEPT: &str = "Variables of the workflow that a step or you have set since stay: STEP, MINE. `:env NAME=VALUE` sets one.";

/// The steps ahead find the variables of the new text. Those that a step or the person has set stay, also ones set to the same
/// value.
#[test]
fn the_steps_ahead_find_the_new_variables() {
    let world = workflow(WORKFLOW);
    let mut talk = Conversation::begin(&world);
    assert_eq!(talk.stop("n"), "before Two");
    talk.said(":env MINE=one");
    edit(&world);
    let answer = talk.ask("n");
    assert_eq!(place_of(&answer), "before Three");
    let said = answer["said"].as_str().expect("a text");
    assert_eq!(said, format!("{TAKEN}\n{KEPT}"));
    assert_eq!(talk.read("log"), "new-build top two one one none two\n");
    assert_eq!(talk.said("env.NEW"), "two");
    // nothing more is said, and the value is set by hand
    talk.said(":env STEP=mine");
    assert_eq!(talk.ask("n")["said"], serde_json::Value::Null);
    let lines = "new-build top two one one none two\nnew-build top two mine one none two\n";
    assert_eq!(talk.read("log"), lines);
    // before the first step nobody has set one
    let back = talk.said("r");
    assert!(back.contains("PLAIN, STEP, MINE, NEW."), "{back}");
    assert!(!back.contains("set since"), "{back}");
    // the step sets its own value again
    assert_eq!(talk.stop("c"), "end");
    assert_eq!(
        talk.read("log"),
        "new-build top two one two none two\n".repeat(2)
    );
    talk.end();
}

/// A step back undoes what the person set, and takes up the text of then and now; its undo brings all of it back.
#[test]
fn a_step_back_and_its_undo_restore_them() {
    let world = workflow(WORKFLOW);
    let mut talk = Conversation::begin(&world);
    assert_eq!(talk.stop("n"), "before Two");
    assert_eq!(talk.stop("n"), "before Three");
    talk.said("!export PLAIN=mine; unset GONE");
    edit(&world);
    let said = talk.said(":sync");
    assert!(said.contains("stay: GONE, PLAIN, STEP."), "{said}");
    let before = talk.said(":state");
    assert_eq!(talk.stop("b"), "before Two");
    assert_eq!(talk.said("env.PLAIN"), "two");
    assert_eq!(talk.stop(":undo"), "before Three");
    assert_eq!(talk.said(":state"), before);
    assert_eq!(talk.said("env.PLAIN"), "mine");
    talk.end();
}

/// A declaration that cannot be evaluated changes no variable, and is named.
#[test]
fn a_declaration_with_an_error_changes_nothing() {
    let world = workflow(WORKFLOW);
    let mut talk = Conversation::begin(&world);
    let text = world.read(FILE);
    world.write(
        FILE,
        text.replace("PLAIN: one", "PLAIN: \"${{ fromJSON('x') }}\""),
    );
    let said = talk.said(":sync");
    assert!(said.contains("ci.yml (Line: 8"), "{said}");
    assert!(said.contains("The variables stay as they were."), "{said}");
    assert_eq!(talk.said("env.PLAIN"), "one");
    talk.end();
}

/// A job that was killed takes up the new text in its next process, and knows which variables a step has set.
#[test]
fn the_next_process_knows_variables_that_a_step_set() {
    let world = workflow(WORKFLOW);
    let mut job = SteppedJob::start(&world);
    assert_eq!(job.said("n"), "before Two");
    job.kill();
    edit(&world);
    let mut job = SteppedJob::resume(&world);
    let answer = job.line("n").expect("an answer");
    let said = answer["said"].as_str().expect("a text");
    assert!(
        said.contains("up: GONE, TOP, BOTH, PLAIN, MINE, NEW."),
        "{said}"
    );
    assert!(said.contains("stay: STEP."), "{said}");
    assert_eq!(job.said("env.STEP"), "one");
    job.end();
}
