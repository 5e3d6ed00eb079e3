//! Parts of the package besides the code: the help, the ways to install it, `:checkhealth`.

use std::fs;

use super::rig::{Neovim, configure, plugin, world};
use crate::editors::screen::installed;
use crate::support::finish;
use crate::support::scenarios::two_turns_in_neovim;
use backstitch_protocol::REWIND_LENS;

/// The help matches the code's own documentation, and its tags are complete.
#[test]
fn the_help_matches_the_code() {
    let Some(program) = installed("the_help_matches_the_code", "nvim") else {
        return;
    };
    let world = world(&[("a", "")]);
    let script = plugin().join("doc/generate.lua");
    let mut check = world.command(&program);
    check.arg("-l").arg(script).arg("--check");
    finish(&mut check, b"").expect_code(0);
    let doc = world.home.join("doc");
    fs::create_dir(&doc).expect("a directory");
    let text = fs::read_to_string(plugin().join("doc/backstitch.txt")).expect("a help");
    fs::write(doc.join("backstitch.txt"), &text).expect("written");
    let mut tags = world.command(&program);
    let command = format!("helptags {}", doc.display());
    tags.args(["--clean", "--headless", "-c", &command, "-c", "q"]);
    let output = finish(&mut tags, b"").expect_code(0);
    assert_eq!(output.stderr, "", "{output}");
    let known = fs::read_to_string(doc.join("tags")).expect("tags");
    // shipped, since not every package manager generates them
    let shipped = fs::read_to_string(plugin().join("doc/tags")).expect("tags");
    assert_eq!(known, shipped, "nvim -l doc/generate.lua renews them");
    // every reference to its own tags has a target
    for part in text.split('|').skip(1).step_by(2) {
        let is_own =
            part.to_lowercase().contains("backstitch") && !part.contains(char::is_whitespace);
        let is_known = known
            .lines()
            .any(|line| line.split('\t').next() == Some(part));
        assert!(!is_own || is_known, "|{part}|");
    }
}

#[test]
fn checkhealth_reports_the_installation() {
    let world = two_turns_in_neovim();
    let Some(mut nvim) = Neovim::start(&world, "plugin-health", &["src/a.txt"]) else {
        return;
    };
    nvim.is_attached();
    nvim.ex("checkhealth backstitch");
    nvim.screen.shows("nothing wrong");
    let text = nvim.lines().join("\n");
    // without an agent's hooks nothing is recorded any longer
    assert_eq!(text.matches("WARNING").count(), 1, "{text}");
    assert!(text.contains("backstitch setup claude-code"), "{text}");
    world.ok(["setup", "claude-code"]);
    nvim.ex("bwipeout | checkhealth backstitch");
    nvim.screen.shows("recording is on");
    let text = nvim.lines().join("\n");
    for said in ["version 0.1", "with 1 buffer\n", "OK"] {
        assert!(text.contains(said), "{said} in {text}");
    }
    assert!(
        !text.contains("ERROR") && !text.contains("WARNING"),
        "{text}"
    );
}

/// Installs the plugin with Neovim's own package manager, as in the README, from a repository on this machine.
#[test]
fn vim_pack_installs_the_plugin() {
    let world = two_turns_in_neovim();
    let repository = world.home.join("backstitch");
    let copy = world
        .command("cp")
        .arg("-r")
        .arg(plugin())
        .arg(&world.home)
        .status();
    assert!(copy.expect("copied").success());
    fs::create_dir(&repository).expect("a directory");
    fs::rename(
        world.home.join("nvim-plugin"),
        repository.join("nvim-plugin"),
    )
    .expect("moved");
    for args in [
        &["init", "-q", "-b", "main"][..],
        &["add", "-A"],
        &["commit", "-q", "-m", "all"],
    ] {
        let status = world
            .command("git")
            .arg("-C")
            .arg(&repository)
            .args(args)
            .status();
        assert!(status.expect("git").success());
    }
    let readme = fs::read_to_string(plugin().join("README.md")).expect("a README");
    let code = readme
        .split("```lua\n")
        .nth(1)
        .and_then(|rest| rest.split("```").next());
    let code = code.expect("a way to install it");
    let source = "https://github.com/backstitch/backstitch";
    assert!(
        code.contains(source) && code.contains("vim.pack.add"),
        "{code}"
    );
    let here = format!("file://{}", repository.display());
    configure(
        &world,
        &code
            .replace(source, &here)
            .replace("load = ", "confirm = false, load = "),
    );
    let Some(mut nvim) = Neovim::plain(&world, "plugin-pack", &["src/a.txt"]) else {
        return;
    };
    nvim.screen.shows(REWIND_LENS);
    nvim.ex("help backstitch");
    nvim.screen.shows("No setup function needs to be");
}

/// Hides functions that Neovim 0.12 introduced from the plugin. Neovim itself still uses them.
const ONLY_0_11: &str = "
local function hide(module, names)
  local hidden, meta = {}, getmetatable(module) or {}
  for _, name in ipairs(names) do
    hidden[name], module[name] = module[name], nil
  end
  local index = meta.__index
  meta.__index = function(_, name)
    if hidden[name] then
      local asks = debug.getinfo(2, 'S').source
      return not asks:find('backstitch', 1, true) and hidden[name] or nil
    end
    return type(index) == 'function' and index(module, name) or type(index) == 'table' and index[name] or nil
  end
  setmetatable(module, meta)
end
hide(vim.lsp, { 'is_enabled', 'get_configs' })
hide(vim.lsp.codelens, { 'enable', 'is_enabled' })
hide(vim.fs, { 'ext' })
hide(vim.text, { 'diff' })
hide(vim, { 'pack', 'net', 'pos', 'range' })
local has = vim.fn.has
vim.fn.has = function(what)
  return what == 'nvim-0.12' and 0 or has(what)
end";

/// A stand-in for Neovim 0.11, where lenses are drawn on request: functions that it lacks are not called.
#[test]
fn nothing_newer_than_neovim_0_11_is_needed() {
    let world = two_turns_in_neovim();
    configure(&world, ONLY_0_11);
    let Some(mut nvim) = Neovim::start(&world, "plugin-0-11", &["src/a.txt"]) else {
        return;
    };
    nvim.screen.shows(REWIND_LENS);
    nvim.ex("Backstitch rewind t1");
    nvim.screen.shows("restore everything");
    nvim.screen.keys("d");
    nvim.screen.shows("+gone");
    nvim.screen.keys("q");
    nvim.screen.shows("restore everything");
    nvim.screen.keys("\r");
    nvim.screen.shows("Rewound: 3 files");
    nvim.ex("Backstitch undo");
    nvim.screen.shows("Undo the rewind to before “make it two”");
    nvim.screen.keys("\r");
    nvim.screen.shows("Undone: 3 files");
    nvim.ex("Backstitch diff t1");
    nvim.waits("require(\"backstitch.review\").of(vim.fn.bufnr()) ~= nil");
    nvim.ex("edit new.txt");
    nvim.ex("checkhealth backstitch");
    nvim.screen
        .shows("lenses refresh by themselves only in 0.12");
}
