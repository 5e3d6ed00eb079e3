//! Edits in force: per file and node the set of edits in its content, and the recorded state of
//! every set.

use std::collections::BTreeSet;

use rusqlite::Connection;

use super::Ancestry;
use crate::error::Result;
use crate::model::{Change, ChangeId, FileId, FileVersion, NodeId, Origin, Role};
use crate::store::SetHash;
use crate::store::row_checksums::{ChangeColumns, damaged};
use crate::store::tables::change::{self, Order};
use crate::store::tables::moved::{self, Move};
use crate::store::tables::{journal, version};

/// Returns the edits that a restore took out of force and those it put back, each oldest first.
pub(crate) fn moved_by(
    conn: &Connection,
    restore: ChangeId,
) -> Result<(Vec<ChangeId>, Vec<ChangeId>)> {
    let (mut taken_out, mut put_back) = (Vec::new(), Vec::new());
    for (member, moved) in moved::of_restore(conn, restore)? {
        match moved {
            Move::TakenOut => taken_out.push(member),
            Move::PutBack => put_back.push(member),
        }
    }
    Ok((taken_out, put_back))
}

/// Returns the moves of a restore of which the user chose a part, by hunks or in conflicts. That
/// part is recorded as the user's edit, and the sets stayed. Returns None for any other edit.
pub(crate) fn partial_restore_of(
    conn: &Connection,
    edit: &Change,
) -> Result<Option<(Vec<ChangeId>, Vec<ChangeId>)>> {
    if edit.origin != Origin::USER {
        return Ok(None);
    }
    let moves = journal::decided_at(conn, edit.node, edit.file)?;
    Ok(moves.map(|moves| (moves.taken_out, moves.put_back)))
}

/// Returns the hash of the file's set at a node, from its newest change on the node's chain.
pub(crate) fn set_at(conn: &Connection, file: FileId, node: NodeId) -> Result<SetHash> {
    let newest = newest_change_at(&Ancestry::new(conn), file, node)?;
    Ok(newest.map_or(SetHash::EMPTY, |change| change.set))
}

/// Returns the newest change of the file on the chain of a node.
fn newest_change_at(
    ancestry: &Ancestry<'_>,
    file: FileId,
    node: NodeId,
) -> Result<Option<ChangeColumns>> {
    let line = ancestry.line(node)?;
    change::find_of_file(ancestry.conn(), file, Order::NewestFirst, |row| {
        let (branch, node) = row.place()?;
        if line.has(branch, node) {
            return Ok(Some(row.columns()?));
        }
        Ok(None)
    })
}

/// Returns the edits of the file that are in force at a node, oldest first.
pub(crate) fn in_force(
    ancestry: &Ancestry<'_>,
    file: FileId,
    node: NodeId,
) -> Result<BTreeSet<ChangeId>> {
    let conn = ancestry.conn();
    let line = ancestry.line(node)?;
    let mut set = BTreeSet::new();
    let mut recorded = SetHash::EMPTY;
    change::find_of_file(conn, file, Order::OldestFirst, |row| {
        let (branch, node) = row.place()?;
        if line.has(branch, node) {
            let columns = row.columns()?;
            recorded = columns.set;
            apply(conn, &mut set, row.id()?, columns.role)?;
        }
        Ok(None::<()>)
    })?;
    if SetHash::of(&set) != recorded {
        let what = format!("the edits in force of file {} at {node}", file.0);
        return Err(damaged(&what).into());
    }
    Ok(set)
}

/// Applies a change to the set of edits in force.
fn apply(
    conn: &Connection,
    set: &mut BTreeSet<ChangeId>,
    change: ChangeId,
    role: Role,
) -> Result<()> {
    if role == Role::Edit {
        set.insert(change);
        return Ok(());
    }
    for (member, moved) in moved::of_restore(conn, change)? {
        match moved {
            Move::TakenOut => set.remove(&member),
            Move::PutBack => set.insert(member),
        };
    }
    Ok(())
}

/// Returns the file's state at a node: after its newest change on the chain, or else before its
/// first change.
pub(crate) fn state_at(ancestry: &Ancestry<'_>, file: FileId, node: NodeId) -> Result<FileVersion> {
    if let Some(newest) = newest_change_at(ancestry, file, node)? {
        return Ok(newest.after);
    }
    let conn = ancestry.conn();
    let base = version::get(conn, file, SetHash::EMPTY)?;
    if base.is_none() && change::is_any_of_file(conn, file, |_, _| true)? {
        let what = format!("the first state of file {}", file.0);
        return Err(damaged(&what).into());
    }
    Ok(base.flatten())
}

/// True if the file has changed on the chain of a node.
pub(crate) fn is_changed(ancestry: &Ancestry<'_>, file: FileId, node: NodeId) -> Result<bool> {
    let line = ancestry.line(node)?;
    change::is_any_of_file(ancestry.conn(), file, |branch, node| line.has(branch, node))
}
