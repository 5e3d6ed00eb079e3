//! Lenses as Neovim draws them, compared with blame after each event of the story.

use std::time::{Duration, Instant, SystemTime};

use backstitch_protocol::REWIND_LENS;
use serde_json::Value;

use super::rig::{Neovim, world};
use crate::lens_truth::{Action, FILES, Lens, Story, View, play};

/// The longest wait for the right lenses.
const SETTLE_TIMEOUT: Duration = Duration::from_mins(1);

/// Notes each change of the drawn lenses with its time.
const NOTES: &str = "
local namespace = vim.api.nvim_create_namespace('backstitch.lenses')
local drawn, since = '', 0
local function look()
  local rows = {}
  for _, mark in ipairs(vim.api.nvim_buf_get_extmarks(0, namespace, 0, -1, { details = true })) do
    local turn = mark[4].virt_lines[1][1][1]:match('turn (%d+)')
    if turn and not mark[4].invalid then
      table.insert(rows, mark[2] .. ':t' .. turn)
    end
  end
  local now = table.concat(rows, ' ')
  if now ~= drawn then
    local seconds, rest = vim.uv.gettimeofday()
    drawn, since = now, seconds * 1e6 + rest
  end
end
_G.notes = assert(vim.uv.new_timer())
_G.notes:start(0, 2, vim.schedule_wrap(look))
--- Microseconds since 1970 at which the lenses became these; nil if they are others.
function _G.right_since(expected)
  look()
  return drawn == expected and since or nil
end
function _G.drawn_lenses()
  return drawn
end
function _G.has_float()
  return vim.iter(vim.api.nvim_list_wins()):any(function(window)
    return vim.api.nvim_win_get_config(window).relative ~= ''
  end)
end
";

struct Drawn<'w> {
    nvim: Neovim<'w>,
}

impl Drawn<'_> {
    fn changes(&mut self, keys: &str) {
        let tick = self.nvim.lua("vim.api.nvim_buf_get_changedtick(0)");
        self.nvim.screen.keys(keys);
        self.nvim.waits(&format!(
            "vim.api.nvim_buf_get_changedtick(0) ~= {tick} and vim.fn.mode() == \"n\""
        ));
    }

    /// Runs a command that shows its plan, and confirms it.
    fn confirm(&mut self, command: &str) -> SystemTime {
        self.nvim.ex(command);
        self.nvim.waits("has_float()");
        let count = "#vim.split(vim.fn.execute(\"messages\"), \": %d+ [cf]\")";
        let before = self.nvim.lua(count);
        let at = SystemTime::now();
        self.nvim.screen.keys("\r");
        self.nvim.waits(&format!("{count} > {before}"));
        at
    }

    /// Compares with a turn, does something, and ends the comparison.
    fn compared(&mut self, rev: &str, act: impl FnOnce(&mut Self) -> SystemTime) -> SystemTime {
        self.nvim.ex(&format!("Backstitch diff {rev}"));
        self.nvim
            .waits("#((require(\"backstitch.review\").of() or {}).hunks or {}) > 0");
        let at = act(self);
        self.nvim.ex("Backstitch diff off");
        self.nvim
            .waits("require(\"backstitch.review\").of() == nil");
        at
    }
}

