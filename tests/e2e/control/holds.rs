//! Holding: limits, deaths, two hooks for one event, and what the user does meanwhile.

use serde_json::{Value, json};

use super::{HeldHook, Watcher, after, before, began, decided, decision, edit, reason};
use crate::support::World;

const FILE: &str = "a.txt";

fn world() -> World {
    World::committed(&[(FILE, "one\ntwo\nthree\n")])
}

/// The state of each pause, oldest first.
fn states(world: &World) -> Vec<String> {
    let all = world.json(["pauses", "--all"]);
    let all = all["pauses"].as_array().expect("pauses").iter();
    all.map(|one| one["state"].as_str().expect("a state").to_owned())
        .collect()
}

/// A hold that meets its limit is denied and parked; a decision made meanwhile holds for the next try.
#[test]
fn a_hold_at_its_limit_is_parked() {
    let world = world();
    let agent = began(&world);
    world.configure("[pause]\ntimeout = 1\n");
    world.ok(["breakpoint", "add", "tool", "Edit"]);
    let input = edit(&world, FILE, "one", "1");
    let answer = HeldHook::start(&world, &before(&agent, "c1", "Edit", &input), 600).answer();
    assert_eq!(decision(&answer), Some("deny"));
    assert!(
        reason(&answer).contains("try the same call again"),
        "{answer}"
    );
    assert_eq!(states(&world), ["parked"]);
    let said = world.ok(["resume", "p1"]);
    assert!(said.stdout.contains("next try"), "{said}");
    let answer = HeldHook::start(&world, &before(&agent, "c2", "Edit", &input), 600).answer();
    assert_eq!(answer, Value::Null);
    assert_eq!(states(&world), ["used"]);
}

/// The agent's own limit ends a hold before the agent gives up: the call is denied in time, and parked.
#[test]
fn a_hold_ends_before_the_agents_own_limit() {
    let world = world();
    let agent = began(&world);
    world.ok(["breakpoint", "add", "tool", "Edit"]);
    let input = edit(&world, FILE, "one", "1");
    let began = std::time::Instant::now();
    let answer = HeldHook::start(&world, &before(&agent, "c1", "Edit", &input), 3).answer();
    let took = began.elapsed();
    assert_eq!(decision(&answer), Some("deny"));
    assert!(took > std::time::Duration::from_secs(2), "{took:?}");
    assert_eq!(states(&world), ["parked"]);
}

/// A parked call that is tried again before a decision is held again, as the same pause.
#[test]
fn a_parked_call_is_held_again() {
    let world = world();
    let agent = began(&world);
    world.configure("[pause]\ntimeout = 1\n");
    world.ok(["breakpoint", "add", "tool", "Edit"]);
    let input = edit(&world, FILE, "one", "1");
    HeldHook::start(&world, &before(&agent, "c1", "Edit", &input), 600).answer();
    world.configure("");
    let (pause, answer) = decided(&world, &before(&agent, "c2", "Edit", &input), &["skip"]);
    assert_eq!(pause["id"], "p1");
    assert_eq!(decision(&answer), Some("deny"));
}

/// A call that nobody sees is left to the agent's own question where a person sits before it.
#[test]
fn a_pause_that_nobody_sees_is_the_agents_question() {
    let world = world();
    let agent = began(&world);
    world.ok(["breakpoint", "add", "tool", "Edit"]);
    let payload = before(&agent, "c1", "Edit", &edit(&world, FILE, "one", "1"));
    let answer = HeldHook::attended(&world, &payload, None, true).answer();
    assert_eq!(decision(&answer), Some("ask"));
    assert_eq!(states(&world), ["handed"]);
    world.configure("[pause]\nunattended = \"deny\"\n");
    let payload = before(&agent, "c2", "Edit", &edit(&world, FILE, "two", "2"));
    let answer = HeldHook::start(&world, &payload, 600).answer();
    assert_eq!(decision(&answer), Some("deny"));
    assert!(reason(&answer).contains("nobody watches"), "{answer}");
}

/// A hook that was killed leaves no pause that waits for ever; a call that ran all the same is noticed.
#[test]
fn a_killed_hook_is_noticed() {
    let world = world();
    let agent = began(&world);
    world.ok(["breakpoint", "add", "tool", "Edit"]);
    let input = edit(&world, FILE, "one", "1");
    let mut watcher = Watcher::start(&world);
    let hook = HeldHook::start(&world, &before(&agent, "c1", "Edit", &input), 600);
    watcher.until("held");
    hook.kill();
    watcher.until("lost");
    world.write(FILE, "1\ntwo\nthree\n");
    let response = json!({"filePath": world.path(FILE), "oldString": "one", "newString": "1",
        "originalFile": "one\ntwo\nthree\n", "structuredPatch": [], "userModified": false, "replaceAll": false});
    world
        .hook(&after(&agent, "c1", "Edit", &input, &response))
        .expect_code(0);
    assert_eq!(states(&world), ["slipped"]);
}

