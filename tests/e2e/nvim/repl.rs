//! The REPL of held calls in Neovim: transcript above, input below.

use std::fs;

use serde_json::json;

use super::rig::{self, Neovim, plugin};
use crate::control::{HeldHook, before, edit};
use crate::editors::picture::svg;
use crate::lsp::client::{Client, Editor};
use crate::repl::python::Program;

/// True in the input of a REPL that takes text.
const TAKES_INPUT: &str =
    "vim.api.nvim_get_mode().mode == 'i' and vim.fn.bufname():find('/input$') ~= nil";

/// S5-136…140: by keys alone, from the held call to a transcript that closes with it.
#[test]
fn a_repl_at_a_held_call() {
    let world = rig::world(&[("a.txt", "one\ntwo\nthree\n")]);
    let Some(mut nvim) = Neovim::start(&world, "plugin-repl", &["a.txt"]) else {
        return;
    };
    nvim.is_attached();
    let mut agent = world.agent();
    agent.session_start();
    agent.prompt("make it two");
    world.ok(["breakpoint", "add", "tool", "Edit"]);
    let input = edit(&world, "a.txt", "two", "2");
    let hook = HeldHook::start(&world, &before(&agent, "c1", "Edit", &input), 600);
    nvim.says("claude-code is held: Edit a.txt");
    nvim.ex("Backstitch repl");
    nvim.waits(TAKES_INPUT);
    nvim.screen.keys(".call.tool\r");
    nvim.screen.shows("> .call.tool");
    nvim.screen.shows("\"Edit\"");
    nvim.screen.keys(".call.input\n| .new_string\r");
    nvim.screen.shows("\"2\"");
    nvim.screen.keys(".oops | nothing\r");
    nvim.screen.shows("nothing");
    nvim.screen.keys("\x1b[A\x1b[A");
    nvim.waits("vim.fn.getline(1) == '.call.input' and vim.fn.getline(2) == '| .new_string'");
    let session = world.json(["repl", "list"])["sessions"][0]["id"]
        .as_str()
        .expect("an id")
        .to_owned();
    nvim.screen.is_like("repl", "> .call.tool");
    world.ok(["resume"]);
    hook.answer();
    nvim.screen.shows("-- closed: its pause was decided --");
    nvim.waits("vim.fn.bufname('%'):find('/input$') == nil");
    let shown = world.ok(["repl", "show", &session]).stdout;
    assert!(shown.contains("> .call.tool"), "{shown}");
    // the prompt, the tool and the age first, the id last
    nvim.ex("Backstitch repl list");
    nvim.screen.until("a row", |screen| {
        // the row may be broken at the edge
        let text: String = screen.lines().collect();
        let row = text.split_once("1: “make it two” · Edit · ");
        row.is_some_and(|(_, rest)| rest.contains(&format!(" · AGE · {session}")))
    });
}

const HOSTILE: &str = r#"import backstitch_debug as bs
bs.on()

class Evil:
    def __repr__(self):
        return "a\x1b]0;owned\x07\x1b[2J\nb\x9b\u202ec %{execute('let g:owned = 1')}"

def act(evil, **more):
    bs.pause("<b>%{execute('let g:owned = 1')}\x1b[2J\n")

bs.call(act, Evil(), **{"x\n\x1b[2J": "y\n\x1b[2J"})
"#;

