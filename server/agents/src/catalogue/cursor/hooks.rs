//! The hooks in its settings.

use crate::flat_hooks::FlatHooks;
use serde_json::json;

pub(super) const NAME: &str = "cursor";

pub(super) const HOOKS: FlatHooks = FlatHooks {
    agent: NAME,
    events: &[
        "sessionStart",
        "sessionEnd",
        "beforeSubmitPrompt",
        "preToolUse",
        "postToolUse",
        "postToolUseFailure",
        "subagentStop",
        "preCompact",
        "stop",
    ],
    holding: &["preToolUse"],
    // an hour; its own limit is not documented
    hold: 3600,
    command: "command",
    rest: |seconds, strict| {
        let mut rest = json!({ "timeout": seconds });
        if strict {
            rest["failClosed"] = true.into();
        }
        rest
    },
    timeout: 60,
    versioned: true,
};
