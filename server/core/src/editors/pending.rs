//! Files that wait for a save: the record has the outcome of a restore, an editor shows it, and the disk
//! still holds what was there before. As long as it does, a look at the disk sees the outcome.

use rusqlite::{Connection, params};
use rustc_hash::FxHashMap;

use crate::capture::calls::Verdict;
use crate::capture::settle::{AFTER, BEFORE, Cause, Desk, NO_STAT, Step};
use crate::disk::{Look, Stat};
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::known;
use crate::model::{ContentId, Coverage, Image, NodeId, OpId, Origin, Placed, RelPath, RootId};
use crate::scan::Known;

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
pub enum Settle {
    /// Write the outcome to the disk after all; or this text, which is the user's edit of it.
    WriteNow(Option<Vec<u8>>),
    /// The user does not want it: the disk stays as it is, which is the user's edit.
    Forget,
}

/// What became of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Settled {
    /// Nothing waits there: it was saved or written over meanwhile.
    Nothing,
    Done {
        /// The node of the user's edit, if there was one.
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
    pub(crate) fn overlay(&self, path: &RelPath, known: Image, look: &mut Look) -> bool {
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

/// The step from the outcome of a restore back to what is on disk still: the user's, who did not save.
pub(crate) fn never_saved(row: &Known, p: &PendingSave, stat: Option<Stat>) -> Step {
    let placed = |image| {
        Some(Placed {
            path: p.path.clone(),
            image,
        })
    };
    Step {
        file: row.file,
        since: row.since,
        before: placed(row.image),
        after: placed(p.disk),
        stat,
        verdict: Verdict {
            origin: Origin::USER,
            provisional: false,
        },
        made_dirs: 0,
        met: known::Met::ByName,
    }
}

impl Desk<'_> {
    /// Before somebody's work on what the disk held: that the outcome of a restore was never saved becomes
    /// the user's edit, so that the work begins where it began. The row as it is by then.
    pub(crate) fn not_saved(&self, path: &RelPath, row: Option<Known>) -> Result<Option<Known>> {
        let waits = row.as_ref().zip(self.pending.get(path));
        let Some((known, p)) = waits.filter(|(known, p)| p.wanted == known.image) else {
            return Ok(row);
        };
        let generation = known::next_generation(self.conn, self.here.root)?;
        let step = never_saved(known, p, None);
        let none = Coverage::default();
        self.record(&[step], &Cause::between(), &none, false, generation)?;
        known::get(self.conn, self.here.root, path)
    }
}

impl Engine {
    /// Files that wait for a save, oldest first.
    pub fn pending_saves(&self) -> Result<Vec<PendingSave>> {
        all(&self.store.conn, self.here.root)
    }

    /// A look at a path as the record sees it: over what waits for a save.
    pub(crate) fn look_at(&self, path: &RelPath) -> Result<Look> {
        let mut look = self.root.look(path)?;
        let pending = Pending::of(&self.store.conn, self.here.root)?;
        if let Some(p) = pending.get(path)
            && pending.overlay(path, p.wanted, &mut look)
        {
            look.bytes = p.wanted.content().map(|c| self.content(&c)).transpose()?;
        }
        Ok(look)
    }

    /// Ends the wait for a save that will not come: the document was closed, or its editor died.
    pub fn settle_pending(&mut self, path: &RelPath, how: &Settle) -> Result<Settled> {
        match how {
            Settle::WriteNow(text) => self.write_pending(path, text.as_deref()),
            Settle::Forget => self.forget_pending(path),
        }
    }

    fn forget_pending(&mut self, path: &RelPath) -> Result<Settled> {
        let lock = self.quiet_lock(Self::RESTORE_WAIT)?;
        let _lock = lock.ok_or_else(busy)?;
        let look = self.root.look(path)?;
        let node = self.settle(BEFORE, look, |desk, look| {
            let waits = desk.pending.get(path).filter(|p| p.disk == look.image);
            let row = known::get(desk.conn, desk.here.root, path)?;
            let Some((p, row)) = waits.zip(row).filter(|(p, row)| p.wanted == row.image) else {
                return Ok(None);
            };
            let generation = known::next_generation(desk.conn, desk.here.root)?;
            let stat = look.stat;
            let step = never_saved(&row, p, stat);
            let none = Coverage::default();
            desk.record(&[step], &Cause::between(), &none, false, generation)
        })?;
        if node.is_none() {
            // saved or written over: the look takes that in
            self.look_if_waiting(path)?;
        }
        Ok(match node {
            Some(_) => Settled::Done { node },
            None => Settled::Nothing,
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

    fn write_pending(&mut self, path: &RelPath, text: Option<&[u8]>) -> Result<Settled> {
        let lock = self.store.restore_lock(true, Self::RESTORE_WAIT)?;
        let _lock = lock.ok_or_else(busy)?;
        self.refresh()?;
        self.recover_locked()?;
        self.look_unlocked()?;
        let Some(p) = self.waiting(path)? else {
            return Ok(Settled::Nothing);
        };
        let before = self.head()?;
        let (content, size) = match (text, p.wanted) {
            (Some(text), _) => {
                let id = ContentId::of(text);
                let like = p.wanted.content();
                let dir = self.store.dir.clone();
                self.store
                    .write(AFTER, |conn| crate::store::put(conn, &dir, text, like))?;
                (id, text.len() as u64)
            }
            (None, Image::File { content, size, .. }) => (content, size),
            (None, _) => return Ok(Settled::Nothing),
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
        Ok(Settled::Done { node })
    }
}

fn busy() -> Error {
    Error::refused(
        "another rewind is under way, or a capture that does not end",
        "try again in a moment",
    )
}

/// The disk holds what was wanted, or what the user made of it: it is read again at the next look.
pub(crate) fn written(conn: &Connection, root: RootId, path: &RelPath) -> Result<()> {
    let row = known::get(conn, root, path)?;
    if let Some(row) = row {
        known::restate(conn, root, path, row.generation, &NO_STAT)?;
    }
    done(conn, root, path)
}
