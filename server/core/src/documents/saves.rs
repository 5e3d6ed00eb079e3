//! Saves by the user while an agent may be writing: the editor's report decides the author.

use super::EditorDocuments;
use crate::capture::DEADLINE;
use crate::capture::after_call;
use crate::capture::calls::{self, Attribution, Observation, Writers};
use crate::capture::named_record::transition;
use crate::capture::write_txn::{BEFORE, ScanContext, WriteTxn};
use crate::engine::Engine;
use crate::error::Result;
use crate::model::{ContentId, Coverage, Image, NodeId, RelPath};
use crate::store;
use crate::store::tables::changed_files;
use crate::store::tables::root::scan;
use crate::worktree::disk::DiskEntry;
use crate::worktree::file_state::{self, FileState};
use crate::worktree::pending_saves::Pending;

impl EditorDocuments<&mut Engine> {
    /// Records that an editor has saved a document with just this text. While an agent may be
    /// writing, the change is recorded as the user's at once; otherwise the next scan records it.
    /// `base` is the content that the document was based on, if known.
    pub fn saved_in_editor(
        &mut self,
        path: &RelPath,
        base: Option<&[u8]>,
        text: &[u8],
    ) -> Result<Option<NodeId>> {
        let conn = &self.engine.store.conn;
        let since = calls::last_event(conn)?;
        let unknown = file_state::row(conn, self.engine.here.root, path)?.is_none();
        let root = self.engine.here.root;
        if !Writers::since(conn, root, since)?.any() && !after_call::may_run_hooks(conn, root)?
            || base == Some(text)
            || self.engine.root.vcs_dir(path).is_some()
            || (unknown && self.engine.blamer().is_hidden(path))
        {
            return Ok(None);
        }
        let Some(_lock) = self.engine.quiet_lock(DEADLINE)? else {
            return Ok(None);
        };
        let entry = self.engine.capture().disk_entry(path)?;
        if !entry.holds(text) {
            return Ok(None);
        }
        self.engine
            .capture_mut()
            .notifying_txn(BEFORE, entry, |txn, entry| txn.saved(path, base, &entry))
    }
}

impl WriteTxn<'_> {
    fn saved(
        &self,
        path: &RelPath,
        base: Option<&[u8]>,
        entry: &DiskEntry,
    ) -> Result<Option<NodeId>> {
        let (conn, root) = (self.conn, self.here.root);
        let row = file_state::get(conn, root, path)?;
        let Image::File { mode, .. } = entry.image else {
            return Ok(None);
        };
        let known = row.as_ref().map_or(Image::Absent, |row| row.image);
        if known == entry.image
            || Pending::of(conn, root)?.get(path).is_some()
            || calls::reserved(conn, root, path)?.is_some()
        {
            return Ok(None);
        }
        let stale = |base: &[u8]| self.was_recorded(row.as_ref(), ContentId::of(base));
        let unrecorded = match base {
            Some(base) if !stale(base)? => Some(base),
            // an older state: saving over newer changes the editor did not have is the user's doing
            _ => None,
        };
        if let Some(base) = unrecorded {
            let read_image = Image::File {
                mode,
                content: store::put(conn, self.dir, base, known.content())?,
                size: base.len() as u64,
            };
            if read_image.content() != known.content() {
                // the editor had already read a change by someone else
                let writers = Writers::since(conn, root, calls::last_event(conn)?)?;
                self.record_between(
                    path,
                    row.as_ref(),
                    read_image,
                    entry,
                    writers.attribute(Observation::Between),
                )?;
            }
        }
        if !self.store_entry(path, entry, &known)? {
            return Ok(None);
        }
        let row = file_state::get(conn, root, path)?;
        self.record_between(path, row.as_ref(), entry.image, entry, Attribution::USER)
    }

    /// True if the file is known to have had this content before.
    fn was_recorded(&self, row: Option<&FileState>, content: ContentId) -> Result<bool> {
        let file = row.and_then(|row| row.file);
        file.map_or(Ok(false), |file| {
            changed_files::has_had(self.conn, file, content)
        })
    }

    /// Records a change of a file between two calls.
    pub(super) fn record_between(
        &self,
        path: &RelPath,
        row: Option<&FileState>,
        to: Image,
        entry: &DiskEntry,
        by: Attribution,
    ) -> Result<Option<NodeId>> {
        let step = transition(path, row, to, entry, by, 0);
        let generation = scan::next_generation(self.conn, self.here.root)?;
        let none = Coverage::default();
        self.record(&[step], &ScanContext::between(), &none, false, generation)
    }
}
