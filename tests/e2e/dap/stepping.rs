//! Requests that step back and forward, one requirement each.

use serde_json::{Value, json};

use super::super::jobs::back::stepped::until;
use super::super::jobs::{job, newest, workflow};
use super::STEPS;
use super::talk::DapTalk;
use crate::support::World;

const THREAD: fn() -> Value = || json!({"threadId": 1});

/// A job of three steps, which stands before the first one.
fn begin() -> (World, DapTalk) {
    let world = workflow(&job(&STEPS.replace("; test -f mended", "")));
    let talk = DapTalk::begin(&world, &json!({}));
    (world, talk)
}

/// A job whose first step runs until a file is there.
fn running() -> (World, DapTalk) {
    let world = workflow(&job("
- name: One
  run: touch ready; until test -e go; do sleep 0.02; done
- {name: Two, run: 'true'}"));
    let mut talk = DapTalk::begin(&world, &json!({}));
    talk.ok("next", &THREAD());
    let ready = newest(&world).join("files/work/work/work/ready");
    until("the step runs", || ready.exists());
    (world, talk)
}

fn let_go(world: &World) {
    let file = newest(world).join("files/work/work/work/go");
    std::fs::write(file, "").expect("written");
}

fn leave(mut talk: DapTalk) {
    talk.leave(&json!({"terminateDebuggee": true}));
}

/// Initialize says that stepping back is supported (S1-053). By that one capability clients show both buttons: stepBack is served
/// (S1-054), and reverseContinue is served (S1-055). Accepted reverse requests answer with an empty body (S1-062).
#[test]
fn s1_053_s1_054_s1_055_s1_062_both_reverse_requests() {
    let (_world, mut talk) = begin();
    let capabilities = talk.response("initialize");
    assert_eq!(capabilities["body"]["supportsStepBack"], true);
    for command in ["stepBack", "reverseContinue"] {
        talk.go("next");
        let response = talk.ask(command, &THREAD());
        assert_eq!(response["success"], true);
        assert!(response.get("body").is_none(), "{response}");
        assert_eq!(talk.stop(), "step: stepped back: before 'One'");
    }
    leave(talk);
}

/// stepBack goes to the state before the last executed step (S1-056). reverseContinue goes to the job's beginning (S1-057).
#[test]
fn s1_056_s1_057_where_reverse_requests_lead() {
    let (world, mut talk) = begin();
    talk.go("next");
    talk.go("next");
    assert_eq!(talk.go("stepBack"), "step: stepped back: before 'Two'");
    assert_eq!(super::log(&world), "one\n");
    talk.go("next");
    assert_eq!(talk.go("next"), "step: at the end of the job");
    assert_eq!(
        talk.go("reverseContinue"),
        "step: stepped back: before 'One'"
    );
    let log = newest(&world).join("files/work/work/work/log");
    assert!(!log.exists());
    leave(talk);
}

/// stepBack without checkpoints fails and says so (S1-058). reverseContinue without checkpoints fails and says so (S1-059). The job is
/// at its first step, also after a way back to it.
#[test]
fn s1_058_s1_059_reverse_requests_without_checkpoints() {
    let (_world, mut talk) = begin();
    for _ in 0..2 {
        for command in ["stepBack", "reverseContinue"] {
            let none = talk.refused(command, &THREAD());
            assert_eq!(none, "No checkpoints are available: no step has run.");
        }
        talk.go("next");
        talk.go("stepBack");
    }
    leave(talk);
}

/// stepBack while running fails and says that a pause is needed (S1-060). reverseContinue while running fails and says that a pause is
/// needed (S1-061). So it is also without checkpoints. next and continue do nothing unless paused (S1-068).
#[test]
fn s1_060_s1_061_s1_068_requests_while_a_step_runs() {
    let (world, mut talk) = running();
    for command in ["stepBack", "reverseContinue"] {
        let reason = talk.refused(command, &THREAD());
        assert_eq!(reason, "Stop first (pause), then step back.");
    }
    for command in ["next", "continue", "stepIn", "stepOut"] {
        let reason = talk.refused(command, &THREAD());
        assert_eq!(reason, "The job does not stand.");
    }
    let_go(&world);
    assert_eq!(talk.stop(), "step: before 'Two'");
    let stops = |talk: &DapTalk| talk.events("stopped").count();
    assert_eq!(stops(&talk), 2);
    assert_eq!(talk.go("stepBack"), "step: stepped back: before 'One'");
    leave(talk);
}

/// Reverse requests let the blocked runner go on (S1-063): it waits for no other command. Reverse requests force a pause at the next
/// boundary (S1-064): nothing runs until then.
#[test]
fn s1_063_s1_064_reverse_requests_free_the_runner_and_stop_it() {
    let (world, mut talk) = begin();
    talk.go("next");
    talk.go("next");
    let started = |talk: &DapTalk| talk.events("backstitchStep").count();
    for command in ["stepBack", "reverseContinue"] {
        let ran = started(&talk);
        talk.go(command);
        // the job answers again, and nothing has run on the way
        talk.frames();
        assert_eq!(started(&talk), ran, "{command}");
    }
    assert_eq!(talk.go("next"), "step: before 'Two'");
    assert_eq!(super::log(&world), "one\n");
    leave(talk);
}

/// next pauses again before the following step (S1-065); continue does not (S1-066). The answer to continue names all threads as
/// continued (S1-067).
#[test]
fn s1_065_s1_066_s1_067_next_and_continue() {
    let (world, mut talk) = begin();
    assert_eq!(talk.go("next"), "step: before 'Two'");
    assert_eq!(super::log(&world), "one\n");
    let answer = talk.ok("continue", &THREAD());
    assert_eq!(answer["allThreadsContinued"], true);
    let stops = talk.events("stopped").count();
    assert_eq!(talk.ended(), 0);
    assert_eq!(talk.events("stopped").count(), stops);
    assert_eq!(super::log(&world), "one\ntwo\nthree\n");
}

/// Commands: continue, next, pause, disconnect, stepBack, reverseContinue (S1-069): each is known, and has its effect.
#[test]
fn s1_069_commands() {
    let (world, mut talk) = running();
    talk.ok("pause", &THREAD());
    assert_eq!(talk.stop(), "pause: frozen in 'One'");
    assert_eq!(talk.go("stepBack"), "step: stepped back: before 'One'");
    let output = talk.output();
    assert!(output.contains("is undone by the step back"), "{output}");
    assert!(!output.contains("signal 9"), "{output}");
    talk.ok("next", &THREAD());
    let ready = newest(&world).join("files/work/work/work/ready");
    until("the step runs again", || ready.exists());
    let_go(&world);
    assert_eq!(talk.stop(), "step: before 'Two'");
    assert_eq!(
        talk.go("reverseContinue"),
        "step: stepped back: before 'One'"
    );
    talk.ok("continue", &THREAD());
    until("the step runs once more", || ready.exists());
    let_go(&world);
    assert_eq!(talk.ended(), 0);
}

/// A stopped event comes with each pause; the first step is known as such (S1-070).
#[test]
fn s1_070_stopped_events() {
    let (_world, mut talk) = begin();
    talk.go("next");
    talk.go("stepBack");
    talk.go("next");
    let stops = talk.events("stopped");
    let reasons: Vec<&str> = stops
        .map(|stop| {
            assert_eq!(stop["body"]["allThreadsStopped"], true);
            assert_eq!(stop["body"]["threadId"], 1);
            stop["body"]["reason"].as_str().expect("a word")
        })
        .collect();
    assert_eq!(reasons, ["entry", "step", "step", "step"]);
    leave(talk);
}

/// The debugger hears of each finished step and of the job's end (S1-071), also of steps that run again.
#[test]
fn s1_071_ends_of_steps_and_of_the_job() {
    let (_world, mut talk) = begin();
    talk.go("next");
    talk.go("stepBack");
    talk.ok("continue", &THREAD());
    assert_eq!(talk.ended(), 0);
    let steps = talk.events("backstitchStep");
    let steps: Vec<String> = steps
        .map(|event| {
            format!("{} {}", event["body"]["name"], event["body"]["outcome"]).replace('"', "")
        })
        .collect();
    assert_eq!(
        steps,
        ["One success", "One success", "Two success", "Three success"]
    );
    let jobs: Vec<&Value> = talk.events("backstitchJob").collect();
    assert_eq!(jobs.len(), 1);
    assert_eq!(jobs[0]["body"]["result"], "success");
}

/// The stack after a step back shows the restored place (S1-072) with its line. It has the list of checkpoints, too (S1-F4: wish: a
/// list of checkpoints inside the client). Variables after a step back show restored values (S1-073).
#[test]
fn s1_072_s1_073_s1_f4_stack_and_variables_after_a_step_back() {
    let (_world, mut talk) = begin();
    let env = talk.scope("env");
    assert_eq!(talk.values(env), []);
    talk.go("next");
    let env = talk.scope("env");
    assert_eq!(talk.values(env), [("A".to_owned(), "1".to_owned())]);
    talk.go("next");
    talk.console(":env A=changed");
    assert_eq!(talk.go("stepBack"), "step: stepped back: before 'Two'");
    let one = ("One (checkpoint 0)".to_owned(), 6);
    assert_eq!(
        talk.frames(),
        [("Two".to_owned(), 9), ("build".to_owned(), 3), one]
    );
    let env = talk.scope("env");
    assert_eq!(talk.values(env), [("A".to_owned(), "1".to_owned())]);
    talk.go("stepBack");
    assert_eq!(
        talk.frames(),
        [("One".to_owned(), 6), ("build".to_owned(), 3)]
    );
    let env = talk.scope("env");
    assert_eq!(talk.values(env), []);
    leave(talk);
}

/// A line that begins with ! runs a shell command in the job's environment (S1-076). export in the REPL reaches the next step (S1-077).
#[test]
fn s1_076_s1_077_the_shell_of_the_console() {
    let (world, mut talk) = begin();
    talk.go("next");
    assert_eq!(
        talk.console("!echo \"$A $CI $GITHUB_JOB\" > of-job; export LATE=yes"),
        "Set: LATE."
    );
    let file = newest(&world).join("files/work/work/work/of-job");
    assert_eq!(
        std::fs::read_to_string(file).expect("a file"),
        "1 true build\n"
    );
    talk.go("next");
    assert_eq!(talk.console("env.LATE"), "yes");
    talk.console("!echo \"late: $LATE\"");
    assert!(talk.output().contains("late: yes"), "{}", talk.output());
    leave(talk);
}

/// A client that reconnects gets the current stop (U-06), after a kill and after it was left. Until the client is configured no stop
/// is sent, since it may drop that.
#[test]
fn u_06_a_client_that_reconnects() {
    let world = workflow(&job(STEPS));
    let mut talk = DapTalk::begin(&world, &json!({}));
    assert_eq!(talk.go("continue"), "exception: 'Two' failed");
    talk.kill();
    for is_last in [false, true] {
        let mut talk = DapTalk::start(&world);
        talk.ok("initialize", &json!({"adapterID": "x"}));
        talk.ok("attach", &json!({"run": "last"}));
        talk.ok("threads", &json!({}));
        assert_eq!(talk.events("stopped").count(), 0);
        talk.ok("configurationDone", &json!({}));
        assert_eq!(talk.stop(), "entry: 'Two' failed");
        assert_eq!(talk.frames()[0], ("Two (failed)".to_owned(), 9));
        if is_last {
            talk.leave(&json!({"terminateDebuggee": true}));
        } else {
            talk.leave(&json!({"suspendDebuggee": true}));
        }
    }
}

/// stepIn and stepOut are answered, not failed (U-08). Where there is nothing to enter stepIn is as next. Where there is nothing to
/// leave stepOut runs to the end.
#[test]
fn u_08_step_in_and_step_out_of_plain_steps() {
    let (world, mut talk) = begin();
    assert_eq!(talk.go("stepIn"), "step: before 'Two'");
    assert_eq!(talk.go("stepOut"), "step: at the end of the job");
    assert_eq!(super::log(&world), "one\ntwo\nthree\n");
    // the last step can be undone, too
    assert_eq!(talk.go("stepBack"), "step: stepped back: before 'Three'");
    leave(talk);
}
