//! What is typed, opened and closed while the server thinks.

use std::fs;

use super::rig::Neovim;
use super::story;
use crate::support::finish;

#[test]
fn lines_are_followed_until_the_answer() {
    let world = story();
    let Some(mut nvim) = Neovim::start(&world, "plugin-followed", &["src/a.txt"]) else {
        return;
    };
    nvim.is_attached();
    nvim.ex("Backstitch diff t1");
    nvim.screen.shows("2 changes since t1");
    nvim.while_it_thinks(|nvim| {
        nvim.screen.keys("Gomine\x1b");
        nvim.ex("5");
        nvim.ex("Backstitch takeback");
        // what was meant is in line 4 now
        nvim.ex("1d");
        nvim.waits("vim.fn.getline(4) == \"FIVE\"");
    });
    nvim.waits("vim.fn.getline(4) == \"five\"");
    assert_eq!(
        nvim.lines(),
        ["2", "three", "four", "five", "six", "seven", "mine"]
    );
    assert!(
        !nvim.messages().contains("traceback"),
        "{}",
        nvim.messages()
    );
}

#[test]
fn what_was_left_meanwhile_is_left_alone() {
    let world = story();
    let Some(mut nvim) = Neovim::start(&world, "plugin-left", &["src/a.txt"]) else {
        return;
    };
    nvim.is_attached();
    nvim.while_it_thinks(|nvim| {
        nvim.ex("Backstitch diffsplit t1");
        nvim.ex("new new.txt");
        nvim.waits("vim.fn.bufname() == \"new.txt\"");
    });
    let compared = "table.concat(vim.tbl_map(function(w) return vim.fs.basename(vim.api.nvim_buf_get_name(vim.api.nvim_win_get_buf(w))) end, vim.tbl_filter(function(w) return vim.wo[w].diff end, vim.api.nvim_list_wins())), \" \")";
    nvim.screen.shows("a.txt at c");
    nvim.waits(&format!("{compared} == \"a.txt a.txt\""));
    nvim.ex("only!");
    nvim.ex("diffoff! | edit src/a.txt");
    nvim.is_attached();

    // a change in a window that was left, and a buffer that is gone
    nvim.ex("Backstitch diff t1");
    nvim.screen.shows("2 changes since t1");
    nvim.while_it_thinks(|nvim| {
        nvim.screen.keys("Gomine\x1b");
        nvim.ex("Backstitch next");
        nvim.ex("new new.txt");
        nvim.waits("vim.fn.bufname() == \"new.txt\"");
    });
    nvim.ex("Backstitch sessions");
    nvim.screen.shows("claude-code · 2 turns");
    nvim.screen.keys("\x1b");
    assert_eq!(nvim.lua("vim.fn.line(\".\")"), 1);
    nvim.ex("Backstitch diff t1");
    nvim.while_it_thinks(|nvim| {
        nvim.ex("Backstitch diff t2");
        nvim.ex("bwipeout!");
        nvim.ex("Backstitch log");
        nvim.waits("vim.fn.bufname() ~= \"new.txt\"");
    });
    nvim.screen.shows("lists the keys");
    // read twice, and closed before it is
    nvim.while_it_thinks(|nvim| nvim.screen.keys("RRmmq"));
    nvim.ex("Backstitch checkpoint after all");
    nvim.screen.shows("backstitch: checkpoint c");
    assert!(
        !nvim.messages().contains("traceback"),
        "{}",
        nvim.messages()
    );
}

#[test]
fn a_file_that_is_opened_later_has_lenses() {
    let world = story();
    let Some(mut nvim) = Neovim::start(&world, "plugin-later", &["src/a.txt"]) else {
        return;
    };
    nvim.screen.shows("⟲ rewind to here · turn 2");
    nvim.ex("edit new.txt");
    nvim.screen.shows("1 checkpoint");
    nvim.screen.shows("⟲ rewind to here · turn 1");
    nvim.ex("lua require('backstitch').setup({ codelens = false })");
    nvim.screen.until("none", |screen| !screen.contains('⟲'));
    nvim.ex("edit src/a.txt");
    nvim.is_attached();
    nvim.ex("lua require('backstitch').setup({})");
    nvim.screen.shows("⟲ rewind to here · turn 2");
}

/// An agent's turn ends where it began, whatever is looked at by then.
#[test]
fn a_turn_ends_in_its_own_workspace() {
    let world = story();
    let other = world.home.join("other");
    fs::create_dir(&other).expect("a directory");
    fs::write(other.join("b.txt"), "b\n").expect("written");
    finish(world.command("git").args(["init", "-q"]).arg(&other), b"").expect_code(0);
    let Some(mut nvim) = Neovim::start(&world, "plugin-two-roots", &["src/a.txt"]) else {
        return;
    };
    nvim.is_attached();
    nvim.ex("lua vim.api.nvim_exec_autocmds('User', { pattern = 'AvanteInputSubmitted', data = { request = 'both' } })");
    nvim.waits("require(\"backstitch\").statusline() == \"⟲ t3\"");
    nvim.ex("edit ~/other/b.txt");
    nvim.is_attached();
    nvim.ex("lua vim.api.nvim_exec_autocmds('User', { pattern = 'AvanteViewBufferUpdated' })");
    nvim.ex("edit src/a.txt");
    nvim.ex("lua require('backstitch').turn_end({}, function(failure) _G.open = failure and failure.message or 'one' end)");
    nvim.waits("_G.open ~= nil");
    let open = nvim.lua("_G.open").to_string();
    assert!(open.contains("no turn"), "{open}");
}
