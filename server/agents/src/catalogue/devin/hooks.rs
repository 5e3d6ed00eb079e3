//! The hooks in its settings.

use crate::flat_hooks::FlatHooks;
use serde_json::json;

pub(super) const NAME: &str = "devin";

pub(super) const HOOKS: FlatHooks = FlatHooks {
    agent: NAME,
    events: &[
        "pre_user_prompt",
        "pre_write_code",
        "post_write_code",
        "pre_run_command",
        "post_run_command",
        "pre_mcp_tool_use",
        "post_mcp_tool_use",
        "post_cascade_response",
    ],
    holding: &["pre_write_code", "pre_run_command", "pre_mcp_tool_use"],
    // its own limit is not documented
    hold: 600,
    command: "command",
    rest: |_, _| json!({ "show_output": false }),
    timeout: 60,
    versioned: false,
};
