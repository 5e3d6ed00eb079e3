//! Files that wait for a save: the record has the outcome of a restore, an editor shows it, and the disk
//! still holds what was there before. As long as it does, a look at the disk sees the outcome.

use std::collections::BTreeSet;

use rusqlite::{Connection, params};
use rustc_hash::FxHashMap;

use crate::capture::calls::{self, Attribution};
use crate::capture::record_scan::{AFTER, BEFORE, NO_STAT, WriteTxn};
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::hint::Hint;
use crate::history::{self, Ancestry, NewChange, SetHash};
use crate::merge::{Favor, merge3};
use crate::model::{
    ChangeId, ContentId, Coverage, FileId, FileVersion, Image, Kind, NodeId, OpId, Origin, Placed,
    RelPath, RootId,
};
use crate::worktree::disk::{DiskEntry, Stat};
use crate::worktree::file_state;
use crate::worktree::scan::FileState;

/// A file that waits for a save.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PendingSave {
    pub(crate) id: i64,
    pub path: RelPath,
    /// What made it wait; None: an agent's edit in the editor.
    pub operation: Option<OpId>,
    /// What is on disk.
    pub disk: Image,
    /// What the record has.
    pub wanted: Image,
    /// The name of the editor that has it open, or had it.
    pub editor: String,
    /// Of its language server.
    pub pid: u32,
    /// Microseconds since 1970.
    pub time: i64,
}

/// What is to become of a file that waits for a save and will not be saved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PendingChoice {
    /// Write the outcome to the disk after all; or this text, which is the user's edit of it.
    WriteNow(Option<Vec<u8>>),
    /// The user does not want it: the disk stays as it is, and what the restore had moved is as it was.
    Forget,
}

/// What became of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PendingOutcome {
    /// Nothing waits there: it was saved or written over meanwhile.
    Nothing,
    Done {
        /// The node that was made of it, if one was.
        node: Option<NodeId>,
    },
}

/// The files of a root that wait for a save: mostly none.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pending(FxHashMap<RelPath, PendingSave>);

impl Pending {
    pub(crate) fn of(conn: &Connection, root: RootId) -> Result<Self> {
        let all = all(conn, root)?;
        Ok(Self(all.into_iter().map(|p| (p.path.clone(), p)).collect()))
    }

    pub(crate) fn get(&self, path: &RelPath) -> Option<&PendingSave> {
        // the empty table is asked for every file of a scan
        if self.0.is_empty() {
            None
        } else {
            self.0.get(path)
        }
    }

    /// What a look shows to who compares it with the record: while the disk waits for a save, that it was
    /// saved. The one place where what is on disk is taken for something else.
    pub(crate) fn overlay(&self, path: &RelPath, known: Image, look: &mut DiskEntry) -> bool {
        let waits = self
            .get(path)
            .is_some_and(|p| p.wanted == known && p.disk == look.image);
        if waits {
            look.image = known;
            look.bytes = None;
        }
        waits
    }
}

pub(super) const ALL: &str =
    "SELECT id, path, operation, disk, wanted, editor, pid, time FROM pending_save WHERE root = ?1
     ORDER BY id";

fn all(conn: &Connection, root: RootId) -> Result<Vec<PendingSave>> {
    let mut select = conn.prepare_cached(ALL)?;
    let rows = select.query_map([root], |r| {
        Ok(PendingSave {
            id: r.get(0)?,
            path: r.get(1)?,
            operation: r.get(2)?,
            disk: r.get(3)?,
            wanted: r.get(4)?,
            editor: r.get(5)?,
            pid: r.get(6)?,
            time: r.get(7)?,
        })
    })?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// A new one, which takes the place of an older one of the path.
pub(crate) struct NewPending<'a> {
    pub path: &'a RelPath,
    pub operation: Option<OpId>,
    pub disk: Image,
    pub wanted: Image,
    pub editor: &'a str,
    pub pid: u32,
}

pub(crate) fn put(conn: &Connection, root: RootId, new: &NewPending<'_>) -> Result<()> {
    conn.prepare_cached(
        "INSERT OR REPLACE INTO pending_save (root, path, operation, disk, wanted, editor, pid, time)
         VALUES (?1,?2,?3,?4,?5,?6,?7,?8)",
    )?
    .execute(params![
        root,
        new.path,
        new.operation,
        new.disk,
        new.wanted,
        new.editor,
        new.pid,
        crate::store::now()
    ])?;
    Ok(())
}

