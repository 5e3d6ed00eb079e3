//! An agent's edit of an open file: cursor, marks, folds, extmarks and typed text stay with their lines.

use std::time::{SystemTime, UNIX_EPOCH};

use super::rig::{Neovim, configure, world};
use crate::support::World;
use crate::support::rng::{Rng, is_long};
use crate::support::scenarios::two_turns_in_neovim;

/// A workspace with a file of so many numbered lines.
fn numbered(count: usize) -> World {
    let lines: Vec<String> = (1..=count).map(|n| format!("line {n}\n")).collect();
    let world = world(&[("a.txt", "one\n"), ("long.txt", &lines.concat())]);
    configure(&world, "vim.g.backstitch = { codelens = false }");
    world
}

/// An agent inserts lines above the cursor, which stays in its line, as do the first line of the window, marks,
/// folds and extmarks. Neovim knows that the buffer agrees with the file.
#[test]
fn everything_stays_with_its_text() {
    let world = numbered(300);
    let Some(mut nvim) = Neovim::start(&world, "plugin-stays", &["a.txt"]) else {
        return;
    };
    nvim.ex("edit long.txt");
    nvim.waits("vim.fn.line(\"$\") > 1");
    nvim.is_attached();
    nvim.screen.keys("150Gmazt155Gzfj160G5|");
    nvim.ex("lua _G.ns = vim.api.nvim_create_namespace('t'); vim.api.nvim_buf_set_extmark(0, ns, 199, 2, { id = 1 })");
    nvim.waits("_G.ns ~= nil and vim.fn.line(\".\") == 160");
    assert_eq!(nvim.lua("vim.fn.line(\"w0\")"), 150);
    let mut agent = world.agent();
    agent.prompt("three lines");
    agent.edit("long.txt", "line 5\n", "line 5\nnew\nnew\nnew\n");
    agent.stop();
    nvim.waits("vim.fn.line(\"$\") == 303");
    let where_all = "{ vim.fn.line(\".\"), vim.fn.col(\".\"), vim.fn.line(\"w0\"), vim.fn.line(\"'a\"), vim.fn.foldclosed(158), vim.fn.foldclosedend(158), vim.api.nvim_buf_get_extmark_by_id(0, ns, 1, {})[1], vim.bo.modified }";
    assert_eq!(
        nvim.lua(where_all),
        serde_json::json!([163, 5, 153, 153, 158, 159, 202, false])
    );
    // no question whether to write
    nvim.screen.keys("Amore\x1b");
    nvim.ex("w");
    nvim.waits("not vim.bo.modified");
    assert!(world.read("long.txt").contains("new\nnew\nnew\nline 6\n"));
    assert!(world.read("long.txt").contains("line 160more\n"));
    // one step each
    nvim.screen.keys("uu");
    nvim.waits("vim.fn.line(\"$\") == 300");
    nvim.screen.keys("\x12");
    nvim.waits("vim.fn.line(\"$\") == 303 and vim.bo.modified");
    assert!(!nvim.messages().contains("W12"), "{}", nvim.messages());
}

/// S3-L2: in Insert mode the text does not move. After it, typed text and the agent's edit are both there.
#[test]
fn a_line_that_is_typed_stays_whole() {
    let world = numbered(300);
    let Some(mut nvim) = Neovim::start(&world, "plugin-typed", &["a.txt"]) else {
        return;
    };
    nvim.ex("edit long.txt");
    nvim.waits("vim.fn.line(\"$\") > 1");
    nvim.is_attached();
    nvim.screen.keys("150GA");
    nvim.waits("vim.api.nvim_get_mode().mode == \"i\"");
    let mut agent = world.agent();
    agent.prompt("three lines");
    agent.edit("long.txt", "line 5\n", "line 5\nnew\nnew\nnew\n");
    agent.stop();
    nvim.screen.keys("  # my comment");
    nvim.waits("vim.api.nvim_get_current_line() == \"line 150  # my comment\"");
    assert_eq!(nvim.lua("vim.fn.line(\"$\")"), 300);
    nvim.screen.keys("\x1b");
    nvim.waits("vim.fn.line(\"$\") == 303");
    assert_eq!(
        nvim.lua("{ vim.fn.line(\".\"), vim.fn.getline(153), vim.bo.modified }"),
        serde_json::json!([153, "line 150  # my comment", true])
    );
    nvim.ex("w");
    nvim.waits("not vim.bo.modified");
    let text = world.read("long.txt");
    assert!(text.contains("line 150  # my comment\n") && text.contains("line 5\nnew\nnew\nnew\n"));
    // the user's line is the user's
    assert!(world.ok(["blame", "long.txt"]).stdout.lines().count() >= 303);
    nvim.screen.keys("u");
    nvim.waits("vim.fn.line(\"$\") == 300 or vim.fn.getline(153) == \"line 150\"");
    assert!(!nvim.messages().contains("W12"), "{}", nvim.messages());
}

