//! Table `pending_save`: files whose recorded state an editor shows and the disk does not hold yet.

use rusqlite::{Connection, params};
use rustc_hash::FxHashMap;

use crate::error::Result;
use crate::model::{Image, OpId, RelPath, RootId};
use crate::worktree::disk::{DiskEntry, NO_STAT};
use crate::worktree::file_state;

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

/// The pending saves of a root, usually none.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pending(FxHashMap<RelPath, PendingSave>);

impl Pending {
    pub(crate) fn of(conn: &Connection, root: RootId) -> Result<Self> {
        let all = all(conn, root)?;
        Ok(Self(all.into_iter().map(|p| (p.path.clone(), p)).collect()))
    }

    pub(crate) fn get(&self, path: &RelPath) -> Option<&PendingSave> {
        // called for every file of a scan
        if self.0.is_empty() {
            None
        } else {
            self.0.get(path)
        }
    }

    /// Replaces a disk entry by the recorded image while the path waits for a save. This is the
    /// only place where the disk counts as different from what it holds.
    pub(crate) fn overlay(&self, path: &RelPath, known: Image, entry: &mut DiskEntry) -> bool {
        let waiting = self
            .get(path)
            .is_some_and(|p| p.wanted == known && p.disk == entry.image);
        if waiting {
            entry.image = known;
            entry.bytes = None;
        }
        waiting
    }
}

pub(crate) const ALL: &str =
    "SELECT id, path, operation, disk, wanted, editor, pid, time FROM pending_save WHERE root = ?1
     ORDER BY id";

pub(crate) fn all(conn: &Connection, root: RootId) -> Result<Vec<PendingSave>> {
    let mut select = conn.prepare_cached(ALL)?;
    let rows = select.query_map([root], |r| {
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
    })?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
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

/// Ends the wait after the file was written. The path is read again at the next scan.
pub(crate) fn written(conn: &Connection, root: RootId, path: &RelPath) -> Result<()> {
    let row = file_state::get(conn, root, path)?;
    if let Some(row) = row {
        file_state::update_stat(conn, root, path, row.generation, &NO_STAT)?;
    }
    done(conn, root, path)
}
