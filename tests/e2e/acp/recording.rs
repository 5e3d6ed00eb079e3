//! The history of a conversation: turns, steps, images before and after, and the user's edits beside them.

use serde_json::{Value, json};

use super::{
    Client, asks, diff, has_written, hello_of, open_calls, script, script_of, sides, story, turn,
    update, wait_for,
};
use crate::support::World;

fn edit_call(id: &str, path: &std::path::Path, status: &str) -> Value {
    json!({"toolCallId": id, "kind": "edit", "title": "Edit", "status": status, "locations": [{"path": path}]})
}

/// The client writes for the agent: the image before is that of the moment, an edit of the user right before stays the user's.
#[test]
fn edits_that_the_client_writes() {
    let world = World::committed(&[("a.txt", "one\ntail\n")]);
    let (a, b) = (world.path("a.txt"), world.path("b.txt"));
    let mut first = vec![update("tool_call", &edit_call("c1", &a, "pending"))];
    first.extend(asks(70, &edit_call("c1", &a, "pending")));
    first.extend(has_written(71, &a, "two\ntail\nmine\n"));
    first.push(update(
        "tool_call_update",
        &json!({"toolCallId": "c1", "status": "completed"}),
    ));
    // a write that belongs to no call
    let second = has_written(72, &b, "new\n");
    let mut client = Client::start(&world, &script(&[turn(first), turn(second)]));
    client.open(&world);
    client.prompt("change it");
    // the user edits while the agent's question is open
    let question = client.until("session/request_permission");
    world.write("a.txt", "one\ntail\nmine\n");
    let outcome = json!({"outcome": {"outcome": "selected", "optionId": "yes"}});
    client.answer(&question, &outcome);
    client.write_file();
    client.result();
    client.prompt("add b");
    client.write_file();
    client.result();
    assert_eq!(client.end().code, 0);
    let told = [
        "change it",
        "external a.txt",
        "edit a.txt",
        "add b",
        "write_text_file b.txt",
    ];
    assert_eq!(story(&world), told);
    let blame = world.json(["blame", "a.txt"]);
    let by: Vec<_> = blame["lines"]
        .as_array()
        .expect("lines")
        .iter()
        .map(|line| &line["by"])
        .collect();
    assert_eq!(by[0], "agent", "{blame:#}");
    assert_eq!(by[2], "user", "{blame:#}");
    assert_eq!(
        sides(&world, "c4", "a.txt"),
        (
            "one\ntail\nmine\n".to_owned(),
            "two\ntail\nmine\n".to_owned()
        )
    );
    // the turn is taken out, and the user's line stays
    // the user's line came before the call's report, or after it
    let rewound = world.run(["rewind", "t1", "--yes"]);
    assert!(
        rewound.code == 0 || rewound.stderr.contains("uncertain"),
        "{rewound}"
    );
    assert_eq!(world.read("a.txt"), "one\ntail\nmine\n");
    assert!(!world.exists("b.txt"));
    world.ok(["verify"]);
}

/// The agent writes by itself, before or after it tells so, and tells the whole file or a part of it.
#[test]
fn edits_that_the_agent_writes() {
    let world = World::committed(&[
        ("a.txt", "one\nx\n"),
        ("b.txt", "one\nx\n"),
        ("c.txt", "one\nx\n"),
    ]);
    let [a, b, c, d] = ["a.txt", "b.txt", "c.txt", "d.txt"].map(|path| world.path(path));
    let done = |id: &str, content: Value| {
        update(
            "tool_call_update",
            &json!({"toolCallId": id, "status": "completed", "content": content}),
        )
    };
    let steps = [
        // told, then written; a whole file
        update("tool_call", &edit_call("c1", &a, "in_progress")),
        json!(["write", a, "two\nx\n"]),
        done("c1", diff(&a, Some("one\nx\n"), "two\nx\n")),
        // written before it is told; a part of the file
        json!(["write", b, "two\nx\n"]),
        update("tool_call", &edit_call("c2", &b, "in_progress")),
        done("c2", diff(&b, Some("one"), "two")),
        // told at its end only
        json!(["write", c, "two\nx\n"]),
        update(
            "tool_call",
            &json!({"toolCallId": "c3", "kind": "edit", "status": "completed", "content": diff(&c, Some("one"), "two")}),
        ),
        // a new file
        update("tool_call", &edit_call("c4", &d, "in_progress")),
        json!(["write", d, "new\n"]),
        done("c4", diff(&d, None, "new\n")),
    ];
    let mut client = Client::start(&world, &script(&[turn(steps)]));
    client.open(&world);
    client.prompt("change all");
    client.result();
    assert_eq!(client.end().code, 0);
    assert_eq!(
        story(&world),
        [
            "change all",
            "edit a.txt",
            "edit b.txt",
            "edit c.txt",
            "edit d.txt"
        ]
    );
    for (path, line) in [("a.txt", 0), ("b.txt", 0), ("c.txt", 0), ("d.txt", 0)] {
        let blame = world.json(["blame", path]);
        assert_eq!(blame["lines"][line]["by"], "agent", "{blame:#}");
        assert_ne!(blame["lines"][line]["certainty"], "uncertain", "{blame:#}");
    }
    world.ok(["rewind", "t1", "--yes"]);
    assert_eq!(
        world.read("a.txt") + &world.read("b.txt") + &world.read("c.txt"),
        "one\nx\n".repeat(3)
    );
    assert!(!world.exists("d.txt"));
}

