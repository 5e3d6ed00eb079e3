//! Its events, as its hooks report them.

use crate::fields::ParseError;
use crate::fields::{self, Common, Fields};
use crate::gemini_family as family;
use anyhow::Result;
use backstitch_core::capture::{AgentEvent, EventKind, ToolReport};
use serde_json::Value;

use super::hooks::NAME;

pub(super) fn kind(name: &str, fields: &Fields<'_>) -> EventKind {
    match name {
        "SessionStart" => EventKind::SessionStart {
            source: fields.text("source").unwrap_or_default(),
        },
        "BeforeAgent" => {
            let text: String = fields.get("prompt").unwrap_or_default();
            let synthetic = text.trim().is_empty();
            EventKind::Prompt { text, synthetic }
        }
        "BeforeTool" => EventKind::Before(family::call(fields, None)),
        "AfterTool" => {
            let call = family::call(fields, None);
            let error = fields.nested("tool_response").raw("error");
            let failed = error.is_some_and(|error| error != "null");
            let report = if failed {
                ToolReport::default()
            } else {
                family::report(&call, fields)
            };
            EventKind::After {
                call,
                report,
                failed,
            }
        }
        "AfterAgent" => EventKind::Stop { background: false },
        "SessionEnd" => EventKind::SessionEnd,
        _ => EventKind::Other,
    }
}

pub(super) fn parse(payload: &[u8]) -> Result<AgentEvent, ParseError> {
    fields::event(NAME, payload, Common::SHARED, kind)
}

pub(super) fn error_text(payload: &[u8]) -> Option<String> {
    let payload: Value = serde_json::from_slice(payload).ok()?;
    let error = &payload["tool_response"]["error"];
    Some(error["message"].as_str()?.to_owned())
}
