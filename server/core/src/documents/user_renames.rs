//! What an editor says that the user did to files: renames, taken in before anybody else finds them, so that a file
//! that waits for a save goes on waiting under its new name.

use crate::capture::calls::Attribution;
use crate::capture::record_scan::{BEFORE, ScanContext, Transition};
use crate::documents::pending::{self, NewPending, PendingSave};
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::model::{Coverage, Placed, RelPath};
use crate::worktree::file_state;
use crate::worktree::scan::FileState;

impl Engine {
    /// Takes in that the user renamed a file or a directory.
    pub fn renamed(&mut self, from: &RelPath, to: &RelPath) -> Result<()> {
        let lock = self.quiet_lock(Self::RESTORE_WAIT)?;
        let _lock = lock.ok_or_else(|| {
            Error::refused(
                "a rewind is under way",
                "the rename is found when it has ended",
            )
        })?;
        for save in self.pending_saves()? {
            if let Some(path) = moved(&save.path, from, to) {
                self.waits_at(&save, &path)?;
            }
        }
        self.look_unlocked()?;
        Ok(())
    }

    /// The record has the outcome at the new path, as it had it at the old one.
    fn waits_at(&mut self, save: &PendingSave, path: &RelPath) -> Result<()> {
        let look = self.look_known(path)?;
        self.settle(BEFORE, look, |txn, look| {
            let (conn, root) = (txn.conn, txn.here.root);
            let row = file_state::get(conn, root, &save.path)?;
            let waits = |row: &FileState| row.image == save.wanted && look.image == save.disk;
            let Some(row) = row.filter(waits) else {
                return Ok(());
            };
            let placed = |path: &RelPath| {
                Some(Placed {
                    path: path.clone(),
                    image: row.image,
                })
            };
            let step = Transition {
                file: row.file,
                since: row.since,
                before: placed(&save.path),
                after: placed(path),
                stat: None,
                attribution: Attribution::USER,
                made_dirs: 0,
                met: file_state::Observed::ByName,
            };
            let generation = file_state::next_generation(conn, root)?;
            let none = Coverage::default();
            txn.record(&[step], &ScanContext::between(), &none, false, generation)?;
            pending::done(conn, root, &save.path)?;
            let new = NewPending {
                path,
                operation: save.operation,
                disk: save.disk,
                wanted: save.wanted,
                editor: &save.editor,
                pid: save.pid,
            };
            pending::put(conn, root, &new)
        })
    }
}

/// Where a path is after a rename of it, or of a directory above it.
fn moved(path: &RelPath, from: &RelPath, to: &RelPath) -> Option<RelPath> {
    let rest = path.bytes().strip_prefix(from.bytes())?;
    let within = rest.is_empty() || rest.starts_with(b"/");
    within.then(|| RelPath::new([to.bytes(), rest].concat()))?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_below_moves_along() {
        let path = |path: &str| RelPath::new(path).unwrap();
        let moved = |at: &str| moved(&path(at), &path("a/b"), &path("c"));
        assert_eq!(moved("a/b"), Some(path("c")));
        assert_eq!(moved("a/b/d.txt"), Some(path("c/d.txt")));
        assert_eq!(moved("a/bc"), None);
        assert_eq!(moved("a"), None);
    }
}
