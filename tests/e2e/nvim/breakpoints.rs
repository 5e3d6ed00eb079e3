//! Breakpoints in Neovim: typed, corrected, and at their lines.

use super::held::world;
use super::rig::Neovim;

/// Each kind of breakpoint takes its own parameters: one by one, and the last with all words that are left.
#[test]
fn breakpoints_of_all_kinds_are_typed() {
    let world = world();
    let Some(mut nvim) = Neovim::start(&world, "plugin-kinds", &["a.txt"]) else {
        return;
    };
    nvim.is_attached();
    for (typed, summary) in [
        ("budget calls 5", "budget 5 calls"),
        ("command rm -rf", "command rm -rf"),
        ("line a.txt:2", "line a.txt:2"),
        ("turn t9", "turn t9"),
        ("error Bash", "error Bash"),
        ("path a.txt", "path a.txt"),
    ] {
        nvim.ex(&format!("Backstitch breakpoint {typed}"));
        nvim.says(&format!("agents stop at {summary}"));
    }
    let all = world.json(["breakpoint", "list"]);
    assert_eq!(
        all["breakpoints"].as_array().map(Vec::len),
        Some(6),
        "{all}"
    );
}

/// A parameter that is refused is asked for again, as it was typed.
#[test]
fn a_wrong_breakpoint_keeps_what_was_typed() {
    let world = world();
    let Some(mut nvim) = Neovim::start(&world, "plugin-wrong-kind", &["a.txt"]) else {
        return;
    };
    nvim.is_attached();
    nvim.ex("Backstitch breakpoint pattern");
    nvim.screen.shows("Regular expression (password):");
    nvim.screen.keys("(secret\r");
    nvim.screen.until("asked again", |screen| {
        screen.contains("unclosed group: (secret")
    });
    nvim.screen.keys(")\r");
    nvim.says("agents stop at pattern /(secret)/");
}

/// The sign of a breakpoint stands at its lines after each change of the text, also beside signs of others.
#[test]
fn breakpoints_stand_at_their_lines() {
    let world = world();
    let Some(mut nvim) = Neovim::start(&world, "plugin-breakpoint-lines", &["a.txt"]) else {
        return;
    };
    nvim.is_attached();
    let mut agent = world.agent();
    agent.session_start();
    agent.prompt("add lines");
    nvim.ex("2");
    nvim.ex("Backstitch breakpoint");
    nvim.says("b1: agents stop at a.txt:2");
    let at = |line: u32| {
        format!(
            "(function() local all = vim.api.nvim_buf_get_extmarks(0, \
             vim.api.nvim_create_namespace('backstitch.breakpoints'), 0, -1, {{}}) \
             return #all == 1 and all[1][2] == {} end)()",
            line - 1
        )
    };
    nvim.waits(&at(2));
    // typed above, and undone
    nvim.screen.keys("ggOzero\x1b");
    nvim.waits(&at(3));
    nvim.screen.keys("u");
    nvim.waits(&at(2));
    // the agent writes the file
    agent.write("a.txt", "zero\nnull\none\ntwo\nthree\n");
    nvim.waits("vim.api.nvim_buf_line_count(0) == 5");
    nvim.waits(&at(4));
    // the undo of the turn
    world.ok(["rewind", "t1", "--yes"]);
    nvim.waits("vim.api.nvim_buf_line_count(0) == 3");
    nvim.waits(&at(2));
    // the sign of a diagnostic is drawn below
    nvim.lua("vim.diagnostic.set(vim.api.nvim_create_namespace('other'), 0, {{ lnum = 1, col = 0, message = 'found' }}) or 0");
    nvim.waits("#vim.diagnostic.get(0) == 1");
    nvim.screen.shows("◆");
}
