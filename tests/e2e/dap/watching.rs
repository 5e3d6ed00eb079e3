//! Data, failures and files that a client watches, and values that it sets.

use serde_json::{Value, json};

use super::super::jobs::back::stepped::until;
use super::super::jobs::{job, newest, workflow, workflow_with};
use super::talk::DapTalk;
use super::{STEPS, log};
use crate::support::{World, finish};

const WRITING: &str = "
- name: One
  id: one
  run: echo v=1 >> $GITHUB_OUTPUT; echo A=1 >> $GITHUB_ENV
- name: Two
  run: mkdir -p src; echo two > src/x
- name: Three
  run: echo A=2 >> $GITHUB_ENV; echo three >> other
- name: Four
  run: echo four >> src/x";

fn data_id(talk: &mut DapTalk, name: &str) -> Value {
    let info = talk.ok("dataBreakpointInfo", &json!({"name": name}));
    assert!(info["dataId"].is_string(), "{info}");
    info["dataId"].clone()
}

/// The text of the newest stop.
fn text(talk: &DapTalk) -> String {
    let mut stops = talk.all.iter().rev();
    let stop = stops.find(|message| message["event"] == "stopped");
    let text = &stop.expect("a stop")["body"]["text"];
    text.as_str().unwrap_or_default().to_owned()
}

/// The job stops after the step that changed a variable, an output or a file, forward and back.
#[test]
fn watched_data_stops_the_job() {
    let world = workflow(&job(WRITING));
    let mut talk = DapTalk::begin(&world, &json!({}));
    let none = talk.ok("dataBreakpointInfo", &json!({"name": "github.sha"}));
    assert_eq!(
        (&none["dataId"], &none["description"]),
        (&Value::Null, &json!("github.sha: no step changes github."))
    );
    let output = data_id(&mut talk, "steps.one.outputs.v");
    let file = data_id(&mut talk, "src/x");
    let variable = data_id(&mut talk, "env.A");
    let wanted = json!({"breakpoints": [
        {"dataId": output}, {"dataId": file}, {"dataId": variable, "condition": "env.A == '2'"}, {"dataId": "env"}
    ]});
    let set = talk.ok("setDataBreakpoints", &wanted);
    assert_eq!(set["breakpoints"][2]["verified"], true);
    assert_eq!(set["breakpoints"][3]["verified"], false);
    assert_eq!(talk.go("continue"), "data breakpoint: before 'Two'");
    assert_eq!(
        text(&talk),
        "steps.one.outputs.v changed from nothing to '1'"
    );
    assert_eq!(talk.go("continue"), "data breakpoint: before 'Three'");
    assert_eq!(text(&talk), "'Two' changed src/x");
    assert_eq!(talk.go("continue"), "data breakpoint: before 'Four'");
    assert_eq!(text(&talk), "env.A changed from '1' to '2'");
    assert_eq!(
        talk.go("continue"),
        "data breakpoint: at the end of the job"
    );
    let back = "data breakpoint: stepped back: before 'Four'";
    assert_eq!(talk.go("reverseContinue"), back);
    // the step before changed the variable to a value at whose place the condition does not hold
    let back = "data breakpoint: stepped back: before 'Two'";
    assert_eq!(talk.go("reverseContinue"), back);
    let back = "data breakpoint: stepped back: before 'One'";
    assert_eq!(talk.go("reverseContinue"), back);
    let first = talk.refused("reverseContinue", &json!({"threadId": 1}));
    assert_eq!(first, "No checkpoints are available: no step has run.");
    talk.leave(&json!({"terminateDebuggee": true}));
}

const FAILING: &str = "
- {name: Error, run: 'echo ::error::wrong'}
- {name: Absent, uses: no/body@v1}
- {name: Allowed, run: exit 3, continue-on-error: true}
- {name: Failed, run: exit 4}
- {name: Late, if: always(), run: exit 5}";

