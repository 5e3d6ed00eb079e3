//! Renames of files reported by an editor. They are recorded before a scan finds them, so that a
//! pending save continues under the new name.

use super::EditorDocuments;
use crate::capture::calls::Attribution;
use crate::capture::transition::Transition;
use crate::capture::write_txn::{BEFORE, ScanContext};
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::model::{Coverage, Placed, RelPath};
use crate::store::tables::root::scan;
use crate::worktree::file_state;
use crate::worktree::file_state::FileState;
use crate::worktree::pending_saves::{self, NewPending, PendingSave};

impl EditorDocuments<&mut Engine> {
    /// Records that the user renamed a file or a directory.
    pub fn renamed(&mut self, from: &RelPath, to: &RelPath) -> Result<()> {
        let lock = self.engine.quiet_lock(Engine::RESTORE_WAIT)?;
        let _lock = lock.ok_or_else(|| {
            Error::refused(
                "a rewind is under way",
                "the rename will be recorded when it is done",
            )
        })?;
        for save in self.pending_saves()? {
            if let Some(path) = moved(&save.path, from, to) {
                self.move_pending(&save, &path)?;
            }
        }
        self.engine.capture_mut().record_changes_unlocked()?;
        Ok(())
    }

    /// Moves a pending save to the new path, with the recorded outcome.
    fn move_pending(&mut self, save: &PendingSave, path: &RelPath) -> Result<()> {
        let entry = self.engine.capture().disk_entry(path)?;
        self.engine
            .capture_mut()
            .notifying_txn(BEFORE, entry, |txn, entry| {
                let (conn, root) = (txn.conn, txn.here.root);
                let row = file_state::get(conn, root, &save.path)?;
                let is_waiting =
                    |row: &FileState| row.image == save.wanted && entry.image == save.disk;
                let Some(row) = row.filter(is_waiting) else {
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
                    observed_by: file_state::Observed::ByName,
                };
                let generation = scan::next_generation(conn, root)?;
                let none = Coverage::default();
                txn.record(&[step], &ScanContext::between(), &none, false, generation)?;
                pending_saves::done(conn, root, &save.path)?;
                let new = NewPending {
                    path,
                    operation: save.operation,
                    disk: save.disk,
                    wanted: save.wanted,
                    editor: &save.editor,
                    pid: save.pid,
                };
                pending_saves::put(conn, root, &new)
            })
    }
}

/// Returns the path after a rename of it, or of a directory above it.
fn moved(path: &RelPath, from: &RelPath, to: &RelPath) -> Option<RelPath> {
    let rest = path.bytes().strip_prefix(from.bytes())?;
    let within = rest.is_empty() || rest.starts_with(b"/");
    within.then(|| RelPath::new([to.bytes(), rest].concat()))?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_below_a_renamed_directory_move_along() {
        let path = |path: &str| RelPath::new(path).unwrap();
        let moved = |at: &str| moved(&path(at), &path("a/b"), &path("c"));
        assert_eq!(moved("a/b"), Some(path("c")));
        assert_eq!(moved("a/b/d.txt"), Some(path("c/d.txt")));
        assert_eq!(moved("a/bc"), None);
        assert_eq!(moved("a"), None);
    }
}
