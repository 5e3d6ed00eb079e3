//! Held calls in Neovim: announced, shown, decided.

use serde_json::{Value, json};

use super::rig::{self, Neovim};

use crate::control::{HeldHook, before, decision, edit, reason};
use crate::support::World;
use crate::support::agent::Agent;

pub const TEXT: &str = "one\ntwo\nthree\n";

/// Keys of debuggers, as a terminal sends them.
const F5: &str = "\x1b[15~";
const F10: &str = "\x1b[21~";
const F11: &str = "\x1b[23~";

pub fn world() -> World {
    rig::world(&[("a.txt", TEXT)])
}

/// Waits until a file of a held call is shown.
#[track_caller]
pub fn is_shown(nvim: &Neovim, pause: &str, path: &str) {
    nvim.waits(&format!(
        "vim.fn.bufwinid('backstitch-held://{pause}/then/{path}') > 0"
    ));
}

/// An agent whose edits are held, in a Neovim that shows the held call.
pub fn held_edit<'w>(
    world: &'w World,
    name: &'static str,
) -> Option<(Neovim<'w>, Agent<'w>, HeldHook)> {
    let mut nvim = Neovim::start(world, name, &["a.txt"])?;
    nvim.is_attached();
    world.ok(["breakpoint", "add", "tool", "*"]);
    let mut agent = world.agent();
    agent.session_start();
    agent.prompt("make it two");
    let input = edit(world, "a.txt", "two", "2");
    let hook = HeldHook::start(world, &before(&agent, "c1", "Edit", &input), 600);
    nvim.says("claude-code is held: Edit a.txt");
    nvim.ex("Backstitch pauses");
    is_shown(&nvim, "p1", "a.txt");
    Some((nvim, agent, hook))
}

/// S2-013: a call that a breakpoint at a line holds is announced without taking the focus, shown, changed on the right side,
/// and continues with the change. The file stays as it is meanwhile.
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
    nvim.screen
        .shows("as the agent would write it: M a.txt   you may edit");
    nvim.screen.is_like("shown", "changes a.txt:2");
    nvim.waits("vim.fn.bufnr('backstitch-held://p1/then/a.txt') > 0");
    nvim.ex("wincmd b");
    nvim.waits("vim.fn.bufname() == 'backstitch-held://p1/then/a.txt'");
    assert_eq!(nvim.lines(), ["one", "2", "three"]);
    nvim.ex("%s/^2$/zwei/");
    nvim.ex("write");
    nvim.says("p1 continues with this text");
    nvim.screen.shows("as changed in Neovim: M a.txt");
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
    is_shown(&nvim, "p1", "a.txt");
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
    nvim.screen.shows("x       Deny, and stop the turn.");
    let keys = nvim
        .lines()
        .iter()
        .map(|line| line.split(' ').next().unwrap_or_default().to_owned())
        .collect::<String>();
    assert_eq!(keys, "cnsodke<Tab><S-Tab>ibxr<CR>q");
    nvim.screen.shows(
        "n       Step over: continue, and stop at the next call of this thread. (also <F10>)",
    );
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
        reason(&answer).contains("reverted your last step"),
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

    // a step lets the call continue, and holds the next one: of its thread, of any, of the main thread
    agent.prompt("go on");
    let subagent = agent.subagent();
    let nested = |id: &str| before(&subagent, id, "Edit", &edit(&world, "a.txt", "three", "3"));
    world.ok(["pause"]);
    let third = hold(&before(&agent, "c3", "Edit", &input));
    nvim.screen.shows("⏸ p3 Edit a.txt");
    is_shown(&nvim, "p3", "a.txt");
    nvim.screen.keys("n");
    assert_eq!(decision(&third.answer()), None);
    assert_eq!(hold(&nested("n1")).answer(), Value::Null);
    let fourth = hold(&before(&agent, "c4", "Edit", &input));
    nvim.screen.shows("⏸ p4 Edit a.txt");
    is_shown(&nvim, "p4", "a.txt");
    nvim.screen.keys("s");
    assert_eq!(decision(&fourth.answer()), None);
    let inner = hold(&nested("n2"));
    nvim.screen.shows("⏸ p5 Edit a.txt");
    is_shown(&nvim, "p5", "a.txt");
    nvim.screen.keys("o");
    assert_eq!(decision(&inner.answer()), None);
    assert_eq!(hold(&nested("n3")).answer(), Value::Null);
    let last = hold(&before(&agent, "c5", "Edit", &input));
    nvim.screen.shows("⏸ p6 Edit a.txt");
    is_shown(&nvim, "p6", "a.txt");
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
    // in the list, and above both sides
    nvim.screen.until("a title", |screen| {
        screen.contains("[x]<i> [2J  claude-code")
            && screen.contains("now: %{execute('let g:owned = 1')}[x]<i>")
            && screen.contains("as the agent would write it: M <")
            && screen.contains("b.txt")
    });
    nvim.ex("wincmd b");
    nvim.waits("vim.fn.bufname():find('backstitch-held://p1/then/%{', 1, true) ~= nil");
    let title = nvim.lua("vim.api.nvim_eval_statusline(vim.wo.winbar, { maxwidth = 200 }).str");
    let title = title.as_str().expect("a text");
    assert!(
        title.starts_with("as the agent would write it: M %{execute('let g:owned = 1')}[x]<i>"),
        "{title}"
    );
    nvim.ex("%s/^2$/zwei/");
    nvim.ex("write");
    nvim.says("p1 continues with this text");
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

