//! The real Codex with a model that calls its tools from a script: an edit in it is a step, and a call is held for less time than
//! the script may run before the model learns that it still does.

use std::thread;
use std::time::Instant;

use serde_json::{Value, json};

use super::{Session, count, real};
use crate::control::Watcher;
use crate::control::real_agent::is_idle;
use crate::support::limits::EVENT_TIMEOUT;

const PATCH: &str = "*** Begin Patch\n*** Update File: src/main.rs\n@@\n-    println!(\"one\");\n+    println!(\"two\");\n*** End Patch\n";

fn session(test: &str) -> Option<Session> {
    let session = Session::new(test, real("codex"))?;
    Some(Session {
        model: Some("gpt-6-sol"),
        ..session
    })
}

fn script() -> Value {
    let patch = serde_json::to_string(PATCH).expect("text");
    let script = format!("text(JSON.stringify(await tools.apply_patch({patch})));\n");
    json!({"tool": "exec", "freeform": script})
}

#[test]
fn an_edit_in_a_script_is_a_step() {
    let Some(session) = session("code_mode::an_edit_in_a_script_is_a_step") else {
        return;
    };
    session.play(Some(json!([script(), {"text": "done"}])), None);
    let world = &session.world;
    let log = world.json(["log", "--kind", "step"]);
    let steps = log["checkpoints"].as_array().expect("steps");
    assert_eq!(steps.len(), 1, "{log:#}");
    assert_eq!(
        (&steps[0]["tool"], &steps[0]["turn"]),
        (&json!("apply_patch"), &json!("t1"))
    );
    assert_eq!(count(world, "call WHERE native LIKE 'exec-%'"), 1);
    world.ok(["rewind", "t1", "--yes"]);
    assert!(world.read("src/main.rs").contains("\"one\""));
}

/// Nobody answers: the call is denied while its script runs, waits for the next try, and passes then as decided meanwhile.
#[test]
fn a_held_call_ends_before_its_script() {
    let Some(session) = session("code_mode::a_held_call_ends_before_its_script") else {
        return;
    };
    let world = &session.world;
    world.ok(["breakpoint", "add", "path", "src/main.rs"]);
    let part = json!([script(), script(), {"text": "done"}]);
    thread::scope(|scope| {
        let mut watcher = Watcher::start(world);
        let playing = scope.spawn(|| session.play(Some(part), None));
        watcher.until("held");
        let log = world.home.join("rig/requests.jsonl");
        let told = || std::fs::read_to_string(&log).unwrap_or_default();
        let end = Instant::now() + EVENT_TIMEOUT;
        while !told().contains("try the same call again") {
            assert!(Instant::now() < end, "{}", told());
            // a command of some milliseconds between two looks
            is_idle(world);
        }
        assert!(world.read("src/main.rs").contains("\"one\""));
        // the pause is the one of the next try, too
        world.ok(["resume", "p1"]);
        playing.join().expect("it ends");
    });
    assert!(world.read("src/main.rs").contains("\"two\""));
}