/// A hand edit that no scan has seen, in a file that the agent then writes by itself: it stays the user's, whole file or part.
#[test]
fn hand_edits_before_own_writes_of_the_agent_stay_the_users() {
    let world = World::committed(&[("a.txt", "one\n"), ("b.txt", "one\n")]);
    let (a, b) = (world.path("a.txt"), world.path("b.txt"));
    let steps = [
        json!(["until", "go on"]),
        update("tool_call", &edit_call("c1", &a, "in_progress")),
        json!(["write", a, "two\nmine\n"]),
        update(
            "tool_call_update",
            &json!({"toolCallId": "c1", "status": "completed", "content": diff(&a, Some("one\nmine\n"), "two\nmine\n")}),
        ),
        update("tool_call", &edit_call("c2", &b, "in_progress")),
        json!(["write", b, "two\nmine\n"]),
        update(
            "tool_call_update",
            &json!({"toolCallId": "c2", "status": "completed", "content": diff(&b, Some("one"), "two")}),
        ),
    ];
    let mut client = Client::start(&world, &script(&[turn(steps)]));
    client.open(&world);
    client.prompt("change both");
    // the turn has begun
    wait_for(|| world.run(["--json", "log"]).stdout.contains("change both"));
    world.write("a.txt", "one\nmine\n");
    world.write("b.txt", "one\nmine\n");
    client.write(b"go on\n");
    client.result();
    assert_eq!(client.end().code, 0);
    assert_eq!(
        story(&world),
        [
            "change both",
            "external a.txt",
            "edit a.txt",
            "external b.txt",
            "edit b.txt"
        ]
    );
    for path in ["a.txt", "b.txt"] {
        let blame = world.json(["blame", path]);
        assert_eq!(blame["lines"][0]["by"], "agent", "{blame:#}");
        assert_eq!(blame["lines"][1]["by"], "user", "{blame:#}");
    }
    world.ok(["rewind", "t1", "--yes"]);
    assert_eq!(
        world.read("a.txt") + &world.read("b.txt"),
        "one\nmine\none\nmine\n"
    );
}

