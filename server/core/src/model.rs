//! The domain types of the history: ids, images, changes, nodes, coverage. They have no behaviour beyond parsing and
//! printing, and are immutable once stored.

mod coverage;
mod ids;
mod image;
mod path;

use serde::{Deserialize, Serialize};

pub use coverage::{Coverage, CoverageItem, DirChange, Reason};
pub use ids::{
    BranchId, CallId, ChangeId, ContentId, ConversationId, EditorId, FileId, NodeId, OpId, RootId,
    SessionId, TurnId,
};
pub use image::{FileVersion, Image, Opaque, Placed};
pub use path::{RelPath, bytes_path, os_bytes};

/// Certainty of an attribution. Session and step each have their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Certainty {
    Certain,
    /// One of several overlapping calls of one session.
    Group,
    Uncertain,
}

/// Author of a change. No session: the user, or an unreported process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Origin {
    pub session: Option<SessionId>,
    pub call: Option<CallId>,
    pub session_certainty: Certainty,
    pub step_certainty: Certainty,
}

impl Origin {
    pub const USER: Self = Self {
        session: None,
        call: None,
        session_certainty: Certainty::Certain,
        step_certainty: Certainty::Certain,
    };

    pub fn is_uncertain(&self) -> bool {
        self.session_certainty == Certainty::Uncertain
    }
}

/// Role of a change in the sets of edits in force.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// An edit by an agent or the user: a member of the sets.
    Edit,
    /// The effect of a rewind, revert, undo or redo. It adds and removes members, and is not a member itself.
    Restore,
}

/// Change of one file in one node.
#[derive(Clone, Debug)]
pub struct Change {
    pub id: ChangeId,
    pub node: NodeId,
    pub file: FileId,
    pub role: Role,
    pub before: FileVersion,
    pub after: FileVersion,
    pub origin: Origin,
    /// Number of directories above the path that were created with it.
    pub made_dirs: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    Turn,
    Step,
    Manual,
    External,
    Rewind,
    Squash,
    Import,
}

impl Kind {
    /// The kinds that a history made here has.
    pub const LISTED: [Self; 6] = [
        Self::Turn,
        Self::Step,
        Self::Manual,
        Self::External,
        Self::Rewind,
        Self::Squash,
    ];
    pub const ALL: [Self; 7] = [
        Self::Turn,
        Self::Step,
        Self::Manual,
        Self::External,
        Self::Rewind,
        Self::Squash,
        Self::Import,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::Turn => "turn",
            Self::Step => "step",
            Self::Manual => "manual",
            Self::External => "external",
            Self::Rewind => "rewind",
            Self::Squash => "squash",
            Self::Import => "import",
        }
    }
}

/// A node of the history: the state after its own changes.
#[derive(Clone, Debug)]
pub struct Node {
    pub id: NodeId,
    pub parent: Option<NodeId>,
    pub depth: i64,
    pub kind: Kind,
    pub branch: BranchId,
    /// Author of a turn and its steps.
    pub session: Option<SessionId>,
    pub turn: Option<TurnId>,
    pub call: Option<CallId>,
    pub label: Option<String>,
    /// Description given by the user who made the checkpoint.
    pub description: Option<String>,
    /// Microseconds since 1970, UTC.
    pub time: i64,
    pub git: GitHead,
    pub coverage: Coverage,
    /// Set if retention squashed several checkpoints into this one.
    pub squashed: Option<Squashed>,
}

/// Counts of the checkpoints squashed into one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Squashed {
    pub checkpoints: u64,
    pub turns: u64,
    /// Time of the oldest one, in microseconds since 1970.
    pub since: i64,
    /// Names of the agents, sorted.
    pub agents: Vec<String>,
}

/// Git's position: the commit of HEAD, and the branch unless detached.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GitHead {
    pub head: Option<String>,
    pub branch: Option<String>,
}

#[derive(Clone, Debug)]
pub struct Session {
    pub id: SessionId,
    /// `claude-code`, `codex`, …
    pub agent: String,
    /// The agent's own id for the conversation.
    pub native: String,
    pub transcript: Option<String>,
}

#[derive(Clone, Debug)]
pub struct Turn {
    pub id: TurnId,
    /// Printed `t4`. Unique in the workspace.
    pub number: i64,
    pub session: SessionId,
    pub prompt: String,
    pub node: NodeId,
}

#[derive(Clone, Debug)]
pub struct Call {
    pub id: CallId,
    pub session: SessionId,
    pub turn: Option<TurnId>,
    /// The agent's own id of the call.
    pub native: String,
    /// The subagent that made it.
    pub subagent: Option<String>,
    pub tool: String,
    /// Number of the call within the session. Never restarts.
    pub iteration: i64,
    /// Group shared by overlapping calls of one session that may write any file.
    pub group: Option<CallId>,
    /// True if the agent reported that it failed.
    pub failed: bool,
    /// Exit status of a shell command, where the agent reports it.
    pub exit: Option<i64>,
    /// The input of a call that may write any file.
    pub input: Option<ContentId>,
}

/// Position of new nodes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Here {
    pub root: RootId,
    pub branch: BranchId,
}