/// Two hooks for one event give the same answer.
#[test]
fn two_hooks_of_one_event_agree() {
    let world = world();
    let agent = began(&world);
    world.ok(["breakpoint", "add", "tool", "Edit"]);
    let payload = before(&agent, "c1", "Edit", &edit(&world, FILE, "one", "1"));
    let mut watcher = Watcher::start(&world);
    let hooks = [
        HeldHook::start(&world, &payload, 600),
        HeldHook::start(&world, &payload, 600),
    ];
    watcher.until("held");
    world.ok(["deny", "-m", "not now"]);
    for hook in hooks {
        assert_eq!(reason(&hook.answer()), "not now");
    }
    assert_eq!(states(&world), ["answered"]);
}

/// An agent that gives up ends the hold.
#[test]
fn an_agent_that_is_gone_ends_the_hold() {
    let world = world();
    let agent = began(&world);
    world.ok(["breakpoint", "add", "tool", "Edit"]);
    let payload = before(&agent, "c1", "Edit", &edit(&world, FILE, "one", "1"));
    let mut watcher = Watcher::start(&world);
    let mut hook = HeldHook::start(&world, &payload, 600);
    watcher.until("held");
    drop(hook.child.stdout.take());
    watcher.until("ended");
    assert!(hook.child.wait().expect("ended").success());
}

/// U-19: edits of the user during a hold are the user's, and a rewind of the turn keeps them.
#[test]
fn edits_during_a_hold_are_the_users() {
    let world = world();
    let agent = began(&world);
    world.ok(["breakpoint", "add", "tool", "Edit"]);
    let input = edit(&world, FILE, "one", "1");
    let mut watcher = Watcher::start(&world);
    let hook = HeldHook::start(&world, &before(&agent, "c1", "Edit", &input), 600);
    watcher.until("held");
    world.write(FILE, "one\ntwo\nthree\nmine\n");
    world.ok(["resume"]);
    assert_eq!(hook.answer(), Value::Null);
    world.write(FILE, "1\ntwo\nthree\nmine\n");
    let response = json!({"filePath": world.path(FILE), "oldString": "one", "newString": "1",
        "originalFile": "one\ntwo\nthree\nmine\n", "structuredPatch": [], "userModified": false, "replaceAll": false});
    world
        .hook(&after(&agent, "c1", "Edit", &input, &response))
        .expect_code(0);
    agent.stop();
    let blame = world.json(["blame", FILE]);
    assert_eq!(blame["lines"][0]["by"], "agent", "{blame:#}");
    assert_eq!(blame["lines"][3]["by"], "user", "{blame:#}");
    world.ok(["rewind", "t1", "--yes"]);
    assert_eq!(world.read(FILE), "one\ntwo\nthree\nmine\n");
}

/// U-11: a hold writes nothing while it waits.
#[test]
fn a_hold_writes_nothing() {
    let world = world();
    let agent = began(&world);
    world.ok(["breakpoint", "add", "tool", "Edit"]);
    let payload = before(&agent, "c1", "Edit", &edit(&world, FILE, "one", "1"));
    let mut watcher = Watcher::start(&world);
    let hook = HeldHook::start(&world, &payload, 600);
    watcher.until("held");
    // it notes what it has shown
    drop(watcher);
    let seq = || world.json(["breakpoint", "list"])["seq"].clone();
    let before = (
        seq(),
        std::fs::metadata(world.store().join("store.db-wal"))
            .map(|m| m.len())
            .ok(),
    );
    // several ticks of the hold: each of these commands takes longer than none
    for _ in 0..20 {
        world.ok(["pauses"]);
    }
    let after = (
        seq(),
        std::fs::metadata(world.store().join("store.db-wal"))
            .map(|m| m.len())
            .ok(),
    );
    assert_eq!(before, after);
    world.ok(["resume"]);
    hook.answer();
}

/// A damaged database of breakpoints: a call that a breakpoint concerns does not run, any other does.
#[test]
fn a_damaged_database_denies_calls_that_match() {
    let world = world();
    let agent = began(&world);
    agent.let_complain();
    world.ok(["breakpoint", "add", "tool", "Edit"]);
    for beside in ["control.db-wal", "control.db-shm"] {
        std::fs::remove_file(world.store().join(beside)).ok();
    }
    world.write(
        world.store().join("control.db"),
        "no database at all, but long enough to be read as one".repeat(40),
    );
    let payload = before(&agent, "c1", "Edit", &edit(&world, FILE, "one", "1"));
    let answer = HeldHook::start(&world, &payload, 600).answer();
    assert_eq!(decision(&answer), Some("deny"));
    assert!(reason(&answer).contains("backstitch doctor"), "{answer}");
    let other = json!({"command": "true", "description": "x"});
    let answer = HeldHook::start(&world, &before(&agent, "c2", "Bash", &other), 600).answer();
    assert_eq!(answer, Value::Null);
}