/// Each kind of failure stops the job if its filter is on and its condition holds.
#[test]
fn failures_stop_the_job_by_kind_and_condition() {
    let world = workflow(&job(FAILING));
    let mut talk = DapTalk::launch(&world, &json!({}));
    let set = talk.ok(
        "setExceptionBreakpoints",
        &json!({"filters": ["absent-action", "error-command", "failed-but-continued", "nope"],
            "filterOptions": [{"filterId": "failed", "condition": "steps.__run_3.outcome == 'failure'"}]}),
    );
    let verified: Vec<&Value> = set["breakpoints"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|one| &one["verified"])
        .collect();
    assert_eq!(verified, [true, true, true, false, true]);
    talk.ok("configurationDone", &json!({}));
    assert_eq!(talk.stop(), "entry: before 'Error'");
    let failure = |talk: &mut DapTalk| {
        let info = talk.ok("exceptionInfo", &json!({"threadId": 1}));
        (
            info["exceptionId"].clone(),
            info["description"].as_str().expect("a text").to_owned(),
        )
    };
    // two failures at one place are one stop, which tells the earlier one
    assert_eq!(talk.go("continue"), "exception: before 'Absent'");
    assert_eq!(
        failure(&mut talk),
        (json!("error-command"), "wrong".to_owned())
    );
    assert_eq!(talk.go("stepBack"), "step: stepped back: before 'Error'");
    let absent = json!({"filters": ["absent-action", "failed-but-continued"],
        "filterOptions": [{"filterId": "failed", "condition": "env.STOP == '1'"}]});
    talk.ok("setExceptionBreakpoints", &absent);
    assert_eq!(talk.go("continue"), "exception: before 'Absent'");
    let (id, description) = failure(&mut talk);
    assert_eq!(id, "absent-action");
    assert!(
        description.starts_with("The action no/body@v1 is not on this machine."),
        "{description}"
    );
    assert_eq!(talk.console(":skip"), "");
    assert_eq!(talk.stop(), "step: before 'Allowed'");
    assert_eq!(talk.go("continue"), "exception: before 'Failed'");
    let text = "Allowed: Process completed with exit code 3.";
    assert_eq!(
        failure(&mut talk),
        (json!("failed-but-continued"), text.to_owned())
    );
    assert_eq!(talk.go("continue"), "step: at the end of the job");
    talk.console(":back 2");
    assert_eq!(talk.stop(), "step: before 'Failed'");
    talk.console(":env STOP=1");
    assert_eq!(talk.go("continue"), "exception: 'Failed' failed");
    assert_eq!(failure(&mut talk).0, "failed");
    talk.leave(&json!({"terminateDebuggee": true}));
}

