//! What the user saves while an agent may be writing anything: the editor says whose it is.

use super::pending::Pending;
use crate::capture::DEADLINE;
use crate::capture::calls::{self, Attribution, Observation, Writers};
use crate::capture::edit_call::transition;
use crate::capture::record_scan::{BEFORE, ScanContext, WriteTxn};
use crate::engine::Engine;
use crate::error::Result;
use crate::history;
use crate::model::{ContentId, Coverage, Image, NodeId, RelPath};
use crate::store;
use crate::worktree::disk::DiskEntry;
use crate::worktree::file_state;
use crate::worktree::scan::FileState;

impl Engine {
    /// An editor has saved a document, and its file holds just this text. While somebody else may be writing, what
    /// it comes to is recorded as the user's at once; the next look finds it otherwise. `base`: what the document
    /// went on from, where that is known.
    pub fn saved_in_editor(
        &mut self,
        path: &RelPath,
        base: Option<&[u8]>,
        text: &[u8],
    ) -> Result<Option<NodeId>> {
        let conn = &self.store.conn;
        let since = calls::last_event(conn)?;
        let unknown = file_state::row(conn, self.here.root, path)?.is_none();
        if !Writers::since(conn, self.here.root, since)?.any()
            || base == Some(text)
            || (unknown && self.is_hidden(path))
        {
            return Ok(None);
        }
        let Some(_lock) = self.quiet_lock(DEADLINE)? else {
            return Ok(None);
        };
        let look = self.look_known(path)?;
        if !look.holds(text) {
            return Ok(None);
        }
        self.settle(BEFORE, look, |txn, look| txn.saved(path, base, &look))
    }
}

impl WriteTxn<'_> {
    fn saved(
        &self,
        path: &RelPath,
        base: Option<&[u8]>,
        look: &DiskEntry,
    ) -> Result<Option<NodeId>> {
        let (conn, root) = (self.conn, self.here.root);
        let row = file_state::get(conn, root, path)?;
        let Image::File { mode, .. } = look.image else {
            return Ok(None);
        };
        let known = row.as_ref().map_or(Image::Absent, |row| row.image);
        if known == look.image
            || Pending::of(conn, root)?.get(path).is_some()
            || calls::reserved(conn, root, path)?.is_some()
        {
            return Ok(None);
        }
        let stale = |base: &[u8]| self.was_recorded(row.as_ref(), ContentId::of(base));
        let others = match base {
            Some(base) if !stale(base)? => Some(base),
            // an older state: the editor never saw what came after it, and who saves over that is the user
            _ => None,
        };
        if let Some(base) = others {
            let read = Image::File {
                mode,
                content: store::put(conn, self.dir, base, known.content())?,
                size: base.len() as u64,
            };
            if read.content() != known.content() {
                // the editor had read what somebody else had written by then
                let writers = Writers::since(conn, root, calls::last_event(conn)?)?;
                self.between(
                    path,
                    row.as_ref(),
                    read,
                    look,
                    writers.attribute(Observation::Between),
                )?;
            }
        }
        if !self.keep_seen(path, look, &known)? {
            return Ok(None);
        }
        let row = file_state::get(conn, root, path)?;
        self.between(path, row.as_ref(), look.image, look, Attribution::USER)
    }

    /// Whether this was once the content of the file, as far as the history knows.
    fn was_recorded(&self, row: Option<&FileState>, content: ContentId) -> Result<bool> {
        let file = row.and_then(|row| row.file);
        file.map_or(Ok(false), |file| {
            history::was_content(self.conn, file, content)
        })
    }

    /// Records what became of a file between two calls.
    pub(super) fn between(
        &self,
        path: &RelPath,
        row: Option<&FileState>,
        to: Image,
        look: &DiskEntry,
        by: Attribution,
    ) -> Result<Option<NodeId>> {
        let step = transition(path, row, to, look, by, 0);
        let generation = file_state::next_generation(self.conn, self.here.root)?;
        let none = Coverage::default();
        self.record(&[step], &ScanContext::between(), &none, false, generation)
    }
}
