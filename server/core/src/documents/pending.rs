//! Files that wait for a save: the record has the outcome of a restore, an editor shows it, and the
//! disk still has the old content. Until then, scans treat the disk as if it had the outcome.

use std::collections::BTreeSet;
use std::ops::Deref;

use rusqlite::Connection;

use super::EditorDocuments;
use crate::capture::calls::{self, Attribution};
use crate::capture::write_txn::{BEFORE, WriteTxn};
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::hint::Hint;
use crate::history::{self, Ancestry, NewChange, SetHash};
use crate::model::{
    ChangeId, Coverage, FileId, FileVersion, Image, Kind, NodeId, Origin, Placed, RelPath,
};
use crate::store::tables::file;
use crate::store::tables::root::scan;
use crate::worktree::disk::{DiskEntry, NO_STAT, Stat};
use crate::worktree::file_state::{self, FileState};
use crate::worktree::pending_saves::{Pending, PendingSave, all, saved, written};

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
    /// Records that the outcome at a path was never saved: the edits of the disk's content are in
    /// force again, with their authors. Returns the node and the new row.
    pub(crate) fn withdraw_outcome(
        &self,
        row: &FileState,
        p: &PendingSave,
        stat: Option<Stat>,
    ) -> Result<(NodeId, FileState)> {
        let (conn, root) = (self.conn, self.here.root);
        let head = self.head()?.ok_or_else(nothing_recorded)?;
        let file = match row.file {
            Some(file) => file,
            None => file_state::identify(conn, &p.path, row.since)?,
        };
        let set_delta = set_delta_to_disk(conn, file, head, p)?;
        let none = Coverage::default();
        let label = Some(super::withdrawn::NOT_SAVED);
        let node = self.node(Kind::External, None, None, None, label, &none)?;
        let placed = |image| {
            Some(Placed {
                path: p.path.clone(),
                image,
            })
        };
        let change = NewChange {
            node,
            file,
            before: &placed(row.image),
            after: &placed(p.disk),
            origin: Origin::USER,
            provisional: false,
            made_dirs: 0,
        };
        match set_delta {
            Some((out, back)) => history::insert_restore(conn, head, &change, &out, &back)?,
            // the content on disk was never a recorded state
            None => history::insert_edit(conn, Some(head), &change)?,
        };
        saved(conn, p.id)?;
        let row = FileState {
            image: p.disk,
            file: Some(file),
            since: row.since,
            generation: scan::next_generation(conn, root)?,
            stat: stat.unwrap_or(NO_STAT),
        };
        file_state::put(conn, root, &p.path, &row, file_state::Observed::ByName)?;
        file::set_gone(conn, root, file, None)?;
        Ok((node, row))
    }

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

    /// True if this text was written over the disk's old content rather than over the outcome, for
    /// example after the editor's undo. Decided by which of the two has fewer differing lines.
    pub(crate) fn is_based_on_disk(&self, p: &PendingSave, written: Image) -> Result<bool> {
        self.is_closer(written, p.disk, p.wanted)
    }

    /// True if a text is closer to `to` than to `than`, by lines.
    pub(super) fn is_closer(&self, written: Image, to: Image, than: Image) -> Result<bool> {
        let bytes = |image: Image| -> Result<Vec<u8>> {
            let content = image.content();
            let read = content.map(|content| crate::store::get(self.conn, self.dir, &content));
            Ok(read.transpose()?.unwrap_or_default())
        };
        Ok(closer(&bytes(written)?, &bytes(to)?, &bytes(than)?))
    }

    /// Prepares for a change that starts from the disk's content: records that the outcome was
    /// never saved. Returns the new row.
    pub(crate) fn withdraw_if_waiting(
        &self,
        path: &RelPath,
        row: Option<FileState>,
    ) -> Result<Option<FileState>> {
        let waiting = row.as_ref().zip(self.pending.get(path));
        let Some((known, p)) = waiting.filter(|(known, p)| p.wanted == known.image) else {
            return Ok(row);
        };
        self.withdraw_outcome(known, p, None)
            .map(|(_, row)| Some(row))
    }
}

/// Returns the edits to take out and to put back so that the file is what the disk has: the newest
/// recorded state equal to it. Returns None if there is none.
fn set_delta_to_disk(
    conn: &Connection,
    file: FileId,
    head: NodeId,
    p: &PendingSave,
) -> Result<Option<(Vec<ChangeId>, Vec<ChangeId>)>> {
    let ancestry = Ancestry::new(conn);
    let on_disk = |state: &FileVersion| {
        let same = |placed: &Placed| placed.path == p.path && placed.image == p.disk;
        state.as_ref().is_some_and(same)
    };
    let now = history::in_force(&ancestry, file, head)?;
    let mut target = None;
    for (change, _) in history::changes_with_sets(conn, file)?.into_iter().rev() {
        if on_disk(&change.after) && ancestry.is_ancestor(change.node, head)? {
            target = Some(history::in_force(&ancestry, file, change.node)?);
            break;
        }
    }
    let base = history::version(conn, file, SetHash::EMPTY)?;
    let target = target.or_else(|| on_disk(&base.flatten()).then(BTreeSet::new));
    Ok(target.filter(|target| *target != now).map(|target| {
        let difference = |a: &BTreeSet<_>, b: &BTreeSet<_>| a.difference(b).copied().collect();
        (difference(&now, &target), difference(&target, &now))
    }))
}

fn nothing_recorded() -> Error {
    Error::refused("nothing is recorded here yet", Hint::Begin)
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

/// True if a text is closer to `to` than to `than`, by lines.
pub(crate) fn closer(text: &[u8], to: &[u8], than: &[u8]) -> bool {
    let distance = |from: &[u8]| {
        let (added, removed, _) = crate::diff::count(from, text);
        added + removed
    };
    distance(to) < distance(than)
}

pub(crate) fn busy() -> Error {
    Error::refused(
        "another rewind or a long capture is under way",
        "try again in a moment",
    )
}
