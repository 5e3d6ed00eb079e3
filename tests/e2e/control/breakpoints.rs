//! Kinds, order and counts of breakpoints, and the commands that make them.

use serde_json::{Value, json};

use super::{HeldHook, Watcher, before, began, decided, decision, edit, hits, reason};
use crate::support::World;

const FILE: &str = "src/main.rs";

fn world() -> World {
    World::committed(&[(FILE, "one\ntwo\nthree\n"), ("src/auth/key.rs", "key\n")])
}

/// True if the call is held. Lets it continue.
fn is_held(world: &World, payload: &Value) -> bool {
    let mut watcher = Watcher::start(world);
    // a call that passes ends by itself
    world.ok(["breakpoint", "add", "tool", "Sentinel", "--once"]);
    let hook = HeldHook::start(world, payload, 600);
    let mut sentinel_payload = payload.clone();
    sentinel_payload["tool_name"] = json!("Sentinel");
    sentinel_payload["tool_use_id"] = json!("sentinel");
    let mut hook = Some(hook);
    let mut sentinel = None;
    loop {
        if sentinel.is_none() && hook.as_mut().is_some_and(HeldHook::has_ended) {
            sentinel = Some(HeldHook::start(world, &sentinel_payload, 600));
        }
        let pauses = world.json(["pauses"]);
        let Some(pause) = pauses["pauses"]
            .as_array()
            .and_then(|all| all.first().cloned())
        else {
            continue;
        };
        drop(watcher.next());
        let id = pause["id"].as_str().expect("an id").to_owned();
        world.ok(["resume", &id]);
        let held = pause["tool"] != "Sentinel";
        if let Some(sentinel) = sentinel {
            sentinel.answer();
        }
        if let Some(hook) = hook.take() {
            hook.answer();
        }
        world.run(["breakpoint", "list"]);
        return held;
    }
}

/// S2-001, S2-007, S2-008, S2-009, S2-011, S2-013, S2-014, S2-019, S2-020: a tool breakpoint holds the call before the
/// file changes, until a resume.
#[test]
fn a_tool_breakpoint_holds_the_call() {
    let world = world();
    let agent = began(&world);
    let added = world.json(["breakpoint", "add", "tool", "Edit"]);
    let made = &added["breakpoint"];
    assert_eq!((&made["id"], &made["kind"]), (&json!("b1"), &json!("tool")));
    assert_eq!(
        (&made["enabled"], &made["hitCount"]),
        (&json!(true), &json!(0))
    );
    let name = made["name"].as_str().expect("a name");
    let parts: Vec<&str> = name.split('_').collect();
    assert_eq!((parts[0], parts.len()), ("bp", 3), "{name}");
    assert!(
        parts[1].parse::<u64>().is_ok() && parts[2].len() == 4,
        "{name}"
    );

    let payload = before(&agent, "c1", "Edit", &edit(&world, FILE, "one", "1"));
    let (pause, answer) = decided(&world, &payload, &["resume"]);
    // continue grants nothing: the agent's own rules continue
    assert_eq!(answer, Value::Null);
    assert_eq!(pause["tool"], "Edit");
    assert_eq!(pause["names"], json!([FILE]));
    assert_eq!(pause["breakpoint"], "b1");
    assert_eq!(pause["turn"], "t1");
    assert_eq!(pause["iteration"], 1);
    assert_eq!(hits(&world), [("tool".to_owned(), 1)]);
    // another tool is let through at once
    let other = before(
        &agent,
        "c2",
        "Write",
        &json!({"file_path": world.path("new"), "content": "x"}),
    );
    assert!(!is_held(&world, &other));
}

