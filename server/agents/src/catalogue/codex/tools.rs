//! Its tools.

use crate::fields::command_text;
use crate::own_tools::is_own;
use serde_json::Value;

/// Tool that edits files.
pub(super) const PATCH: &str = "apply_patch";

/// Tools that write no file themselves.
pub(super) const READ_ONLY_TOOLS: &[&str] = &[
    "view_image",
    "update_plan",
    "web_search",
    "request_user_input",
    "list_mcp_resources",
    "read_mcp_resource",
    // a subagent's calls are reported one by one
    "spawn_agent",
    "send_input",
    "wait",
    "close_agent",
    "resume_agent",
];

/// Beginning of the names of tools for subagents, which write no file themselves either.
pub(super) const OF_SUBAGENTS: &str = "collaboration";

pub(super) fn is_reader(tool: &str) -> bool {
    READ_ONLY_TOOLS.contains(&tool) || tool.starts_with(OF_SUBAGENTS) || is_own(tool)
}

pub(super) fn tools() -> Vec<&'static str> {
    let writing = [PATCH, "Bash"];
    let reading = READ_ONLY_TOOLS.iter().copied();
    writing.into_iter().chain(reading).collect()
}

pub(super) fn command(tool: &str, input: &Value) -> Option<String> {
    let is_other = tool == PATCH || is_reader(tool);
    command_text(input, tools().contains(&tool)).filter(|_| !is_other)
}
