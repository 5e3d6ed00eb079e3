//! Held calls in real editors without a plugin of ours: a question, and a code action.

use std::fs;

use super::screen::{Editor, installed};
use crate::control::{HeldHook, before, decision, edit};
use crate::support::World;
use crate::support::agent::Agent;
use crate::support::scenarios::one_turn_on_a_screen;

/// Holds an edit of the second line of the file.
fn hold<'w>(world: &'w World, file: &str, id: &str) -> (Agent<'w>, HeldHook) {
    let mut agent = world.agent();
    agent.session_start();
    agent.prompt("make it better");
    let input = edit(world, file, "2 and a half", "2 and a bit");
    let hook = HeldHook::start(world, &before(&agent, id, "Edit", &input), 600);
    (agent, hook)
}

/// Helix asks, and the answer is the decision.
#[test]
fn helix_asks_about_a_held_call() {
    let Some(program) = installed("helix_asks_about_a_held_call", "hx") else {
        return;
    };
    let world = one_turn_on_a_screen("notes.md");
    world.ok(["setup", "helix"]);
    let mut helix = Editor::start(&world, "helix", &program, &["notes.md"]);
    helix.shows("2 and a half");
    helix.keys("3gg");
    // the server has started once it offers its actions
    helix.keys_until(" a", "Stop agents here", "code actions");
    helix.keys("\x1b");
    world.ok(["breakpoint", "add", "tool", "Edit"]);
    let (_agent, hook) = hold(&world, "notes.md", "c1");
    helix.shows("wants to run Edit notes.md");
    // the last answer; the first one decides nothing
    helix.keys("\x1b[B\x1b[B\x1b[B\r");
    let answer = hook.answer();
    assert_eq!(decision(&answer), Some("deny"), "{answer:#}");

    // a question that is left open decides nothing; the actions at the line do
    helix.until("no question", |screen| !screen.contains("Details"));
    let (_agent, hook) = hold(&world, "notes.md", "c2");
    helix.shows("wants to run Edit notes.md");
    helix.shows("Details");
    helix.keys("\x1b");
    // Escape and a key right after it would be one key, Alt with it
    helix.until("no question", |screen| !screen.contains("Details"));
    helix.keys_until(" a", "Continue the held Edit", "code actions");
    helix.shows("Deny the held Edit");
    // they come first
    helix.keys("\r");
    let answer = hook.answer();
    assert_eq!(decision(&answer), None, "{answer:#}");

    // it keeps the text of an open file, and its user learns that there is another one
    let mut agent = world.agent();
    agent.prompt("write it anew");
    agent.write("notes.md", "written anew\n");
    helix.shows("claude-code changed notes.md: :reload shows it");
    helix.keys(":reload\r");
    helix.shows("written anew");
    helix.keys(":q\r");
}

/// Emacs asks, and the answer is the decision.
#[test]
fn emacs_asks_about_a_held_call() {
    let Some(program) = installed("emacs_asks_about_a_held_call", "emacs") else {
        return;
    };
    let world = one_turn_on_a_screen("notes.txt");
    let lines = world.ok(["setup", "emacs"]).stdout;
    fs::write(world.home.join(".emacs"), lines).expect("written");
    let args = ["--no-window-system", "--no-splash", "notes.txt"];
    let mut emacs = Editor::start(&world, "emacs", &program, &args);
    emacs.shows("2 and a half");
    emacs.keys("\x1bxeglot\r");
    emacs.shows("Connected!");
    world.ok(["breakpoint", "add", "tool", "Edit"]);
    let (_agent, hook) = hold(&world, "notes.txt", "c1");
    emacs.shows("wants to run Edit notes.txt");
    emacs.shows("Choose an option");
    // the menu of the minibuffer, which then takes keys
    emacs.shows("Minibuf");
    // the first answer is written already
    emacs.keys("\x01\x0bDeny\r");
    let answer = hook.answer();
    assert_eq!(decision(&answer), Some("deny"), "{answer:#}");

    // a question that is left open decides nothing; the actions at the line do
    emacs.until("no question", |screen| !screen.contains("Minibuf"));
    let (_agent, hook) = hold(&world, "notes.txt", "c2");
    emacs.shows("wants to run Edit notes.txt");
    emacs.shows("Choose an option");
    // the menu of the minibuffer, which then takes keys
    emacs.shows("Minibuf");
    emacs.keys("\x07");
    emacs.until("no question", |screen| !screen.contains("Minibuf"));
    emacs.keys("\x1b<\x0e\x0e\x1bxeglot-code-actions\r");
    emacs.shows("Pick an action");
    emacs.keys("Continue the held Edit\r");
    let answer = hook.answer();
    assert_eq!(decision(&answer), None, "{answer:#}");
    emacs.keys("\x18\x03");
}