/// What waits for a save at a path is over: the file was saved, or the record moved on.
pub(crate) fn done(conn: &Connection, root: RootId, path: &RelPath) -> Result<()> {
    conn.prepare_cached("DELETE FROM pending_save WHERE root = ?1 AND path = ?2")?
        .execute(params![root, path])?;
    Ok(())
}

/// As `done`, for this very one.
pub(crate) fn saved(conn: &Connection, id: i64) -> Result<()> {
    conn.prepare_cached("DELETE FROM pending_save WHERE id = ?1")?
        .execute([id])?;
    Ok(())
}

impl WriteTxn<'_> {
    /// Records that the outcome at a path was never saved: what the disk holds is in force again, as it was, and
    /// its lines are whose they were. The node of it, and the row as it is by then.
    pub(crate) fn take_back(
        &self,
        row: &FileState,
        p: &PendingSave,
        stat: Option<Stat>,
    ) -> Result<(NodeId, FileState)> {
        let (conn, root) = (self.conn, self.here.root);
        let head = self.head()?.ok_or_else(nothing_recorded)?;
        let file = match row.file {
            Some(file) => file,
            None => file_state::identify(conn, &p.path, row.since)?,
        };
        let moved = moved_back(conn, file, head, p)?;
        let none = Coverage::default();
        let label = Some(super::withdrawn::NOT_SAVED);
        let node = self.node(Kind::External, None, None, None, label, &none)?;
        let placed = |image| {
            Some(Placed {
                path: p.path.clone(),
                image,
            })
        };
        let change = NewChange {
            node,
            file,
            before: &placed(row.image),
            after: &placed(p.disk),
            origin: Origin::USER,
            provisional: false,
            made_dirs: 0,
        };
        match moved {
            Some((out, back)) => history::insert_restore(conn, head, &change, &out, &back)?,
            // what is on disk was never a state of its own
            None => history::insert_edit(conn, Some(head), &change)?,
        };
        saved(conn, p.id)?;
        let row = FileState {
            image: p.disk,
            file: Some(file),
            since: row.since,
            generation: file_state::next_generation(conn, root)?,
            stat: stat.unwrap_or(NO_STAT),
        };
        file_state::put(conn, root, &p.path, &row, file_state::Observed::ByName)?;
        file_state::note_identity(conn, root, file, None)?;
        Ok((node, row))
    }

    /// An editor says that it saved a file that waits for that: it holds the outcome, or what the user made of it.
    fn saved_by_user(&self, path: &RelPath, look: &DiskEntry) -> Result<()> {
        let (conn, root) = (self.conn, self.here.root);
        let row = file_state::get(conn, root, path)?;
        let waits = row.as_ref().zip(self.pending.get(path));
        let Some((known, p)) = waits.filter(|(known, p)| p.wanted == known.image) else {
            return Ok(());
        };
        if look.image == p.wanted {
            self.news.set(true);
            return written(conn, root, path);
        }
        let is_file = matches!(look.image, Image::File { .. });
        if look.image == p.disk || !is_file || calls::reserved(conn, root, path)?.is_some() {
            return Ok(());
        }
        if !self.keep_seen(path, look, &known.image)? {
            return Ok(());
        }
        let mut known = known.clone();
        if self.goes_on_from_disk(p, look.image)? {
            known = self.take_back(&known, p, None)?.1;
        }
        self.between(path, Some(&known), look.image, look, Attribution::USER)?;
        Ok(())
    }

    /// Whether somebody wrote this over what the disk held, and not over the outcome of the restore: as with the
    /// editor's own undo. It is that of the two which it is nearer to, by lines.
    pub(crate) fn goes_on_from_disk(&self, p: &PendingSave, written: Image) -> Result<bool> {
        self.is_nearer(written, p.disk, p.wanted)
    }

    /// Whether a text is nearer to one than to another, by lines.
    pub(super) fn is_nearer(&self, written: Image, to: Image, than: Image) -> Result<bool> {
        let bytes = |image: Image| -> Result<Vec<u8>> {
            let content = image.content();
            let read = content.map(|content| crate::store::get(self.conn, self.dir, &content));
            Ok(read.transpose()?.unwrap_or_default())
        };
        Ok(nearer(&bytes(written)?, &bytes(to)?, &bytes(than)?))
    }

    /// Before somebody's work on what the disk held: that the outcome of a restore was never saved is recorded,
    /// so that the work begins where it began. The row as it is by then.
    pub(crate) fn not_saved(
        &self,
        path: &RelPath,
        row: Option<FileState>,
    ) -> Result<Option<FileState>> {
        let waits = row.as_ref().zip(self.pending.get(path));
        let Some((known, p)) = waits.filter(|(known, p)| p.wanted == known.image) else {
            return Ok(row);
        };
        self.take_back(known, p, None).map(|(_, row)| Some(row))
    }
}

