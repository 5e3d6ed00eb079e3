//! The real opencode with the plugin that setup writes: threads, ends of turns, texts for the model, calls that fail.

use std::fs;
use std::thread;

use serde_json::{Value, json};

use super::{Real, Session, count, real};
use crate::control::Watcher;
use crate::control::real_agent::{is_idle, kill_hook};
use crate::support::World;

fn opencode() -> &'static Real {
    real("opencode")
}

fn bash(command: &str) -> Value {
    json!({"tool": "bash", "args": {"command": command, "description": "run it"}})
}

/// The requests to the model, each as its text.
fn requests(report: &Value) -> Vec<String> {
    let log = report["logs"]["requests.jsonl"].as_str().expect("a log");
    let text = fs::read_to_string(log).expect("the model's log");
    text.lines().map(str::to_owned).collect()
}

/// Runs the agent, while `person` decides on its held calls.
fn run(session: &Session, part: &Value, person: impl FnOnce(&World, &mut Watcher)) -> Value {
    thread::scope(|scope| {
        let mut watcher = Watcher::start(&session.world);
        let playing = scope.spawn(|| session.play_part(part, None));
        person(&session.world, &mut watcher);
        playing.join().expect("it ends")
    })
}

/// `stop` ends the turn: no further call runs, and the model is not asked again.
#[test]
fn a_stopped_turn_is_over() {
    let test = "opencode::a_stopped_turn_is_over";
    let Some(session) = Session::new(test, opencode()) else {
        return;
    };
    session.world.ok(["breakpoint", "add", "command", "first"]);
    let part =
        json!([bash("echo first > first.txt"), bash("echo second > second.txt"), {"text": "done"}]);
    let mut asked = 0;
    let report = run(&session, &part, |world, watcher| {
        watcher.until("held");
        asked = requests_so_far(world);
        world.ok(["stop", "-m", "this is enough"]);
    });
    let world = &session.world;
    assert!(!world.exists("first.txt") && !world.exists("second.txt"));
    assert_eq!(requests(&report).len(), asked);
    assert!(is_idle(world));
}

fn requests_so_far(world: &World) -> usize {
    let log = fs::read_to_string(world.home.join("rig/requests.jsonl")).unwrap_or_default();
    log.lines().count()
}

/// The user's changes and texts are with the output that the model gets: before and after a call.
#[test]
fn the_model_is_told() {
    let test = "opencode::the_model_is_told";
    let Some(session) = Session::new(test, opencode()) else {
        return;
    };
    session.world.ok(["breakpoint", "add", "command", "theirs"]);
    session.world.ok(["breakpoint", "add", "error"]);
    let part = json!([bash("echo theirs > out.txt"), bash("exit 3"), {"text": "done"}]);
    let report = run(&session, &part, |world, watcher| {
        watcher.until("held");
        let mut input = world.json(["inspect"])["pause"]["input"].clone();
        input["command"] = json!("echo mine > out.txt");
        world.write("../input.json", input.to_string());
        world.ok(["resume", "--input", "../input.json"]);
        let failed = watcher.until("held");
        assert_eq!(failed["at"], "after", "{failed:#}");
        world.ok(["inject", "look at the exit code"]);
        world.ok(["resume"]);
    });
    assert_eq!(session.world.read("out.txt"), "mine\n");
    let requests = requests(&report);
    let told =
        |index: usize, text: &str| assert!(requests[index].contains(text), "{}", requests[index]);
    let first = requests
        .iter()
        .position(|one| one.contains("changed this call"));
    let first = first.expect("the change is told");
    told(first + 1, "look at the exit code");
}

/// A text stays until a call has an output that can carry it: one that fails has none.
#[test]
fn a_text_waits_for_an_output() {
    let test = "opencode::a_text_waits_for_an_output";
    let Some(session) = Session::new(test, opencode()) else {
        return;
    };
    session.world.ok(["breakpoint", "add", "tool", "read"]);
    let nowhere = session.world.path("nowhere.rs");
    let part =
        json!([{"tool": "read", "args": {"filePath": nowhere}}, bash("true"), {"text": "done"}]);
    let report = run(&session, &part, |world, watcher| {
        watcher.until("held");
        world.ok(["inject", "mind the gap"]);
        world.ok(["resume"]);
    });
    let told = requests(&report);
    assert!(
        told.last().is_some_and(|one| one.contains("mind the gap")),
        "{told:?}"
    );
}

/// A call whose hook is killed does not run, and one that fails is recorded as failed.
#[test]
fn killed_hooks_and_failed_calls() {
    let test = "opencode::killed_hooks_and_failed_calls";
    let Some(session) = Session::new(test, opencode()) else {
        return;
    };
    session.world.ok(["breakpoint", "add", "command", "theirs"]);
    let main = session.world.path("src/main.rs");
    let wrong = json!({"filePath": main, "oldString": "no such text", "newString": "x"});
    let part = json!([bash("echo theirs > out.txt"), {"tool": "read", "args": {"filePath": main}},
        {"tool": "edit", "args": wrong}, {"text": "done"}]);
    let report = run(&session, &part, |world, watcher| {
        watcher.until("held");
        kill_hook(world);
    });
    let world = &session.world;
    assert!(!world.exists("out.txt"));
    assert!(
        requests(&report)
            .iter()
            .any(|one| one.contains("its hook was killed while it held this call"))
    );
    assert_eq!(count(world, "call WHERE tool = 'edit' AND outcome = 1"), 1);
}
