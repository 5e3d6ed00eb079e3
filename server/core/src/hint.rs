//! Next steps after an error. The command line and the editors have different means for the same step, so each has
//! its own words for it. The common words are here.

use serde::{Deserialize, Serialize};

use crate::model::{NodeId, OpId};

/// A next step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Hint {
    /// The same words everywhere.
    Plain(String),
    /// A step that only the command line has, in its words.
    Terminal(String),
    /// Nothing is recorded yet.
    Begin,
    /// The history has no checkpoint yet.
    First,
    /// The named revision does not exist.
    Revisions,
    /// Several checkpoints have a label, among them this one.
    SameLabel {
        label: String,
        node: NodeId,
    },
    /// Another named item does not exist.
    List(Listed),
    /// Find the checkpoints that have a file.
    Whereabouts {
        path: String,
    },
    /// Edits conflict.
    Decide,
    /// A switch always applies to all files.
    Whole,
    /// The plan that was shown is out of date.
    LookAgain,
    /// The named hunk does not exist.
    Hunks,
    /// The conversation cannot be restored, only the files.
    Scope,
    /// Other editors have unsaved text.
    Unsaved,
    /// Another editor has unsaved text and does not answer.
    UnsavedThere,
    /// Another process is writing to a file that is to be restored.
    Writer,
    /// The system does not let a file be replaced.
    Fixed,
    Undo {
        op: String,
    },
    Redo,
    NothingToUndo,
    /// No turn of an agent is in force.
    NoTurn,
    /// The newest operation is before a turn.
    UndoBefore {
        op: OpId,
        turn: i64,
    },
    /// The edits that an operation moved are on another branch.
    UndoThere {
        op: OpId,
        branch: String,
    },
    /// A checkpoint is on another line of the history.
    OtherLine {
        node: NodeId,
        /// The branch that it was made on.
        branch: String,
    },
    /// A branch was deleted; `head` is its last checkpoint.
    BranchAgain {
        name: String,
        head: NodeId,
    },
    /// A name is too long.
    ShorterName,
    /// A directory cannot be a workspace: a home directory, or the root.
    TooWide,
    /// The directory of a workspace is gone.
    Gone,
    /// The store was made by a newer version.
    Newer,
    /// The store's directory cannot be written to.
    Unwritable,
    /// No place for the store is known.
    NoHome,
}

/// Kinds of items that are listed by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Listed {
    Sessions,
    Agents,
    Branches,
    Tags,
    Operations,
}

impl Listed {
    /// Returns the kind for its singular word.
    pub(crate) fn of(one: &str) -> Option<Self> {
        Some(match one {
            "session" => Self::Sessions,
            "agent" => Self::Agents,
            "branch" => Self::Branches,
            "tag" => Self::Tags,
            "operation" => Self::Operations,
            _ => return None,
        })
    }
}

impl Hint {
    pub fn terminal(step: impl Into<String>) -> Self {
        Self::Terminal(step.into())
    }
}

impl From<&str> for Hint {
    fn from(step: &str) -> Self {
        Self::Plain(step.to_owned())
    }
}

impl From<String> for Hint {
    fn from(step: String) -> Self {
        Self::Plain(step)
    }
}
