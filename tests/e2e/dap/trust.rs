//! A launch configuration that comes with a project, and commands that nobody has seen.

use std::fs;

use serde_json::{Value, json};

use super::super::jobs::{job, workflow};
use super::talk::DapTalk;
use crate::support::World;

/// Files of the user that are not in the project do not come into a run by its launch configuration.
#[test]
fn files_outside_of_the_project_are_refused() {
    let world = workflow(&job("- {name: One, run: 'cat $GITHUB_EVENT_PATH'}"));
    let outside = world.home.join("cred.json");
    fs::write(&outside, "{\"key\": \"A=B\"}").expect("written");
    let link = world.root.join("linked.json");
    std::os::unix::fs::symlink(&outside, link).expect("a link");
    let mut talk = DapTalk::start(&world);
    talk.ok("initialize", &json!({"adapterID": "x"}));
    for (argument, option) in [
        ("eventFile", "--eventpath"),
        ("envFile", "--env-file"),
        ("secretsFile", "--secret-file"),
        ("varsFile", "--var-file"),
    ] {
        for place in [outside.to_string_lossy().as_ref(), "linked.json"] {
            let reason = talk.refused(
                "launch",
                &json!({"workflow": "ci.yml", "job": "build", argument: place}),
            );
            assert!(reason.contains("is not in the project"), "{reason}");
            assert!(reason.contains(&format!("{option} {place}")), "{reason}");
        }
    }
    let workflow = world.root.with_file_name("w.yml");
    fs::write(workflow, job("- run: echo")).expect("written");
    let reason = talk.refused("launch", &json!({"workflow": "../w.yml", "job": "build"}));
    assert!(reason.contains("is not in the project"), "{reason}");
    fs::write(world.root.join("own.json"), "{}").expect("written");
    talk.ok(
        "launch",
        &json!({"workflow": "ci.yml", "job": "build", "eventFile": "own.json"}),
    );
    talk.leave(&json!({}));
}

/// True if a job that is launched so stops before it runs a command that reaches out.
fn stops(world: &World) -> DapTalk {
    let mut talk = DapTalk::launch(world, &json!({"stopOnEntry": false, "noDebug": true}));
    talk.ok("configurationDone", &json!({}));
    assert_eq!(talk.stop(), "entry: before 'Out'");
    assert!(talk.output().contains("git push"), "{}", talk.output());
    talk
}

/// Commands that reach out are listed until somebody has continued from the stop at which they are shown.
#[test]
fn commands_are_agreed_to_by_going_on() {
    let world = workflow(&job("- {name: Out, run: 'git push || true'}"));
    let mut talk = DapTalk::launch(&world, &json!({}));
    talk.leave(&json!({}));
    stops(&world).leave(&json!({"terminateDebuggee": true}));
    let mut talk = stops(&world);
    talk.ok("continue", &json!({"threadId": 1}));
    assert_eq!(talk.end(), 0);
    let mut talk = DapTalk::launch(&world, &json!({"stopOnEntry": false}));
    talk.ok("configurationDone", &json!({}));
    assert_eq!(talk.end(), 0);
}

/// A name of a file with a secret completes nothing.
#[test]
fn completions_have_no_secrets() {
    let world = workflow(&job(
        "- {name: One, run: 'touch \"file-${{ secrets.TOK }}\" file-plain'}\n- {name: Two, run: echo}",
    ));
    fs::write(world.root.join(".secrets"), "TOK=hidden-value\n").expect("written");
    let mut talk = DapTalk::begin(&world, &json!({"secretsFile": ".secrets"}));
    assert_eq!(talk.go("next"), "step: before 'Two'");
    let words = talk.ok("completions", &json!({"text": "!cat file", "column": 10}));
    let labels = words["targets"].as_array().expect("a list").iter();
    let labels: Vec<&Value> = labels.map(|one| &one["label"]).collect();
    assert_eq!(labels, ["file-plain"]);
    talk.leave(&json!({"terminateDebuggee": true}));
    let all = serde_json::to_string(&talk.all).expect("a text");
    assert!(!all.contains("hidden-value"), "{all}");
}
