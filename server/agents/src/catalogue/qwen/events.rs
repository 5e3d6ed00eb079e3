//! Its events, as its hooks report them.

use crate::fields::ParseError;
use crate::fields::{self, Common, Fields};
use crate::gemini_family as family;
use anyhow::Result;
use backstitch_core::capture::{AgentEvent, EventKind, ToolReport};

use super::hooks::NAME;

/// Name of a prompt that is told again. Text for the model in the answer to it makes the agent loop for ever.
pub(super) const REPEAT: &str = "UserPromptSubmit (again)";

pub(super) const COMMON: Common = Common {
    turn: Some("prompt_id"),
    ..Common::SHARED
};

pub(super) fn kind(name: &str, fields: &Fields<'_>) -> EventKind {
    let call = || family::call(fields, fields.text("tool_call_id"));
    match name {
        "SessionStart" => EventKind::SessionStart {
            source: fields.text("source").unwrap_or_default(),
        },
        "UserPromptSubmit" => {
            let typed = fields.text("submitted_prompt");
            EventKind::Prompt {
                synthetic: typed.is_none(),
                text: typed.unwrap_or_default(),
            }
        }
        "PreToolUse" => EventKind::Before(call()),
        "PostToolUse" => {
            let call = call();
            let report = family::report(&call, fields);
            EventKind::After {
                call,
                report,
                failed: false,
            }
        }
        "PostToolUseFailure" => EventKind::After {
            call: call(),
            report: ToolReport::default(),
            failed: true,
        },
        "PostToolBatch" => EventKind::BatchEnd,
        "SubagentStop" => EventKind::SubagentStop,
        "Stop" | "StopFailure" => EventKind::Stop { background: false },
        "SessionEnd" => EventKind::SessionEnd,
        "PreCompact" => EventKind::Compact,
        _ => EventKind::Other,
    }
}

pub(super) fn parse(payload: &[u8]) -> Result<AgentEvent, ParseError> {
    let mut event = fields::event(NAME, payload, COMMON, kind)?;
    if let (
        "UserPromptSubmit",
        EventKind::Prompt {
            synthetic: true, ..
        },
    ) = (event.name.as_str(), &event.kind)
    {
        REPEAT.clone_into(&mut event.name);
    }
    Ok(event)
}
