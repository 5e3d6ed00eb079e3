//! Generated dialogues, valid and not: each request has one answer, no message is lost, and the adapter ends with its client.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::STEPS;
use super::talk::DapTalk;
use crate::jobs::{job, workflow};
use crate::support::rng::{Rng, cases};

/// Requests of a dialogue.
const LENGTH: usize = 40;

/// Requests, those that move the job more often.
const REQUESTS: &[&str] = &[
    "attach",
    "breakpointLocations",
    "cancel",
    "completions",
    "configurationDone",
    "continue",
    "evaluate",
    "exceptionInfo",
    "goto",
    "gotoTargets",
    "initialize",
    "launch",
    "loadedSources",
    "modules",
    "next",
    "next",
    "pause",
    "restartFrame",
    "reverseContinue",
    "scopes",
    "setBreakpoints",
    "setExceptionBreakpoints",
    "setFunctionBreakpoints",
    "setVariable",
    "stackTrace",
    "stepBack",
    "stepBack",
    "stepIn",
    "stepOut",
    "terminate",
    "threads",
    "variables",
    "nothing",
];

/// Requests after which the job stands again, if they succeed.
const MOVES: &[&str] = &[
    "continue",
    "goto",
    "next",
    "restartFrame",
    "reverseContinue",
    "stepBack",
    "stepIn",
    "stepOut",
];

fn arguments(rng: &mut Rng) -> Value {
    let file = ".github/workflows/ci.yml";
    let expressions = [
        "env.A", "!echo hi", "n", "b", ":retry", "steps", "}{", ":goto 2", "!exit 3", ":undo",
    ];
    let target = *rng.pick(&[6, 9, 11, 99]);
    let context = *rng.pick(&["repl", "watch", "hover"]);
    let mut all = json!({
        "adapterID": "x", "workflow": file, "job": "build", "threadId": 1, "source": {"path": file},
        "frameId": rng.below(8), "variablesReference": rng.below(60), "targetId": target,
        "line": rng.below(16), "expression": rng.pick(&expressions), "context": context,
        "text": ":c", "column": 3, "name": "A", "value": "x", "filters": ["failed"],
        "breakpoints": [{"line": 1 + rng.below(14), "name": "T*"}],
    });
    let names: Vec<String> = all
        .as_object()
        .expect("an object")
        .keys()
        .cloned()
        .collect();
    for name in names {
        if rng.once_in(20) {
            let wrong = [json!(null), json!(-1), json!(""), json!([])];
            all[name] = rng.pick(&wrong).clone();
        }
    }
    all
}

fn dialogue(rng: &mut Rng) {
    let world = workflow(&job(STEPS));
    let mut talk = DapTalk::start(&world);
    let mut first = vec!["configurationDone", "launch", "initialize"];
    let mut asked = BTreeSet::new();
    for _ in 0..LENGTH {
        let next = first.pop().filter(|_| !rng.once_in(8));
        let command = next.unwrap_or_else(|| *rng.pick::<&str>(REQUESTS));
        let arguments = arguments(rng);
        if rng.once_in(4) {
            asked.insert(talk.send(command, &arguments));
            continue;
        }
        let response = talk.ask(command, &arguments);
        asked.insert(response["request_seq"].as_i64().expect("a number"));
        if response["success"] == true && MOVES.contains(&command) {
            talk.stop_or_end();
        }
    }
    talk.leave(&json!({"terminateDebuggee": true}));
    let numbers = talk
        .all
        .iter()
        .map(|message| message["seq"].as_u64().expect("a number"));
    assert!(numbers.eq(1..=talk.all.len() as u64), "{:#?}", talk.all);
    for number in asked {
        let answers = talk
            .all
            .iter()
            .filter(|message| message["request_seq"] == number);
        assert_eq!(answers.count(), 1, "{number}: {:#?}", talk.all);
    }
}

#[test]
fn each_request_has_one_answer() {
    let first = Rng::seed("BACKSTITCH_DAP_SEED", 1);
    for seed in first..first + cases("BACKSTITCH_DAP_DIALOGUES", 60, 1_000) {
        dialogue(&mut Rng::new(seed));
    }
}
