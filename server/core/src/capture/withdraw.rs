//! Outcomes of restores that were never saved: the record goes back to what the disk has.

use std::collections::BTreeSet;

use rusqlite::Connection;

use super::write_txn::WriteTxn;
use crate::error::{Error, Result};
use crate::hint::Hint;
use crate::history::{self, Ancestry, NewChange, SetHash};
use crate::model::{
    ChangeId, Coverage, FileId, FileVersion, Image, Kind, NodeId, Origin, Placed, RelPath,
};
use crate::store::tables::file;
use crate::store::tables::root::scan;
use crate::worktree::disk::{NO_STAT, Stat};
use crate::worktree::file_state::{self, FileState};
use crate::worktree::pending_saves::{PendingSave, saved};

/// Label of a node that withdraws an outcome.
pub(crate) const NOT_SAVED: &str = "not saved";

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
        let label = Some(NOT_SAVED);
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

    /// True if this text was written over the disk's old content rather than over the outcome, for
    /// example after the editor's undo. Decided by which of the two has fewer differing lines.
    pub(crate) fn is_based_on_disk(&self, p: &PendingSave, written: Image) -> Result<bool> {
        self.is_closer(written, p.disk, p.wanted)
    }

    /// True if a text is closer to `to` than to `than`, by lines.
    pub(crate) fn is_closer(&self, written: Image, to: Image, than: Image) -> Result<bool> {
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

/// True if a text is closer to `to` than to `than`, by lines.
pub(crate) fn closer(text: &[u8], to: &[u8], than: &[u8]) -> bool {
    let distance = |from: &[u8]| {
        let (added, removed, _) = crate::diff::count(from, text);
        added + removed
    };
    distance(to) < distance(than)
}
