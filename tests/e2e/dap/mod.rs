//! `backstitch dap`: a CI job in an editor, stepped forward and back.

mod answers;
mod dialogues;
mod known_failures;
mod launching;
mod model;
mod nvim_dap;
mod official;
mod out_of_time;
mod places;
mod scenarios;
mod schema;
mod secrets;
mod slow_clients;
mod stepping;
mod talk;
mod traps;
mod trust;
mod vscode;
mod walks;
mod watching;

use serde_json::{Value, json};

use super::jobs::back::stepped::until;
use super::jobs::{job, newest, workflow, workflow_with};
use crate::support::World;
use talk::DapTalk;

const STEPS: &str = "
- name: One
  id: one
  run: echo one >> log; echo v=1 >> $GITHUB_OUTPUT; echo A=1 >> $GITHUB_ENV
- name: Two
  run: echo two >> log; test -f mended
- name: Three
  run: echo three >> log";

fn log(world: &World) -> String {
    let file = newest(world).join("files/work/work/work/log");
    std::fs::read_to_string(file).expect("a file")
}

/// The story: a job fails, it is mended in the console, one step back, continue, green.
#[test]
fn a_job_fails_is_mended_and_steps_back() {
    let world = workflow(&job(STEPS));
    let mut talk = DapTalk::begin(&world, &json!({}));
    let none = talk.refused("stepBack", &json!({"threadId": 1}));
    assert_eq!(none, "No checkpoints are available: no step has run.");
    assert_eq!(
        talk.ok("threads", &json!({}))["threads"][0]["name"],
        "build"
    );
    assert_eq!(talk.go("continue"), "exception: 'Two' failed");
    let failure = talk.ok("exceptionInfo", &json!({"threadId": 1}));
    assert_eq!(
        failure["description"],
        "Two: Process completed with exit code 1."
    );
    assert_eq!(talk.go("stepBack"), "step: stepped back: before 'Two'");
    assert_eq!(log(&world), "one\n");
    assert_eq!(talk.console("!touch mended; export B=2"), "Set: B.");
    assert_eq!(talk.console("env.B"), "2");
    assert_eq!(talk.go("next"), "step: before 'Three'");
    assert_eq!(
        talk.frames(),
        [
            ("Three".to_owned(), 11),
            ("build".to_owned(), 3),
            ("Two (checkpoint 1, attempt 2)".to_owned(), 9),
            ("One (checkpoint 0)".to_owned(), 6)
        ]
    );
    talk.ok("continue", &json!({"threadId": 1}));
    assert_eq!(talk.end(), 0);
    assert_eq!(log(&world), "one\ntwo\nthree\n");
}

