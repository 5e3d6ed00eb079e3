//! The answer of a hook to its agent, in one vocabulary for all agents. Pure.

use std::process::ExitCode;

use serde_json::Value;

/// Answer to an event. The default says nothing, so that the agent continues.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Answer {
    pub decision: Option<ToolDecision>,
    /// New input of the tool call, as a whole.
    pub input: Option<Value>,
    /// Text for the model.
    pub note: Option<String>,
    /// The turn ends here, for this reason.
    pub stop: Option<String>,
}

/// Decision about a tool call that waits for it, with the reason for the user and the model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ToolDecision {
    /// The call runs, and the agent does not ask its user. Only for agents that take a changed input with nothing less.
    Allow(String),
    /// The call does not run.
    Deny(String),
    /// The agent asks its user.
    Ask(String),
}

/// Part of an answer. An agent takes some of them, at some of its events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnswerPart {
    Allow,
    Deny,
    Ask,
    Input,
    Note,
    Stop,
}

impl Answer {
    /// Returns the parts of this answer.
    pub fn parts(&self) -> Vec<AnswerPart> {
        let decision = self.decision.as_ref().map(|decision| match decision {
            ToolDecision::Allow(_) => AnswerPart::Allow,
            ToolDecision::Deny(_) => AnswerPart::Deny,
            ToolDecision::Ask(_) => AnswerPart::Ask,
        });
        let input = self.input.as_ref().map(|_| AnswerPart::Input);
        let note = self.note.as_ref().map(|_| AnswerPart::Note);
        let stop = self.stop.as_ref().map(|_| AnswerPart::Stop);
        [decision, input, note, stop]
            .into_iter()
            .flatten()
            .collect()
    }
}

impl AnswerPart {
    /// Names the part in an error.
    fn name(self) -> &'static str {
        match self {
            Self::Allow => "a permission",
            Self::Deny => "a denial",
            Self::Ask => "a question to its user",
            Self::Input => "a changed input",
            Self::Note => "a text for the model",
            Self::Stop => "the end of its turn",
        }
    }
}

/// Output of the hook's process. The default tells the agent to continue.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HookOutput {
    pub stdout: Vec<u8>,
    /// For agents that read a reason there.
    pub stderr: Vec<u8>,
    pub exit_status: u8,
}

impl HookOutput {
    pub fn exit_code(&self) -> ExitCode {
        ExitCode::from(self.exit_status)
    }
}

/// An agent does not take a part of an answer at an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotTaken {
    pub agent: &'static str,
    /// The agent's own name of the event.
    pub event: String,
    pub part: AnswerPart,
}

impl std::fmt::Display for NotTaken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { agent, event, part } = self;
        write!(f, "{agent} does not take {} at {event}", part.name())
    }
}

impl std::error::Error for NotTaken {}
