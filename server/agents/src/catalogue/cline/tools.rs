//! Its tools.

use crate::fields::command_text;
use serde_json::Value;

/// Tools that write no file themselves.
pub(super) const READ_ONLY_TOOLS: &[&str] = &[
    "read_files",
    "search_codebase",
    "fetch_web_content",
    "skills",
    "ask_question",
    "submit_and_exit",
    // tools of the extension
    "read_file",
    "list_files",
    "search_files",
    "list_code_definition_names",
    "web_fetch",
    "web_search",
    "ask_followup_question",
    "attempt_completion",
    "plan_mode_respond",
    "new_task",
];

pub(super) const EDIT_TOOLS: &[&str] = &["editor", "write_to_file", "replace_in_file"];

pub(super) const PATCH: &str = "apply_patch";

pub(super) const SHELL: &str = "run_commands";

pub(super) fn tools() -> Vec<&'static str> {
    let writing = EDIT_TOOLS.iter().chain(&[PATCH, SHELL, "execute_command"]);
    writing.chain(READ_ONLY_TOOLS).copied().collect()
}

pub(super) fn command(tool: &str, input: &Value) -> Option<String> {
    if READ_ONLY_TOOLS.contains(&tool) || EDIT_TOOLS.contains(&tool) {
        return None;
    }
    command_text(input, tools().contains(&tool))
}
