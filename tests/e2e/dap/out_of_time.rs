//! Requests out of their time: each of all requests before `initialize`, while a step runs, after `terminated`, twice, and with a foreign
//! id. Nothing but the answer changes.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use super::super::jobs::back::stepped::until;
use super::super::jobs::{job, newest, workflow};
use super::talk::DapTalk;
use crate::support::World;

/// All requests of the protocol that a client may send, but those that begin or end a session.
fn requests(world: &World) -> Vec<(&'static str, Value)> {
    let source = json!({"path": world.root.join(".github/workflows/ci.yml")});
    let thread = json!({"threadId": 1});
    vec![
        ("attach", json!({"run": "last"})),
        ("breakpointLocations", json!({"source": source, "line": 6})),
        ("cancel", json!({"requestId": 1})),
        ("completions", json!({"text": ":", "column": 2})),
        ("configurationDone", json!({})),
        ("continue", thread.clone()),
        ("dataBreakpointInfo", json!({"name": "A"})),
        (
            "disassemble",
            json!({"memoryReference": "1", "instructionCount": 1}),
        ),
        (
            "evaluate",
            json!({"expression": "!touch bad", "context": "repl"}),
        ),
        ("evaluate", json!({"expression": "n", "context": "repl"})),
        (
            "evaluate",
            json!({"expression": "env.A", "context": "watch"}),
        ),
        ("exceptionInfo", thread.clone()),
        ("goto", json!({"threadId": 1, "targetId": 1})),
        ("gotoTargets", json!({"source": source, "line": 9})),
        (
            "initialize",
            json!({"adapterID": "x", "linesStartAt1": false}),
        ),
        ("launch", json!({"workflow": "ci.yml"})),
        ("loadedSources", json!({})),
        ("locations", json!({"locationReference": 1})),
        ("modules", json!({})),
        ("next", thread.clone()),
        ("nothing", json!({})),
        ("readMemory", json!({"memoryReference": "1", "count": 1})),
        ("restart", json!({})),
        ("restartFrame", json!({"frameId": 1})),
        ("reverseContinue", thread.clone()),
        ("scopes", json!({"frameId": 1})),
        (
            "setBreakpoints",
            json!({"source": source, "breakpoints": []}),
        ),
        ("setDataBreakpoints", json!({"breakpoints": []})),
        ("setExceptionBreakpoints", json!({"filters": ["failed"]})),
        (
            "setExpression",
            json!({"expression": "env.A", "value": "bad"}),
        ),
        ("setFunctionBreakpoints", json!({"breakpoints": []})),
        ("setInstructionBreakpoints", json!({"breakpoints": []})),
        (
            "setVariable",
            json!({"variablesReference": 1, "name": "A", "value": "bad"}),
        ),
        ("source", json!({"sourceReference": 1})),
        ("stackTrace", thread.clone()),
        ("stepBack", thread.clone()),
        ("stepIn", thread.clone()),
        ("stepInTargets", json!({"frameId": 1})),
        ("stepOut", thread),
        ("terminateThreads", json!({"threadIds": [1]})),
        ("threads", json!({})),
        ("variables", json!({"variablesReference": 1})),
        ("writeMemory", json!({"memoryReference": "1", "data": ""})),
    ]
}

/// Requests that are answered in any state, and change nothing by it.
const ALWAYS: [&str; 15] = [
    "breakpointLocations",
    "cancel",
    "completions",
    "configurationDone",
    "dataBreakpointInfo",
    "gotoTargets",
    "loadedSources",
    "scopes",
    "setBreakpoints",
    "setDataBreakpoints",
    "setExceptionBreakpoints",
    "setFunctionBreakpoints",
    "threads",
    "stackTrace",
    "variables",
];

/// The first step runs until a file is there.
const STEPS: &str = "
- name: One
  run: echo A=1 >> $GITHUB_ENV; touch ready; until test -e go; do sleep 0.02; done; echo one >> log
- name: Two
  run: echo two >> log
- name: Three
  run: echo three >> log";

fn workspace(world: &World) -> std::path::PathBuf {
    newest(world).join("files/work/work/work")
}

/// Names and contents of files.
type NamedFiles = Vec<(String, Vec<u8>)>;

fn files(place: &Path) -> NamedFiles {
    let entries = fs::read_dir(place).expect("a directory").flatten();
    let mut all: Vec<(String, Vec<u8>)> = entries
        .filter(|entry| entry.path().is_file())
        .map(|entry| {
            let name = entry.file_name().to_string_lossy().into_owned();
            (name, fs::read(entry.path()).expect("a file"))
        })
        .collect();
    all.sort();
    all
}

