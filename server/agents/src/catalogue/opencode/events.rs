//! Its events, as its hooks report them.

use crate::fields::ParseError;
use crate::fields::{self, Common, Fields};
use crate::own_tools::is_own;
use crate::patch_headers;
use anyhow::Result;
use backstitch_core::capture::{
    AgentEvent, Effect, EventKind, PathReport, ToolCall, ToolReport, Wrote,
};
use serde_json::Value;
use std::path::PathBuf;

use super::hooks::NAME;
use super::tools::{PATCH, READ_ONLY_TOOLS};

pub(super) const COMMON: Common = Common {
    turn: Some("message_id"),
    ..Common::SHARED
};

pub(super) fn kind(name: &str, fields: &Fields<'_>) -> EventKind {
    match name {
        "session.created" => EventKind::SessionStart {
            source: "startup".to_owned(),
        },
        "chat.message" => {
            let text: String = fields.get("prompt").unwrap_or_default();
            let synthetic = text.trim().is_empty();
            EventKind::Prompt { text, synthetic }
        }
        "tool.execute.before" => EventKind::Before(call(fields)),
        "tool.execute.after" | "tool.execute.error" => {
            let call = call(fields);
            let exit: Option<i64> = fields
                .nested("tool_response")
                .nested("metadata")
                .get("exit");
            let failed = name == "tool.execute.error" || exit.is_some_and(|exit| exit != 0);
            let report = if failed {
                ToolReport {
                    exit,
                    ..ToolReport::default()
                }
            } else {
                report(&call, fields, exit)
            };
            EventKind::After {
                call,
                report,
                failed,
            }
        }
        "session.idle" if fields.text("agent_id").is_some() => EventKind::SubagentStop,
        "session.idle" => EventKind::Stop { background: false },
        "session.deleted" => EventKind::SessionEnd,
        "experimental.session.compacting" => EventKind::Compact,
        _ => EventKind::Other,
    }
}

pub(super) fn call(fields: &Fields<'_>) -> ToolCall {
    let tool = fields.text("tool_name").unwrap_or_default();
    let input = fields.nested("tool_input");
    let named = match tool.as_str() {
        "edit" | "write" => input.text("filePath").map(|path| vec![PathBuf::from(path)]),
        PATCH => {
            let patch: String = input.get("patchText").unwrap_or_default();
            Some(patch_headers::paths(&patch)).filter(|paths| !paths.is_empty())
        }
        _ => None,
    };
    let effect = match named {
        Some(paths) => Effect::Names(paths),
        None if READ_ONLY_TOOLS.contains(&tool.as_str()) || is_own(&tool) => Effect::Reads,
        None => Effect::Any { background: false },
    };
    fields::tool_call(fields, fields.text("tool_use_id"), tool, effect)
}

/// Returns an edit tool's report of its own work: the text that it wrote, where the input has all of it.
pub(super) fn report(call: &ToolCall, fields: &Fields<'_>, exit: Option<i64>) -> ToolReport {
    let Effect::Names(paths) = &call.effect else {
        return ToolReport {
            exit,
            ..ToolReport::default()
        };
    };
    let whole: Option<String> = fields.nested("tool_input").get("content");
    let whole = whole.filter(|_| call.tool == "write");
    let reported = paths.iter().map(|path| PathReport {
        path: path.clone(),
        found: None,
        wrote: whole.clone().map(Wrote::Whole),
    });
    ToolReport {
        paths: reported.collect(),
        exit: None,
    }
}

pub(super) fn parse(payload: &[u8]) -> Result<AgentEvent, ParseError> {
    fields::event(NAME, payload, COMMON, kind)
}

pub(super) fn error_text(payload: &[u8]) -> Option<String> {
    let payload: Value = serde_json::from_slice(payload).ok()?;
    let response = payload.get("tool_response")?;
    let text = response["error"].as_str();
    text.or_else(|| response["output"].as_str())
        .map(str::to_owned)
}
