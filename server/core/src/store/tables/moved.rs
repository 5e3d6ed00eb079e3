//! Table `moved`: the edits that a restore took out of the set in force, and those that it put back.

use rusqlite::{Connection, params};

use super::damage::stored_as;
use super::query::{Table, execute};
use crate::error::Result;
use crate::model::{BranchId, ChangeId, NodeId};

const MOVED: Table = Table("moved");

/// Direction in which a restore moved an edit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Move {
    TakenOut,
    PutBack,
}
stored_as!(Move as i64, "move of an edit", { TakenOut = -1, PutBack = 1 });

pub(crate) fn insert(
    conn: &Connection,
    restore: ChangeId,
    member: ChangeId,
    moved: Move,
) -> Result<()> {
    let sql = "INSERT INTO moved (change, member, sign) VALUES (?1,?2,?3)";
    execute(conn, sql, params![restore, member, moved])?;
    Ok(())
}

/// Returns the edits that a restore moved, oldest first.
pub(crate) fn of_restore(conn: &Connection, restore: ChangeId) -> Result<Vec<(ChangeId, Move)>> {
    let sql = "SELECT member, sign FROM moved WHERE change = ?1 ORDER BY member";
    MOVED.all(conn, sql, [restore], |r| Ok((r.get(0)?, r.get(1)?)))
}

/// Returns the direction of the newest move of an edit at a node that `is_wanted` accepts.
pub(crate) fn newest_of(
    conn: &Connection,
    member: ChangeId,
    is_wanted: impl Fn(BranchId, NodeId) -> bool,
) -> Result<Option<Move>> {
    let sql = "SELECT m.change, n.branch, n.id, m.sign
         FROM moved m JOIN change c ON c.id = m.change JOIN node n ON n.id = c.node
         WHERE m.member = ?1 ORDER BY m.change DESC";
    MOVED.find(conn, sql, [member], |r| {
        if is_wanted(r.get(1)?, r.get(2)?) {
            Ok(Some(r.get(3)?))
        } else {
            Ok(None)
        }
    })
}

/// Returns the newest node at which a restore moved an edit in this direction and that `is_wanted` accepts.
pub(crate) fn newest_node(
    conn: &Connection,
    (member, moved): (ChangeId, Move),
    is_wanted: impl Fn(NodeId) -> Result<bool>,
) -> Result<Option<NodeId>> {
    let sql = "SELECT c.node FROM moved m JOIN change c ON c.id = m.change
         WHERE m.member = ?1 AND m.sign = ?2 ORDER BY c.node DESC";
    MOVED.find(conn, sql, params![member, moved], |r| {
        let node = r.get(0)?;
        Ok(is_wanted(node)?.then_some(node))
    })
}

/// Returns the pairs of a node with a restore and a node with an edit that it moved.
pub(crate) fn node_pairs(conn: &Connection) -> Result<Vec<(NodeId, NodeId)>> {
    let sql = "SELECT DISTINCT r.node, e.node FROM moved m
         JOIN change r ON r.id = m.change JOIN change e ON e.id = m.member";
    MOVED.all(conn, sql, [], |r| Ok((r.get(0)?, r.get(1)?)))
}

/// Returns the newest restore that moved an edit; 0: there is none.
pub(crate) fn newest(conn: &Connection) -> Result<i64> {
    MOVED.number(conn, "SELECT COALESCE(MAX(change), 0) FROM moved", [])
}

pub(crate) fn delete_of_restore(conn: &Connection, restore: ChangeId) -> Result<()> {
    execute(conn, "DELETE FROM moved WHERE change = ?1", [restore])?;
    Ok(())
}
