//! Unsaved text: rows that follow an editor's dirty documents, and copies attached to nodes of the
//! history, which are kept.

use super::EditorDocuments;
use super::EditorLease;
use crate::config::Setting;
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::history::Rows;
use crate::model::{ContentId, EditorId, Image, NodeId, RelPath};
use crate::store::Durable;
use crate::store::tables::buffer::{self, Alive, NewBuffer, OpenText, buffer_rows, keep, text_of};
use crate::store::tables::editor::{EditorInfo, ensure, is_alive};
use crate::store::tables::node_text::Unsaved;
use crate::worktree::file_state;
use std::ops::Deref;

/// Unsaved text of an editor that has died.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Orphan {
    pub editor: EditorInfo,
    pub path: RelPath,
    pub base: Option<ContentId>,
    pub content: ContentId,
    /// Time of the last change, in microseconds since 1970.
    pub time: i64,
}

/// Compression level for text being typed: these rows are short-lived.
const COMPRESSION_LEVEL: i32 = 1;

impl EditorDocuments<&mut Engine> {
    /// Stores the text of an editor's document that differs from its file. Called for every pause
    /// in typing: writes one small row and does not notify watchers. Returns `false` without
    /// storing if ignore rules hide the file.
    pub fn put_buffer(&mut self, lease: &EditorLease, open: &OpenText) -> Result<bool> {
        let row = file_state::row(&self.engine.store.conn, lease.root, &open.path)?;
        let recorded = row.as_ref().map_or(Image::Absent, |row| row.image);
        let limit = self.engine.root.limit(&recorded);
        if open.text.len() as u64 > limit {
            let limit = Setting::Size(limit);
            return Err(Error::refused(
                format!("{} is too large to be kept", open.path.display()),
                format!(
                    "files above {limit} are not captured; change `capture.maxFileSize` to include them"
                ),
            ));
        }
        if row.is_none() && self.engine.blamer().is_hidden(&open.path) {
            return Ok(false);
        }
        let text =
            zstd::bulk::compress(&open.text, COMPRESSION_LEVEL).map_err(|source| Error::Io {
                what: "compress a document".into(),
                source,
            })?;
        self.engine.store.note(true, |conn| {
            ensure(conn, &lease.info, lease.root)?;
            let new = NewBuffer {
                open,
                packed: &text,
            };
            buffer::put(conn, lease.root, lease.info.id, &new)
        })?;
        self.engine.store.tidy();
        Ok(true)
    }

    /// Records that a document matched its file at the time `seen`, in microseconds since 1970. This ends a wait for a save in two
    /// cases: the editor has saved (`saved`), or the user removed the restored text that the document had shown. A wait that
    /// began later is for another text.
    pub fn clean_buffer(
        &mut self,
        lease: &EditorLease,
        path: &RelPath,
        saved: bool,
        seen: i64,
    ) -> Result<()> {
        let held = buffer::time_of(&self.engine.store.conn, lease.root, lease.info.id, path)?;
        if held.is_some() {
            self.drop_buffer(lease, path)?;
        }
        let Some(pending) = self.check_pending(path)? else {
            return Ok(());
        };
        // text shown by another editor is not for this one to undo
        let (own, editors) = (lease.info.pid, self.editors()?);
        if pending.pid != own && editors.iter().any(|editor| editor.pid == pending.pid) {
            return Ok(());
        }
        let is_later = pending.time > seen;
        if saved && !is_later || held.is_some_and(|time| time > pending.time) {
            self.forget_pending(path)?;
        }
        Ok(())
    }

    /// Removes the stored text of a document that is closed, or need not be kept.
    pub fn drop_buffer(&mut self, lease: &EditorLease, path: &RelPath) -> Result<()> {
        self.engine.store.note(true, |conn| {
            buffer::delete(conn, lease.root, lease.info.id, path)
        })
    }

    /// Attaches unsaved text to an existing checkpoint: an agent wrote to the file of an open
    /// document.
    pub fn keep_buffers(
        &mut self,
        lease: &EditorLease,
        node: NodeId,
        open: &[OpenText],
    ) -> Result<()> {
        let dir = self.engine.store.dir.clone();
        self.engine.store.write(Durable::Process, |conn| {
            for text in open {
                keep(conn, &dir, node, &lease.info, text)?;
            }
            Ok(())
        })
    }

    /// Creates a checkpoint with the text of a dead editor and removes its row: the text is part of
    /// the history from then on. Returns None if another process took it first.
    pub fn keep_orphan(&mut self, orphan: &Orphan, label: &str) -> Result<Option<OpenText>> {
        let left = orphan.editor.id;
        if is_alive(&self.engine.store.dir, left) {
            return Ok(None);
        }
        let found = text_of(
            &self.engine.store.conn,
            self.engine.here.root,
            left,
            &orphan.path,
        )?;
        let Some(open) = found else { return Ok(None) };
        let node = self.engine.capture_mut().checkpoint(Some(label))?;
        let dir = self.engine.store.dir.clone();
        self.engine.store.write(Durable::Power, |conn| {
            keep(conn, &dir, node, &orphan.editor, &open)
        })?;
        self.forget(orphan)?;
        Ok(Some(open))
    }

    /// Discards the text of a dead editor. It is lost unless a checkpoint has it.
    pub fn forget(&mut self, orphan: &Orphan) -> Result<()> {
        let (left, root) = (orphan.editor.id, self.engine.here.root);
        if is_alive(&self.engine.store.dir, left) {
            return Ok(());
        }
        self.engine.store.write(Durable::Process, |conn| {
            buffer::delete(conn, root, left, &orphan.path)
        })
    }
}

impl<E: Deref<Target = Engine>> EditorDocuments<E> {
    /// Returns the unsaved documents of all editors, including dead ones.
    pub fn unsaved(&self) -> Result<Vec<(EditorId, RelPath)>> {
        buffer::documents(&self.engine.store.conn, self.engine.here.root)
    }

    /// Returns the unsaved text at the time of a checkpoint, by path.
    pub fn unsaved_at(&self, node: NodeId) -> Result<Vec<Unsaved>> {
        let _moment = self.engine.store.reading()?;
        Rows::new(&self.engine.store, self.engine.here)?.unsaved(node)
    }

    /// Returns unsaved text of dead editors of this workspace, newest first.
    pub fn orphan_buffers(&self) -> Result<Vec<Orphan>> {
        let all = buffer_rows(&self.engine.store.conn, self.engine.here.root)?;
        let mut alive = Alive::new(&self.engine.store.dir);
        let mut all: Vec<Orphan> = all
            .into_iter()
            .filter(|held| !alive.is(held.editor.id))
            .map(|held| Orphan {
                editor: held.editor,
                path: held.path,
                base: held.base,
                content: held.hash,
                time: held.time,
            })
            .collect();
        all.sort_by_key(|orphan| std::cmp::Reverse(orphan.time));
        Ok(all)
    }
}
