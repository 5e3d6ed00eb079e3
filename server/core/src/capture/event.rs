//! Agent events in one vocabulary for all agents. The agent adapters translate a vendor's payload
//! into it; capture knows no vendor.

use std::path::PathBuf;

use crate::process::ProcessId;

/// An event of an agent.
#[derive(Clone, Debug)]
pub struct AgentEvent {
    /// `claude-code`, `codex`, …
    pub agent: String,
    /// The agent's own id of the conversation.
    pub session: String,
    pub transcript: Option<String>,
    /// The agent's own id of the turn.
    pub prompt_id: Option<String>,
    /// The subagent (thread) it comes from; None for the main thread.
    pub subagent: Option<String>,
    pub cwd: Option<PathBuf>,
    /// The process that reports for the agent, if it is known. Its end ends the agent's calls.
    pub process: Option<ProcessId>,
    /// True if the agent's settings have hooks of others at the end of a call. None: nobody has looked.
    pub other_hooks: Option<bool>,
    /// The vendor's own name of the event, for the record.
    pub name: String,
    pub kind: EventKind,
}

#[derive(Clone, Debug)]
pub enum EventKind {
    SessionStart {
        source: String,
    },
    /// A prompt; a synthetic one (a notification, a continuation) makes no turn.
    Prompt {
        text: String,
        synthetic: bool,
    },
    /// The agent waits until the event is recorded, and runs the call then.
    Before(ToolCall),
    /// The agent does not wait: the call may run already.
    Announced {
        call: ToolCall,
        /// Time of the announcement, in microseconds since 1970. Changes before it are not the call's work.
        at: i64,
    },
    /// As `Before`, also for a call that was announced: changes until now are not its work.
    Starts(ToolCall),
    After {
        call: ToolCall,
        /// The agent's report of what it found and did.
        report: ToolReport,
        failed: bool,
    },
    /// All calls of the thread so far are over.
    BatchEnd,
    /// The thread has ended.
    SubagentStop,
    /// `background`: a shell command of the session still runs.
    Stop {
        background: bool,
    },
    SessionEnd,
    /// The conversation is about to be compacted.
    Compact,
    /// Irrelevant or unknown.
    Other,
}

impl EventKind {
    /// The call of an event that tells of one.
    pub fn call(&self) -> Option<&ToolCall> {
        match self {
            Self::Before(call)
            | Self::Announced { call, .. }
            | Self::Starts(call)
            | Self::After { call, .. } => Some(call),
            Self::SessionStart { .. }
            | Self::Prompt { .. }
            | Self::BatchEnd
            | Self::SubagentStop
            | Self::Stop { .. }
            | Self::SessionEnd
            | Self::Compact
            | Self::Other => None,
        }
    }
}

#[derive(Clone, Debug)]
pub struct ToolCall {
    /// The agent's own id of the call; without one, calls are matched by thread and tool.
    pub id: Option<String>,
    pub tool: String,
    /// The input as the agent wrote it, for the record.
    pub input: Vec<u8>,
    pub effect: Effect,
}

/// Possible effect of a tool on files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    Reads,
    /// It writes these paths only; relative ones count from the event's `cwd`.
    Names(Vec<PathBuf>),
    /// Writes anything: a shell, an unknown tool. `background`: it returns while still running.
    Any {
        background: bool,
    },
}

/// A tool's report of its own work. That of an edit tool is the most exact source there is.
#[derive(Clone, Debug, Default)]
pub struct ToolReport {
    /// The paths that the tool reports on, each once. Any other path is attributed by the time of its change.
    pub paths: Vec<PathReport>,
    /// Exit status of a shell command.
    pub exit: Option<i64>,
}

/// A tool's report on one path.
#[derive(Clone, Debug)]
pub struct PathReport {
    /// A relative path counts from the event's `cwd`.
    pub path: PathBuf,
    /// The text that the tool found, if reported.
    pub found: Option<String>,
    pub wrote: Option<Wrote>,
}

#[derive(Clone, Debug)]
pub enum Wrote {
    Whole(String),
    Replace { old: String, new: String, all: bool },
}
