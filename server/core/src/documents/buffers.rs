//! Text that is not saved: the rows that follow an editor's dirty documents, and what of it is attached to
//! the nodes of the history, where it stays.

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

/// Typing is compressed for its size on disk while it lasts, not for ever.
const LEVEL: i32 = 1;

/// Whether there is any unsaved text.
pub(super) const ANY: &str = "SELECT 1 FROM buffer WHERE root = ?1 LIMIT 1";
pub(super) const HELD: &str =
    "SELECT b.path, b.hash, b.base, b.time, e.id, e.name, e.pid, e.started
     FROM buffer b JOIN editor e ON e.id = b.editor WHERE b.root = ?1 ORDER BY b.editor, b.path";

/// The text of a document whose file holds something else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenText {
    pub path: RelPath,
    /// As it would be saved: in the file's encoding and line endings.
    pub text: Vec<u8>,
    /// The content that it was loaded from or last saved as; None: there was no file.
    pub base: Option<ContentId>,
    /// The client's own number of it.
    pub version: i64,
}

/// Text that was not saved when a checkpoint was made. What the checkpoint has of the same path is what was
/// on disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unsaved {
    pub path: RelPath,
    pub content: ContentId,
    /// The content that it was loaded from or last saved as.
    pub base: Option<ContentId>,
    /// The editor's name.
    pub editor: String,
    /// Lines added and removed since `base`.
    pub added: usize,
    pub removed: usize,
}

/// Unsaved text of an editor that died.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Orphan {
    pub editor: EditorInfo,
    pub path: RelPath,
    pub base: Option<ContentId>,
    pub content: ContentId,
    /// When it was last typed into, in microseconds since 1970.
    pub time: i64,
}

/// One row of unsaved text, its text aside.
#[derive(Clone, Debug)]
pub(crate) struct BufferRow {
    pub editor: EditorInfo,
    pub path: RelPath,
    pub hash: ContentId,
    pub base: Option<ContentId>,
    pub time: i64,
}

impl Engine {
    /// The documents that editors have not saved, also those of dead ones.
    pub fn unsaved(&self) -> Result<Vec<(EditorId, RelPath)>> {
        let mut select = self.store.conn.prepare_cached(
            "SELECT editor, path FROM buffer WHERE root = ?1 ORDER BY editor, path",
        )?;
        let rows = select.query_map([self.here.root], |r| Ok((r.get(0)?, r.get(1)?)))?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    /// Notes what an editor's document holds, while that is not what its file holds. Made for every pause in
    /// the typing: one small row, and no bell. `false`: it is hidden by ignore rules, and nothing is kept.
    pub fn put_buffer(&mut self, lease: &EditorLease, open: &OpenText) -> Result<bool> {
        let row = file_state::row(&self.store.conn, lease.root, &open.path)?;
        let recorded = row.as_ref().map_or(Image::Absent, |row| row.image);
        let limit = self.root.limit(&recorded);
        if open.text.len() as u64 > limit {
            let limit = Setting::Size(limit);
            return Err(Error::refused(
                format!("{} is too large to be kept", open.path.display()),
                format!("files above {limit} are not recorded; `capture.maxFileSize` says so"),
            ));
        }
        if row.is_none() && self.is_hidden(&open.path) {
            return Ok(false);
        }
        let text = zstd::bulk::compress(&open.text, LEVEL).map_err(|source| Error::Io {
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

    /// The document holds what its file holds. Where that ends a wait for a save, it does: `saved`, or the text
    /// of a restore was shown in it and is there no more, since the user took it back.
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
        let Some(waits) = self.still_waits(path)? else {
            return Ok(());
        };
        // what another editor shows is not this one's to take back
        let (own, editors) = (lease.info.pid, self.editors()?);
        if waits.pid != own && editors.iter().any(|editor| editor.pid == waits.pid) {
            return Ok(());
        }
        if saved || held.is_some_and(|time| time > waits.time) {
            self.settle_pending(path, &PendingChoice::Forget)?;
        }
        Ok(())
    }

    /// The document is closed, or nothing of it is to be kept.
    pub fn drop_buffer(&mut self, lease: &EditorLease, path: &RelPath) -> Result<()> {
        self.store.note(true, |conn| {
            conn.prepare_cached(
                "DELETE FROM buffer WHERE root = ?1 AND editor = ?2 AND path = ?3",
            )?
            .execute(params![lease.root, lease.info.id, path])?;
            Ok(())
        })
    }

    /// Text that was not saved when a checkpoint was made, by path.
    pub fn unsaved_at(&self, node: NodeId) -> Result<Vec<Unsaved>> {
        let _moment = self.store.reading()?;
        Rows::new(&self.store, self.here)?.unsaved(node)
    }

    /// Attaches unsaved text to a checkpoint that was made without it: an agent wrote under a document.
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

    /// Unsaved text that editors of this workspace left when they died, newest first.
    pub fn orphan_buffers(&self) -> Result<Vec<Orphan>> {
        let all = held(&self.store.conn, self.here.root)?;
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

    /// Makes a checkpoint that has what a dead editor left, and forgets it: from then on it is part of the history.
    /// None: somebody else took it first.
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

    /// The user does not want what a dead editor left. It is gone for good, unless a checkpoint has it.
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

/// Which editors are alive, each asked for once.
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

/// The unsaved text of a root, alive or not.
fn held(conn: &Connection, root: RootId) -> Result<Vec<BufferRow>> {
    let mut select = conn.prepare_cached(HELD)?;
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

/// Unsaved text that editors at work have.
pub(crate) fn alive(conn: &Connection, dir: &Path, root: RootId) -> Result<Vec<BufferRow>> {
    let mut all = held(conn, root)?;
    let mut alive = Alive::new(dir);
    all.retain(|held| alive.is(held.editor.id));
    Ok(all)
}

/// The text of one row.
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

/// Attaches the unsaved text of the editors at work to a node that was just made, where its kind says that
/// it is the state of a moment.
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
        // what is damaged costs itself, not the checkpoint
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

/// Text that was not saved, as it is attached to a node.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KeptBuffer<'a> {
    pub path: &'a RelPath,
    pub editor: &'a str,
    pub pid: u32,
    /// Of the store.
    pub content: ContentId,
    pub base: Option<ContentId>,
    /// What a restore made of it.
    pub made: Option<ContentId>,
}

/// Attaches a content of the store to a node.
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

/// The same of what a restore found in a document, which is newer than what its editor had put.
pub(crate) fn note_made(conn: &Connection, node: NodeId, kept: &KeptBuffer<'_>) -> Result<()> {
    conn.prepare_cached(
        "DELETE FROM node_text WHERE node = ?1 AND path = ?2 AND editor = ?3 AND pid = ?4",
    )?
    .execute(params![node, kept.path, kept.editor, kept.pid])?;
    note(conn, node, kept)
}

/// What a document of this editor had before a restore, what it went on from, and what the restore made of it.
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

/// What is attached to a node, its lines not counted.
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

/// The editor behind a row, alive or not.
pub(crate) fn editor(conn: &Connection, id: EditorId) -> Result<Option<EditorInfo>> {
    row(conn, id)
}
