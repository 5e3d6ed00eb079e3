//! Changes since a checkpoint that the user kept, for comparisons.

use super::Reviews;
use super::ShownState;
use super::replay::{FollowedFile, Reviewed};
use crate::engine::Engine;
use crate::error::Result;
use crate::history::Ancestry;
use crate::model::{FileVersion, NodeId, RelPath};
use crate::store::tables::reviewed;
use std::ops::Deref;

/// A file that changed since a checkpoint.
#[derive(Clone, Debug)]
pub struct KeptSince {
    pub then: FileVersion,
    pub now: FileVersion,
    pub shown: ShownState,
    /// None: no change since the checkpoint was kept.
    pub base: Option<KeptBase>,
}

/// The state at a checkpoint with the changes that the user kept since.
#[derive(Clone, Debug)]
pub struct KeptBase {
    /// None: the file does not exist.
    pub state: FileVersion,
    /// None: no text.
    pub text: Option<Vec<u8>>,
    /// True if nothing else has changed.
    pub is_current: bool,
}

impl<E: Deref<Target = Engine>> Reviews<E> {
    /// Returns the files that changed between a checkpoint and the head, with the changes that the user kept.
    /// `only`: a file, or a directory.
    pub fn kept_since(&self, since: NodeId, only: Option<&RelPath>) -> Result<Vec<KeptSince>> {
        let _moment = self.engine.store.reading()?;
        let Some(head) = self.engine.history().head()? else {
            return Ok(Vec::new());
        };
        let conn = &self.engine.store.conn;
        let ancestry = Ancestry::new(conn);
        let line = ancestry.line(head)?;
        let is_used = reviewed::is_used(conn)? && self.is_on_chain(&ancestry, since)?;
        let mut all = Vec::new();
        for file in self
            .engine
            .history()
            .files_between(&ancestry, since, head)?
        {
            let file = FollowedFile::load(conn, &line, self.engine.here.branch, file)?;
            let start = file.newest_at(since);
            let (then, now) = (file.state_after(start), file.current());
            let is_at = |state: &FileVersion, dir: &RelPath| {
                let placed = state.as_ref();
                placed.is_some_and(|placed| placed.path.within(dir.bytes()))
            };
            if only.is_some_and(|only| !is_at(&then, only) && !is_at(&now, only)) {
                continue;
            }
            let is_kept = is_used && !file.reviews_after(start, file.newest()).is_empty();
            let base = if is_kept {
                let base = self.base_since(&file, since, file.newest())?;
                Some(self.kept_base(base, &now)?)
            } else {
                None
            };
            all.push(KeptSince {
                then,
                now,
                shown: ShownState(file.newest()),
                base,
            });
        }
        Ok(all)
    }

    fn kept_base(&self, base: Reviewed, now: &FileVersion) -> Result<KeptBase> {
        let text = match (&base.state, &base.text) {
            (None, None) => None,
            _ => self.text_of_reviewed(&base)?,
        };
        let has_text =
            || -> Result<bool> { Ok(text.is_some() && text == self.text_of_state(now)?) };
        // the state of a new file has a text alone
        let is_current = base.state == *now || (base.state.is_none() && has_text()?);
        Ok(KeptBase {
            is_current,
            state: base.state,
            text,
        })
    }
}
