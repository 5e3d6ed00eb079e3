//! Lists of checkpoints: steps below their turns, older pages, and words and ids that are searched in all of the history.

use std::time::{Duration, Instant};

use super::rig::{self, Neovim};

use crate::support::scenarios::two_turns_in_neovim;

/// Answers each question: with the first row that has the words, or by typing them. The rows of each list are noted.
const ANSWERS: &str = "
shown, answers = {}, {}
vim.ui.select = function(items, opts, done)
  local rows = vim.tbl_map(opts.format_item, items)
  table.insert(shown, rows)
  local words = table.remove(answers, 1)
  for i, row in ipairs(rows) do
    if words and row:find(words, 1, true) then
      return done(items[i], i)
    end
  end
  done(nil)
end
vim.ui.input = function(_, done)
  done(table.remove(answers, 1))
end
";

/// Runs a command with these answers, and waits for its plan.
#[track_caller]
fn plans(nvim: &mut Neovim<'_>, answers: &[&str], command: &str, title: &str) {
    let list = answers.iter().map(|answer| format!("\"{answer}\""));
    let list = list.collect::<Vec<_>>().join(", ");
    nvim.lua("rawset(_G, \"shown\", {}) == nil");
    nvim.lua(&format!("rawset(_G, \"answers\", {{ {list} }}) == nil"));
    nvim.ex(command);
    nvim.screen.shows(title);
    nvim.screen.keys("q");
    nvim.screen
        .until("closed", |screen| !screen.contains(title));
}

/// The steps of a turn are one row until it is chosen.
#[test]
fn steps_are_folded_below_their_turns() {
    let world = two_turns_in_neovim();
    rig::configure(&world, ANSWERS);
    let Some(mut nvim) = Neovim::start(&world, "plugin-pick-steps", &["src/a.txt"]) else {
        return;
    };
    nvim.is_attached();
    plans(
        &mut nvim,
        &["▸ 2 steps: ", "Edit src/a.txt"],
        "Backstitch rewind",
        "Rewind to c",
    );
    // the turn with both of its steps' lines, and no row for the only step of the other
    assert_eq!(nvim.lua("#shown"), 2);
    nvim.waits("#vim.tbl_filter(function(row) return row:find('^“make it two” · claude%-code · %+2 −2 · .* · t1$') ~= nil end, shown[1]) == 1");
    nvim.waits("#vim.tbl_filter(function(row) return row:find('Edit src/a.txt', 1, true) ~= nil end, shown[1]) == 1");
    nvim.waits("#vim.tbl_filter(function(row) return row:find('^      Edit src/a.txt · .* · c%d+$') ~= nil end, shown[2]) == 1");
    // back to all rows, and another turn
    plans(
        &mut nvim,
        &["▸ 2 steps: ", "All checkpoints…", "“and five”"],
        "Backstitch revert",
        "Revert “and five”",
    );
}

/// The history is searched beyond the rows of a list, and an id that was typed is that id.
#[test]
fn older_turns_are_found() {
    let world = rig::world(&[("a.txt", "one\ntwo\n")]);
    rig::configure(&world, ANSWERS);
    let mut agent = world.agent();
    agent.turn("note the harbour", |agent| {
        agent.edit("a.txt", "two", "lighthouse");
    });
    for number in 1..=210 {
        agent.prompt(&format!("round {number}"));
    }
    agent.stop();
    let Some(mut nvim) = Neovim::start(&world, "plugin-pick-older", &["a.txt"]) else {
        return;
    };
    nvim.is_attached();
    let title = "Rewind to before “note the harbour”";
    let older = ["Older checkpoints…", "“note the harbour”"];
    plans(&mut nvim, &older, "Backstitch rewind", title);
    assert_eq!(nvim.lua("#shown[1]"), 202);
    let search = [
        "Search all of the history…",
        "harbour",
        "“note the harbour”",
    ];
    plans(&mut nvim, &search, "Backstitch rewind", title);
    // a step by its text, below its turn
    plans(
        &mut nvim,
        &["Edit a.txt"],
        "Backstitch revert /lighthouse",
        "Revert ",
    );
    assert_eq!(
        nvim.lua("shown[1][1]:match(\"“note the harbour”\")"),
        "“note the harbour”"
    );
    plans(&mut nvim, &[], "Backstitch rewind /t1", title);
    assert_eq!(nvim.lua("#shown"), 0);
    nvim.ex("Backstitch rewind /nowhere");
    nvim.screen.shows("no checkpoint has “nowhere”");
}

/// Words find the prompt among 5,000 checkpoints, in Neovim's list and in a terminal. The times are printed.
#[test]
fn a_prompt_is_found_among_five_thousand_checkpoints() {
    let world = rig::world(&[("a.txt", "one\ntwo\n")]);
    rig::configure(&world, ANSWERS);
    world.agent().turn("note the harbour", |agent| {
        agent.edit("a.txt", "two", "lighthouse");
    });
    world.checkpoints_by_hand(5_000);
    let began = Instant::now();
    let found = world
        .ok(["log", "--text", "harbour", "--kind", "turn"])
        .stdout;
    let in_terminal = began.elapsed();
    assert!(found.contains("note the harbour"), "{found}");
    assert!(!found.contains("round"), "{found}");
    let Some(mut nvim) = Neovim::start(&world, "plugin-pick-many", &["a.txt"]) else {
        return;
    };
    nvim.is_attached();
    let search = [
        "Search all of the history…",
        "harbour",
        "“note the harbour”",
    ];
    let title = "Rewind to before “note the harbour”";
    let began = Instant::now();
    plans(&mut nvim, &search, "Backstitch rewind", title);
    let in_neovim = began.elapsed();
    println!(
        "among 5,000 checkpoints: terminal {in_terminal:?}, Neovim with its plan {in_neovim:?}"
    );
    for time in [in_terminal, in_neovim] {
        assert!(time < Duration::from_secs(10), "{time:?}");
    }
}
