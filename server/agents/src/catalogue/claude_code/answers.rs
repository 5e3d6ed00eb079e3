//! Output of a hook in Claude Code's form. Pure.

use backstitch_core::capture::AgentEvent;
use serde_json::{Map, Value, json};

use crate::answer::{Answer, AnswerPart, HookOutput, ToolDecision};

/// Parts of an answer that Claude Code takes, by event.
pub const TAKEN: &[(&str, &[AnswerPart])] = &[
    (
        "PreToolUse",
        &[
            AnswerPart::Allow,
            AnswerPart::Deny,
            AnswerPart::Ask,
            AnswerPart::Input,
            AnswerPart::Note,
            AnswerPart::Stop,
        ],
    ),
    ("PostToolUse", &[AnswerPart::Note, AnswerPart::Stop]),
    ("PostToolUseFailure", &[AnswerPart::Note, AnswerPart::Stop]),
    ("UserPromptSubmit", &[AnswerPart::Note]),
];

/// Encodes an answer. A changed input needs no permission beside it; the agent asks its user as usual then.
pub fn encode(event: &AgentEvent, answer: &Answer) -> HookOutput {
    let mut specific = Map::new();
    let mut add = |name: &str, value: Value| specific.insert(name.to_owned(), value);
    add("hookEventName", event.name.as_str().into());
    if let Some(decision) = &answer.decision {
        let (decision, reason) = match decision {
            ToolDecision::Allow(reason) => ("allow", reason),
            ToolDecision::Deny(reason) => ("deny", reason),
            ToolDecision::Ask(reason) => ("ask", reason),
        };
        add("permissionDecision", decision.into());
        add("permissionDecisionReason", reason.as_str().into());
    }
    if let Some(input) = &answer.input {
        add("updatedInput", input.clone());
    }
    if let Some(note) = &answer.note {
        add("additionalContext", note.as_str().into());
    }
    let mut document = json!({ "hookSpecificOutput": specific });
    if let Some(reason) = &answer.stop {
        document["continue"] = false.into();
        document["stopReason"] = reason.as_str().into();
    }
    HookOutput {
        stdout: format!("{document}\n").into_bytes(),
        ..HookOutput::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adapter::Agent as _;
    use crate::answer::NotTaken;
    use crate::catalogue::claude_code::ClaudeCode;

    macro_rules! recorded {
        ($name:literal) => {
            ClaudeCode
                .parse(include_bytes!(concat!(
                    env!("CARGO_MANIFEST_DIR"),
                    "/../../tests/agents/payloads/claude/",
                    $name,
                    ".json"
                )))
                .expect("a recorded payload is an event")
        };
    }

    fn said(event: &AgentEvent, answer: &Answer) -> Value {
        let output = ClaudeCode.answer(event, answer).expect("it is taken");
        assert_eq!(output.exit_status, 0);
        serde_json::from_slice(&output.stdout).expect("one JSON document")
    }

    fn decided(decision: ToolDecision) -> Answer {
        Answer {
            decision: Some(decision),
            ..Answer::default()
        }
    }

    fn note() -> Answer {
        Answer {
            note: Some("2 files were restored".into()),
            ..Answer::default()
        }
    }

    #[test]
    fn no_answer_is_no_output() {
        for event in [
            recorded!("SessionStart-startup"),
            recorded!("PreToolUse-Edit"),
            recorded!("PostToolUse-Edit"),
            recorded!("Stop"),
        ] {
            let output = ClaudeCode.answer(&event, &Answer::default());
            assert_eq!(output, Ok(HookOutput::default()), "{}", event.name);
        }
    }

    #[test]
    fn decisions_about_a_call() {
        let event = recorded!("PreToolUse-Bash");
        for (decision, word) in [
            (ToolDecision::Allow("why \"so\"\n".into()), "allow"),
            (ToolDecision::Deny("why \"so\"\n".into()), "deny"),
            (ToolDecision::Ask("why \"so\"\n".into()), "ask"),
        ] {
            let expected = json!({ "hookSpecificOutput": {
                "hookEventName": "PreToolUse",
                "permissionDecision": word,
                "permissionDecisionReason": "why \"so\"\n",
            } });
            assert_eq!(said(&event, &decided(decision)), expected);
        }
    }

    #[test]
    fn changed_input_is_whole_and_may_have_a_note() {
        let event = recorded!("PreToolUse-Edit");
        let input = json!({ "file_path": "/w/a", "old_string": "one", "new_string": "1" });
        let mut answer = Answer {
            input: Some(input.clone()),
            ..note()
        };
        let mut expected = json!({ "hookSpecificOutput": {
            "hookEventName": "PreToolUse",
            "updatedInput": input,
            "additionalContext": "2 files were restored",
        } });
        assert_eq!(said(&event, &answer), expected);
        answer.decision = Some(ToolDecision::Allow("checked".into()));
        expected["hookSpecificOutput"]["permissionDecision"] = json!("allow");
        expected["hookSpecificOutput"]["permissionDecisionReason"] = json!("checked");
        assert_eq!(said(&event, &answer), expected);
    }

    #[test]
    fn note_for_the_model_after_a_call_and_at_a_prompt() {
        for event in [recorded!("PostToolUse-Bash"), recorded!("UserPromptSubmit")] {
            let expected = json!({ "hookSpecificOutput": {
                "hookEventName": event.name,
                "additionalContext": "2 files were restored",
            } });
            assert_eq!(said(&event, &note()), expected);
        }
    }

    #[test]
    fn what_the_agent_does_not_take_is_an_error() {
        let not_taken = |event: AgentEvent, answer: &Answer| -> NotTaken {
            let answered = ClaudeCode.answer(&event, answer);
            answered.expect_err("it is not taken")
        };
        let late = not_taken(
            recorded!("PostToolUse-Edit"),
            &decided(ToolDecision::Deny("too late".into())),
        );
        assert_eq!(
            late.to_string(),
            "claude-code does not take a denial at PostToolUse"
        );
        let stopped = not_taken(recorded!("Stop"), &note());
        assert_eq!(
            (stopped.part, stopped.event.as_str()),
            (AnswerPart::Note, "Stop")
        );
    }
}
