//! The REPL of held calls in Neovim: transcript above, input below.

use super::rig::{self, Neovim};
use crate::control::{HeldHook, before, edit};

/// S5-134…140, S5-142: by keys alone, from the held call to a transcript that closes with it.
#[test]
fn a_repl_at_a_held_call() {
    let world = rig::world(&[("a.txt", "one\ntwo\nthree\n")]);
    let Some(mut nvim) = Neovim::start(&world, "plugin-repl", &["a.txt"]) else {
        return;
    };
    nvim.is_attached();
    let mut agent = world.agent();
    agent.session_start();
    agent.prompt("make it two");
    world.ok(["breakpoint", "add", "tool", "Edit"]);
    let input = edit(&world, "a.txt", "two", "2");
    let hook = HeldHook::start(&world, &before(&agent, "c1", "Edit", &input), 600);
    nvim.says("claude-code is held: Edit a.txt");
    nvim.ex("Backstitch repl");
    nvim.waits("vim.api.nvim_get_mode().mode == 'i' and vim.fn.bufname():find('/input$') ~= nil");
    nvim.screen.keys(".call.tool\r");
    nvim.screen.shows("> .call.tool");
    nvim.screen.shows("\"Edit\"");
    nvim.screen.keys(".call.input\n| .new_string\r");
    nvim.screen.shows("\"2\"");
    nvim.screen.keys(".oops | nothing\r");
    nvim.screen.shows("nothing");
    nvim.screen.keys("\x1b[A\x1b[A");
    nvim.waits("vim.fn.getline(1) == '.call.input' and vim.fn.getline(2) == '| .new_string'");
    // another viewer's input is shown
    let session = world.json(["repl", "list"])["sessions"][0]["id"]
        .as_str()
        .expect("an id")
        .to_owned();
    nvim.screen.is_like("repl", "> .call.tool");
    world.ok(["resume"]);
    hook.answer();
    nvim.screen.shows("-- closed: its pause was decided --");
    nvim.waits("vim.fn.bufname('%'):find('/input$') == nil");
    let shown = world.ok(["repl", "show", &session]).stdout;
    assert!(shown.contains("> .call.tool"), "{shown}");
    nvim.ex("Backstitch repl list");
}
