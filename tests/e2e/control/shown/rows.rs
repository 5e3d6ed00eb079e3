//! The row of a held call and its event name every file, the error, the breakpoint and the agent.

use serde_json::{Value, json};

use super::{FILE, TEXT, inspected, panels, typed};
use crate::control::{HeldHook, Watcher, before, began, edit};
use crate::support::World;

/// S2-016: the event has the iteration, and tool, input or error. Where a failed call is held, its error is seen, with its tool and
/// its input; nothing of it can be changed.
#[test]
fn the_error_of_a_failed_call_is_seen() {
    let world = World::committed(&[(FILE, TEXT)]);
    let mut client = panels(&world);
    client.open(FILE);
    let agent = began(&world);
    world.ok(["breakpoint", "add", "error"]);
    let input = json!({ "command": "make", "description": "build" });
    let call = agent.pre("Bash", input.clone());
    drop(call);
    let mut watcher = Watcher::start(&world);
    let error = "Exit code 3: boom happened\nmore";
    let payload = agent.payload(
        "PostToolUseFailure",
        json!({"tool_name": "Bash", "tool_input": input, "tool_use_id": "c9", "error": error,
            "is_interrupt": false, "duration_ms": 3}),
    );
    let hook = HeldHook::start(&world, &payload, 600);
    let told = watcher.until("held");
    assert_eq!(told["error"], error, "{told:#}");
    client.until(|client| {
        let mut told = client.notified.iter();
        told.any(|(name, params)| {
            name == "backstitch/didPause" && params["pause"]["error"] == error
        })
    });
    let details = client.ok("backstitch/pause", json!({ "pause": "p1" }));
    assert_eq!(details["pause"]["error"], error, "{details:#}");
    assert_eq!(details["input"]["command"], "make");
    let seen = inspected(&world);
    assert_eq!(
        (&seen["error"], &seen["tool"]),
        (&json!(error), &json!("Bash"))
    );
    let shown = world.ok(["inspect"]).stdout;
    assert!(
        shown.contains("boom happened") && shown.contains("make"),
        "{shown}"
    );
    let row = world.ok(["pauses"]).stdout;
    assert!(row.contains("boom happened"), "{row}");
    for (input, output) in [
        (".call.error", json!(error)),
        (".error", json!(error)),
        (".call.output", json!(error)),
    ] {
        let entry = typed(&world, input);
        let text = entry["output"].as_str().expect("text");
        let value: Value = serde_json::from_str(text).unwrap_or_else(|_| json!(text));
        assert_eq!(value, output, "{input}: {entry:#}");
    }
    let set = typed(&world, ":set .command \"make less\"");
    assert!(
        set["output"]
            .as_str()
            .expect("text")
            .contains("cannot be made to change"),
        "{set:#}"
    );
    world.ok(["resume"]);
    assert_eq!(hook.answer(), Value::Null);
    client.leave();
}

/// S2-015: a hit emits an event with id, type and condition. It has the breakpoint's id, kind, parameters and conditions, also of
/// one that is gone with its first hit.
#[test]
fn a_hit_names_its_breakpoint() {
    let world = World::committed(&[(FILE, TEXT)]);
    let mut client = panels(&world);
    client.open(FILE);
    let agent = began(&world);
    world.ok([
        "breakpoint",
        "add",
        "path",
        "*.txt",
        "--when",
        ".tool == \"Edit\"",
        "--hits",
        ">= 1",
        "--once",
    ]);
    let mut watcher = Watcher::start(&world);
    let input = edit(&world, FILE, "one", "1");
    let hook = HeldHook::start(&world, &before(&agent, "c1", "Edit", &input), 600);
    let told = watcher.until("held");
    let wanted = json!({
        "kind": "path", "summary": "*.txt", "when": ".tool == \"Edit\"", "hits": ">= 1",
    });
    assert_eq!(
        (&told["breakpoint"], &told["hit"]),
        (&json!("b1"), &wanted),
        "{told:#}"
    );
    client.until(|client| {
        let mut told = client.notified.iter();
        told.any(|(name, params)| name == "backstitch/didPause" && params["pause"]["hit"] == wanted)
    });
    assert_eq!(world.json(["pauses"])["pauses"][0]["hit"], wanted);
    let shown = world.ok(["inspect"]).stdout;
    assert!(
        shown.contains("breakpoint: path *.txt, when .tool == \"Edit\""),
        "{shown}"
    );
    world.ok(["skip"]);
    hook.answer();
    client.leave();
}

