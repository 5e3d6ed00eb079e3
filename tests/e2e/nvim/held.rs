//! Held calls and breakpoints in Neovim.

use serde_json::{Value, json};

use super::rig::{self, Neovim};

use crate::control::{HeldHook, before, decision, edit, reason};
use crate::support::World;

const TEXT: &str = "one\ntwo\nthree\n";

fn world() -> World {
    rig::world(&[("a.txt", TEXT)])
}

/// S2-013: a call that a breakpoint at a line holds is announced without taking the focus, shown, changed on the right side,
/// and goes on with the change. The file stays as it is meanwhile.
#[test]
fn a_held_call_is_shown_changed_and_continued() {
    let world = world();
    let Some(mut nvim) = Neovim::start(&world, "plugin-held", &["a.txt"]) else {
        return;
    };
    nvim.is_attached();
    let mut agent = world.agent();
    agent.session_start();
    agent.prompt("make it two");
    nvim.ex("2");
    nvim.ex("Backstitch breakpoint");
    nvim.says("b1: agents stop at a.txt:2");
    nvim.screen.shows("◆");

    let input = edit(&world, "a.txt", "two", "2");
    let hook = HeldHook::start(&world, &before(&agent, "c1", "Edit", &input), 600);
    nvim.says("claude-code is held: Edit a.txt");
    nvim.waits("vim.fn.bufname() == 'a.txt'");
    nvim.waits("require('backstitch').statusline():find('⏸ 1') ~= nil");
    nvim.ex("Backstitch pauses");
    nvim.screen.shows("⏸ p1 Edit a.txt");
    nvim.screen.is_like("shown", "changes a.txt:2");
    nvim.waits("vim.fn.bufnr('backstitch-held://p1/then/a.txt') > 0");
    nvim.ex("wincmd b");
    nvim.waits("vim.fn.bufname() == 'backstitch-held://p1/then/a.txt'");
    assert_eq!(nvim.lines(), ["one", "2", "three"]);
    nvim.ex("%s/^2$/zwei/");
    nvim.ex("write");
    nvim.says("p1 goes on with this text");
    assert_eq!(world.read("a.txt"), TEXT);
    nvim.ex("wincmd t");
    nvim.screen.keys("c");
    nvim.says("changed");
    let answer = hook.answer();
    assert_eq!(
        answer["hookSpecificOutput"]["updatedInput"]["new_string"], "zwei\n",
        "{answer:#}"
    );
    assert_ne!(decision(&answer), Some("allow"));
    nvim.screen.shows("No call is held.");
    nvim.waits("require('backstitch').statusline():find('⏸') == nil");
}

/// Closing the view decides nothing; a call is denied with a reason; a decision in a terminal is followed.
#[test]
fn a_held_call_is_denied_and_a_terminal_is_followed() {
    let world = world();
    let Some(mut nvim) = Neovim::start(&world, "plugin-held", &["a.txt"]) else {
        return;
    };
    nvim.is_attached();
    let mut agent = world.agent();
    agent.session_start();
    agent.prompt("make it two");
    nvim.ex("Backstitch breakpoint path *.txt");
    nvim.says("b1: agents stop at path *.txt");
    let input = edit(&world, "a.txt", "two", "2");
    let hook = HeldHook::start(&world, &before(&agent, "c1", "Edit", &input), 600);
    nvim.says("claude-code is held: Edit a.txt");
    nvim.ex("Backstitch pauses");
    nvim.screen.shows("⏸ p1 Edit a.txt");
    nvim.screen.keys("q");
    nvim.waits("vim.fn.tabpagenr('$') == 1");
    let open = world.json(["pauses"]);
    assert_eq!(open["pauses"][0]["state"], "held", "{open:#}");
    nvim.ex("Backstitch deny use the helper");
    let answer = hook.answer();
    assert_eq!(decision(&answer), Some("deny"));
    assert_eq!(reason(&answer), "use the helper");
    nvim.waits("require('backstitch').statusline():find('⏸') == nil");

    let hook = HeldHook::start(&world, &before(&agent, "c2", "Edit", &input), 600);
    nvim.waits("require('backstitch').statusline():find('⏸ 1') ~= nil");
    world.ok(["skip"]);
    hook.answer();
    nvim.waits("require('backstitch').statusline():find('⏸') == nil");
    // no call is held now
    nvim.ex("Backstitch resume");
    nvim.screen.shows("no call is held");
}

