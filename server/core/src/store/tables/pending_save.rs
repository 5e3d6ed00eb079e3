//! Table `pending_save`: files whose recorded state an editor shows and the disk does not hold yet.

use rusqlite::{Connection, params};

use super::damage::{InRow, read_all};
use super::id_list::IdList;
use crate::error::Result;
use crate::model::{Image, OpId, RelPath, RootId};

/// A file that waits for a save.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PendingSave {
    pub(crate) id: i64,
    pub path: RelPath,
    /// The operation that made it wait; None: an agent's edit in the editor.
    pub operation: Option<OpId>,
    /// The image on disk.
    pub disk: Image,
    /// The image in the record.
    pub wanted: Image,
    /// The name of the editor that has, or had, the file open.
    pub editor: String,
    /// Process id of its language server.
    pub pid: u32,
    /// Microseconds since 1970.
    pub time: i64,
}

/// The query of `all`, whose plan a test checks.
pub(crate) const ALL: &str =
    "SELECT id, path, operation, disk, wanted, editor, pid, time FROM pending_save WHERE root = ?1
     ORDER BY id";

pub(crate) fn all(conn: &Connection, root: RootId) -> Result<Vec<PendingSave>> {
    let mut select = conn.prepare_cached(ALL)?;
    let rows = select.query([root])?;
    read_all(conn, "pending_save", rows, |r| {
        Ok(PendingSave {
            id: r.get(0)?,
            path: r.get(1)?,
            operation: r.get(2)?,
            disk: r.get(3)?,
            wanted: r.get(4)?,
            editor: r.get(5)?,
            pid: r.get(6)?,
            time: r.get(7)?,
        })
    })
}

/// A new pending save. It replaces an older one of the same path.
pub(crate) struct NewPending<'a> {
    pub path: &'a RelPath,
    pub operation: Option<OpId>,
    pub disk: Image,
    pub wanted: Image,
    pub editor: &'a str,
    pub pid: u32,
}

pub(crate) fn put(conn: &Connection, root: RootId, new: &NewPending<'_>) -> Result<()> {
    conn.prepare_cached(
        "INSERT OR REPLACE INTO pending_save (root, path, operation, disk, wanted, editor, pid, time)
         VALUES (?1,?2,?3,?4,?5,?6,?7,?8)",
    )?
    .execute(params![
        root,
        new.path,
        new.operation,
        new.disk,
        new.wanted,
        new.editor,
        new.pid,
        crate::store::now()
    ])?;
    Ok(())
}

/// Ends the wait at a path: the file was saved, or the record has changed.
pub(crate) fn done(conn: &Connection, root: RootId, path: &RelPath) -> Result<()> {
    conn.prepare_cached("DELETE FROM pending_save WHERE root = ?1 AND path = ?2")?
        .execute(params![root, path])?;
    Ok(())
}

/// Ends this wait only.
pub(crate) fn saved(conn: &Connection, id: i64) -> Result<()> {
    conn.prepare_cached("DELETE FROM pending_save WHERE id = ?1")?
        .execute([id])?;
    Ok(())
}

/// Keeps the pending saves of these operations without their operation.
pub(crate) fn detach_operations(conn: &Connection, operations: IdList) -> Result<()> {
    let sql = format!(
        "UPDATE pending_save SET operation = NULL WHERE operation IN {}",
        operations.ids()
    );
    conn.execute(&sql, [])?;
    Ok(())
}

/// Passes on the images of all rows.
pub(crate) fn images(conn: &Connection, take: &mut dyn FnMut(Image)) -> Result<()> {
    let mut select = conn.prepare_cached("SELECT id, disk, wanted FROM pending_save")?;
    let mut rows = select.query([])?;
    while let Some(r) = rows.next()? {
        let id: i64 = r.get(0)?;
        for at in [1, 2] {
            take(
                r.get(at)
                    .in_row(conn, || format!("row {id} of table pending_save"))?,
            );
        }
    }
    Ok(())
}