/// A call is shown with every file that it would write: in its row, in messages and as data.
#[test]
fn every_file_of_a_call_is_named() {
    let world = World::committed(&[
        ("app.js", "one\n"),
        ("n.ipynb", "{}\n"),
        ("b.txt", "b\n"),
        ("c.txt", "c\n"),
    ]);
    let agent = began(&world);
    world.ok(["breakpoint", "add", "tool", "apply_patch"]);
    let patch = |text: &str| json!({ "input": format!("*** Begin Patch\n{text}*** End Patch\n") });
    let first = "*** Update File: app.js\n@@\n-one\n+two\n*** Add File: mod/extra.js\n+a\n+b\n\
                 *** Delete File: n.ipynb\n";
    let mut watcher = Watcher::start(&world);
    let payload = before(&agent, "c1", "apply_patch", &patch(first));
    let hook = HeldHook::start(&world, &payload, 600);
    let told = watcher.until("held");
    let words = "apply_patch: M app.js, A mod/extra.js, D n.ipynb";
    assert_eq!(told["summary"], words, "{told:#}");
    let files: Vec<(&str, &str, i64, i64, bool)> = told["files"]
        .as_array()
        .expect("files")
        .iter()
        .map(|file| {
            let count = |name: &str| file[name].as_i64().expect("a number");
            (
                file["path"].as_str().expect("a path"),
                file["letter"].as_str().expect("a letter"),
                count("added"),
                count("removed"),
                file["binary"].as_bool().expect("known"),
            )
        })
        .collect();
    let wanted = [
        ("app.js", "M", 1, 1, false),
        ("mod/extra.js", "A", 2, 0, false),
        ("n.ipynb", "D", 0, 1, false),
    ];
    assert_eq!(files, wanted);
    let row = world.ok(["pauses"]).stdout;
    assert!(row.contains(words) && row.contains("+3 −2"), "{row}");
    let said = world.ok(["skip"]);
    assert!(
        said.stderr.contains(words) || said.stdout.contains(words),
        "{said}"
    );
    hook.answer();
    // also once it is over
    let over = world.json(["pauses", "--all"])["pauses"][0].clone();
    assert_eq!(
        (&over["summary"], &over["can"]),
        (&json!(words), &json!([])),
        "{over:#}"
    );

    let second = format!("{first}*** Delete File: b.txt\n*** Delete File: c.txt\n");
    let payload = before(&agent, "c2", "apply_patch", &patch(&second));
    let hook = HeldHook::start(&world, &payload, 600);
    let told = watcher.until("held");
    assert_eq!(
        told["summary"], "apply_patch: app.js +4 files (1 A, 1 M, 3 D)",
        "{told:#}"
    );
    world.ok(["skip"]);
    hook.answer();
}

/// The rows of two agents are told apart by session, turn and prompt.
#[test]
fn rows_of_two_agents_are_told_apart() {
    let world = World::committed(&[(FILE, TEXT)]);
    let mut agents = [world.agent(), world.agent()];
    for (agent, prompt) in agents.iter_mut().zip(["fix the cart", "write the docs"]) {
        agent.session_start();
        agent.prompt(prompt);
    }
    world.ok(["breakpoint", "add", "tool", "Edit"]);
    let input = edit(&world, FILE, "one", "1");
    let mut watcher = Watcher::start(&world);
    let hooks: Vec<HeldHook> = agents
        .iter()
        .map(|agent| {
            let hook = HeldHook::start(&world, &before(agent, "c1", "Edit", &input), 600);
            watcher.until("held");
            hook
        })
        .collect();
    let pauses = world.json(["pauses"])["pauses"].clone();
    assert_eq!(
        (&pauses[0]["letter"], &pauses[0]["turn"]),
        (&json!("A"), &json!("t1"))
    );
    assert_eq!(
        (&pauses[1]["letter"], &pauses[1]["turn"]),
        (&json!("B"), &json!("t2"))
    );
    let mut wide = world.backstitch();
    wide.arg("pauses").env("COLUMNS", "140");
    let rows = crate::support::finish(&mut wide, b"").stdout;
    for words in ["A t1 “fix the cart”", "B t2 “write the docs”"] {
        assert!(rows.contains(words), "{rows}");
    }
    let shown = world.ok(["inspect", "p2"]).stdout;
    assert!(shown.contains("claude-code B"), "{shown}");
    for (id, hook) in ["p1", "p2"].into_iter().zip(hooks) {
        world.ok(["skip", id]);
        hook.answer();
    }
}
