//! Language servers attached to the store, and their text that is not on disk. Owns the attached
//! editors (`attach`), their unsaved text (`buffers`), files that wait for a save (`pending`), text
//! that is saved after it was withdrawn (`withdrawn`), and requests from other processes
//! (`requests`). How a document is changed is up to the language servers.

mod buffers;
mod edits;
mod follow;
pub(crate) mod pending;
mod saves;
#[cfg(test)]
mod tests;
mod user_renames;
mod withdrawn;

use std::ops::Deref;
use std::path::PathBuf;
use std::time::Duration;

pub use crate::store::tables::buffer::OpenText;
pub use crate::store::tables::editor::EditorInfo;
pub use crate::store::tables::node_text::Unsaved;
pub use crate::store::tables::pending_save::PendingSave;
pub use buffers::Orphan;
pub use edits::InEditor;
pub use follow::Followed;
pub(crate) use pending::busy;
pub use pending::{PendingChoice, PendingOutcome};

use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::model::{EditorId, NodeId, OpId, RootId};
use crate::store::tables::editor::{self, is_alive, lock_file};
use crate::store::tables::{buffer, event, node, operation};
use crate::store::{self, Durable, Lock, Store};

/// Newest ids of a store. Any difference means that something was committed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct News {
    /// Changes with every commit of another connection. Not comparable between two engines.
    pub data_version: i64,
    pub node: Option<NodeId>,
    pub operation: Option<OpId>,
    /// The newest event of an agent.
    pub event: Option<i64>,
}

/// Registration of a language server. Dropping it unregisters: its unsaved text is removed, and
/// files that wait for a save keep waiting. If the process dies instead, the text stays for the
/// next editor.
#[derive(Debug)]
pub struct EditorLease {
    pub(crate) info: EditorInfo,
    pub(crate) root: RootId,
    dir: PathBuf,
    lock: Option<Lock>,
}

impl EditorLease {
    pub fn id(&self) -> EditorId {
        self.info.id
    }

    pub fn info(&self) -> &EditorInfo {
        &self.info
    }
}

impl Drop for EditorLease {
    fn drop(&mut self) {
        // a dead process skips this; whatever cannot be removed is cleaned up as left over later
        let leave = || -> Result<()> {
            if !Store::exists(&self.dir)? {
                return Ok(());
            }
            let store = Store::open(&self.dir)?;
            store.write(Durable::Process, |conn| editor::remove(conn, self.info.id))
        };
        leave().ok();
        self.lock = None;
        std::fs::remove_file(lock_file(&self.dir, self.info.id)).ok();
    }
}

/// Documents that editors have open: unsaved text, and saves that a restore waits for. `E` is `&Engine` for questions, `&mut Engine` for the rest.
#[derive(Clone, Copy, Debug)]
pub struct EditorDocuments<E> {
    engine: E,
}

impl Engine {
    /// Documents that editors have open: questions.
    pub fn documents(&self) -> EditorDocuments<&Self> {
        EditorDocuments { engine: self }
    }

    /// Documents that editors have open.
    pub fn documents_mut(&mut self) -> EditorDocuments<&mut Self> {
        EditorDocuments { engine: self }
    }
}

impl EditorDocuments<&mut Engine> {
    /// Registers an editor of this workspace.
    pub fn attach_editor(&mut self, name: &str) -> Result<EditorLease> {
        let (dir, root) = (self.engine.store.dir.clone(), self.engine.here.root);
        store::make_private_dir(&dir.join("editors"))?;
        let started = store::now();
        let left = self.left_over()?;
        let (info, lock) = self.engine.store.write(Durable::Process, |conn| {
            for editor in &left {
                if !buffer::any_of(conn, *editor)? {
                    editor::remove(conn, *editor)?;
                }
            }
            let info = editor::insert(conn, root, name, started)?;
            // before the row is visible to others: without the lock it would count as left over
            let lock = store::lock(&lock_file(&dir, info.id), true, Duration::from_secs(1))?;
            let is_taken = || {
                Error::refused(
                    "another process holds the lock of this editor",
                    "try again in a moment",
                )
            };
            Ok((info, lock.ok_or_else(is_taken)?))
        })?;
        for editor in left {
            std::fs::remove_file(lock_file(&dir, editor)).ok();
        }
        Ok(EditorLease {
            info,
            root,
            dir,
            lock: Some(lock),
        })
    }
}

impl<E: Deref<Target = Engine>> EditorDocuments<E> {
    /// Returns the live language servers of this workspace.
    pub fn editors(&self) -> Result<Vec<EditorInfo>> {
        let mut all = editor::rows(&self.engine.store.conn, self.engine.here.root)?;
        all.retain(|editor| is_alive(&self.engine.store.dir, editor.id));
        Ok(all)
    }

    /// Returns the newest ids, to compare with the last call on this engine. Three lookups, meant
    /// for every notification.
    pub fn news(&self) -> Result<News> {
        let conn = &self.engine.store.conn;
        Ok(News {
            data_version: conn.query_row("PRAGMA data_version", [], |r| r.get(0))?,
            node: node::newest(conn)?,
            operation: operation::newest(conn)?,
            event: event::newest(conn)?,
        })
    }

    /// Returns the path of the file that is written after every commit that watchers may care
    /// about.
    pub fn bell(&self) -> PathBuf {
        self.engine.store.bell()
    }

    fn left_over(&self) -> Result<Vec<EditorId>> {
        let all = editor::rows(&self.engine.store.conn, self.engine.here.root)?;
        let dead = all.into_iter().map(|editor| editor.id);
        Ok(dead
            .filter(|id| !is_alive(&self.engine.store.dir, *id))
            .collect())
    }
}
