//! Breakpoints: the agent's questions are held, and calls without a question are reported.

use serde_json::{Value, json};

use super::{Client, asks, diff, script, story, turn, update, wait_for};
use crate::control::Watcher;
use crate::support::World;

fn command(id: &str) -> Value {
    json!({"toolCallId": id, "kind": "execute", "title": "make it", "status": "pending", "rawInput": {"command": "make it"}})
}

/// A question with the agent's work after it, by the answer that it got.
fn asked(world: &World, id: u64, call: &Value) -> Vec<Value> {
    let mut steps = asks(id, call);
    let (log, made) = (world.home.join("agent-0"), world.path(format!("made-{id}")));
    steps.push(json!([
        "sh",
        format!(
            "if tail -n 1 {} | grep -q '\"yes\"'; then echo made > {}; fi",
            log.display(),
            made.display()
        )
    ]));
    let status = json!({"toolCallId": call["toolCallId"], "status": "completed"});
    steps.push(update("tool_call_update", &status));
    steps
}

#[test]
fn a_held_question_is_refused_or_goes_on_as_it_came() {
    let world = World::committed(&[("a.txt", "one\n")]);
    world.ok(["breakpoint", "add", "command", "make"]);
    let turns = [
        turn(asked(&world, 70, &command("c1"))),
        turn(asked(&world, 71, &command("c2"))),
        turn(asked(&world, 72, &command("c3"))),
    ];
    let mut client = Client::start(&world, &script(&turns));
    client.open(&world);
    let mut watcher = Watcher::start(&world);

    // refused: the client sees nothing of it
    client.prompt("build");
    let pause = watcher.until("held");
    assert_eq!(pause["tool"], "execute", "{pause:#}");
    let can = pause["can"].to_string();
    assert!(
        can.contains("deny") && can.contains("stop") && !can.contains("change"),
        "{pause:#}"
    );
    world.write("input.json", "{\"command\":\"make less\"}");
    let changed = world
        .run(["resume", "--input", "input.json"])
        .expect_code(1);
    assert!(changed.stderr.contains("stand-in"), "{changed}");
    world.remove("input.json");
    world.ok(["deny", "-m", "not now"]);
    let mut seen = Vec::new();
    loop {
        let message = client.message();
        if message.get("method").is_none() {
            break;
        }
        seen.push(message["method"].clone());
    }
    assert_eq!(seen, ["session/update"], "nothing is asked");
    assert!(!world.exists("made-70"));

    // continues: the client's own answer decides
    client.prompt("build again");
    watcher.until("held");
    world.ok(["resume"]);
    client.choose("yes");
    client.result();
    assert!(world.exists("made-71"));

    // the turn is ended
    client.prompt("build once more");
    watcher.until("held");
    world.ok(["stop"]);
    client.result();
    assert!(!world.exists("made-72"));
    let end = client.end();
    assert_eq!(end.code, 0, "{}", end.stderr);
    let log = String::from_utf8(end.log).expect("text");
    let answer = |id: u64| {
        log.lines()
            .find(|line| line.contains(&format!("\"id\":{id},\"result\"")))
            .expect("an answer")
            .to_owned()
    };
    assert_eq!(
        answer(70),
        r#"{"jsonrpc":"2.0","id":70,"result":{"outcome":{"outcome":"selected","optionId":"no"}}}"#
    );
    assert!(answer(72).contains("cancelled"), "{log}");
    assert_eq!(log.matches("session/cancel").count(), 1, "{log}");
    assert_eq!(
        story(&world),
        ["build", "build again", "execute made-71", "build once more"]
    );
}

