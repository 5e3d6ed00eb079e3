//! Windows and their buffers: the timeline among other windows, tabs and sessions, and files without lines.

use super::rig::{Neovim, configure, world};

use crate::support::scenarios::two_turns_in_neovim;

const WINDOWS: &str = "vim.fn.winnr('$')";

/// A file that is opened from the timeline replaces a list of files, such as those of netrw and oil.
#[test]
fn a_file_of_the_timeline_replaces_a_list_of_files() {
    let world = two_turns_in_neovim();
    let Some(mut nvim) = Neovim::start(&world, "plugin-lists", &["src/a.txt"]) else {
        return;
    };
    nvim.is_attached();
    for list in [
        "edit .",
        "enew | setlocal buftype=acwrite | file oil:///src",
    ] {
        nvim.ex(list);
        nvim.waits("vim.fn.bufname() ~= 'src/a.txt'");
        nvim.ex("Backstitch");
        nvim.waits("vim.bo.filetype == 'backstitch' and vim.fn.search('● Edit', 'nw') > 0");
        nvim.screen.keys("zR/M src.a.txt\r\r");
        nvim.waits("vim.fn.bufname() == 'src/a.txt'");
        assert_eq!(nvim.lua(WINDOWS), 2, "{list}");
        nvim.ex("only");
        nvim.waits(&format!("{WINDOWS} == 1"));
    }
}

/// The timeline opens in the current tab, stays in its window, and comes back with a session.
#[test]
fn the_timeline_belongs_to_its_tab_and_its_session() {
    let world = two_turns_in_neovim();
    configure(&world, "vim.g.backstitch = { codelens = false }");
    let session = world.home.join("session.vim").display().to_string();
    let Some(mut nvim) = Neovim::start(&world, "plugin-tabs", &["src/a.txt"]) else {
        return;
    };
    nvim.is_attached();
    nvim.ex("Backstitch");
    nvim.screen.shows("“and five”");
    nvim.ex("tabnew");
    nvim.waits("vim.fn.tabpagenr() == 2");
    nvim.ex("Backstitch");
    nvim.waits("vim.bo.filetype == 'backstitch'");
    assert_eq!(nvim.lua("vim.fn.tabpagenr()"), 2);
    assert_eq!(nvim.lua(WINDOWS), 2);
    nvim.screen.shows("work timeline");
    nvim.ex("edit new.txt");
    nvim.screen.shows("'winfixbuf' is enabled");
    nvim.ex(&format!("mksession {session}"));
    nvim.waits(&format!("vim.uv.fs_stat('{session}') ~= nil"));
    drop(nvim);
    let Some(mut nvim) = Neovim::start(&world, "plugin-session", &["-S", &session]) else {
        return;
    };
    let timelines = "#vim.tbl_filter(function(w) return vim.bo[vim.api.nvim_win_get_buf(w)].filetype == 'backstitch' end, vim.api.nvim_list_wins())";
    nvim.waits(&format!("{timelines} == 2"));
    nvim.screen.shows("“and five”");
    assert!(!nvim.messages().contains("E95"), "{}", nvim.messages());
    assert_eq!(nvim.lua("#vim.api.nvim_list_bufs()"), 3);
}

/// The timeline stays when its buffer is read again, and shows nothing of the user's 'winbar'.
#[test]
fn the_timeline_keeps_its_rows_and_has_no_winbar() {
    let world = two_turns_in_neovim();
    configure(&world, "vim.o.winbar = 'crumbs of %f'");
    let Some(mut nvim) = Neovim::start(&world, "plugin-edit", &["src/a.txt"]) else {
        return;
    };
    nvim.is_attached();
    nvim.screen.shows("crumbs of src/a.txt");
    nvim.ex("Backstitch");
    let has_rows = "vim.bo.filetype == 'backstitch' and vim.fn.search('and five', 'nw') > 0";
    nvim.waits(has_rows);
    nvim.screen.until("no crumbs", |screen| {
        !screen.contains("crumbs of backstitch")
    });
    nvim.ex("edit | let g:edited = 1");
    nvim.waits("vim.g.edited == 1");
    nvim.waits(has_rows);
    assert_eq!(nvim.lua("vim.bo.modifiable"), false);
    // only those with some words
    nvim.ex("Backstitch log /make two");
    nvim.screen.shows("Only “make two”");
    nvim.waits("vim.fn.search('make it two', 'nw') > 0 and vim.fn.search('and five', 'nw') == 0");
}

