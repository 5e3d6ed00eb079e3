//! The plugin in a real Neovim, over the real server, with the real hook as the agent. The reference screens are
//! `editors/screens/plugin-*`; `BACKSTITCH_RENEW_SCREENS=1` rewrites these files.

mod breakpoints;
mod busy_server;
mod errors;
mod held;
mod held_changes;
mod held_keys;
mod jobs;
mod keys;
mod lens_truth;
mod line_ends;
mod outside;
mod packaging;
mod pick;
mod readme_picture;
mod reload;
mod repl;
mod review;
mod review_tab;
pub mod rig;
mod servers;
mod windows;

use backstitch_protocol::REWIND_LENS;

use rig::Neovim;

use crate::support::scenarios::{SEVEN_LINES, two_turns_in_neovim};

/// S3-047: each turn is a row with its age and its files below it, and new turns come by themselves.
#[test]
fn the_timeline_is_a_tree_that_follows() {
    let world = two_turns_in_neovim();
    // ages in truncated lines differ between runs
    rig::configure(&world, "vim.g.backstitch = { codelens = false }");
    let Some(mut nvim) = Neovim::start(&world, "plugin-timeline", &["src/a.txt"]) else {
        return;
    };
    nvim.is_attached();
    nvim.ex("Backstitch");
    nvim.screen.is_like("opened", "“make it two”");
    // unfolds the first turn, then its shell call
    nvim.screen.keys("/make\r\t");
    nvim.screen.shows("Bash run a command");
    nvim.screen.shows("before t1");
    nvim.screen.keys("j\t");
    nvim.screen.shows("after c");
    nvim.screen.is_like("unfolded", "A new.txt");
    nvim.screen.keys("p");
    nvim.screen.is_like("preview", "-gone");
    nvim.screen.keys("q");

    // the agent's next step appears without a key, and the cursor stays where it was
    let mut agent = world.agent();
    agent.prompt("another session");
    agent.edit("src/a.txt", "seven", "7");
    agent.stop();
    nvim.screen.shows("“another session”");
    let here = "vim.api.nvim_get_current_line():match(\"Bash\")";
    assert_eq!(nvim.lua(here), "Bash");
    // and so does its text
    nvim.screen.shows("\n7 ");

    nvim.screen.keys("g?");
    nvim.screen.is_like("keys", "Undo the changes of this turn");
    nvim.screen.keys("q");
    nvim.screen.keys("q");
    nvim.screen
        .until("closed", |screen| !screen.contains("g?: keys"));
}

/// S3-050, U-20: a plan that is left changes nothing; one that is carried out can be undone and done again.
#[test]
fn a_rewind_shows_its_plan_and_is_undone() {
    let world = two_turns_in_neovim();
    let Some(mut nvim) = Neovim::start(&world, "plugin-rewind", &["src/a.txt"]) else {
        return;
    };
    nvim.is_attached();
    nvim.ex("Backstitch rewind t1");
    nvim.screen.is_like("plan", "restore everything");
    nvim.screen.keys("d");
    nvim.screen.is_like("changes", "+gone");
    nvim.screen.keys("q");
    nvim.screen.shows("restore everything");
    // cancelled: nothing happens
    nvim.screen.keys("q");
    nvim.screen
        .until("closed", |screen| !screen.contains("restore everything"));
    assert!(world.exists("new.txt"));

    nvim.ex("Backstitch rewind t1");
    nvim.screen.shows("restore everything");
    nvim.screen.keys("\r");
    nvim.screen
        .shows("Rewound: 3 files; :Backstitch undo undoes this");
    assert_eq!(world.read("src/a.txt"), SEVEN_LINES);
    assert!(world.exists("gone.txt") && !world.exists("new.txt"));
    assert_eq!(nvim.lines().join("\n") + "\n", SEVEN_LINES);
    assert_eq!(nvim.lua("vim.bo.modified"), false);
    // Neovim's own undo also reverses the rewind
    nvim.screen.keys("u");
    nvim.waits("vim.api.nvim_buf_get_lines(0, 1, 2, false)[1] == \"2\"");
    nvim.screen.keys("\x12");
    nvim.waits("not vim.bo.modified");

    nvim.ex("Backstitch undo");
    nvim.screen.shows("Undo the rewind to before “make it two”");
    nvim.screen.keys("\r");
    nvim.screen.shows("Undone: 3 files");
    assert!(world.exists("new.txt") && !world.exists("gone.txt"));
    assert_eq!(nvim.lines()[1], "2");
    // with a bang the user's own edits are undone, too
    nvim.screen.keys("Gomine\x1b:w\r");
    nvim.screen.shows("written");
    nvim.ex("Backstitch! rewind t1");
    nvim.screen.shows("leave your own edits in place");
    nvim.screen.keys("\r");
    nvim.screen.shows("Rewound: 3 files");
    assert_eq!(world.read("src/a.txt"), SEVEN_LINES);
    nvim.ex("Backstitch undo");
    nvim.screen.shows("<CR> undo");
    nvim.screen.keys("\r");
    nvim.screen.shows("Undone: 3 files");
    assert!(world.read("src/a.txt").contains("mine"));
    nvim.ex("Backstitch redo");
    nvim.screen.shows("<CR> redo");
    nvim.screen.keys("\r");
    nvim.screen.shows("Redone: 3 files");
    assert_eq!(world.read("src/a.txt"), SEVEN_LINES);
    world.ok(["verify"]);
}

