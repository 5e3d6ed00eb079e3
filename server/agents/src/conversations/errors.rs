//! Reasons why a conversation is not read, or not cut. Each names the thing, the reason and the next step.

use std::fmt;

use super::text::excerpt;

/// Reason why the bytes are not a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unreadable {
    /// No row with a message of a user.
    NoPrompts { agent: &'static str },
}

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self::NoPrompts { agent } = self;
        write!(
            f,
            "the record of {agent} has no prompt in a form that is known"
        )
    }
}

impl std::error::Error for Unreadable {}

/// The turn of a record that is closest to the one that was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Nearest {
    pub text: String,
    /// Number of prompts on its branch before it.
    pub before: usize,
}

/// Reason why a conversation is not cut. Both sides stay as they are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refused {
    Unreadable(Unreadable),
    /// The record has no such turn.
    NotFound {
        text: String,
        nearest: Option<Nearest>,
    },
    /// Several turns of the record have this text at this place.
    Ambiguous {
        text: String,
        count: usize,
    },
    /// A row before the turn names a parent that the record does not have, or has twice, or is its own ancestor.
    Broken {
        row: String,
        reason: &'static str,
    },
    /// The agent itself has summed up what stands between.
    Compacted {
        text: String,
    },
    /// The new conversation tells other turns than planned.
    Differs {
        planned: usize,
        told: usize,
    },
    /// No place for the new conversation is known.
    NoPlace {
        agent: &'static str,
    },
    /// The summary is empty.
    EmptySummary,
}

impl Refused {
    /// Word for the error in JSON. It does not change.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Unreadable(_) => "record_unreadable",
            Self::NotFound { .. } => "turn_not_in_record",
            Self::Ambiguous { .. } => "turn_ambiguous",
            Self::Broken { .. } => "record_broken",
            Self::Compacted { .. } => "turn_compacted",
            Self::Differs { .. } => "conversation_differs",
            Self::NoPlace { .. } => "no_place",
            Self::EmptySummary => "summary_empty",
        }
    }

    /// Returns the next step.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Unreadable(_) | Self::Broken { .. } => "--scope code rewinds the files alone",
            Self::NotFound { .. } | Self::Ambiguous { .. } => {
                "name another turn, or rewind the files alone with --scope code"
            }
            Self::Compacted { .. } => "name a later turn",
            Self::Differs { .. } => "nothing was changed; --scope code rewinds the files alone",
            Self::NoPlace { .. } => "start the agent once in this directory",
            Self::EmptySummary => "the command that summarizes has printed nothing",
        }
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable(why) => why.fmt(f),
            Self::NotFound { text, nearest } => {
                write!(f, "the record has no turn “{}”", excerpt(text))?;
                match nearest {
                    Some(Nearest { text, before }) => {
                        let (text, number) = (excerpt(text), before + 1);
                        write!(
                            f,
                            "; the nearest is “{text}”, prompt {number} of its branch"
                        )
                    }
                    None => write!(f, "; it was removed in the agent, or is in another session"),
                }
            }
            Self::Ambiguous { text, count } => {
                let text = excerpt(text);
                write!(f, "{count} turns of the record match “{text}”")
            }
            Self::Broken { row, reason } => {
                write!(
                    f,
                    "row {row} of the record {reason}, so the turns before are uncertain"
                )
            }
            Self::Compacted { text } => {
                let text = excerpt(text);
                write!(f, "the agent compacted the conversation after “{text}”")
            }
            Self::Differs { planned, told } => write!(
                f,
                "the new conversation tells {told} prompts instead of the planned {planned}, or others"
            ),
            Self::NoPlace { agent } => {
                write!(
                    f,
                    "the folder in which {agent} keeps its conversations is unknown"
                )
            }
            Self::EmptySummary => f.write_str("the summary is empty"),
        }
    }
}

impl std::error::Error for Refused {}

impl From<Unreadable> for Refused {
    fn from(why: Unreadable) -> Self {
        Self::Unreadable(why)
    }
}
