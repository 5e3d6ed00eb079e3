//! Keys of the timeline, the mappings, and the arguments of commands.

use super::rig::Neovim;

use crate::support::scenarios::{SEVEN_LINES, two_turns_in_neovim};

/// S3-051: each row of the timeline can be rewound to, reverted, tagged, pinned and forked by a key.
#[test]
fn every_key_of_the_timeline() {
    let world = two_turns_in_neovim();
    let Some(mut nvim) = Neovim::start(&world, "plugin-keys", &["src/a.txt"]) else {
        return;
    };
    nvim.is_attached();
    nvim.ex("Backstitch");
    nvim.screen.shows("● Edit");
    // the cursor is on the newest turn
    nvim.screen.keys("r");
    nvim.screen.shows("Rewind to before");
    nvim.screen.keys("q");
    nvim.screen
        .until("closed", |screen| !screen.contains("Rewind to before"));
    nvim.screen.keys("x");
    nvim.screen.shows("Revert “and five”");
    nvim.screen.keys("\r");
    nvim.screen.shows("Reverted: 1 file");
    assert!(world.read("src/a.txt").contains("five"));
    nvim.screen.keys("u");
    nvim.screen.shows("<CR> undo");
    nvim.screen.keys("\r");
    nvim.screen.shows("Undone: 1 file");
    nvim.screen.keys("\x12");
    nvim.screen.shows("<CR> redo");
    nvim.screen.keys("\r");
    nvim.screen.shows("Redone: 1 file");

    nvim.screen.shows("⟲ redo of the revert of “and five”");
    nvim.screen.keys("/t2 .and five\rt");
    nvim.screen.shows("Tag for t2");
    nvim.screen.keys("fine\r");
    nvim.screen.shows("⚑ fine");
    nvim.screen.keys("P");
    nvim.screen.shows("◆ · ⚑ fine");
    nvim.screen.keys("P");
    nvim.screen.shows("is no longer pinned");
    nvim.screen.until("no mark", |screen| !screen.contains("◆"));
    nvim.screen.keys("f");
    nvim.screen.shows("Branch from t2");
    nvim.screen.keys("idea\r");
    nvim.screen.shows("▸ idea");
    nvim.screen.keys("c");
    nvim.screen.shows("Checkpoint:");
    nvim.screen.keys("by hand\r");
    nvim.screen.shows("by hand");
    nvim.screen.keys("/make it two\rd");
    nvim.screen.shows("-gone");
    nvim.screen.keys("q");
    nvim.screen
        .until("closed", |screen| !screen.contains("-gone"));
    // its document may be all that is there
    nvim.screen.keys("d");
    nvim.screen.shows("-gone");
    nvim.ex("wincmd T");
    nvim.screen.keys("q");
    nvim.screen
        .until("closed", |screen| !screen.contains("-gone"));
    nvim.screen.keys("/idea\rs");
    nvim.screen.shows("<CR> switch");
    nvim.screen.keys("\r");
    nvim.screen.shows("Switched");

    // the row of a file acts on that file alone
    nvim.screen.shows("current · from");
    nvim.screen.shows("● starts before t2");
    nvim.screen.keys("zR");
    nvim.screen.shows("D gone.txt");
    nvim.screen.keys("/D gone.txt\rx");
    nvim.screen.shows("A  gone.txt");
    nvim.screen.keys("\r");
    nvim.waits("vim.fn.filereadable('gone.txt') == 1");
    // its row has the state after the step
    nvim.screen.keys("r");
    nvim.screen.shows("D  gone.txt");
    nvim.screen.keys("q");
    nvim.screen
        .until("closed", |screen| !screen.contains("D  gone.txt"));
    assert!(world.exists("gone.txt") && world.exists("new.txt"));

    // a changed file, which is shown already
    nvim.screen.keys("q");
    nvim.ex("edit src/a.txt");
    nvim.screen.keys("ggOmine\x1b");
    nvim.ex("Backstitch log src/a.txt");
    nvim.screen.shows("Only src/a.txt");
    nvim.screen.shows("t1 “make it two”");
    nvim.screen.shows("▸ Edit src/a.txt");
    nvim.screen.keys("zR/M src.a.txt\r\r");
    nvim.screen.shows("changes since c");
    assert_eq!(nvim.lines()[0], "mine");
    assert!(
        !nvim.messages().contains("traceback"),
        "{}",
        nvim.messages()
    );
}

#[test]
fn mappings_and_command_words_work() {
    let world = two_turns_in_neovim();
    let Some(mut nvim) = Neovim::start(&world, "plugin-words", &["src/a.txt"]) else {
        return;
    };
    nvim.is_attached();
    let mapped = "#vim.tbl_filter(function(m) return vim.startswith(m.lhs, \"<Plug>(Backstitch\") end, vim.api.nvim_get_keymap(\"n\"))";
    assert_eq!(nvim.lua(mapped), 24);
    nvim.ex("execute \"normal \\<Plug>(BackstitchDiff)\"");
    nvim.screen.shows("1 change since t2");
    nvim.ex("execute \"normal \\<Plug>(BackstitchNextHunk)\"");
    nvim.screen.shows("change 1 of 1");
    nvim.ex("execute \"normal \\<Plug>(BackstitchTakeBack)\"");
    nvim.screen.shows("Undone: 1 change");
    assert_eq!(world.read("src/a.txt"), SEVEN_LINES.replace("two", "2"));

    // files, including the current one
    nvim.ex("Backstitch rewind t1 %");
    nvim.screen.shows("M  src/a.txt");
    nvim.screen.keys("\r");
    nvim.screen.shows("Rewound: 1 file");
    assert_eq!(world.read("src/a.txt"), SEVEN_LINES);
    assert!(world.exists("new.txt"));
    nvim.ex("Backstitch fork t2 aside ~/aside");
    nvim.screen.shows("created branch aside in ");
    nvim.waits("vim.uv.fs_stat(vim.fn.expand(\"~/aside/src/a.txt\")) ~= nil");
    let first = nvim.server();
    nvim.ex("Backstitch restart");
    nvim.ex("Backstitch log");
    nvim.screen.shows("“make it two”");
    assert_ne!(nvim.server(), first);
}
