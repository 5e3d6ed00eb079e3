//! Habits of clients that break adapters, one test each.

use serde_json::{Value, json};

use super::super::jobs::{job, newest, workflow};
use super::STEPS;
use super::talk::DapTalk;

const MENDED: fn() -> String = || job(&STEPS.replace("; test -f mended", ""));

fn leave(mut talk: DapTalk) {
    talk.leave(&json!({"terminateDebuggee": true}));
}

/// VS Code shows both reverse buttons for one capability.
#[test]
fn one_capability_serves_both_reverse_buttons() {
    let world = workflow(&MENDED());
    let mut talk = DapTalk::begin(&world, &json!({}));
    talk.go("next");
    talk.go("next");
    assert_eq!(talk.go("stepBack"), "step: stepped back: before 'Two'");
    assert_eq!(
        talk.go("reverseContinue"),
        "step: stepped back: before 'One'"
    );
    leave(talk);
}

/// VS Code shows step in and step out always: both are answered, also at a failure and at the end.
#[test]
fn step_in_and_step_out_are_answered_everywhere() {
    let world = workflow(&job(STEPS));
    let mut talk = DapTalk::begin(&world, &json!({}));
    assert_eq!(talk.go("stepIn"), "step: before 'Two'");
    assert_eq!(talk.go("stepIn"), "exception: 'Two' failed");
    assert_eq!(talk.go("stepOut"), "step: at the end of the job");
    talk.ok("stepIn", &json!({"threadId": 1}));
    assert_eq!(talk.ended(), 1);
}

/// VS Code loses the text of an output that has a `variablesReference`: none has one, and each has its text.
#[test]
fn outputs_have_texts_and_no_references() {
    let world = workflow(&MENDED());
    let mut talk = DapTalk::begin(&world, &json!({}));
    let lines = json!([{"line": 9, "logMessage": "all: {steps} {github.job}"}]);
    talk.set_lines(&world.root.join(".github/workflows/ci.yml"), &lines);
    talk.go("next");
    talk.console("steps");
    talk.console(":checkpoints");
    talk.console("!echo hello");
    talk.ok("continue", &json!({"threadId": 1}));
    talk.ended();
    for event in talk.events("output") {
        let body = &event["body"];
        assert!(body["output"].is_string(), "{event}");
        assert!(body.get("variablesReference").is_none(), "{event}");
    }
    assert!(talk.output().contains("all: {"), "{}", talk.output());
}

/// VS Code needs `stopped` after `configurationDone`: it loses one that comes before the answer, also where the launch comes last.
#[test]
fn stopped_comes_after_configuration() {
    for is_late in [false, true] {
        let world = workflow(&MENDED());
        let mut talk = DapTalk::start(&world);
        talk.ok("initialize", &json!({"adapterID": "x"}));
        let launch = json!({"workflow": "ci.yml"});
        if is_late {
            talk.ok("configurationDone", &json!({}));
            assert_eq!(talk.events("stopped").count(), 0);
            talk.ok("launch", &launch);
        } else {
            talk.ok("launch", &launch);
            talk.ok("threads", &json!({}));
            assert_eq!(talk.events("stopped").count(), 0);
            talk.ok("configurationDone", &json!({}));
        }
        assert_eq!(talk.stop(), "entry: before 'One'");
        let place = |holds: &dyn Fn(&Value) -> bool| talk.all.iter().position(holds);
        let answered = place(&|one| one["command"] == "configurationDone");
        let launched = place(&|one| one["command"] == "launch");
        let stopped = place(&|one| one["event"] == "stopped");
        assert!(answered < stopped && launched < stopped, "{:#?}", talk.all);
        leave(talk);
    }
}

/// nvim-dap ignores `invalidated`: each word that restores, or runs a step, is followed by `stopped`, after its answer.
#[test]
fn stopped_follows_each_word_that_moves_the_job() {
    let world = workflow(&MENDED());
    let mut talk = DapTalk::begin(&world, &json!({}));
    for (line, stop) in [
        ("n", "step: before 'Two'"),
        (":back", "step: before 'One'"),
        (":undo", "step: before 'Two'"),
        (":retry", "step: before 'Two'"),
        (":again", "step: before 'Two'"),
        (":goto Three", "step: before 'Three'"),
        (":goto 1", "step: before 'One'"),
        ("s", "step: before 'Two'"),
        (":start", "step: before 'One'"),
        (":skip", "step: before 'Two'"),
    ] {
        let number = talk.send("evaluate", &json!({"expression": line, "context": "repl"}));
        assert_eq!(talk.stop(), stop, "{line}");
        let answered = talk.all.iter().rev().skip(1);
        let mut answered = answered.filter(|message| message["request_seq"] == number);
        assert_eq!(
            answered.next().map(|one| one["success"].clone()),
            Some(json!(true)),
            "{line}"
        );
    }
    leave(talk);
}

/// `3` before the step-back key of nvim-dap sends three requests at once. Each is carried out, and a fourth one without a checkpoint is
/// refused.
#[test]
fn steps_back_that_are_sent_at_once() {
    let world = workflow(&MENDED());
    let mut talk = DapTalk::begin(&world, &json!({}));
    for _ in 0..3 {
        talk.go("next");
    }
    let numbers: Vec<i64> = (0..4)
        .map(|_| talk.send("stepBack", &json!({"threadId": 1})))
        .collect();
    for before in ["Three", "Two", "One"] {
        assert_eq!(
            talk.stop(),
            format!("step: stepped back: before '{before}'")
        );
    }
    let fourth = talk.answer_to(numbers[3]);
    assert_eq!(fourth["success"], false, "{fourth}");
    for number in &numbers[..3] {
        assert_eq!(talk.answer_to(*number)["success"], true);
    }
    let log = newest(&world).join("files/work/work/work/log");
    assert!(!log.exists());
    leave(talk);
}

/// Clients without a button for it, such as dape and Helix, step back by `:back` in their console. Helix evaluates without a context.
#[test]
fn the_console_steps_back_without_a_button_and_without_a_context() {
    let world = workflow(&MENDED());
    let mut talk = DapTalk::begin(&world, &json!({}));
    talk.go("next");
    talk.go("next");
    let evaluate = |line: &str| json!({"expression": line});
    talk.ok("evaluate", &evaluate(":back"));
    assert_eq!(talk.stop(), "step: before 'Two'");
    talk.ok("evaluate", &evaluate("!touch by-hand"));
    assert!(newest(&world).join("files/work/work/work/by-hand").exists());
    let value = talk.ok("evaluate", &evaluate("env.A"));
    assert_eq!(value["result"], "1");
    // a name that is also a word is an expression there
    talk.refused("evaluate", &evaluate("n"));
    assert_eq!(talk.frames()[0].0, "Two");
    leave(talk);
}
