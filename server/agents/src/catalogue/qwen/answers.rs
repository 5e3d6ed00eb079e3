//! The answers that it takes.

use crate::answer::{Answer, AnswerPart, HookOutput, ToolDecision};
use backstitch_core::capture::AgentEvent;
use serde_json::{Map, json};

/// Parts of an answer that it takes, by event. A changed input is documented, and not applied.
pub(super) const TAKEN: &[(&str, &[AnswerPart])] = &[
    ("PreToolUse", &[AnswerPart::Deny]),
    ("UserPromptSubmit", &[AnswerPart::Note]),
];

pub(super) fn encode(event: &AgentEvent, answer: &Answer) -> HookOutput {
    let mut specific = Map::new();
    let mut add = |name: &str, value: &str| specific.insert(name.to_owned(), value.into());
    add("hookEventName", &event.name);
    if let Some(ToolDecision::Deny(reason)) = &answer.decision {
        add("permissionDecision", "deny");
        add("permissionDecisionReason", reason);
    }
    if let Some(note) = &answer.note {
        add("additionalContext", note);
    }
    let document = json!({ "hookSpecificOutput": specific });
    HookOutput {
        stdout: format!("{document}\n").into_bytes(),
        ..HookOutput::default()
    }
}
