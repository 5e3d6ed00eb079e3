//! Table `stray`: known paths that a walk may not visit, which partial scans must therefore check.

use rusqlite::{Connection, params};

use super::query::{Table, execute};
use crate::error::Result;
use crate::model::{RelPath, RootId};

const STRAY: Table = Table("stray");

/// Adds a path. `generation`: of the rows that it came with.
pub(crate) fn insert(
    conn: &Connection,
    root: RootId,
    path: &RelPath,
    generation: i64,
) -> Result<()> {
    let sql = "INSERT OR REPLACE INTO stray (root, path, generation) VALUES (?1,?2,?3)";
    execute(conn, sql, params![root, path, generation])?;
    Ok(())
}

pub(crate) fn paths(conn: &Connection, root: RootId) -> Result<Vec<RelPath>> {
    STRAY.column(conn, "SELECT path FROM stray WHERE root = ?1", [root])
}

/// Deletes the paths of this generation and of earlier ones.
pub(crate) fn delete_up_to(conn: &Connection, root: RootId, generation: i64) -> Result<()> {
    let sql = "DELETE FROM stray WHERE root = ?1 AND generation <= ?2";
    execute(conn, sql, params![root, generation])?;
    Ok(())
}

pub(crate) fn delete_of(conn: &Connection, root: RootId) -> Result<()> {
    execute(conn, "DELETE FROM stray WHERE root = ?1", [root])?;
    Ok(())
}
