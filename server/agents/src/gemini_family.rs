//! The common part of Gemini CLI and of Qwen Code, which began as a copy of it. It has the tools, their reports, and the parts of
//! messages. Pure.

use std::borrow::Cow;
use std::path::PathBuf;

use backstitch_core::capture::{Effect, PathReport, ToolCall, ToolReport, Wrote};
use serde::Deserialize;
use serde_json::Value;

use super::conversations::{Excerpts, MessageAuthor, PlainCall, PlainMessage};
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

/// A part of a message, as the model's interface has it.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct GeminiPart<'a> {
    #[serde(borrow)]
    pub text: Option<Cow<'a, str>>,
    /// The text is one of the model's thoughts.
    pub thought: bool,
    pub function_call: Option<CalledFunction>,
    pub function_response: Option<FunctionResult>,
}

/// A call of a tool.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct CalledFunction {
    pub id: String,
    pub name: String,
    pub args: Value,
}

/// The result of a call.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct FunctionResult {
    pub id: String,
    pub response: Value,
}

impl CalledFunction {
    pub fn plain(&self) -> PlainCall {
        let keys = ["file_path", "path", "absolute_path", "command"];
        let target = keys.iter().find_map(|key| self.args[key].as_str());
        PlainCall {
            name: self.name.clone(),
            target: target.and_then(|text| text.lines().next().map(str::to_owned)),
        }
    }
}

impl FunctionResult {
    /// Returns the text that the model was shown.
    pub fn plain(&self) -> String {
        let output = self.response.get("output").or(self.response.get("error"));
        let text = match output.unwrap_or(&self.response) {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        Excerpts::result(&text)
    }
}

/// Returns the texts of parts, without the model's thoughts and what hooks have added.
pub fn text(parts: &[GeminiPart<'_>]) -> String {
    let parts = parts.iter().filter(|part| !part.thought);
    let texts = parts.filter_map(|part| part.text.as_deref());
    let own = texts.filter(|text| !text.starts_with("<hook_context>"));
    own.collect::<Vec<&str>>().join("\n")
}

/// Returns parts as a plain message. None: they have nothing to read.
pub fn plain(role: MessageAuthor, parts: &[GeminiPart<'_>]) -> Option<PlainMessage> {
    let calls = parts.iter().filter_map(|part| part.function_call.as_ref());
    let results = parts
        .iter()
        .filter_map(|part| part.function_response.as_ref());
    let message = PlainMessage {
        role,
        text: text(parts),
        calls: calls.map(CalledFunction::plain).collect(),
        results: results.map(FunctionResult::plain).collect(),
    };
    let is_empty =
        message.text.is_empty() && message.calls.is_empty() && message.results.is_empty();
    (!is_empty).then_some(message)
}
