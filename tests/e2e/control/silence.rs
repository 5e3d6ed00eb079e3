//! Pauses that nobody answers: `pause.timeout`, `pause.onTimeout` and `pause.unattended` hold for all that is held.

use serde_json::{Value, json};

use super::{HeldHook, before, began, decision, edit, reason};
use crate::lsp::client::{Client, Editor};
use crate::mcp::{PlainClient, recorded};
use crate::repl::bridge::Talk;
use crate::support::World;

const FILE: &str = "src/a.txt";

/// Settings of a silence, and the outcomes of a call, an edit in an editor, a paused program and a proposed rewind. None: it
/// stays held.
const CASES: [(&str, [Option<&str>; 4]); 5] = [
    // the editor that shows the question of its own edit watches
    (
        "unattended = \"deny\"",
        [Some("deny"), None, Some("deny"), Some("deny")],
    ),
    (
        "unattended = \"allow\"",
        [Some("continue"), None, Some("continue"), None],
    ),
    (
        "unattended = \"hold\"
timeout = 1
onTimeout = \"deny\"",
        [Some("deny"); 4],
    ),
    (
        "unattended = \"hold\"
timeout = 1
onTimeout = \"allow\"",
        [
            Some("continue"),
            Some("continue"),
            Some("continue"),
            Some("deny"),
        ],
    ),
    ("unattended = \"hold\"", [None; 4]),
];

/// The state of the only pause that is left, and the rule that decided.
fn left(world: &World) -> Value {
    world.json(["pauses", "--all"])["pauses"][0].clone()
}

/// It is still held: a person decides.
fn is_held(world: &World) {
    let pause = left(world);
    assert_eq!(pause["state"], "held", "{pause:#}");
    world.ok(["deny", "p1", "-m", "by a person"]);
}

fn call(settings: &str, outcome: Option<&str>) {
    let world = World::committed(&[(FILE, "one\ntwo\nthree\n")]);
    let agent = began(&world);
    world.ok(["breakpoint", "add", "tool", "Edit"]);
    world.configure(&format!("[pause]\n{settings}\n"));
    let payload = before(&agent, "c1", "Edit", &edit(&world, FILE, "one", "1"));
    let mut watcher = outcome.is_none().then(|| super::Watcher::start(&world));
    let hook = HeldHook::start(&world, &payload, 600);
    if let Some(watcher) = &mut watcher {
        watcher.until("held");
        is_held(&world);
    }
    let answer = hook.answer();
    match outcome {
        Some("continue") => assert_eq!(decision(&answer), None, "{settings}: {answer}"),
        Some(_) => assert_eq!(decision(&answer), Some("deny"), "{settings}: {answer}"),
        None => assert_eq!(reason(&answer), "by a person", "{settings}"),
    }
}

fn editor_edit(settings: &str, outcome: Option<&str>) {
    let world = World::committed(&[("a.txt", "one\ntwo\n")]);
    world.configure(&format!("[pause]\n{settings}\n"));
    world.ok(["breakpoint", "add", "path", "a.txt"]);
    let mut client = Client::with(&world, Editor::Vscode, &json!({ "reloadsFromDisk": true }));
    client.open("a.txt");
    // a question that is closed is asked again, and is not an answer
    (0..9).for_each(|_| client.will_choose(""));
    let turn = json!({ "agent": "helper", "session": "s1", "prompt": "change it" });
    client.ok("backstitch/turnBegin", turn);
    let range =
        json!({ "start": { "line": 0, "character": 0 }, "end": { "line": 1, "character": 0 } });
    let edit =
        json!({ "changes": { client.uri("a.txt"): [{ "range": range, "newText": "1\n" }] } });
    let asked = json!({ "label": "Edit", "edit": edit });
    let mut watcher = outcome.is_none().then(|| super::Watcher::start(&world));
    let id = client.begin("backstitch/applyEdit", asked);
    if let Some(watcher) = &mut watcher {
        watcher.until("held");
        is_held(&world);
    }
    let answer = client.response(id);
    client.forget_answers();
    let message = answer["error"]["message"].as_str().unwrap_or_default();
    match outcome {
        Some("continue") => assert_eq!(answer["result"]["applied"], true, "{settings}: {answer}"),
        Some(_) => assert!(!message.is_empty(), "{settings}: {answer}"),
        None => assert_eq!(message, "by a person", "{settings}: {answer}"),
    }
}

fn program(settings: &str, outcome: Option<&str>) {
    let world = crate::repl::python::world();
    world.configure(&format!("[pause]\n{settings}\n"));
    let mut talk = Talk::start(&world);
    let pause = talk.pause(1);
    if outcome.is_none() {
        let held = talk.ok("pause/poll", &json!({ "pause": pause, "waitMs": 1500 }));
        assert_eq!(held["action"], Value::Null, "{settings}");
        is_held(&world);
    }
    let asked = json!({ "pause": pause, "waitMs": 60_000 });
    let action = talk.ok("pause/poll", &asked)["action"].clone();
    match outcome {
        Some("continue") => assert_eq!(action["kind"], "continue", "{settings}: {action}"),
        Some(_) => assert_eq!(action["kind"], "raise", "{settings}: {action}"),
        None => assert_eq!(action["error"], "by a person", "{settings}: {action}"),
    }
    talk.end();
}

fn proposal(settings: &str, outcome: Option<&str>) {
    let world = recorded();
    world.configure(&format!("[pause]\n{settings}\n"));
    let before = world.read("a.txt");
    let mut client = PlainClient::begun(&world);
    let mut watcher = outcome.is_none().then(|| super::Watcher::start(&world));
    let id = client.send_call("propose_rewind", &json!({}));
    if let Some(watcher) = &mut watcher {
        watcher.until("held");
        is_held(&world);
    }
    let document = client.answer_to(id)["result"]["structuredContent"].clone();
    assert_eq!(document["state"], "denied", "{settings}: {document:#}");
    assert_eq!(world.read("a.txt"), before, "{settings}");
}

/// Each setting has the same meaning for a call, an edit, a program and a proposal.
#[test]
fn a_silence_has_the_outcome_of_the_settings() {
    for (settings, outcomes) in CASES {
        let all: [fn(&str, Option<&str>); 4] = [call, editor_edit, program, proposal];
        for (subject, outcome) in all.into_iter().zip(outcomes) {
            subject(settings, outcome);
        }
    }
}
