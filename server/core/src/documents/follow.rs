//! Documents of files that another process restored beneath them: what they are to hold then.

use super::buffers::OpenText;
use super::pending::Pending;
use crate::engine::Engine;
use crate::error::Result;
use crate::merge::{Favor, is_text, merge3};
use crate::model::ContentId;
use crate::worktree::file_state;

/// What becomes of a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Followed {
    /// It goes on from what the file holds, or waits for its own save.
    Stays,
    /// This text, with what was typed; and what it goes on from then.
    Becomes(Vec<u8>, ContentId),
    /// What was typed stands where the restore changed something.
    Collides,
}

impl Engine {
    /// What an open text becomes where its file holds a recorded state that it does not go on from.
    pub fn follow(&self, open: &OpenText) -> Result<Followed> {
        let (conn, root) = (&self.store.conn, self.here.root);
        let look = self.look_held(&open.path)?;
        let row = file_state::get(conn, root, &open.path)?;
        let recorded = row.is_some_and(|row| row.image == look.image);
        let waits = Pending::of(conn, root)?.get(&open.path).is_some();
        let (Some(now), Some(bytes), Some(base)) = (look.image.content(), &look.bytes, open.base)
        else {
            return Ok(Followed::Stays);
        };
        if waits || !recorded || base == now || !is_text(bytes) || *bytes == open.text {
            return Ok(Followed::Stays);
        }
        if ContentId::of(&open.text) == base {
            return Ok(Followed::Becomes(bytes.clone(), now));
        }
        // one that no checkpoint ever saw: nothing says what was typed
        let Ok(from) = self.content(&base) else {
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
