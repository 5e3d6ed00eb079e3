//! A pause as a value: the call that is held, its state, and the decision on it.

use std::fmt;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::breakpoint::CallMoment;
use super::breakpoint::{Breakpoint, BreakpointId};
use super::subject::Subject;
use backstitch_core::process::ProcessId;

/// Number of a pause. People see `p7`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct PauseId(pub i64);

impl fmt::Display for PauseId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "p{}", self.0)
    }
}

/// A tool call that is, or was, held.
#[derive(Clone, Debug, PartialEq)]
pub struct Pause {
    pub id: PauseId,
    pub call: HeldCall,
    /// The hook that holds the call.
    pub holder: ProcessId,
    /// Microseconds since 1970, as all times here.
    pub made: i64,
    pub state: PauseState,
    pub decision: Option<PauseDecision>,
    /// The client that decided, or the rule: `time limit`.
    pub decided_by: Option<String>,
    pub decided: Option<i64>,
    pub outcome: Option<PauseOutcome>,
    pub ended: Option<i64>,
    /// The input as a user changed it. The call runs with it, if it is resumed.
    pub draft: Option<ChangedInput>,
}

/// Stand in place of a front end where a rule decides.
pub const NOBODY_WATCHES: &str = "nobody watches";
pub const TIME_LIMIT: &str = "time limit";
/// The command line as a front end that decides.
pub const TERMINAL: &str = "cli";

/// Author or rule of a decision, for people. `by`: as [`Pause::decided_by`].
pub fn decider(by: Option<&str>) -> String {
    match by {
        None => "by nobody".to_owned(),
        Some(NOBODY_WATCHES) => "since nobody watched".to_owned(),
        Some(TIME_LIMIT) => "since the time ran out".to_owned(),
        Some(TERMINAL) => "in a terminal".to_owned(),
        Some(by) => format!("by {by}"),
    }
}

/// Name of the front end in which a person acted, for people: `a terminal`, `Neovim`.
pub fn place(by: &str) -> &str {
    if by == TERMINAL { "a terminal" } else { by }
}

/// The input of a held call as a user changed it.
#[derive(Clone, Debug, PartialEq)]
pub struct ChangedInput {
    pub input: Value,
    /// The front end in which it was changed.
    pub by: String,
}

/// The breakpoint of a pause as it was when it held the call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PauseHit {
    pub kind: String,
    /// Its parameters in one line.
    pub summary: String,
    /// Its condition in jq.
    pub when: Option<String>,
    /// Its condition on the number of triggers.
    pub hits: Option<String>,
}

impl PauseHit {
    pub fn of(breakpoint: &Breakpoint) -> Self {
        Self {
            kind: breakpoint.spec.kind().to_owned(),
            summary: breakpoint.spec.summary(),
            when: breakpoint.condition.clone(),
            hits: breakpoint.hits_when.map(|when| when.to_string()),
        }
    }
}

impl Pause {
    /// True if a decision can still be made.
    pub fn is_open(&self) -> bool {
        self.state.is_open() && self.decision.is_none()
    }

    /// Author or rule of the decision: `in a terminal`, `since nobody watched`.
    pub fn decider(&self) -> String {
        decider(self.decided_by.as_deref())
    }

    /// Decisions that can be made now.
    pub fn possible(&self) -> impl Iterator<Item = Ability> {
        let can = if self.is_open() {
            self.call.can.as_slice()
        } else {
            &[]
        };
        let is_proposal = self.call.subject == Subject::Proposal;
        can.iter().map(move |can| match can {
            // as an older version noted it
            Ability::Continue if is_proposal => Ability::Rewind,
            can => *can,
        })
    }
}

/// The call of a pause.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HeldCall {
    pub subject: Subject,
    pub breakpoint: Option<BreakpointId>,
    pub hit: Option<PauseHit>,
    /// The reason in words: `path src/auth/**`.
    pub why: String,
    pub root: PathBuf,
    pub agent: String,
    /// The agent's own id of the session.
    pub session: String,
    /// Letter of the session in the history, as in the log. None: it is not recorded yet.
    pub letter: Option<String>,
    pub subagent: Option<String>,
    /// Number of the turn.
    pub turn: Option<i64>,
    pub prompt: Option<String>,
    /// Number that the call has, or would get, in its session.
    pub iteration: Option<i64>,
    pub tool: String,
    /// The agent's own id of the call. Where it has none: made of thread, tool and input.
    pub call: String,
    /// True if it is made: two calls with the same input have the same one.
    pub is_made_id: bool,
    pub moment: CallMoment,
    /// Input of the tool, as JSON text.
    pub input: String,
    /// Error of a call that has failed.
    pub error: Option<String>,
    /// Output of a call that has run, as JSON text.
    pub output: Option<String>,
    pub cwd: Option<PathBuf>,
    /// Paths that the call names, relative to the root where they are below it.
    pub files: Vec<String>,
    /// The files that it would write as they were shown last, as JSON text. Its form is the front ends'.
    pub shown: Option<String>,
    /// Decisions that the agent can receive.
    pub can: Vec<Ability>,
    pub agent_process: Option<ProcessId>,
    /// The agent continues by itself at this time.
    pub until: Option<i64>,
}

impl HeldCall {
    /// True if its agent can receive this decision. To continue with a proposed rewind is to carry it out.
    pub fn takes(&self, decision: &PauseDecision) -> bool {
        let needed = decision.needs();
        self.can.contains(&needed)
            || needed == Ability::Continue && self.can.contains(&Ability::Rewind)
    }

    /// Identity of the input. A call that is tried again has the same.
    pub fn input_hash(&self) -> [u8; 32] {
        *blake3::hash(self.input.as_bytes()).as_bytes()
    }
}

