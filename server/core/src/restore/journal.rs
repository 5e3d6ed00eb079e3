//! The journal of a restore: the image of each path before and after, durable before any file changes. A process
//! that finds an unfinished restore finishes it from the journal alone.

use std::collections::{BTreeMap, BTreeSet};

use rusqlite::Connection;

use super::types::{FilePlan, PlannedDocument};
use crate::error::Result;
use crate::model::Here;
use crate::model::{BranchId, ContentId, DirChange, Image, OpId, RelPath};
use crate::owner;
use crate::store::now;
use crate::store::tables::journal::{self, Files, JournalLine, LineState};
use crate::store::tables::operation::{self, NewOperation, OpKind, OpPhase, RestoreLimits};

pub(super) use crate::store::tables::journal::{JournalEdit, JournalFile, edits, leave};
pub(super) use crate::store::tables::operation::{disown, set_outcome};

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

pub(super) struct Begin<'a> {
    pub kind: OpKind,
    pub of: Option<OpId>,
    pub target: &'a str,
    pub limits: &'a RestoreLimits,
    pub to_branch: Option<BranchId>,
    pub files: &'a [FilePlan],
    /// Changes on the branch being left, without effect on disk.
    pub left: &'a [FilePlan],
    pub lines: &'a [JournalEntry],
    pub documents: &'a [PlannedDocument],
    pub directories: &'a [DirChange],
}

fn file_of(part: &FilePlan) -> JournalFile {
    JournalFile {
        file: part.file,
        before: part.before.clone(),
        after: part.after.clone(),
        as_user: part.as_user,
        taken_out: part.taken_out.clone(),
        put_back: part.put_back.clone(),
    }
}

fn edit_of(document: &PlannedDocument) -> JournalEdit {
    let edit = document.edit.as_ref();
    let waits = edit.filter(|e| e.edit.pending);
    let text = document.text.as_ref();
    JournalEdit {
        path: document.path.clone(),
        editor: document.editor.name.clone(),
        pid: document.editor.pid,
        waits: waits.map(|e| (e.disk, e.wanted)),
        text: text.map(|(text, base)| (ContentId::of(text), *base)),
        made: edit.map(|e| e.edit.to),
    }
}

/// Writes the whole journal. The `temp` names contain the operation's id.
pub(super) fn begin(conn: &Connection, here: Here, b: &Begin<'_>) -> Result<OpId> {
    let machine = owner::machine();
    let new = NewOperation {
        kind: b.kind,
        of: b.of,
        target: b.target,
        limits: b.limits,
        to_branch: b.to_branch,
        directories: b.directories,
        machine: machine.as_deref(),
    };
    let op = operation::insert(conn, here, &new)?;
    for (files, parts) in [(Files::OnDisk, b.files), (Files::Left, b.left)] {
        for part in parts {
            journal::insert_file(conn, files, op, &file_of(part))?;
        }
    }
    for document in b.documents {
        journal::insert_edit(conn, op, &edit_of(document))?;
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
        let line = JournalLine {
            path: line.path.clone(),
            before: line.before,
            after: line.after,
            made_dirs: line.made_dirs,
            temp,
            state: LineState::Planned,
            detail: String::new(),
        };
        journal::insert_line(conn, op, &line)?;
    }
    Ok(op)
}

pub(super) fn lines(conn: &Connection, op: OpId) -> Result<Vec<JournalEntry>> {
    let rows = journal::lines(conn, op)?;
    let paths: BTreeSet<RelPath> = rows.iter().map(|l| l.path.clone()).collect();
    let entry = |row: JournalLine| {
        let above: Vec<RelPath> =
            std::iter::successors(row.path.parent(), RelPath::parent).collect();
        let swapped = above.iter().rev().find(|dir| paths.contains(dir));
        let temp = swapped.unwrap_or(&row.path).sibling(row.temp.as_bytes());
        JournalEntry {
            path: row.path,
            before: row.before,
            after: row.after,
            made_dirs: row.made_dirs,
            temp,
            left: row.state == LineState::Left,
            detail: row.detail,
        }
    };
    Ok(rows.into_iter().map(entry).collect())
}

/// Returns the files that change on disk.
pub(super) fn files(conn: &Connection, op: OpId) -> Result<Vec<JournalFile>> {
    journal::files(conn, Files::OnDisk, op)
}

/// Returns the files that change on the branch being left, and not on disk.
pub(super) fn left(conn: &Connection, op: OpId) -> Result<Vec<JournalFile>> {
    journal::files(conn, Files::Left, op)
}

/// Returns the unfinished restore, if there is one.
pub(super) fn open(conn: &Connection, here: Here) -> Result<Option<(OpId, Phase)>> {
    let found = operation::unfinished(conn, here.root)?;
    Ok(found.map(|found| {
        let phase = match found.phase {
            _ if found.machine != owner::machine() => Phase::Foreign,
            OpPhase::Backwards => Phase::Backwards,
            OpPhase::Recorded => Phase::Recorded,
            _ => Phase::Open,
        };
        (found.id, phase)
    }))
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
