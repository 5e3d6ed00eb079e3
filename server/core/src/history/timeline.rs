//! The history for display: rows of the timeline, and operations.

use super::subject::Subject;
use crate::model::{Call, Change, Node, Session, Turn};
use crate::store::tables::node_text::Unsaved;
use crate::store::tables::operation::Operation;

/// One row of the timeline.
#[derive(Clone, Debug)]
pub struct Entry {
    pub node: Node,
    pub branch: String,
    pub tags: Vec<String>,
    /// Kept by `gc`.
    pub pinned: bool,
    pub session: Option<Session>,
    pub turn: Option<Turn>,
    pub call: Option<Call>,
    pub changes: Vec<EntryChange>,
    /// True if it has edits and none of them is in force any more. Checked at the head, or at the
    /// head of its own branch if the node is not an ancestor of the head.
    pub taken_out: bool,
    /// The operation of a rewind.
    pub operation: Option<Operation>,
    /// The subject of that operation.
    pub subject: Option<Subject>,
    /// Unsaved text at that moment, besides the state on disk.
    pub unsaved: Vec<Unsaved>,
}

#[derive(Clone, Debug)]
pub struct EntryChange {
    pub change: Change,
    pub added: usize,
    pub removed: usize,
    pub binary: bool,
}