impl View for Drawn<'_> {
    fn act(&mut self, action: Action<'_>) -> SystemTime {
        let now = SystemTime::now();
        match action {
            Action::Open(path) => {
                self.nvim.ex(&format!("silent edit {path}"));
                self.nvim.is_attached();
            }
            Action::Follow(path) => {
                self.nvim.waits(&format!(
                    "vim.fn.bufname() == \"{path}\" and not vim.bo.modified"
                ));
            }
            Action::Append(text) => self.changes(&format!("Go{text}\x1b")),
            Action::Prepend(text) => self.changes(&format!("ggO{text}\x1b")),
            Action::Replace(old, new) => self.changes(&format!(":silent %s/{old}/{new}/\r")),
            Action::Save => {
                self.nvim.ex("silent write");
                self.nvim.waits("not vim.bo.modified");
            }
            Action::UndoKey => self.changes("u"),
            Action::CheckDisk => self.nvim.ex("silent checktime"),
            Action::Restore(verb, rev) => {
                return self.confirm(&format!("Backstitch {verb} {rev}"));
            }
            Action::TakeBack(line, rev) => {
                return self.compared(rev, |view| {
                    view.nvim.screen.keys(&format!("gg/^{line}\r"));
                    view.nvim
                        .waits(&format!("vim.fn.getline(\".\") == \"{line}\""));
                    let at = SystemTime::now();
                    view.changes(":Backstitch takeback\r");
                    at
                });
            }
            Action::Keep(rev) => {
                return self.compared(rev, |view| {
                    let at = SystemTime::now();
                    view.nvim.ex("%Backstitch keep");
                    view.nvim
                        .waits("#require(\"backstitch.review\").of().hunks == 0");
                    at
                });
            }
            Action::Reload => self.nvim.ex("silent edit!"),
            Action::Reopen => {
                let path = self.nvim.lua("vim.fn.bufname()");
                self.nvim.ex("enew | bdelete #");
                self.nvim.waits("vim.fn.bufname() == \"\"");
                let path = path.as_str().expect("a name");
                self.nvim.ex(&format!("silent edit {path}"));
                self.nvim.is_attached();
            }
            Action::Restart => {
                let before = self.nvim.server();
                self.nvim.ex("Backstitch restart");
                self.nvim.waits(&format!(
                    "vim.api.nvim_get_proc({before}) == nil and (vim.lsp.get_clients({{ name = \"backstitch\", bufnr = 0 }})[1] or {{}}).initialized"
                ));
            }
        }
        now
    }

    #[track_caller]
    fn settle(&mut self, event: &str, expected: &[Lens]) -> Option<SystemTime> {
        let rows: Vec<String> = expected
            .iter()
            .map(|(line, turn)| format!("{line}:{turn}"))
            .collect();
        let rows = rows.join(" ");
        let wait = format!(
            "vim.wait(200, function() return right_since(\"{rows}\") ~= nil end, 2) and right_since(\"{rows}\") or false"
        );
        let start = Instant::now();
        loop {
            if let Some(since) = self.nvim.lua(&wait).as_f64() {
                return Some(SystemTime::UNIX_EPOCH + Duration::from_secs_f64(since / 1e6));
            }
            if start.elapsed() > SETTLE_TIMEOUT {
                let shown = self.nvim.lua("{ lenses = drawn_lenses(), text = vim.api.nvim_buf_get_lines(0, 0, -1, false), modified = vim.bo.modified, mode = vim.api.nvim_get_mode() }");
                panic!(
                    "{event}: not the lenses {rows}: {shown:#}\n{}",
                    self.nvim.messages()
                );
            }
        }
    }
}

/// After each of more than 42 kinds of event the drawn lenses agree with blame.
#[test]
fn lenses_are_true_after_every_event() {
    let world = world(&FILES);
    let Some(mut nvim) = Neovim::start(&world, "plugin-truth", &["a.txt"]) else {
        return;
    };
    nvim.is_attached();
    let script = world.home.join("notes.lua");
    std::fs::write(&script, NOTES).expect("written");
    nvim.ex(&format!("luafile {}", script.display()));
    nvim.waits("right_since ~= nil");
    let mut story = Story::new(&world, Drawn { nvim });
    play(&mut story);
    // on the screen, too
    story
        .view
        .nvim
        .screen
        .shows(&format!("{REWIND_LENS} · turn 1 “first”"));
    let messages = story.view.nvim.messages();
    assert!(
        !messages.contains("E5108") && !messages.contains("W12"),
        "{messages}"
    );
    assert_eq!(story.view.nvim.lua("vim.v.errmsg"), Value::from(""));
    assert!(story.report("Neovim") >= 42);
}