/// A plan begins with a sentence; of many turns the first are listed, and all on demand.
#[test]
fn a_plan_of_many_turns_is_folded() {
    let world = rig::world(&[("a.txt", "0\n")]);
    let mut agent = world.agent();
    for n in 1..=9 {
        agent.turn(&format!("turn number {n}"), |agent| {
            agent.edit("a.txt", &format!("{}\n", n - 1), &format!("{n}\n"));
        });
    }
    let Some(mut nvim) = Neovim::start(&world, "plugin-many-turns", &["a.txt"]) else {
        return;
    };
    nvim.is_attached();
    nvim.ex("Backstitch rewind t1");
    nvim.screen.shows("Undoes 9 turns · 1 file");
    nvim.screen.shows("“turn number 5”");
    nvim.screen.shows("… 4 more");
    nvim.screen.keys("f");
    nvim.screen.shows("“turn number 1”  t1");
    nvim.screen.keys("q");
    nvim.screen.shows("… 4 more");
    nvim.screen.keys("q");
    nvim.screen
        .until("closed", |screen| !screen.contains("… 4 more"));
    nvim.ex("Backstitch rewind t9");
    nvim.screen
        .shows("Undoes turn “turn number 9” (claude-code, ");
    nvim.screen.keys("\r");
    nvim.screen.shows("Rewound: 1 file");
    nvim.ex("Backstitch undo");
    nvim.screen
        .shows("Brings back turn “turn number 9” (claude-code, ");
}

/// S3-L2: text that the user has typed stays through a rewind.
#[test]
fn a_rewind_merges_into_unsaved_text() {
    let world = two_turns_in_neovim();
    let Some(mut nvim) = Neovim::start(&world, "plugin-dirty", &["src/a.txt"]) else {
        return;
    };
    nvim.is_attached();
    nvim.screen.keys("Gomine\x1b");
    nvim.ex("Backstitch rewind t1 src/a.txt");
    nvim.screen.shows("restore everything");
    nvim.screen.keys("\r");
    nvim.screen.shows("1 of them unsaved");
    assert_eq!(
        nvim.lines().join("\n") + "\n",
        format!("{SEVEN_LINES}mine\n")
    );
    assert_eq!(nvim.lua("vim.bo.modified"), true);
    nvim.ex("w");
    nvim.screen.shows("written");
    assert_eq!(world.read("src/a.txt"), format!("{SEVEN_LINES}mine\n"));
    // the other files were not named
    assert!(world.exists("new.txt"));
    world.ok(["verify"]);
}

