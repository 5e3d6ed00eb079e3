//! Its tools.

use crate::fields::command_text;
use serde_json::Value;

/// Tools that write no file themselves.
pub(super) const READ_ONLY_TOOLS: &[&str] = &[
    "Read",
    "Grep",
    "Glob",
    "LS",
    "SemanticSearch",
    "ReadLints",
    "WebSearch",
    "WebFetch",
    "TodoWrite",
    "AskQuestion",
    // a subagent's calls are reported one by one
    "Task",
];

pub(super) const EDIT_TOOLS: &[&str] = &["Write", "Edit", "StrReplace", "Delete", "EditNotebook"];

pub(super) fn tools() -> Vec<&'static str> {
    let writing = EDIT_TOOLS.iter().chain(&["Shell"]);
    writing.chain(READ_ONLY_TOOLS).copied().collect()
}

pub(super) fn command(tool: &str, input: &Value) -> Option<String> {
    let is_other = READ_ONLY_TOOLS.contains(&tool) || EDIT_TOOLS.contains(&tool);
    command_text(input, tools().contains(&tool)).filter(|_| !is_other)
}
