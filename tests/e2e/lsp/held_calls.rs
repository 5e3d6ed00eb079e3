//! Held calls in editors without panels: a question, a lens, code actions and a document.

use serde_json::json;

use super::client::{Client, Editor};
use crate::control::{HeldHook, after, before, decision, edit, reason};
use crate::support::World;
use crate::support::agent::Agent;

const TEXT: &str = "one\ntwo\nthree\n";

fn began(world: &World) -> Agent<'_> {
    let mut agent = world.agent();
    agent.session_start();
    agent.prompt("make it two");
    agent
}

/// `pause.timeout` begins anew with each edit of the call.
#[test]
fn an_edit_of_the_call_starts_its_time_anew() {
    let world = World::committed(&[("a.txt", "one\ntwo\nthree\n")]);
    world.configure("[pause]\ntimeout = 2\n");
    let own = json!({ "reloadsFromDisk": true, "notifications": true, "panels": true });
    let mut client = Client::with(&world, Editor::Vscode, &own);
    client.open("a.txt");
    let mut agent = world.agent();
    agent.session_start();
    agent.prompt("make it two");
    world.ok(["breakpoint", "add", "tool", "Edit"]);
    let input = edit(&world, "a.txt", "two", "2");
    let hook = HeldHook::start(&world, &before(&agent, "c1", "Edit", &input), 600);
    let told =
        |client: &Client<'_>, method: &str| client.notified.iter().any(|(name, _)| name == method);
    client.until(|client| told(client, "backstitch/didPause"));
    let began = std::time::Instant::now();
    let mut state = json!("held");
    while began.elapsed() < std::time::Duration::from_secs(4) && state == "held" {
        client.ok(
            "backstitch/predict",
            json!({ "pause": "p1", "input": input }),
        );
        state = client.ok("backstitch/pause", json!({ "pause": "p1" }))["pause"]["state"].clone();
    }
    assert_eq!(state, "held");
    // nobody edits any longer
    client.until(|client| told(client, "backstitch/didResume"));
    assert!(reason(&hook.answer()).contains("nobody answered"));
    assert!(began.elapsed() >= std::time::Duration::from_secs(5));
    client.leave();
}

/// S2-013: the user is asked, and the answer is the decision. The call is unattended until they have answered once.
#[test]
fn a_plain_editor_asks() {
    let world = World::committed(&[("a.txt", TEXT)]);
    let agent = began(&world);
    let mut client = Client::start(&world, Editor::Helix);
    client.open("a.txt");
    client.command(
        "backstitch.breakpoint.toggle",
        json!({ "uri": client.uri("a.txt"), "lines": [1, 2] }),
    );
    client.will_choose("Details");
    client.will_choose("Deny");
    let input = edit(&world, "a.txt", "two", "2");
    let hook = HeldHook::start(&world, &before(&agent, "c1", "Edit", &input), 600);
    client.until(|client| client.asked.len() == 2);
    let asked = &client.asked[0];
    for words in ["claude-code wants to run Edit a.txt (+1 −1)", "Held by b1"] {
        assert!(asked.contains(words), "no {words:?} in {asked}");
    }
    assert_eq!(client.shown.len(), 1, "the details");
    let answer = hook.answer();
    assert_eq!(decision(&answer), Some("deny"));
    assert_eq!(reason(&answer), "The user refused this call.");
    assert_eq!(world.read("a.txt"), TEXT);
    client.leave();
}

/// The predicted lines have a lens and code actions; a late answer says who was first.
#[test]
fn a_held_call_has_a_lens_and_actions() {
    let world = World::committed(&[("a.txt", TEXT)]);
    let agent = began(&world);
    let mut client = Client::start(&world, Editor::Helix);
    client.holds_answers = true;
    client.open("a.txt");
    world.ok(["breakpoint", "add", "tool", "Edit"]);
    let input = edit(&world, "a.txt", "two", "2");
    let hook = HeldHook::start(&world, &before(&agent, "c1", "Edit", &input), 600);
    client.until(|client| client.asked.len() == 1);
    let lenses = client.lenses("a.txt");
    let held = lenses
        .iter()
        .find(|(_, title, _)| title == "⏸ held: Edit by claude-code");
    let (line, ..) = held.unwrap_or_else(|| panic!("{lenses:#?}"));
    assert_eq!(*line, 1);
    let actions = client.actions("a.txt", 1..2);
    let resume = actions
        .iter()
        .find(|(title, _)| title == "Continue the held Edit");
    let (_, resume) = resume.unwrap_or_else(|| panic!("{actions:#?}"));
    let elsewhere = client.actions("a.txt", 0..1);
    assert!(
        elsewhere.iter().all(|(title, _)| !title.contains("held")),
        "{elsewhere:#?}"
    );
    client.run(&resume.clone());
    assert_eq!(hook.answer(), serde_json::Value::Null);
    client.holds_answers = false;
    client.will_choose("Continue");
    client.answer_held();
    client.until(|client| client.said.iter().any(|said| said.contains("p1")));
    client.leave();
}

