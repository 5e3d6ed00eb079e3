//! Held calls of two agents, decided by keys alone.

use serde_json::Value;

use super::rig::{self, Neovim};

use crate::control::{HeldHook, before, decision, edit};
use crate::support::World;
use crate::support::agent::Agent;

/// Decisions of the test.
const COUNT: usize = 20;
const F5: &str = "\x1b[15~";
const F10: &str = "\x1b[21~";

/// A call of an agent that is held.
struct Call<'w> {
    agent: Agent<'w>,
    hook: HeldHook,
}

fn hold<'w>(world: &'w World, agent: Agent<'w>, number: usize) -> Call<'w> {
    let input = edit(world, "a.txt", "two", &format!("two {number}"));
    let payload = before(&agent, &format!("c{number}"), "Edit", &input);
    let hook = HeldHook::start(world, &payload, 600);
    Call { agent, hook }
}

/// The agent whose call a pause holds.
fn session_of(world: &World, pause: &str) -> Value {
    let open = world.json(["pauses"]);
    let all = open["pauses"].as_array().expect("pauses");
    let one = all.iter().find(|one| one["id"] == pause);
    one.unwrap_or_else(|| panic!("{pause} in {open:#}"))["session"].clone()
}

/// Each decision shows the next held call in the same windows, of either agent. The cursor stays in the text that can be edited.
#[test]
fn twenty_calls_of_two_agents_never_lose_the_focus() {
    let world = rig::world(&[("a.txt", "one\ntwo\nthree\n")]);
    let Some(mut nvim) = Neovim::start(&world, "plugin-held-twenty", &["a.txt"]) else {
        return;
    };
    nvim.is_attached();
    world.ok(["breakpoint", "add", "tool", "Edit"]);
    let mut calls: Vec<Call<'_>> = Vec::new();
    for number in 0..2 {
        let mut agent = world.agent();
        agent.session_start();
        agent.prompt(&format!("count in {number}"));
        calls.push(hold(&world, agent, number));
    }
    nvim.waits("require('backstitch').statusline():find('⏸ 2') ~= nil");
    nvim.ex("Backstitch pauses");
    nvim.waits("vim.fn.winnr('$') == 3");
    nvim.ex("wincmd b");
    let mut last = String::new();
    for number in 2..COUNT + 2 {
        nvim.waits(&format!(
            "(vim.fn.bufname():match('^backstitch%-held://(p%d+)/then/a.txt$') or '{last}') ~= '{last}'"
        ));
        let pause = nvim.lua("vim.fn.bufname():match('(p%d+)/then/')");
        pause.as_str().expect("a pause").clone_into(&mut last);
        let session = session_of(&world, &last);
        nvim.screen.keys(if number % 2 == 0 { F10 } else { F5 });
        let at = calls
            .iter()
            .position(|call| session == call.agent.session())
            .expect("an agent");
        let Call { agent, hook } = calls.remove(at);
        assert_eq!(decision(&hook.answer()), None, "{last}");
        calls.push(hold(&world, agent, number));
    }
    assert_eq!(nvim.lua("vim.fn.winnr('$')"), 3);
    world.ok(["breakpoint", "clear"]);
    // a decided call is listed until its hook has answered
    let open = world.json(["pauses"]);
    for pause in open["pauses"].as_array().expect("pauses") {
        world.ok(["skip", pause["id"].as_str().expect("an id")]);
    }
}