/// U-19: an edit of the user on the agent's line is a conflict, which the plan shows.
#[test]
fn conflicts_are_the_users_choice() {
    let world = two_turns_in_neovim();
    world.write("src/a.txt", world.read("src/a.txt").replace("FIVE", "mine"));
    let Some(mut nvim) = Neovim::start(&world, "plugin-conflict", &["src/a.txt"]) else {
        return;
    };
    nvim.is_attached();
    nvim.ex("Backstitch rewind t2");
    nvim.screen.is_like("plan", "Conflicts with your edits");
    // the file in conflict is among the changes, too
    nvim.screen.keys("d");
    nvim.screen.shows("-mine");
    nvim.screen.shows("+five");
    nvim.screen.keys("q");
    nvim.screen.shows("Conflicts with your edits");
    nvim.screen.keys("m");
    // the positions of the markers are listed; the cursor stays in the text
    nvim.screen.shows("Quickfix");
    assert!(world.read("src/a.txt").contains("<<<<<<< "));
    assert_eq!(nvim.lua("vim.fn.getqflist()[1].lnum"), 5);
    let height = "vim.api.nvim_win_get_height(vim.fn.getqflist({ winid = 0 }).winid)";
    assert_eq!(nvim.lua(height), 1);
    assert_eq!(nvim.lua("vim.fn.expand('%:t')"), "a.txt");
    // the list goes with the markers
    nvim.ex("Backstitch undo");
    nvim.screen.shows("<CR> undo");
    nvim.screen.keys("\r");
    nvim.screen
        .until("closed", |screen| !screen.contains("Quickfix"));
    assert_eq!(nvim.lua("#vim.fn.getqflist()"), 0);
    assert!(world.read("src/a.txt").contains("mine"));
}

/// U-19: the same after a decided rewind was undone, which leaves several edits that conflict with the same line.
#[test]
fn what_collides_can_be_decided_a_second_time() {
    for (key, shown) in [("m", "Quickfix"), ("c", "nothing to do"), ("o", "Rewound")] {
        let world = two_turns_in_neovim();
        let mine = world.read("src/a.txt").replace("FIVE", "mine");
        world.write("src/a.txt", &mine);
        world.ok(["rewind", "t2", "--on-conflict", "markers"]);
        world.write("src/a.txt", &mine);
        world.ok(["undo", "--on-conflict", "current"]);
        let Some(mut nvim) = Neovim::start(&world, "plugin-conflict-again", &["src/a.txt"]) else {
            return;
        };
        nvim.is_attached();
        nvim.ex("Backstitch rewind t2");
        nvim.screen.shows("1 conflict");
        nvim.screen.keys(key);
        nvim.screen.shows(shown);
        let text = world.read("src/a.txt");
        assert_eq!(text.contains("<<<<<<< "), key == "m", "{text}");
        assert_eq!(text.contains("mine"), key != "o", "{text}");
        assert!(
            !nvim.messages().contains("meanwhile"),
            "{}",
            nvim.messages()
        );
    }
}

