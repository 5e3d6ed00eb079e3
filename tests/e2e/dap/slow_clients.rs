//! Clients that read nothing, or die: no step waits for them, and no checkpoint is lost.

use serde_json::{Value, json};

use super::super::jobs::back::stepped::until;
use super::super::jobs::{job, newest, workflow};
use super::talk::DapTalk;
use crate::support::World;

/// More output than pipes and queues hold, and annotations, of which each is a message.
const FLOOD: &str = "
- name: One
  run: yes a line of some length that goes on for a while | head -c 60000000; seq -f '::notice::note %g' 200000
- name: Two
  run: touch second; until test -e go; do sleep 0.02; done";

fn file(world: &World, name: &str) -> std::path::PathBuf {
    newest(world).join("files/work/work/work").join(name)
}

/// Memory of a process at its highest, in MB.
fn peak(pid: u32) -> u64 {
    let text = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("a process");
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes: Option<u64> =
        line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok());
    kilobytes.expect("a number") / 1024
}

/// A client that never reads: steps run to their ends, and the memory of the adapter stays bounded.
#[test]
fn a_client_that_never_reads_holds_no_step_up() {
    let world = workflow(&job(FLOOD));
    let mut talk = DapTalk::deaf(&world);
    for (command, arguments) in [
        ("initialize", json!({"adapterID": "x"})),
        (
            "launch",
            json!({"workflow": "ci.yml", "stopOnEntry": false}),
        ),
        ("configurationDone", json!({})),
    ] {
        talk.send(command, &arguments);
    }
    until("the second step runs", || file(&world, "second").exists());
    let memory = peak(talk.pid());
    assert!(memory < 200, "{memory} MB");
    talk.kill();
    let mut talk = DapTalk::attach(&world);
    assert_eq!(talk.stop(), "entry: before 'Two'");
    assert_eq!(talk.go("stepBack"), "step: stepped back: before 'One'");
    talk.leave(&json!({"terminateDebuggee": true}));
}

/// Moments at which a client dies.
const DEATHS: [&str; 8] = [
    "before initialize",
    "before the launch",
    "launched",
    "standing",
    "running",
    "frozen",
    "failed",
    "going back",
];

/// A client that dies ends its adapter, and another one continues the run with all its checkpoints.
#[test]
fn a_client_that_dies_loses_no_checkpoint() {
    for death in DEATHS {
        let world = workflow(&job(
            "
- {name: One, run: echo one >> log}
- name: Two
  run: touch ready; until test -e go; do sleep 0.02; done; echo two >> log; test -e mended",
        ));
        let mut talk = DapTalk::start_on_a_socket(&world);
        let begins = DEATHS
            .iter()
            .position(|one| *one == death)
            .expect("a moment");
        let mut requests = vec![
            ("initialize", json!({"adapterID": "x"})),
            ("launch", json!({"workflow": "ci.yml"})),
            ("configurationDone", json!({})),
        ];
        requests.truncate(begins);
        for (command, arguments) in requests {
            talk.ok(command, &arguments);
        }
        if begins < 3 {
            talk.die();
            let runs = world.json(["job", "list", "--runs"]);
            let running = runs["runs"].as_array().expect("runs").iter();
            assert_eq!(
                running.filter(|run| run["status"] == "running").count(),
                0,
                "{runs:#}"
            );
            continue;
        }
        assert_eq!(talk.stop(), "entry: before 'One'");
        talk.ok("setExceptionBreakpoints", &json!({"filters": ["failed"]}));
        talk.go("next");
        if ["running", "frozen"].contains(&death) {
            talk.ok("next", &json!({"threadId": 1}));
            until("the step runs", || file(&world, "ready").exists());
        }
        let stop = match death {
            "frozen" => {
                talk.ok("pause", &json!({"threadId": 1}));
                assert_eq!(talk.stop(), "pause: frozen in 'Two'");
                "entry: before 'Two'"
            }
            "failed" => {
                std::fs::write(file(&world, "go"), "").expect("written");
                assert_eq!(talk.go("next"), "exception: 'Two' failed");
                "entry: 'Two' failed"
            }
            "going back" => {
                talk.send("stepBack", &json!({"threadId": 1}));
                ""
            }
            _ => "entry: before 'Two'",
        };
        talk.die();
        let mut talk = DapTalk::attach(&world);
        let found = talk.stop();
        if death == "going back" {
            assert!(
                found == "entry: before 'Two'" || found == "entry: before 'One'",
                "{found}"
            );
        } else {
            assert_eq!(found, stop, "{death}");
        }
        if found != "entry: before 'One'" {
            assert_eq!(
                talk.go("reverseContinue"),
                "step: stepped back: before 'One'",
                "{death}"
            );
        }
        std::fs::write(file(&world, "mended"), "").expect("written");
        std::fs::write(file(&world, "go"), "").expect("written");
        talk.ok("continue", &json!({"threadId": 1}));
        assert_eq!(talk.ended(), 0, "{death}");
        let log = std::fs::read_to_string(file(&world, "log")).expect("a file");
        assert_eq!(log, "one\ntwo\n", "{death}");
    }
}

/// A client that leaves without reading its last messages keeps no adapter alive once its side is closed.
#[test]
fn an_adapter_ends_with_its_client() {
    let world = workflow(&job("- {name: One, run: 'true'}"));
    let mut talk = DapTalk::start_on_a_socket(&world);
    talk.ok("initialize", &json!({"adapterID": "x"}));
    talk.ok("launch", &json!({"workflow": "ci.yml"}));
    talk.ok("configurationDone", &json!({}));
    talk.stop();
    let answers: Vec<i64> = (0..500)
        .map(|_| talk.send("stackTrace", &json!({"threadId": 1})))
        .collect();
    talk.die();
    assert!(!answers.is_empty());
    let runs = world.json(["job", "list", "--runs"]);
    let states: Vec<&Value> = runs["runs"].as_array().expect("runs").iter().collect();
    assert_eq!(states[0]["resumable"], true, "{runs:#}");
}
