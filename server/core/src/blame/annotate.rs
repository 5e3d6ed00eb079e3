//! Line owners of a recorded state. Walks from state to state along the sets of edits in force,
//! starting at the nearest cached one. Owns the walk and the cache; `runs` carries owners from
//! state to state.
//!
//! A state is identified by its set of edits in force, and the change that first made the set
//! decides: an edit adds its lines, a restore brings lines back. So a state has the same owners on
//! every branch.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet, VecDeque};
use std::rc::Rc;

use rusqlite::Connection;

use super::runs::{LineOwners, Owner, Runs};
use crate::diff::{self, count_lines, line_changes};
use crate::error::Result;
use crate::history::hunks::Hunks;
use crate::history::{self, Ancestry, SetHash};
use crate::model::{Change, ChangeId, ContentId, FileId, FileVersion, Image, Role};
use crate::store::tables::{blame, hunks};
use crate::store::{ContentReader, Store};

/// At least every 64th state is cached, about 8 of them in all.
const MILESTONE_DISTANCE: usize = 64;
const MILESTONE_COUNT: usize = 8;
const RECENT: usize = 3;
/// Maximum number of runs held in memory.
const MAX_HELD_RUNS: usize = 1 << 20;

/// The text of a state. Only a file with a stored content has one.
#[derive(Clone, Copy)]
struct StateText {
    content: Option<ContentId>,
    /// True if the path existed, but its content was not stored.
    opaque: bool,
}

/// Annotates states of one file.
pub(super) struct Annotator<'s> {
    store: &'s Store,
    reader: RefCell<ContentReader<'s>>,
    /// The most recent texts.
    recent: RefCell<VecDeque<(ContentId, Rc<[u8]>)>>,
    ancestry: Ancestry<'s>,
    file: FileId,
    /// All changes of the file, oldest first, each with the set after it.
    changes: Vec<(Change, SetHash)>,
    /// Index of the change that made each set first.
    made_by: HashMap<SetHash, usize>,
    /// Indices of the changes that led to each content, oldest first.
    led_to: HashMap<ContentId, Vec<usize>>,
    cached: HashMap<SetHash, Vec<u8>>,
    use_cache: bool,
    done: RefCell<Annotated>,
}

#[derive(Default)]
struct Annotated {
    runs: HashMap<SetHash, Rc<Runs>>,
    held: usize,
    /// Rows to write to the cache.
    milestones: Vec<(SetHash, Vec<u8>)>,
    hunks: Vec<(ChangeId, Vec<u8>)>,
}

/// An update of the cache.
pub(super) struct CacheUpdate {
    file: FileId,
    rows: Vec<(SetHash, Vec<u8>)>,
    hunks: Vec<(ChangeId, Vec<u8>)>,
    stale: Vec<SetHash>,
}

impl CacheUpdate {
    pub(super) fn write(&self, store: &Store) {
        let write = |conn: &Connection| {
            for (set, row) in &self.rows {
                blame::put(conn, self.file, *set, row)?;
            }
            for set in &self.stale {
                blame::delete(conn, self.file, *set)?;
            }
            for (change, row) in &self.hunks {
                hunks::put(conn, *change, row)?;
            }
            Ok(())
        };
        // if the write is lost, it only costs time
        store.note(false, write).ok();
    }
}

/// Returns the cached owners of a state, if they belong to this content.
pub(super) fn cached(
    conn: &Connection,
    file: FileId,
    set: SetHash,
    content: ContentId,
    lines: usize,
) -> Result<Option<Runs>> {
    let row = blame::get(conn, file, set)?;
    Ok(row.and_then(|row| Runs::decode(&row, content, lines)))
}