/// Commands are scanned around, and each is one step: with a question, without one, and in a terminal of the client.
#[test]
fn commands_are_steps() {
    let world = World::committed(&[("a.txt", "one\n")]);
    let run = |path: &str, text: &str| json!(["write", world.path(path), text]);
    let call = |id: &str, status: &str| json!({"toolCallId": id, "kind": "execute", "title": "make", "status": status, "rawInput": {"command": "make"}});
    let end = |id: &str| {
        update(
            "tool_call_update",
            &json!({"toolCallId": id, "status": "completed"}),
        )
    };
    let mut steps = vec![update("tool_call", &call("c1", "pending"))];
    steps.extend(asks(70, &call("c1", "pending")));
    steps.extend([run("a.txt", "two\nmine\n"), end("c1")]);
    steps.extend([
        update("tool_call", &call("c2", "in_progress")),
        json!(["until", "go on"]),
        run("b.txt", "made\n"),
        end("c2"),
    ]);
    let terminal = json!({"sessionId": "s1", "command": "cp", "args": ["a", "b"]});
    let wait = json!({"sessionId": "s1", "terminalId": "t7"});
    steps.extend([
        json!(["send", {"jsonrpc": "2.0", "id": 80, "method": "terminal/create", "params": terminal}]),
        json!(["until", "\"id\":80"]),
        run("c.txt", "copied\n"),
        json!(["send", {"jsonrpc": "2.0", "id": 81, "method": "terminal/wait_for_exit", "params": wait}]),
        json!(["until", "\"id\":81"]),
    ]);
    // one that its user refuses, and one that fails
    steps.extend(asks(90, &call("c4", "pending")));
    steps.push(update(
        "tool_call_update",
        &json!({"toolCallId": "c4", "status": "failed"}),
    ));
    let mut client = Client::start(&world, &script(&[turn(steps)]));
    client.open(&world);
    client.prompt("build");
    let question = client.until("session/request_permission");
    world.write("a.txt", "one\nmine\n");
    client.answer(
        &question,
        &json!({"outcome": {"outcome": "selected", "optionId": "yes"}}),
    );
    // the second command is open
    wait_for(|| story(&world).len() == 3 && open_calls(&world) == 1);
    client.write(b"go on\n");
    let created = client.until("terminal/create");
    client.answer(&created, &json!({"terminalId": "t7"}));
    let waited = client.until("terminal/wait_for_exit");
    client.answer(&waited, &json!({"exitCode": 0}));
    client.choose("no");
    client.result();
    assert_eq!(client.end().code, 0);
    let told = [
        "build",
        "external a.txt",
        "execute a.txt",
        "execute b.txt",
        "terminal c.txt",
    ];
    assert_eq!(story(&world), told);
    let blame = world.json(["blame", "a.txt"]);
    assert_eq!(blame["lines"][0]["by"], "agent", "{blame:#}");
    assert_eq!(blame["lines"][1]["by"], "user", "{blame:#}");
}

/// An agent with hooks behind the proxy: both tell the same prompts and calls, and each is counted once, whoever is first.
#[test]
fn prompts_and_calls_that_hooks_tell_too_are_counted_once() {
    let world = World::committed(&[("a.txt", "one\n"), ("b.txt", "one\n"), ("c.txt", "one\n")]);
    let binary = crate::support::binary::path();
    let hook = |name: &str, fields: Value| {
        let mut payload = json!({"session_id": "s1", "hook_event_name": name, "cwd": world.root, "prompt_id": "p"});
        for (name, value) in fields.as_object().expect("fields") {
            payload[name] = value.clone();
        }
        json!([
            "sh",
            format!("echo '{payload}' | {} hook qwen", binary.display())
        ])
    };
    let [a, b, c] = ["a.txt", "b.txt", "c.txt"].map(|path| world.path(path));
    let tool = |id: &str, path: &std::path::Path| json!({"tool_name": "edit", "tool_call_id": id, "tool_input": {"file_path": path, "old_string": "one", "new_string": "two"}});
    let told = |id: &str, path: &std::path::Path, status: &str| {
        let meta = json!({"toolName": "edit"});
        json!({"toolCallId": id, "kind": "edit", "status": status, "locations": [{"path": path}], "_meta": meta})
    };
    let done = |id: &str, path: &std::path::Path| {
        let content = diff(path, Some("one\n"), "two\n");
        update(
            "tool_call_update",
            &json!({"toolCallId": id, "status": "completed", "content": content}),
        )
    };
    let mut steps = vec![
        // the hook of the start is late
        hook("SessionStart", json!({"source": "startup"})),
        hook(
            "UserPromptSubmit",
            json!({"prompt": "change it", "submitted_prompt": "change it"}),
        ),
        // the proxy first
        update("tool_call", &told("c1", &a, "in_progress")),
        hook("PreToolUse", tool("c1", &a)),
        json!(["write", a, "two\n"]),
        hook("PostToolUse", tool("c1", &a)),
        done("c1", &a),
        // the hook first
        hook("PreToolUse", tool("c2", &b)),
        update("tool_call", &told("c2", &b, "in_progress")),
        json!(["write", b, "two\n"]),
        done("c2", &b),
        hook("PostToolUse", tool("c2", &b)),
    ];
    // the client writes
    steps.extend([
        hook("PreToolUse", tool("c3", &c)),
        update("tool_call", &told("c3", &c, "in_progress")),
    ]);
    steps.extend(has_written(70, &c, "two\n"));
    steps.extend([
        hook("PostToolUse", tool("c3", &c)),
        done("c3", &c),
        hook("Stop", json!({})),
    ]);
    // the same words again are another turn
    let again = [
        hook(
            "UserPromptSubmit",
            json!({"prompt": "change it", "submitted_prompt": "change it", "prompt_id": "q"}),
        ),
        hook("Stop", json!({})),
    ];
    let mut client = Client::start(
        &world,
        &script_of(hello_of("qwen-code", 1), &[turn(steps), turn(again)]),
    );
    client.open(&world);
    client.prompt("change it");
    client.write_file();
    client.result();
    client.prompt("change it");
    client.result();
    assert_eq!(client.end().code, 0);
    assert_eq!(
        story(&world),
        [
            "change it",
            "edit a.txt",
            "edit b.txt",
            "edit c.txt",
            "change it"
        ]
    );
    let log = world.json(["log", "--all"]);
    let agents = log["checkpoints"].as_array().expect("checkpoints").iter();
    assert!(
        agents
            .filter(|one| one["kind"] == "turn")
            .all(|one| one["agent"] == "qwen"),
        "{log:#}"
    );
    assert_eq!(world.json(["stats"])["sessions"], json!({"qwen": 1}));
}