/// The edits to take out of force and to put back so that a file is what the disk holds still: the newest
/// recorded state that is just that. None: there is none.
fn moved_back(
    conn: &Connection,
    file: FileId,
    head: NodeId,
    p: &PendingSave,
) -> Result<Option<(Vec<ChangeId>, Vec<ChangeId>)>> {
    let ancestry = Ancestry::new(conn);
    let on_disk = |state: &FileVersion| {
        let same = |placed: &Placed| placed.path == p.path && placed.image == p.disk;
        state.as_ref().is_some_and(same)
    };
    let now = history::in_force(&ancestry, file, head)?;
    let mut then = None;
    for (change, _) in history::changes_with_sets(conn, file)?.into_iter().rev() {
        if on_disk(&change.after) && ancestry.is_ancestor(change.node, head)? {
            then = Some(history::in_force(&ancestry, file, change.node)?);
            break;
        }
    }
    let base = history::version(conn, file, SetHash::EMPTY)?;
    let then = then.or_else(|| on_disk(&base.flatten()).then(BTreeSet::new));
    Ok(then.filter(|then| *then != now).map(|then| {
        let of = |a: &BTreeSet<_>, b: &BTreeSet<_>| a.difference(b).copied().collect();
        (of(&now, &then), of(&then, &now))
    }))
}

fn nothing_recorded() -> Error {
    Error::refused("nothing is recorded here yet", Hint::Begin)
}

impl Engine {
    /// Files that wait for a save, oldest first.
    pub fn pending_saves(&self) -> Result<Vec<PendingSave>> {
        all(&self.store.conn, self.here.root)
    }

    /// A look at a path as the record sees it: over what waits for a save.
    pub(crate) fn look_at(&self, path: &RelPath) -> Result<DiskEntry> {
        let mut look = self.look_held(path)?;
        let pending = Pending::of(&self.store.conn, self.here.root)?;
        if let Some(p) = pending.get(path)
            && pending.overlay(path, p.wanted, &mut look)
        {
            look.bytes = p.wanted.content().map(|c| self.content(&c)).transpose()?;
        }
        Ok(look)
    }

    /// What waits for a save at a path, once the disk was looked at: an editor that saved, or saved something
    /// else over it, ends the wait.
    pub fn still_waits(&mut self, path: &RelPath) -> Result<Option<PendingSave>> {
        if self.waiting(path)?.is_none() {
            self.saved_again(path)?;
            return Ok(None);
        }
        let lock = self.quiet_lock(Self::RESTORE_WAIT)?;
        let _lock = lock.ok_or_else(busy)?;
        let look = self.look_known(path)?;
        self.settle_found(BEFORE, look, |txn, look| txn.saved_by_user(path, &look))?;
        self.waiting(path)
    }

    /// Files that wait for the save of an editor that is not there any more, oldest first.
    pub fn left_waiting(&self) -> Result<Vec<PendingSave>> {
        let there = self.editors()?;
        let mut all = self.pending_saves()?;
        all.retain(|p| !there.iter().any(|e| e.pid == p.pid && e.name == p.editor));
        Ok(all)
    }

    /// Ends the wait for a save that will not come: the document was closed, or its editor died.
    pub fn settle_pending(
        &mut self,
        path: &RelPath,
        how: &PendingChoice,
    ) -> Result<PendingOutcome> {
        match how {
            PendingChoice::WriteNow(text) => self.write_pending(path, text.as_deref()),
            PendingChoice::Forget => self.forget_pending(path),
        }
    }