/// S2-013: two agents are held at once, and each is decided by itself. A Neovim that is killed decides nothing; the next one
/// shows what is held.
#[test]
fn two_held_calls_outlive_their_editor() {
    let world = world();
    let Some(mut nvim) = Neovim::start(&world, "plugin-held", &["a.txt"]) else {
        return;
    };
    nvim.is_attached();
    world.ok(["breakpoint", "add", "tool", "Edit"]);
    let mut first = world.agent();
    first.session_start();
    first.prompt("make it two");
    let mut second = world.agent();
    second.session_start();
    second.prompt("make it three");
    let input = edit(&world, "a.txt", "two", "2");
    let one = HeldHook::start(&world, &before(&first, "c1", "Edit", &input), 600);
    nvim.waits("require('backstitch').statusline():find('⏸ 1') ~= nil");
    let input = edit(&world, "a.txt", "three", "3");
    let two = HeldHook::start(&world, &before(&second, "c2", "Edit", &input), 600);
    nvim.waits("require('backstitch').statusline():find('⏸ 2') ~= nil");
    nvim.ex("Backstitch pauses");
    nvim.screen.shows("⏸ p1 Edit a.txt");
    nvim.screen.shows("⏸ p2 Edit a.txt");
    // killed, with its server
    drop(nvim);
    let open = world.json(["pauses"]);
    let states = [&open["pauses"][0]["state"], &open["pauses"][1]["state"]];
    assert_eq!(states, ["held", "held"], "{open:#}");

    let Some(mut nvim) = Neovim::start(&world, "plugin-held", &["a.txt"]) else {
        return;
    };
    nvim.is_attached();
    nvim.waits("require('backstitch').statusline():find('⏸ 2') ~= nil");
    nvim.ex("Backstitch pauses");
    nvim.screen.shows("⏸ p2 Edit a.txt");
    nvim.screen.keys("gg");
    nvim.screen.keys("j");
    nvim.screen.keys("d");
    nvim.screen.shows("Reason for the model (p2");
    nvim.screen.keys("no\r");
    assert_eq!(decision(&two.answer()), Some("deny"));
    nvim.waits("require('backstitch').statusline():find('⏸ 1') ~= nil");
    let open = world.json(["pauses"]);
    assert_eq!(open["pauses"][0]["id"], "p1", "{open:#}");
    nvim.screen.keys("gg");
    nvim.screen.keys("c");
    assert_eq!(decision(&one.answer()), None);
    nvim.waits("require('backstitch').statusline():find('⏸') == nil");
}

/// Writes down each autocommand of a held call, with its data.
const LISTEN: &str = "heard = {}
    for _, name in ipairs({ 'Pause', 'Resume' }) do
      vim.api.nvim_create_autocmd('User', {
        pattern = 'Backstitch' .. name,
        callback = function(event)
          local data = event.data
          local words = { name, data.pause.id, data.outcome or data.pause.summary, data.by or data.pause.state }
          table.insert(heard, table.concat(words, ' ') .. (data.workspace == vim.fn.getcwd() and '' or ' elsewhere'))
        end,
      })
    end";