/// All files of a call are listed with their letters, and shown one after the other.
#[test]
fn every_file_of_a_call_is_shown() {
    let world = rig::world(&[("a.txt", TEXT), ("b.txt", "b\n"), ("c.txt", "c\n")]);
    let Some(mut nvim) = Neovim::start(&world, "plugin-held-files", &["a.txt"]) else {
        return;
    };
    nvim.is_attached();
    world.ok(["breakpoint", "add", "tool", "apply_patch"]);
    let mut agent = world.agent();
    agent.session_start();
    agent.prompt("patch all");
    let patch = "*** Begin Patch\n*** Update File: a.txt\n@@\n-two\n+2\n*** Add File: new/x.txt\n+x\n\
        *** Delete File: c.txt\n*** End Patch\n";
    let input = json!({ "command": patch });
    let hook = HeldHook::start(&world, &before(&agent, "c1", "apply_patch", &input), 600);
    nvim.says("claude-code is held: apply_patch: M a.txt, A new/x.txt, D c.txt");
    nvim.ex("Backstitch pauses");
    is_shown(&nvim, "p1", "a.txt");
    nvim.screen.until("each file", |screen| {
        ["▸ M a.txt", "A new/x.txt", "D c.txt", "“patch all”"]
            .iter()
            .all(|part| screen.contains(part))
    });
    nvim.screen.keys("\t");
    is_shown(&nvim, "p1", "new/x.txt");
    nvim.screen.keys("\t");
    is_shown(&nvim, "p1", "c.txt");
    nvim.screen.shows("▸ D c.txt");
    // the file of the row
    nvim.screen.keys("gg");
    nvim.screen.keys("j");
    nvim.screen.keys("\r");
    is_shown(&nvim, "p1", "a.txt");
    nvim.screen.keys("c");
    assert_eq!(decision(&hook.answer()), None);
}

/// A call that is held while the user types is announced after Insert mode; its line has a sign and words; no key goes to it.
#[test]
fn a_held_call_is_not_missed() {
    let world = world();
    rig::configure(&world, "vim.g.backstitch = { pauses = { open = true } }");
    let Some(mut nvim) = Neovim::start(&world, "plugin-held-insert", &["a.txt"]) else {
        return;
    };
    nvim.is_attached();
    world.ok(["breakpoint", "add", "tool", "*"]);
    let mut agent = world.agent();
    agent.session_start();
    agent.prompt("make it two");
    nvim.screen.keys("Gomine");
    nvim.screen.shows("-- INSERT --");
    let input = edit(&world, "a.txt", "two", "2");
    let hook = HeldHook::start(&world, &before(&agent, "c1", "Edit", &input), 600);
    nvim.screen.shows("⏸ claude-code is held: Edit a.txt");
    nvim.screen.keys(" is typed");
    nvim.screen.shows("mine is typed");
    let messages = nvim.messages();
    assert!(!messages.contains("is held"), "{messages}");
    nvim.screen.keys("\x1b");
    nvim.says("claude-code is held: Edit a.txt");
    // the view is there, and the cursor is not in it
    is_shown(&nvim, "p1", "a.txt");
    assert_eq!(nvim.lua("vim.fn.bufname()"), "a.txt");
    assert_eq!(nvim.lines(), ["one", "two", "three", "mine is typed"]);
    let marks = "#vim.api.nvim_buf_get_extmarks(0, vim.api.nvim_create_namespace('backstitch.held_marks'), 0, -1, {})";
    assert_eq!(nvim.lua(marks), 1);
    world.ok(["skip"]);
    hook.answer();
    nvim.waits(&format!("{marks} == 0"));
    nvim.screen.shows("p1: skipped in a terminal");
}