impl<'s> Annotator<'s> {
    /// Without `use_cache`, everything is computed and nothing is written.
    pub(super) fn new(store: &'s Store, file: FileId, use_cache: bool) -> Result<Self> {
        let conn = &store.conn;
        let changes = history::changes_with_sets(conn, file)?;
        let mut made_by = HashMap::with_capacity(changes.len());
        for (at, (_, set)) in changes.iter().enumerate() {
            // the empty set existed before any change, even if a change led back to it
            if *set != SetHash::EMPTY {
                made_by.entry(*set).or_insert(at);
            }
        }
        let mut led_to: HashMap<ContentId, Vec<usize>> = HashMap::new();
        for (at, (change, _)) in changes.iter().enumerate() {
            if let Some(content) = change.after.as_ref().and_then(|p| p.image.content()) {
                led_to.entry(content).or_default().push(at);
            }
        }
        let mut cached = HashMap::new();
        if use_cache {
            cached.extend(blame::of_file(conn, file)?);
        }
        Ok(Self {
            store,
            reader: RefCell::new(ContentReader::new(conn, &store.dir)),
            recent: RefCell::default(),
            ancestry: Ancestry::new(conn),
            file,
            changes,
            made_by,
            led_to,
            cached,
            use_cache,
            done: RefCell::default(),
        })
    }

    /// Returns the owners of the lines of `text`, which is this content and the file's text with
    /// this set.
    pub(super) fn owners(&self, set: SetHash, content: ContentId, text: &[u8]) -> Result<Runs> {
        self.remember_text(content, &text.into());
        let runs = self.annotate(set)?;
        let state = self.bytes(self.text(set)?)?;
        if *state == *text {
            return Ok(Rc::unwrap_or_clone(runs));
        }
        // the state differs from its set: the newest change there owns the difference
        let newest = self.changes.iter().rev().find(|(_, s)| *s == set);
        let owner = newest.map_or(Owner::Before, |(c, _)| Owner::Change(c.id));
        Ok(runs.carried(&line_changes(&state, text), owner))
    }

    /// Returns the cache update for a query: the requested state and a few states on the way to it.
    /// The state of `head` stays.
    pub(super) fn cache_update(
        &self,
        query: (SetHash, ContentId, &Runs),
        head: SetHash,
    ) -> CacheUpdate {
        let (set, content, runs) = query;
        let milestones = (0..self.changes.len()).step_by(self.step());
        let kept: HashSet<SetHash> = milestones
            .map(|at| self.changes[at].1)
            .chain([set, head])
            .collect();
        let stale = self.cached.keys().filter(|set| !kept.contains(set));
        let mut done = self.done.borrow_mut();
        let mut rows = std::mem::take(&mut done.milestones);
        rows.push((set, runs.encode(content)));
        CacheUpdate {
            file: self.file,
            rows,
            hunks: std::mem::take(&mut done.hunks),
            stale: stale.copied().collect(),
        }
    }

    /// Distance between milestones. It doubles as the history doubles, so that old milestones stay
    /// in use.
    fn step(&self) -> usize {
        let wanted = (self.changes.len() / MILESTONE_COUNT).next_power_of_two();
        wanted.max(MILESTONE_DISTANCE)
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
        self.remember_text(id, &bytes);
        Ok(bytes)
    }

    fn remember_text(&self, id: ContentId, bytes: &Rc<[u8]>) {
        let mut recent = self.recent.borrow_mut();
        if recent.len() == RECENT {
            recent.pop_front();
        }
        recent.push_back((id, Rc::clone(bytes)));
    }

