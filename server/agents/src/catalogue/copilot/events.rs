//! Its events, as its hooks report them.

use crate::fields::ParseError;
use crate::fields::{self, Common, Fields};
use crate::own_tools::is_own;
use crate::patch_headers;
use anyhow::Result;
use backstitch_core::capture::{AgentEvent, Effect, EventKind, ToolCall, ToolReport};
use serde_json::Value;
use std::path::PathBuf;

use super::hooks::NAME;
use super::tools::READ_ONLY_TOOLS;

/// Names of the fields in a payload of VS Code.
pub(super) const IN_VSCODE: Common = Common {
    session: "sessionId",
    event: "hookEventName",
    turn: None,
};

/// A subagent's events have their own session, which belongs to that of its parent: it is a thread there, and neither its
/// task nor its end is one of a turn.
pub(super) fn of_subagent(event: &mut AgentEvent, payload: &[u8]) {
    let text = String::from_utf8_lossy(payload);
    let fields = Fields::read(&text).unwrap_or_default();
    if let Some(parent) = fields.text("parent_agent_id") {
        event.session = parent;
    }
    event.kind = match std::mem::replace(&mut event.kind, EventKind::Other) {
        EventKind::Prompt { .. } | EventKind::SessionStart { .. } | EventKind::SessionEnd => {
            EventKind::Other
        }
        EventKind::Stop { .. } => EventKind::SubagentStop,
        same @ (EventKind::Before(_)
        | EventKind::Announced { .. }
        | EventKind::Starts(_)
        | EventKind::After { .. }
        | EventKind::BatchEnd
        | EventKind::SubagentStop
        | EventKind::Compact
        | EventKind::Other) => same,
    };
}

/// Reads an event of an agent of VS Code.
pub fn of_vscode(payload: &[u8]) -> Result<AgentEvent, ParseError> {
    fields::event(NAME, payload, IN_VSCODE, kind)
}

pub(super) fn kind(name: &str, fields: &Fields<'_>) -> EventKind {
    match name {
        "SessionStart" => EventKind::SessionStart {
            source: fields.text("source").unwrap_or_default(),
        },
        "UserPromptSubmit" => {
            let text: String = fields.get("prompt").unwrap_or_default();
            let synthetic = text.trim().is_empty();
            EventKind::Prompt { text, synthetic }
        }
        "PreToolUse" => EventKind::Before(call(fields)),
        "PostToolUse" | "PostToolUseFailure" => {
            let result = fields.nested("tool_result");
            let kind = result.text("result_type");
            let failed = name != "PostToolUse" || kind.is_some_and(|kind| kind != "success");
            let call = call(fields);
            let paths = fields::named_reports(&call.effect);
            let told = result.text("text_result_for_llm").unwrap_or_default();
            EventKind::After {
                report: ToolReport {
                    paths,
                    exit: exit_status(&told).filter(|_| call.tool == "Bash"),
                },
                call,
                failed,
            }
        }
        "SubagentStop" => EventKind::SubagentStop,
        "PreCompact" => EventKind::Compact,
        "Stop" => EventKind::Stop { background: false },
        "SessionEnd" => EventKind::SessionEnd,
        _ => EventKind::Other,
    }
}

pub(super) fn call(fields: &Fields<'_>) -> ToolCall {
    let tool = fields.text("tool_name").unwrap_or_default();
    let input = fields.nested("tool_input");
    let one = |name: &str| input.text(name).map(|path| vec![PathBuf::from(path)]);
    let named = match tool.as_str() {
        "Edit" | "Write" | "edit" | "create" => one("path").or_else(|| one("file_path")),
        "create_file"
        | "replace_string_in_file"
        | "insert_edit_into_file"
        | "edit_notebook_file" => one("filePath"),
        "multi_replace_string_in_file" => {
            let all: Vec<Value> = input.get("replacements").unwrap_or_default();
            let paths = all.iter().filter_map(|one| one["filePath"].as_str());
            let mut paths: Vec<PathBuf> = paths.map(PathBuf::from).collect();
            paths.dedup();
            Some(paths)
        }
        "editFiles" => input.get("files"),
        "apply_patch" => {
            let patch: String = input.get("input").unwrap_or_default();
            Some(patch_headers::paths(&patch))
        }
        _ => None,
    };
    let effect = match named.filter(|paths| !paths.is_empty()) {
        Some(paths) => Effect::Names(paths),
        None if READ_ONLY_TOOLS.contains(&tool.as_str()) || is_own(&tool) => Effect::Reads,
        None => Effect::Any {
            background: input.get("isBackground").unwrap_or(false),
        },
    };
    fields::tool_call(fields, fields.text("tool_use_id"), tool, effect)
}

/// Reads the end of a shell's result: `<shellId: 0 completed with exit code 0>`.
pub(super) fn exit_status(told: &str) -> Option<i64> {
    let (_, end) = told.rsplit_once("completed with exit code ")?;
    end.trim_end().strip_suffix('>')?.parse().ok()
}

pub(super) fn parse(payload: &[u8]) -> Result<AgentEvent, ParseError> {
    let mut event = fields::event(NAME, payload, Common::SHARED, kind)
        .or_else(|error| of_vscode(payload).map_err(|_| error))?;
    if event.subagent.is_some() {
        of_subagent(&mut event, payload);
    }
    Ok(event)
}

pub(super) fn error_text(payload: &[u8]) -> Option<String> {
    let payload: Value = serde_json::from_slice(payload).ok()?;
    let told = payload["tool_result"]["text_result_for_llm"].as_str();
    told.or_else(|| payload["error"].as_str())
        .map(str::to_owned)
}