/// After a step the next held call is shown in the same windows, and the cursor stays. A key that comes too early decides on no
/// call that was not shown. The keys of debuggers work in the text that can be edited, in the list and in a REPL.
#[test]
fn after_a_step_the_next_call_is_shown() {
    let world = world();
    let Some((mut nvim, agent, hook)) = held_edit(&world, "plugin-held-next") else {
        return;
    };
    nvim.ex("wincmd b");
    nvim.waits("vim.fn.bufname() == 'backstitch-held://p1/then/a.txt'");
    nvim.screen.keys("\\n");
    assert_eq!(decision(&hook.answer()), None);
    nvim.screen.keys("\\c");
    nvim.says("p1 is no longer held");
    let input = edit(&world, "a.txt", "three", "3");
    let hold = |id: &str| HeldHook::start(&world, &before(&agent, id, "Edit", &input), 600);
    let next = hold("c2");
    nvim.waits("vim.fn.bufname() == 'backstitch-held://p2/then/a.txt'");
    assert_eq!(nvim.lines(), ["one", "two", "3"]);
    nvim.screen.keys(F10);
    assert_eq!(decision(&next.answer()), None);
    let next = hold("c3");
    nvim.waits("vim.fn.bufname() == 'backstitch-held://p3/then/a.txt'");
    nvim.ex("wincmd t");
    nvim.screen.keys(F11);
    assert_eq!(decision(&next.answer()), None);
    let next = hold("c4");
    is_shown(&nvim, "p4", "a.txt");
    assert_eq!(nvim.lua("vim.bo.filetype"), "backstitch-pauses");
    nvim.ex("Backstitch repl p4");
    nvim.waits("vim.fn.bufname():find('backstitch-repl://', 1, true) == 1");
    nvim.waits("vim.fn.mode() == 'i'");
    nvim.screen.keys(F5);
    assert_eq!(decision(&next.answer()), None);
}

/// A prompt that is too long for a row stands in full above the files of its call. A call whose time ran out says so, and its row
/// goes once its next try has run.
#[test]
fn a_call_says_its_prompt_and_that_its_time_ran_out() {
    let world = world();
    world.configure("[pause]\ntimeout = 5\n");
    let Some(mut nvim) = Neovim::start(&world, "plugin-held-parked", &["a.txt"]) else {
        return;
    };
    nvim.is_attached();
    world.ok(["breakpoint", "add", "tool", "*"]);
    let mut agent = world.agent();
    agent.session_start();
    let prompt = "replace each number by its word, but leave the ones in the headings alone";
    agent.prompt(prompt);
    let input = edit(&world, "a.txt", "two", "2");
    let hook = HeldHook::start(&world, &before(&agent, "c1", "Edit", &input), 600);
    nvim.says("claude-code is held: Edit a.txt");
    nvim.ex("Backstitch pauses");
    nvim.screen.shows(&format!("     “{prompt}”"));
    assert_eq!(decision(&hook.answer()), Some("deny"));
    nvim.says("the time of p1 ran out: Edit a.txt was not run");
    nvim.screen
        .shows("… p1 Edit a.txt  its time ran out: held again at its next try");
    nvim.screen.shows("p1: its time ran out");
    world.ok(["resume", "p1"]);
    nvim.screen
        .shows("its time ran out: decided in a terminal, for its next try");
    let retried = HeldHook::start(&world, &before(&agent, "c2", "Edit", &input), 600);
    assert_eq!(retried.answer(), Value::Null);
    nvim.screen.shows("No call is held.");
}