/// A plan that is longer than a small screen: its keys are in the border.
#[test]
fn the_keys_of_a_plan_are_in_sight_on_a_small_screen() {
    let world = two_turns_in_neovim();
    let Some(mut nvim) = Neovim::start(&world, "plugin-small", &["src/a.txt"]) else {
        return;
    };
    nvim.is_attached();
    nvim.ex("set lines=15 columns=60");
    nvim.ex("Backstitch rewind t1");
    nvim.screen
        .shows("<CR> rewind · d changes · e everything · q cancel");
    nvim.screen.keys("q");
    nvim.ex("set lines=30 columns=110");
    nvim.ex("Backstitch rewind t1");
    nvim.screen.shows("change nothing");
    nvim.screen
        .until("no footer", |screen| !screen.contains("q cancel"));
}

/// A workspace without a history.
#[test]
fn an_empty_timeline_says_when_checkpoints_appear() {
    let world = world(&[("a.txt", "one\n")]);
    let Some(mut nvim) = Neovim::start(&world, "plugin-empty", &["a.txt"]) else {
        return;
    };
    nvim.is_attached();
    nvim.ex("Backstitch");
    nvim.screen
        .shows("No checkpoints yet: an agent's work appears here.");
    world.turn("make it two", |agent| {
        agent.edit("a.txt", "one", "two");
    });
    nvim.screen.shows("“make it two”");
}

/// Without a line for messages, no key is asked for.
#[test]
fn no_key_is_asked_for_where_messages_have_no_line() {
    let world = two_turns_in_neovim();
    configure(&world, "vim.o.cmdheight = 0");
    let Some(mut nvim) = Neovim::start(&world, "plugin-no-line", &["src/a.txt"]) else {
        return;
    };
    nvim.is_attached();
    nvim.ex("Backstitch diff t1");
    nvim.waits("#((require('backstitch.review').of() or {}).hunks or {}) == 2");
    nvim.ex("Backstitch next");
    nvim.waits("vim.fn.line('.') == 2");
    nvim.ex("Backstitch next");
    nvim.waits("vim.fn.line('.') == 5");
    assert_eq!(nvim.lua("vim.api.nvim_get_mode().blocking"), false);
}

/// A binary file opens without a message, and a comparison says that it has changed.
#[test]
fn a_binary_file_has_no_lines_to_mark() {
    let world = world(&[("bin.dat", "\0abc\n"), ("a.txt", "one\n")]);
    let mut agent = world.agent();
    agent.prompt("mend `done` in ~/x for $5 & a < b!");
    agent.bash("printf '\\0xyz\\n' > bin.dat; echo two >> a.txt");
    agent.stop();
    let Some(mut nvim) = Neovim::start(&world, "plugin-binary", &["bin.dat"]) else {
        return;
    };
    nvim.is_attached();
    nvim.ex("Backstitch diff t1");
    nvim.screen.shows("bin.dat has changed since t1");
    assert!(!nvim.messages().contains("lenses"), "{}", nvim.messages());
    // a hover shows the prompt without backslashes
    nvim.ex("edit a.txt");
    nvim.is_attached();
    nvim.screen.keys("GK");
    nvim.screen.shows("“mend done in ~/x for $5 & a < b!”");
}

