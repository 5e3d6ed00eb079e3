//! The answers that it takes.

use crate::answer::{Answer, AnswerPart, HookOutput, ToolDecision};
use backstitch_core::capture::AgentEvent;
use serde_json::json;

/// Parts of an answer that it takes, by event. It does not wait for an answer after a call.
pub(super) const TAKEN: &[(&str, &[AnswerPart])] = &[
    ("preToolUse", &[AnswerPart::Deny, AnswerPart::Input]),
    ("postToolUse", &[AnswerPart::Note]),
];

pub(super) fn encode(_: &AgentEvent, answer: &Answer) -> HookOutput {
    let mut document = json!({});
    if let Some(ToolDecision::Deny(reason)) = &answer.decision {
        document["permission"] = "deny".into();
        document["user_message"] = reason.as_str().into();
        document["agent_message"] = reason.as_str().into();
    } else if let Some(input) = &answer.input {
        document["permission"] = "allow".into();
        document["updated_input"] = input.clone();
    }
    if let Some(note) = &answer.note {
        document["additional_context"] = note.as_str().into();
    }
    HookOutput {
        stdout: format!("{document}\n").into_bytes(),
        ..HookOutput::default()
    }
}
