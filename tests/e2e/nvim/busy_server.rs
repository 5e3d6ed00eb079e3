//! Text typed and buffers opened or closed while the server is busy.

use std::fs;

use backstitch_protocol::REWIND_LENS;

use super::rig::Neovim;
use crate::support::finish;
use crate::support::scenarios::two_turns_in_neovim;

#[test]
fn lines_move_with_edits_until_the_answer() {
    let world = two_turns_in_neovim();
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
        // the intended line is line 4 now
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
fn windows_and_buffers_left_meanwhile_are_not_touched() {
    let world = two_turns_in_neovim();
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
    nvim.waits(&format!("{compared}:find('^a.txt at c%d a.txt$') ~= nil"));
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
    nvim.screen.shows("g?: keys");
    // reloaded twice, and closed before the answer
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
    let world = two_turns_in_neovim();
    let Some(mut nvim) = Neovim::start(&world, "plugin-later", &["src/a.txt"]) else {
        return;
    };
    nvim.screen.shows(&format!("{REWIND_LENS} · turn 2"));
    nvim.ex("edit new.txt");
    nvim.screen.shows(&format!("{REWIND_LENS} · turn 1"));
    nvim.ex("lua require('backstitch').setup({ codelens = false })");
    nvim.screen.until("none", |screen| !screen.contains('⟲'));
    nvim.ex("edit src/a.txt");
    nvim.is_attached();
    nvim.ex("lua require('backstitch').setup({})");
    nvim.screen.shows(&format!("{REWIND_LENS} · turn 2"));
}

/// S3-009, U-13: avante.nvim has no event for a prompt typed into its sidebar, nor for the end of an edit: the plugin
/// wraps its functions. These stand-ins are built like its own: methods, found through a metatable.
#[test]
fn a_prompt_typed_into_a_sidebar_is_a_turn() {
    let world = two_turns_in_neovim();
    let Some(mut nvim) = Neovim::start(&world, "plugin-sidebar", &["src/a.txt"]) else {
        return;
    };
    nvim.is_attached();
    let stand_in = world.home.join("avante.lua");
    fs::write(
        &stand_in,
        "local code = vim.api.nvim_get_current_buf()
         local Sidebar = {}
         Sidebar.__index = Sidebar
         function Sidebar:handle_submit(request)
           if request == 'breaks' then error('own trouble') end
           _G.asked = (_G.asked or '') .. request .. ';'
           self.is_generating = true
           return 7
         end
         package.loaded['avante.sidebar'] = Sidebar
         local Selection = {}
         Selection.__index = Selection
         function Selection:submit_input() end
         function Selection:close_editing_input() end
         package.loaded['avante.selection'] = Selection
         _G.sidebar = setmetatable({ code = { bufnr = code } }, Sidebar)
         _G.selection = setmetatable({ code_bufnr = code }, Selection)
         vim.api.nvim_create_autocmd('User', { pattern = 'AvanteInputSubmitted', callback = function(ev)
           sidebar:handle_submit(ev.data.request)
         end })
         function _G.stopped()
           sidebar.is_generating = false
           vim.api.nvim_exec_autocmds('User', { pattern = 'AvanteViewBufferUpdated' })
         end",
    )
    .expect("written");
    nvim.ex("luafile ~/avante.lua");
    // its own window, which is in no workspace
    nvim.ex("new | setlocal buftype=nofile filetype=AvanteInput");
    nvim.ex("lua _G.answer = sidebar:handle_submit('typed words')");
    assert_eq!(nvim.lua("_G.answer"), 7);
    nvim.ex("lua sidebar:handle_submit('one more'); sidebar.is_generating = false; sidebar:handle_submit('/clear')");
    nvim.ex("lua stopped()");
    nvim.ex("close");
    nvim.waits("require(\"backstitch\").statusline() == \"⟲ t3\"");
    // reported by an event and by the function: one turn
    nvim.ex("lua vim.api.nvim_exec_autocmds('User', { pattern = 'AvanteInputSubmitted', data = { request = 'by an event' } })");
    nvim.ex("lua stopped()");
    nvim.waits("require(\"backstitch\").statusline() == \"⟲ t4\"");
    nvim.ex("lua selection:submit_input('an edit'); selection:close_editing_input()");
    nvim.waits("require(\"backstitch\").statusline() == \"⟲ t5\"");
    // an error in the function is still raised
    nvim.ex("lua _G.wrong = select(2, pcall(sidebar.handle_submit, sidebar, 'breaks'))");
    nvim.waits("(_G.wrong or \"\"):match(\"own trouble\") ~= nil");
    assert_eq!(
        nvim.lua("_G.asked"),
        "typed words;one more;/clear;by an event;"
    );
    nvim.waits("require(\"backstitch\").statusline() == \"⟲ t6\"");
    nvim.ex("lua stopped()");
    nvim.ex("lua require('backstitch').turn_end({}, function(failure) _G.open = failure and failure.message or 'one' end)");
    nvim.waits("(_G.open or \"\"):match(\"no turn\") ~= nil");
    let log = world.ok(["log"]).stdout;
    for prompt in ["typed words", "by an event", "an edit"] {
        assert!(log.contains(prompt), "{prompt} in {log}");
    }
    assert!(
        !log.contains("one more") && !log.contains("/clear"),
        "{log}"
    );
}

/// An agent's turn ends in the workspace where it began, whichever file is current by then.
#[test]
fn a_turn_ends_in_its_own_workspace() {
    let world = two_turns_in_neovim();
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
