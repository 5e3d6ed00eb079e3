//! Tables `file`, `adopted` and `gone`: the identity of a file, the nodes at which files became known, and the
//! identities of files whose path is now absent.

use rusqlite::{Connection, params};

use super::id_list::IdList;
use super::query::{Table, execute};
use crate::error::Result;
use crate::model::{FileId, NodeId, RelPath, RootId};

const FILE: Table = Table("file");
const ADOPTED: Table = Table("adopted");
const GONE: Table = Table("gone");

/// Inserts a file that was first known at this node; None: known from the start.
pub(crate) fn insert(conn: &Connection, since: Option<NodeId>) -> Result<FileId> {
    execute(conn, "INSERT INTO file (since) VALUES (?1)", [since])?;
    Ok(FileId(conn.last_insert_rowid()))
}

/// Returns the node at which a file was first known; None: from the start.
pub(crate) fn since(conn: &Connection, file: FileId) -> Result<Option<NodeId>> {
    let since = FILE.value_of(conn, "SELECT since FROM file WHERE id = ?1", &file)?;
    since.ok_or_else(|| rusqlite::Error::QueryReturnedNoRows.into())
}

/// Returns all files, an unreadable number as an error.
pub(crate) fn ids(conn: &Connection) -> Result<Vec<Result<FileId>>> {
    let mut select = conn.prepare_cached("SELECT id FROM file ORDER BY id")?;
    let mut rows = select.query([])?;
    let mut ids = Vec::new();
    while let Some(row) = rows.next()? {
        ids.push(FILE.named(conn, row, row.get(0)));
    }
    Ok(ids)
}

/// Lets the files that were first known at one of these nodes begin at `into`.
pub(crate) fn move_since(conn: &Connection, nodes: IdList, into: NodeId) -> Result<()> {
    let ids = nodes.ids();
    let sql = format!("UPDATE file SET since = ?1 WHERE since IN {ids}");
    execute(conn, &sql, [into])?;
    Ok(())
}

/// Notes that a file became known at a node.
pub(crate) fn insert_adopted(conn: &Connection, node: NodeId, file: FileId) -> Result<()> {
    let sql = "INSERT INTO adopted (node, file) VALUES (?1,?2)";
    execute(conn, sql, params![node, file])?;
    Ok(())
}

/// Returns the files that became known at a node.
pub(crate) fn adopted_at(conn: &Connection, node: NodeId) -> Result<Vec<FileId>> {
    ADOPTED.column(conn, "SELECT file FROM adopted WHERE node = ?1", [node])
}

/// Moves the files that became known at one of these nodes to `into`.
pub(crate) fn move_adopted(conn: &Connection, nodes: IdList, into: NodeId) -> Result<()> {
    let ids = nodes.ids();
    let insert = format!(
        "INSERT OR IGNORE INTO adopted (node, file) SELECT ?1, file FROM adopted WHERE node IN {ids}"
    );
    execute(conn, &insert, [into])?;
    let delete = format!("DELETE FROM adopted WHERE node IN {ids} AND node <> ?1");
    execute(conn, &delete, [into])?;
    Ok(())
}

/// Returns the file that was last at a now absent path.
pub(crate) fn gone_at(conn: &Connection, root: RootId, path: &RelPath) -> Result<Option<FileId>> {
    let sql = "SELECT file FROM gone WHERE root = ?1 AND path = ?2";
    GONE.first(conn, sql, params![root, path], |r| r.get(0))
}

/// Returns the paths at which a file was last, where it would be taken for the same file again.
pub(crate) fn gone_paths(conn: &Connection, root: RootId, file: FileId) -> Result<Vec<RelPath>> {
    let sql = "SELECT path FROM gone WHERE root = ?1 AND file = ?2";
    GONE.all(conn, sql, params![root, file], |r| r.get(0))
}

/// Returns the files of all now absent paths.
pub(crate) fn gone(conn: &Connection, root: RootId) -> Result<Vec<(RelPath, FileId)>> {
    let sql = "SELECT path, file FROM gone WHERE root = ?1";
    GONE.all(conn, sql, [root], |r| Ok((r.get(0)?, r.get(1)?)))
}

/// Records where a file is now absent; None: nowhere.
pub(crate) fn set_gone(
    conn: &Connection,
    root: RootId,
    file: FileId,
    absent_at: Option<&RelPath>,
) -> Result<()> {
    let delete = "DELETE FROM gone WHERE root = ?1 AND file = ?2";
    execute(conn, delete, params![root, file])?;
    if let Some(path) = absent_at {
        let insert = "INSERT OR REPLACE INTO gone (root, path, file) VALUES (?1,?2,?3)";
        execute(conn, insert, params![root, path, file])?;
    }
    Ok(())
}

pub(crate) fn delete_gone_of(conn: &Connection, root: RootId) -> Result<()> {
    execute(conn, "DELETE FROM gone WHERE root = ?1", [root])?;
    Ok(())
}