/// The changes of a plan name files without lines, each with the reason, beside the lines of the others.
#[test]
fn all_changes_of_a_plan_name_binary_files() {
    let world = world(&[
        ("bin.dat", "\0abc\n"),
        ("gone.dat", "\0gone\n"),
        (
            "old.dat",
            "\0 a file that is moved, and has some more bytes\n",
        ),
        ("a.txt", "one\n"),
        ("old.txt", "lines\nthat\nare\nmoved\n"),
        ("run.sh", "echo\n"),
    ]);
    world.turn("all at once", |agent| {
        agent.bash(
            "printf '\\0xyz\\n' > bin.dat; rm gone.dat; mv old.dat new.dat; printf '\\0' > made.dat; mv old.txt new.txt; \
             chmod +x run.sh; echo two >> a.txt; seq 400000 > large.txt; : > empty.txt",
        );
    });
    let Some(mut nvim) = Neovim::start(&world, "plugin-binary-plan", &["a.txt"]) else {
        return;
    };
    nvim.is_attached();
    nvim.ex("Backstitch rewind t1");
    nvim.screen.shows("show all changes");
    nvim.screen.keys("d");
    nvim.screen.shows("+++ a.txt");
    assert_eq!(
        nvim.lines(),
        [
            "--- a.txt",
            "+++ a.txt",
            "@@ -1,2 +1 @@",
            " one",
            "-two",
            "M bin.dat: binary",
            "D empty.txt: empty",
            "A gone.dat: binary",
            "D large.txt: too large to show",
            "D made.dat: binary",
            "R new.dat → old.dat: binary",
            "R new.txt → old.txt: only renamed",
            "T run.sh: permissions restored",
        ]
    );
    nvim.screen.keys("q");
    nvim.screen.shows("show all changes");
    nvim.screen.keys("\r");
    nvim.screen.shows("Rewound: 9 files");
    assert_eq!(
        std::fs::read(world.path("bin.dat")).expect("a file"),
        b"\0abc\n"
    );
}

/// A document has a name whose end says what it is: Neovim shows it in the label of a tab, with shortened directories. It is read
/// anew under that name, and a second document of the same name has a number.
#[test]
fn documents_have_names_that_can_be_read_in_a_tab() {
    let world = two_turns_in_neovim();
    configure(&world, "vim.g.backstitch = { codelens = false }");
    let Some(mut nvim) = Neovim::start(&world, "plugin-labels", &["src/a.txt"]) else {
        return;
    };
    nvim.is_attached();
    nvim.ex("tab split");
    nvim.ex("Backstitch diffsplit t1");
    nvim.waits("vim.fn.bufname():find('^backstitch://src/a.txt at c%d$') ~= nil");
    let label = |nvim: &Neovim<'_>| {
        let screen = nvim.screen.screen();
        screen.lines().next().expect("a row").trim_end().to_owned()
    };
    nvim.screen.until("the label of the older file", |screen| {
        screen.contains("b//s/a.txt at c")
    });
    let row = label(&nvim);
    assert!(
        row.contains("b//s/a.txt at c") && !row.contains('%'),
        "{row}"
    );
    let older = nvim.lines();
    nvim.ex("edit");
    assert_eq!(nvim.lines(), older);
    nvim.ex("q");
    nvim.ex("Backstitch changes t1 t2");
    nvim.screen.shows("b//changes t1..t2");
    let changes = nvim.lines();
    assert!(
        changes.contains(&"+++ b/src/a.txt".to_owned()),
        "{changes:?}"
    );
    nvim.ex("tab split");
    nvim.ex("Backstitch changes t1 t2");
    nvim.waits("vim.fn.bufname() == 'backstitch://changes t1..t2 (2)'");
    assert_eq!(nvim.lines(), changes);
    // the numbers are free again
    nvim.ex("tabonly | only | edit src/a.txt | Backstitch changes t1 t2");
    nvim.waits("vim.fn.bufname() == 'backstitch://changes t1..t2'");
    assert!(!nvim.messages().contains("no server has it"));
}
