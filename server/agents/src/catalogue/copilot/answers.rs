//! The answers that it takes.

use crate::answer::{Answer, AnswerPart, HookOutput, ToolDecision};
use backstitch_core::capture::AgentEvent;
use serde_json::json;

/// Parts of an answer that it takes, by event.
pub(super) const TAKEN: &[(&str, &[AnswerPart])] =
    &[("PreToolUse", &[AnswerPart::Deny, AnswerPart::Input])];

pub(super) fn encode(event: &AgentEvent, answer: &Answer) -> HookOutput {
    // the command line reads the outer fields, VS Code the inner ones
    let mut document = json!({});
    let mut inner = json!({ "hookEventName": event.name });
    if let Some(ToolDecision::Deny(reason)) = &answer.decision {
        for place in [&mut document, &mut inner] {
            place["permissionDecision"] = "deny".into();
            place["permissionDecisionReason"] = reason.as_str().into();
        }
    } else if let Some(input) = &answer.input {
        // neither takes a changed input with anything less
        for (place, name) in [
            (&mut document, "modifiedArgs"),
            (&mut inner, "updatedInput"),
        ] {
            place["permissionDecision"] = "allow".into();
            place[name] = input.clone();
        }
    }
    document["hookSpecificOutput"] = inner;
    HookOutput {
        stdout: format!("{document}\n").into_bytes(),
        ..HookOutput::default()
    }
}
