//! The inline diff: marked, undone and kept changes.

use super::rig::{Neovim, configure, world};

use crate::support::scenarios::{SEVEN_LINES, two_turns_in_neovim};

const MARKS: &str = "vim.tbl_map(function(m) return m[2] end, vim.api.nvim_buf_get_extmarks(0, vim.api.nvim_get_namespaces()[\"backstitch.review\"], 0, -1, {}))";

#[test]
fn changes_are_marked_undone_and_kept() {
    let world = two_turns_in_neovim();
    let Some(mut nvim) = Neovim::start(&world, "plugin-diff", &["src/a.txt"]) else {
        return;
    };
    nvim.is_attached();
    nvim.ex("Backstitch diff t1");
    nvim.screen.is_like("marked", "2 changes since t1");
    // a count before a mapping
    nvim.ex("execute \"normal 2\\<Plug>(BackstitchNextHunk)\"");
    nvim.screen.shows("change 2 of 2");
    nvim.ex("execute \"normal \\<Plug>(BackstitchPrevHunk)\"");
    nvim.screen.shows("change 1 of 2");
    nvim.ex("Backstitch keep");
    nvim.screen
        .until("kept", |screen| !screen.contains("two\n"));
    nvim.ex("Backstitch next");
    nvim.screen.shows("change 1 of 1");
    // a line of the user, next to it
    nvim.screen.keys("ggOzero\x1b");
    nvim.ex("Backstitch prev");
    nvim.screen.shows("change 2 of 2");
    nvim.ex("Backstitch takeback");
    let expected = format!("zero\n{}", SEVEN_LINES.replace("two", "2"));
    nvim.waits("vim.fn.getline(6) == \"five\"");
    assert_eq!(nvim.lines().join("\n") + "\n", expected);
    assert!(!world.read("src/a.txt").contains("zero"));
    nvim.ex("w");
    nvim.screen.shows("written");
    assert_eq!(world.read("src/a.txt"), expected);
    // kept changes stay kept after Neovim was closed
    nvim.ex("q");
    drop(nvim);
    let Some(mut nvim) = Neovim::start(&world, "plugin-kept", &["src/a.txt"]) else {
        return;
    };
    nvim.is_attached();
    nvim.ex("Backstitch diff t1");
    // the user's own line is a change, too
    nvim.screen.shows("1 change since t1, 1 more kept");
    // until it changes again
    let mut agent = world.agent();
    agent.prompt("in letters");
    agent.edit("src/a.txt", "2", "II");
    agent.stop();
    nvim.screen.shows("two\n");
    nvim.screen.keys("3G");
    nvim.ex("Backstitch keep");
    nvim.screen
        .until("kept", |screen| !screen.contains("two\n"));
    nvim.ex("Backstitch! keep");
    nvim.screen.shows("two\n");
    nvim.ex("Backstitch diff");
    nvim.waits(&format!("#{MARKS} == 0"));
}

/// The command line, and every other editor, has the same reviews. Text that is not saved cannot be kept.
#[test]
fn a_change_kept_elsewhere_is_not_marked() {
    let world = two_turns_in_neovim();
    let Some(mut nvim) = Neovim::start(&world, "plugin-shared", &["src/a.txt"]) else {
        return;
    };
    nvim.is_attached();
    nvim.ex("Backstitch diff t1");
    nvim.screen.shows("2 changes since t1");
    nvim.waits(&format!("#{MARKS} > 0"));
    world.ok(["review", "src/a.txt", "--keep", "--lines", "2,2"]);
    nvim.screen
        .until("kept", |screen| !screen.contains("two\n"));
    nvim.ex("Backstitch next");
    nvim.screen.shows("change 1 of 1");
    nvim.ex("Backstitch keep");
    nvim.waits(&format!("#{MARKS} == 0"));
    let left = world.ok(["review", "src/a.txt"]).stdout;
    assert_eq!(left, "Nothing to review\n");
    world.ok(["review", "src/a.txt", "--unkeep"]);
    nvim.waits(&format!("#{MARKS} > 0"));
    nvim.screen.keys("ggOzero\x1b");
    nvim.ex("Backstitch keep");
    nvim.screen.shows("This change is not recorded yet");
    nvim.ex("w");
    nvim.screen.keys("gg");
    nvim.ex("Backstitch keep");
    nvim.waits("require('backstitch.review').of().hidden == 2");
    nvim.ex("Backstitch next");
    nvim.screen.shows("change 1 of 1");
}

