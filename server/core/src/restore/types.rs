//! Request, plan and result of a restore: values that can be printed, compared and shown before any file
//! changes.

mod conflict;
mod gap;
mod plan;
mod request;

use crate::model::{NodeId, OpId, RelPath};
use crate::store::tables::editor::EditorInfo;

pub(super) use conflict::one_per_file;
pub use conflict::{Conflict, ConflictSpan, OnConflict, Resolution};
pub use gap::{COME_BACK, Gap, GapKind};
pub use plan::{Action, ActionKind, BufferEdit, Plan};
pub(crate) use plan::{DocumentEdit, FilePlan, PlannedDocument};
pub(crate) use request::SwitchBranch;
pub use request::{ConversationHalf, Goal, OpenDoc, Request, Scope};

/// Result of a restore.
#[derive(Clone, Debug)]
pub struct Applied {
    pub plan: Plan,
    /// None if the plan was empty.
    pub node: Option<NodeId>,
    pub operation: Option<OpId>,
    /// Paths left as they are because another process wrote to them.
    pub incomplete: Vec<RelPath>,
    /// Paths where content was saved that another process wrote to a file during its exchange.
    pub saved: Vec<RelPath>,
    /// The editor that applied the plan, if it was another process.
    pub by: Option<EditorInfo>,
    /// With `by`: documents known not to have taken their new text.
    pub not_taken: Vec<RelPath>,
    /// With `by`: documents that took their new text according to the editor, but did not show it.
    pub awaited: Vec<RelPath>,
}