/// S2-093, S2-094: each key of the list decides on the call of its row, or tells the model something; `g?` lists the keys. The
/// autocommands say when a call is held, how it was decided, and by whom.
#[test]
fn every_key_of_a_held_call() {
    let world = world();
    rig::configure(&world, LISTEN);
    let Some(mut nvim) = Neovim::start(&world, "plugin-held-keys", &["a.txt"]) else {
        return;
    };
    nvim.is_attached();
    let mut agent = world.agent();
    agent.session_start();
    agent.prompt("count");
    agent.edit("a.txt", "one", "1");
    let input = edit(&world, "a.txt", "two", "2");
    let hold = |payload: &Value| HeldHook::start(&world, payload, 600);

    world.ok(["pause"]);
    let first = hold(&before(&agent, "c1", "Edit", &input));
    nvim.says("claude-code is held: Edit a.txt");
    nvim.ex("Backstitch pauses");
    nvim.screen.shows("⏸ p1 Edit a.txt");
    // the list, and both sides of the file below it
    nvim.waits("vim.fn.winnr('$') == 3");
    nvim.screen.keys("g?");
    nvim.screen.shows("x   Deny, and stop the turn.");
    let keys = nvim
        .lines()
        .iter()
        .map(|line| line.split(' ').next().unwrap_or_default().to_owned())
        .collect::<String>();
    assert_eq!(keys, "cnsodkeibxr");
    nvim.screen.keys("q");
    nvim.screen
        .until("closed", |screen| !screen.contains("Deny, and stop"));
    // the list is read anew
    nvim.ex("setlocal modifiable | call setline(1, 'stale') | setlocal nomodifiable");
    nvim.screen
        .until("stale", |screen| !screen.contains("⏸ p1 Edit"));
    nvim.screen.keys("r");
    nvim.screen.shows("⏸ p1 Edit a.txt");
    // a text for the model decides nothing
    nvim.screen.keys("i");
    nvim.screen.shows("Tell the agent:");
    nvim.screen.keys("use \"tests\" <b>\r");
    nvim.says("the text goes to the model");
    let waiting = world.json(["inject", "--list"]);
    assert_eq!(waiting["waiting"][0]["text"], "use \"tests\" <b>");
    nvim.screen.keys("b");
    let answer = first.answer();
    assert_eq!(decision(&answer), Some("deny"));
    assert!(
        reason(&answer).contains("took your last 1 step out"),
        "{answer:#}"
    );
    assert_eq!(world.read("a.txt"), TEXT);
    nvim.screen.shows("No call is held.");

    world.ok(["pause"]);
    let second = hold(&before(&agent, "c2", "Edit", &input));
    nvim.screen.shows("⏸ p2 Edit a.txt");
    nvim.screen.keys("x");
    nvim.screen.shows("Reason for the model (p2 Edit a.txt)");
    nvim.screen.keys("enough\r");
    let answer = second.answer();
    assert_eq!(
        (&answer["continue"], &answer["stopReason"]),
        (&json!(false), &json!("enough"))
    );

    // a step lets the call go on, and holds the next one: of its thread, of any, of the main thread
    agent.prompt("go on");
    let subagent = agent.subagent();
    let nested = |id: &str| before(&subagent, id, "Edit", &edit(&world, "a.txt", "three", "3"));
    world.ok(["pause"]);
    let third = hold(&before(&agent, "c3", "Edit", &input));
    nvim.screen.shows("⏸ p3 Edit a.txt");
    nvim.screen.keys("n");
    assert_eq!(decision(&third.answer()), None);
    assert_eq!(hold(&nested("n1")).answer(), Value::Null);
    let fourth = hold(&before(&agent, "c4", "Edit", &input));
    nvim.screen.shows("⏸ p4 Edit a.txt");
    nvim.screen.keys("s");
    assert_eq!(decision(&fourth.answer()), None);
    let inner = hold(&nested("n2"));
    nvim.screen.shows("⏸ p5 Edit a.txt");
    nvim.screen.keys("o");
    assert_eq!(decision(&inner.answer()), None);
    assert_eq!(hold(&nested("n3")).answer(), Value::Null);
    let last = hold(&before(&agent, "c5", "Edit", &input));
    nvim.screen.shows("⏸ p6 Edit a.txt");
    nvim.screen.keys("k");
    let answer = last.answer();
    assert_eq!(decision(&answer), Some("deny"));
    assert!(reason(&answer).contains("skipped"), "{answer:#}");
    nvim.screen.shows("No call is held.");
    nvim.waits("#heard == 12");
    let decided = [
        "back",
        "stopped",
        "continued",
        "continued",
        "continued",
        "skipped",
    ];
    let told = decided.iter().zip(1..).flat_map(|(how, id)| {
        [
            format!("Pause p{id} Edit a.txt held"),
            format!("Resume p{id} {how} Neovim"),
        ]
    });
    assert_eq!(nvim.lua("heard"), json!(told.collect::<Vec<_>>()));
}