/// S2-002, S2-021: a condition has to match the input.
#[test]
fn a_tool_breakpoint_may_have_a_condition() {
    let world = world();
    let agent = began(&world);
    world.ok([
        "breakpoint",
        "add",
        "tool",
        "Edit",
        "--condition",
        "AUTH/key",
    ]);
    let other = before(&agent, "c1", "Edit", &edit(&world, FILE, "one", "1"));
    assert!(!is_held(&world, &other));
    let named = before(
        &agent,
        "c2",
        "Edit",
        &edit(&world, "src/auth/key.rs", "key", "k"),
    );
    assert!(is_held(&world, &named));
}

/// S2-003, S2-022, U-10: the number of the call in its session counts, and does not begin anew with a prompt.
#[test]
fn an_iteration_breakpoint_holds_that_call() {
    let world = world();
    let mut agent = began(&world);
    world.ok(["breakpoint", "add", "iteration", "3"]);
    agent.edit(FILE, "one", "1");
    agent.stop();
    agent.prompt("go on");
    agent.edit(FILE, "two", "2");
    let third = before(&agent, "c3", "Edit", &edit(&world, FILE, "three", "3"));
    let (pause, _) = decided(&world, &third, &["resume"]);
    assert_eq!(pause["iteration"], 3);
    assert_eq!(pause["turn"], "t2");
}

/// S2-004, S2-005, S2-023: a pattern is looked for in the input, whatever the case.
#[test]
fn a_pattern_breakpoint_ignores_the_case() {
    let world = world();
    let agent = began(&world);
    world.ok(["breakpoint", "add", "pattern", "say \"PASSWORD\""]);
    let input = json!({"command": "say \"password\"", "description": "x"});
    assert!(is_held(&world, &before(&agent, "c1", "Bash", &input)));
    let input = json!({"command": "say nothing", "description": "x"});
    assert!(!is_held(&world, &before(&agent, "c2", "Bash", &input)));
}

/// A path is named by an edit tool, or as a word of a shell command.
#[test]
fn a_path_breakpoint_knows_edits_and_commands() {
    let world = world();
    let agent = began(&world);
    world.ok(["breakpoint", "add", "path", "src/auth/**"]);
    let named = before(
        &agent,
        "c1",
        "Edit",
        &edit(&world, "src/auth/key.rs", "key", "k"),
    );
    assert!(is_held(&world, &named));
    let shell = json!({"command": "rm -f src/auth/key.rs", "description": "x"});
    assert!(is_held(&world, &before(&agent, "c2", "Bash", &shell)));
    let other = before(&agent, "c3", "Edit", &edit(&world, FILE, "one", "1"));
    assert!(!is_held(&world, &other));
}

/// The lines follow edits of the file.
#[test]
fn a_line_breakpoint_follows_the_text() {
    let world = world();
    let agent = began(&world);
    world.ok(["breakpoint", "add", "line", "src/main.rs:2"]);
    world.write(FILE, "zero\nnull\none\ntwo\nthree\n");
    let elsewhere = before(&agent, "c1", "Edit", &edit(&world, FILE, "null", "nil"));
    assert!(!is_held(&world, &elsewhere));
    let there = before(&agent, "c2", "Edit", &edit(&world, FILE, "two", "2"));
    assert!(is_held(&world, &there));
}

/// S2-006, S2-024: a failed call is held before the model hears of it.
#[test]
fn an_error_breakpoint_holds_after_a_failure() {
    let world = world();
    let agent = began(&world);
    world.ok(["breakpoint", "add", "error"]);
    let call = agent.pre_bash("exit 3");
    let fields = json!({
        "tool_name": "Bash", "tool_input": call.input, "tool_use_id": call.id,
        "error": "Exit code 3", "is_interrupt": false, "duration_ms": 12,
    });
    let failed = agent.payload("PostToolUseFailure", fields);
    let mut watcher = Watcher::start(&world);
    let hook = HeldHook::start(&world, &failed, 600);
    let pause = watcher.until("held");
    assert_eq!(pause["at"], "after");
    world.ok(["inject", "look at the exit code"]);
    world.ok(["resume"]);
    let answer = hook.answer();
    assert_eq!(
        answer["hookSpecificOutput"]["additionalContext"],
        "look at the exit code"
    );
    let next = agent.event("PostToolBatch", json!({"tool_calls": []}));
    assert_eq!(next.stdout, "", "it is told once");
}

