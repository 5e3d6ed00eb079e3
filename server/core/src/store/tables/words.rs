//! Table `words`: the full-text index of the nodes. Its row ids are those of the nodes.

use rusqlite::{Connection, params};

use super::id_list::IdList;
use super::query::{Table, execute};
use crate::error::Result;
use crate::model::{ContentId, NodeId};

const WORDS: Table = Table("words");

/// Texts of a node that are searched.
pub(crate) struct NodeTexts {
    pub node: NodeId,
    /// Label, prompt, tool and description, those that it has.
    pub texts: Vec<String>,
    /// Input of its tool call.
    pub input: Option<ContentId>,
}

/// Returns the texts of the nodes after `after` up to `upto`.
pub(crate) fn texts(conn: &Connection, after: i64, upto: i64) -> Result<Vec<NodeTexts>> {
    let sql = "SELECT n.id, n.label, (SELECT prompt FROM turn WHERE node = n.id AND id = n.turn), c.tool, n.description,
           b.hash
         FROM node n LEFT JOIN call c ON c.id = n.call LEFT JOIN blob b ON b.n = c.input
         WHERE n.id > ?1 AND n.id <= ?2";
    WORDS.all(conn, sql, [after, upto], |r| {
        let texts: [Option<String>; 4] = [r.get(1)?, r.get(2)?, r.get(3)?, r.get(4)?];
        Ok(NodeTexts {
            node: r.get(0)?,
            texts: texts.into_iter().flatten().collect(),
            input: r.get(5)?,
        })
    })
}

pub(crate) fn insert(conn: &Connection, node: NodeId, body: &str) -> Result<()> {
    let sql = "INSERT INTO words (rowid, body) VALUES (?1, ?2)";
    execute(conn, sql, params![node, body])?;
    Ok(())
}

pub(crate) fn delete(conn: &Connection, nodes: IdList) -> Result<()> {
    let sql = format!("DELETE FROM words WHERE rowid IN {}", nodes.ids());
    execute(conn, &sql, [])?;
    Ok(())
}

pub(crate) fn clear(conn: &Connection) -> Result<()> {
    execute(conn, "INSERT INTO words (words) VALUES ('delete-all')", [])?;
    Ok(())
}