    fn forget_pending(&mut self, path: &RelPath) -> Result<PendingOutcome> {
        let lock = self.quiet_lock(Self::RESTORE_WAIT)?;
        let _lock = lock.ok_or_else(busy)?;
        let look = self.look_known(path)?;
        let node = self.settle(BEFORE, look, |txn, look| {
            let waits = txn.pending.get(path).filter(|p| p.disk == look.image);
            let row = file_state::get(txn.conn, txn.here.root, path)?;
            let Some((p, row)) = waits.zip(row).filter(|(p, row)| p.wanted == row.image) else {
                return Ok(None);
            };
            let (node, _) = txn.take_back(&row, p, look.stat)?;
            Ok(Some(node))
        })?;
        if node.is_none() {
            // saved or written over: the look takes that in
            self.look_if_waiting(path)?;
        }
        Ok(match node {
            Some(_) => PendingOutcome::Done { node },
            None => PendingOutcome::Nothing,
        })
    }

    fn look_if_waiting(&mut self, path: &RelPath) -> Result<()> {
        if self.waiting(path)?.is_some() {
            self.look_unlocked()?;
        }
        Ok(())
    }

    /// What waits at this path.
    pub(crate) fn waiting(&self, path: &RelPath) -> Result<Option<PendingSave>> {
        let all = Pending::of(&self.store.conn, self.here.root)?;
        Ok(all.get(path).cloned())
    }

    fn write_pending(&mut self, path: &RelPath, text: Option<&[u8]>) -> Result<PendingOutcome> {
        let lock = self.store.restore_lock(true, Self::RESTORE_WAIT)?;
        let _lock = lock.ok_or_else(busy)?;
        self.refresh()?;
        self.recover_locked()?;
        self.look_unlocked()?;
        let Some(p) = self.waiting(path)? else {
            return Ok(PendingOutcome::Nothing);
        };
        let before = self.head()?;
        let text = text.map(|text| self.with_outcome(&p, text)).transpose()?;
        let (content, size) = match (text.as_deref(), p.wanted) {
            (Some(text), _) => {
                let id = ContentId::of(text);
                let like = p.wanted.content();
                let dir = self.store.dir.clone();
                self.store
                    .write(AFTER, |conn| crate::store::put(conn, &dir, text, like))?;
                (id, text.len() as u64)
            }
            (None, Image::File { content, size, .. }) => (content, size),
            (None, _) => return Ok(PendingOutcome::Nothing),
        };
        let mode = match p.disk {
            Image::File { mode, .. } => mode,
            _ => 0o644,
        };
        let to = Image::File {
            mode,
            content,
            size,
        };
        self.save_now(&p, to)?;
        self.look_unlocked()?;
        let node = self.head()?.filter(|head| before != Some(*head));
        Ok(PendingOutcome::Done { node })
    }
}

impl Engine {
    /// What is to be written of a text that an editor had where a restore waits for its save: one that never came to
    /// show the outcome has it merged in. Where they collide, what was typed stays.
    fn with_outcome(&self, p: &PendingSave, text: &[u8]) -> Result<Vec<u8>> {
        let bytes = |image: Image| -> Result<Vec<u8>> {
            let content = image.content();
            let read = content.map(|content| self.content(&content)).transpose()?;
            Ok(read.unwrap_or_default())
        };
        let (disk, wanted) = (bytes(p.disk)?, bytes(p.wanted)?);
        if nearer(text, &disk, &wanted) {
            return Ok(merge3(&disk, text, &wanted, Favor::Ours).bytes);
        }
        Ok(text.to_vec())
    }
}

/// Whether a text is nearer to one than to another, by lines.
fn nearer(text: &[u8], to: &[u8], than: &[u8]) -> bool {
    let far = |from: &[u8]| {
        let (added, removed, _) = crate::diff::count(from, text);
        added + removed
    };
    far(to) < far(than)
}

pub(super) fn busy() -> Error {
    Error::refused(
        "another rewind is under way, or a capture that does not end",
        "try again in a moment",
    )
}

/// The disk holds what was wanted, or what the user made of it: it is read again at the next look.
pub(crate) fn written(conn: &Connection, root: RootId, path: &RelPath) -> Result<()> {
    let row = file_state::get(conn, root, path)?;
    if let Some(row) = row {
        file_state::update_stat(conn, root, path, row.generation, &NO_STAT)?;
    }
    done(conn, root, path)
}
