//! The answers that it takes.

use crate::answer::{Answer, AnswerPart, HookOutput, ToolDecision};
use backstitch_core::capture::AgentEvent;
use serde_json::{Map, Value, json};

/// Parts of an answer that it takes, by event. A question would let the call run.
pub(super) const TAKEN: &[(&str, &[AnswerPart])] = &[
    ("PreToolUse", &[AnswerPart::Deny, AnswerPart::Input]),
    ("UserPromptSubmit", &[AnswerPart::Note]),
];

pub(super) fn encode(event: &AgentEvent, answer: &Answer) -> HookOutput {
    let mut specific = Map::new();
    let mut add = |name: &str, value: Value| specific.insert(name.to_owned(), value);
    add("hookEventName", event.name.as_str().into());
    if let Some(ToolDecision::Deny(reason)) = &answer.decision {
        add("permissionDecision", "deny".into());
        add("permissionDecisionReason", reason.as_str().into());
    } else if let Some(input) = &answer.input {
        // it takes a changed input with nothing less
        add("permissionDecision", "allow".into());
        add("updatedInput", input.clone());
    }
    if let Some(note) = &answer.note {
        add("additionalContext", note.as_str().into());
    }
    let document = json!({ "hookSpecificOutput": specific });
    HookOutput {
        stdout: format!("{document}\n").into_bytes(),
        ..HookOutput::default()
    }
}
