//! Changes of a held call's input in Neovim: written or not, they run, or are kept.

use super::held::{held_edit, is_shown, world};
use super::rig::Neovim;

use crate::control::{HeldHook, before, decision, edit};

/// A text that was changed and not written runs with each decision that lets the call run, by its key in that window.
#[test]
fn an_unwritten_change_runs() {
    for (name, key) in [
        ("plugin-held-unwritten-c", "c"),
        ("plugin-held-unwritten-n", "n"),
        ("plugin-held-unwritten-s", "s"),
        ("plugin-held-unwritten-o", "o"),
    ] {
        let world = world();
        let Some((mut nvim, _agent, hook)) = held_edit(&world, name) else {
            return;
        };
        nvim.ex("wincmd b");
        nvim.waits("vim.fn.bufname() == 'backstitch-held://p1/then/a.txt'");
        nvim.ex("%s/^2$/zwei/");
        nvim.screen.keys(&format!("\\{key}"));
        let answer = hook.answer();
        assert_eq!(
            answer["hookSpecificOutput"]["updatedInput"]["new_string"], "zwei\n",
            "{key}: {answer:#}"
        );
    }
}

/// A text that was changed and not written runs also after its windows, its tab page or the list were closed.
#[test]
fn an_unwritten_change_outlives_its_windows() {
    for (name, closing) in [
        ("plugin-held-tabclose", &["tabclose"][..]),
        ("plugin-held-only", &["only"]),
        ("plugin-held-list-wiped", &["wincmd t", "bwipeout"]),
        (
            "plugin-held-all-wiped",
            &["wincmd t", "bwipeout", "tabclose"],
        ),
        ("plugin-held-qall", &["tabfirst", "silent! qall", "tabonly"]),
        ("plugin-held-reopened", &["tabclose", "Backstitch pauses"]),
        (
            "plugin-held-input",
            &["wincmd t", "normal e", "%s/\"2/\"zwei/", "tabclose"],
        ),
    ] {
        let world = world();
        let Some((mut nvim, _agent, hook)) = held_edit(&world, name) else {
            return;
        };
        nvim.ex("wincmd b");
        nvim.waits("vim.fn.bufname() == 'backstitch-held://p1/then/a.txt'");
        if closing.len() < 4 {
            nvim.ex("%s/^2$/zwei/");
        }
        for command in closing {
            nvim.ex(command);
            match *command {
                "normal e" => {
                    nvim.waits("vim.fn.bufname() == 'backstitch-held://p1/input/input.json'");
                }
                "Backstitch pauses" => is_shown(&nvim, "p1", "a.txt"),
                _ => {}
            }
        }
        nvim.ex("Backstitch resume");
        let answer = hook.answer();
        let text = &answer["hookSpecificOutput"]["updatedInput"]["new_string"];
        assert_eq!(
            text.as_str().map(str::trim_end),
            Some("zwei"),
            "{name}: {answer:#}"
        );
        nvim.waits("#vim.tbl_filter(function(buf) return vim.bo[buf].modified end, vim.api.nvim_list_bufs()) == 0");
    }
}

/// Without the list, a text that is not written is asked about before a call is denied, is written by `:wall`, and runs by the
/// key of its window.
#[test]
fn an_unwritten_change_counts_without_the_list() {
    let world = world();
    let Some((mut nvim, agent, hook)) = held_edit(&world, "plugin-held-no-list") else {
        return;
    };
    nvim.ex("wincmd b");
    nvim.waits("vim.fn.bufname() == 'backstitch-held://p1/then/a.txt'");
    nvim.ex("%s/^2$/zwei/");
    nvim.ex("tabclose");
    nvim.says("p1 keeps your unwritten text");
    nvim.ex("Backstitch deny no");
    nvim.screen.shows("has text of yours that is not written");
    nvim.screen.keys("2\r");
    assert_eq!(world.json(["pauses"])["pauses"][0]["state"], "held");
    nvim.ex("wall");
    nvim.says("p1 continues with this text");
    world.ok(["resume"]);
    let answer = hook.answer();
    assert_eq!(
        answer["hookSpecificOutput"]["updatedInput"]["new_string"], "zwei\n",
        "{answer:#}"
    );

    let input = edit(&world, "a.txt", "two", "2");
    let hook = HeldHook::start(&world, &before(&agent, "c2", "Edit", &input), 600);
    nvim.waits("require('backstitch').statusline():find('⏸ 1') ~= nil");
    nvim.ex("Backstitch pauses");
    is_shown(&nvim, "p2", "a.txt");
    nvim.ex("wincmd b");
    nvim.waits("vim.fn.bufname() == 'backstitch-held://p2/then/a.txt'");
    nvim.ex("%s/^2$/deux/");
    nvim.ex("only");
    nvim.says("p2 keeps your unwritten text");
    nvim.screen.keys("\\c");
    let answer = hook.answer();
    assert_eq!(
        answer["hookSpecificOutput"]["updatedInput"]["new_string"], "deux\n",
        "{answer:#}"
    );
}