/// The job where it stands: its frames, its values, and its files.
fn state(talk: &mut DapTalk, world: &World) -> (Vec<(String, u64)>, Vec<Value>, NamedFiles) {
    let frames = talk.frames();
    let values = ["env", "PATH", "steps", "job"].map(|name| {
        let scope = talk.scope(name);
        json!(talk.values(scope))
    });
    (frames, values.into(), files(&workspace(world)))
}

/// Before `initialize` each request is refused, and has no effect on the session that follows.
#[test]
fn before_initialize() {
    let world = workflow(&job(STEPS));
    let mut talk = DapTalk::start(&world);
    for (command, arguments) in requests(&world) {
        if command != "initialize" {
            let reason = talk.refused(command, &arguments);
            assert_eq!(reason, format!("{command} comes before initialize."));
        }
    }
    assert!(!newest(&world).join("run.json").exists());
    talk.ok("initialize", &json!({"adapterID": "x"}));
    talk.ok("launch", &json!({"workflow": "ci.yml"}));
    talk.ok("configurationDone", &json!({}));
    assert_eq!(talk.stop(), "entry: before 'One'");
    assert_eq!(talk.events("stopped").count(), 1);
    talk.leave(&json!({"terminateDebuggee": true}));
}

/// Between `initialize` and the first stop requests that need a job are refused.
#[test]
fn before_the_launch() {
    let world = workflow(&job(STEPS));
    let mut talk = DapTalk::start(&world);
    talk.ok("initialize", &json!({"adapterID": "x"}));
    for (command, arguments) in requests(&world) {
        if !ALWAYS.contains(&command) && !["launch", "attach"].contains(&command) {
            talk.refused(command, &arguments);
        }
    }
    assert!(!newest(&world).join("run.json").exists());
    talk.ok("launch", &json!({"workflow": "ci.yml"}));
    talk.refused("attach", &json!({}));
    talk.ok("configurationDone", &json!({}));
    assert_eq!(talk.stop(), "entry: before 'One'");
    talk.leave(&json!({"terminateDebuggee": true}));
}

/// While a step runs it is not disturbed, and is followed by one stop.
#[test]
fn while_a_step_runs() {
    let world = workflow(&job(STEPS));
    let mut talk = DapTalk::begin(&world, &json!({}));
    talk.ok("next", &json!({"threadId": 1}));
    let ready = workspace(&world).join("ready");
    until("the step runs", || ready.exists());
    for (command, arguments) in requests(&world) {
        if ALWAYS.contains(&command) {
            talk.ask(command, &arguments);
        } else {
            talk.refused(command, &arguments);
        }
    }
    fs::write(workspace(&world).join("go"), "").expect("written");
    assert_eq!(talk.stop(), "step: before 'Two'");
    let (frames, values, files) = state(&mut talk, &world);
    let two = [
        ("Two".to_owned(), 8),
        ("build".to_owned(), 3),
        ("One (checkpoint 0)".to_owned(), 6),
    ];
    assert_eq!(frames, two);
    assert_eq!(values[0], json!([["A", "1"]]));
    let names: Vec<&str> = files.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["go", "log", "ready"]);
    assert_eq!(talk.events("stopped").count(), 2);
    assert_eq!(talk.events("backstitchStep").count(), 1);
    talk.leave(&json!({"terminateDebuggee": true}));
}

/// After `terminated` nothing begins again, and the run stays as it ended.
#[test]
fn after_the_end() {
    let world = workflow(&job(
        &STEPS.replace("until test -e go; do sleep 0.02; done; ", "")
    ));
    let mut talk = DapTalk::begin(&world, &json!({}));
    talk.ok("continue", &json!({"threadId": 1}));
    assert_eq!(talk.event("exited")["exitCode"], 0);
    talk.event("terminated");
    let (place, before) = (newest(&world), files(&workspace(&world)));
    let count = talk.events("stopped").count();
    for (command, arguments) in requests(&world) {
        if ALWAYS.contains(&command) {
            talk.ask(command, &arguments);
        } else {
            talk.refused(command, &arguments);
        }
    }
    talk.ok("terminate", &json!({}));
    talk.leave(&json!({}));
    assert_eq!(talk.events("stopped").count(), count);
    assert_eq!(talk.events("terminated").count(), 1);
    assert_eq!(talk.events("exited").count(), 1);
    assert_eq!((newest(&world), files(&workspace(&world))), (place, before));
}

