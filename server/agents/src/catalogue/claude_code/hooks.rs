//! Hooks in Claude Code's `settings.json`.

use crate::hook_table::HookTable;
use crate::settings_file::JsonForm;

pub const TABLE: HookTable = HookTable {
    agent: super::events::NAME,
    events: EVENTS,
    of_tools: TOOL_EVENTS,
    holding: HOLDING,
    // a day
    hold: 86_400,
    timeout: 60,
    short: &[],
    units: 1,
    named: false,
    blocks: true,
    form: JsonForm::Marked,
};

/// Events that get a hook.
const EVENTS: &[&str] = &[
    "SessionStart",
    "SessionEnd",
    "UserPromptSubmit",
    "PreToolUse",
    "PostToolUse",
    "PostToolUseFailure",
    "PostToolBatch",
    "SubagentStart",
    "SubagentStop",
    "Stop",
    "StopFailure",
    "PreCompact",
    "PermissionRequest",
    "PermissionDenied",
];

/// Events whose hooks match a tool's name.
const TOOL_EVENTS: &[&str] = &[
    "PreToolUse",
    "PostToolUse",
    "PostToolUseFailure",
    "PermissionRequest",
    "PermissionDenied",
];

/// Events at which a hook may hold a call for long.
const HOLDING: &[&str] = &["PreToolUse", "PostToolUse", "PostToolUseFailure"];
