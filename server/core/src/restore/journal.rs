//! The journal of a restore: the image of each path before and after, durable before any file changes. A process
//! that finds an unfinished restore finishes it from the journal alone.

use std::collections::{BTreeMap, BTreeSet};

use rusqlite::{Connection, OptionalExtension, Row, params};

use super::types::{FilePlan, PlannedDocument};
use crate::error::Result;
use crate::history::OpKind;
use crate::model::Here;
use crate::model::{BranchId, ChangeId, ContentId, FileId, FileVersion, Image, OpId, RelPath};
use crate::owner;
use crate::store::{self, now, state_columns, state_from};

const FILES: &str = "journal_file";
const LEFT: &str = "journal_left";

/// One path of a restore.
#[derive(Clone, Debug)]
pub(super) struct JournalEntry {
    pub path: RelPath,
    pub before: Image,
    pub after: Image,
    /// Number of directories that are created or deleted with the file.
    pub made_dirs: u32,
    /// Temporary name during the exchange: beside the path, or outside of the directory if a file and a directory
    /// change places.
    pub temp: Option<RelPath>,
    /// True if the path was skipped: another process changed it, or a symlink was in the way.
    pub left: bool,
    pub detail: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// Exchanging forwards.
    Open,
    /// Rolling the exchanges back.
    Backwards,
    /// The node is recorded. The temporary names remain to be removed.
    Recorded,
    /// Begun elsewhere: its journal is not believed.
    Foreign,
}

impl Phase {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Backwards => "backwards",
            Self::Recorded => "recorded",
            Self::Foreign => "foreign",
        }
    }
}

pub(super) struct Begin<'a> {
    pub kind: OpKind,
    pub of: Option<OpId>,
    pub target: &'a str,
    pub to_branch: Option<BranchId>,
    pub files: &'a [FilePlan],
    /// Changes on the branch being left, without effect on disk.
    pub left: &'a [FilePlan],
    pub lines: &'a [JournalEntry],
    pub documents: &'a [PlannedDocument],
}

/// Writes the whole journal. The `temp` names contain the operation's id.
pub(super) fn begin(conn: &Connection, here: Here, b: &Begin<'_>) -> Result<OpId> {
    conn.execute(
        "INSERT INTO operation (kind, root, branch, of, target, time, to_branch, machine, state)
         VALUES (?1,?2,?3,?4,?5,?6,?7,?8,'open')",
        params![
            b.kind.name(),
            here.root,
            here.branch,
            b.of,
            b.target,
            now(),
            b.to_branch,
            owner::machine()
        ],
    )?;
    let op = OpId(conn.last_insert_rowid());
    let on_disk = b.files.iter().map(|part| (FILES, part));
    for (table, part) in on_disk.chain(b.left.iter().map(|part| (LEFT, part))) {
        let (before_path, before_image) = state_columns(&part.before);
        let (after_path, after_image) = state_columns(&part.after);
        conn.prepare_cached(&format!(
            "INSERT INTO {table} (operation, file, before_path, before_image, after_path, after_image,
               as_user, taken_out, put_back) VALUES (?1,?2,?3,?4,?5,?6,?7,?8,?9)",
        ))?
        .execute(params![
            op,
            part.file,
            before_path,
            before_image,
            after_path,
            after_image,
            part.as_user,
            serde_json::to_string(&part.taken_out).unwrap_or_default(),
            serde_json::to_string(&part.put_back).unwrap_or_default()
        ])?;
    }
    for document in b.documents {
        let text = document.text.as_ref();
        let made = document.edit.as_ref().map(|e| e.edit.to);
        let edit = document.edit.as_ref().filter(|e| e.edit.pending);
        conn.prepare_cached(
            "INSERT INTO journal_edit (operation, path, editor, pid, disk, wanted, text, base, made)
             VALUES (?1,?2,?3,?4,?5,?6,?7,?8,?9)",
        )?
        .execute(params![
            op,
            document.path,
            document.editor.name,
            document.editor.pid,
            edit.map(|e| e.disk),
            edit.map(|e| e.wanted),
            text.map(|(text, _)| ContentId::of(text)),
            text.and_then(|(_, base)| *base),
            made
        ])?;
    }
    // operation ids recur in other stores: the token keeps their temporary names apart
    let seed = format!("{} {} {:?}", now(), std::process::id(), here.root);
    let token = &blake3::hash(seed.as_bytes()).to_hex()[..8];
    for (at, line) in b.lines.iter().enumerate() {
        let temp = format!(
            "{}{}-{token}-{at}",
            String::from_utf8_lossy(crate::worktree::disk::TEMP_PREFIX),
            op.0
        );
        conn.prepare_cached(
            "INSERT INTO journal (operation, path, before, after, made_dirs, temp, state)
             VALUES (?1,?2,?3,?4,?5,?6,'planned')",
        )?
        .execute(params![
            op,
            line.path,
            line.before,
            line.after,
            line.made_dirs,
            temp
        ])?;
    }
    Ok(op)
}

