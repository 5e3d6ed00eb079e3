//! Unsaved text: rows that follow an editor's dirty documents, and copies attached to nodes of the
//! history, which are kept.

use std::collections::BTreeMap;
use std::path::Path;

use rusqlite::{Connection, OptionalExtension, Row, params};

use super::{EditorInfo, EditorLease, PendingChoice, ensure, is_alive, row};
use crate::config::Setting;
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::history::Rows;
use crate::model::{ContentId, EditorId, Image, Kind, NodeId, RelPath, RootId};
use crate::store::{self, Durable};
use crate::worktree::file_state;

/// Compression level for text being typed: these rows are short-lived.
const COMPRESSION_LEVEL: i32 = 1;

/// Finds out if there is any unsaved text.
pub(super) const ANY: &str = "SELECT 1 FROM buffer WHERE root = ?1 LIMIT 1";
pub(super) const ALL_ROWS: &str =
    "SELECT b.path, b.hash, b.base, b.time, e.id, e.name, e.pid, e.started
     FROM buffer b JOIN editor e ON e.id = b.editor WHERE b.root = ?1 ORDER BY b.editor, b.path";

/// The text of a document that differs from its file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenText {
    pub path: RelPath,
    /// The text as it would be saved: in the file's encoding and line endings.
    pub text: Vec<u8>,
    /// The content that was loaded or last saved; None: there was no file.
    pub base: Option<ContentId>,
    /// The client's version number of the document.
    pub version: i64,
}

/// Unsaved text at the time of a checkpoint. The checkpoint itself has the text on disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unsaved {
    pub path: RelPath,
    pub content: ContentId,
    /// The content that was loaded or last saved.
    pub base: Option<ContentId>,
    /// The editor's name.
    pub editor: String,
    /// Lines added and removed since `base`.
    pub added: usize,
    pub removed: usize,
}

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

/// One row of unsaved text, without the text.
#[derive(Clone, Debug)]
pub(crate) struct BufferRow {
    pub editor: EditorInfo,
    pub path: RelPath,
    pub hash: ContentId,
    pub base: Option<ContentId>,
    pub time: i64,
}

