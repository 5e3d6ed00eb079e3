//! Table `node` as `verify` reads it: each row by itself, so that a damaged one does not hide the others.

use rusqlite::{Connection, Row};

use super::node::NODE;
use crate::error::Result;
use crate::model::{Kind, NodeId};

/// Place of a node on its branch.
pub(crate) struct ChainRow {
    pub id: NodeId,
    pub parent: Option<NodeId>,
    /// The node before it on its branch, or the fork point of that.
    pub before: Option<NodeId>,
}

/// Returns the kinds of all nodes.
pub(crate) fn kinds(conn: &Connection) -> Result<Vec<Result<Kind>>> {
    each(conn, "SELECT id, kind FROM node ORDER BY id", |r| r.get(1))
}

pub(crate) fn ids(conn: &Connection) -> Result<Vec<Result<NodeId>>> {
    each(conn, "SELECT id FROM node ORDER BY id", |r| r.get(0))
}

/// Returns the nodes with those before them, oldest first.
pub(crate) fn chains(conn: &Connection) -> Result<Vec<ChainRow>> {
    let sql = "SELECT id, parent, COALESCE(LAG(id) OVER (PARTITION BY branch ORDER BY id),
           (SELECT fork_point FROM branch WHERE branch.id = node.branch)) AS before
         FROM node ORDER BY id";
    NODE.all(conn, sql, [], |r| {
        Ok(ChainRow {
            id: r.get(0)?,
            parent: r.get(1)?,
            before: r.get(2)?,
        })
    })
}

fn each<T>(
    conn: &Connection,
    sql: &str,
    read: impl Fn(&Row<'_>) -> rusqlite::Result<T>,
) -> Result<Vec<Result<T>>> {
    let mut select = conn.prepare_cached(sql)?;
    let mut rows = select.query([])?;
    let mut all = Vec::new();
    while let Some(row) = rows.next()? {
        all.push(NODE.named(conn, row, read(row)));
    }
    Ok(all)
}