/// A step that reports an error and succeeds stops the job where that filter is on.
#[test]
fn a_reported_error_stops_the_job() {
    let world = workflow(&job("
- {name: One, run: 'echo ::error::wrong'}
- {name: Two, run: 'true'}"));
    let mut talk = DapTalk::launch(&world, &json!({}));
    talk.ok(
        "setExceptionBreakpoints",
        &json!({"filters": ["error-command"]}),
    );
    talk.ok("configurationDone", &json!({}));
    assert_eq!(talk.stop(), "entry: before 'One'");
    assert_eq!(talk.go("continue"), "exception: before 'Two'");
    let info = talk.ok("exceptionInfo", &json!({"threadId": 1}));
    assert_eq!(
        (&info["exceptionId"], &info["description"]),
        (&json!("error-command"), &json!("wrong"))
    );
    talk.ok("continue", &json!({"threadId": 1}));
    assert_eq!(talk.end(), 0);
}

/// Values are set by expressions, and the result of a step that failed, too. A value that no step changes is refused.
#[test]
fn expressions_set_values() {
    let world = workflow(&job(STEPS));
    let mut talk = DapTalk::begin(&world, &json!({}));
    assert_eq!(talk.go("continue"), "exception: 'Two' failed");
    let set = |expression: &str, value: &str| json!({"expression": expression, "value": value});
    talk.ok("setExpression", &set("env.A", "7"));
    talk.ok("setExpression", &set("${{ steps.one.outputs['v'] }}", "8"));
    assert_eq!(
        talk.console("format('{0}{1}', env.A, steps.one.outputs.v)"),
        "78"
    );
    let fixed = talk.refused("setExpression", &set("github.sha", "1"));
    assert!(fixed.contains("no step changes github"), "{fixed}");
    let other = talk.refused("setExpression", &set("steps.one.outcome", "failure"));
    assert!(
        other.contains("does not stand at a failure of one"),
        "{other}"
    );
    talk.refused("setExpression", &set("job.status", "fine"));
    talk.ok("setExpression", &set("job.status", "success"));
    assert_eq!(talk.stop(), "step: before 'Three'");
    talk.ok("continue", &json!({"threadId": 1}));
    assert_eq!(talk.end(), 0);
}

/// Values of the launch are set for the steps that follow, with their kinds. A step back reverts it.
#[test]
fn values_of_the_launch_are_set() {
    let text = "on:
  workflow_dispatch:
    inputs:
      fast: {type: boolean, default: false}
      count: {type: number, default: 1}
jobs:
  build:
    runs-on: ubuntu-latest
    steps:
      - {name: One, uses: actions/checkout@v4}
      - {name: Two, run: 'echo ${{ inputs.fast }} ${{ inputs.count }} ${{ vars.V }} >> log; tool >> log'}
      - {name: Act, uses: ./act, with: {who: me}}
";
    let action = "name: a
inputs: {who: {default: x}}
runs:
  using: composite
  steps: [{name: In, shell: bash, run: 'echo ${{ inputs.who }} >> log'}]
";
    let world = workflow_with(text, &[("act/action.yml", action)]);
    let mut talk = DapTalk::begin(&world, &json!({}));
    assert_eq!(talk.go("next"), "step: before 'Two'");
    let place = newest(&world).join("files/work/work/work/bin");
    let path = place.display();
    talk.console(&format!(
        "!mkdir {path}; echo 'echo found' > {path}/tool; chmod +x {path}/tool"
    ));
    let set = |reference: u64, name: &str, value: &str| json!({"variablesReference": reference, "name": name, "value": value});
    let inputs = talk.scope("inputs");
    let wrong = talk.refused("setVariable", &set(inputs, "fast", "perhaps"));
    assert_eq!(wrong, "perhaps: write true or false.");
    let wrong = talk.refused("setVariable", &set(inputs, "slow", "true"));
    assert_eq!(
        wrong,
        "slow: there is no such input; there are: fast, count"
    );
    talk.ok("setVariable", &set(inputs, "fast", "true"));
    talk.ok(
        "setExpression",
        &json!({"expression": "inputs.count", "value": "3"}),
    );
    assert_eq!(talk.console("inputs.count == 3 && inputs.fast"), "true");
    talk.ok(
        "setExpression",
        &json!({"expression": "vars.V", "value": "new"}),
    );
    let dirs = talk.scope("PATH");
    talk.ok("setVariable", &set(dirs, "0", &path.to_string()));
    assert_eq!(talk.go("next"), "step: before 'Act'");
    assert_eq!(log(&world), "true 3 new\nfound\n");
    assert_eq!(talk.go("stepIn"), "step: before 'In'");
    talk.ok(
        "setExpression",
        &json!({"expression": "inputs.who", "value": "you"}),
    );
    assert_eq!(talk.go("next"), "step: at the end of the job");
    assert_eq!(log(&world), "true 3 new\nfound\nyou\n");
    talk.console(":goto [0]");
    assert_eq!(talk.stop(), "step: before 'One'");
    assert_eq!(
        talk.console("format('{0}{1}', inputs.fast, vars.V)"),
        "false"
    );
    talk.leave(&json!({"terminateDebuggee": true}));
}

/// An expression at the frame of a step that has run has the values that the step began with.
#[test]
fn expressions_are_of_their_frame() {
    let world = workflow(&job(STEPS));
    let mut talk = DapTalk::begin(&world, &json!({}));
    assert_eq!(talk.go("continue"), "exception: 'Two' failed");
    let stack = talk.ok("stackTrace", &json!({"threadId": 1}));
    let frames = stack["stackFrames"].as_array().expect("frames").clone();
    let value = |talk: &mut DapTalk, name: &str, context: &str| {
        let is_it = |frame: &&Value| frame["name"].as_str().expect("a name").starts_with(name);
        let frame = frames.iter().find(is_it).expect("a frame");
        let asked = json!({"expression": "env.A", "context": context, "frameId": frame["id"]});
        talk.ok("evaluate", &asked)["result"].clone()
    };
    for context in ["watch", "hover", "repl"] {
        assert_eq!(value(&mut talk, "Two (failed)", context), "1");
        assert_eq!(value(&mut talk, "Two (checkpoint", context), "1");
        assert_eq!(value(&mut talk, "One", context), "null");
    }
    // the job is as it was
    assert_eq!(talk.console("steps.two.outcome || env.A"), "1");
    talk.leave(&json!({"terminateDebuggee": true}));
}

/// A restart begins the job anew as a further attempt, with the workflow as it is now.
#[test]
fn a_restart_reads_the_workflow_anew() {
    let text = job("
- {name: One, run: 'echo $GITHUB_RUN_ATTEMPT >> log'}
- {name: Two, run: 'echo ${{ github.run_attempt }} >> log'}");
    let world = workflow(&text);
    let mut talk = DapTalk::begin(&world, &json!({"stopAtEnd": true}));
    assert_eq!(talk.go("restart"), "restart: before 'One'");
    assert_eq!(talk.go("continue"), "step: at the end of the job");
    assert_eq!(log(&world), "1\n1\n");
    let edited = text.replace("name: Two, run: 'echo", "name: Second, run: 'echo second");
    world.write(".github/workflows/ci.yml", &edited);
    assert_eq!(talk.go("restart"), "restart: stepped back: before 'One'");
    assert!(!newest(&world).join("files/work/work/work/log").exists());
    assert_eq!(talk.go("next"), "step: before 'Second'");
    assert_eq!(talk.go("continue"), "step: at the end of the job");
    assert_eq!(log(&world), "2\nsecond 2\n");
    assert_eq!(talk.go("restart"), "restart: stepped back: before 'One'");
    assert_eq!(talk.console("github.run_attempt"), "3");
    talk.leave(&json!({"terminateDebuggee": true}));
}

/// Files that a step changed have their contents before and after it, and the script that runs next has its values.
#[test]
fn changed_files_and_scripts_are_sources() {
    let world = workflow(&job(&WRITING.replace("echo four", "echo ${{ env.A }}")));
    let mut talk = DapTalk::begin(&world, &json!({}));
    let none = talk.refused("backstitchChanges", &json!({}));
    assert_eq!(none, "No step has ended, so none has changed files.");
    for _ in 0..3 {
        talk.go("next");
    }
    let script = talk.ok("loadedSources", &json!({}));
    let script = script["sources"]
        .as_array()
        .expect("a list")
        .last()
        .expect("a script")
        .clone();
    assert_eq!(script["name"], "Four (script)");
    let content = |talk: &mut DapTalk, reference: &Value| {
        let body = talk.ok("source", &json!({"sourceReference": reference}));
        body["content"].as_str().expect("a text").to_owned()
    };
    assert_eq!(
        content(&mut talk, &script["sourceReference"]),
        "echo 2 >> src/x"
    );
    assert_eq!(talk.go("next"), "step: at the end of the job");
    let changes = talk.ok("backstitchChanges", &json!({}));
    assert_eq!(changes["title"], "Four (attempt 1)");
    let file = changes["files"][0].clone();
    assert_eq!(
        (&file["path"], &file["status"]),
        (&json!("src/x"), &json!("modified"))
    );
    assert_eq!(content(&mut talk, &file["before"]), "two\n");
    assert_eq!(content(&mut talk, &file["after"]), "two\n2\n");
    let stack = talk.ok("stackTrace", &json!({"threadId": 1}));
    let two = stack["stackFrames"].as_array().expect("frames").iter();
    let two = two
        .clone()
        .find(|frame| frame["name"].as_str().expect("a name").starts_with("Two"))
        .expect("a frame");
    let changes = talk.ok("backstitchChanges", &json!({"frameId": two["id"]}));
    let file = &changes["files"][0];
    assert_eq!(
        (&file["path"], &file["status"], &file["before"]),
        (&json!("src/x"), &json!("added"), &json!(0))
    );
    talk.refused("source", &json!({"sourceReference": 99}));
    talk.leave(&json!({"terminateDebuggee": true}));
}

/// Labels of the completions of a line, with the place from which they replace.
fn completed(talk: &mut DapTalk, line: &str) -> Vec<(String, u64)> {
    let body = talk.ok(
        "completions",
        &json!({"text": line, "column": line.encode_utf16().count() + 1}),
    );
    let all = body["targets"].as_array().expect("a list").iter();
    let pair = |one: &Value| {
        (
            one["label"].as_str().expect("a label").to_owned(),
            one["start"].as_u64().expect("a place"),
        )
    };
    all.map(pair).collect()
}

/// Words, steps, contexts and their keys, functions, and files after a `!` are completed.
#[test]
fn the_console_completes() {
    let world = workflow(&job(WRITING));
    let mut talk = DapTalk::begin(&world, &json!({}));
    talk.go("next");
    talk.go("next");
    let one = |label: &str, start: u64| vec![(label.to_owned(), start)];
    assert_eq!(completed(&mut talk, ":goto Fo"), one(":goto Four", 1));
    assert_eq!(
        completed(&mut talk, "steps.one.outputs."),
        one("steps.one.outputs.v", 1)
    );
    assert_eq!(completed(&mut talk, "é || strat"), one("strategy", 6));
    assert_eq!(completed(&mut talk, "hashF"), one("hashFiles(", 1));
    assert_eq!(completed(&mut talk, "!cat src"), one("src/", 6));
    assert_eq!(completed(&mut talk, "!cat src/"), one("src/x", 6));
    talk.leave(&json!({"terminateDebuggee": true}));
}

/// While a step runs the stack and the values of the last stop are answered, and a command of the console can be cancelled.
#[test]
fn requests_are_answered_while_a_step_runs() {
    let world = workflow(&job("
- {name: One, run: 'true'}
- {name: Two, run: 'touch ready; sleep 60'}"));
    let mut talk = DapTalk::begin(&world, &json!({}));
    assert_eq!(talk.go("next"), "step: before 'Two'");
    let env = talk.scope("github");
    talk.ok("next", &json!({"threadId": 1}));
    let workspace = newest(&world).join("files/work/work/work");
    until("the step runs", || workspace.join("ready").exists());
    let frames = talk.frames();
    let names: Vec<&str> = frames.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["Two (running)", "build", "One (checkpoint 0)"]);
    assert!(!talk.values(env).is_empty());
    talk.ok("pause", &json!({"threadId": 1}));
    assert_eq!(talk.stop(), "pause: frozen in 'Two'");
    assert_eq!(talk.go("stepBack"), "step: stepped back: before 'Two'");
    let command = json!({"expression": "!touch begun; sleep 60", "context": "repl"});
    let number = talk.send("evaluate", &command);
    until("the command runs", || workspace.join("begun").exists());
    talk.ok("cancel", &json!({"requestId": number + 1}));
    talk.ok("cancel", &json!({"requestId": number}));
    let answer = talk.answer(number);
    assert!(
        answer["body"]["result"]
            .as_str()
            .expect("a text")
            .contains("canceled"),
        "{answer}"
    );
    // the job has not ended by it
    assert_eq!(talk.console("job.status"), "success");
    assert_eq!(talk.go("stepBack"), "step: stepped back: before 'One'");
    talk.leave(&json!({"terminateDebuggee": true}));
}

fn needed() -> World {
    workflow_with(
        "on: push
jobs:
  first:
    runs-on: ubuntu-latest
    steps: [{run: 'touch \"$HOME/ran\"; true || git push'}]
  build:
    needs: first
    runs-on: ubuntu-latest
    steps:
      - {name: One, run: echo one >> log}
",
        &[],
    )
}

/// Unseen commands of a job that the stepped one needs stop the run before that.
#[test]
fn unseen_commands_stop_before_needed_jobs() {
    let world = needed();
    let mut talk = DapTalk::launch(&world, &json!({"noDebug": true}));
    talk.ok("configurationDone", &json!({}));
    assert_eq!(
        talk.stop(),
        "entry: before the jobs that it needs: some of their commands reach out. Continue to agree to this"
    );
    assert_eq!(talk.frames(), [("build".to_owned(), 6)]);
    talk.refused("stepBack", &json!({"threadId": 1}));
    talk.refused("evaluate", &json!({"expression": "1", "context": "repl"}));
    talk.ok("terminate", &json!({}));
    assert_eq!(talk.end(), 1);
    // the user has not agreed to them yet
    let mut talk = DapTalk::launch(&world, &json!({}));
    talk.ok("configurationDone", &json!({}));
    assert!(
        talk.stop()
            .starts_with("entry: before the jobs that it needs")
    );
    assert_eq!(talk.go("continue"), "entry: before 'One'");
    talk.leave(&json!({"terminateDebuggee": true}));
    let mut talk = DapTalk::launch(&world, &json!({}));
    talk.ok("configurationDone", &json!({}));
    assert_eq!(talk.stop(), "entry: before 'One'");
    talk.leave(&json!({"terminateDebuggee": true}));
}

/// A breakpoint that a client sends again with others keeps its number and its hits.
#[test]
fn hits_stay_while_other_breakpoints_change() {
    let world = workflow(&job(&STEPS.replace("; test -f mended", "")));
    let file = world.root.join(".github/workflows/ci.yml");
    let mut talk = DapTalk::begin(&world, &json!({}));
    let second = json!({"line": 9, "hitCondition": "2"});
    let first = talk.set_lines(&file, &json!([second]));
    assert_eq!(talk.go("next"), "step: before 'Two'");
    assert_eq!(talk.go("stepBack"), "step: stepped back: before 'One'");
    let again = talk.set_lines(&file, &json!([{"line": 11}, second]));
    assert_eq!(again[1]["id"], first[0]["id"]);
    assert_eq!(talk.go("continue"), "breakpoint: before 'Two'");
    talk.leave(&json!({"terminateDebuggee": true}));
}

/// A word of the console that runs steps tells the client that the job runs, and where it stands then.
#[test]
fn a_word_of_the_console_continues_the_job() {
    let world = workflow(&job(STEPS));
    let mut talk = DapTalk::begin(&world, &json!({}));
    let process = talk
        .all
        .iter()
        .find(|message| message["event"] == "process");
    assert_eq!(process.expect("an event")["body"]["name"], "build");
    let number = talk.send("evaluate", &json!({"expression": "n", "context": "repl"}));
    talk.event("continued");
    talk.answer(number);
    assert_eq!(talk.stop(), "step: before 'Two'");
    // nothing runs here, and the client hears that the job stands
    talk.console("!touch mended");
    let number = talk.send(
        "evaluate",
        &json!({"expression": ":retry now", "context": "repl"}),
    );
    assert_eq!(talk.answer(number)["success"], false);
    talk.console(":where");
    assert_eq!(talk.stop(), "step: before 'Two'");
    talk.leave(&json!({"terminateDebuggee": true}));
}

/// `:shell` asks the client for a terminal. The shell there has all that the next step finds, and its variables are taken up.
#[test]
fn a_shell_in_a_terminal_of_the_client() {
    let world = workflow(&job(STEPS));
    let mut plain = DapTalk::begin(&world, &json!({}));
    let line = json!({"expression": ":shell", "context": "repl"});
    let refused = plain.refused("evaluate", &line);
    assert_eq!(refused, "This client opens no terminals: write !COMMAND.");
    plain.leave(&json!({"terminateDebuggee": true}));

    let mut talk = DapTalk::start(&world);
    talk.ok(
        "initialize",
        &json!({"adapterID": "x", "supportsRunInTerminalRequest": true}),
    );
    talk.ok("launch", &json!({"workflow": "ci.yml", "job": "build"}));
    talk.ok("configurationDone", &json!({}));
    talk.stop();
    talk.go("next");
    let asked = talk.send("evaluate", &line);
    let wanted = talk.request_of_adapter("runInTerminal");
    let words = wanted["arguments"]["args"].as_array().expect("a list");
    let words: Vec<&str> = words.iter().filter_map(Value::as_str).collect();
    let mut shell = world.command(words[0]);
    shell.args(&words[1..]);
    talk.respond(&wanted, true);
    let typed = b"echo \"A is $A\"; pwd; export B=2; unset A; (exit 3)\n";
    let ran = finish(&mut shell, typed);
    assert!(ran.stdout.contains("A is 1"), "{ran:?}");
    let answer = talk.answer_to(asked);
    assert_eq!(answer["body"]["result"], "Set: B. Unset: A.");
    assert_eq!(talk.console("format('{0}{1}', env.A, env.B)"), "2");

    // a terminal that is not opened ends the wait
    let asked = talk.send("evaluate", &line);
    let wanted = talk.request_of_adapter("runInTerminal");
    talk.respond(&wanted, false);
    let answer = talk.answer_to(asked);
    assert_eq!(answer["message"], "No shell has begun on a terminal.");
    assert!(
        talk.output()
            .contains("The client has opened no terminal: full")
    );

    // a shell that is killed hands nothing over
    let asked = talk.send("evaluate", &line);
    let wanted = talk.request_of_adapter("runInTerminal");
    let words = wanted["arguments"]["args"].as_array().expect("a list");
    let words: Vec<&str> = words.iter().filter_map(Value::as_str).collect();
    let mut shell = world.command(words[0]);
    shell.args(&words[1..]);
    let ran = finish(&mut shell, b"export C=3; kill -9 $$\n");
    assert_eq!(ran.code, 0, "{ran:?}");
    let answer = talk.answer_to(asked);
    let said = answer["body"]["result"].as_str().expect("a text");
    assert!(said.contains("nothing of it is set"), "{said}");
    assert_eq!(talk.console("env.C"), "null");
    talk.leave(&json!({"terminateDebuggee": true}));
}

/// A directory to which a command of the console goes stays for the next one, until the job continues. A word after which a step has
/// failed stops as a failure.
#[test]
fn the_console_stays_in_its_directory() {
    let world = workflow(&job(STEPS));
    let mut talk = DapTalk::begin(&world, &json!({}));
    let pwd = |talk: &mut DapTalk| {
        let seen = talk.output().len();
        talk.console("!pwd");
        talk.ok("threads", &json!({}));
        talk.output()[seen..].trim().to_owned()
    };
    let workspace = pwd(&mut talk);
    talk.console("!mkdir -p a/b; cd a/b");
    assert_eq!(pwd(&mut talk), format!("{workspace}/a/b"));
    talk.console("!cd ..; rmdir b");
    assert_eq!(pwd(&mut talk), format!("{workspace}/a"));
    talk.console("!rmdir \"$PWD\"");
    assert_eq!(pwd(&mut talk), workspace);
    talk.console("!mkdir c; cd c");
    talk.console("n");
    assert_eq!(talk.stop(), "step: before 'Two'");
    assert_eq!(pwd(&mut talk), workspace);
    talk.console("n");
    assert_eq!(talk.stop(), "exception: 'Two' failed");
    talk.leave(&json!({"terminateDebuggee": true}));
}
