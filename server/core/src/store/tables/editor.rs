//! Table `editor`: the language servers at work on a root, each with a lock file that it holds while it lives.

use std::path::PathBuf;

use rusqlite::{Connection, OptionalExtension, Row, params};

use super::damage::{InRow, read_all};
use super::{buffer, request};
use crate::error::{Context, Error, Result};
use crate::model::{EditorId, RootId};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EditorInfo {
    pub id: EditorId,
    /// The client's own name: `Helix`, `Visual Studio Code`.
    pub name: String,
    /// Process id of the language server.
    pub pid: u32,
    /// Microseconds since 1970.
    pub started: i64,
}

fn read(r: &Row<'_>) -> rusqlite::Result<EditorInfo> {
    Ok(EditorInfo {
        id: r.get(0)?,
        name: r.get(1)?,
        pid: r.get(2)?,
        started: r.get(3)?,
    })
}

pub(crate) fn rows(conn: &Connection, root: RootId) -> Result<Vec<EditorInfo>> {
    let mut select = conn
        .prepare_cached("SELECT id, name, pid, started FROM editor WHERE root = ?1 ORDER BY id")?;
    let rows = select.query([root])?;
    read_all(conn, "editor", rows, read)
}

pub(crate) fn row(conn: &Connection, id: EditorId) -> Result<Option<EditorInfo>> {
    conn.prepare_cached("SELECT id, name, pid, started FROM editor WHERE id = ?1")?
        .query_row([id], read)
        .optional()
        .in_row(conn, || format!("row {} of table editor", id.0))
}

/// Adds a language server of this process.
pub(crate) fn insert(
    conn: &Connection,
    root: RootId,
    name: &str,
    started: i64,
) -> Result<EditorInfo> {
    let pid = std::process::id();
    conn.execute(
        "INSERT INTO editor (root, name, pid, started) VALUES (?1,?2,?3,?4)",
        params![root, name, pid, started],
    )?;
    Ok(EditorInfo {
        id: EditorId(conn.last_insert_rowid()),
        name: name.to_owned(),
        pid,
        started,
    })
}

/// Removes an editor with all its rows.
pub(crate) fn remove(conn: &Connection, id: EditorId) -> Result<()> {
    buffer::delete_of(conn, id)?;
    request::delete_of(conn, id)?;
    conn.execute("DELETE FROM editor WHERE id = ?1", [id])?;
    Ok(())
}

/// Inserts the row of an editor again: `clear` may have removed it.
pub(crate) fn ensure(conn: &Connection, editor: &EditorInfo, root: RootId) -> Result<()> {
    conn.prepare_cached(
        "INSERT OR IGNORE INTO editor (id, root, name, pid, started) VALUES (?1,?2,?3,?4,?5)",
    )?
    .execute(params![
        editor.id,
        root,
        editor.name,
        editor.pid,
        editor.started
    ])?;
    Ok(())
}

pub(crate) fn lock_file(dir: &std::path::Path, id: EditorId) -> PathBuf {
    dir.join("editors").join(format!("{}.lock", id.0))
}

/// True if the language server still holds its lock. Also true in case of doubt: its text is then
/// left to it.
pub(crate) fn is_alive(dir: &std::path::Path, id: EditorId) -> bool {
    let path = lock_file(dir, id);
    match std::fs::File::open(&path).at("open", &path) {
        Ok(file) => !matches!(file.try_lock_shared(), Ok(())),
        Err(Error::Io { source, .. }) => source.kind() != std::io::ErrorKind::NotFound,
        Err(_) => true,
    }
}
