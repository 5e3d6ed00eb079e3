//! Line endings, byte order marks, and buffers that are not files.

use super::rig::{Neovim, configure, world};
use crate::support::World;

/// A workspace in which an agent edits a file with this text.
fn edited(text: &str, old: &str, new: &str) -> World {
    let world = world(&[("a.txt", text)]);
    let mut agent = world.agent();
    agent.prompt("in capitals");
    agent.edit("a.txt", old, new);
    agent.stop();
    world
}

/// U-21: CRLF and a byte order mark are not a difference, and stay when a change is undone.
#[test]
fn crlf_and_a_byte_order_mark_are_no_difference() {
    let world = edited("\u{feff}one\r\ntwo\r\nthree\r\n", "two", "TWO");
    configure(&world, "vim.g.backstitch = { codelens = false }");
    let Some(mut nvim) = Neovim::start(&world, "plugin-crlf", &["a.txt"]) else {
        return;
    };
    nvim.is_attached();
    nvim.ex("Backstitch diffsplit");
    nvim.screen.shows("a.txt at c");
    assert_eq!(nvim.lines(), ["one", "two", "three"]);
    let differing =
        "vim.tbl_filter(function(line) return vim.fn.diff_hlID(line, 1) ~= 0 end, { 1, 2, 3 })";
    assert_eq!(nvim.lua(differing), serde_json::json!([2]));
    nvim.ex("q");
    // next to an unsaved line of the user
    nvim.screen.keys("Gomine\x1b");
    nvim.ex("Backstitch diff");
    nvim.screen.shows("2 changes since t1");
    nvim.screen.keys("2G");
    nvim.ex("Backstitch takeback");
    nvim.waits("vim.fn.getline(2) == \"two\"");
    nvim.ex("w");
    nvim.screen.shows("written");
    assert_eq!(
        world.read("a.txt"),
        "\u{feff}one\r\ntwo\r\nthree\r\nmine\r\n"
    );
}

/// U-21: mixed line ends stay when a change is undone.
#[test]
fn mixed_line_ends_stay_as_they_are() {
    let world = edited("one\r\ntwo\nthree\r\n", "one", "ONE");
    let Some(mut nvim) = Neovim::start(&world, "plugin-mixed", &["a.txt"]) else {
        return;
    };
    nvim.is_attached();
    nvim.screen.keys("Gomine\x1bgg");
    nvim.ex("Backstitch diff");
    nvim.screen.shows("2 changes since t1");
    nvim.ex("Backstitch takeback");
    nvim.waits("vim.fn.getline(1) == \"one\\r\"");
    nvim.ex("w");
    nvim.screen.shows("written");
    assert_eq!(world.read("a.txt"), "one\r\ntwo\nthree\r\nmine\n");
}

/// U-21: a final newline that the agent added is undone.
#[test]
fn a_missing_final_newline_is_restored() {
    let world = edited("one\ntwo", "two", "two\n");
    let Some(mut nvim) = Neovim::start(&world, "plugin-noeol", &["a.txt"]) else {
        return;
    };
    nvim.is_attached();
    nvim.screen.keys("ggOmine\x1b");
    nvim.ex("Backstitch diff");
    nvim.screen.shows("2 changes since t1");
    nvim.screen.keys("G");
    nvim.ex("Backstitch takeback");
    nvim.waits("not vim.bo.endofline");
    nvim.ex("w");
    nvim.screen.shows("written");
    assert_eq!(world.read("a.txt"), "mine\none\ntwo");
}

#[test]
fn unmodifiable_buffers_and_non_files_are_reported() {
    let world = edited("one\ntwo\n", "two", "TWO");
    let Some(mut nvim) = Neovim::start(&world, "plugin-no-file", &["a.txt"]) else {
        return;
    };
    nvim.is_attached();
    nvim.screen.keys("ggOmine\x1b");
    nvim.ex("Backstitch diff");
    nvim.screen.shows("2 changes since t1");
    nvim.screen.keys("G");
    nvim.ex("set nomodifiable");
    nvim.ex("Backstitch takeback");
    nvim.screen
        .shows("This buffer cannot be changed. :set modifiable");
    nvim.ex("enew!");
    nvim.ex("Backstitch diff t1");
    nvim.screen.shows("This buffer is not a file");
    assert!(
        !nvim.messages().contains("traceback"),
        "{}",
        nvim.messages()
    );
}