/// A text that the call's tool cannot write decides nothing, and stays. A decision elsewhere leaves it, too.
#[test]
fn an_unwritten_change_is_never_dropped() {
    let world = world();
    let Some((mut nvim, _agent, hook)) = held_edit(&world, "plugin-held-kept") else {
        return;
    };
    nvim.screen.keys("e");
    nvim.waits("vim.fn.bufname() == 'backstitch-held://p1/input/input.json'");
    nvim.ex("%s/{/[/");
    nvim.screen.keys("\\c");
    nvim.says("not JSON");
    let open = world.json(["pauses"]);
    assert_eq!(open["pauses"][0]["state"], "held", "{open:#}");
    assert_eq!(nvim.lua("vim.bo.modified"), true);
    // a decision that lets nothing run asks first
    nvim.screen.keys("\\k");
    nvim.screen.shows("has text of yours that is not written");
    nvim.screen.keys("2\r");
    assert_eq!(world.json(["pauses"])["pauses"][0]["state"], "held");
    world.ok(["skip"]);
    assert_eq!(decision(&hook.answer()), Some("deny"));
    nvim.says("p1 was decided on elsewhere: your unwritten text stays in its buffer");
    assert_eq!(nvim.lines()[0], "[");
    // its keys decide on nothing else
    nvim.screen.keys("\\c");
    nvim.says("p1 is no longer held");
}

/// The input as JSON is edited as the agent wrote it: the order of its fields, and numbers that a Lua number cannot hold.
#[test]
fn an_input_keeps_its_order_and_its_numbers() {
    let world = world();
    let Some(mut nvim) = Neovim::start(&world, "plugin-held-input", &["a.txt"]) else {
        return;
    };
    nvim.is_attached();
    let mut agent = world.agent();
    agent.session_start();
    agent.prompt("ask");
    nvim.ex("Backstitch breakpoint tool mcp__x__ask");
    nvim.says("b1: agents stop at");
    let text = r#"{"z":12345678901234567,"b":[],"a":"old"}"#;
    let input: serde_json::Value = serde_json::from_str(text).expect("JSON");
    let payload = before(&agent, "c1", "mcp__x__ask", &input);
    let hook = HeldHook::start(&world, &payload, 600);
    nvim.says("claude-code is held: mcp__x__ask");
    nvim.ex("Backstitch pauses");
    nvim.waits("vim.fn.bufnr('backstitch-held://p1/input/input.json') > 0");
    nvim.ex("wincmd b");
    nvim.waits("vim.fn.bufname() == 'backstitch-held://p1/input/input.json'");
    let lines = [
        "{",
        r#"  "z": 12345678901234567,"#,
        r#"  "b": [],"#,
        r#"  "a": "old""#,
        "}",
    ];
    assert_eq!(nvim.lines(), lines);
    nvim.ex("%s/old/new/");
    nvim.ex("write");
    nvim.says("p1 continues with this text");
    nvim.ex("wincmd t");
    nvim.screen.keys("c");
    let answer = hook.answer();
    let sent = &answer["hookSpecificOutput"]["updatedInput"];
    assert_eq!(sent.to_string(), text.replace("old", "new"));
}
