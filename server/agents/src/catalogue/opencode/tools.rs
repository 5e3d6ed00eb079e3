//! Its tools.

use crate::fields::command_text;
use serde_json::Value;

/// Tools that write no file themselves.
pub(super) const READ_ONLY_TOOLS: &[&str] = &[
    "read",
    "glob",
    "grep",
    "list",
    "webfetch",
    "websearch",
    "codesearch",
    "todowrite",
    "todoread",
    "skill",
    "lsp",
    "question",
    "plan_enter",
    "plan_exit",
    // a subagent's calls are reported one by one
    "task",
];

/// Tool that edits files by a patch.
pub(super) const PATCH: &str = "apply_patch";

pub(super) fn tools() -> Vec<&'static str> {
    let writing = ["edit", "write", PATCH, "bash"];
    let reading = READ_ONLY_TOOLS.iter().copied();
    writing.into_iter().chain(reading).collect()
}

pub(super) fn command(tool: &str, input: &Value) -> Option<String> {
    let is_reader = READ_ONLY_TOOLS.contains(&tool);
    command_text(input, tools().contains(&tool)).filter(|_| !is_reader)
}
