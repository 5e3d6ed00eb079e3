//! CI jobs in Neovim: the parts that nvim-dap gets, nvim-dap itself where it is, and a terminal without it.

use std::env;
use std::path::PathBuf;

use serde_json::json;

use super::rig::{self, Neovim};
use crate::support::World;

const WORKFLOW: &str = "on: push
jobs:
  build:
    runs-on: ubuntu-latest
    steps:
      - name: One
        run: echo one >> log; echo A=1 >> $GITHUB_ENV
      - name: Two
        run: echo two >> log; test -f mended
      - name: Three
        run: echo three >> log
  lint:
    runs-on: ubuntu-latest
    steps:
      - run: echo all is tidy
";

const FILE: &str = ".github/workflows/ci.yml";

/// A stand-in for nvim-dap, which keeps what it gets.
const DOUBLE: &str = "
package.preload.dap = function()
  local dap = { adapters = {}, configurations = {}, providers = { configs = {} }, repl = {} }
  dap.run = function(config, options) _G.ran = { config, options } end
  dap.repl.open = function(options) _G.console = options end
  return dap
end";

fn world() -> World {
    rig::world(&[(FILE, WORKFLOW), ("a.txt", "")])
}

/// nvim-dap has the adapter, and the jobs of a workflow with that of the cursor first, once a workflow is opened.
#[test]
fn nvim_dap_gets_the_adapter_and_the_jobs() {
    let world = world();
    rig::configure(&world, DOUBLE);
    let Some(mut nvim) = Neovim::start(&world, "plugin-jobs", &["a.txt"]) else {
        return;
    };
    nvim.is_attached();
    assert_eq!(
        nvim.lua("package.loaded.dap == nil"),
        true,
        "it is not loaded for other files"
    );
    nvim.ex(&format!("edit +7 {FILE}"));
    nvim.waits("package.loaded.dap ~= nil and next(package.loaded.dap.adapters) ~= nil");
    let names = "vim.tbl_map(function(one) return one.name end, require('dap').providers.configs.backstitch(vim.fn.bufnr()))";
    assert_eq!(nvim.lua(names), json!(["ci.yml: build", "ci.yml: lint"]));
    nvim.ex("14");
    assert_eq!(nvim.lua(names), json!(["ci.yml: lint", "ci.yml: build"]));

    nvim.ex("Backstitch job");
    nvim.waits("_G.console ~= nil");
    let workflow = world.root.join(FILE);
    let lint = json!({
        "type": "backstitch-job", "request": "launch", "name": "ci.yml: lint", "workflow": workflow, "job": "lint",
    });
    assert_eq!(
        nvim.lua("_G.ran"),
        json!([lint, {"filetype": "yaml"}]),
        "and nothing else is in it"
    );
    let adapter = nvim.lua(
        "(function() local got; require('dap').adapters['backstitch-job'](function(one) got = one end, _G.ran[1]) return got end)()",
    );
    assert_eq!(adapter["type"], "executable");
    assert_eq!(adapter["args"], json!(["dap"]));
    assert_eq!(adapter["options"]["cwd"], json!(world.root));
    let command = adapter["command"].as_str().expect("a program");
    assert!(command.ends_with("/backstitch"), "{command}");

    nvim.ex("Backstitch job debug build");
    nvim.waits("_G.ran[1].job == 'build'");
    let completions =
        |line: &str| format!("vim.fn.getcompletion('Backstitch job {line}', 'cmdline')");
    assert_eq!(
        nvim.lua(&completions("")),
        json!(["debug", "run", "attach"])
    );
    assert_eq!(nvim.lua(&completions("run ")), json!(["build", "lint"]));
    nvim.ex("Backstitch job debug nope");
    nvim.says("there is no job 'nope' in this workflow");
    nvim.ex("Backstitch job attach");
    nvim.says("no run can be continued");
    nvim.ex("checkhealth backstitch");
    nvim.screen.shows("CI jobs");
    let health = nvim.lines().join("\n");
    assert!(
        health.contains("nvim-dap has the adapter 'backstitch-job'"),
        "{health}"
    );
    nvim.ex("bwipeout");

    // an older nvim-dap has no providers
    let old = "(function() require('dap').providers = nil; require('backstitch.dap').register(); require('backstitch.dap').register();\
               local all = require('dap').configurations.yaml; return { #all, all[1].type, all[1].job() } end)()";
    assert_eq!(nvim.lua(old), json!([1, "backstitch-job", "lint"]));

    nvim.ex("edit a.txt");
    nvim.ex("Backstitch job");
    nvim.says("this buffer is not a workflow");
    world.write(FILE, WORKFLOW.replace("runs-on", "runs-in"));
    nvim.ex(&format!("edit {FILE}"));
    nvim.ex("Backstitch job");
    nvim.says("line 4: ");
}

