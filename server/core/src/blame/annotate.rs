//! Who wrote each line of a recorded state: from state to state along the sets of edits in force, starting
//! at the nearest one that the cache has. Owns the walk and the cache; what passes on is `runs`.
//!
//! A state is known by the set in force in it, and what made that set first decides: an edit adds its
//! lines, a restore brings lines back. So a state has the same owners whoever asks, on whatever branch.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet, VecDeque};
use std::rc::Rc;

use rusqlite::{Connection, params};

use super::hunks::Hunks;
use super::runs::{Owner, Runs, Unsettled};
use crate::diff::{self, count_lines, line_changes};
use crate::error::Result;
use crate::history::{self, Ancestry, SetHash};
use crate::model::{Change, ChangeId, ContentId, FileId, FileVersion, Image, Role};
use crate::store::{ContentReader, Store};

/// The owners of every so many states are kept, at the least, and about so many of them in all.
const MILESTONE: usize = 64;
const MILESTONES: usize = 8;
const RECENT: usize = 3;
/// So many runs are held in memory at once.
const HELD: usize = 1 << 20;

/// What a state's text is. What is no file with a kept content has none.
#[derive(Clone, Copy)]
struct StateText {
    content: Option<ContentId>,
    /// Something stood there, but its content was not kept.
    opaque: bool,
}

/// Annotates states of one file.
pub(super) struct Annotator<'s> {
    store: &'s Store,
    reader: RefCell<ContentReader<'s>>,
    /// The last few texts.
    recent: RefCell<VecDeque<(ContentId, Rc<[u8]>)>>,
    ancestry: Ancestry<'s>,
    file: FileId,
    /// All changes of the file, oldest first, each with the set after it.
    changes: Vec<(Change, SetHash)>,
    /// What made a set first.
    made_by: HashMap<SetHash, usize>,
    cached: HashMap<SetHash, Vec<u8>>,
    use_cache: bool,
    done: RefCell<Annotated>,
}

#[derive(Default)]
struct Annotated {
    runs: HashMap<SetHash, Rc<Runs>>,
    held: usize,
    /// To be written to the cache.
    milestones: Vec<(SetHash, Vec<u8>)>,
    hunks: Vec<(ChangeId, Vec<u8>)>,
}

/// A change of the cache.
pub(super) struct Keep {
    file: FileId,
    rows: Vec<(SetHash, Vec<u8>)>,
    hunks: Vec<(ChangeId, Vec<u8>)>,
    stale: Vec<SetHash>,
}

impl Keep {
    pub(super) fn write(&self, store: &Store) {
        let write = |conn: &Connection| {
            let mut insert = conn.prepare_cached(
                "INSERT OR REPLACE INTO blame (file, set_hash, runs) VALUES (?1,?2,?3)",
            )?;
            for (set, row) in &self.rows {
                insert.execute(params![self.file, set, row])?;
            }
            let mut delete =
                conn.prepare_cached("DELETE FROM blame WHERE file = ?1 AND set_hash = ?2")?;
            for set in &self.stale {
                delete.execute(params![self.file, set])?;
            }
            for (change, row) in &self.hunks {
                Hunks::write(conn, *change, row)?;
            }
            Ok(())
        };
        // lost, it costs only time
        store.note(false, write).ok();
    }
}

/// The owners of a state as the cache has them, if they are of this content.
pub(super) fn cached(
    conn: &Connection,
    file: FileId,
    set: SetHash,
    content: ContentId,
    lines: usize,
) -> Result<Option<Runs>> {
    let mut select = conn
        .prepare_cached("SELECT CAST(runs AS BLOB) FROM blame WHERE file = ?1 AND set_hash = ?2")?;
    let mut rows = select.query(params![file, set])?;
    let row: Option<Vec<u8>> = rows.next()?.map(|r| r.get(0)).transpose()?;
    Ok(row.and_then(|row| Runs::decode(&row, content, lines)))
}

impl<'s> Annotator<'s> {
    /// `use_cache`: else everything is computed, and nothing written.
    pub(super) fn new(store: &'s Store, file: FileId, use_cache: bool) -> Result<Self> {
        let conn = &store.conn;
        let changes = history::changes_with_sets(conn, file)?;
        let mut made_by = HashMap::with_capacity(changes.len());
        for (at, (_, set)) in changes.iter().enumerate() {
            // the empty set was there before any change, whatever led back to it
            if *set != SetHash::EMPTY {
                made_by.entry(*set).or_insert(at);
            }
        }
        let mut cached = HashMap::new();
        if use_cache {
            let mut select = conn
                .prepare_cached("SELECT set_hash, CAST(runs AS BLOB) FROM blame WHERE file = ?1")?;
            let mut rows = select.query([file])?;
            while let Some(row) = rows.next()? {
                cached.insert(row.get(0)?, row.get(1)?);
            }
        }
        Ok(Self {
            store,
            reader: RefCell::new(ContentReader::new(conn, &store.dir)),
            recent: RefCell::default(),
            ancestry: Ancestry::new(conn),
            file,
            changes,
            made_by,
            cached,
            use_cache,
            done: RefCell::default(),
        })
    }

