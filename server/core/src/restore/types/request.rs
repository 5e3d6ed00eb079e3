//! Request for a restore: its goal, its scope and the open documents of the editor that applies it.

use serde::{Deserialize, Serialize};

use super::conflict::OnConflict;
use crate::error::{Error, Result};
use crate::hint::Hint;
use crate::model::{BranchId, ContentId, ConversationId, EditorId, NodeId, OpId, RelPath};

/// Request for a restore.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Request {
    pub goal: Goal,
    #[serde(default)]
    pub scope: Scope,
    /// Makes the tracked state equal the target's, by undoing everyone's later edits.
    pub exact: bool,
    /// Session whose edits a rewind or revert moves: the agent's own id, or a unique prefix of it.
    pub session: Option<String>,
    /// Moves the edits of all agents, not only those of the target's session. The user's edits stay.
    #[serde(default)]
    pub all_sessions: bool,
    /// Files or directories to restore, relative to the root. Empty means all.
    pub paths: Vec<RelPath>,
    /// Ids of the hunks to restore, as a diff shows them. Empty means all.
    pub hunks: Vec<String>,
    /// Takes out changes of uncertain origin, too.
    pub take_uncertain: bool,
    pub on_conflict: OnConflict,
    /// The conversation that goes back with the files.
    #[serde(default)]
    pub conversation: Option<ConversationHalf>,
    /// The editor that applies the plan. Unsaved text of other editors is never changed from here. If the plan
    /// concerns it, that editor is asked to apply the plan, or the request is refused.
    #[serde(skip)]
    pub editor: Option<EditorId>,
    /// The editor's open documents.
    #[serde(skip)]
    pub open: Vec<OpenDoc>,
    /// Documents of the editor whose unsaved text cannot be encoded as bytes of the file. They are skipped.
    #[serde(skip)]
    pub unreadable: Vec<RelPath>,
}

/// The half of a restore that is a conversation of an agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConversationHalf {
    /// All that the new session depends on. It is in the fingerprint of the plan.
    pub basis: String,
    /// The new session, once it is made. The restore commits with it.
    pub made: Option<ConversationId>,
}

/// A document that is open in the editor which applies the restore.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenDoc {
    pub path: RelPath,
    /// Unsaved text, as it would be saved. None: the document equals the file.
    pub text: Option<Vec<u8>>,
    /// Content that `text` was loaded from or last saved as. None: the recorded content of the file.
    pub base: Option<ContentId>,
    /// True if the editor reloads unmodified documents by itself, so that the file is written as usual.
    pub on_disk: bool,
}

impl Request {
    pub fn new(goal: Goal) -> Self {
        Self {
            goal,
            scope: Scope::default(),
            exact: false,
            session: None,
            all_sessions: false,
            paths: Vec::new(),
            hunks: Vec::new(),
            take_uncertain: false,
            on_conflict: OnConflict::Fail,
            conversation: None,
            editor: None,
            open: Vec::new(),
            unreadable: Vec::new(),
        }
    }
}

/// Part of an agent's work that a restore concerns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum Scope {
    #[default]
    Code,
    Conversation,
    Both,
}

impl Scope {
    pub const ALL: [Self; 3] = [Self::Code, Self::Conversation, Self::Both];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Code => "code",
            Self::Conversation => "conversation",
            Self::Both => "both",
        }
    }

    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|scope| scope.name() == name)
    }

    /// Refuses a scope that no plan covers, so that nothing is restored by half.
    pub(in crate::restore) fn require_plannable(
        self,
        conversation: Option<&ConversationHalf>,
    ) -> Result<()> {
        match self {
            Self::Code => Ok(()),
            Self::Both if conversation.is_some() => Ok(()),
            Self::Conversation | Self::Both => Err(Error::refused(
                format!(
                    "scope {}: rewinding the conversation is not supported here yet",
                    self.name()
                ),
                Hint::Scope,
            )),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Goal {
    /// Take out the edits made after this node.
    Rewind(NodeId),
    /// Take out only the edits of these nodes. A turn's node means the whole turn; a rewind's node means its
    /// effect.
    Revert(Vec<NodeId>),
    /// Undo this operation. None: the newest one that is not undone.
    Undo(Option<OpId>),
    Redo,
    /// Go to the head of this branch.
    Switch {
        branch: String,
        /// Carry the user's own edits along: those recorded on the current branch since this directory
        /// switched to it, with only such edits after them.
        carry: bool,
    },
    /// Create a branch at this node and switch to it. The branch is created when the plan is applied.
    Fork {
        name: String,
        from: NodeId,
        description: Option<String>,
    },
}

/// Branch that a switch goes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SwitchBranch {
    Existing(BranchId),
    /// A branch that will be created at this node.
    New(NodeId),
}

impl SwitchBranch {
    pub(in crate::restore) fn existing(self) -> Option<BranchId> {
        match self {
            Self::Existing(branch) => Some(branch),
            Self::New(_) => None,
        }
    }
}