/// S5-142: a second Neovim on the workspace joins the session, and shows each input of the first with its results, without a
/// key. Names and values of the program are text in both, in every list.
#[test]
fn a_second_window_follows_and_values_are_text() {
    let world = rig::world(&[("program.py", HOSTILE)]);
    world.ok(["checkpoint"]);
    let Some(mut first) = Neovim::start(&world, "plugin-repl-first", &["program.py"]) else {
        return;
    };
    first.is_attached();
    let program = Program::start(&world, HOSTILE);
    first.says("a python program is paused: <b>%{execute('let g:owned = 1')}");
    first.ex("Backstitch repl");
    first.waits(TAKES_INPUT);
    first.screen.keys("6 * 7\r");
    first.screen.shows("42");

    let Some(mut second) = Neovim::start(&world, "plugin-repl-second", &["program.py"]) else {
        return;
    };
    second.is_attached();
    second.ex("Backstitch repl");
    second.waits(TAKES_INPUT);
    second.screen.shows("> 6 * 7");
    let sessions = world.json(["repl", "list"]);
    assert_eq!(sessions["sessions"].as_array().map(Vec::len), Some(1));
    let id = sessions["sessions"][0]["id"].as_str().expect("an id");
    let name = format!("backstitch-repl://{id}");
    first.screen.keys("print(evil)\r");
    first.screen.keys("[evil, more]\r");
    let shown = [
        "> print(evil)",
        "a\u{fffd}]0;owned\u{fffd}\u{fffd}[2J",
        "b\u{fffd}\u{fffd}c %{execute('let g:owned = 1')}",
        "> [evil, more]",
    ];
    for nvim in [&mut first, &mut second] {
        nvim.screen.shows("> [evil, more]");
        let lines = format!("vim.api.nvim_buf_get_lines(vim.fn.bufnr('{name}'), 2, 6, false)");
        assert_eq!(nvim.lua(&lines), json!(shown));
    }
    // inputs of others are in the history, too
    second.screen.keys("\x1b[A");
    let input = "vim.api.nvim_get_current_line()";
    second.waits(&format!("{input} == '[evil, more]'"));
    second.screen.keys("\x1b[B");
    second.waits(&format!("{input} == ''"));
    first.screen.keys("\x1b");
    first.waits("vim.api.nvim_get_mode().mode == 'n'");
    first.ex("Backstitch stack");
    first.screen.shows("▶ act  program.py:9");
    first
        .screen
        .shows("execute('let g:owned = 1')} [2J program.py   <CR> source");
    first.screen.keys("q");
    first.ex("Backstitch calls");
    first
        .screen
        .shows("act(a ]0;owned [2J b  c %{execute('let g:owned = 1')}, x [2J='y");
    world.ok(["resume"]);
    for nvim in [&mut first, &mut second] {
        nvim.screen.shows("-- closed: its pause was decided --");
        assert_eq!(nvim.lua("vim.g.owned == nil"), true);
    }
    assert_eq!(program.end().0, 0);
}

const AGENT: &str = r#"import backstitch_debug as bs
bs.on()

def act(step, depth=0):
    note = f"step {step}"
    if depth < 3:
        return act(step, depth + 1)
    bs.pause("acting")
    return note

def plan(state):
    return bs.call(act, state["step"])

print(bs.call(plan, {"step": 7}))
"#;

