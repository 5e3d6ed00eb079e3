//! Tables `tag` and `pin`: names of nodes, and nodes that `gc` keeps.

use std::collections::HashSet;

use rusqlite::{Connection, params};

use super::query::{Table, execute, exists};
use crate::error::Result;
use crate::model::NodeId;
use crate::store::now;

const TAG: Table = Table("tag");
const PIN: Table = Table("pin");

#[derive(Clone, Debug)]
pub struct Tag {
    pub name: String,
    pub node: NodeId,
    /// Microseconds since 1970.
    pub created: i64,
}

/// Returns all tags by name.
pub(crate) fn all(conn: &Connection) -> Result<Vec<Tag>> {
    TAG.all(
        conn,
        "SELECT name, node, created FROM tag ORDER BY name",
        [],
        |r| {
            Ok(Tag {
                name: r.get(0)?,
                node: r.get(1)?,
                created: r.get(2)?,
            })
        },
    )
}

pub(crate) fn node_of(conn: &Connection, name: &str) -> Result<Option<NodeId>> {
    TAG.value_of(conn, "SELECT node FROM tag WHERE name = ?1", &name)
}

pub(crate) fn has_name(conn: &Connection, name: &str) -> Result<bool> {
    exists(conn, "SELECT 1 FROM tag WHERE name = ?1", [name])
}

pub(crate) fn count(conn: &Connection) -> Result<i64> {
    TAG.number(conn, "SELECT COUNT(*) FROM tag", [])
}

/// Returns the sum of the tagged nodes, which differs after most changes of tags.
pub(crate) fn stamp(conn: &Connection) -> Result<i64> {
    TAG.number(conn, "SELECT COALESCE(SUM(node), 0) FROM tag", [])
}

pub(crate) fn insert(conn: &Connection, name: &str, node: NodeId) -> Result<()> {
    let sql = "INSERT INTO tag (name, node, created) VALUES (?1,?2,?3)";
    execute(conn, sql, params![name, node, now()])?;
    Ok(())
}

/// Deletes a tag. Returns its node, or None if there is no such tag.
pub(crate) fn delete(conn: &Connection, name: &str) -> Result<Option<NodeId>> {
    TAG.value_of(
        conn,
        "DELETE FROM tag WHERE name = ?1 RETURNING node",
        &name,
    )
}

pub(crate) fn pins(conn: &Connection) -> Result<HashSet<NodeId>> {
    PIN.column(conn, "SELECT node FROM pin", [])
}

/// Returns the sum of the pinned nodes and the time of the newest pin, which differ after a change of pins.
pub(crate) fn pin_stamp(conn: &Connection) -> Result<(i64, i64)> {
    let sql = "SELECT COALESCE(SUM(node), 0), COALESCE(MAX(time), 0) FROM pin";
    PIN.one(conn, sql, [], |r| Ok((r.get(0)?, r.get(1)?)))
}

/// Pins a node. Returns false if it was pinned already.
pub(crate) fn insert_pin(conn: &Connection, node: NodeId) -> Result<bool> {
    let sql = "INSERT OR IGNORE INTO pin (node, time) VALUES (?1,?2)";
    Ok(execute(conn, sql, params![node, now()])? > 0)
}

/// Unpins a node. Returns false if it was not pinned.
pub(crate) fn delete_pin(conn: &Connection, node: NodeId) -> Result<bool> {
    Ok(execute(conn, "DELETE FROM pin WHERE node = ?1", [node])? > 0)
}
