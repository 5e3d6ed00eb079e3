//! Servers of the plugin: files outside every repository, nested repositories, servers that stop slowly or never
//! start.

use std::fs;

use backstitch_protocol::REWIND_LENS;

use serde_json::json;

use super::rig::{self, Neovim, configure};
use crate::support::finish;
use crate::support::scenarios::two_turns_in_neovim;

const CLIENTS: &str = "vim.lsp.get_clients({ name = \"backstitch\" })";

#[test]
fn a_file_outside_every_repository_is_its_own_workspace() {
    let world = two_turns_in_neovim();
    let outside = world.home.join("notes");
    fs::create_dir(&outside).expect("a directory");
    fs::write(outside.join("n.txt"), "note\n").expect("written");
    let file = outside.join("n.txt").display().to_string();
    // requested before the server is there
    let args = [&file, "-c", "Backstitch checkpoint early"];
    let Some(mut nvim) = Neovim::start(&world, "plugin-outside", &args) else {
        return;
    };
    nvim.screen.shows("backstitch: checkpoint c");
    assert!(!world.ok(["log"]).stdout.contains("early"));
    nvim.is_attached();
    nvim.waits("vim.startswith(require(\"backstitch\").statusline(), \"⟲ c\")");
    let completed = nvim.lua("vim.fn.getcompletion(\"Backstitch rewind \", \"cmdline\")");
    assert!(completed.to_string().contains("\"c1\""), "{completed}");
    assert!(
        !nvim.messages().contains("traceback"),
        "{}",
        nvim.messages()
    );
}

#[test]
fn a_repository_in_a_repository_has_one_server() {
    let world = two_turns_in_neovim();
    let inner = world.root.join("inner");
    finish(world.command("git").args(["init", "-q"]).arg(&inner), b"").expect_code(0);
    fs::write(inner.join("s.txt"), "s\n").expect("written");
    let Some(mut nvim) = Neovim::start(&world, "plugin-inner", &["inner/s.txt"]) else {
        return;
    };
    nvim.is_attached();
    nvim.ex("Backstitch");
    nvim.screen.shows("“make it two”");
    assert_eq!(nvim.lua(&format!("#{CLIENTS}")), 1);
}

/// S4-024: A timeline without any file: its server is restarted automatically, and shows what happened meanwhile.
#[test]
fn a_server_without_a_file_is_restarted() {
    let world = two_turns_in_neovim();
    let Some(mut nvim) = Neovim::start(&world, "plugin-bare", &[]) else {
        return;
    };
    nvim.ex("Backstitch");
    nvim.screen.shows("● Edit src/a.txt");
    let first = nvim.server();
    nvim.lua(&format!("vim.uv.kill({first}, 9) or 0"));
    let mut agent = world.agent();
    agent.prompt("while nobody looks");
    agent.stop();
    nvim.screen.shows("quit with exit code");
    nvim.screen.keys("\r");
    nvim.screen.shows("“while nobody looks”");
    assert_ne!(nvim.server(), first);
}

#[test]
fn a_server_that_never_starts_can_be_replaced() {
    let world = two_turns_in_neovim();
    configure(
        &world,
        "vim.g.backstitch = { cmd = { 'sleep', '300' } }
        vim.o.messagesopt = 'wait:0,history:100'",
    );
    let Some(mut nvim) = Neovim::start(&world, "plugin-never", &["src/a.txt"]) else {
        return;
    };
    nvim.waits("#vim.lsp.get_clients({ name = \"backstitch\", _uninitialized = true }) == 1");
    nvim.ex("lua vim.g.backstitch = nil; require('backstitch').setup({ settings = { codeLens = { rewind = false } } })");
    nvim.is_attached();
    let set = format!("{CLIENTS}[1].config.settings.backstitch.codeLens");
    assert_eq!(nvim.lua(&set)["rewind"], false);
    // options that are not named again have their defaults
    nvim.ex("lua require('backstitch').setup({})");
    nvim.waits(&format!("{CLIENTS}[1] and {set} == nil"));
    nvim.is_attached();
}

#[test]
fn a_server_that_hangs_is_restarted() {
    let world = two_turns_in_neovim();
    let Some(mut nvim) = Neovim::start(&world, "plugin-hangs", &["src/a.txt"]) else {
        return;
    };
    nvim.is_attached();
    let first = nvim.lua(&format!("{CLIENTS}[1].id"));
    nvim.while_it_thinks(|nvim| {
        nvim.ex("Backstitch restart");
        // asked to exit, and then killed
        nvim.waits(&format!("#{CLIENTS} == 0 or {CLIENTS}[1]:is_stopped()"));
        nvim.lua("vim.wait(3500, function() return false end)");
    });
    nvim.waits(&format!("#{CLIENTS} == 1 and {CLIENTS}[1].id ~= {first}"));
    nvim.is_attached();
    nvim.screen.shows(REWIND_LENS);
}

/// A workflow's problems are Neovim's diagnostics: they come with a typed key, in any file type, and go with the next one.
#[test]
fn problems_of_a_workflow_are_diagnostics() {
    let file = ".github/workflows/ci.yml";
    let text =
        "on: push\njobs:\n  build:\n    runs-on: ubuntu-latest\n    steps:\n      - run: make\n";
    let world = rig::world(&[(file, text)]);
    let Some(mut nvim) = Neovim::start(&world, "plugin-workflow-problems", &[file]) else {
        return;
    };
    nvim.is_attached();
    nvim.screen.keys("5G^cwstepz\x1b");
    nvim.waits("#vim.diagnostic.get(0) > 0");
    let first = nvim.lua("vim.diagnostic.get(0)[1]");
    assert_eq!(first["message"], "Unexpected value 'stepz'", "{first}");
    assert_eq!(
        (&first["lnum"], &first["col"], &first["end_col"]),
        (&json!(4), &json!(4), &json!(9))
    );
    assert_eq!(first["source"], "backstitch");
    nvim.ex("lua vim.diagnostic.open_float()");
    nvim.screen.shows("Unexpected value 'stepz'");
    nvim.screen.keys("5G^cwsteps\x1b");
    nvim.waits("#vim.diagnostic.get(0) == 0");
}
