//! Ways of VS Code in which it differs from other clients.

use serde_json::{Value, json};

use super::super::jobs::{job, workflow};
use super::talk::DapTalk;
use crate::support::World;

const STEPS: &str = "
- name: One
  run: echo one
- name: Two
  if: false
  run: echo two
- name: Three
  run: echo three";

/// A client of this name, whose job stands before its first step.
fn client(world: &World, name: &str) -> DapTalk {
    let mut talk = DapTalk::start(world);
    talk.ok(
        "initialize",
        &json!({"adapterID": "backstitch-job", "clientID": name}),
    );
    talk.ok("launch", &json!({"workflow": "ci.yml"}));
    talk.ok("configurationDone", &json!({}));
    assert_eq!(talk.stop(), "entry: before 'One'");
    talk
}

fn groups(all: &[Value]) -> Vec<&str> {
    let groups = all.iter().map(|message| message["body"]["group"].as_str());
    groups.flatten().collect()
}

/// VS Code loses lines of groups that come later, so it gets none. A step that is left out is named, and ends no group.
#[test]
fn vs_code_gets_output_without_groups() {
    let world = workflow(&job(STEPS));
    let mut other = client(&world, "nvim");
    other.ok("next", &json!({"threadId": 1}));
    assert_eq!(other.stop(), "step: before 'Three'");
    assert_eq!(groups(&other.all), ["start", "end"]);
    let reason = "its condition does not hold";
    let output = other.output();
    assert!(
        output.contains(&format!("Two: skipped: {reason}")),
        "{output}"
    );
    other.leave(&json!({"terminateDebuggee": true}));

    let mut code = client(&world, "vscode");
    code.ok("next", &json!({"threadId": 1}));
    assert_eq!(code.stop(), "step: before 'Three'");
    assert_eq!(groups(&code.all), [""; 0]);
    let output = code.output();
    assert!(output.contains("\u{1b}[1mOne\u{1b}[0m\n"), "{output}");
    assert!(
        output.contains(&format!("Two: skipped: {reason}")),
        "{output}"
    );
    code.leave(&json!({"terminateDebuggee": true}));
}

/// A window that closes says nothing of the job, which stays for `attach`. Its thread has the name of the job.
#[test]
fn a_closed_window_leaves_the_job() {
    let world = workflow(&job(STEPS));
    let mut code = client(&world, "vscode");
    let threads = code.ok("threads", &json!({}));
    assert_eq!(threads["threads"], json!([{"id": 1, "name": "build"}]));
    assert_eq!(code.go("next"), "step: before 'Three'");
    code.leave(&json!({"restart": false}));

    let mut again = DapTalk::start(&world);
    again.ok(
        "initialize",
        &json!({"adapterID": "backstitch-job", "clientID": "vscode"}),
    );
    again.ok("attach", &json!({"run": "last"}));
    again.ok("configurationDone", &json!({}));
    assert!(again.stop().ends_with("before 'Three'"));
    again.ok("continue", &json!({"threadId": 1}));
    assert_eq!(again.end(), 0);
}

/// The contexts that are looked at most often come first.
#[test]
fn variables_come_right_after_the_step() {
    let world = workflow(&job(STEPS));
    let mut code = client(&world, "vscode");
    code.frames();
    let scopes = code.ok("scopes", &json!({"frameId": code.frame_ids[0]}));
    let scopes = scopes["scopes"].as_array().expect("scopes").iter();
    let names: Vec<&str> = scopes.filter_map(|scope| scope["name"].as_str()).collect();
    assert_eq!(names[..4], ["Step", "env", "PATH", "steps"]);
    code.leave(&json!({"terminateDebuggee": true}));
}