impl Engine {
    /// Returns the unsaved documents of all editors, including dead ones.
    pub fn unsaved(&self) -> Result<Vec<(EditorId, RelPath)>> {
        let mut select = self.store.conn.prepare_cached(
            "SELECT editor, path FROM buffer WHERE root = ?1 ORDER BY editor, path",
        )?;
        let rows = select.query_map([self.here.root], |r| Ok((r.get(0)?, r.get(1)?)))?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    /// Stores the text of an editor's document that differs from its file. Called for every pause
    /// in typing: writes one small row and does not notify watchers. Returns `false` without
    /// storing if ignore rules hide the file.
    pub fn put_buffer(&mut self, lease: &EditorLease, open: &OpenText) -> Result<bool> {
        let row = file_state::row(&self.store.conn, lease.root, &open.path)?;
        let recorded = row.as_ref().map_or(Image::Absent, |row| row.image);
        let limit = self.root.limit(&recorded);
        if open.text.len() as u64 > limit {
            let limit = Setting::Size(limit);
            return Err(Error::refused(
                format!("{} is too large to be kept", open.path.display()),
                format!(
                    "files above {limit} are not captured; change `capture.maxFileSize` to include them"
                ),
            ));
        }
        if row.is_none() && self.is_hidden(&open.path) {
            return Ok(false);
        }
        let text =
            zstd::bulk::compress(&open.text, COMPRESSION_LEVEL).map_err(|source| Error::Io {
                what: "compress a document".into(),
                source,
            })?;
        self.store.note(true, |conn| {
            ensure(conn, lease)?;
            conn.prepare_cached(
                "INSERT OR REPLACE INTO buffer (root, editor, path, text, size, hash, base, version, time)
                 VALUES (?1,?2,?3,?4,?5,?6,?7,?8,?9)",
            )?
            .execute(params![
                lease.root,
                lease.info.id,
                open.path,
                text,
                open.text.len(),
                ContentId::of(&open.text),
                open.base,
                open.version,
                store::now()
            ])?;
            Ok(())
        })?;
        self.store.tidy();
        Ok(true)
    }

    /// Records that a document now matches its file. This ends a wait for a save in two cases: the
    /// editor has saved (`saved`), or the user removed the restored text that the document had
    /// shown.
    pub fn clean_buffer(&mut self, lease: &EditorLease, path: &RelPath, saved: bool) -> Result<()> {
        let held = self
            .store
            .conn
            .prepare_cached(
                "SELECT time FROM buffer WHERE root = ?1 AND editor = ?2 AND path = ?3",
            )?
            .query_row(params![lease.root, lease.info.id, path], |r| r.get(0))
            .optional()?;
        let held: Option<i64> = held;
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
        if saved || held.is_some_and(|time| time > pending.time) {
            self.resolve_pending(path, &PendingChoice::Forget)?;
        }
        Ok(())
    }

    /// Removes the stored text of a document that is closed, or need not be kept.
    pub fn drop_buffer(&mut self, lease: &EditorLease, path: &RelPath) -> Result<()> {
        self.store.note(true, |conn| {
            conn.prepare_cached(
                "DELETE FROM buffer WHERE root = ?1 AND editor = ?2 AND path = ?3",
            )?
            .execute(params![lease.root, lease.info.id, path])?;
            Ok(())
        })
    }

    /// Returns the unsaved text at the time of a checkpoint, by path.
    pub fn unsaved_at(&self, node: NodeId) -> Result<Vec<Unsaved>> {
        let _moment = self.store.reading()?;
        Rows::new(&self.store, self.here)?.unsaved(node)
    }

    /// Attaches unsaved text to an existing checkpoint: an agent wrote to the file of an open
    /// document.
    pub fn keep_buffers(
        &mut self,
        lease: &EditorLease,
        node: NodeId,
        open: &[OpenText],
    ) -> Result<()> {
        let dir = self.store.dir.clone();
        self.store.write(Durable::Process, |conn| {
            for text in open {
                keep(conn, &dir, node, &lease.info, text)?;
            }
            Ok(())
        })
    }

    /// Returns unsaved text of dead editors of this workspace, newest first.
    pub fn orphan_buffers(&self) -> Result<Vec<Orphan>> {
        let all = buffer_rows(&self.store.conn, self.here.root)?;
        let mut alive = Alive::new(&self.store.dir);
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

    /// Creates a checkpoint with the text of a dead editor and removes its row: the text is part of
    /// the history from then on. Returns None if another process took it first.
    pub fn keep_orphan(&mut self, orphan: &Orphan, label: &str) -> Result<Option<OpenText>> {
        let left = orphan.editor.id;
        if is_alive(&self.store.dir, left) {
            return Ok(None);
        }
        let found = text_of(&self.store.conn, self.here.root, left, &orphan.path)?;
        let Some(open) = found else { return Ok(None) };
        let node = self.checkpoint(Some(label))?;
        let dir = self.store.dir.clone();
        self.store.write(Durable::Power, |conn| {
            keep(conn, &dir, node, &orphan.editor, &open)
        })?;
        self.forget(orphan)?;
        Ok(Some(open))
    }

    /// Discards the text of a dead editor. It is lost unless a checkpoint has it.
    pub fn forget(&mut self, orphan: &Orphan) -> Result<()> {
        let (left, root) = (orphan.editor.id, self.here.root);
        if is_alive(&self.store.dir, left) {
            return Ok(());
        }
        self.store.write(Durable::Process, |conn| {
            conn.execute(
                "DELETE FROM buffer WHERE root = ?1 AND editor = ?2 AND path = ?3",
                params![root, left, orphan.path],
            )?;
            Ok(())
        })
    }
}

/// Cache of which editors are alive.
struct Alive<'a> {
    dir: &'a Path,
    known: BTreeMap<EditorId, bool>,
}

impl<'a> Alive<'a> {
    fn new(dir: &'a Path) -> Self {
        let known = BTreeMap::new();
        Self { dir, known }
    }