/// A name of a file that a terminal, a status line or a list would read as something else.
const HOSTILE: &str = "%{execute('let g:owned = 1')}[x]<i>\x1b[2J\x07\nb.txt";

/// A call's paths and its input are shown as text, and a file of any name is edited by its held call.
#[test]
fn a_held_call_is_shown_as_text() {
    let world = rig::world(&[("a.txt", TEXT), (HOSTILE, TEXT)]);
    let Some(mut nvim) = Neovim::start(&world, "plugin-held-text", &["a.txt"]) else {
        return;
    };
    nvim.is_attached();
    let mut agent = world.agent();
    agent.session_start();
    agent.prompt("\x1b[31mmake it two");
    world.ok(["breakpoint", "add", "tool", "*"]);
    let input = edit(&world, HOSTILE, "two", "2");
    let first = HeldHook::start(&world, &before(&agent, "c1", "Edit", &input), 600);
    nvim.says("claude-code is held: Edit %{execute(");
    nvim.ex("Backstitch pauses");
    let title = "Edit %{execute('let g:owned = 1')}[x]<i> [2J";
    nvim.screen.shows(&format!("⏸ p1 {title}  claude-code"));
    // above both sides, and their names below
    nvim.screen.until("a title", |screen| {
        screen.matches("[x]<i> [2J  claude-code").count() == 3
            && screen.matches("[x]<i>^[[2J^G^@b.txt").count() == 2
    });
    nvim.ex("wincmd b");
    nvim.waits("vim.fn.bufname():find('backstitch-held://p1/then/%{', 1, true) ~= nil");
    nvim.ex("%s/^2$/zwei/");
    nvim.ex("write");
    nvim.says("p1 goes on with this text");
    nvim.ex("wincmd t");
    nvim.screen.keys("c");
    let answer = first.answer();
    let changed = &answer["hookSpecificOutput"]["updatedInput"];
    assert_eq!(changed["new_string"], "zwei\n", "{answer:#}");
    assert_eq!(changed["file_path"], input["file_path"]);

    let command = "printf '\x1b]0;owned\x07\x1b[2J' <b>x</b>";
    let input = json!({ "command": command, "description": "\u{202e}\u{9b}2J\r\n" });
    let second = HeldHook::start(&world, &before(&agent, "c2", "Bash", &input), 600);
    nvim.screen
        .shows("⏸ p2 Bash printf ' ]0;owned [2J' <b>x</b>");
    nvim.screen.keys("\r");
    let shown = r"printf '\u001b]0;owned\u0007\u001b[2J' <b>x</b>";
    nvim.screen.shows(shown);
    nvim.screen.shows(r"<202e><9b>2J\r\n");
    nvim.screen.keys("k");
    assert_eq!(decision(&second.answer()), Some("deny"));
    assert_eq!(nvim.lua("vim.g.owned == nil"), true);
    let said = nvim.messages();
    assert!(
        !said.contains("Error") && !said.contains("traceback"),
        "{said}"
    );
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
    nvim.says("p1 goes on with this text");
    nvim.ex("wincmd t");
    nvim.screen.keys("c");
    let answer = hook.answer();
    let sent = &answer["hookSpecificOutput"]["updatedInput"];
    assert_eq!(sent.to_string(), text.replace("old", "new"));
}
