//! The answers that it takes.

use crate::answer::{Answer, AnswerPart, HookOutput, ToolDecision};
use backstitch_core::capture::AgentEvent;

/// Parts of an answer that it takes, by event.
pub(super) const TAKEN: &[(&str, &[AnswerPart])] = &[
    ("pre_write_code", &[AnswerPart::Deny]),
    ("pre_run_command", &[AnswerPart::Deny]),
    ("pre_mcp_tool_use", &[AnswerPart::Deny]),
];

/// Exit status of a hook that refuses what is about to happen, with the reason on stderr.
pub(super) const REFUSED: u8 = 2;

pub(super) fn encode(_: &AgentEvent, answer: &Answer) -> HookOutput {
    let Some(ToolDecision::Deny(reason)) = &answer.decision else {
        return HookOutput::default();
    };
    HookOutput {
        stderr: format!("{reason}\n").into_bytes(),
        exit_status: REFUSED,
        ..HookOutput::default()
    }
}