    fn is(&mut self, id: EditorId) -> bool {
        let dir = self.dir;
        *self.known.entry(id).or_insert_with(|| is_alive(dir, id))
    }
}

/// Returns the unsaved text of a root, of live and dead editors.
fn buffer_rows(conn: &Connection, root: RootId) -> Result<Vec<BufferRow>> {
    let mut select = conn.prepare_cached(ALL_ROWS)?;
    let rows = select.query_map([root], |r| {
        Ok(BufferRow {
            path: r.get(0)?,
            hash: r.get(1)?,
            base: r.get(2)?,
            time: r.get(3)?,
            editor: EditorInfo {
                id: r.get(4)?,
                name: r.get(5)?,
                pid: r.get(6)?,
                started: r.get(7)?,
            },
        })
    })?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// Returns the unsaved text of live editors.
pub(crate) fn alive(conn: &Connection, dir: &Path, root: RootId) -> Result<Vec<BufferRow>> {
    let mut all = buffer_rows(conn, root)?;
    let mut alive = Alive::new(dir);
    all.retain(|held| alive.is(held.editor.id));
    Ok(all)
}

/// Returns the text of one row.
pub(crate) fn text_of(
    conn: &Connection,
    root: RootId,
    editor: EditorId,
    path: &RelPath,
) -> Result<Option<OpenText>> {
    let found = conn
        .prepare_cached(
            "SELECT text, size, base, version, hash FROM buffer WHERE root = ?1 AND editor = ?2 AND path = ?3",
        )?
        .query_row(params![root, editor, path], |r| {
            let packed: Vec<u8> = r.get(0)?;
            let (size, base, version): (usize, _, _) = (r.get(1)?, r.get(2)?, r.get(3)?);
            let hash: ContentId = r.get(4)?;
            Ok((packed, size, hash, base, version))
        })
        .optional()?;
    let Some((packed, size, hash, base, version)) = found else {
        return Ok(None);
    };
    let text = zstd::bulk::decompress(&packed, size).unwrap_or_default();
    if ContentId::of(&text) != hash {
        return Err(Error::Blob {
            hash: hash.to_string(),
            reason: format!("the unsaved text of {} is damaged", path.display()),
        });
    }
    let path = path.clone();
    Ok(Some(OpenText {
        path,
        text,
        base,
        version,
    }))
}

/// Attaches the unsaved text of live editors to a new node, if its kind stands for the state of a
/// moment.
pub(crate) fn attach(
    conn: &Connection,
    dir: &Path,
    root: RootId,
    node: NodeId,
    kind: Kind,
) -> Result<()> {
    if !matches!(kind, Kind::Turn | Kind::Manual | Kind::Rewind) {
        return Ok(());
    }
    if !conn.prepare_cached(ANY)?.exists([root])? {
        return Ok(());
    }
    for held in alive(conn, dir, root)? {
        if store::has(conn, &held.hash)? {
            let kept = KeptBuffer {
                path: &held.path,
                editor: &held.editor.name,
                pid: held.editor.pid,
                content: held.hash,
                base: held.base,
                made: None,
            };
            note(conn, node, &kept)?;
            continue;
        }
        // damaged text is skipped; the checkpoint is still made
        match text_of(conn, root, held.editor.id, &held.path) {
            Ok(Some(open)) => keep(conn, dir, node, &held.editor, &open)?,
            Ok(None) | Err(Error::Blob { .. }) => {}
            Err(e) => return Err(e),
        }
    }
    Ok(())
}

fn keep(
    conn: &Connection,
    dir: &Path,
    node: NodeId,
    editor: &EditorInfo,
    open: &OpenText,
) -> Result<()> {
    let kept = KeptBuffer {
        path: &open.path,
        editor: &editor.name,
        pid: editor.pid,
        content: store::put(conn, dir, &open.text, open.base)?,
        base: open.base,
        made: None,
    };
    note(conn, node, &kept)
}

/// Unsaved text as attached to a node.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KeptBuffer<'a> {
    pub path: &'a RelPath,
    pub editor: &'a str,
    pub pid: u32,
    /// In the store.
    pub content: ContentId,
    pub base: Option<ContentId>,
    /// The text that a restore made of it.
    pub made: Option<ContentId>,
}

/// Attaches a stored content to a node.
fn note(conn: &Connection, node: NodeId, kept: &KeptBuffer<'_>) -> Result<()> {
    conn.prepare_cached(
        "INSERT INTO node_text (node, path, editor, pid, content, base, made) VALUES (?1,?2,?3,?4,?5,?6,?7)
         ON CONFLICT DO UPDATE SET base = excluded.base, made = COALESCE(excluded.made, made)",
    )?
    .execute(params![
        node,
        kept.path,
        kept.editor,
        kept.pid,
        kept.content,
        kept.base,
        kept.made
    ])?;
    Ok(())
}

/// Attaches the text that a restore found in a document. It replaces the older text from the
/// editor's row.
pub(crate) fn note_made(conn: &Connection, node: NodeId, kept: &KeptBuffer<'_>) -> Result<()> {
    conn.prepare_cached(
        "DELETE FROM node_text WHERE node = ?1 AND path = ?2 AND editor = ?3 AND pid = ?4",
    )?
    .execute(params![node, kept.path, kept.editor, kept.pid])?;
    note(conn, node, kept)
}

/// Returns three contents of an editor's document: before a restore, its base, and the result of
/// the restore.
pub(crate) fn kept_of(
    conn: &Connection,
    node: NodeId,
    path: &RelPath,
    editor: &EditorInfo,
) -> Result<Option<(ContentId, Option<ContentId>, ContentId)>> {
    let mut select = conn.prepare_cached(
        "SELECT content, base, made FROM node_text
         WHERE node = ?1 AND path = ?2 AND editor = ?3 AND pid = ?4 AND made IS NOT NULL",
    )?;
    Ok(select
        .query_row(params![node, path, editor.name, editor.pid], |r| {
            Ok((r.get(0)?, r.get(1)?, r.get(2)?))
        })
        .optional()?)
}

/// Returns the unsaved text attached to a node, without line counts.
pub(crate) fn node_rows(conn: &Connection, node: NodeId) -> Result<Vec<Unsaved>> {
    let mut select = conn.prepare_cached(
        "SELECT path, editor, content, base FROM node_text WHERE node = ?1 ORDER BY path, editor, pid",
    )?;
    let read = |r: &Row<'_>| {
        Ok(Unsaved {
            path: r.get(0)?,
            editor: r.get(1)?,
            content: r.get(2)?,
            base: r.get(3)?,
            added: 0,
            removed: 0,
        })
    };
    let rows = select.query_map([node], read)?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// Returns the editor of a row, live or dead.
pub(crate) fn editor(conn: &Connection, id: EditorId) -> Result<Option<EditorInfo>> {
    row(conn, id)
}
