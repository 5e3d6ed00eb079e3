//! Updates documents whose file another process restored.

use super::EditorDocuments;
use crate::content::is_text;
use crate::engine::Engine;
use crate::error::Result;
use crate::merge::{Favor, merge3};
use crate::model::ContentId;
use crate::store::tables::buffer::OpenText;
use crate::worktree::file_state;
use crate::worktree::pending_saves::Pending;
use std::ops::Deref;

/// Result for a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Followed {
    /// It is based on the file's current content, or waits for its own save.
    Stays,
    /// The merged text, and its new base.
    Becomes(Vec<u8>, ContentId),
    /// The typed text conflicts with the restore.
    Collides,
}

impl<E: Deref<Target = Engine>> EditorDocuments<E> {
    /// Returns the new text of a document whose file has a recorded state other than the document's
    /// base.
    pub fn follow(&self, open: &OpenText) -> Result<Followed> {
        let (conn, root) = (&self.engine.store.conn, self.engine.here.root);
        let entry = self.engine.capture().disk_entry_with_text(&open.path)?;
        let row = file_state::get(conn, root, &open.path)?;
        let recorded = row.is_some_and(|row| row.image == entry.image);
        let waiting = Pending::of(conn, root)?.get(&open.path).is_some();
        let (Some(now), Some(bytes), Some(base)) = (entry.image.content(), &entry.bytes, open.base)
        else {
            return Ok(Followed::Stays);
        };
        if waiting || !recorded || base == now || !is_text(bytes) || *bytes == open.text {
            return Ok(Followed::Stays);
        }
        if ContentId::of(&open.text) == base {
            return Ok(Followed::Becomes(bytes.clone(), now));
        }
        // no checkpoint has the base, so the typed part is unknown
        let Ok(from) = self.engine.content(&base) else {
            return Ok(Followed::Collides);
        };
        let merge = merge3(&from, &open.text, bytes, Favor::Ours);
        Ok(if merge.conflicts.is_empty() {
            Followed::Becomes(merge.bytes, now)
        } else {
            Followed::Collides
        })
    }
}