/// A hit is reported with its breakpoint, the kind of that and the reason, whether it holds the call or notes it.
#[test]
fn hits_are_told() {
    let world = World::committed(&[("a.txt", TEXT)]);
    let own = json!({ "reloadsFromDisk": true, "notifications": true, "panels": true });
    let mut client = Client::with(&world, Editor::Vscode, &own);
    client.open("a.txt");
    let agent = began(&world);
    world.ok([
        "breakpoint",
        "add",
        "path",
        "*.txt",
        "--action",
        "log",
        "--message",
        "{.tool}",
    ]);
    world.ok(["breakpoint", "add", "tool", "Edit"]);
    let input = edit(&world, "a.txt", "two", "2");
    let hook = HeldHook::start(&world, &before(&agent, "c1", "Edit", &input), 600);
    let told = |client: &Client<'_>, method: &str| {
        let mut all = client.notified.iter();
        all.find(|(name, _)| name == method)
            .map(|(_, params)| params.clone())
    };
    client.until(|client| {
        told(client, "backstitch/didPause").is_some() && told(client, "backstitch/didHit").is_some()
    });
    let hit = &told(&client, "backstitch/didHit").expect("told")["hit"];
    assert_eq!(
        (&hit["breakpoint"], &hit["kind"], &hit["why"], &hit["text"]),
        (
            &json!("b1"),
            &json!("path"),
            &json!("names a.txt"),
            &json!("Edit")
        ),
        "{hit:#}"
    );
    let pause = &told(&client, "backstitch/didPause").expect("told")["pause"];
    assert_eq!(
        (&pause["breakpoint"], &pause["why"]),
        (&json!("b2"), &json!("calls Edit")),
        "{pause:#}"
    );
    world.ok(["resume"]);
    hook.answer();
    client.leave();
}

/// A call that its agent ran although its hook was killed is reported, after it was told as lost.
#[test]
fn a_call_that_slipped_is_told() {
    let world = World::committed(&[("a.txt", TEXT)]);
    let own = json!({ "reloadsFromDisk": true, "notifications": true, "panels": true });
    let mut client = Client::with(&world, Editor::Vscode, &own);
    client.open("a.txt");
    let agent = began(&world);
    world.ok(["breakpoint", "add", "tool", "Edit"]);
    let input = edit(&world, "a.txt", "two", "2");
    let hook = HeldHook::start(&world, &before(&agent, "c1", "Edit", &input), 600);
    let outcomes = |client: &Client<'_>| -> Vec<String> {
        let resumed = client
            .notified
            .iter()
            .filter(|(name, _)| name == "backstitch/didResume");
        resumed
            .map(|(_, params)| params["outcome"].as_str().unwrap_or_default().to_owned())
            .collect()
    };
    client.until(|client| {
        client
            .notified
            .iter()
            .any(|(name, _)| name == "backstitch/didPause")
    });
    hook.kill();
    client.until(|client| outcomes(client) == ["lost"]);
    // the agent runs the call all the same
    world.write("a.txt", TEXT.replace("two", "2"));
    let response = json!({"filePath": world.path("a.txt"), "oldString": "two", "newString": "2",
        "originalFile": TEXT, "structuredPatch": [], "userModified": false, "replaceAll": false});
    world
        .hook(&after(&agent, "c1", "Edit", &input, &response))
        .expect_code(0);
    client.until(|client| outcomes(client) == ["lost", "slipped"]);
    let told = "claude-code ran Edit a.txt unasked: its hook died (p1).";
    client.until(|client| client.said.iter().any(|text| text.contains(told)));
    client.leave();
}

/// A call whose hook died before it noted anything is reported as well.
#[test]
fn a_call_that_no_hook_saw_is_told() {
    let world = World::committed(&[("a.txt", TEXT)]);
    let own = json!({ "reloadsFromDisk": true, "notifications": true, "panels": true });
    let mut client = Client::with(&world, Editor::Vscode, &own);
    client.open("a.txt");
    let agent = began(&world);
    world.ok(["breakpoint", "add", "tool", "Edit"]);
    client.until(|client| {
        let told = client.notified.iter();
        told.clone()
            .any(|(name, _)| name == "backstitch/breakpointsChanged")
    });
    world.write("a.txt", TEXT.replace("two", "2"));
    let input = edit(&world, "a.txt", "two", "2");
    let response = json!({"filePath": world.path("a.txt"), "oldString": "two", "newString": "2",
        "originalFile": TEXT, "structuredPatch": [], "userModified": false, "replaceAll": false});
    world
        .hook(&after(&agent, "c1", "Edit", &input, &response))
        .expect_code(0);
    let told = "claude-code ran Edit a.txt unasked: its hook died (p1).";
    client.until(|client| client.said.iter().any(|text| text.contains(told)));
    client.leave();
}
