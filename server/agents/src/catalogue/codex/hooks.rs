//! The hooks in its settings.

use crate::hook_table::HookTable;
use crate::settings_file::JsonForm;

pub(super) const NAME: &str = "codex";

pub(super) const TABLE: HookTable = HookTable {
    agent: NAME,
    events: &[
        "SessionStart",
        "SessionEnd",
        "UserPromptSubmit",
        "PreToolUse",
        "PostToolUse",
        "SubagentStart",
        "SubagentStop",
        "Stop",
        "PreCompact",
    ],
    of_tools: &["PreToolUse", "PostToolUse"],
    holding: &["PreToolUse", "PostToolUse"],
    // its own default
    hold: 600,
    timeout: 60,
    // a longer time is an error line in each of its sessions
    short: &[("SessionEnd", 3)],
    units: 1,
    named: false,
    blocks: false,
    form: JsonForm::Plain,
};