/// S2-076, S4-062: commands make checkpoints, tags and branches, and a switch to a new branch restores its fork point.
#[test]
fn commands_and_their_completions_work() {
    let world = two_turns_in_neovim();
    let Some(mut nvim) = Neovim::start(&world, "plugin-commands", &["src/a.txt"]) else {
        return;
    };
    nvim.is_attached();
    nvim.ex("Backstitch checkpoint by hand");
    nvim.screen.shows("backstitch: checkpoint c");
    assert!(world.ok(["log"]).stdout.contains("by hand"));
    nvim.ex("Backstitch tag good t1");
    nvim.screen.shows("backstitch: tagged c");
    nvim.ex("Backstitch pin t1");
    nvim.screen.shows("is pinned");
    nvim.ex("Backstitch unpin t1");
    nvim.screen.shows("is no longer pinned");
    nvim.ex("Backstitch fork t2 idea");
    nvim.screen
        .shows("created branch idea; :Backstitch switch idea switches to it");

    let completed = |line: &str| {
        let all = nvim.lua(&format!("vim.fn.getcompletion(\"{line}\", \"cmdline\")"));
        let all: Vec<String> = serde_json::from_value(all).expect("texts");
        all
    };
    assert!(completed("Backstitch re").contains(&"rewind".to_owned()));
    let revs = completed("Backstitch rewind ");
    for rev in ["t1", "t2", "good", "idea", "main"] {
        assert!(revs.contains(&rev.to_owned()), "{rev} in {revs:?}");
    }
    assert_eq!(completed("Backstitch switch "), ["idea"]);
    assert_eq!(completed("Backstitch rewind t1 src/"), ["src/a.txt"]);
    assert_eq!(completed("Backstitch undo x y "), Vec::<String>::new());

    // from a line of the differences to its file
    nvim.ex("Backstitch changes t1");
    nvim.screen.shows(" changes t1..");
    nvim.screen.keys("/^+2\r");
    nvim.waits("vim.fn.getline('.') == '+2'");
    nvim.screen.keys("\r");
    nvim.waits("vim.fn.bufname() == 'src/a.txt' and vim.fn.line('.') == 2");
    nvim.ex("only");

    nvim.ex("Backstitch switch idea");
    nvim.screen.shows("Switch to idea");
    nvim.screen.keys("\r");
    nvim.screen.shows("Switched: 1 file");
    assert_eq!(world.read("src/a.txt"), SEVEN_LINES.replace("two", "2"));
    // one turn, regardless of later ones
    nvim.ex("Backstitch revert t1");
    nvim.screen.shows("<CR>");
    nvim.screen.keys("\r");
    nvim.screen.shows("Reverted: 3 files");
    assert_eq!(world.read("src/a.txt"), SEVEN_LINES);

    // without an argument the user chooses
    nvim.ex("Backstitch rewind");
    nvim.screen.shows("Rewind to");
    nvim.screen.shows("“make it two”");
    nvim.screen.keys("\x1b");
    nvim.screen
        .until("called off", |screen| !screen.contains("Rewind to"));
    nvim.ex("Backstitch sessions");
    nvim.screen.shows("claude-code · 2 turns");
    nvim.screen.keys("1\r");
    nvim.screen.shows("Only session A of claude-code");
    nvim.screen.keys("q");
    nvim.ex("Backstitch changes t1 t1");
    nvim.screen.shows("-gone");
    nvim.screen.keys("q");
    nvim.ex("Backstitch frobnicate");
    nvim.screen.shows("unknown subcommand 'frobnicate'");
    nvim.ex("Backstitch undo op1 op2");
    nvim.screen.shows("unexpected argument 'op2'");
    nvim.ex("Backstitch rewind t99");
    nvim.screen.shows("there is no turn t99: the newest is t");
    nvim.ex("Backstitch rewind t1 nofile");
    nvim.screen
        .shows("backstitch: `nofile` is in no checkpoint");
    // messages of the server have the same form as the plugin's own
    nvim.ex("Backstitch changes @");
    nvim.screen
        .shows("backstitch: Nothing changed between @ and disk.");
}

/// S3-043, S3-056: a rewind in one Neovim is shown by another, which takes no part in it.
#[test]
fn two_instances_show_each_others_operations() {
    let world = two_turns_in_neovim();
    let Some(mut one) = Neovim::start(&world, "plugin-one", &["src/a.txt"]) else {
        return;
    };
    let Some(two) = Neovim::start(&world, "plugin-two", &["src/a.txt"]) else {
        return;
    };
    one.is_attached();
    two.is_attached();
    one.ex("Backstitch rewind t2");
    one.screen.shows("restore everything");
    one.screen.keys("\r");
    one.screen.shows("Rewound: 1 file");
    two.waits("vim.api.nvim_buf_get_lines(0, 4, 5, false)[1] == \"five\"");
    assert_eq!(two.lua("vim.bo.modified"), false);
}

