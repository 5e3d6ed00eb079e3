//! Table `node_text`: copies of unsaved text that are attached to nodes.

use rusqlite::{Connection, params};

use super::id_list::IdList;
use super::query::{Table, execute, exists};
use crate::error::Result;
use crate::model::{ContentId, NodeId, RelPath};

const NODE_TEXT: Table = Table("node_text");

/// Unsaved text at the time of a checkpoint. The checkpoint itself has the text on disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unsaved {
    pub path: RelPath,
    pub content: ContentId,
    /// The content that was loaded or last saved.
    pub base: Option<ContentId>,
    /// The editor's name.
    pub editor: String,
    /// Lines added and removed since `base`.
    pub added: usize,
    pub removed: usize,
}

/// Unsaved text as attached to a node.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KeptBuffer<'a> {
    pub path: &'a RelPath,
    pub editor: &'a str,
    pub pid: u32,
    /// In the store.
    pub content: ContentId,
    pub base: Option<ContentId>,
    /// The text that a restore made of it.
    pub made: Option<ContentId>,
}

/// Attaches a stored content to a node.
pub(crate) fn insert(conn: &Connection, node: NodeId, kept: &KeptBuffer<'_>) -> Result<()> {
    let sql = "INSERT INTO node_text (node, path, editor, pid, content, base, made) VALUES (?1,?2,?3,?4,?5,?6,?7)
         ON CONFLICT DO UPDATE SET base = excluded.base, made = COALESCE(excluded.made, made)";
    let values = params![
        node,
        kept.path,
        kept.editor,
        kept.pid,
        kept.content,
        kept.base,
        kept.made
    ];
    execute(conn, sql, values)?;
    Ok(())
}

/// Attaches the text that a restore found in a document. It replaces the older text from the
/// editor's row.
pub(crate) fn replace(conn: &Connection, node: NodeId, kept: &KeptBuffer<'_>) -> Result<()> {
    let sql = "DELETE FROM node_text WHERE node = ?1 AND path = ?2 AND editor = ?3 AND pid = ?4";
    execute(conn, sql, params![node, kept.path, kept.editor, kept.pid])?;
    insert(conn, node, kept)
}

/// Returns three contents of an editor's document: before a restore, its base, and the result of
/// the restore.
pub(crate) fn made_of(
    conn: &Connection,
    node: NodeId,
    path: &RelPath,
    (editor, pid): (&str, u32),
) -> Result<Option<(ContentId, Option<ContentId>, ContentId)>> {
    let sql = "SELECT node, content, base, made FROM node_text
         WHERE node = ?1 AND path = ?2 AND editor = ?3 AND pid = ?4 AND made IS NOT NULL";
    let key = params![node, path, editor, pid];
    NODE_TEXT.first(conn, sql, key, |r| Ok((r.get(1)?, r.get(2)?, r.get(3)?)))
}

/// Returns the unsaved text attached to a node, without line counts.
pub(crate) fn of_node(conn: &Connection, node: NodeId) -> Result<Vec<Unsaved>> {
    let sql = "SELECT node, path, editor, content, base FROM node_text WHERE node = ?1
         ORDER BY path, editor, pid";
    NODE_TEXT.all(conn, sql, [node], |r| {
        Ok(Unsaved {
            path: r.get(1)?,
            editor: r.get(2)?,
            content: r.get(3)?,
            base: r.get(4)?,
            added: 0,
            removed: 0,
        })
    })
}

/// True if unsaved text is attached to any node.
pub(crate) fn is_any(conn: &Connection) -> Result<bool> {
    exists(conn, "SELECT 1 FROM node_text LIMIT 1", [])
}

/// Returns all texts whose content is not in the store, by node and path.
pub(crate) fn missing(conn: &Connection) -> Result<Vec<(NodeId, RelPath)>> {
    let sql = "SELECT node, path FROM node_text
         WHERE NOT EXISTS (SELECT 1 FROM blob WHERE blob.hash = node_text.content)";
    NODE_TEXT.all(conn, sql, [], |r| Ok((r.get(0)?, r.get(1)?)))
}

/// Passes all contents on, each at least once.
pub(crate) fn contents(conn: &Connection, take: &mut dyn FnMut(ContentId)) -> Result<()> {
    let sql = "SELECT node, content, base, made FROM node_text";
    let rows: Vec<[Option<ContentId>; 3]> =
        NODE_TEXT.all(conn, sql, [], |r| Ok([r.get(1)?, r.get(2)?, r.get(3)?]))?;
    rows.into_iter().flatten().flatten().for_each(take);
    Ok(())
}

pub(crate) fn delete(conn: &Connection, nodes: IdList) -> Result<()> {
    let sql = format!("DELETE FROM node_text WHERE node IN {}", nodes.ids());
    execute(conn, &sql, [])?;
    Ok(())
}
