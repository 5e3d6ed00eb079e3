//! The answers that it takes.

use crate::answer::{Answer, AnswerPart, HookOutput, ToolDecision};
use backstitch_core::capture::AgentEvent;
use serde_json::{Map, Value};

/// Parts of an answer that it takes, by event. A call that is denied ends its run.
pub(super) const TAKEN: &[(&str, &[AnswerPart])] = &[
    (
        "PreToolUse",
        &[
            AnswerPart::Deny,
            AnswerPart::Input,
            AnswerPart::Note,
            AnswerPart::Stop,
        ],
    ),
    ("PostToolUse", &[AnswerPart::Note, AnswerPart::Stop]),
];

pub(super) fn encode(_: &AgentEvent, answer: &Answer) -> HookOutput {
    let mut document = Map::new();
    let mut add = |name: &str, value: Value| document.insert(name.to_owned(), value);
    let denied = match &answer.decision {
        Some(ToolDecision::Deny(reason)) => Some(reason),
        Some(ToolDecision::Allow(_) | ToolDecision::Ask(_)) | None => answer.stop.as_ref(),
    };
    if let Some(reason) = denied {
        add("cancel", true.into());
        add("errorMessage", reason.as_str().into());
    }
    if let Some(input) = &answer.input {
        add("overrideInput", input.clone());
    }
    if let Some(note) = &answer.note {
        add("context", note.as_str().into());
    }
    HookOutput {
        stdout: format!("{}\n", Value::Object(document)).into_bytes(),
        ..HookOutput::default()
    }
}

pub(super) fn with_input(payload: &[u8], input: &Value) -> Option<Vec<u8>> {
    let mut payload: Value = serde_json::from_slice(payload).ok()?;
    let place = match payload.get_mut("tool_call") {
        Some(call) => call.get_mut("input")?,
        None => payload.get_mut("preToolUse")?.get_mut("parameters")?,
    };
    *place = input.clone();
    serde_json::to_vec(&payload).ok()
}