#[test]
fn lenses_and_code_actions_do_what_commands_do() {
    let world = two_turns_in_neovim();
    let Some(mut nvim) = Neovim::start(&world, "plugin-lens", &["src/a.txt"]) else {
        return;
    };
    nvim.screen
        .is_like("drawn", &format!("{REWIND_LENS} · turn 2 “and five”"));
    nvim.screen.keys("5Ggrx");
    nvim.screen.shows(&format!("1: {REWIND_LENS}"));
    nvim.screen.keys("1\r");
    nvim.screen.shows("restore everything");
    nvim.screen.keys("\r");
    nvim.screen.shows("Rewound: 1 file");
    assert_eq!(nvim.lines()[4], "five");
    nvim.screen.keys("2G");
    nvim.ex("lua vim.lsp.codelens.run()");
    nvim.screen.shows("3: diff");
    nvim.screen.keys("3\r");
    nvim.screen.shows("1 change since t1");
}

/// S3-043: other plugins learn of checkpoints and rewinds, and agents inside Neovim are known as the writers.
#[test]
fn plugins_are_notified_and_agents_inside_neovim_are_attributed() {
    let world = two_turns_in_neovim();
    let Some(mut nvim) = Neovim::start(&world, "plugin-agents", &["src/a.txt"]) else {
        return;
    };
    nvim.is_attached();
    nvim.ex("lua vim.api.nvim_create_autocmd('User', { pattern = 'Backstitch*', callback = function(e) _G.heard = (_G.heard or '') .. e.match .. ' ' end })");
    // text for a status line
    nvim.waits("require(\"backstitch\").statusline() == \"⟲ t2\"");
    nvim.ex("lua local b, ended = require('backstitch'), 0; local turn_end = b.turn_end; b.turn_end = function(turn, done) turn_end(turn, function(...) ended = ended + 1; _G.ended = ended; if done then done(...) end end) end");
    nvim.ex("lua vim.api.nvim_exec_autocmds('User', { pattern = 'AvanteInputSubmitted', data = { request = 'ask avante' } })");
    nvim.waits("(_G.heard or \"\"):match(\"BackstitchCheckpoint\") ~= nil");
    nvim.ex("lua vim.api.nvim_exec_autocmds('User', { pattern = 'AvanteViewBufferUpdated' })");
    nvim.ex("lua vim.api.nvim_exec_autocmds('User', { pattern = 'CodeCompanionChatSubmitted', data = { id = 7, bufnr = 1 } })");
    nvim.ex("lua vim.api.nvim_exec_autocmds('User', { pattern = 'CodeCompanionChatDone', data = { id = 7, bufnr = 1 } })");
    nvim.waits("require(\"backstitch\").statusline() == \"⟲ t4\"");
    // all turns have ended
    nvim.waits("_G.ended == 2");
    nvim.ex("lua require('backstitch').turn_end({}, function(failure) _G.open = failure and failure.message or 'one' end)");
    nvim.waits("(_G.open or \"\"):match(\"no turn\") ~= nil");
    let log = world.ok(["log"]).stdout;
    assert!(
        log.contains("ask avante") && log.contains("codecompanion"),
        "{log}"
    );

    // an edit through the interface names its writer
    nvim.ex("lua local b = require('backstitch'); b.turn_begin({ agent = 'mine', session = 's1', prompt = 'shout' }, function() b.apply_edit({ agent = 'mine', session = 's1', label = 'shout', edit = { changes = { [vim.uri_from_bufnr(0)] = { { range = { start = { line = 0, character = 0 }, ['end'] = { line = 0, character = 3 } }, newText = 'ONE' } } } } }, function(failure, result) _G.applied = failure or result.applied; b.turn_end({ agent = 'mine', session = 's1' }) end) end)");
    nvim.waits("_G.applied == true");
    assert_eq!(nvim.lines()[0], "ONE");
    nvim.waits("require(\"backstitch\").statusline() == \"⟲ t5\"");
    nvim.ex("Backstitch rewind t5");
    nvim.screen.shows("restore everything");
    nvim.screen.keys("\r");
    nvim.screen.shows("Rewound: 1 file");
    assert_eq!(nvim.lines()[0], "one");
    nvim.waits("(_G.heard or \"\"):match(\"BackstitchRewind\") ~= nil");
}
