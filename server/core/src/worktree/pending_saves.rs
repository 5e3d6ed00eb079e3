//! Files whose recorded state an editor shows and the disk does not hold yet: how a scan sees them.

use rusqlite::Connection;
use rustc_hash::FxHashMap;

use crate::error::Result;
use crate::model::{Image, RelPath, RootId};
pub(crate) use crate::store::tables::pending_save::{
    NewPending, PendingSave, all, done, put, saved,
};
use crate::worktree::disk::{DiskEntry, NO_STAT};
use crate::worktree::file_state;

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

/// Ends the wait after the file was written. The path is read again at the next scan.
pub(crate) fn written(conn: &Connection, root: RootId, path: &RelPath) -> Result<()> {
    let row = file_state::get(conn, root, path)?;
    if let Some(row) = row {
        file_state::update_stat(conn, root, path, row.generation, &NO_STAT)?;
    }
    done(conn, root, path)
}
