//! Table `buffer`: unsaved text of open documents.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use rusqlite::{Connection, OptionalExtension, params};

use super::damage::InRow;
use super::editor::{EditorInfo, is_alive};
use super::node_text::{self, KeptBuffer};
use crate::error::{Error, Result};
use crate::model::{ContentId, EditorId, Kind, NodeId, RelPath, RootId};
use crate::store;

/// Finds out if there is any unsaved text.
pub(crate) const ANY: &str = "SELECT 1 FROM buffer WHERE root = ?1 LIMIT 1";

pub(crate) const ALL_ROWS: &str =
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

/// One row of unsaved text, without the text.
#[derive(Clone, Debug)]
pub(crate) struct BufferRow {
    pub editor: EditorInfo,
    pub path: RelPath,
    pub hash: ContentId,
    pub base: Option<ContentId>,
    pub time: i64,
}

/// Cache of which editors are alive.
pub(crate) struct Alive<'a> {
    dir: &'a Path,
    known: BTreeMap<EditorId, bool>,
}

impl<'a> Alive<'a> {
    pub(crate) fn new(dir: &'a Path) -> Self {
        let known = BTreeMap::new();
        Self { dir, known }
    }

    pub(crate) fn is(&mut self, id: EditorId) -> bool {
        let dir = self.dir;
        *self.known.entry(id).or_insert_with(|| is_alive(dir, id))
    }
}

/// Returns the unsaved text of a root, of live and dead editors.
pub(crate) fn buffer_rows(conn: &Connection, root: RootId) -> Result<Vec<BufferRow>> {
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
    rows.collect::<rusqlite::Result<_>>()
        .in_row(conn, || format!("a row of root {} in table buffer", root.0))
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
        .optional()
        .in_row(conn, || format!("the unsaved text of {}", path.display()))?;
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

/// Text of a document to keep while it differs from its file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NewBuffer<'a> {
    pub open: &'a OpenText,
    /// The text, compressed with zstd.
    pub packed: &'a [u8],
}

/// Adds or replaces the text of a document.
pub(crate) fn put(
    conn: &Connection,
    root: RootId,
    editor: EditorId,
    new: &NewBuffer<'_>,
) -> Result<()> {
    let open = new.open;
    conn.prepare_cached(
        "INSERT OR REPLACE INTO buffer (root, editor, path, text, size, hash, base, version, time)
         VALUES (?1,?2,?3,?4,?5,?6,?7,?8,?9)",
    )?
    .execute(params![
        root,
        editor,
        open.path,
        new.packed,
        open.text.len(),
        ContentId::of(&open.text),
        open.base,
        open.version,
        store::now()
    ])?;
    Ok(())
}

/// Returns the time at which the text of a document was last changed.
pub(crate) fn time_of(
    conn: &Connection,
    root: RootId,
    editor: EditorId,
    path: &RelPath,
) -> Result<Option<i64>> {
    Ok(conn
        .prepare_cached("SELECT time FROM buffer WHERE root = ?1 AND editor = ?2 AND path = ?3")?
        .query_row(params![root, editor, path], |r| r.get(0))
        .optional()?)
}

/// Returns the unsaved documents of all editors.
pub(crate) fn documents(conn: &Connection, root: RootId) -> Result<Vec<(EditorId, RelPath)>> {
    let mut select = conn
        .prepare_cached("SELECT editor, path FROM buffer WHERE root = ?1 ORDER BY editor, path")?;
    let rows = select.query_map([root], |r| Ok((r.get(0)?, r.get(1)?)))?;
    rows.collect::<rusqlite::Result<_>>()
        .in_row(conn, || format!("a row of root {} in table buffer", root.0))
}

/// True if an editor has unsaved text.
pub(crate) fn any_of(conn: &Connection, editor: EditorId) -> Result<bool> {
    Ok(conn
        .prepare_cached("SELECT 1 FROM buffer WHERE editor = ?1 LIMIT 1")?
        .exists([editor])?)
}

pub(crate) fn delete(
    conn: &Connection,
    root: RootId,
    editor: EditorId,
    path: &RelPath,
) -> Result<()> {
    conn.prepare_cached("DELETE FROM buffer WHERE root = ?1 AND editor = ?2 AND path = ?3")?
        .execute(params![root, editor, path])?;
    Ok(())
}

/// Deletes all unsaved text of an editor.
pub(crate) fn delete_of(conn: &Connection, editor: EditorId) -> Result<()> {
    conn.execute("DELETE FROM buffer WHERE editor = ?1", [editor])?;
    Ok(())
}

/// Returns the contents that unsaved texts are based on.
pub(crate) fn bases(conn: &Connection) -> Result<BTreeSet<ContentId>> {
    let mut select = conn.prepare_cached("SELECT base FROM buffer WHERE base IS NOT NULL")?;
    let rows = select.query_map([], |r| r.get(0))?;
    rows.collect::<rusqlite::Result<_>>()
        .in_row(conn, || "a row of table buffer".to_owned())
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
            node_text::insert(conn, node, &kept)?;
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

pub(crate) fn keep(
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
    node_text::insert(conn, node, &kept)
}
