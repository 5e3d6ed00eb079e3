//! Resolves a goal: for every file, the edits to take out of force and the edits to put back. Reads the
//! history and decides nothing about contents.

mod authors;
mod reversal;
mod revert;
mod rewind;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Deref;

use super::Restore;
use super::types::{Gap, Goal, Request, SwitchBranch};
use crate::engine::Engine;
use crate::error::Result;
use crate::history::{self, Ancestry, OpKind, branches};
use crate::model::{ChangeId, FileId, NodeId, OpId, Placed};

pub(super) use authors::find_session;
pub use reversal::Reversible;

/// Edits of one file to take out and to put back.
#[derive(Clone, Debug, Default)]
pub(super) struct SetDelta {
    pub take_out: BTreeSet<ChangeId>,
    pub put_back: BTreeSet<ChangeId>,
    /// State at the target of a file that is known there without an edit, and that was first captured on another
    /// branch. No edit in force gives it, so it is recorded as an edit of the user.
    pub arrives: Option<Placed>,
}

impl SetDelta {
    pub(super) fn is_empty(&self) -> bool {
        self.take_out.is_empty() && self.put_back.is_empty() && self.arrives.is_none()
    }
}

/// A goal resolved to sets of edits.
pub(super) struct EditPlan {
    /// Name of the target for people and scripts: `c12`, `op3`.
    pub target: String,
    /// Kind of operation, shown in the timeline.
    pub kind: OpKind,
    pub of: Option<OpId>,
    /// Node whose git position and gaps are compared with the present.
    pub node: Option<NodeId>,
    pub moves: BTreeMap<FileId, SetDelta>,
    pub gaps: Vec<Gap>,
    /// Reason why no edit is moved, if known.
    pub nothing: Option<String>,
}

/// A resolved request: moving edits, or switching to another branch.
pub(super) enum Resolved {
    Edits(EditPlan),
    Switch(SwitchTarget),
}

/// A resolved switch.
pub(super) struct SwitchTarget {
    pub target: String,
    pub to: SwitchBranch,
    pub carry: bool,
    pub kind: OpKind,
    pub of: Option<OpId>,
}

impl<E: Deref<Target = Engine>> Restore<E> {
    pub(super) fn resolve_goal(&self, r: &Request, head: NodeId) -> Result<Resolved> {
        let conn = &self.engine.store.conn;
        let ancestry = Ancestry::new(conn);
        let edits = match &r.goal {
            Goal::Rewind(target) => self.rewind_edits(r, &ancestry, *target, head),
            Goal::Revert(nodes) => self.revert_edits(r, &ancestry, nodes, head),
            Goal::Switch { branch, carry } => {
                return Ok(Resolved::Switch(SwitchTarget {
                    target: branch.clone(),
                    to: SwitchBranch::Existing(branches::find(conn, branch)?),
                    carry: *carry,
                    kind: OpKind::Switch,
                    of: None,
                }));
            }
            Goal::Fork { name, from, .. } => {
                branches::check_name(conn, name)?;
                return Ok(Resolved::Switch(SwitchTarget {
                    target: name.clone(),
                    to: SwitchBranch::New(*from),
                    carry: false,
                    kind: OpKind::Switch,
                    of: None,
                }));
            }
            Goal::Undo(op) => return self.undo_edits(&ancestry, *op, head),
            Goal::Redo => return self.redo_edits(&ancestry, head),
        };
        edits.map(Resolved::Edits)
    }
}

/// Keeps in `take_out` only edits in force, and in `put_back` only edits not in force.
fn drop_no_ops(
    ancestry: &Ancestry<'_>,
    moves: &mut BTreeMap<FileId, SetDelta>,
    head: NodeId,
) -> Result<()> {
    for (file, m) in moves {
        let now = history::in_force(ancestry, *file, head)?;
        m.take_out.retain(|c| now.contains(c));
        m.put_back.retain(|c| !now.contains(c));
    }
    Ok(())
}