pub(super) fn lines(conn: &Connection, op: OpId) -> Result<Vec<JournalEntry>> {
    let mut select = conn.prepare_cached(
        "SELECT path, before, after, made_dirs, temp, state, detail FROM journal WHERE operation = ?1 ORDER BY path",
    )?;
    let mut temps = Vec::new();
    let rows = select.query_map([op], |r| {
        temps.push(r.get::<_, String>(4)?);
        Ok(JournalEntry {
            path: r.get(0)?,
            before: r.get(1)?,
            after: r.get(2)?,
            made_dirs: r.get(3)?,
            temp: None,
            left: r.get::<_, String>(5)? == "left",
            detail: r.get(6)?,
        })
    })?;
    let mut lines = rows.collect::<rusqlite::Result<Vec<JournalEntry>>>()?;
    let paths: BTreeSet<RelPath> = lines.iter().map(|l| l.path.clone()).collect();
    for (line, name) in lines.iter_mut().zip(temps) {
        let mut beside = &line.path;
        let above: Vec<RelPath> =
            std::iter::successors(line.path.parent(), RelPath::parent).collect();
        if let Some(swapped) = above.iter().rev().find(|dir| paths.contains(dir)) {
            beside = swapped;
        }
        line.temp = beside.sibling(name.as_bytes());
    }
    Ok(lines)
}

/// A document of a restore, as the journal holds it.
#[derive(Clone, Debug)]
pub(super) struct JournalEdit {
    pub path: RelPath,
    pub editor: String,
    pub pid: u32,
    /// Image on disk until the editor saves, and recorded image.
    pub waits: Option<(Image, Image)>,
    /// Unsaved text, and the content it was loaded from.
    pub text: Option<(ContentId, Option<ContentId>)>,
    /// Text of the document after the restore.
    pub made: Option<ContentId>,
}

