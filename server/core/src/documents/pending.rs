//! Files that wait for a save: the record has the outcome of a restore, an editor shows it, and the
//! disk still has the old content. Until then, scans treat the disk as if it had the outcome.

use std::ops::Deref;

use super::EditorDocuments;
use crate::capture::calls::{self, Attribution};
use crate::capture::write_txn::{BEFORE, WriteTxn};
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::model::{Image, NodeId, RelPath};
use crate::worktree::disk::DiskEntry;
use crate::worktree::file_state;
use crate::worktree::pending_saves::{Pending, PendingSave, all, written};

/// Choice for a pending save that will not happen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PendingChoice {
    /// Write the outcome to disk, or this text, which is the user's edit of it.
    WriteNow(Option<Vec<u8>>),
    /// Discard the outcome: the disk stays as it is, and the restore's moves are reversed.
    Forget,
}

/// Result of resolving a pending save.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PendingOutcome {
    /// Nothing is pending: the file was saved or overwritten meanwhile.
    Nothing,
    Done {
        /// The node that was made, if any.
        node: Option<NodeId>,
    },
}

impl WriteTxn<'_> {
    /// Handles an editor's report that it saved a pending file. The file has the outcome, or the
    /// user's edit of it.
    fn saved_by_user(&self, path: &RelPath, entry: &DiskEntry) -> Result<()> {
        let (conn, root) = (self.conn, self.here.root);
        let row = file_state::get(conn, root, path)?;
        let waiting = row.as_ref().zip(self.pending.get(path));
        let Some((known, p)) = waiting.filter(|(known, p)| p.wanted == known.image) else {
            return Ok(());
        };
        if entry.image == p.wanted {
            self.notify.set(true);
            return written(conn, root, path);
        }
        let is_file = matches!(entry.image, Image::File { .. });
        if entry.image == p.disk || !is_file || calls::reserved(conn, root, path)?.is_some() {
            return Ok(());
        }
        if !self.store_entry(path, entry, &known.image)? {
            return Ok(());
        }
        let mut known = known.clone();
        if self.is_based_on_disk(p, entry.image)? {
            known = self.withdraw_outcome(&known, p, None)?.1;
        }
        self.record_between(path, Some(&known), entry.image, entry, Attribution::USER)?;
        Ok(())
    }
}

impl EditorDocuments<&mut Engine> {
    /// Returns the pending save at a path after checking the disk. If an editor has saved, or saved
    /// something else over it, the wait ends.
    pub fn check_pending(&mut self, path: &RelPath) -> Result<Option<PendingSave>> {
        if self.waiting(path)?.is_none() {
            self.saved_again(path)?;
            return Ok(None);
        }
        let lock = self.engine.quiet_lock(Engine::RESTORE_WAIT)?;
        let _lock = lock.ok_or_else(busy)?;
        let entry = self.engine.capture().disk_entry(path)?;
        self.engine
            .capture_mut()
            .quiet_txn(BEFORE, entry, |txn, entry| txn.saved_by_user(path, &entry))?;
        self.waiting(path)
    }

    /// Takes the outcome of a pending save back: it will not happen.
    pub(crate) fn forget_pending(&mut self, path: &RelPath) -> Result<PendingOutcome> {
        let lock = self.engine.quiet_lock(Engine::RESTORE_WAIT)?;
        let _lock = lock.ok_or_else(busy)?;
        let entry = self.engine.capture().disk_entry(path)?;
        let node = self
            .engine
            .capture_mut()
            .notifying_txn(BEFORE, entry, |txn, entry| {
                let waiting = txn.pending.get(path).filter(|p| p.disk == entry.image);
                let row = file_state::get(txn.conn, txn.here.root, path)?;
                let Some((p, row)) = waiting.zip(row).filter(|(p, row)| p.wanted == row.image)
                else {
                    return Ok(None);
                };
                let (node, _) = txn.withdraw_outcome(&row, p, entry.stat)?;
                Ok(Some(node))
            })?;
        if node.is_none() {
            // saved or overwritten: a scan records that
            self.look_if_waiting(path)?;
        }
        Ok(match node {
            Some(_) => PendingOutcome::Done { node },
            None => PendingOutcome::Nothing,
        })
    }

    fn look_if_waiting(&mut self, path: &RelPath) -> Result<()> {
        if self.waiting(path)?.is_some() {
            self.engine.capture_mut().record_changes_unlocked()?;
        }
        Ok(())
    }
}

impl<E: Deref<Target = Engine>> EditorDocuments<E> {
    /// Returns the files that wait for a save, oldest first.
    pub fn pending_saves(&self) -> Result<Vec<PendingSave>> {
        all(&self.engine.store.conn, self.engine.here.root)
    }

    /// Returns the files that wait for an editor that is gone, oldest first.
    pub fn orphaned_saves(&self) -> Result<Vec<PendingSave>> {
        let live = self.editors()?;
        let mut all = self.pending_saves()?;
        all.retain(|p| !live.iter().any(|e| e.pid == p.pid && e.name == p.editor));
        Ok(all)
    }

    /// Returns the pending save at a path.
    pub(crate) fn waiting(&self, path: &RelPath) -> Result<Option<PendingSave>> {
        let all = Pending::of(&self.engine.store.conn, self.engine.here.root)?;
        Ok(all.get(path).cloned())
    }
}

pub(crate) fn busy() -> Error {
    Error::refused(
        "another rewind or a long capture is under way",
        "try again in a moment",
    )
}