/// Without nvim-dap the plugin says how to get it, and offers the same in a terminal window.
#[test]
fn without_nvim_dap_a_terminal_steps_through_a_job() {
    let world = world();
    let Some(mut nvim) = Neovim::start(&world, "plugin-jobs-terminal", &["+7", FILE]) else {
        return;
    };
    nvim.is_attached();
    nvim.ex("Backstitch job");
    nvim.screen.shows("nvim-dap is not installed (https://");
    nvim.screen.keys("2\r");
    nvim.screen.shows("vim.pack.add");
    nvim.ex("close | Backstitch job");
    nvim.screen.shows("nvim-dap is not installed");
    nvim.screen.keys("1\r");
    nvim.screen.shows("before step 1 of 3: One");
    nvim.screen.keys("n\r");
    nvim.screen.shows("before step 2 of 3: Two");
    nvim.screen.keys("b\r");
    nvim.screen.shows("Restored checkpoint [0]");
    nvim.screen.keys("q\r");
    nvim.screen.shows("[Process exited 1]");
    nvim.screen.keys("\x1b\r");
    nvim.waits("vim.fn.winnr('$') == 1");
    nvim.ex("Backstitch job run lint");
    nvim.screen.shows("all is tidy");
    nvim.screen.shows("[Process exited 0]");
}

/// The directory of nvim-dap itself. No registry has it, so its absence is not a failure.
fn nvim_dap() -> Option<PathBuf> {
    let dir = env::var_os("BACKSTITCH_TEST_NVIM_DAP").map(PathBuf::from);
    let dir = dir.filter(|dir| dir.join("lua/dap.lua").is_file());
    if dir.is_none() {
        eprintln!("SKIPPED: nvim::jobs: BACKSTITCH_TEST_NVIM_DAP names no directory of nvim-dap");
    }
    dir
}

/// Keys of a user's own choice.
const KEYS: &str = "
for key, act in pairs({ ['<F6>'] = 'terminate', ['<F8>'] = 'reverse_continue', ['<F9>'] = 'step_back', ['<F10>'] = 'step_over' }) do
  vim.keymap.set('n', key, function() require('dap')[act]() end)
end";

const F6: &str = "\x1b[17~";
const F8: &str = "\x1b[19~";
const F9: &str = "\x1b[20~";
const F10: &str = "\x1b[21~";

/// S1-074: an unmodified client (nvim-dap) works, with keys of a user's own choice: steps, a count before a step back, a refusal.
#[test]
fn s1_074_nvim_dap_steps_back_with_keys_of_the_user() {
    let Some(dap) = nvim_dap() else {
        return;
    };
    let world = world();
    rig::configure(
        &world,
        &format!("vim.opt.runtimepath:append('{}')\n{KEYS}", dap.display()),
    );
    let Some(mut nvim) = Neovim::start(&world, "plugin-nvim-dap", &["+7", FILE]) else {
        return;
    };
    nvim.is_attached();
    // the line of the step where the job stands, as nvim-dap sees it
    let stands = |line: u32| {
        format!(
            "(function() local s = require('dap').session(); return s and s.stopped_thread_id and (s.current_frame or {{}}).line == {line} end)()"
        )
    };
    nvim.ex("Backstitch job");
    nvim.waits(&stands(6));
    nvim.screen.keys(F9);
    nvim.says("No checkpoints are available");
    // a refusal does not make nvim-dap believe that the job runs
    nvim.waits(&stands(6));
    nvim.screen.keys(F10);
    nvim.waits(&stands(8));
    nvim.screen.keys(F10);
    let failed = "(function() local s = require('dap').session(); return s and s.stopped_thread_id and s.current_frame.name:find('failed') ~= nil end)()";
    nvim.waits(failed);
    nvim.screen.keys(&format!("2{F9}"));
    nvim.waits(&stands(6));
    nvim.screen.shows("Restored checkpoint [0]");
    nvim.screen.keys(F10);
    nvim.waits(&stands(8));
    let heard = "(function() require('dap').listeners.after.evaluate.test = function() _G.evaluated = true end return true end)()";
    nvim.lua(heard);
    nvim.lua("require('dap').repl.execute('!touch mended') == nil");
    nvim.waits("_G.evaluated");
    nvim.screen.keys(F10);
    nvim.waits(&stands(10));
    nvim.screen.keys(F8);
    nvim.waits(&stands(6));
    nvim.screen.keys(F10);
    nvim.waits(&stands(8));
    nvim.lua("require('dap').repl.execute(':back') == nil");
    nvim.waits(&stands(6));
    nvim.screen.keys(F6);
    nvim.waits("require('dap').session() == nil");
    let runs = || world.json(["job", "list", "--runs"])["runs"][0]["status"].clone();
    crate::jobs::back::stepped::until("the job is cancelled, not cut off", || {
        runs() == "cancelled"
    });
}
