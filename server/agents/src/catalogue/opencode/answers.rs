//! The answers that it takes.

use crate::answer::{Answer, AnswerPart, HookOutput, ToolDecision};
use backstitch_core::capture::AgentEvent;
use serde_json::json;

/// Parts of an answer that the plugin takes, by event.
pub(super) const TAKEN: &[(&str, &[AnswerPart])] = &[
    (
        "tool.execute.before",
        &[
            AnswerPart::Deny,
            AnswerPart::Input,
            AnswerPart::Note,
            AnswerPart::Stop,
        ],
    ),
    ("tool.execute.after", &[AnswerPart::Note, AnswerPart::Stop]),
];

pub(super) fn encode(_: &AgentEvent, answer: &Answer) -> HookOutput {
    let mut document = json!({});
    if let Some(ToolDecision::Deny(reason)) = &answer.decision {
        document["deny"] = reason.as_str().into();
    }
    if let Some(input) = &answer.input {
        document["input"] = input.clone();
    }
    for (name, text) in [("note", &answer.note), ("stop", &answer.stop)] {
        if let Some(text) = text {
            document[name] = text.as_str().into();
        }
    }
    HookOutput {
        stdout: format!("{document}\n").into_bytes(),
        ..HookOutput::default()
    }
}
