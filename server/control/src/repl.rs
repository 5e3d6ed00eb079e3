//! REPLs at pauses: sessions, their entries, and evaluations that wait.

use std::time::Duration;

use super::breakpoint::BreakpointId;
use super::pause::{PauseHit, PauseId};

/// Time that the waiting side of an evaluation waits longer than the evaluating one (S5-D1).
pub const LONGER: Duration = Duration::from_secs(5);
/// Number of sessions of a page.
pub const PAGE: usize = 50;

/// A REPL at a pause.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplSession {
    /// `<pid>-<seconds>.<microseconds>` (S5-015).
    pub id: String,
    pub pause: PauseId,
    /// Process number of the program, or of the agent.
    pub pid: u32,
    /// Number of the program.
    pub process: Option<i64>,
    /// The function that is paused: the watched one, else that of the innermost frame. At an agent's call: the tool.
    pub function: String,
    /// The letter of the agent's session.
    pub letter: Option<String>,
    /// The prompt of the turn that is held.
    pub prompt: Option<String>,
    /// The reason of the pause: `pause("here")`, `calls Edit`. None: the pause is no longer kept.
    pub why: Option<String>,
    /// The breakpoint of the pause.
    pub breakpoint: Option<BreakpointId>,
    pub hit: Option<PauseHit>,
    /// Number of the program's call.
    pub call: Option<i64>,
    pub language: String,
    /// Microseconds since 1970, as all times here.
    pub started: i64,
    pub closed: Option<i64>,
    /// The reason of its end.
    pub reason: Option<String>,
    /// Number of entries.
    pub entries: i64,
}

/// An input with its output.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReplEntry {
    /// From 1. Set when it is stored, as is `time`.
    pub number: i64,
    pub input: String,
    /// The error, else the value; empty where there is none (S5-067).
    pub output: String,
    pub stdout: String,
    pub is_error: bool,
    /// Names the stored value.
    pub cid: Option<String>,
    pub time: i64,
    /// Duration of the evaluation in milliseconds.
    pub ms: i64,
}

impl ReplEntry {
    /// The parts that are shown: `error`, `both` (the printed text, then the value), `value`, `stdout` or `nothing`
    /// (S5-106…108). Python's `None` is not shown, as in its own REPL.
    pub fn shows(&self) -> &'static str {
        let is_none = self.output == "None" && !self.input.starts_with('!');
        match (
            self.is_error,
            !self.stdout.is_empty(),
            !self.output.is_empty() && !is_none,
        ) {
            (true, ..) => "error",
            (false, true, true) => "both",
            (false, false, true) => "value",
            (false, true, false) => "stdout",
            (false, false, false) => "nothing",
        }
    }
}

/// Number of an evaluation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EvalId(pub i64);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EvalState {
    Waiting,
    Taken,
    Answered,
    TimedOut,
    Withdrawn,
}

/// An input that waits for its evaluation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EvalRequest {
    pub id: EvalId,
    pub pause: PauseId,
    pub session: String,
    /// As it was typed.
    pub expression: String,
    /// Milliseconds that the evaluation may take.
    pub timeout: i64,
    pub made: i64,
    pub taken: Option<i64>,
    pub state: EvalState,
    /// Number of the entry with its answer.
    pub entry: Option<i64>,
}

/// The outcome of an evaluation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EvalAnswer {
    /// Empty where there is no value.
    pub result: String,
    pub stdout: String,
    pub error: Option<String>,
    pub value: Option<ObjectValue>,
}

/// A value as its program gave it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectValue {
    /// `sha256:<hash of the bytes>`
    pub cid: String,
    pub bytes: Vec<u8>,
    /// JSON: type, repr, length and fields.
    pub view: String,
}

/// A stored value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredObject {
    pub cid: String,
    pub size: i64,
    pub bytes: Vec<u8>,
    pub view: String,
}

/// Selects sessions. All conditions hold together (S5-042).
#[derive(Clone, Debug)]
pub struct ReplFilter {
    /// Text in the name of the function, in the reason of the pause, or in the transcript.
    pub search: Option<String>,
    pub active: Option<bool>,
    /// Start of the session, in microseconds since 1970; both included.
    pub from: Option<i64>,
    pub to: Option<i64>,
    pub pause: Option<PauseId>,
    pub call: Option<i64>,
    pub limit: usize,
    /// The last session of the page before.
    pub before: Option<String>,
}

impl Default for ReplFilter {
    fn default() -> Self {
        Self {
            search: None,
            active: None,
            from: None,
            to: None,
            pause: None,
            call: None,
            limit: PAGE,
            before: None,
        }
    }
}
