//! Its events, as its hooks report them.

use crate::fields::ParseError;
use crate::fields::{self, Common, Fields};
use crate::own_tools::is_own;
use anyhow::Result;
use backstitch_core::capture::{AgentEvent, Effect, EventKind, ToolCall, ToolReport};
use serde_json::Value;
use std::path::PathBuf;

use super::hooks::NAME;
use super::tools::{EDIT_TOOLS, READ_ONLY_TOOLS};

pub(super) const COMMON: Common = Common {
    session: "conversation_id",
    turn: Some("generation_id"),
    ..Common::SHARED
};

pub(super) fn kind(name: &str, fields: &Fields<'_>) -> EventKind {
    match name {
        "sessionStart" => EventKind::SessionStart {
            source: "startup".to_owned(),
        },
        "beforeSubmitPrompt" => {
            let text: String = fields.get("prompt").unwrap_or_default();
            let synthetic = text.trim().is_empty();
            EventKind::Prompt { text, synthetic }
        }
        "preToolUse" => EventKind::Before(call(fields)),
        "postToolUse" | "postToolUseFailure" => {
            let call = call(fields);
            let failed = name == "postToolUseFailure";
            let paths = if failed {
                Vec::new()
            } else {
                fields::named_reports(&call.effect)
            };
            EventKind::After {
                report: ToolReport { paths, exit: None },
                call,
                failed,
            }
        }
        "subagentStop" => EventKind::SubagentStop,
        "preCompact" => EventKind::Compact,
        "stop" => EventKind::Stop { background: false },
        "sessionEnd" => EventKind::SessionEnd,
        _ => EventKind::Other,
    }
}

pub(super) fn call(fields: &Fields<'_>) -> ToolCall {
    let tool = fields.text("tool_name").unwrap_or_default();
    let input = fields.nested("tool_input");
    let named = ["file_path", "path", "target_notebook"]
        .iter()
        .find_map(|name| input.text(name))
        .filter(|_| EDIT_TOOLS.contains(&tool.as_str()));
    let effect = match named {
        Some(path) => Effect::Names(vec![PathBuf::from(path)]),
        None if READ_ONLY_TOOLS.contains(&tool.as_str()) || is_own(&tool) => Effect::Reads,
        None => Effect::Any { background: false },
    };
    fields::tool_call(fields, fields.text("tool_use_id"), tool, effect)
}

pub(super) fn parse(payload: &[u8]) -> Result<AgentEvent, ParseError> {
    let mut event = fields::event(NAME, payload, COMMON, kind)?;
    if event.cwd.is_none() {
        let text = String::from_utf8_lossy(payload);
        let fields = Fields::read(&text).unwrap_or_default();
        let roots: Vec<PathBuf> = fields.get("workspace_roots").unwrap_or_default();
        event.cwd = roots.into_iter().next();
    }
    Ok(event)
}

pub(super) fn error_text(payload: &[u8]) -> Option<String> {
    let payload: Value = serde_json::from_slice(payload).ok()?;
    Some(payload.get("error_message")?.as_str()?.to_owned())
}
