//! Every failure is one clear line, and nothing is lost.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use super::rig::{Neovim, configure, plugin};
use crate::editors::screen::installed;
use crate::support::scenarios::two_turns_in_neovim;
use crate::support::{World, binary, finish};

/// Creates a program next to the real one that replaces it.
fn stand_in(world: &World, script: &str) -> String {
    let path = world.home.join("backstitch");
    fs::write(&path, format!("#!/bin/sh\n{script}\n")).expect("written");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("a program");
    path.to_string_lossy().into_owned()
}

#[test]
fn a_missing_binary_is_reported_once() {
    let world = two_turns_in_neovim();
    configure(
        &world,
        "vim.g.backstitch = { cmd = { '/nowhere/backstitch', 'lsp' } }",
    );
    let Some(mut nvim) = Neovim::start(&world, "plugin-missing", &["src/a.txt"]) else {
        return;
    };
    nvim.screen
        .shows("'/nowhere/backstitch' is not an executable.");
    // the next step does not fit into the line, and no key is asked for
    nvim.says("Install it (cargo install --path server, in a clone), or");
    nvim.ex("messages clear");
    nvim.ex("edit new.txt");
    nvim.waits("vim.fn.bufname() == \"new.txt\"");
    let messages = nvim.lua("vim.fn.execute(\"messages\")").to_string();
    assert!(!messages.contains("is not an executable"), "{messages}");
    // a command by the user repeats the message
    nvim.ex("Backstitch log");
    nvim.screen.shows("is not an executable.");
}

#[test]
fn an_old_server_is_named() {
    let world = two_turns_in_neovim();
    let real = binary::path().display().to_string();
    let script = format!(
        "[ \"$1\" = lsp ] || exec {real} \"$@\"\n{real} \"$@\" | perl -e '$| = 1; while (sysread STDIN, $_, 65536) {{ \
         s/\"version\":\"[0-9.]*\"/\"version\":\"0.0.1\"/; print }}'"
    );
    let program = stand_in(&world, &script);
    configure(
        &world,
        &format!("vim.g.backstitch = {{ cmd = {{ '{program}', 'lsp' }} }}"),
    );
    let Some(nvim) = Neovim::start(&world, "plugin-old", &["src/a.txt"]) else {
        return;
    };
    nvim.says("is version 0.0.1; this plugin needs 0.1.0 or newer.");
    nvim.waits("#vim.lsp.get_clients({ name = \"backstitch\" }) == 0");
}

#[test]
fn an_old_neovim_is_refused_with_the_reason() {
    let Some(program) = installed("an_old_neovim_is_refused_with_the_reason", "nvim") else {
        return;
    };
    let world = two_turns_in_neovim();
    let mut command = world.command(program);
    let rtp = format!("set rtp^={}", plugin().display());
    let old = "lua vim.fn.has = function() return 0 end";
    let there = "lua io.stderr:write(' exists: ' .. vim.fn.exists(':Backstitch'))";
    let args = [
        "--clean",
        "--headless",
        "--cmd",
        &rtp,
        "--cmd",
        old,
        "-c",
        there,
        "-c",
        "q",
    ];
    let said = finish(command.args(args), b"").stderr;
    assert!(
        said.ends_with("backstitch: needs Neovim 0.11 or newer exists: 0"),
        "{said}"
    );
}

#[test]
fn a_server_that_dies_is_restarted() {
    let world = two_turns_in_neovim();
    let Some(mut nvim) = Neovim::start(&world, "plugin-dies", &["src/a.txt"]) else {
        return;
    };
    nvim.is_attached();
    let first = nvim.server();
    nvim.lua(&format!("vim.uv.kill({first}, 9) or 0"));
    // Neovim's own message, which must be confirmed
    nvim.screen.shows("quit with exit code");
    nvim.screen.keys("\r");
    nvim.is_attached();
    assert_ne!(nvim.server(), first);
    // and the new server knows the open documents
    nvim.waits("require(\"backstitch\").statusline() == \"⟲ t2\"");
}