/// A file that an agent deletes is said once; its text stays in the buffer.
#[test]
fn a_deleted_file_is_said_once() {
    let world = numbered(3);
    let Some(mut nvim) = Neovim::start(&world, "plugin-deleted", &["a.txt"]) else {
        return;
    };
    nvim.is_attached();
    let mut agent = world.agent();
    agent.prompt("tidy up");
    agent.bash("rm a.txt");
    nvim.screen
        .shows("a.txt was deleted. :write brings its text back");
    agent.bash("echo more >> long.txt");
    agent.stop();
    nvim.ex("edit long.txt");
    nvim.waits("vim.fn.getline(4) == \"more\"");
    assert_eq!(nvim.messages().matches("was deleted").count(), 1);
    nvim.ex("buffer a.txt");
    nvim.ex("write");
    nvim.screen.shows("written");
    assert_eq!(world.read("a.txt"), "one\n");
}

/// Line ends, a byte order mark and a missing final newline are kept, and an unusual file is reloaded by Neovim itself.
#[test]
fn the_format_of_the_file_is_kept() {
    for (before, after) in [
        ("one\r\ntwo\r\nthree\r\n", "one\r\nTWO\r\nthree\r\n"),
        ("\u{feff}one\ntwo\nthree\n", "\u{feff}one\nTWO\nthree\n"),
        ("one\ntwo\nthree\n", "one\nTWO\nthree"),
        ("one\ntwo\nthree", "one\nTWO\nthree\n"),
        ("one\ntwo\nthree\n", "one\r\nTWO\r\nthree\r\n"),
        ("é one\ntwo ü\nthree\n", "é one\nTWO ö\nthree\n"),
        ("", "one\nTWO\n"),
    ] {
        let world = world(&[("a.txt", before), ("b.txt", "x\n")]);
        configure(&world, "vim.g.backstitch = { codelens = false }");
        let Some(mut nvim) = Neovim::start(&world, "plugin-format", &["a.txt"]) else {
            return;
        };
        nvim.is_attached();
        let mut agent = world.agent();
        agent.prompt("in capitals");
        agent.write("a.txt", after);
        agent.stop();
        nvim.waits("vim.fn.getline(2):match(\"TWO\") ~= nil and not vim.bo.modified");
        nvim.ex("set nofixeol | w");
        nvim.screen.shows("written");
        assert_eq!(world.read("a.txt"), after, "{before:?}");
        assert!(!nvim.messages().contains("W12"), "{}", nvim.messages());
    }
}

/// S3-L2: the file is written between a read of the buffer and the moment at which the server learns of it. The server
/// takes the text on disk for the base then, and would not find anything to merge.
#[test]
fn a_write_right_after_a_read_is_not_lost() {
    let world = numbered(30);
    let Some(mut nvim) = Neovim::start(&world, "plugin-read-race", &["a.txt"]) else {
        return;
    };
    nvim.ex("edit long.txt");
    nvim.waits("vim.fn.line(\"$\") > 1");
    nvim.is_attached();
    let late = world.read("long.txt").replace("line 10\n", "LINE 10\n");
    world.write("late.txt", &late);
    nvim.ex("autocmd BufReadPost long.txt ++once call writefile(readfile('late.txt'), 'long.txt')");
    nvim.ex("edit!");
    nvim.waits("table.concat(vim.fn.readfile(\"long.txt\")):find(\"LINE\") ~= nil");
    assert_eq!(nvim.lua("vim.fn.getline(10)"), "line 10");
    // next to it, so that only the server can merge
    nvim.screen.keys("11GAmine\x1b");
    nvim.waits("vim.bo.modified and vim.fn.getline(11) == \"line 11mine\"");
    nvim.ex("Backstitch merge");
    nvim.waits("vim.fn.getline(10) == \"LINE 10\" or vim.fn.mode() == \"c\"");
    assert_eq!(
        nvim.lua("{ vim.fn.getline(10), vim.fn.getline(11) }"),
        serde_json::json!(["LINE 10", "line 11mine"])
    );
}

/// An operation of another program that changes unsaved text is reported after Insert mode. An own one has its own message.
#[test]
fn a_rewind_elsewhere_is_told() {
    let world = two_turns_in_neovim();
    let Some(mut nvim) = Neovim::start(&world, "plugin-elsewhere", &["src/a.txt"]) else {
        return;
    };
    nvim.is_attached();
    nvim.screen.keys("Gomine");
    nvim.screen.shows("mine");
    world.ok(["rewind", "t2", "--yes"]);
    nvim.screen.keys("\x1b");
    let said = "an operation of another program was merged into your unsaved text of src/a.txt";
    nvim.says(said);
    assert_eq!(nvim.lines()[4], "five");
    nvim.ex("Backstitch undo");
    nvim.screen.shows("<CR> undo");
    nvim.screen.keys("\r");
    nvim.says("Undone: 1 file");
    assert_eq!(nvim.messages().matches(said).count(), 1);
}

