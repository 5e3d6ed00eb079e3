//! The real opencode with the plugin that setup writes: threads, ends of turns, texts for the model, calls that fail.

use std::fs;
use std::thread;

use serde_json::{Value, json};

use super::{ALL, Real, Session};
use crate::control::Watcher;
use crate::control::real_agent::{is_idle, kill_hook};
use crate::support::World;

fn opencode() -> &'static Real {
    let found = ALL.iter().find(|agent| agent.name == "opencode");
    found.expect("a row")
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
fn run(session: &Session, part: Value, person: impl FnOnce(&World, &mut Watcher)) -> Value {
    thread::scope(|scope| {
        let mut watcher = Watcher::start(&session.world);
        let playing = scope.spawn(|| session.play_part(part, None));
        person(&session.world, &mut watcher);
        playing.join().expect("it ends")
    })
}

/// Rows of the history. `of`: a table, with conditions.
fn count(world: &World, of: &str) -> i64 {
    let store = rusqlite::Connection::open(world.store().join("store.db")).expect("the store");
    let sql = format!("SELECT COUNT(*) FROM {of}");
    store
        .query_row(&sql, [], |row| row.get(0))
        .expect("a count")
}

/// A subagent is a session of its own there: its edit is a step of the turn that began it, and what it is told is no prompt.
#[test]
fn a_subagent_belongs_to_its_turn() {
    let test = "opencode::a_subagent_belongs_to_its_turn";
    let Some(session) = Session::new(test, opencode()) else {
        return;
    };
    session.play_script("subagent");
    let world = &session.world;
    let log = world.json(["log", "--all"]);
    let all = log["checkpoints"].as_array().expect("checkpoints").iter();
    let kinds: Vec<_> = all
        .map(|one| (one["kind"].clone(), one["turn"].clone()))
        .collect();
    let (turn, step) = ((json!("turn"), json!("t1")), (json!("step"), json!("t1")));
    assert!(kinds.contains(&turn) && kinds.contains(&step), "{log:#}");
    let turns = kinds.iter().filter(|(kind, _)| kind == "turn").count();
    assert_eq!(turns, 1, "{log:#}");
    assert_eq!(count(world, "session"), 1);
    assert_eq!(
        count(world, "call WHERE tool = 'edit' AND subagent <> ''"),
        1
    );
    world.ok(["rewind", "t1", "--yes"]);
    assert!(world.read("src/main.rs").contains("\"one\""));
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
    let report = run(&session, part, |world, watcher| {
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
    let report = run(&session, part, |world, watcher| {
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
    let report = run(&session, part, |world, watcher| {
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