#[test]
fn unreviewed_changes_are_in_the_quickfix_list() {
    let world = two_turns_in_neovim();
    let Some(mut nvim) = Neovim::start(&world, "plugin-unreviewed", &["src/a.txt"]) else {
        return;
    };
    nvim.is_attached();
    nvim.ex("Backstitch qflist");
    nvim.screen.shows("src/a.txt|2| t1 make it two  +1 -1");
    nvim.screen.shows("src/a.txt|5| t2 and five  +1 -1");
    nvim.screen.shows("gone.txt|1| t1 make it two  +0 -1");
    nvim.screen.shows("new.txt|1| t1 make it two  +1 -0");
    nvim.ex("clast");
    nvim.waits("vim.fn.line('.') == 5 and vim.fn.expand('%:t') == 'a.txt'");
    nvim.ex("Backstitch diff t1");
    nvim.waits(&format!("#{MARKS} > 0"));
    nvim.ex("Backstitch keep");
    nvim.waits("require('backstitch.review').of().hidden == 1");
    world.ok(["review", "gone.txt", "new.txt", "--keep"]);
    nvim.ex("Backstitch qflist");
    nvim.waits("#vim.fn.getqflist() == 1");
    world.ok(["review", "--keep"]);
    nvim.ex("Backstitch qflist");
    nvim.screen.shows("Nothing to review");
}

#[test]
fn the_older_file_opens_beside_the_buffer() {
    let world = two_turns_in_neovim();
    // ages in truncated lines differ between runs
    configure(&world, "vim.g.backstitch = { codelens = false }");
    let Some(mut nvim) = Neovim::start(&world, "plugin-split", &["src/a.txt"]) else {
        return;
    };
    nvim.is_attached();
    nvim.ex("Backstitch diffsplit t1");
    nvim.screen.is_like("beside", "src/a.txt at c");
    assert_eq!(nvim.lines().join("\n") + "\n", SEVEN_LINES);
    assert_eq!(nvim.lua("vim.bo.modifiable"), false);
    nvim.ex("q");
    nvim.waits("not vim.wo.diff");
}

/// Removed lines break where the window ends, which signs and line numbers move.
#[test]
fn a_long_removed_line_is_whole() {
    let long = "for eighty columns and more ".repeat(9);
    let world = world(&[("a.txt", &format!("one\n{long}\nthree\n"))]);
    world.turn("shorten it", |agent| {
        agent.edit("a.txt", &long, "short");
    });
    let Some(mut nvim) = Neovim::start(&world, "plugin-long", &["a.txt"]) else {
        return;
    };
    nvim.is_attached();
    nvim.ex("Backstitch diff");
    let fits = |nvim: &Neovim<'_>| {
        nvim.waits(
            "(function() \
            local info = vim.fn.getwininfo(vim.api.nvim_get_current_win())[1] \
            local namespace = vim.api.nvim_get_namespaces()['backstitch.review'] \
            local text = '' \
            for _, mark in ipairs(vim.api.nvim_buf_get_extmarks(0, namespace, 0, -1, { details = true })) do \
              for _, line in ipairs(mark[4].virt_lines or {}) do \
                local row = '' \
                for _, chunk in ipairs(line) do \
                  row = row .. chunk[1] \
                end \
                if vim.fn.strdisplaywidth(row) > info.width - info.textoff then \
                  return false \
                end \
                text = text .. row \
              end \
            end \
            return info.textoff > 0 and vim.trim(text) == vim.trim(('for eighty columns and more '):rep(9)) \
          end)()",
        );
    };
    fits(&nvim);
    nvim.ex("set number numberwidth=9");
    nvim.waits("vim.fn.getwininfo(vim.api.nvim_get_current_win())[1].textoff > 8");
    fits(&nvim);
}

