//! Held calls and breakpoints in Neovim.

use super::rig::{self, Neovim};

use crate::control::{HeldHook, before, decision, edit, reason};
use crate::support::World;

const TEXT: &str = "one\ntwo\nthree\n";

fn world() -> World {
    rig::world(&[("a.txt", TEXT)])
}

/// S2-013: a call that a breakpoint at a line holds is announced without taking the focus, shown, changed on the right side,
/// and goes on with the change. The file stays as it is meanwhile.
#[test]
fn a_held_call_is_shown_changed_and_continued() {
    let world = world();
    let Some(mut nvim) = Neovim::start(&world, "plugin-held", &["a.txt"]) else {
        return;
    };
    nvim.is_attached();
    let mut agent = world.agent();
    agent.session_start();
    agent.prompt("make it two");
    nvim.ex("2");
    nvim.ex("Backstitch breakpoint");
    nvim.says("b1: agents stop at a.txt:2");
    nvim.screen.shows("◆");

    let input = edit(&world, "a.txt", "two", "2");
    let hook = HeldHook::start(&world, &before(&agent, "c1", "Edit", &input), 600);
    nvim.says("claude-code is held: Edit a.txt");
    nvim.waits("vim.fn.bufname() == 'a.txt'");
    nvim.waits("require('backstitch').statusline():find('⏸ 1') ~= nil");
    nvim.ex("Backstitch pauses");
    nvim.screen.shows("⏸ p1 Edit a.txt");
    nvim.screen.is_like("shown", "changes a.txt:2");
    nvim.waits("vim.fn.bufnr('backstitch-held://p1/then/a.txt') > 0");
    nvim.ex("wincmd b");
    nvim.waits("vim.fn.bufname() == 'backstitch-held://p1/then/a.txt'");
    assert_eq!(nvim.lines(), ["one", "2", "three"]);
    nvim.ex("%s/^2$/zwei/");
    nvim.ex("write");
    nvim.says("p1 goes on with this text");
    assert_eq!(world.read("a.txt"), TEXT);
    nvim.ex("wincmd t");
    nvim.screen.keys("c");
    nvim.says("changed");
    let answer = hook.answer();
    assert_eq!(
        answer["hookSpecificOutput"]["updatedInput"]["new_string"], "zwei\n",
        "{answer:#}"
    );
    assert_ne!(decision(&answer), Some("allow"));
    nvim.screen.shows("No call is held.");
    nvim.waits("require('backstitch').statusline():find('⏸') == nil");
}

/// Closing the view decides nothing; a call is denied with a reason; a decision in a terminal is followed.
#[test]
fn a_held_call_is_denied_and_a_terminal_is_followed() {
    let world = world();
    let Some(mut nvim) = Neovim::start(&world, "plugin-held", &["a.txt"]) else {
        return;
    };
    nvim.is_attached();
    let mut agent = world.agent();
    agent.session_start();
    agent.prompt("make it two");
    nvim.ex("Backstitch breakpoint path *.txt");
    nvim.says("b1: agents stop at path *.txt");
    let input = edit(&world, "a.txt", "two", "2");
    let hook = HeldHook::start(&world, &before(&agent, "c1", "Edit", &input), 600);
    nvim.says("claude-code is held: Edit a.txt");
    nvim.ex("Backstitch pauses");
    nvim.screen.shows("⏸ p1 Edit a.txt");
    nvim.screen.keys("q");
    nvim.waits("vim.fn.tabpagenr('$') == 1");
    let open = world.json(["pauses"]);
    assert_eq!(open["pauses"][0]["state"], "held", "{open:#}");
    nvim.ex("Backstitch deny use the helper");
    let answer = hook.answer();
    assert_eq!(decision(&answer), Some("deny"));
    assert_eq!(reason(&answer), "use the helper");
    nvim.waits("require('backstitch').statusline():find('⏸') == nil");

    let hook = HeldHook::start(&world, &before(&agent, "c2", "Edit", &input), 600);
    nvim.waits("require('backstitch').statusline():find('⏸ 1') ~= nil");
    world.ok(["skip"]);
    hook.answer();
    nvim.waits("require('backstitch').statusline():find('⏸') == nil");
    // no call is held now
    nvim.ex("Backstitch resume");
    nvim.says("no call is held");
}

/// S2-013: two agents are held at once, and each is decided by itself. A Neovim that is killed decides nothing; the next one
/// shows what is held.
#[test]
fn two_held_calls_outlive_their_editor() {
    let world = world();
    let Some(mut nvim) = Neovim::start(&world, "plugin-held", &["a.txt"]) else {
        return;
    };
    nvim.is_attached();
    world.ok(["breakpoint", "add", "tool", "Edit"]);
    let mut first = world.agent();
    first.session_start();
    first.prompt("make it two");
    let mut second = world.agent();
    second.session_start();
    second.prompt("make it three");
    let input = edit(&world, "a.txt", "two", "2");
    let one = HeldHook::start(&world, &before(&first, "c1", "Edit", &input), 600);
    nvim.waits("require('backstitch').statusline():find('⏸ 1') ~= nil");
    let input = edit(&world, "a.txt", "three", "3");
    let two = HeldHook::start(&world, &before(&second, "c2", "Edit", &input), 600);
    nvim.waits("require('backstitch').statusline():find('⏸ 2') ~= nil");
    nvim.ex("Backstitch pauses");
    nvim.screen.shows("⏸ p1 Edit a.txt");
    nvim.screen.shows("⏸ p2 Edit a.txt");
    // killed, with its server
    drop(nvim);
    let open = world.json(["pauses"]);
    let states = [&open["pauses"][0]["state"], &open["pauses"][1]["state"]];
    assert_eq!(states, ["held", "held"], "{open:#}");

    let Some(mut nvim) = Neovim::start(&world, "plugin-held", &["a.txt"]) else {
        return;
    };
    nvim.is_attached();
    nvim.waits("require('backstitch').statusline():find('⏸ 2') ~= nil");
    nvim.ex("Backstitch pauses");
    nvim.screen.shows("⏸ p2 Edit a.txt");
    nvim.screen.keys("gg");
    nvim.screen.keys("j");
    nvim.screen.keys("d");
    nvim.screen.shows("Reason for the model (p2");
    nvim.screen.keys("no\r");
    assert_eq!(decision(&two.answer()), Some("deny"));
    nvim.waits("require('backstitch').statusline():find('⏸ 1') ~= nil");
    let open = world.json(["pauses"]);
    assert_eq!(open["pauses"][0]["id"], "p1", "{open:#}");
    nvim.screen.keys("gg");
    nvim.screen.keys("c");
    assert_eq!(decision(&one.answer()), None);
    nvim.waits("require('backstitch').statusline():find('⏸') == nil");
}