/// A conversation that is loaded again happened before: nothing of it is recorded twice.
#[test]
fn a_loaded_conversation_is_not_recorded_again() {
    let world = World::committed(&[("a.txt", "one\n")]);
    let path = world.path("a.txt");
    let told = json!({"toolCallId": "old", "kind": "edit", "status": "completed", "content": diff(&path, Some("zero\n"), "one\n")});
    let steps = json!([
        ["read"], ["answer", {"protocolVersion": 1}],
        ["read"], update("tool_call", &told), ["answer", {}],
        ["until", "session/prompt"], ["answer", {"stopReason": "end_turn"}], ["eof"],
    ]);
    let mut client = Client::start(&world, &steps);
    client.request("initialize", &json!({"protocolVersion": 1}));
    client.result();
    client.request(
        "session/load",
        &json!({"sessionId": "s1", "cwd": world.root}),
    );
    client.result();
    client.prompt("go on");
    client.result();
    assert_eq!(client.end().code, 0);
    assert_eq!(story(&world), ["go on"]);
}

/// A turn is taken out between two others, by hand edits that stay, while the agent's session continues.
#[test]
fn turns_are_rewound_while_the_session_goes_on() {
    let world = World::committed(&[("a.txt", "one\ntail\n")]);
    let path = world.path("a.txt");
    let write = |id: u64, text: &str| {
        let mut steps = has_written(id, &path, text);
        steps.insert(
            0,
            update(
                "tool_call",
                &edit_call(&format!("c{id}"), &path, "in_progress"),
            ),
        );
        steps.push(update(
            "tool_call_update",
            &json!({"toolCallId": format!("c{id}"), "status": "completed"}),
        ));
        turn(steps)
    };
    let turns = [
        write(70, "two\ntail\n"),
        write(71, "one\ntail\nmine\nthree\n"),
    ];
    let mut client = Client::start(&world, &script(&turns));
    client.open(&world);
    client.prompt("first");
    client.write_file();
    client.result();
    // the record may come after the client's answer
    wait_for(|| story(&world).len() == 2 && open_calls(&world) == 0);
    world.write("a.txt", "two\ntail\nmine\n");
    world.ok(["rewind", "t1", "--yes"]);
    assert_eq!(world.read("a.txt"), "one\ntail\nmine\n");
    client.prompt("second");
    client.write_file();
    client.result();
    assert_eq!(client.end().code, 0);
    world.ok(["rewind", "t2", "--yes"]);
    assert_eq!(world.read("a.txt"), "one\ntail\nmine\n");
    world.ok(["verify"]);
}

/// Settings turn the record off; a store that cannot be written is one line on stderr, and the traffic continues.
#[test]
fn trouble_of_the_record_does_not_stop_the_agent() {
    let world = World::committed(&[("a.txt", "one\n")]).for_ordinary_user();
    std::fs::create_dir_all(world.state.join("backstitch")).expect("made");
    let turns = [turn([]), turn([])];
    world.set_mode(&world.state, 0o000);
    let mut client = Client::start(&world, &script(&turns));
    client.open(&world);
    for _ in 0..2 {
        client.prompt("go");
        assert_eq!(client.result()["stopReason"], "end_turn");
    }
    let end = client.end();
    world.set_mode(&world.state, 0o755);
    assert_eq!(end.code, 0, "{}", end.stderr);
    assert_eq!(end.stderr.lines().count(), 1, "{}", end.stderr);
    assert!(end.stderr.starts_with("backstitch: "), "{}", end.stderr);
}