pub(super) fn edits(conn: &Connection, op: OpId) -> Result<Vec<JournalEdit>> {
    let mut select = conn.prepare_cached(
        "SELECT path, editor, pid, disk, wanted, text, base, made FROM journal_edit WHERE operation = ?1",
    )?;
    let rows = select.query_map([op], |r| {
        let (disk, wanted): (Option<Image>, Option<Image>) = (r.get(3)?, r.get(4)?);
        let (text, base): (Option<ContentId>, Option<ContentId>) = (r.get(5)?, r.get(6)?);
        Ok(JournalEdit {
            path: r.get(0)?,
            editor: r.get(1)?,
            pid: r.get(2)?,
            waits: disk.zip(wanted),
            text: text.map(|text| (text, base)),
            made: r.get(7)?,
        })
    })?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// A file of a restore, as the journal holds it.
#[derive(Clone, Debug)]
pub(super) struct JournalFile {
    pub file: FileId,
    pub before: FileVersion,
    pub after: FileVersion,
    pub as_user: bool,
    pub taken_out: Vec<ChangeId>,
    pub put_back: Vec<ChangeId>,
}

/// Returns the files that change on disk.
pub(super) fn files(conn: &Connection, op: OpId) -> Result<Vec<JournalFile>> {
    files_in(conn, FILES, op)
}

/// Returns the files that change on the branch being left, and not on disk.
pub(super) fn left(conn: &Connection, op: OpId) -> Result<Vec<JournalFile>> {
    files_in(conn, LEFT, op)
}

fn files_in(conn: &Connection, table: &str, op: OpId) -> Result<Vec<JournalFile>> {
    let ids = |r: &Row<'_>, at: usize, column: &str| -> Result<Vec<ChangeId>> {
        let (file, text): (FileId, String) = (r.get(0)?, r.get(at)?);
        let row = || format!("{column} of file {} in {table} of {op}", file.0);
        store::json(conn, row, &text)
    };
    let mut select = conn.prepare_cached(&format!(
        "SELECT file, before_path, before_image, after_path, after_image, as_user, taken_out, put_back
         FROM {table} WHERE operation = ?1 ORDER BY file",
    ))?;
    let mut rows = select.query([op])?;
    let mut files = Vec::new();
    while let Some(r) = rows.next()? {
        files.push(JournalFile {
            file: r.get(0)?,
            before: state_from(r, 1)?,
            after: state_from(r, 3)?,
            as_user: r.get(5)?,
            taken_out: ids(r, 6, "taken_out")?,
            put_back: ids(r, 7, "put_back")?,
        });
    }
    Ok(files)
}

/// Returns the unfinished restore, if there is one.
pub(super) fn open(conn: &Connection, here: Here) -> Result<Option<(OpId, Phase)>> {
    let found: Option<(OpId, String, Option<String>)> = conn
        .prepare_cached(
            "SELECT id, state, machine FROM operation
             WHERE state IN ('open','backwards','recorded') AND root = ?1 ORDER BY id LIMIT 1",
        )?
        .query_row([here.root], |r| Ok((r.get(0)?, r.get(1)?, r.get(2)?)))
        .optional()?;
    Ok(found.map(|(op, state, machine)| {
        let phase = match state.as_str() {
            _ if machine != owner::machine() => Phase::Foreign,
            "backwards" => Phase::Backwards,
            "recorded" => Phase::Recorded,
            _ => Phase::Open,
        };
        (op, phase)
    }))
}

pub(super) fn leave(conn: &Connection, op: OpId, path: &RelPath, why: &str) -> Result<()> {
    conn.prepare_cached(
        "UPDATE journal SET state = 'left', detail = ?3 WHERE operation = ?1 AND path = ?2",
    )?
    .execute(params![op, path, why])?;
    Ok(())
}

/// Ends an operation that was begun elsewhere, without a look at its journal.
pub(super) fn disown(conn: &Connection, op: OpId, why: &str) -> Result<()> {
    conn.prepare_cached(
        "UPDATE operation SET detail = ?2,
           state = CASE WHEN node IS NULL THEN 'rolled back' ELSE 'incomplete' END WHERE id = ?1",
    )?
    .execute(params![op, why])?;
    Ok(())
}

pub(super) fn set_state(conn: &Connection, op: OpId, state: &str, detail: &str) -> Result<()> {
    conn.prepare_cached("UPDATE operation SET state = ?2, detail = ?3 WHERE id = ?1")?
        .execute(params![op, state, detail])?;
    Ok(())
}

/// Returns the image of each path before and after these files change.
pub(super) fn transitions(files: &[FilePlan]) -> BTreeMap<RelPath, (Image, Image)> {
    let mut by_path: BTreeMap<RelPath, (Image, Image)> = BTreeMap::new();
    for part in files.iter().filter(|f| f.before != f.after) {
        if let Some(from) = &part.before {
            by_path
                .entry(from.path.clone())
                .or_insert((Image::Absent, Image::Absent))
                .0 = from.image;
        }
        if let Some(to) = &part.after {
            by_path
                .entry(to.path.clone())
                .or_insert((Image::Absent, Image::Absent))
                .1 = to.image;
        }
    }
    by_path
}
