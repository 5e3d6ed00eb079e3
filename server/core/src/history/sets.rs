//! Edits in force: per file and node the set of edits in its content, and the recorded state of
//! every set.

use std::collections::BTreeSet;

use rusqlite::{Connection, OptionalExtension, params};

use super::set_hash::SetHash;
use super::{Ancestry, CHANGE, row_checksums};
use crate::error::Result;
use crate::model::{Change, ChangeId, FileId, FileVersion, NodeId, Origin};
use crate::store::tables::journal;
use crate::store::{state_columns, state_from};

/// Records the state that a file has with this set. A set has one state, so an existing row stays.
pub(super) fn insert_version(
    conn: &Connection,
    file: FileId,
    set: SetHash,
    state: &FileVersion,
) -> Result<()> {
    let (path, image) = state_columns(state);
    conn.prepare_cached(
        "INSERT OR IGNORE INTO version (file, set_hash, path, image, sum) VALUES (?1,?2,?3,?4,?5)",
    )?
    .execute(params![
        file,
        set,
        path,
        image,
        row_checksums::of_version(file, set, state)
    ])?;
    Ok(())
}

/// Returns the recorded state of the file with exactly this set, if any.
pub(crate) fn version(
    conn: &Connection,
    file: FileId,
    set: SetHash,
) -> Result<Option<FileVersion>> {
    let read = |r: &rusqlite::Row<'_>| {
        let state = state_from(r, 0)?;
        let what = || format!("a state of file {}", file.0);
        row_checksums::check(
            r.get(2)?,
            row_checksums::of_version(file, set, &state),
            what,
        )?;
        Ok(state)
    };
    Ok(conn
        .prepare_cached("SELECT path, image, sum FROM version WHERE file = ?1 AND set_hash = ?2")?
        .query_row(params![file, set], read)
        .optional()?)
}

/// Returns all changes of the file on every branch, oldest first, each with the set in force after
/// it.
pub(crate) fn changes_with_sets(conn: &Connection, file: FileId) -> Result<Vec<(Change, SetHash)>> {
    let sql = format!("SELECT {CHANGE} FROM change c WHERE c.file = ?1 ORDER BY c.id");
    let mut select = conn.prepare_cached(&sql)?;
    let rows = select.query_map([file], |r| {
        Ok((super::change_from(r)?, r.get("set_after")?))
    })?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// Returns the edits that a restore took out of force and those it put back, each oldest first.
pub(crate) fn moved_by(
    conn: &Connection,
    restore: ChangeId,
) -> Result<(Vec<ChangeId>, Vec<ChangeId>)> {
    let mut select =
        conn.prepare_cached("SELECT member, sign FROM moved WHERE change = ?1 ORDER BY member")?;
    let mut rows = select.query([restore])?;
    let (mut taken_out, mut put_back) = (Vec::new(), Vec::new());
    while let Some(row) = rows.next()? {
        let side = if row.get::<_, i64>(1)? < 0 {
            &mut taken_out
        } else {
            &mut put_back
        };
        side.push(row.get(0)?);
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

/// Query for the changes of a file, each with the branch and id of its node.
fn changes_sql(order: &str) -> String {
    let columns = row_checksums::COLUMNS;
    format!(
        "SELECT n.branch, n.id, c.id, {columns} FROM change c JOIN node n ON n.id = c.node
         WHERE c.file = ?1 ORDER BY c.id {order}"
    )
}

/// Returns the hash of the file's set at a node, from its newest change on the node's chain.
pub(crate) fn set_at(conn: &Connection, file: FileId, node: NodeId) -> Result<SetHash> {
    let ancestry = Ancestry::new(conn);
    let line = ancestry.line(node)?;
    let mut select = conn.prepare_cached(&changes_sql("DESC"))?;
    let mut rows = select.query([file])?;
    while let Some(row) = rows.next()? {
        if line.has(row.get(0)?, row.get(1)?) {
            return Ok(row_checksums::read(row, 3)?.set);
        }
    }
    Ok(SetHash::EMPTY)
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
    let mut select = conn.prepare_cached(&changes_sql("ASC"))?;
    let mut moved = conn.prepare_cached("SELECT member, sign FROM moved WHERE change = ?1")?;
    let mut rows = select.query([file])?;
    while let Some(row) = rows.next()? {
        if !line.has(row.get(0)?, row.get(1)?) {
            continue;
        }
        let change: ChangeId = row.get(2)?;
        let columns = row_checksums::read(row, 3)?;
        recorded = columns.set;
        if columns.role == 0 {
            set.insert(change);
            continue;
        }
        let mut members = moved.query([change])?;
        while let Some(member) = members.next()? {
            if member.get::<_, i64>(1)? < 0 {
                set.remove(&member.get(0)?);
            } else {
                set.insert(member.get(0)?);
            }
        }
    }
    if SetHash::of(&set) != recorded {
        let what = format!("the edits in force of file {} at {node}", file.0);
        return Err(row_checksums::damaged(&what).into());
    }
    Ok(set)
}

/// Returns the file's state at a node: after its newest change on the chain, or else before its
/// first change.
pub(crate) fn state_at(ancestry: &Ancestry<'_>, file: FileId, node: NodeId) -> Result<FileVersion> {
    let line = ancestry.line(node)?;
    let mut select = ancestry.conn().prepare_cached(&changes_sql("DESC"))?;
    let mut rows = select.query([file])?;
    let mut is_changed = false;
    while let Some(row) = rows.next()? {
        if line.has(row.get(0)?, row.get(1)?) {
            return Ok(row_checksums::read(row, 3)?.after);
        }
        is_changed = true;
    }
    let base = version(ancestry.conn(), file, SetHash::EMPTY)?;
    if base.is_none() && is_changed {
        let what = format!("the first state of file {}", file.0);
        return Err(row_checksums::damaged(&what).into());
    }
    Ok(base.flatten())
}

/// True if the file has changed on the chain of a node.
pub(crate) fn is_changed(ancestry: &Ancestry<'_>, file: FileId, node: NodeId) -> Result<bool> {
    let line = ancestry.line(node)?;
    let mut select = ancestry.conn().prepare_cached(
        "SELECT n.branch, n.id FROM change c JOIN node n ON n.id = c.node WHERE c.file = ?1",
    )?;
    let mut rows = select.query([file])?;
    while let Some(row) = rows.next()? {
        if line.has(row.get(0)?, row.get(1)?) {
            return Ok(true);
        }
    }
    Ok(false)
}