/// S5-130, S5-134, S5-135, S5-141, S5-144…147, S5-149, S5-150: a paused program is marked in its buffer; its stack, its calls and its values
/// are lists, and lines of a buffer are evaluated. Its session has the reason and the end, and leads to the stack, though it
/// is over; the stack leads to the session and to the call.
#[test]
fn a_paused_program() {
    let world = rig::world(&[("program.py", AGENT)]);
    world.ok(["checkpoint"]);
    let Some(mut nvim) = Neovim::start(&world, "plugin-program", &["program.py"]) else {
        return;
    };
    nvim.is_attached();
    let program = Program::start(&world, AGENT);
    nvim.says("a python program is paused: acting program.py");
    let marks = "vim.api.nvim_buf_get_extmarks(vim.fn.bufnr('program.py'), vim.api.nvim_create_namespace('backstitch.held'), 0, -1, {})";
    nvim.waits(&format!("#{marks} == 1 and {marks}[1][2] == 7"));

    // the stack, with the lines of a frame on demand
    nvim.ex("Backstitch stack");
    nvim.screen.shows("· plan  program.py:12");
    nvim.screen.shows(">    8      bs.pause(\"acting\")");
    nvim.screen.keys("Gkk\tzt");
    nvim.screen
        .shows(">   12      return bs.call(act, state[\"step\"])");
    nvim.screen.is_like("stack", "· plan  program.py:12");
    nvim.screen.keys("\r");
    nvim.waits("vim.fn.bufname() == 'program.py' and vim.fn.line('.') == 12");
    // another list is shown in the same window, and its source in that of the file
    nvim.ex("Backstitch stack");
    nvim.waits("vim.fn.bufname() == 'backstitch-stack://p1'");
    nvim.ex("help | wincmd t | wincmd j");
    nvim.ex("Backstitch stack");
    nvim.waits("vim.fn.bufname() == 'backstitch-stack://p1' and vim.fn.winnr('$') == 3");
    nvim.screen.keys("gg\r");
    nvim.waits("vim.fn.bufname() == 'program.py' and vim.fn.winnr('$') == 3");
    nvim.ex("helpclose");
    nvim.ex("wincmd b");
    nvim.waits("vim.fn.bufname() == 'backstitch-stack://p1'");
    nvim.screen.keys("q");
    nvim.waits("vim.fn.winnr('$') == 1");
    nvim.ex("12");

    // a line of the buffer, without its indentation
    nvim.ex("5Backstitch eval");
    nvim.screen.shows("> note = f\"step {step}\"");
    nvim.waits("vim.fn.bufname() == 'program.py'");
    nvim.ex("Backstitch eval [note, {'a': [1, None]}]");
    nvim.screen.shows("['step 7', {'a': [1, None]}]");
    nvim.ex("Backstitch eval print('one\\n    two \\x1b[31m')");
    nvim.screen.shows("    two ");

    // a value, as its program described it
    nvim.ex("wincmd j");
    nvim.waits("vim.fn.bufname():find('^backstitch%-repl://[^/]*$') ~= nil");
    nvim.waits("vim.fn.getline('$') == '    two \u{fffd}[31m'");
    nvim.screen.keys("/^\\['step\rK");
    nvim.screen.shows("list, length 2, ");
    nvim.screen.shows("1: dict = {'a': [1, None]}");
    nvim.screen.keys("s");
    nvim.screen.shows("Save the bytes to:");
    nvim.screen.keys("value.pickle\r");
    nvim.says("Nobody has read them");
    assert!(world.exists("value.pickle"));

    // its calls, with the session at the inner one
    nvim.screen.keys("C");
    nvim.screen.shows("plan({'step': 7})  not over");
    nvim.screen.shows("act(7)  not over  REPL ");
    nvim.screen.keys("G\r");
    nvim.waits("vim.fn.bufname():find('^backstitch%-repl://.*/input$') ~= nil");

    world.ok(["resume"]);
    nvim.screen.shows("-- closed: its pause was decided --");
    nvim.waits(&format!("#{marks} == 0"));
    let (code, output, _) = program.end();
    assert_eq!((code, output.as_str()), (0, "step 7\n"));

    // the session says why and until when; its stack is over
    let title = "vim.wo.winbar:find('^ act · pause%(\"acting\"%) · python at p1 · %d+%-%d+%-%d+ %d+:%d+ to ') ~= nil";
    nvim.waits("vim.fn.bufname():find('^backstitch%-repl://[^/]*$') ~= nil");
    nvim.waits(title);
    nvim.screen.keys("S");
    nvim.screen.shows(" Stack of p1 act, which is over ");
    nvim.screen.shows("· act  program.py:8");
    nvim.screen.keys("G\r");
    nvim.waits("vim.fn.bufname() == 'backstitch-calls://'");
    nvim.waits("vim.api.nvim_get_current_line():find('act(7)', 1, true) ~= nil");
    nvim.screen.keys("q");
    nvim.ex("Backstitch stack p1");
    nvim.waits("vim.fn.bufname() == 'backstitch-stack://p1'");
    nvim.waits("vim.fn.getline(vim.fn.line('$') - 1):find('^REPL .* 3 lines, closed$') ~= nil");
    nvim.screen.keys("Gk\r");
    nvim.waits(title);

    let day = "status:closed from:2000-01-01 to:2000-01-02";
    nvim.ex(&format!("Backstitch repl list {day}"));
    nvim.screen.shows("no REPL session");
}

const SHOP: &str = r#"import backstitch_debug as bs
bs.on()

def plan(state):
    goal = state["goal"]
    steps = ["read the tests", "mend the price"]
    bs.pause("after planning")
    return steps

