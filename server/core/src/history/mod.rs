//! The history: nodes with parents, changes of files in nodes, and the edits in force at each node.
//! Owns the records and how they are read. Capture creates them, restore applies them.

mod ancestry;
pub(crate) mod branches;
pub(crate) mod full_text;
pub(crate) mod hunks;
mod log;
mod queries;
mod revs;
mod rows;
mod session_facts;
mod sets;
pub(crate) mod subject;
mod timeline;
mod trees;

use rusqlite::Connection;

use crate::error::{Error, Result};
use crate::model::{
    BranchId, Change, ChangeId, FileId, Here, Image, Node, NodeId, Placed, Reason, RelPath, Role,
    RootId,
};
use crate::store::tables::moved::{self, Move};
use crate::store::tables::{branch, change, node, version};
use crate::worktree::backed_content;

pub(crate) use crate::store::SetHash;
pub(crate) use crate::store::row_checksums::damaged;
pub(crate) use crate::store::tables::change::{
    NewChange, of_file as changes_of_file, of_file_with_sets as changes_with_sets,
    of_node as changes_of_node,
};
pub(crate) use crate::store::tables::node::NewNode;
pub use crate::store::tables::operation::{OpKind, OpState, Operation, RestoreLimits};
pub(crate) use crate::store::tables::operation::{all as operations, row as operation};
pub use crate::store::tables::tag::Tag;
pub(crate) use crate::store::tables::version::get as version;
pub(crate) use ancestry::{Ancestry, Lineage};
pub use branches::BranchInfo;
pub use log::{FileCheckpoints, LogFilter};
pub(crate) use log::{entry, log_each};
pub use revs::LAST_TURN;
pub(crate) use revs::{begun_turn, names_head, resolve, resolve_op};
pub(crate) use rows::{Rows, inconsistent_edits};
pub use session_facts::{CallEvents, RunningCall, SessionFacts, SessionTurn};
pub(crate) use sets::{in_force, is_changed, moved_by, partial_restore_of, set_at, state_at};
pub use subject::{NamedState, OperationSubject};
pub use timeline::{Entry, EntryChange, ShellCommand};
pub use trees::Tree;

pub(crate) fn head(conn: &Connection, branch: BranchId) -> Result<Option<NodeId>> {
    let (head, newest) = branch::heads(conn, branch)?;
    if head != newest {
        return Err(damaged(&format!("the head of branch {}", branch.0)).into());
    }
    Ok(head)
}

/// Returns the branch that a node was made on.
pub(crate) fn branch_of(conn: &Connection, node: NodeId) -> Result<BranchId> {
    let branch = node::branch_of(conn, node)?;
    branch.ok_or_else(|| Error::NoRevision(node.to_string()))
}

/// Returns the directory that a node was made in.
pub(crate) fn root_of(conn: &Connection, node: NodeId) -> Result<RootId> {
    let root = node::root_of(conn, node)?;
    root.ok_or_else(|| Error::NoRevision(node.to_string()))
}

/// Adds a node at the head of the branch and moves the head to it.
pub(crate) fn insert_node(conn: &Connection, here: Here, new: &NewNode<'_>) -> Result<NodeId> {
    let parent = head(conn, here.branch)?;
    let id = node::insert(conn, here, parent, new)?;
    branch::set_head(conn, here.branch, id)?;
    Ok(id)
}

/// Records the state of a file without any edit.
pub(crate) fn note_base(
    conn: &Connection,
    file: FileId,
    path: &RelPath,
    image: Image,
) -> Result<()> {
    let state = Some(Placed {
        path: path.clone(),
        image,
    });
    version::insert(conn, file, SetHash::EMPTY, &state)
}

/// Records an edit. `head` is the previous node, on whose chain the file's set is looked up.
pub(crate) fn insert_edit(
    conn: &Connection,
    head: Option<NodeId>,
    new: &NewChange<'_>,
) -> Result<ChangeId> {
    let before = match head {
        Some(head) => set_at(conn, new.file, head)?,
        None => SetHash::EMPTY,
    };
    version::insert(conn, new.file, before, new.before)?;
    let id = insert_change(conn, new, Role::Edit, before)?;
    let after = before.toggled(id);
    change::set_set_of_new(conn, id, (new, Role::Edit), after)?;
    version::insert(conn, new.file, after, new.after)?;
    Ok(id)
}

/// Records a restore of a file: the edits it took out of force, and those it put back.
pub(crate) fn insert_restore(
    conn: &Connection,
    head: NodeId,
    new: &NewChange<'_>,
    taken_out: &[ChangeId],
    put_back: &[ChangeId],
) -> Result<ChangeId> {
    let before = set_at(conn, new.file, head)?;
    version::insert(conn, new.file, before, new.before)?;
    let after = taken_out
        .iter()
        .chain(put_back)
        .fold(before, |set, member| set.toggled(*member));
    let id = insert_change(conn, new, Role::Restore, after)?;
    for member in taken_out {
        moved::insert(conn, id, *member, Move::TakenOut)?;
    }
    for member in put_back {
        moved::insert(conn, id, *member, Move::PutBack)?;
    }
    version::insert(conn, new.file, after, new.after)?;
    Ok(id)
}

fn insert_change(
    conn: &Connection,
    new: &NewChange<'_>,
    role: Role,
    set: SetHash,
) -> Result<ChangeId> {
    for placed in [new.before, new.after].into_iter().flatten() {
        backed_content::store_shown(conn, &placed.image)?;
    }
    change::insert(conn, new, role, set)
}

pub(crate) fn change(conn: &Connection, id: ChangeId) -> Result<Change> {
    change::get(conn, id)?.ok_or_else(|| Error::NotFound {
        what: "change",
        name: id.0.to_string(),
    })
}

pub(crate) fn node(conn: &Connection, id: NodeId) -> Result<Node> {
    let row = node::get(conn, id)?.ok_or_else(|| Error::NoRevision(id.to_string()))?;
    let mut node = row.node;
    if node.coverage.pending && row.scanned.is_some_and(|s| s > node.time) {
        // the scan that continued is over; what it found late stands in later nodes
        node.coverage.pending = false;
        let why = "the scan ran out of time: what had changed by then was found later, if at all";
        node.coverage.note(b".", Reason::Failed, why);
    }
    Ok(node)
}