    /// The owners of the lines of `text`, which is this content and the file's with this set.
    pub(super) fn owners(&self, set: SetHash, content: ContentId, text: &[u8]) -> Result<Runs> {
        self.recall(content, &text.into());
        let runs = self.annotate(set)?;
        let state = self.bytes(self.text(set)?)?;
        if *state == *text {
            return Ok(Rc::unwrap_or_clone(runs));
        }
        // a state that is not what its set says: what differs came with the newest change there
        let newest = self.changes.iter().rev().find(|(_, s)| *s == set);
        let owner = newest.map_or(Owner::Before, |(c, _)| Owner::Change(c.id));
        Ok(runs.carried(&line_changes(&state, text), owner))
    }

    /// What the cache is to hold from now on: what was asked for, and a few states on the way to it; `head`
    /// stays.
    pub(super) fn keep(&self, asked: (SetHash, ContentId, &Runs), head: SetHash) -> Keep {
        let (set, content, runs) = asked;
        let milestones = (0..self.changes.len()).step_by(self.step());
        let stays: HashSet<SetHash> = milestones
            .map(|at| self.changes[at].1)
            .chain([set, head])
            .collect();
        let stale = self.cached.keys().filter(|set| !stays.contains(set));
        let mut done = self.done.borrow_mut();
        let mut rows = std::mem::take(&mut done.milestones);
        rows.push((set, runs.encode(content)));
        Keep {
            file: self.file,
            rows,
            hunks: std::mem::take(&mut done.hunks),
            stale: stale.copied().collect(),
        }
    }

    /// Between milestones; twice as far where the history is twice as long, so that old ones stay in use.
    fn step(&self) -> usize {
        let wanted = (self.changes.len() / MILESTONES).next_power_of_two();
        wanted.max(MILESTONE)
    }

    fn state(&self, set: SetHash) -> Result<FileVersion> {
        match self.made_by.get(&set) {
            Some(at) => Ok(self.changes[*at].0.after.clone()),
            None => Ok(history::version(&self.store.conn, self.file, set)?.flatten()),
        }
    }

    fn text(&self, set: SetHash) -> Result<StateText> {
        let image = self.state(set)?.map_or(Image::Absent, |p| p.image);
        let content = match image {
            Image::File { content, .. } => Some(content),
            Image::Absent | Image::InGit { .. } | Image::Symlink { .. } | Image::Opaque(_) => None,
        };
        Ok(StateText {
            content,
            opaque: matches!(image, Image::Opaque(_)),
        })
    }

    fn bytes(&self, text: StateText) -> Result<Rc<[u8]>> {
        text.content
            .map_or_else(|| Ok(Rc::default()), |content| self.content(content))
    }

    fn content(&self, id: ContentId) -> Result<Rc<[u8]>> {
        if let Some((_, bytes)) = self.recent.borrow().iter().find(|(known, _)| *known == id) {
            return Ok(Rc::clone(bytes));
        }
        let bytes = self.reader.borrow_mut().get(&id)?;
        self.recall(id, &bytes);
        Ok(bytes)
    }

    fn recall(&self, id: ContentId, bytes: &Rc<[u8]>) {
        let mut recent = self.recent.borrow_mut();
        if recent.len() == RECENT {
            recent.pop_front();
        }
        recent.push_back((id, Rc::clone(bytes)));
    }

    fn annotate(&self, set: SetHash) -> Result<Rc<Runs>> {
        // back to a state whose owners are known
        let mut way = Vec::new();
        let mut at = set;
        let (mut text, mut runs) = loop {
            if let Some(runs) = self.known(at)? {
                if way.is_empty() {
                    return Ok(runs);
                }
                break (self.text(at)?, runs);
            }
            let made_by = self.made_by.get(&at).copied();
            // nothing leads to itself, but in a damaged store
            let younger = |by: &usize| way.last().is_none_or(|last| by < last);
            if let Some(by) = made_by.filter(younger) {
                way.push(by);
                at = self.set_before(by)?;
                continue;
            }
            let text = self.text(at)?;
            let runs = Runs::all(count_lines(&self.bytes(text)?), Owner::Before);
            break (text, Rc::new(runs));
        };
        // and forth again
        for by in way.into_iter().rev() {
            let after = self.text(self.changes[by].1)?;
            runs = Rc::new(self.step_over(by, text, &runs, after)?);
            self.done(by, &runs, after);
            text = after;
        }
        Ok(runs)
    }

