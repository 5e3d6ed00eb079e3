//! The hooks in its settings.

use crate::flat_hooks::FlatHooks;
use serde_json::json;

pub(super) const NAME: &str = "copilot";

pub(super) const EVENTS: &[&str] = &[
    "SessionStart",
    "SessionEnd",
    "UserPromptSubmit",
    "PreToolUse",
    "PostToolUse",
    "PostToolUseFailure",
    "SubagentStop",
    "PreCompact",
    "Stop",
];

/// Events at which a hook may hold a call.
pub(super) const HOLDING: &[&str] = &["PreToolUse", "PostToolUse", "PostToolUseFailure"];

/// Time in seconds that it waits for a hook which may hold a call, and for any other. A longer one was not tried.
pub(super) const HOLD: u32 = 100;

pub(super) const TIMEOUT: u32 = 30;

pub(super) const HOOKS: FlatHooks = FlatHooks {
    agent: NAME,
    events: EVENTS,
    holding: HOLDING,
    hold: HOLD,
    command: "bash",
    rest: |seconds, _| json!({ "type": "command", "timeoutSec": seconds, "timeout": seconds }),
    timeout: TIMEOUT,
    versioned: true,
};
