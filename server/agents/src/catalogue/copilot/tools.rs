//! Its tools.

use crate::fields::command_text;
use serde_json::Value;

/// Tools that write no file themselves.
pub(super) const READ_ONLY_TOOLS: &[&str] = &[
    "Read",
    "Glob",
    "Grep",
    "LS",
    "WebFetch",
    "WebSearch",
    "TodoWrite",
    // a subagent's calls are reported one by one
    "Task",
    "Agent",
    "view",
    "glob",
    "grep",
    "web_fetch",
    "web_search",
    "report_intent",
    "update_todo",
    "ask_user",
    "task",
    // in VS Code
    "read_file",
    "list_dir",
    "file_search",
    "grep_search",
    "semantic_search",
    "get_errors",
    "get_changed_files",
    "get_terminal_output",
    "list_code_usages",
    "vscode_listCodeUsages",
    "vscode_askQuestions",
    "fetch_webpage",
    "view_image",
    "manage_todo_list",
    "runSubagent",
];

pub(super) fn tools() -> Vec<&'static str> {
    let writing = [
        "Edit",
        "Write",
        "Bash",
        "create_file",
        "replace_string_in_file",
        "multi_replace_string_in_file",
        "insert_edit_into_file",
        "edit_notebook_file",
        "apply_patch",
        "run_in_terminal",
    ];
    let reading = READ_ONLY_TOOLS.iter().copied();
    writing.into_iter().chain(reading).collect()
}

pub(super) fn command(tool: &str, input: &Value) -> Option<String> {
    let is_reader = READ_ONLY_TOOLS.contains(&tool);
    command_text(input, tools().contains(&tool)).filter(|_| !is_reader)
}