#[test]
fn wrong_options_are_named_and_the_rest_applies() {
    let world = two_turns_in_neovim();
    configure(
        &world,
        "vim.g.backstitch = { timeline = { position = 'up', size = 40, keys = { close = 5 } }, colour = 1,
            diff = { signs = 'yes' }, blame = { delay = -5 } }",
    );
    let Some(nvim) = Neovim::start(&world, "plugin-options", &["src/a.txt"]) else {
        return;
    };
    nvim.is_attached();
    let problems = nvim
        .lua("require(\"backstitch.config\").problems")
        .to_string();
    for said in [
        "timeline.position is \\\"up\\\": it must be one of left, right, below, tab",
        "colour is not an option",
        "timeline.keys.close is 5: it must be a string or false",
        "blame.delay is -5: it must be a whole number, 0 or more",
        "diff.signs is a string: it must be a boolean",
    ] {
        assert!(problems.contains(said), "{said} in {problems}");
    }
    assert_eq!(
        nvim.lua("require(\"backstitch.config\").get().timeline.size"),
        40
    );
}

#[test]
fn a_damaged_store_is_a_one_line_error() {
    let world = two_turns_in_neovim();
    let store = world.store();
    for beside in ["store.db-wal", "store.db-shm"] {
        fs::remove_file(store.join(beside)).ok();
    }
    fs::write(store.join("store.db"), vec![b'x'; 8192]).expect("written");
    let Some(mut nvim) = Neovim::start(&world, "plugin-broken", &["new.txt"]) else {
        return;
    };
    nvim.is_attached();
    nvim.ex("Backstitch log");
    nvim.screen.shows("backstitch: ");
    nvim.says("file is not a database");
    assert_eq!(nvim.lines(), ["new"]);
}

/// A home directory is never a workspace.
#[test]
fn a_refused_workspace_is_a_one_line_error() {
    let world = two_turns_in_neovim();
    let Some(mut nvim) = Neovim::start(&world, "plugin-refused", &["src/a.txt"]) else {
        return;
    };
    nvim.is_attached();
    fs::write(world.home.join("mine.txt"), "mine\n").expect("written");
    nvim.ex("cd ~ | edit mine.txt");
    nvim.waits("vim.fn.expand(\"%:t\") == \"mine.txt\"");
    nvim.ex("Backstitch checkpoint");
    nvim.says("is too wide to be a workspace by itself. Open a directory below");
    assert_eq!(nvim.lines(), ["mine"]);
}

#[test]
fn a_server_that_keeps_dying_is_not_restarted() {
    let world = two_turns_in_neovim();
    let program = stand_in(&world, "exit 3");
    configure(
        &world,
        &format!(
            "vim.g.backstitch = {{ cmd = {{ '{program}', 'lsp' }} }}
            vim.lsp.log.set_level('off')
            said = {{}}
            vim.notify = function(text) table.insert(said, text) end"
        ),
    );
    let Some(mut nvim) = Neovim::start(&world, "plugin-left-alone", &["src/a.txt"]) else {
        return;
    };
    let said = |text: &str| format!("table.concat(said, \" \"):find(\"{text}\", 1, true) ~= nil");
    nvim.waits(&said("6 times within 3 minutes and is not restarted"));
    nvim.ex("lua said = {}");
    nvim.ex("write");
    nvim.ex("Backstitch log");
    nvim.waits(&said(
        "is not restarted. :Backstitch restart starts it again",
    ));
    assert_eq!(nvim.lua("#said"), 1, "{}", nvim.lua("said"));
}

/// Older versions stored kept changes there.
#[test]
fn an_old_file_of_kept_changes_is_left_alone() {
    let world = two_turns_in_neovim();
    let state = world.state.join("nvim/backstitch");
    fs::create_dir_all(&state).expect("a directory");
    let old = "{\"a\": [1], \"b\": {\"keys\": []}, \"c\": 7}";
    fs::write(state.join("kept.json"), old).expect("written");
    let Some(mut nvim) = Neovim::start(&world, "plugin-odd", &["src/a.txt"]) else {
        return;
    };
    nvim.is_attached();
    nvim.ex("Backstitch diff t1");
    nvim.screen.shows("2 changes since t1");
    nvim.ex("Backstitch next");
    nvim.screen.shows("change 1 of 2");
    nvim.ex("Backstitch keep");
    nvim.screen
        .until("kept", |screen| !screen.contains("two\n"));
    let kept = fs::read_to_string(state.join("kept.json"));
    assert_eq!(kept.expect("the old file"), old);
}