/// Twice at once: a question has the same answer, and of two moves the second is refused, so that the job moves once.
#[test]
fn twice() {
    let world = workflow(&job(
        &STEPS.replace("until test -e go; do sleep 0.02; done; ", "")
    ));
    let mut talk = DapTalk::begin(&world, &json!({}));
    talk.go("next");
    let before = state(&mut talk, &world);
    for (command, arguments) in requests(&world) {
        let moves = [
            "continue",
            "evaluate",
            "goto",
            "next",
            "restart",
            "restartFrame",
            "reverseContinue",
            "setExpression",
            "setVariable",
            "stepBack",
            "stepIn",
            "stepOut",
        ];
        if !moves.contains(&command) {
            let (first, second) = (talk.ask(command, &arguments), talk.ask(command, &arguments));
            assert_eq!(first["success"], second["success"], "{command}");
        }
    }
    assert_eq!(state(&mut talk, &world), before);
    let thread = json!({"threadId": 1});
    for (command, arguments, after) in [
        ("next", thread.clone(), "step: before 'Three'"),
        (
            "reverseContinue",
            thread.clone(),
            "step: stepped back: before 'One'",
        ),
        ("stepIn", thread.clone(), "step: before 'Two'"),
        (
            "restartFrame",
            Value::Null,
            "restart: stepped back: before 'One'",
        ),
        ("stepOut", thread, "step: at the end of the job"),
    ] {
        talk.frames();
        // the frame of a step that has run is another one at each stop
        let arguments = match arguments {
            Value::Null => json!({"frameId": talk.frame_ids[2]}),
            arguments => arguments,
        };
        let numbers = [(); 2].map(|()| talk.send(command, &arguments));
        assert_eq!(talk.stop(), after, "{command}");
        let answers = numbers.map(|number| talk.answer_to(number)["success"].clone());
        assert_eq!(answers, [true, false], "{command}");
    }
    assert_eq!(talk.events("stopped").count(), 7);
    for _ in 0..2 {
        talk.ok("terminate", &json!({}));
    }
    talk.ended();
}

/// Ids that are of nothing: the request is refused, and the job stands as before.
#[test]
fn with_a_foreign_id() {
    let world = workflow(&job(
        &STEPS.replace("until test -e go; do sleep 0.02; done; ", "")
    ));
    let mut talk = DapTalk::begin(&world, &json!({}));
    talk.go("next");
    let before = state(&mut talk, &world);
    for foreign in [
        json!(0),
        json!(77),
        json!(u32::MAX),
        json!(i64::MAX),
        json!(-1),
    ] {
        for (command, arguments) in [
            ("continue", json!({"threadId": foreign})),
            ("next", json!({"threadId": foreign})),
            ("stepIn", json!({"threadId": foreign})),
            ("stepOut", json!({"threadId": foreign})),
            ("stepBack", json!({"threadId": foreign})),
            ("reverseContinue", json!({"threadId": foreign})),
            ("pause", json!({"threadId": foreign})),
            ("stackTrace", json!({"threadId": foreign})),
            ("goto", json!({"threadId": 1, "targetId": foreign})),
            ("restartFrame", json!({"frameId": foreign})),
            ("scopes", json!({"frameId": foreign})),
            ("variables", json!({"variablesReference": foreign})),
            (
                "setVariable",
                json!({"variablesReference": foreign, "name": "A", "value": "bad"}),
            ),
            (
                "evaluate",
                json!({"frameId": foreign, "expression": "!touch bad", "context": "repl"}),
            ),
        ] {
            // the frame of a running step is 0: it has no values, which is not an error
            if (command, &foreign) == ("scopes", &json!(0)) {
                assert_eq!(talk.ok(command, &arguments), json!({"scopes": []}));
                continue;
            }
            talk.refused(command, &arguments);
        }
        talk.ask("cancel", &json!({"requestId": foreign}));
    }
    assert_eq!(state(&mut talk, &world), before);
    assert_eq!(talk.events("stopped").count(), 2);
    talk.leave(&json!({"terminateDebuggee": true}));
}

/// A session that has ended begins no job: after a request to terminate nothing is launched.
#[test]
fn nothing_begins_after_terminate() {
    let world = workflow(&job(STEPS));
    let mut talk = DapTalk::start(&world);
    talk.ok("initialize", &json!({"adapterID": "x"}));
    talk.ok("terminate", &json!({}));
    let reason = talk.refused("launch", &json!({"workflow": "ci.yml", "job": "build"}));
    assert_eq!(reason, "The session has ended: start another one.");
    talk.ok("configurationDone", &json!({}));
    talk.leave(&json!({}));
    assert_eq!(talk.events("stopped").count(), 0);
    assert_eq!(talk.events("terminated").count(), 1);
}

/// A client that leaves right at a stop leaves the job there: nothing runs, also no step that always runs.
#[test]
fn left_right_at_a_stop() {
    let world = workflow(&job("
- {name: One, run: \"true\"}
- {name: Two, run: \"true\"}
- {name: Always, if: always(), run: touch always}"));
    for way in ["entry", "next"] {
        for _ in 0..8 {
            let mut talk = DapTalk::launch(&world, &json!({}));
            talk.ok("configurationDone", &json!({}));
            talk.stop();
            if way == "next" {
                talk.go("next");
            }
            talk.leave(&json!({"terminateDebuggee": true}));
            assert!(!workspace(&world).join("always").exists(), "{way}");
        }
    }
}
