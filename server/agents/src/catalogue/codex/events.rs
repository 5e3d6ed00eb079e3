//! Its events, as its hooks report them.

use crate::fields::ParseError;
use crate::fields::{self, Common, Fields};
use crate::patch_headers;
use anyhow::Result;
use backstitch_core::capture::{AgentEvent, Effect, EventKind, ToolCall, ToolReport};
use serde_json::Value;
use std::time::Duration;

use super::hooks::NAME;
use super::tools::{PATCH, is_reader};

/// Beginning of the ids of calls that a script of the model makes. After 30 seconds the model learns that its script still
/// runs, and the call is lost if it ends the turn then.
pub(super) const IN_SCRIPT: &str = "exec-";

/// Time for which such a call may be held, in seconds.
pub(super) const SCRIPT_HOLD: u32 = 25;

pub(super) const COMMON: Common = Common {
    turn: Some("turn_id"),
    ..Common::SHARED
};

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
        "PostToolUse" => {
            let response: String = fields.get("tool_response").unwrap_or_default();
            let exit = exit_status(&response);
            let call = call(fields);
            let paths = fields::named_reports(&call.effect);
            EventKind::After {
                report: ToolReport {
                    paths,
                    exit: exit.filter(|_| call.tool == "Bash"),
                },
                call,
                failed: exit.is_some_and(|exit| exit != 0),
            }
        }
        // a subagent's turn has its own id, and is part of the turn that began it
        "SubagentStart" => EventKind::Prompt {
            text: String::new(),
            synthetic: true,
        },
        "SubagentStop" => EventKind::SubagentStop,
        "Stop" | "Interrupt" => EventKind::Stop { background: false },
        "SessionEnd" => EventKind::SessionEnd,
        "PreCompact" => EventKind::Compact,
        _ => EventKind::Other,
    }
}

pub(super) fn call(fields: &Fields<'_>) -> ToolCall {
    let tool = fields.text("tool_name").unwrap_or_default();
    let input = fields.nested("tool_input");
    let effect = match tool.as_str() {
        PATCH => {
            let patch: String = input.get("command").unwrap_or_default();
            let paths = patch_headers::paths(&patch);
            if paths.is_empty() {
                Effect::Any { background: false }
            } else {
                Effect::Names(paths)
            }
        }
        tool if is_reader(tool) => Effect::Reads,
        _ => Effect::Any { background: false },
    };
    fields::tool_call(fields, fields.text("tool_use_id"), tool, effect)
}

/// Reads the first line of a response: `Exit code: 2`.
pub(super) fn exit_status(response: &str) -> Option<i64> {
    let status = response
        .lines()
        .next()?
        .trim()
        .strip_prefix("Exit code: ")?;
    status.parse().ok()
}

pub(super) fn parse(payload: &[u8]) -> Result<AgentEvent, ParseError> {
    fields::event(NAME, payload, COMMON, kind)
}

pub(super) fn error_text(payload: &[u8]) -> Option<String> {
    let payload: Value = serde_json::from_slice(payload).ok()?;
    Some(payload.get("tool_response")?.as_str()?.to_owned())
}

pub(super) fn longest_hold(event: &AgentEvent) -> Option<Duration> {
    let (EventKind::Before(call) | EventKind::After { call, .. }) = &event.kind else {
        return None;
    };
    let is_in_script = call.id.as_ref().is_some_and(|id| id.starts_with(IN_SCRIPT));
    is_in_script.then(|| Duration::from_secs(SCRIPT_HOLD.into()))
}
