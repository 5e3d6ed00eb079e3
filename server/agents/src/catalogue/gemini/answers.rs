//! The answers that it takes.

use crate::answer::{Answer, AnswerPart, HookOutput, ToolDecision};
use backstitch_core::capture::AgentEvent;
use serde_json::{Map, Value, json};

/// Parts of an answer that it takes, by event.
pub(super) const TAKEN: &[(&str, &[AnswerPart])] = &[
    (
        "BeforeTool",
        &[AnswerPart::Deny, AnswerPart::Input, AnswerPart::Stop],
    ),
    ("AfterTool", &[AnswerPart::Note, AnswerPart::Stop]),
    ("BeforeAgent", &[AnswerPart::Note]),
];

pub(super) fn encode(event: &AgentEvent, answer: &Answer) -> HookOutput {
    let mut specific = Map::new();
    if let Some(input) = &answer.input {
        specific.insert("tool_input".to_owned(), input.clone());
    }
    if let Some(note) = &answer.note {
        specific.insert("additionalContext".to_owned(), note.as_str().into());
    }
    let mut document = json!({});
    if !specific.is_empty() {
        specific.insert("hookEventName".to_owned(), event.name.as_str().into());
        document["hookSpecificOutput"] = Value::Object(specific);
    }
    if let Some(ToolDecision::Deny(reason)) = &answer.decision {
        document["decision"] = "deny".into();
        document["reason"] = reason.as_str().into();
    }
    if let Some(reason) = &answer.stop {
        document["continue"] = false.into();
        document["stopReason"] = reason.as_str().into();
    }
    HookOutput {
        stdout: format!("{document}\n").into_bytes(),
        ..HookOutput::default()
    }
}
