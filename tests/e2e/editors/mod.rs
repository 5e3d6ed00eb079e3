//! Real editors without a plugin of ours, as `backstitch setup` sets them up, on a terminal. An agent's change is
//! shown, rewound and restored with the editor's own keys. The reference screens are in `screens/`;
//! `BACKSTITCH_RENEW_SCREENS=1` rewrites these files.
//!
//! `tests/editors/install.sh` installs the editors. Where one is missing, its test says so and passes; with
//! `CI=true` it fails.

pub mod film;
mod held;
mod jobs;
pub mod picture;
pub mod screen;

use std::fs;

use backstitch_protocol::REWIND_LENS;

use screen::{Editor, installed};

use crate::support::World;
use crate::support::scenarios::{FOUR_LINES, one_turn_on_a_screen};

const WRITTEN: &str = "one\n2\n2 and a half\nthree\nfour\n";

fn is_rewound(world: &World, file: &str) {
    assert_eq!(world.read(file), FOUR_LINES);
    assert!(!world.exists("new.txt"));
}

fn is_back(world: &World, file: &str) {
    assert_eq!(world.read(file), WRITTEN);
    assert_eq!(world.read("new.txt"), "new\n");
    world.ok(["verify"]);
}

#[test]
fn helix_rewinds_by_a_code_action() {
    let Some(program) = installed("helix_rewinds_by_a_code_action", "hx") else {
        return;
    };
    let world = one_turn_on_a_screen("notes.md");
    world.ok(["setup", "helix"]);
    let mut helix = Editor::start(&world, "helix", &program, &["notes.md"]);
    helix.shows("2 and a half");
    helix.keys("2gg");
    let action = "Rewind to before turn 1 “make it two”";
    let not_yet = "code actions";
    helix.keys_until(" a", action, not_yet);
    helix.is_like("actions", action);
    helix.keys("\r");
    helix.is_like("question", "Rewind to before “make it two”");
    helix.keys("\r");
    helix.is_like("rewound", "Rewound to before “make it two”");
    helix.keys(":w\r");
    helix.shows("written");
    is_rewound(&world, "notes.md");

    helix.keys(" a");
    helix.shows("Undo the last rewind");
    helix.keys("\r");
    helix.shows("Undo");
    helix.shows("2 files change");
    helix.keys("\r");
    helix.is_like("undone", "Undid the rewind to before “make it two”");
    helix.keys(":w\r");
    helix.shows("written");
    is_back(&world, "notes.md");
    helix.keys(":q\r");
}

#[test]
fn neovim_rewinds_by_a_lens() {
    let Some(program) = installed("neovim_rewinds_by_a_lens", "nvim") else {
        return;
    };
    let world = one_turn_on_a_screen("notes.md");
    world.ok(["setup", "neovim"]);
    let mut neovim = Editor::start(&world, "neovim", &program, &["-n", "notes.md"]);
    neovim.is_like("lenses", &format!("{REWIND_LENS} · turn 1 “make it two”"));
    neovim.keys("2gggrx");
    neovim.shows(&format!("1: {REWIND_LENS}"));
    neovim.keys("1\r");
    neovim.is_like("question", "Rewind to before “make it two”");
    neovim.keys("1\r");
    neovim.shows("Rewound to before “make it two”: 2 files (1 deleted, 1 to save).");
    // while it asks for ENTER, lenses are painted or not, as they came before or after it
    neovim.keys("\r");
    neovim.is_like("rewound", "2 checkpoints");
    neovim.keys(":w\r");
    neovim.shows("written");
    is_rewound(&world, "notes.md");

    neovim.keys(":lua vim.lsp.buf.code_action()\r");
    neovim.shows("1: Undo the last rewind");
    neovim.keys("1\r");
    neovim.shows("1: Undo\n");
    neovim.keys("1\r");
    neovim.shows("Undid the rewind to before “make it two”");
    neovim.keys("\r");
    neovim.is_like("undone", REWIND_LENS);
    neovim.keys(":w\r");
    neovim.shows("written");
    is_back(&world, "notes.md");
    neovim.keys(":q\r");
}