/// Decision that an agent can receive at an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Ability {
    Continue,
    /// Carries a proposed rewind out.
    Rewind,
    Deny,
    Skip,
    Replace,
    Change,
    Stop,
    Inject,
    Ask,
    Back,
}

impl Ability {
    pub fn name(self) -> &'static str {
        match self {
            Self::Continue => "continue",
            Self::Rewind => "rewind",
            Self::Deny => "deny",
            Self::Skip => "skip",
            Self::Replace => "replace",
            Self::Change => "change",
            Self::Stop => "stop",
            Self::Inject => "inject",
            Self::Ask => "ask",
            Self::Back => "back",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PauseState {
    /// Its hook waits.
    Held,
    /// A decision is stored; its hook has not carried it out yet.
    Decided,
    /// Its hook has told the agent.
    Answered,
    /// The agent was told to try again; a decision holds for the next try.
    Parked,
    /// The decision on a parked call was used.
    Used,
    Expired,
    /// Left to the agent's own question.
    Handed,
    /// The agent gave the call up.
    Ended,
    /// Its hook died.
    Lost,
    /// The call ran all the same.
    Slipped,
}

impl PauseState {
    /// True if a decision can still be made.
    pub fn is_open(self) -> bool {
        matches!(self, Self::Held | Self::Parked)
    }

    /// True while a holder waits for a decision, or carries one out.
    pub fn has_holder(self) -> bool {
        match self {
            Self::Held | Self::Decided => true,
            Self::Answered
            | Self::Parked
            | Self::Used
            | Self::Expired
            | Self::Handed
            | Self::Ended
            | Self::Lost
            | Self::Slipped => false,
        }
    }
}

/// A decision on a held call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "lowercase")]
pub enum PauseDecision {
    /// The call continues, under the agent's own rules.
    Continue,
    /// It continues with another input.
    Change {
        input: Value,
    },
    /// It does not run; the model gets the message.
    Deny {
        message: String,
    },
    Skip,
    /// Only for programs: the call does not run and returns this value; after a call, its result is replaced. `value`: an
    /// expression in the program's language.
    Replace {
        value: String,
    },
    /// It does not run, and the turn ends.
    Stop {
        message: Option<String>,
    },
    /// Earlier steps were taken out, and it does not run.
    Back {
        message: String,
    },
    /// The agent asks its own user.
    Ask,
}

impl PauseDecision {
    /// The text for the model.
    pub fn message(&self) -> Option<&str> {
        match self {
            Self::Deny { message } | Self::Back { message } => Some(message),
            Self::Stop { message } => message.as_deref(),
            Self::Continue
            | Self::Change { .. }
            | Self::Skip
            | Self::Replace { .. }
            | Self::Ask => None,
        }
    }

    /// The ability that the agent needs for it.
    pub fn needs(&self) -> Ability {
        match self {
            Self::Continue => Ability::Continue,
            Self::Change { .. } => Ability::Change,
            Self::Deny { .. } => Ability::Deny,
            Self::Skip => Ability::Skip,
            Self::Replace { .. } => Ability::Replace,
            Self::Stop { .. } => Ability::Stop,
            Self::Back { .. } => Ability::Back,
            Self::Ask => Ability::Ask,
        }
    }

    /// True if a program evaluates expressions for it.
    pub fn is_evaluated(&self) -> bool {
        matches!(self, Self::Change { .. } | Self::Replace { .. })
    }

    /// Number of expressions that a program evaluates for it.
    pub fn expressions(&self) -> u32 {
        match self {
            Self::Change { input } => {
                let count = input.as_object().map_or(1, serde_json::Map::len);
                u32::try_from(count.max(1)).unwrap_or(u32::MAX)
            }
            Self::Replace { .. } => 1,
            Self::Continue
            | Self::Deny { .. }
            | Self::Skip
            | Self::Stop { .. }
            | Self::Back { .. }
            | Self::Ask => 0,
        }
    }

    /// The outcome of a pause that is answered with it.
    pub fn outcome(&self) -> PauseOutcome {
        match self {
            Self::Continue => PauseOutcome::Continued,
            Self::Change { .. } | Self::Replace { .. } => PauseOutcome::Changed,
            Self::Deny { .. } => PauseOutcome::Denied,
            Self::Skip => PauseOutcome::Skipped,
            Self::Stop { .. } => PauseOutcome::Stopped,
            Self::Back { .. } => PauseOutcome::Back,
            Self::Ask => PauseOutcome::Asked,
        }
    }
}

/// The end of a pause.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum PauseOutcome {
    Continued,
    Changed,
    Denied,
    Skipped,
    Stopped,
    Back,
    Asked,
    TimedOut,
    Parked,
    Ended,
    Lost,
    Slipped,
}

impl PauseOutcome {
    /// The state of a pause that ends so while its holder lives.
    pub fn state(self) -> PauseState {
        match self {
            Self::Continued
            | Self::Changed
            | Self::Denied
            | Self::Skipped
            | Self::Stopped
            | Self::Back
            | Self::TimedOut => PauseState::Answered,
            Self::Asked => PauseState::Handed,
            Self::Parked => PauseState::Parked,
            Self::Ended => PauseState::Ended,
            Self::Lost => PauseState::Lost,
            Self::Slipped => PauseState::Slipped,
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::Continued => "continued",
            Self::Changed => "changed",
            Self::Denied => "denied",
            Self::Skipped => "skipped",
            Self::Stopped => "stopped",
            Self::Back => "back",
            Self::Asked => "asked",
            Self::TimedOut => "timedOut",
            Self::Parked => "parked",
            Self::Ended => "ended",
            Self::Lost => "lost",
            Self::Slipped => "slipped",
        }
    }
}