/// An edit is shown with its prediction, by the diff that the agent tells.
#[test]
fn a_held_edit_shows_its_change() {
    let world = World::committed(&[("src/a.txt", "one\ntail\n")]);
    world.ok(["breakpoint", "add", "path", "src/**"]);
    let path = world.path("src/a.txt");
    let call = json!({"toolCallId": "c1", "kind": "edit", "title": "Edit a.txt", "status": "pending", "content": diff(&path, Some("one"), "two")});
    let mut client = Client::start(&world, &script(&[turn(asked(&world, 70, &call))]));
    client.open(&world);
    let mut watcher = Watcher::start(&world);
    client.prompt("change it");
    watcher.until("held");
    let shown = world.ok(["inspect"]);
    assert!(shown.stdout.contains("src/a.txt"), "{shown}");
    assert!(
        shown.stdout.contains("+two") && shown.stdout.contains("-one"),
        "{shown}"
    );
    world.ok(["deny", "-m", "no"]);
    client.result();
    assert_eq!(client.end().code, 0);
    assert_eq!(story(&world), ["change it"]);
}

/// The client cancels a turn whose question it never saw.
#[test]
fn a_cancelled_turn_ends_the_hold() {
    let world = World::committed(&[("a.txt", "one\n")]);
    world.ok(["breakpoint", "add", "command", "make"]);
    let mut client = Client::start(&world, &script(&[turn(asked(&world, 70, &command("c1")))]));
    client.open(&world);
    let mut watcher = Watcher::start(&world);
    client.prompt("build");
    watcher.until("held");
    client.send(
        &json!({"jsonrpc": "2.0", "method": "session/cancel", "params": {"sessionId": "s1"}}),
    );
    client.result();
    let end = client.end();
    let log = String::from_utf8(end.log).expect("text");
    assert!(
        log.contains(r#""id":70,"result":{"outcome":{"outcome":"cancelled"}}"#),
        "{log}"
    );
    assert_eq!(world.json(["pauses"])["pauses"], json!([]));
}

/// A call without a question cannot be held: it is told as one that ran unasked.
#[test]
fn a_call_without_a_question_is_told() {
    let world = World::committed(&[("a.txt", "one\n")]);
    world.ok(["breakpoint", "add", "command", "make"]);
    let mut call = command("c1");
    call["status"] = json!("in_progress");
    let steps = [
        update("tool_call", &call),
        json!(["write", world.path("a.txt"), "two\n"]),
        update(
            "tool_call_update",
            &json!({"toolCallId": "c1", "status": "completed"}),
        ),
    ];
    let mut client = Client::start(&world, &script(&[turn(steps)]));
    client.open(&world);
    client.prompt("build");
    client.result();
    assert_eq!(client.end().code, 0);
    let all = world.json(["pauses", "--all"]);
    assert_eq!(all["pauses"][0]["state"], "slipped", "{all:#}");
    assert_eq!(story(&world), ["build", "execute a.txt"]);
}

/// An agent frees itself neither by accident: commands from below it are refused, those beside it are not.
#[test]
fn the_agents_own_commands_do_not_decide() {
    let world = World::committed(&[("a.txt", "one\n")]);
    world.ok(["breakpoint", "add", "command", "make"]);
    let binary = crate::support::binary::path();
    let mut steps = vec![json!(["sh", "true"])];
    let own = world.path("own.txt");
    let asks = asks(70, &command("c1"));
    steps.push(asks[0].clone());
    steps.push(json!(["until", "try it"]));
    steps.push(json!([
        "sh",
        format!("{} resume > {} 2>&1; true", binary.display(), own.display())
    ]));
    steps.push(asks[1].clone());
    let mut client = Client::start(&world, &script(&[turn(steps)]));
    client.open(&world);
    let mut watcher = Watcher::start(&world);
    client.prompt("build");
    watcher.until("held");
    client.write(b"try it\n");
    wait_for(|| own.exists() && !world.read("own.txt").is_empty());
    assert!(
        world.read("own.txt").contains("may not decide"),
        "{}",
        world.read("own.txt")
    );
    world.ok(["deny", "-m", "no"]);
    client.result();
    assert_eq!(client.end().code, 0);
}
