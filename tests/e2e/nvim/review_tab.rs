//! The review of several files in a tab page: its list, and the keys in its files.

use super::rig::{self, Neovim};

use crate::support::World;

const NINE: &str = "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\n";

/// One turn: two changes in `a.txt`, a deleted file and a third one with a change.
fn world() -> World {
    let world = rig::world(&[("a.txt", NINE), ("b.txt", "old\nlines\n"), ("c.txt", NINE)]);
    let mut agent = world.agent();
    agent.turn("tidy up", |agent| {
        agent.edit("a.txt", "two", "2");
        agent.edit("a.txt", "eight", "8");
        agent.bash("rm b.txt");
        agent.edit("c.txt", "nine", "9");
    });
    world
}

/// True in a file with the keys of the review.
const HAS_KEYS: &str =
    "(vim.fn.maparg('X', 'n', false, true).desc or ''):find('Backstitch', 1, true) ~= nil";
const IS_DELETED: &str = "vim.fn.bufname():find('^backstitch://b.txt at ') ~= nil";

/// All changes of three files are kept or undone by one key each; the cursor moves to the next one, and the list follows.
#[test]
fn a_review_goes_on_by_itself() {
    let world = world();
    let Some(mut nvim) = Neovim::start(&world, "plugin-review", &["c.txt"]) else {
        return;
    };
    nvim.is_attached();
    nvim.ex("Backstitch review");
    nvim.waits("vim.fn.bufname() == 'a.txt' and vim.fn.line('.') == 2");
    nvim.waits(HAS_KEYS);
    // across changes and files, and back
    nvim.screen.keys("]c");
    nvim.waits("vim.fn.line('.') == 8");
    nvim.screen.shows("change 2 of 2");
    nvim.screen.keys("]c");
    nvim.waits(IS_DELETED);
    // the place in a file is gone with it
    nvim.screen
        .until("no place", |screen| !screen.contains("change 2 of 2"));
    nvim.screen.keys("]c");
    nvim.waits("vim.fn.bufname() == 'c.txt' and vim.fn.line('.') == 9");
    nvim.screen.keys("\t");
    nvim.waits("vim.fn.bufname() == 'a.txt'");
    nvim.screen.keys("\t");
    nvim.waits(IS_DELETED);
    // drawn as removed
    nvim.screen.shows("- old   deleted");
    let removed = "vim.iter(vim.api.nvim_buf_get_extmarks(0, -1, 0, -1, { details = true })):any(\
                   function(mark) return mark[4].hl_group == 'BackstitchRemoved' end)";
    nvim.waits(removed);
    nvim.screen.keys("\x1b[Z");
    nvim.waits("vim.fn.bufname() == 'a.txt' and vim.fn.line('.') == 2");

    nvim.screen.keys("K");
    nvim.waits("vim.fn.line('.') == 8");
    nvim.screen.keys("X");
    nvim.waits(IS_DELETED);
    assert_eq!(world.read("a.txt"), NINE.replace("two", "2"));
    nvim.screen.shows("✓ a.txt");
    nvim.screen.keys("K");
    nvim.waits("vim.fn.bufname() == 'c.txt'");
    nvim.screen.shows("✓ b.txt");
    // elsewhere the keys are what they were
    nvim.ex("tabnew c.txt");
    nvim.waits("vim.fn.tabpagenr() == 3 or vim.fn.tabpagenr('$') == 3");
    assert_eq!(nvim.lua(HAS_KEYS), false);
    nvim.ex("tabclose");
    nvim.ex("tabnext 2");
    nvim.waits("vim.fn.bufname() == 'c.txt'");
    assert_eq!(nvim.lua(HAS_KEYS), true);
    nvim.screen.keys("gK");
    nvim.screen.shows("That was the last change.");
    nvim.screen.shows("✓ c.txt");
    assert_eq!(world.ok(["review"]).stdout, "Nothing to review\n");
    nvim.ex("wincmd t");
    nvim.screen.keys("q");
    nvim.waits("vim.fn.tabpagenr('$') == 1 and vim.fn.bufname() == 'c.txt'");
    assert_eq!(nvim.lua(HAS_KEYS), false);
}

/// Side by side the same keys work. The list has its own: a whole file is kept, and the cursor goes to the next row.
#[test]
fn whole_files_are_kept_in_the_list() {
    let world = world();
    rig::configure(
        &world,
        "vim.g.backstitch = { review = { layout = 'split' } }",
    );
    let Some(mut nvim) = Neovim::start(&world, "plugin-review-list", &["c.txt"]) else {
        return;
    };
    nvim.is_attached();
    nvim.ex("Backstitch review");
    nvim.waits("vim.fn.bufname() == 'a.txt' and vim.wo.diff and vim.fn.winnr('$') == 3");
    nvim.waits(HAS_KEYS);
    nvim.screen.keys("K");
    nvim.waits("vim.fn.line('.') == 8");
    nvim.ex("wincmd t");
    nvim.waits("vim.bo.filetype == 'backstitch-review'");
    nvim.screen.keys("4GK");
    nvim.screen.shows("✓ a.txt");
    nvim.waits("vim.fn.line('.') == 5");
    nvim.screen.keys("K");
    nvim.screen.shows("✓ b.txt");
    nvim.waits("vim.fn.line('.') == 6");
    nvim.screen.keys("g?");
    nvim.screen.shows("In its files");
    nvim.screen
        .shows("X       Undo this change, and go to the next.");
    nvim.screen.keys("q");
    // reading the buffer again does not empty it
    nvim.ex("edit");
    nvim.screen.shows("✓ b.txt");
}
