//! Outcomes that were withdrawn as not saved but are still in the document, since the file was
//! written meanwhile. If the text is saved later, its edits are in force again, with their authors.

use rusqlite::Connection;

use super::EditorDocuments;
use crate::capture::calls::Attribution;
use crate::capture::withdraw::NOT_SAVED;
use crate::capture::write_txn::{BEFORE, WriteTxn};
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::history::{self, Ancestry, NewChange};
use crate::merge::{Favor, merge3};
use crate::model::{
    ChangeId, Coverage, FileId, FileVersion, Image, Kind, NodeId, Origin, Placed, RelPath,
};
use crate::store::tables::root::scan;
use crate::store::tables::{change, file};
use crate::worktree::disk::{DiskEntry, NO_STAT};
use crate::worktree::file_state::{self, FileState};

/// Label of a node that puts a withdrawn outcome back in force.
const SAVED_AGAIN: &str = "saved after all";

/// The moves of such a node.
struct Withdrawn {
    taken_out: Vec<ChangeId>,
    put_back: Vec<ChangeId>,
    /// The file with the withdrawn edits, and without.
    with: FileVersion,
    without: FileVersion,
}

impl EditorDocuments<&mut Engine> {
    /// Handles an editor's report that it saved a file that no longer waits for a save.
    pub(super) fn saved_again(&mut self, path: &RelPath) -> Result<()> {
        let conn = &self.engine.store.conn;
        let Some(row) = file_state::get(conn, self.engine.here.root, path)? else {
            return Ok(());
        };
        // called for every saved document; usually nothing was ever withdrawn
        let withdrawn = row.file.map(|file| newest_withdrawal(conn, file));
        if withdrawn.transpose()?.flatten().is_none() {
            return Ok(());
        }
        let entry = self.engine.capture().disk_entry(path)?;
        if entry.image == row.image || !matches!(entry.image, Image::File { .. }) {
            return Ok(());
        }
        let lock = self.engine.quiet_lock(Engine::RESTORE_WAIT)?;
        let _lock = lock.ok_or_else(super::pending::busy)?;
        self.engine
            .capture_mut()
            .notifying_txn(BEFORE, entry, |txn, entry| txn.saved_again(path, &entry))
    }
}

impl WriteTxn<'_> {
    fn saved_again(&self, path: &RelPath, entry: &DiskEntry) -> Result<()> {
        let Some(row) = file_state::get(self.conn, self.here.root, path)? else {
            return Ok(());
        };
        if entry.image == row.image || !matches!(entry.image, Image::File { .. }) {
            return Ok(());
        }
        if !self.store_entry(path, entry, &row.image)? {
            return Ok(());
        }
        let Some(row) = self.put_back(path, &row, entry.image)? else {
            return Ok(());
        };
        if row.image == entry.image {
            let confirmed = FileState {
                stat: entry.stat.unwrap_or(NO_STAT),
                ..row
            };
            return file_state::put(
                self.conn,
                self.here.root,
                path,
                &confirmed,
                file_state::Observed::ByName,
            );
        }
        self.record_between(path, Some(&row), entry.image, entry, Attribution::USER)?;
        Ok(())
    }

    /// Puts withdrawn edits back in force if this text, already in the store, has them. Returns the
    /// new row, or None if the text does not have them.
    pub(super) fn put_back(
        &self,
        path: &RelPath,
        row: &FileState,
        text: Image,
    ) -> Result<Option<FileState>> {
        let (Some(file), Some(head)) = (row.file, self.head()?) else {
            return Ok(None);
        };
        let Some(withdrawn) = self.withdrawn(file, head)? else {
            return Ok(None);
        };
        let Some(merged) = self.merged_with(&withdrawn, row.image)? else {
            return Ok(None);
        };
        if merged == row.image || !self.is_closer(text, merged, row.image)? {
            return Ok(None);
        }
        let none = Coverage::default();
        let label = Some(SAVED_AGAIN);
        let node = self.node(Kind::External, None, None, None, label, &none)?;
        let placed = |image| {
            Some(Placed {
                path: path.clone(),
                image,
            })
        };
        let change = NewChange {
            node,
            file,
            before: &placed(row.image),
            after: &placed(merged),
            origin: Origin::USER,
            provisional: false,
            made_dirs: 0,
        };
        let (back, out) = (&withdrawn.taken_out, &withdrawn.put_back);
        history::insert_restore(self.conn, head, &change, out, back)?;
        let row = FileState {
            image: merged,
            stat: NO_STAT,
            generation: scan::next_generation(self.conn, self.here.root)?,
            ..row.clone()
        };
        file_state::put(
            self.conn,
            self.here.root,
            path,
            &row,
            file_state::Observed::ByName,
        )?;
        file::set_gone(self.conn, self.here.root, file, None)?;
        Ok(Some(row))
    }

    /// Returns the withdrawn edits if the newest restore of the file is a withdrawal.
    fn withdrawn(&self, file: FileId, head: NodeId) -> Result<Option<Withdrawn>> {
        let Some((change, node)) = newest_withdrawal(self.conn, file)? else {
            return Ok(None);
        };
        if !Ancestry::new(self.conn).is_ancestor(node, head)? {
            return Ok(None);
        }
        let (taken_out, put_back) = history::moved_by(self.conn, change)?;
        let changes = history::changes_with_sets(self.conn, file)?;
        let found = changes.into_iter().find(|(found, _)| found.id == change);
        Ok(found.map(|(change, _)| Withdrawn {
            taken_out,
            put_back,
            with: change.before,
            without: change.after,
        }))
    }

    /// Merges the withdrawn edits into the current file. On conflict the withdrawn edits win, since
    /// the document has them.
    fn merged_with(&self, withdrawn: &Withdrawn, now: Image) -> Result<Option<Image>> {
        let Image::File { mode, .. } = now else {
            return Ok(None);
        };
        let content =
            |state: &FileVersion| state.as_ref().and_then(|placed| placed.image.content());
        let (Some(with), Some(without), Some(now)) = (
            content(&withdrawn.with),
            content(&withdrawn.without),
            now.content(),
        ) else {
            return Ok(None);
        };
        let read = |content| crate::store::get(self.conn, self.dir, content);
        let texts = read(&without).and_then(|base| Ok([base, read(&with)?, read(&now)?]));
        let [base, with, theirs] = match texts {
            Ok(texts) => texts,
            // damaged content loses the authorship, not the save
            Err(Error::Blob { .. }) => return Ok(None),
            Err(error) => return Err(error),
        };
        let merge = merge3(&base, &with, &theirs, Favor::Ours);
        Ok(Some(Image::File {
            mode,
            content: crate::store::put(self.conn, self.dir, &merge.bytes, Some(now))?,
            size: merge.bytes.len() as u64,
        }))
    }
}

/// Returns the newest restore of a file if it is a withdrawal.
fn newest_withdrawal(conn: &Connection, file: FileId) -> Result<Option<(ChangeId, NodeId)>> {
    let newest = change::newest_restore(conn, file)?;
    let withdrawal = newest.filter(|(.., label)| label.as_deref() == Some(NOT_SAVED));
    Ok(withdrawal.map(|(change, node, _)| (change, node)))
}