/// Requests before their time, after it, of no kind, and while a step runs change nothing but their answer.
#[test]
fn requests_out_of_their_time_are_refused() {
    let world = workflow(&job("
- name: One
  run: touch ready; sleep 60
- {name: Two, run: 'true'}"));
    let mut talk = DapTalk::start(&world);
    assert_eq!(
        talk.refused("threads", &json!({})),
        "threads comes before initialize."
    );
    talk.write("{");
    talk.write("[]");
    talk.ok("initialize", &json!({"adapterID": "x"}));
    talk.refused("initialize", &json!({"adapterID": "x"}));
    let wrong = talk.refused("launch", &json!({"workflow": "nope.yml"}));
    assert!(wrong.contains("nope.yml: no such workflow"), "{wrong}");
    let widened = talk.refused(
        "launch",
        &json!({"workflow": "ci.yml", "inheritEnv": ["SSH_AUTH_SOCK"]}),
    );
    assert!(
        widened.contains("inheritEnv is not an argument"),
        "{widened}"
    );
    let outside = talk.refused(
        "launch",
        &json!({"workflow": "ci.yml", "actions": {"a/b@v1": "/"}}),
    );
    assert!(outside.contains("is not in the project"), "{outside}");
    talk.ok("launch", &json!({"workflow": "ci.yml"}));
    talk.refused("launch", &json!({"workflow": "ci.yml"}));
    talk.refused("next", &json!({"threadId": 1}));
    talk.ok("configurationDone", &json!({}));
    assert_eq!(talk.stop(), "entry: before 'One'");
    for (command, arguments) in [
        ("modules", json!({})),
        ("scopes", json!({"frameId": 99})),
        ("variables", json!({"variablesReference": 99})),
        ("restartFrame", json!({"frameId": 1})),
        ("goto", json!({"threadId": 1})),
        ("setBreakpoints", json!({"source": {}})),
        ("evaluate", json!({})),
    ] {
        talk.refused(command, &arguments);
    }
    talk.ok("next", &json!({"threadId": 1}));
    let ready = newest(&world).join("files/work/work/work/ready");
    until("the step runs", || ready.exists());
    for command in ["next", "stepBack", "reverseContinue", "restart"] {
        talk.refused(command, &json!({"threadId": 1}));
    }
    talk.refused(
        "evaluate",
        &json!({"expression": "!touch x", "context": "repl"}),
    );
    talk.ok("threads", &json!({}));
    talk.ok("pause", &json!({"threadId": 1}));
    assert_eq!(talk.stop(), "pause: frozen in 'One'");
    assert_eq!(talk.go("stepBack"), "step: stepped back: before 'One'");
    talk.leave(&json!({"terminateDebuggee": true}));
}

const ACTION: &str = "name: a
runs:
  using: composite
  steps:
    - {name: In one, shell: bash, run: echo in1 >> log}
    - {name: In two, shell: bash, run: echo in2 >> log}
";

const COMPOSITE: &str = "
- {name: One, uses: actions/checkout@v4}
- {name: Use, uses: ./act}
- {name: Post, run: echo post >> log}
- {name: Last, run: echo last >> log}";

/// Breakpoints on lines, also of composite actions, on names, with conditions, counts and messages. Reverse goes to the last one.
#[test]
fn breakpoints_stop_the_job() {
    let world = workflow_with(&job(COMPOSITE), &[("act/action.yml", ACTION)]);
    let mut talk = DapTalk::launch(&world, &json!({}));
    let action = world.root.join("act/action.yml");
    let set = talk.set_lines(
        &action,
        &json!([{"line": 6, "condition": "github.job == 'build'"}, {"line": 1}]),
    );
    assert_eq!(
        (&set[0]["verified"], &set[0]["line"]),
        (&json!(true), &json!(6))
    );
    assert_eq!(set[1]["message"], "Line 1 is in no step.");
    let file = world.root.join(".github/workflows/ci.yml");
    let lines = json!([
        {"line": 8, "logMessage": "here: {github.job}"},
        {"line": 9, "hitCondition": "2"},
        {"line": 9, "condition": "false"}
    ]);
    talk.set_lines(&file, &lines);
    let names = json!({"breakpoints": [{"name": "La*"}]});
    talk.ok("setFunctionBreakpoints", &names);
    talk.ok("configurationDone", &json!({}));
    assert_eq!(talk.stop(), "entry: before 'One'");
    assert_eq!(talk.go("continue"), "breakpoint: before 'In two'");
    let frames = talk.frames();
    assert_eq!(
        frames[..3],
        [
            ("In two".to_owned(), 6),
            ("Use".to_owned(), 7),
            ("build".to_owned(), 3)
        ]
    );
    assert_eq!(talk.go("stepOut"), "step: before 'Post'");
    assert!(talk.output().contains("here: build"), "{}", talk.output());
    assert_eq!(talk.go("continue"), "function breakpoint: before 'Last'");
    let back = "breakpoint: stepped back: before 'In two'";
    assert_eq!(talk.go("reverseContinue"), back);
    assert_eq!(log(&world), "in1\n");
    let first = "step: stepped back: before 'One'";
    assert_eq!(talk.go("reverseContinue"), first);
    talk.leave(&json!({"terminateDebuggee": true}));
}

/// Values of the place where the job stands can be seen and set; those of a step that has run are kept as they were. In all messages
/// secrets show as names only, masked everywhere (U-07).
#[test]
fn u_07_values_are_seen_and_set_without_secrets() {
    let world = workflow(&job(STEPS));
    world.write("secrets", "KEY=hidden-value\n");
    let mut talk = DapTalk::begin(&world, &json!({"secretsFile": "secrets"}));
    assert_eq!(talk.go("next"), "step: before 'Two'");
    let env = talk.scope("env");
    assert_eq!(talk.values(env), [("A".to_owned(), "1".to_owned())]);
    let set = |name: &str, value: &str, reference: u64| json!({"variablesReference": reference, "name": name, "value": value});
    talk.ok("setVariable", &set("A", "hidden-value", env));
    assert_eq!(talk.console("env.A"), "***");
    // references stay, since a client may not hear of new values
    assert_eq!(talk.values(env), [("A".to_owned(), "***".to_owned())]);
    let github = talk.scope("github");
    let fixed = talk.refused("setVariable", &set("job", "x", github));
    assert!(fixed.contains("read-only"), "{fixed}");
    assert_eq!(talk.console("!echo $A; export H=hidden-value"), "Set: H.");
    let hover = json!({"expression": "secrets.KEY", "context": "hover"});
    assert_eq!(talk.ok("evaluate", &hover)["result"], "***");
    // an expression never runs a command
    talk.refused(
        "evaluate",
        &json!({"expression": "!touch bad", "context": "watch"}),
    );
    let secrets = talk.scope("secrets");
    assert!(talk.values(secrets).iter().all(|(_, value)| value == "***"));
    let steps = talk.ok(
        "evaluate",
        &json!({"expression": "${{ steps.one.outputs }}", "context": "watch"}),
    );
    let parts = steps["variablesReference"].as_u64().expect("a reference");
    assert_eq!(talk.values(parts), [("v".to_owned(), "1".to_owned())]);
    let words = talk.ok("completions", &json!({"text": ":che", "column": 5}));
    assert_eq!(words["targets"][0]["label"], ":checkpoints");
    assert_eq!(talk.console(":env A=plain"), "A is set");
    assert_eq!(talk.go("stepBack"), "step: stepped back: before 'One'");
    let old = talk.refused("variables", &json!({"variablesReference": env}));
    assert!(old.contains("of an earlier stop"), "{old}");
    talk.leave(&json!({"terminateDebuggee": true}));
    let all = serde_json::to_string(&talk.all).expect("a text");
    assert!(!all.contains("hidden-value"), "{all}");
}

/// A run outlives its adapter: another one continues it where it stood, also after a kill.
#[test]
fn a_run_is_continued_by_another_adapter() {
    let world = workflow(&job(STEPS));
    let mut talk = DapTalk::begin(&world, &json!({}));
    assert_eq!(talk.go("next"), "step: before 'Two'");
    talk.console("!touch mended");
    talk.kill();
    for ending in ["suspend", "leave", "end"] {
        let mut talk = DapTalk::start(&world);
        talk.ok("initialize", &json!({"adapterID": "x"}));
        talk.ok("attach", &json!({}));
        talk.ok("configurationDone", &json!({}));
        assert_eq!(talk.stop(), "entry: before 'Two'");
        match ending {
            "suspend" => talk.leave(&json!({"suspendDebuggee": true})),
            // a job that another process began stays without a word
            "leave" => talk.leave(&json!({})),
            _ => {
                talk.ok("continue", &json!({"threadId": 1}));
                assert_eq!(talk.end(), 0);
            }
        }
    }
    assert_eq!(log(&world), "one\ntwo\nthree\n");
}

/// The way to a line leads back to its checkpoint, or ahead, leaving out the steps between. A frame leads back to before its step.
#[test]
fn lines_and_frames_lead_to_checkpoints() {
    let world = workflow(&job(&STEPS.replace("; test -f mended", "")));
    let file = world.root.join(".github/workflows/ci.yml");
    let mut talk = DapTalk::begin(&world, &json!({}));
    let target = |line: u32| json!({"source": {"path": file}, "line": line});
    let ahead = talk.ok("gotoTargets", &target(11));
    assert!(
        ahead["targets"][0]["label"]
            .as_str()
            .expect("a label")
            .contains("ahead")
    );
    talk.ok(
        "goto",
        &json!({"threadId": 1, "targetId": ahead["targets"][0]["id"]}),
    );
    assert_eq!(talk.stop(), "goto: before 'Three'");
    assert_eq!(talk.go("next"), "step: at the end of the job");
    assert_eq!(log(&world), "three\n");
    let frame = talk.ok("stackTrace", &json!({"threadId": 1}))["stackFrames"][1].clone();
    assert_eq!(frame["canRestart"], true);
    // a hint would dim it, and VS Code would fold it and take its button
    assert_eq!(frame["presentationHint"], Value::Null);
    talk.ok("restartFrame", &json!({"frameId": frame["id"]}));
    assert_eq!(talk.stop(), "restart: stepped back: before 'Three'");
    talk.ok("terminate", &json!({}));
    assert_eq!(talk.end(), 1);
}

/// Without debugging the job runs through, and its failure is the exit code.
#[test]
fn a_job_runs_without_debugging() {
    let world = workflow(&job(STEPS));
    let mut talk = DapTalk::launch(&world, &json!({"noDebug": true}));
    talk.ok("configurationDone", &json!({}));
    assert_eq!(talk.end(), 1);
    assert_eq!(log(&world), "one\ntwo\n");
}

/// Commands that reach out and that nobody has seen are listed, and the job stands before its first step, whatever the arguments are.
#[test]
fn unseen_commands_stop_the_job() {
    let world = workflow(&job("- {name: One, run: 'true || git push'}"));
    let mut talk = DapTalk::launch(&world, &json!({"noDebug": true, "stopOnEntry": false}));
    talk.ok("configurationDone", &json!({}));
    assert_eq!(talk.stop(), "entry: before 'One'");
    assert!(
        talk.output().contains("line 6: git push"),
        "{}",
        talk.output()
    );
    talk.leave(&json!({"terminateDebuggee": true}));
}

/// A request to terminate cancels the step that runs, and the job, and ends a line of the console. Steps that run always still run. It
/// is answered once the job has ended: a client that kills the adapter then loses nothing.
#[test]
fn a_running_job_is_terminated() {
    let world = workflow(&job("
- name: One
  run: touch ready; sleep 600
- name: Two
  if: cancelled()
  run: touch cleaned"));
    let place = |name: &str| newest(&world).join("files/work/work/work").join(name);
    let status = || world.json(["job", "list", "--runs"])["runs"][0]["status"].clone();
    let mut talk = DapTalk::begin(&world, &json!({}));
    talk.ok("next", &json!({"threadId": 1}));
    until("the step runs", || place("ready").exists());
    talk.ok("terminate", &json!({}));
    assert!(place("cleaned").exists());
    talk.kill();
    assert_eq!(status(), "cancelled");

    let mut talk = DapTalk::begin(&world, &json!({}));
    let line = json!({"expression": "!touch begun; sleep 600", "context": "repl"});
    talk.send("evaluate", &line);
    until("the line runs", || place("begun").exists());
    // this step waits for the line, and does not run after the wish for the end
    talk.ok("next", &json!({"threadId": 1}));
    talk.ok("terminate", &json!({}));
    talk.kill();
    assert!(!place("ready").exists());
    assert_eq!(status(), "cancelled");
}

/// Lines of the console are followed by any request: people type ahead. Each is carried out after those before it.
#[test]
fn people_type_ahead_of_the_console() {
    let world = workflow(&job(STEPS));
    let mut talk = DapTalk::begin(&world, &json!({}));
    talk.go("next");
    let line = |text: &str| json!({"expression": text, "context": "repl"});
    let asked = [
        talk.send(
            "evaluate",
            &line("!until test -e go; do sleep 0.02; done; touch mended"),
        ),
        talk.send("evaluate", &line("!export B=2")),
        talk.send(
            "evaluate",
            &json!({"expression": "env.B", "context": "watch"}),
        ),
        talk.send("continue", &json!({"threadId": 1})),
    ];
    let refused = talk.refused("next", &json!({"threadId": 1}));
    assert_eq!(refused, "The job does not stand.");
    let work = newest(&world).join("files/work/work/work");
    std::fs::write(work.join("go"), "").expect("written");
    let [first, second, value, moved] = asked.map(|number| talk.answer_to(number));
    assert_eq!(
        [&first["success"], &second["success"], &moved["success"]],
        [true; 3]
    );
    assert_eq!(value["body"]["result"], "2");
    assert_eq!(talk.end(), 0);
    assert_eq!(log(&world), "one\ntwo\nthree\n");
}