/// The question about a conflict has the differences, and is decided by a key.
#[test]
fn a_merge_shows_what_differs() {
    let world = two_turns_in_neovim();
    let Some(mut nvim) = Neovim::start(&world, "plugin-merge", &["src/a.txt"]) else {
        return;
    };
    nvim.is_attached();
    nvim.screen.keys("3Gccmine\x1b");
    nvim.waits("vim.bo.modified and vim.fn.mode() == \"n\"");
    world.turn("the third", |agent| {
        agent.edit("src/a.txt", "three", "third");
    });
    nvim.says("src/a.txt conflicts with your unsaved text. :Backstitch merge");
    nvim.ex("Backstitch merge");
    nvim.screen.until("a question", |screen| {
        [
            "-mine",
            "+third",
            "m write conflict markers · c keep my lines",
        ]
        .iter()
        .all(|part| screen.contains(part))
    });
    nvim.screen.keys("q");
    nvim.screen
        .until("closed", |screen| !screen.contains("+third"));
    assert_eq!(nvim.lines()[2], "mine");
    nvim.ex("Backstitch merge");
    nvim.screen.shows("+third");
    nvim.screen.keys("m");
    nvim.waits("vim.fn.getline(\".\"):find(\"<<<<<<< \", 1, true) == 1");
}

/// An edit of the server for the text before `:edit!` is for another version than the text after it, and is refused.
#[test]
fn a_text_that_is_read_again_has_another_version() {
    let world = numbered(3);
    let Some(mut nvim) = Neovim::start(&world, "plugin-version", &["a.txt"]) else {
        return;
    };
    nvim.is_attached();
    let version = "vim.lsp.util.buf_versions[vim.api.nvim_get_current_buf()]";
    let mut last = nvim.lua(version).as_u64().expect("a version");
    for _ in 0..3 {
        nvim.ex("edit!");
        nvim.waits("#vim.lsp.get_clients({ bufnr = 0, name = \"backstitch\" }) > 0");
        let now = nvim.lua(version).as_u64().expect("a version");
        assert!(now > last, "{now} after {last}");
        last = now;
    }
    // as a server that has not seen the text of now
    let edit = format!(
        "vim.lsp.config.backstitch.handlers[\"workspace/applyEdit\"](nil, {{ edit = {{ documentChanges = {{ {{ textDocument = {{ uri = vim.uri_from_bufnr(0), version = {} }}, edits = {{ {{ newText = \"X\", range = {{ start = {{ line = 0, character = 0 }}, [\"end\"] = {{ line = 0, character = 0 }} }} }} }} }} }} }} }}, {{ client_id = vim.lsp.get_clients({{ name = \"backstitch\" }})[1].id }})",
        last - 1
    );
    assert_eq!(nvim.lua(&edit)["applied"], false);
    assert_eq!(nvim.lua("vim.fn.getline(1)"), "one");
}

/// 500 keys of the user and edits of an agent, against a slow reference. A long run has more seeds, the last one of them new;
/// `BACKSTITCH_SEED` runs one alone.
#[test]
fn random_keys_and_edits_never_meet_in_a_wrong_line() {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let now = now.map_or(0, |since| u64::from(since.subsec_nanos()));
    let seeds = match std::env::var_os("BACKSTITCH_SEED") {
        Some(_) => vec![Rng::seed("BACKSTITCH_SEED", now)],
        None if is_long() => (1..=12).chain([23, now]).collect(),
        None => vec![6, 23],
    };
    for seed in seeds {
        let world = numbered(80);
        let Some(mut nvim) = Neovim::start(&world, "plugin-random", &["a.txt"]) else {
            return;
        };
        nvim.ex("edit long.txt");
        nvim.waits("vim.fn.line(\"$\") > 1");
        nvim.is_attached();
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/nvim/random_edits.lua");
        nvim.ex(&format!("lua _G.seed = {seed}; dofile('{script}')"));
        // on the screen: Neovim handles a request before keys that wait, which then go to other lines
        nvim.screen.shows("random edits: over");
        assert_eq!(nvim.lua("_G.outcome"), "500 steps agree", "seed {seed}");
        assert!(nvim.lua("_G.conflicts").as_u64() > Some(0), "seed {seed}");
        world.ok(["verify"]);
    }
}
