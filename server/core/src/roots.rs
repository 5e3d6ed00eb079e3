//! The directories of a store. Each has one row, and the branch that it is on; a row whose directory is gone
//! stays, for what happened there, and gives the rest up.

use std::path::Path;

use rusqlite::{Connection, OptionalExtension, params};

use crate::error::Result;
use crate::model::{RootId, os_bytes};

/// The path of a directory that is gone: none that can be. The number keeps it apart from others that were
/// there once.
fn left_path(path: &Path, root: RootId) -> Vec<u8> {
    let mut bytes = os_bytes(path.as_os_str());
    bytes.push(0);
    bytes.extend(root.0.to_string().bytes());
    bytes
}

/// Gives up the root at this path, whose directory is gone: the path and the branch are free.
pub(crate) fn give_up(conn: &Connection, path: &Path) -> Result<()> {
    let root: Option<RootId> = conn
        .query_row(
            "SELECT id FROM root WHERE path = ?1",
            [os_bytes(path.as_os_str())],
            |r| r.get(0),
        )
        .optional()?;
    if let Some(root) = root {
        conn.execute(
            "UPDATE root SET path = ?2, branch = NULL WHERE id = ?1",
            params![root, left_path(path, root)],
        )?;
    }
    Ok(())
}

/// The last one that was given up at this path has it again.
pub(crate) fn return_path(conn: &Connection, path: &Path) -> Result<()> {
    let bytes = os_bytes(path.as_os_str());
    let (from, to) = ([&bytes[..], &[0]].concat(), [&bytes[..], &[1]].concat());
    conn.execute(
        "UPDATE root SET path = ?1 WHERE id =
           (SELECT MAX(id) FROM root WHERE path > ?2 AND path < ?3)",
        params![bytes, from, to],
    )?;
    Ok(())
}