/// Lenses would shift the lines of one side against those of the other.
#[test]
fn a_comparison_side_by_side_has_no_lenses() {
    let world = two_turns_in_neovim();
    let Some(mut nvim) = Neovim::start(&world, "plugin-split-lenses", &["src/a.txt"]) else {
        return;
    };
    let lenses = |nvim: &Neovim<'_>, buf: &str, count: u32| {
        nvim.waits(&format!(
            "#vim.api.nvim_buf_get_extmarks({buf}, vim.api.nvim_create_namespace('backstitch.lenses'), 0, -1, {{}}) == {count}"
        ));
    };
    nvim.is_attached();
    lenses(&nvim, "0", 3);
    nvim.ex("Backstitch diffsplit t1");
    nvim.waits("vim.wo.diff and vim.fn.winnr('$') == 2");
    lenses(&nvim, "vim.fn.bufnr('src/a.txt')", 0);
    // also after the next answer of the server
    world.turn("and seven", |agent| {
        agent.edit("src/a.txt", "seven", "7");
    });
    nvim.waits("vim.fn.getbufline('src/a.txt', 7)[1] == '7'");
    nvim.waits("require('backstitch').statusline() == '⟲ t3'");
    lenses(&nvim, "vim.fn.bufnr('src/a.txt')", 0);
    nvim.ex("q");
    nvim.waits("not vim.wo.diff");
    lenses(&nvim, "0", 4);
    nvim.ex("diffthis");
    lenses(&nvim, "0", 0);
    nvim.ex("diffoff");
    lenses(&nvim, "0", 4);
}

#[test]
fn words_tabs_and_the_ends_of_a_file_are_marked() {
    let before = "\talpha beta\ncommon\nlast\n";
    let world = world(&[("a.txt", before)]);
    let mut agent = world.agent();
    agent.prompt("tidy up");
    agent.edit("a.txt", "\talpha beta", "\talpha gamma");
    agent.edit("a.txt", "last\n", "");
    agent.stop();
    let Some(mut nvim) = Neovim::start(&world, "plugin-ends", &["a.txt"]) else {
        return;
    };
    nvim.is_attached();
    nvim.ex("Backstitch diff");
    nvim.screen.is_like("marked", "2 changes since t1");
    // the line, and the changed word in it
    let colour = |text: &str| nvim.screen.background(text);
    assert_ne!(colour("alpha gamma"), colour("common"));
    assert_ne!(colour("gamma"), colour("alpha gamma"));
    assert_ne!(colour("beta"), colour("alpha beta"));
    nvim.screen.keys("G");
    nvim.ex("Backstitch takeback");
    nvim.screen.shows("Undone: 1 change");
    assert_eq!(nvim.lines(), ["\talpha gamma", "common", "last"]);
    nvim.screen.keys("gg");
    nvim.ex("Backstitch takeback");
    nvim.waits("vim.fn.getline(1) == \"\\talpha beta\"");
    assert_eq!(world.read("a.txt"), before);
    nvim.ex("Backstitch takeback");
    nvim.screen.shows("There is no change on this line");
    // deleted lines above the first line stay visible as their number grows
    nvim.screen.keys("ggdd");
    nvim.screen.shows("alpha beta");
    nvim.screen.keys("dd");
    nvim.screen.shows("alpha beta\n");
    nvim.screen.shows("common\n");
}

#[test]
fn blame_is_shown_at_the_end_of_the_line() {
    let world = two_turns_in_neovim();
    let Some(mut nvim) = Neovim::start(&world, "plugin-blame", &["src/a.txt"]) else {
        return;
    };
    nvim.is_attached();
    nvim.ex("Backstitch blame");
    nvim.screen.keys("2G");
    nvim.screen.shows("t1 · “make it two” · claude-code · Edit");
    nvim.screen.keys("1G");
    nvim.screen
        .until("gone", |screen| !screen.contains("claude-code · Edit"));
    nvim.screen.keys("imine \x1b");
    nvim.screen.shows("you, not saved yet");
}
