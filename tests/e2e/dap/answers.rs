//! Answers about what is there: values of steps that have run, data, failures, and requests with errors.

use serde_json::{Value, json};

use super::super::jobs::back::stepped::until;
use super::super::jobs::{job, newest, workflow, workflow_with};
use super::talk::DapTalk;
use super::{STEPS, log};

/// A scope of the frame whose name begins so.
fn scope_of(talk: &mut DapTalk, frame: &str, scope: &str) -> Vec<(String, String)> {
    let stack = talk.ok("stackTrace", &json!({"threadId": 1}));
    let frames = stack["stackFrames"].as_array().expect("frames");
    let is_it = |one: &&Value| one["name"].as_str().expect("a name").starts_with(frame);
    let id = frames.iter().find(is_it).expect("a frame")["id"].clone();
    let scopes = talk.ok("scopes", &json!({"frameId": id}));
    let mut scopes = scopes["scopes"].as_array().expect("scopes").iter();
    let found = scopes.find(|one| one["name"] == scope).expect("a scope");
    let reference = found["variablesReference"].as_u64().expect("a reference");
    talk.values(reference)
}

fn names(values: Vec<(String, String)>) -> Vec<String> {
    values.into_iter().map(|(name, _)| name).collect()
}

/// The scope `steps` of a step that has run has the steps beside it by their ids, also within a composite action.
#[test]
fn steps_of_a_frame_are_those_beside_it() {
    let text = job("
- {name: One, id: one, uses: actions/checkout@v4}
- {name: Use, id: use, uses: ./act}
- {name: Last, run: 'true'}");
    let action = "name: a
runs:
  using: composite
  steps:
    - {name: In one, id: first, shell: bash, run: 'true'}
    - {name: In two, id: second, shell: bash, run: 'true'}
";
    let world = workflow_with(&text, &[("act/action.yml", action)]);
    let mut talk = DapTalk::begin(&world, &json!({}));
    talk.go("next");
    talk.go("stepIn");
    talk.go("next");
    talk.go("next");
    assert_eq!(names(scope_of(&mut talk, "In two (", "steps")), ["first"]);
    assert_eq!(names(scope_of(&mut talk, "Use (", "steps")), ["one"]);
    assert_eq!(scope_of(&mut talk, "One (", "steps"), []);
    talk.leave(&json!({"terminateDebuggee": true}));
}

/// A status that no step has set is success: a step that succeeds does not change it, and one that fails does.
#[test]
fn an_unset_status_is_success() {
    let world = workflow(&job(STEPS));
    let mut talk = DapTalk::launch(&world, &json!({}));
    talk.ok("setExceptionBreakpoints", &json!({"filters": []}));
    talk.ok("configurationDone", &json!({}));
    assert_eq!(talk.stop(), "entry: before 'One'");
    let info = talk.ok("dataBreakpointInfo", &json!({"name": "job.status"}));
    let wanted = json!({"breakpoints": [{"dataId": info["dataId"]}]});
    talk.ok("setDataBreakpoints", &wanted);
    assert!(talk.go("continue").starts_with("data breakpoint: "));
    let stop = talk.events("stopped").last().expect("a stop");
    assert_eq!(
        stop["body"]["text"],
        "job.status changed from 'success' to 'failure'"
    );
    talk.leave(&json!({"terminateDebuggee": true}));
}

/// A breakpoint on `JOB/STEP` stops the job. One without a step is not verified, and holds once an edit gives a step its name.
#[test]
fn breakpoints_on_names_find_their_steps() {
    let text = job(&STEPS.replace("; test -f mended", ""));
    let world = workflow(&text);
    let names = json!({"breakpoints": [
        {"name": "build/Two"}, {"name": ""}, {"name": "Fourth"}, {"name": "test/Two"}, {"name": "on*"}
    ]});
    let verified = |all: &Value| -> Vec<bool> {
        let all = all.as_array().expect("a list").iter();
        all.map(|one| one["verified"] == true).collect()
    };
    let mut talk = DapTalk::start(&world);
    talk.ok("initialize", &json!({"adapterID": "x"}));
    let early = talk.ok("setFunctionBreakpoints", &names);
    assert_eq!(verified(&early["breakpoints"]), [false; 5]);
    talk.ok("launch", &json!({"workflow": "ci.yml"}));
    let told = talk.events("breakpoint");
    let told: Vec<Value> = told
        .map(|event| event["body"]["breakpoint"].clone())
        .collect();
    assert_eq!(verified(&json!(told)), [true, false, false, true]);
    let set = talk.ok("setFunctionBreakpoints", &names);
    let set = &set["breakpoints"];
    assert_eq!(verified(set), [true, false, false, false, true]);
    assert_eq!(
        set[1]["message"],
        "No step is named: write a name, an id, a pattern, or JOB/STEP."
    );
    assert_eq!(
        set[2]["message"],
        "No step of build has the name or the id Fourth. The job stops once one has it."
    );
    talk.ok("setExceptionBreakpoints", &json!({"filters": []}));
    talk.ok("configurationDone", &json!({}));
    assert_eq!(talk.stop(), "entry: before 'One'");
    assert_eq!(talk.go("continue"), "function breakpoint: before 'Two'");
    let edited = text.replace("name: Three", "name: Fourth");
    world.write(".github/workflows/ci.yml", &edited);
    assert_eq!(talk.go("continue"), "function breakpoint: before 'Fourth'");
    talk.leave(&json!({"terminateDebuggee": true}));
}

/// A failure has the places of errors, and the last lines of output without secrets, also after a line of the console.
#[test]
fn a_failure_has_its_last_lines() {
    let world = workflow(&job("
- name: One
  run: echo before
- name: Two
  run: |
    seq 30
    echo '::error file=src/main.rs,line=7::wrong type'
    echo is hidden-value
    exit 3"));
    world.write("secrets", "KEY=hidden-value\n");
    let mut talk = DapTalk::begin(&world, &json!({"secretsFile": "secrets"}));
    assert_eq!(talk.go("continue"), "exception: 'Two' failed");
    talk.console("!echo of the console");
    let info = talk.ok("exceptionInfo", &json!({"threadId": 1}));
    let first = "Two: Process completed with exit code 3.";
    assert_eq!(info["description"], first);
    assert_eq!(info["details"]["message"], first);
    let lines = info["details"]["stackTrace"].as_str().expect("lines");
    let lines: Vec<&str> = lines.lines().collect();
    assert_eq!(lines[..2], ["src/main.rs:7: wrong type", "22"]);
    assert_eq!(lines[9..], ["30", "is ***"]);
    talk.leave(&json!({"terminateDebuggee": true}));
}

/// A variable that no program can have is refused, however it is set.
#[test]
fn variables_that_no_program_can_have_are_refused() {
    let world = workflow(&job(STEPS));
    let mut talk = DapTalk::begin(&world, &json!({}));
    assert_eq!(talk.go("next"), "step: before 'Two'");
    let env = talk.scope("env");
    for (name, value, reason) in [
        ("", "x", "The variable has no name."),
        (
            "A=B",
            "x",
            "\"A=B\" is not set: the name of a variable has no = and no NUL.",
        ),
        (
            "A",
            "x\0y",
            "A is not set: the value of a variable has no NUL.",
        ),
    ] {
        let variable = json!({"variablesReference": env, "name": name, "value": value});
        assert_eq!(talk.refused("setVariable", &variable), reason);
    }
    let expression = json!({"expression": "env['A=B']", "value": "x"});
    talk.refused("setExpression", &expression);
    talk.refused(
        "evaluate",
        &json!({"expression": ":env A=x\0y", "context": "repl"}),
    );
    assert_eq!(talk.values(env), [("A".to_owned(), "1".to_owned())]);
    talk.leave(&json!({"terminateDebuggee": true}));
}

/// Files outside of the workspace are not watched. One within it may have its whole path.
#[test]
fn files_outside_the_workspace_are_not_watched() {
    let world = workflow(&job(STEPS));
    let mut talk = DapTalk::begin(&world, &json!({}));
    for path in ["/etc/passwd", "../x", "src/../../x"] {
        let info = talk.ok("dataBreakpointInfo", &json!({"name": path}));
        let reason = format!(
            "{path} is not in the workspace: write a path that begins there, as src/main.rs."
        );
        assert_eq!(
            (&info["dataId"], &info["description"]),
            (&Value::Null, &json!(reason))
        );
        let wanted = json!({"breakpoints": [{"dataId": path}]});
        let set = talk.ok("setDataBreakpoints", &wanted);
        assert_eq!(set["breakpoints"][0]["verified"], false, "{path}");
        assert_eq!(set["breakpoints"][0]["message"], reason.as_str());
    }
    let file = newest(&world).join("files/work/work/work/log");
    let info = talk.ok("dataBreakpointInfo", &json!({"name": file}));
    assert_eq!(info["dataId"], "./log");
    talk.ok(
        "setDataBreakpoints",
        &json!({"breakpoints": [{"dataId": "./log"}]}),
    );
    assert_eq!(talk.go("continue"), "data breakpoint: before 'Two'");
    talk.leave(&json!({"terminateDebuggee": true}));
}

/// One step alone is named by its number, as a number or as a text.
#[test]
fn a_step_has_a_number() {
    let world = workflow(&job("
- {name: One, run: echo one >> log}
- {name: Two, run: echo two >> log}"));
    for step in [json!(2), json!("2")] {
        let mut talk = DapTalk::launch(&world, &json!({"step": step, "noDebug": true}));
        talk.ok("configurationDone", &json!({}));
        assert_eq!(talk.end(), 0);
        assert_eq!(log(&world), "two\n");
    }
    let mut talk = DapTalk::start(&world);
    talk.ok("initialize", &json!({"adapterID": "x"}));
    let wrong = json!({"workflow": "ci.yml", "step": true});
    let wrong = talk.refused("launch", &wrong);
    assert_eq!(
        wrong,
        "step is true: write its id, its name, or its number."
    );
}

/// Errors in requests have no names of types, arguments that are left out are none, and those that there are not are named once.
#[test]
fn errors_in_arguments_are_sentences() {
    let world = workflow(&job(STEPS));
    let mut talk = DapTalk::start(&world);
    talk.may_send_wrong_requests();
    talk.ok("initialize", &json!({"adapterID": "x"}));
    let none = json!(null);
    assert_eq!(
        talk.refused("launch", &none),
        "The configuration names no workflow: \"workflow\": \".github/workflows/ci.yml\"."
    );
    let empty = talk.refused("attach", &json!({}));
    assert_eq!(talk.refused("attach", &none), empty);
    assert!(!empty.contains("Arguments"), "{empty}");
    assert_eq!(
        talk.refused("launch", &json!({"workflow": "ci.yml", "job": 5})),
        "job of launch: integer `5` is there, where a string is expected."
    );
    let launch = json!({
        "workflow": "ci.yml", "typo": true, "type": "backstitch-job", "request": "launch", "name": "x",
        "__sessionId": "1", "presentation": {}, "noDebug": false, "home": false
    });
    talk.ok("launch", &launch);
    talk.ok("configurationDone", &none);
    assert_eq!(talk.stop(), "entry: before 'One'");
    let output = talk.output();
    let named: Vec<&str> = output
        .lines()
        .filter(|line| line.contains("no such argument"))
        .collect();
    assert_eq!(named, ["typo: launch has no such argument."]);
    assert_eq!(talk.refused("scopes", &none), "scopes: frameId is missing.");
    talk.leave(&json!({"terminateDebuggee": true}));
}

/// The frames of a step that runs, and of an earlier stop, have no scopes, which is not an error.
#[test]
fn frames_of_no_stop_have_no_scopes() {
    let world = workflow(&job("
- name: One
  run: touch ready; until test -e go; do sleep 0.02; done"));
    let mut talk = DapTalk::begin(&world, &json!({}));
    talk.frames();
    let earlier = talk.frame_ids[0];
    talk.ok("next", &json!({"threadId": 1}));
    let work = newest(&world).join("files/work/work/work");
    until("the step runs", || work.join("ready").exists());
    assert_eq!(talk.frames()[0].0, "One (running)");
    let frame = talk.frame_ids[0];
    let scopes = talk.ok("scopes", &json!({"frameId": frame}));
    assert_eq!(scopes["scopes"], json!([]));
    let asked = json!({"expression": "env.A", "context": "watch", "frameId": frame});
    let reason = "The job does not stand: pause it first.";
    assert_eq!(talk.refused("evaluate", &asked), reason);
    std::fs::write(work.join("go"), "").expect("written");
    assert_eq!(talk.stop(), "step: at the end of the job");
    for old in [frame, earlier] {
        let scopes = talk.ok("scopes", &json!({"frameId": old}));
        assert_eq!(scopes["scopes"], json!([]));
    }
    let reason = talk.refused("scopes", &json!({"frameId": 999}));
    assert_eq!(reason, "There is no frame 999.");
    talk.leave(&json!({"terminateDebuggee": true}));
}

/// A value with parts is one line, as hovers and views show it, and can be opened.
#[test]
fn values_with_parts_are_one_line() {
    let world = workflow(&job(STEPS));
    let mut talk = DapTalk::begin(&world, &json!({}));
    for context in ["watch", "hover"] {
        let asked = json!({"expression": "fromJSON('{\"a\": [1, 2]}')", "context": context});
        let value = talk.ok("evaluate", &asked);
        assert_eq!(value["result"], r#"{"a":[1,2]}"#);
        assert_ne!(value["variablesReference"], 0);
    }
    talk.leave(&json!({"terminateDebuggee": true}));
}