#[test]
fn emacs_rewinds_by_a_code_action() {
    let Some(program) = installed("emacs_rewinds_by_a_code_action", "emacs") else {
        return;
    };
    let world = one_turn_on_a_screen("notes.txt");
    let lines = world.ok(["setup", "emacs"]).stdout;
    fs::write(world.home.join(".emacs"), lines).expect("written");
    let args = ["--no-window-system", "--no-splash", "notes.txt"];
    let mut emacs = Editor::start(&world, "emacs", &program, &args);
    emacs.shows("2 and a half");
    emacs.keys("\x1bxeglot\r");
    emacs.shows("Connected!");
    // second line
    emacs.keys("\x0e\x1bxeglot-code-actions\r");
    emacs.is_like("actions", "Rewind to before turn 1 “make it two”");
    emacs.keys("\r");
    emacs.is_like("question", "Rewind to before “make it two”");
    emacs.keys("\r");
    emacs.is_like("rewound", "Rewound to before “make it two”");
    emacs.keys("\x18\x13");
    emacs.shows("Wrote");
    is_rewound(&world, "notes.txt");

    emacs.keys("\x1bxeglot-code-actions\r");
    emacs.shows("(default Undo the last rewind)");
    emacs.keys("\r");
    emacs.shows("Choose an option");
    emacs.keys("\r");
    emacs.is_like("undone", "Undid the rewind to before “make it two”");
    emacs.keys("\x18\x13");
    emacs.shows("Wrote");
    is_back(&world, "notes.txt");
    emacs.keys("\x18\x03");
}

/// `M-x backstitch` serves a buffer of a language whose own server Eglot knows, and does not find here.
#[test]
fn emacs_has_a_command_for_every_mode() {
    let Some(program) = installed("emacs_has_a_command_for_every_mode", "emacs") else {
        return;
    };
    let name = "notes.py";
    let world = one_turn_on_a_screen(name);
    let lines = world.ok(["setup", "emacs"]).stdout;
    fs::write(world.home.join(".emacs"), lines).expect("written");
    let args = ["--no-window-system", "--no-splash", name];
    let mut emacs = Editor::start(&world, "emacs", &program, &args);
    emacs.shows("2 and a half");
    emacs.keys("\x1bxbackstitch\r");
    emacs.shows("Connected!");
    emacs.keys("\x0e\x1bxeglot-code-actions\r");
    emacs.shows("Rewind to before turn 1");
    emacs.keys("\x07\x18\x03");
}

/// Emacs shows plain newlines where a file has CRLF. It sends these to the server, and saves CRLF.
#[test]
fn emacs_rewinds_a_file_of_crlf_lines() {
    let Some(program) = installed("emacs_rewinds_a_file_of_crlf_lines", "emacs") else {
        return;
    };
    let text = FOUR_LINES.replace('\n', "\r\n");
    let world = World::committed_for_a_screen(&[("notes.txt", &text)]);
    let mut agent = world.agent();
    agent.prompt("make it two");
    agent.edit("notes.txt", "two", "2 and a half");
    agent.stop();
    let lines = world.ok(["setup", "emacs"]).stdout;
    fs::write(world.home.join(".emacs"), lines).expect("written");
    let args = ["--no-window-system", "--no-splash", "notes.txt"];
    let mut emacs = Editor::start(&world, "emacs", &program, &args);
    emacs.shows("2 and a half");
    emacs.keys("\x1bxeglot\r");
    emacs.shows("Connected!");
    // typed at the end, and not saved
    emacs.keys("\x1b>mine\r\x1b<\x0e\x1bxeglot-code-actions\r");
    emacs.shows("Rewind to before turn 1");
    emacs.keys("\r");
    emacs.shows("Rewind to before");
    emacs.keys("\r");
    emacs.shows("Rewound to before");
    emacs.keys("\x18\x13");
    emacs.shows("Wrote");
    assert_eq!(world.read("notes.txt"), format!("{text}mine\r\n"));
    world.ok(["checkpoint"]);
    let status = world.json(["status"]);
    assert_eq!(status["pending_saves"], serde_json::json!([]), "{status}");
    assert_eq!(
        status["editors"][0]["unsaved"],
        serde_json::json!([]),
        "{status}"
    );
    emacs.keys("\x18\x03");
}
