//! What to do after an error. The command line and an editor have different means for the same step, so each face
//! has its own words for it; what is the same in both is said here.

use serde::{Deserialize, Serialize};

use crate::model::{NodeId, OpId};

/// The next step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Hint {
    /// The same words in every face.
    Plain(String),
    /// A step that only the command line has, as it is said there.
    Terminal(String),
    /// Nothing is recorded yet.
    Begin,
    /// There is a history, and no checkpoint in it.
    First,
    /// A revision was named that there is not.
    Revisions,
    /// Something else was named that there is not.
    List(Listed),
    /// At which checkpoints a file is.
    Whereabouts {
        path: String,
    },
    /// Edits collide.
    Decide,
    /// A switch brings all files.
    Whole,
    /// The plan that was shown is not that of now.
    LookAgain,
    /// A hunk was named that there is not.
    Hunks,
    /// Other editors hold text that is not saved.
    Unsaved,
    /// Another editor holds text that is not saved, and does not answer.
    UnsavedThere,
    /// Something writes to a file that is to be restored.
    Writer,
    Undo {
        op: String,
    },
    Redo,
    NothingToUndo,
    /// The newest operation lies before a turn.
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
    },
    /// A branch was deleted; `head`: where it ended.
    BranchAgain {
        name: String,
        head: NodeId,
    },
    /// A name is too long.
    ShorterName,
    /// A directory is no workspace by itself: a home directory, or the root.
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

/// What there are several of, by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Listed {
    Sessions,
    Agents,
    Branches,
    Tags,
    Operations,
}

impl Listed {
    /// By the word for one of them.
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
    pub(crate) fn terminal(step: impl Into<String>) -> Self {
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
