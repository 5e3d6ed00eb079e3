//! The hooks in its settings.

use crate::hook_table::HookTable;
use crate::settings_file::JsonForm;

pub(super) const NAME: &str = "qwen";

pub(super) const TABLE: HookTable = HookTable {
    agent: NAME,
    events: &[
        "SessionStart",
        "SessionEnd",
        "UserPromptSubmit",
        "PreToolUse",
        "PostToolUse",
        "PostToolUseFailure",
        "PostToolBatch",
        "SubagentStop",
        "Stop",
    ],
    of_tools: &["PreToolUse", "PostToolUse", "PostToolUseFailure"],
    holding: &["PreToolUse", "PostToolUse", "PostToolUseFailure"],
    // an hour
    hold: 3600,
    timeout: 60,
    short: &[],
    units: 1000,
    named: true,
    blocks: false,
    form: JsonForm::Commented,
};