    fn annotate(&self, set: SetHash) -> Result<Rc<Runs>> {
        // go back to a state with known owners
        let mut path = Vec::new();
        let mut current = set;
        let (mut text, mut runs) = loop {
            if let Some(runs) = self.known(current)? {
                if path.is_empty() {
                    return Ok(runs);
                }
                break (self.text(current)?, runs);
            }
            let made_by = self.made_by.get(&current).copied();
            // no change leads to itself, except in a damaged store
            let is_older = |by: &usize| path.last().is_none_or(|last| by < last);
            if let Some(by) = made_by.filter(is_older) {
                path.push(by);
                current = self.set_before(by)?;
                continue;
            }
            let text = self.text(current)?;
            let runs = Runs::all(count_lines(&self.bytes(text)?), Owner::Before);
            break (text, Rc::new(runs));
        };
        // and forward again
        for by in path.into_iter().rev() {
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
        if done.held > MAX_HELD_RUNS {
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

    /// Returns the owners after one change.
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
            // the previous text is unknown, so new lines cannot be identified
            let lines = count_lines(&self.bytes(after)?);
            return Ok(Runs::all(lines, Owner::Before));
        }
        let changes = self.hunks(change.id, (before, runs.lines()), after)?;
        let conn = &self.store.conn;
        let is_edit = change.role == Role::Edit;
        let moved = if is_edit {
            history::partial_restore_of(conn, change)?
        } else {
            Some(history::moved_by(conn, change.id)?)
        };
        let Some((taken_out, put_back)) = moved else {
            return self.step_over_edit(by, runs, &changes);
        };
        let holds = |owner| match owner {
            Owner::Before => true,
            // if the user chose a part, all edits are still in force
            Owner::Change(id) => is_edit || taken_out.binary_search(&id).is_err(),
        };
        let bytes = self.bytes(after)?;
        let mut state = LineOwners::carried(runs, &changes, count_lines(&bytes), holds);
        // Lines of an edit that is put back exist after it; lines removed by an edit that is taken
        // out existed before it.
        let back = put_back.iter().rev().map(|id| (*id, true));
        let out = taken_out.iter().map(|id| (*id, false));
        let mut in_force = None;
        for (member, is_after) in back.chain(out) {
            if state.is_complete() {
                break;
            }
            let Some(set) = self.set_beside(member, is_after, by) else {
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
            state.inherit(&other, &line_changes(&text, &bytes), holds);
        }
        Ok(state.close(own))
    }

    /// Returns the owners after an edit. New lines are its own, unless the file is again as it had been: git took lines
    /// away and brought them back.
    fn step_over_edit(&self, by: usize, runs: &Runs, changes: &[diff::LineChange]) -> Result<Runs> {
        let own = Owner::Change(self.changes[by].0.id);
        let after = runs.carried(changes, own);
        if changes.iter().all(|change| change.new.is_empty()) {
            return Ok(after);
        }
        let Some(set) = self.returns_to(by)? else {
            return Ok(after);
        };
        let earlier = self.annotate(set)?;
        if earlier.lines() != after.lines() {
            return Ok(after);
        }
        let mut state = LineOwners::carried(runs, changes, after.lines(), |_| true);
        state.inherit(&earlier, &[], |_| true);
        Ok(state.close(own))
    }

    /// Returns the oldest set with the same path and image as after an edit, if all of its edits are still in force then.
    fn returns_to(&self, by: usize) -> Result<Option<SetHash>> {
        let change = &self.changes[by].0;
        let Some(Image::File { content, .. }) = change.after.as_ref().map(|p| p.image) else {
            return Ok(None);
        };
        let base = history::version(&self.store.conn, self.file, SetHash::EMPTY)?;
        if base.is_some_and(|base| base == change.after) {
            return Ok(Some(SetHash::EMPTY));
        }
        let same = self.led_to.get(&content).map_or(&[][..], Vec::as_slice);
        let older = same.iter().copied().take_while(|at| *at < by);
        let mut in_force = None;
        for at in older.filter(|at| self.changes[*at].0.after == change.after) {
            let (earlier, set) = &self.changes[at];
            if !self.ancestry.is_ancestor(earlier.node, change.node)? {
                continue;
            }
            let now = match &mut in_force {
                Some(now) => now,
                none => none.insert(history::in_force(&self.ancestry, self.file, change.node)?),
            };
            let then = history::in_force(&self.ancestry, self.file, earlier.node)?;
            if then.is_subset(now) && SetHash::of(&then) == *set {
                return Ok(Some(*set));
            }
        }
        Ok(None)
    }

    /// Returns the line changes of a change, for a previous text with `lines` lines.
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

    /// Returns the set after or before an edit, if it came about before change `by`.
    fn set_beside(&self, edit: ChangeId, is_after: bool, by: usize) -> Option<SetHash> {
        let at = self.changes.binary_search_by_key(&edit, |(c, _)| c.id);
        let after = self.changes[at.ok()?].1;
        let set = if is_after { after } else { after.toggled(edit) };
        let older = self.made_by.get(&set).is_none_or(|made| *made < by);
        older.then_some(set)
    }

    fn is_restore(&self, id: ChangeId) -> bool {
        self.changes
            .binary_search_by_key(&id, |(c, _)| c.id)
            .is_ok_and(|at| self.changes[at].0.role == Role::Restore)
    }
}