/// S2-010, S2-011, S2-012: the first breakpoint in the order of making stops the call; a disabled one neither stops nor
/// counts.
#[test]
fn the_first_breakpoint_counts() {
    let world = world();
    let agent = began(&world);
    world.ok(["breakpoint", "add", "tool", "Edit"]);
    world.ok(["breakpoint", "add", "path", "src/**"]);
    let payload = before(&agent, "c1", "Edit", &edit(&world, FILE, "one", "1"));
    let (pause, _) = decided(&world, &payload, &["resume"]);
    assert_eq!(pause["breakpoint"], "b1");
    assert_eq!(
        hits(&world),
        [("tool".to_owned(), 1), ("path".to_owned(), 0)]
    );
    world.ok(["breakpoint", "disable", "b1"]);
    let payload = before(&agent, "c2", "Edit", &edit(&world, FILE, "two", "2"));
    let (pause, _) = decided(&world, &payload, &["resume"]);
    assert_eq!(pause["breakpoint"], "b2");
    assert_eq!(
        hits(&world),
        [("tool".to_owned(), 1), ("path".to_owned(), 1)]
    );
}

/// A condition in jq, a condition on the count, and a denial with a message.
#[test]
fn conditions_and_denials() {
    let world = world();
    let agent = began(&world);
    let jq = ".paths | any(startswith(\"src/\"))";
    world.ok([
        "breakpoint",
        "add",
        "tool",
        "Edit",
        "--when",
        jq,
        "--hits",
        "% 2",
        "--action",
        "deny",
        "--message",
        "Use the other file.",
    ]);
    for (id, expected) in [("c1", None), ("c2", Some("deny")), ("c3", None)] {
        let payload = before(&agent, id, "Edit", &edit(&world, FILE, "one", "1"));
        let answer = HeldHook::start(&world, &payload, 600).answer();
        assert_eq!(decision(&answer), expected, "{id}: {answer}");
        if expected.is_some() {
            assert_eq!(reason(&answer), "Use the other file.");
        }
    }
    let outside = before(&agent, "c4", "Edit", &edit(&world, "other", "one", "1"));
    assert_eq!(HeldHook::start(&world, &outside, 600).answer(), Value::Null);
    assert_eq!(hits(&world), [("tool".to_owned(), 3)]);
    let wrong = world.run(["breakpoint", "add", "tool", "Edit", "--when", ".paths |"]);
    assert_eq!(wrong.code, 2, "{wrong}");
    assert!(wrong.stderr.contains("the condition `.paths |`"), "{wrong}");
}

/// S2-017, S2-018, S2-025: a removal says if the breakpoint existed; clearing removes all, and nothing is armed then.
#[test]
fn breakpoints_are_removed_and_cleared() {
    let world = world();
    began(&world);
    world.ok(["breakpoint", "add", "tool", "Edit"]);
    world.ok(["breakpoint", "add", "error"]);
    assert!(world.store().join("armed").exists());
    assert_eq!(world.json(["breakpoint", "remove", "b1"])["removed"], true);
    let gone = world.run(["breakpoint", "remove", "b1"]);
    assert_eq!(gone.code, 3, "{gone}");
    assert_eq!(world.json(["breakpoint", "clear"])["removed"], 1);
    assert_eq!(hits(&world), []);
    assert!(!world.store().join("armed").exists());
}

/// Where nothing was ever armed, no database of breakpoints is made.
#[test]
fn nothing_armed_costs_nothing() {
    let world = world();
    let agent = began(&world);
    agent.edit(FILE, "one", "1");
    assert!(!world.store().join("control.db").exists());
    assert_eq!(world.json(["pauses"])["pauses"], json!([]));
    assert_eq!(hits(&world), []);
    assert!(!world.store().join("control.db").exists());
}
