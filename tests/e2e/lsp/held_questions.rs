//! The question about a held call in editors without panels: it counts as seen, is void when it is, and comes back when it is
//! lost.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::client::{Client, Editor};
use crate::control::{HeldHook, Watcher, before, decision, edit};
use crate::support::World;
use crate::support::agent::Agent;

const TEXT: &str = "one\ntwo\nthree\n";

fn began(world: &World) -> Agent<'_> {
    let mut agent = world.agent();
    agent.session_start();
    agent.prompt("make it two");
    agent
}

/// A held Edit, whose agent has a person before it: unseen, it would ask its own question.
fn held(world: &World, agent: &Agent<'_>) -> HeldHook {
    let input = edit(world, "a.txt", "two", "2");
    HeldHook::attended(world, &before(agent, "c1", "Edit", &input), Some(600), true)
}

fn state(client: &mut Client<'_>) -> Value {
    let all = client.ok("backstitch/pauses", json!({ "all": true }));
    all["pauses"][0]["state"].clone()
}

/// S2-013: they are checked before the tool has any effect: the first call of an editor's session, too, is held where the editor
/// shows the question. Its first answer does nothing.
#[test]
fn the_first_call_is_held_where_a_question_stands() {
    for editor in [Editor::Helix, Editor::Eglot] {
        let world = World::committed(&[("a.txt", TEXT)]);
        let agent = began(&world);
        let mut client = Client::start(&world, editor);
        client.holds_answers = true;
        client.open("a.txt");
        world.ok(["breakpoint", "add", "tool", "Edit"]);
        let hook = held(&world, &agent);
        client.until(|client| client.asked.len() == 1);
        assert_eq!(client.offered[0], ["Details", "Continue", "Step", "Deny"]);
        // longer than a call waits for somebody who watches
        let asked = Instant::now();
        while asked.elapsed() < Duration::from_millis(1500) {
            assert_eq!(state(&mut client), "held", "{editor:?}");
        }
        client.holds_answers = false;
        client.will_choose("Details");
        client.will_choose("Deny");
        client.answer_held();
        client.until(|client| client.offered.len() == 3);
        assert_eq!(decision(&hook.answer()), Some("deny"), "{editor:?}");
        client.leave();
    }
}

/// A question whose call was decided elsewhere says so at once, and a late answer says what happened. Nothing runs twice.
#[test]
fn a_void_question_says_so() {
    let world = World::committed(&[("a.txt", TEXT)]);
    let agent = began(&world);
    let mut client = Client::start(&world, Editor::Helix);
    client.holds_answers = true;
    client.open("a.txt");
    world.ok(["breakpoint", "add", "tool", "Edit"]);
    let hook = held(&world, &agent);
    client.until(|client| client.asked.len() == 1);
    world.ok(["resume"]);
    assert_eq!(hook.answer(), Value::Null);
    let says = |client: &Client<'_>, words: &[&str]| {
        let mut said = client.said.iter();
        said.any(|said| words.iter().all(|words| said.contains(words)))
    };
    client.until(|client| {
        says(
            client,
            &["p1 Edit a.txt: continued, in a terminal", "changes nothing"],
        )
    });
    client.holds_answers = false;
    client.will_choose("Deny");
    client.answer_held();
    client.until(|client| says(client, &["Deny came too late", "continued, in a terminal"]));
    client.leave();
}

/// A question that was closed comes back while the call is held, once the user is idle.
#[test]
fn a_lost_question_is_asked_again() {
    let world = World::committed(&[("a.txt", TEXT)]);
    let agent = began(&world);
    let mut client = Client::start(&world, Editor::Helix);
    client.open("a.txt");
    world.ok(["breakpoint", "add", "tool", "Edit"]);
    client.will_choose("");
    client.will_choose("Continue");
    let hook = held(&world, &agent);
    client.until(|client| client.asked.len() == 2);
    assert_eq!(client.asked[0], client.asked[1]);
    assert_eq!(hook.answer(), Value::Null);
    client.leave();
}

/// A question whose input was changed elsewhere is not answered as it stands: it is shown anew.
#[test]
fn a_stale_question_is_shown_anew() {
    let world = World::committed(&[("a.txt", TEXT)]);
    let agent = began(&world);
    let mut client = Client::start(&world, Editor::Helix);
    client.holds_answers = true;
    client.open("a.txt");
    world.ok(["breakpoint", "add", "tool", "Edit"]);
    let hook = held(&world, &agent);
    client.until(|client| client.asked.len() == 1);
    world.ok(["repl", "p1", "-e", ":set .new_string \"zwei\""]);
    client.until(|client| {
        let mut said = client.said.iter();
        said.any(|said| said.contains("The input of p1 was changed in a REPL"))
    });
    client.holds_answers = false;
    client.will_choose("Continue");
    client.will_choose("Continue");
    client.answer_held();
    client.until(|client| client.offered.len() == 3);
    assert!(
        client.asked[2].contains("changed in a REPL"),
        "{:?}",
        client.asked
    );
    assert_eq!(
        hook.answer()["hookSpecificOutput"]["updatedInput"]["new_string"],
        "zwei"
    );
    client.leave();
}

/// A call whose time ran out says so, and its row goes away once its next try has ended.
#[test]
fn a_parked_call_says_so_and_leaves() {
    let world = World::committed(&[("a.txt", TEXT)]);
    world.configure("[pause]\ntimeout = 1\n");
    let agent = began(&world);
    let own = json!({ "reloadsFromDisk": true, "notifications": true, "panels": true });
    let mut client = Client::with(&world, Editor::Vscode, &own);
    client.open("a.txt");
    world.ok(["breakpoint", "add", "tool", "Edit"]);
    let mut watcher = Watcher::start(&world);
    let input = edit(&world, "a.txt", "two", "2");
    let hook = HeldHook::start(&world, &before(&agent, "c1", "Edit", &input), 600);
    assert_eq!(decision(&hook.answer()), Some("deny"));
    watcher.until("parked");
    let told = |client: &Client<'_>, method: &str, state: &str| {
        client
            .notified
            .iter()
            .any(|(name, params)| name == method && params["pause"]["state"] == state)
    };
    client.until(|client| told(client, "backstitch/didResume", "parked"));
    let row = world.ok(["pauses"]).stdout;
    assert!(row.contains("time ran out"), "{row}");
    client.command("backstitch.resume", json!({ "pause": "p1" }));
    client.until(|client| told(client, "backstitch/pauseChanged", "parked"));
    let retried = HeldHook::start(&world, &before(&agent, "c2", "Edit", &input), 600);
    assert_eq!(retried.answer(), Value::Null);
    client.until(|client| told(client, "backstitch/didResume", "used"));
    let open = client.ok("backstitch/pauses", json!({}));
    assert_eq!(open["pauses"], json!([]), "{open:#}");
    client.leave();
}
