//! The common part of Gemini CLI and of Qwen Code, which began as a copy of it: the tools, and their reports. Pure.

use std::path::PathBuf;

use backstitch_core::capture::{Effect, PathReport, ToolCall, ToolReport, Wrote};
use serde_json::Value;

use super::fields::{self, Fields, command_text};
use super::own_tools::is_own;

/// Tools that write no file themselves, under the names of both.
pub const READ_ONLY_TOOLS: &[&str] = &[
    "read_file",
    "read_many_files",
    "list_directory",
    "glob",
    "grep_search",
    "search_file_content",
    "web_fetch",
    "web_search",
    "google_web_search",
    "write_todos",
    "todo_write",
    "ask_user",
    "ask_user_question",
    "enter_plan_mode",
    "exit_plan_mode",
    "get_internal_docs",
    "activate_skill",
    "skill",
    // a subagent's calls are reported one by one
    "task",
    "agent",
    "invoke_agent",
    "complete_task",
    "update_topic",
    "list_background_processes",
    "read_background_output",
    "list_agents",
];

/// Name of the shell.
const SHELL: &str = "run_shell_command";

/// Names of the usual tools. `edit`: the agent's own name of the tool that replaces text.
pub fn tools(edit: &'static str) -> Vec<&'static str> {
    let writing = [edit, "write_file", SHELL];
    let reading = READ_ONLY_TOOLS.iter().copied();
    writing.into_iter().chain(reading).collect()
}

/// Returns the call of a payload. `id`: the agent's own id of it.
pub fn call(fields: &Fields<'_>, id: Option<String>) -> ToolCall {
    let tool = fields.text("tool_name").unwrap_or_default();
    let input = fields.nested("tool_input");
    let effect = match tool.as_str() {
        "replace" | "edit" | "write_file" => input
            .text("file_path")
            .map(|path| Effect::Names(vec![PathBuf::from(path)])),
        tool if READ_ONLY_TOOLS.contains(&tool) || is_own(tool) => Some(Effect::Reads),
        _ => None,
    };
    let effect = effect.unwrap_or(Effect::Any {
        background: input.get("is_background").unwrap_or(false),
    });
    fields::tool_call(fields, id, tool, effect)
}

/// Returns an edit tool's report of its own work: its display has the file before and after.
pub fn report(call: &ToolCall, fields: &Fields<'_>) -> ToolReport {
    let Effect::Names(paths) = &call.effect else {
        return ToolReport::default();
    };
    let shown = fields.nested("tool_response").nested("returnDisplay");
    let is_new = shown.get("isNewFile").unwrap_or(false);
    let found: Option<String> = shown.get("originalContent");
    let reported = paths.iter().map(|path| PathReport {
        path: path.clone(),
        found: found.clone().filter(|_| !is_new),
        wrote: shown.get("newContent").map(Wrote::Whole),
    });
    ToolReport {
        paths: reported.collect(),
        exit: None,
    }
}

/// Returns the text of a shell command.
pub fn command(tools: &[&str], tool: &str, input: &Value) -> Option<String> {
    let is_reader = READ_ONLY_TOOLS.contains(&tool);
    command_text(input, tools.contains(&tool)).filter(|_| !is_reader)
}