state = {"goal": "make the tests pass", "tries": 2}
print(plan(state))
"#;

/// `BACKSTITCH_RENEW_SCREENS=1` draws the picture of the documentation again.
#[test]
fn the_docs_show_a_repl() {
    let world = rig::world(&[("program.py", SHOP)]);
    world.ok(["checkpoint"]);
    rig::configure(
        &world,
        "vim.o.termguicolors = true
        vim.o.background = 'dark'
        vim.o.fillchars = 'eob: '
        vim.o.laststatus = 3
        vim.o.statusline = ' All'
        vim.g.backstitch = { codelens = false }",
    );
    let Some(mut nvim) = Neovim::start(&world, "plugin-repl-picture", &["program.py"]) else {
        return;
    };
    nvim.is_attached();
    let _program = Program::start(&world, SHOP);
    nvim.says("a python program is paused: after planning program.py");
    nvim.ex("Backstitch repl");
    nvim.waits(TAKES_INPUT);
    nvim.screen.keys("len(steps), goal\r");
    nvim.screen.shows("(2, 'make the tests pass')");
    nvim.screen
        .keys("steps.append(\"run them again\")\rsteps\r");
    nvim.screen
        .shows("['read the tests', 'mend the price', 'run them again']");
    nvim.screen.keys("[s for s in steps");
    nvim.screen.shows("[s for s in steps");
    nvim.screen.keys("\x1b");
    nvim.waits("vim.api.nvim_get_mode().mode == 'n'");
    nvim.ex("echo ''");
    // a changed screen needs a new picture
    nvim.screen.is_like("shown", "[s for s in steps");
    let path = plugin().join("repl.svg");
    if let Some(screen) = nvim.screen.renewed() {
        let label = "Neovim: a REPL at the line where a Python program is paused";
        fs::write(&path, svg(screen, label)).expect("written");
    }
    assert!(path.exists());
}

const DEEP: &str = r#"import backstitch_debug as bs
bs.on()

def down(n):
    if n > 0:
        return down(n - 1)
    bs.pause("deep")

down(197)
"#;

/// S5-039, S5-043, S5-044, S5-148: a stack of 199 frames is whole, and the list of sessions goes on to the oldest of a
/// thousand.
#[test]
fn a_deep_stack_and_many_sessions() {
    let world = rig::world(&[("program.py", DEEP)]);
    world.ok(["checkpoint"]);
    // takes the last row of each list: that of older sessions, as long as there is one
    rig::configure(
        &world,
        "lists = 0
        vim.ui.select = function(items, _, done)
          lists = lists + 1
          done(items[#items])
        end",
    );
    let Some(mut nvim) = Neovim::start(&world, "plugin-deep", &["program.py"]) else {
        return;
    };
    nvim.is_attached();
    let _program = Program::start(&world, DEEP);
    nvim.says("a python program is paused: deep program.py");
    let own = json!({ "panels": true, "notifications": true });
    let mut client = Client::with(&world, Editor::Vscode, &own);
    let ids: Vec<_> = (0..1000)
        .map(|_| {
            let started = client.ok("backstitch/repl/start", json!({ "pause": "p1" }));
            started["session"]["id"].as_str().expect("an id").to_owned()
        })
        .collect();
    nvim.ex("Backstitch repl list");
    nvim.waits(&format!(
        "vim.fn.bufnr('backstitch-repl://{}') > 0",
        ids[0].replace('.', "\\\\.")
    ));
    assert_eq!(nvim.lua("lists"), 20);
    nvim.screen.keys("\x1b");
    nvim.waits("vim.api.nvim_get_mode().mode == 'n'");
    nvim.ex("Backstitch stack");
    nvim.waits("vim.fn.bufname() == 'backstitch-stack://p1'");
    let frames = "#vim.tbl_filter(function(line) return line:match('^%S.*program%.py:%d+$') end, vim.api.nvim_buf_get_lines(0, 0, -1, false))";
    assert_eq!(nvim.lua(frames), 199);
    nvim.waits("vim.fn.search([[^990 older REPL sessions$]], 'nw') > 0");
    client.leave();
}