    fn known(&self, set: SetHash) -> Result<Option<Rc<Runs>>> {
        if let Some(runs) = self.done.borrow().runs.get(&set) {
            return Ok(Some(Rc::clone(runs)));
        }
        let Some(row) = self.cached.get(&set) else {
            return Ok(None);
        };
        let text = self.text(set)?;
        let Some(content) = text.content else {
            return Ok(None);
        };
        let lines = count_lines(&self.bytes(text)?);
        Ok(Runs::decode(row, content, lines).map(Rc::new))
    }

    fn done(&self, by: usize, runs: &Rc<Runs>, text: StateText) {
        let set = self.changes[by].1;
        let mut done = self.done.borrow_mut();
        if by.is_multiple_of(self.step())
            && !self.cached.contains_key(&set)
            && let Some(content) = text.content
        {
            done.milestones.push((set, runs.encode(content)));
        }
        done.held += runs.len();
        if done.held > HELD {
            done.runs.clear();
            done.held = runs.len();
        }
        done.runs.insert(set, Rc::clone(runs));
    }

    fn set_before(&self, by: usize) -> Result<SetHash> {
        let (change, after) = &self.changes[by];
        Ok(match change.role {
            Role::Edit => after.toggled(change.id),
            Role::Restore => {
                let (taken_out, put_back) = history::moved_by(&self.store.conn, change.id)?;
                let moved = taken_out.iter().chain(&put_back);
                moved.fold(*after, |set, member| set.toggled(*member))
            }
        })
    }

    /// The owners after one change.
    fn step_over(
        &self,
        by: usize,
        before: StateText,
        runs: &Runs,
        after: StateText,
    ) -> Result<Runs> {
        let (change, _) = &self.changes[by];
        let own = Owner::Change(change.id);
        if before.opaque {
            // what was there is not known, so neither is what is new
            let lines = count_lines(&self.bytes(after)?);
            return Ok(Runs::all(lines, Owner::Before));
        }
        let changes = self.hunks(change.id, (before, runs.lines()), after)?;
        let conn = &self.store.conn;
        let is_edit = change.role == Role::Edit;
        let moved = if is_edit {
            history::chosen_of(conn, change)?
        } else {
            Some(history::moved_by(conn, change.id)?)
        };
        let Some((taken_out, put_back)) = moved else {
            return Ok(runs.carried(&changes, own));
        };
        let stays = |owner| match owner {
            Owner::Before => true,
            // where the user chose a part, all of it is still in force
            Owner::Change(id) => is_edit || taken_out.binary_search(&id).is_err(),
        };
        let bytes = self.bytes(after)?;
        let mut state = Unsettled::carried(runs, &changes, count_lines(&bytes), stays);
        // what came with an edit that is put back is there after it; what went with one that is taken out
        // was there before it
        let back = put_back.iter().rev().map(|id| (*id, true));
        let out = taken_out.iter().map(|id| (*id, false));
        let mut in_force = None;
        for (member, after_it) in back.chain(out) {
            if state.is_settled() {
                break;
            }
            let Some(set) = self.set_beside(member, after_it, by) else {
                continue;
            };
            let in_force = match &mut in_force {
                Some(known) => known,
                none => none.insert(history::in_force(&self.ancestry, self.file, change.node)?),
            };
            let holds = |owner| match owner {
                Owner::Before => true,
                Owner::Change(id) => in_force.contains(&id) || self.is_restore(id),
            };
            let other = self.annotate(set)?;
            let text = self.bytes(self.text(set)?)?;
            state.settle(&other, &line_changes(&text, &bytes), holds);
        }
        Ok(state.close(own))
    }

    /// What a change did to the lines of the text before it, of which there are so many.
    fn hunks(
        &self,
        change: ChangeId,
        (before, lines): (StateText, usize),
        after: StateText,
    ) -> Result<Vec<diff::LineChange>> {
        if self.use_cache
            && let Some(hunks) = Hunks::read(&self.store.conn, change, lines)?
        {
            return Ok(hunks.changes);
        }
        let hunks = Hunks::between(&self.bytes(before)?, &self.bytes(after)?);
        if self.use_cache {
            let row = (change, hunks.encode());
            self.done.borrow_mut().hunks.push(row);
        }
        Ok(hunks.changes)
    }

    /// The set after an edit, or before it, as long as that came about before change `by`.
    fn set_beside(&self, edit: ChangeId, after_it: bool, by: usize) -> Option<SetHash> {
        let at = self.changes.binary_search_by_key(&edit, |(c, _)| c.id);
        let after = self.changes[at.ok()?].1;
        let set = if after_it { after } else { after.toggled(edit) };
        let older = self.made_by.get(&set).is_none_or(|made| *made < by);
        older.then_some(set)
    }

    fn is_restore(&self, id: ChangeId) -> bool {
        self.changes
            .binary_search_by_key(&id, |(c, _)| c.id)
            .is_ok_and(|at| self.changes[at].0.role == Role::Restore)
    }
}
