//! From what a look at the disk found to nodes and changes: one transaction that looks again wherever
//! the known state moved meanwhile, follows renames, and asks who made it.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};

use rusqlite::{Connection, params};

use super::calls::{self, Attribution, Observation, Writer, Writers};
use super::renames::follow_renames;
use super::snapshot::Scanned;
use super::visibility::Visibility;
use crate::blame::hunks;
use crate::documents;
use crate::documents::pending::{self, Pending};
use crate::error::{Error, Result};
use crate::history::{self, Here, NewChange, NewNode};
use crate::model::{
    CallId, Certainty, ChangeId, Coverage, CoverageItem, FileId, FileVersion, GitHead, Image, Kind,
    NodeId, Origin, Placed, Reason, RelPath, SessionId, TurnId,
};
use crate::store::{self, Durable};
use crate::worktree::disk::{DiskEntry, Root, Stat};
use crate::worktree::file_state;
use crate::worktree::scan::{FileState, Findings, Found, Materialized};

/// Of so many changes of one node it is noted at once which lines they are of.
const NOTED: usize = 32;

/// What settling needs beside the findings.
pub(crate) struct WriteTxn<'a> {
    pub conn: &'a Connection,
    pub dir: &'a std::path::Path,
    pub root: &'a Root,
    pub here: Here,
    pub git: &'a GitHead,
    /// Files that wait for a save.
    pub pending: Pending,
    /// What a walk over the whole tree saw that is taken in here.
    pub dir_cache_bytes: &'a RefCell<Option<Vec<u8>>>,
    /// Whether anybody would want to hear of what is done here.
    pub news: &'a Cell<bool>,
}

/// The node that takes up what is found.
#[derive(Clone, Debug)]
pub(crate) struct ScanContext {
    pub situation: Observation,
    /// Paths that calls of this session named and never reported on.
    pub unreported: BTreeMap<RelPath, SessionId>,
    pub coverage: Coverage,
    /// Leave paths that an open edit call has reserved to that call.
    pub reserved_stay: bool,
}

impl ScanContext {
    pub(crate) fn between() -> Self {
        Self {
            situation: Observation::Between,
            unreported: BTreeMap::new(),
            coverage: Coverage::default(),
            reserved_stay: true,
        }
    }
}

/// One path's transition, ready to be recorded.
pub(crate) struct Transition {
    pub file: Option<FileId>,
    pub before: FileVersion,
    pub after: FileVersion,
    pub stat: Option<Stat>,
    pub since: Option<NodeId>,
    pub attribution: Attribution,
    pub made_dirs: u32,
    pub met: file_state::Observed,
}

impl WriteTxn<'_> {
    pub(crate) fn head(&self) -> Result<Option<NodeId>> {
        history::head(self.conn, self.here.branch)
    }

    /// The head, of this branch alone: what comes into sight at it concerns no other.
    pub(crate) fn own_head(&self) -> Result<Option<NodeId>> {
        let head = self.head()?;
        let shared = match head {
            Some(head) => {
                history::branch_of(self.conn, head)? != self.here.branch
                    || history::branches::fork_at(self.conn, head)?
            }
            None => false,
        };
        if !shared {
            return Ok(head);
        }
        let label = Some("came into sight");
        let none = Coverage::default();
        self.node(Kind::External, None, None, None, label, &none)
            .map(Some)
    }

    /// In which situation something is found: another than at first sight where a scan did not come to its
    /// end before, or hooks could not record.
    pub(crate) fn situation(&self, at_first_sight: Observation) -> Result<Observation> {
        let late: i64 = self
            .conn
            .prepare_cached("SELECT pending FROM root WHERE id = ?1")?
            .query_row([self.here.root], |r| r.get(0))?;
        Ok(match late {
            0 => at_first_sight,
            session => Observation::Late((session > 0).then_some(SessionId(session))),
        })
    }

    /// Whether what was seen at a path is there still, as far as its stat tells. A recorder may have seen since that
    /// all is as it is recorded, which would not hold any more.
    pub(crate) fn stands(&self, path: &RelPath, image: &Image, stat: Option<Stat>) -> bool {
        match (stat, self.root.stat(path)) {
            (Some(then), Some(now)) => then.is_that_of(&now),
            // one whose stat proves nothing is looked at again in any case
            (None, Some(_)) => !image.is_absent(),
            (None, None) => image.is_absent(),
            (Some(_), None) => false,
        }
    }

    /// Stores a found content; `like`: what it probably resembles.
    fn keep(&self, found: &Found, like: Option<&Image>) -> Result<bool> {
        self.keep_bytes(&found.path, found.image, found.bytes.as_deref(), like)
    }

    /// The same with what a look saw.
    pub(crate) fn keep_seen(&self, path: &RelPath, look: &DiskEntry, like: &Image) -> Result<bool> {
        self.keep_bytes(path, look.image, look.bytes.as_deref(), Some(like))
    }

    /// `false`: it was not held, and is not there any more as it was seen. The next look sees what is.
    fn keep_bytes(
        &self,
        path: &RelPath,
        image: Image,
        bytes: Option<&[u8]>,
        like: Option<&Image>,
    ) -> Result<bool> {
        let like = like.and_then(Image::content);
        if let Some(bytes) = bytes {
            store::put(self.conn, self.dir, bytes, like)?;
            return Ok(true);
        }
        let Image::File { content, size, .. } = image else {
            return Ok(true);
        };
        if !image.is_large() || store::has(self.conn, &content)? {
            return Ok(true);
        }
        // what was stored ahead is gone, or nobody did: rare, and others wait
        let Some(file) = self.root.open_file(path) else {
            return Ok(false);
        };
        let all = std::io::Read::take(file, size);
        match store::put_stream(self.conn, self.dir, all, like) {
            Ok((stored, _)) => Ok(stored == content),
            Err(Error::Io { .. }) => Ok(false),
            Err(e) => Err(e),
        }
    }

    /// What git had of a file is the store's from now on: unless somebody else saw to that, or the file is another.
    fn take_over(&self, owned: &Materialized) -> Result<()> {
        if let Some(bytes) = &owned.bytes {
            store::put(self.conn, self.dir, bytes, None)?;
        }
        file_state::set_materialized(self.conn, &owned.path, &owned.lent, &owned.own)
    }

    /// Takes in a scan. The node made, if any.
    pub(crate) fn take_in(&self, scanned: Scanned, cause: &ScanContext) -> Result<Option<NodeId>> {
        let Scanned {
            findings,
            known,
            mut excludes,
            since,
            generation: began,
            some,
            index,
        } = scanned;
        let Findings {
            found,
            owned,
            stat_updates,
            unmet,
            linked: _,
            saved,
            pack,
            coverage,
            partial,
            bare_dirs,
            dir_cache_bytes,
        } = findings;
        if let Some(pack) = &pack {
            pack.insert(self.conn)?;
        }
        for owned in &owned {
            self.take_over(owned)?;
        }
        let (scanned_before, pending_before, coverage_before): (Option<i64>, i64, String) = self
            .conn
            .prepare_cached("SELECT scanned, pending, coverage FROM root WHERE id = ?1")?
            .query_row([self.here.root], |r| Ok((r.get(0)?, r.get(1)?, r.get(2)?)))?;
        let overall = self.situation(cause.situation)?;
        let writers = Writers::since(self.conn, self.here.root, since)?;
        // the list of what the last walk saw has not what comes later
        let met = if some {
            file_state::Observed::ByName
        } else {
            file_state::Observed::ByWalk
        };
        let mut steps = Vec::new();
        let mut adopted = Vec::new();
        let look = Visibility::new(self, &known, &excludes, &found)?;
        // of a first look nothing is asked path by path
        let is_new = known.is_empty() && !file_state::any(self.conn, self.here.root)?;
        let any_reserved = calls::any_reserved(self.conn)?;
        for mut found in found {
            let row = if is_new {
                None
            } else {
                file_state::row(self.conn, self.here.root, &found.path)?
            };
            if row.as_ref().is_some_and(|row| row.image == found.image) {
                continue;
            }
            let row = match row {
                Some(row) if row.image.object().is_some() => {
                    file_state::get(self.conn, self.here.root, &found.path)?
                }
                row => row,
            };
            let then = known.get(&found.path);
            // what git has is taken as it is by a first look alone
            let lent_late =
                found.image.object().is_some() && (row.is_some() || scanned_before.is_some());
            let recorded_since = row.as_ref().map(|r| r.generation) != then.map(|k| k.generation);
            let changed_since =
                scanned_before.is_some() && !self.stands(&found.path, &found.image, found.stat);
            if lent_late || recorded_since || changed_since {
                // what was seen then says nothing now
                let record = row.as_ref().map_or(Image::Absent, |r| r.image);
                let mut now = self.root.look_over(&found.path, &record)?;
                self.pending.overlay(&found.path, record, &mut now);
                found = Found {
                    path: found.path,
                    image: now.image,
                    stat: now.stat,
                    bytes: now.bytes,
                };
            }
            let before = row.as_ref().map_or(Image::Absent, |r| r.image);
            if found.image == before {
                continue;
            }
            let reserved = if any_reserved {
                calls::reserved(self.conn, self.here.root, &found.path)?
            } else {
                None
            };
            if reserved.is_some() && cause.reserved_stay {
                if found.path.split().1 == crate::worktree::ignore_rules::FILE {
                    // not recorded yet, but this scan went by it
                    if self.keep(&found, Some(&before))? {
                        excludes.note(&found.path, found.image.content());
                    }
                }
                file_state::mark_unverified(self.conn, self.here.root, &found.path)?;
                continue;
            }
            if !self.keep(&found, Some(&before))? {
                file_state::mark_unverified(self.conn, self.here.root, &found.path)?;
                continue;
            }
            let revealed = row
                .as_ref()
                .filter(|row| row.is_revealed(found.image, found.stat.as_ref()));
            let out_of_sight = || scanned_before.is_none() || look.was_out_of_sight(&found.path);
            if revealed.is_some_and(|row| row.file.is_none()) || row.is_none() && out_of_sight() {
                adopted.push(found);
                continue;
            }
            let made_dirs = if row.is_none() {
                look.made_dirs(&found.path)?
            } else {
                0
            };
            let attribution = match (reserved, cause.unreported.get(&found.path)) {
                // only the limit was raised
                _ if revealed.is_some() => Attribution::USER,
                (Some(by), _) => by_open_edit(by),
                (None, Some(session)) => writers.attribute(Observation::Unreported(*session)),
                (None, None) => writers.attribute(overall),
            };
            let waits = row.as_ref().zip(self.pending.get(&found.path));
            if let Some((known, p)) = waits.filter(|(known, p)| p.wanted == known.image)
                && (attribution.origin.session.is_some()
                    || self.goes_on_from_disk(p, found.image)?)
            {
                // an agent, and who took the outcome back, began with what the disk held
                let (_, began) = self.take_back(known, p, None)?;
                if found.image != p.disk {
                    steps.push(step(found, Some(began), attribution, made_dirs, met));
                }
                continue;
            }
            steps.push(step(found, row, attribution, made_dirs, met));
        }
        // files that come into sight, and waits that end, make no node
        let is_seen = !adopted.is_empty() || !saved.is_empty();
        for waited in saved {
            pending::saved(self.conn, waited)?;
        }
        follow_renames(&mut steps, &known);
        let generation = file_state::next_generation(self.conn, self.here.root)?;
        for (path, stat) in &stat_updates {
            let then = known.get(path).map_or(0, |k| k.generation);
            file_state::update_stat(self.conn, self.here.root, path, then, stat)?;
        }
        let mut whole = coverage;
        whole.items.extend(cause.coverage.items.iter().cloned());
        let baseline = self.head()?.is_none();
        let node = if baseline {
            Some(self.node(Kind::Manual, None, None, None, Some("start"), &whole)?)
        } else {
            let news = has_news(&whole) && !(steps.is_empty() && self.was_said(cause, &whole)?);
            self.record(&steps, cause, &whole, news, generation)?
        };
        let since_node = if adopted.is_empty() || baseline {
            None
        } else {
            self.own_head()?
        };
        for found in adopted {
            // before the first whole scan is done, the start's state is what the scan finds
            // a file of its own: what stood here once was seen to go, and this was not seen to come
            let row = FileState {
                image: found.image,
                file: None,
                since: since_node,
                generation,
                stat: found.stat.unwrap_or(NO_STAT),
            };
            file_state::put(self.conn, self.here.root, &found.path, &row, met)?;
        }
        if !partial && !some {
            file_state::walked(self.conn, self.here.root, began, &unmet, generation)?;
            self.dir_cache_bytes.replace(Some(dir_cache_bytes));
        }
        crate::fault::point("found taken in");
        let done = (!partial).then(store::now);
        let pending = i64::from(partial) * pending_for(cause);
        let said_before = serde_json::from_str(&coverage_before).ok();
        if is_seen
            || pending != pending_before
            || !said_before.is_some_and(|said| is_same(&said, &whole))
        {
            self.news.set(true);
        }
        self.conn.execute(
            "UPDATE root SET scanned = COALESCE(?2, scanned), pending = ?3, coverage = ?4,
               excludes = COALESCE(?5, excludes),
               bare_dirs = COALESCE(?6, bare_dirs), git_index = COALESCE(?7, git_index) WHERE id = ?1",
            params![
                self.here.root,
                done,
                pending,
                serde_json::to_string(&whole).unwrap_or_default(),
                // who looked at some of the tree has not walked it by the rules of now
                (!partial && !some).then(|| serde_json::to_string(&excludes).unwrap_or_default()),
                (!partial).then_some(bare_dirs),
                // what was not looked at may be what git has no more
                index.map(|index| if partial { String::new() } else { index })
            ],
        )?;
        Ok(node)
    }

    /// Takes in what hooks could not record, as a node of its own.
    pub(crate) fn take_in_gaps(&self) -> Result<Option<store::gaps::TakenGaps>> {
        let Some(gaps) = store::gaps::take(self.conn, self.dir)? else {
            return Ok(None);
        };
        let mut coverage = Coverage::default();
        for what in &gaps.gaps {
            // they have no path of their own to tell them apart by
            if coverage.items.iter().all(|item| item.detail != *what) {
                coverage.items.push(CoverageItem {
                    path: b".".to_vec(),
                    reason: Reason::Failed,
                    detail: what.clone(),
                });
            }
        }
        if !coverage.items.is_empty() {
            let label = Some("not recorded");
            self.node(Kind::External, None, None, None, label, &coverage)?;
            // what an agent did meanwhile is found by the next scan, and nobody knows whose it is
            self.conn
                .execute("UPDATE root SET pending = -1 WHERE pending = 0", [])?;
        }
        Ok(Some(gaps))
    }

    pub(crate) fn node(
        &self,
        kind: Kind,
        session: Option<SessionId>,
        turn: Option<TurnId>,
        call: Option<CallId>,
        label: Option<&str>,
        coverage: &Coverage,
    ) -> Result<NodeId> {
        let new = NewNode {
            kind,
            session,
            turn,
            call,
            label,
            git: self.git,
            coverage,
        };
        let node = history::insert_node(self.conn, self.here, &new)?;
        self.news.set(true);
        documents::attach(self.conn, self.dir, self.here.root, node, kind)?;
        Ok(node)
    }

    /// Whether the newest checkpoint says just that of what a look between calls could not capture.
    fn was_said(&self, cause: &ScanContext, coverage: &Coverage) -> Result<bool> {
        if !matches!(cause.situation, Observation::Between) {
            return Ok(false);
        }
        let Some(head) = self.head()? else {
            return Ok(false);
        };
        Ok(is_same(&history::node(self.conn, head)?.coverage, coverage))
    }

    /// Records transitions as one node; the rows of what is known follow.
    pub(crate) fn record(
        &self,
        steps: &[Transition],
        cause: &ScanContext,
        coverage: &Coverage,
        news: bool,
        generation: i64,
    ) -> Result<Option<NodeId>> {
        if steps.is_empty() && !news {
            return Ok(None);
        }
        // changes of the call that ends are its step; others stand before it, in a node of their own
        let mut last = None;
        let owners: BTreeSet<Option<CallId>> =
            steps.iter().map(|s| s.attribution.origin.call).collect();
        let end_of = match cause.situation {
            Observation::AtEndOf(writer) => Some(writer.call),
            _ => None,
        };
        let ordered = owners
            .iter()
            .copied()
            .filter(|o| end_of.is_none() || *o != end_of)
            .chain(
                end_of
                    .filter(|_| news || owners.contains(&end_of))
                    .map(Some),
            )
            .collect::<Vec<_>>();
        let ordered = if ordered.is_empty() {
            vec![None]
        } else {
            ordered
        };
        let whole = ordered.len() - 1;
        for (at, owner) in ordered.into_iter().enumerate() {
            let mine: Vec<&Transition> = steps
                .iter()
                .filter(|s| s.attribution.origin.call == owner)
                .collect();
            let head = self.head()?;
            let (kind, session, turn, call) = if let Some(call) = owner {
                let (session, turn): (SessionId, Option<TurnId>) = self
                    .conn
                    .prepare_cached("SELECT session, turn FROM call WHERE id = ?1")?
                    .query_row([call], |r| Ok((r.get(0)?, r.get(1)?)))?;
                (Kind::Step, Some(session), turn, Some(call))
            } else {
                let (session, turn) = self.likely(&mine)?;
                (Kind::External, session, turn, None)
            };
            let none = Coverage::default();
            let coverage = if at == whole { coverage } else { &none };
            let made = self.node(kind, session, turn, call, None, coverage)?;
            // more at once is hardly what somebody is about to ask for, line by line
            let noted = mine.len() <= NOTED;
            for step in mine {
                let change = self.record_step(made, head, step, generation)?;
                if noted {
                    hunks::note(self.conn, self.dir, change, &step.before, &step.after)?;
                }
            }
            last = Some(made);
        }
        Ok(last)
    }

    /// Whose work finds of an unknown writer may be: the one session that all of them point to.
    fn likely(&self, mine: &[&Transition]) -> Result<(Option<SessionId>, Option<TurnId>)> {
        let mut sessions = mine.iter().map(|s| s.attribution.origin.session);
        let Some(Some(session)) = sessions.next() else {
            return Ok((None, None));
        };
        if sessions.any(|s| s != Some(session)) {
            return Ok((None, None));
        }
        Ok((Some(session), calls::turn(self.conn, session, None)?))
    }

    fn record_step(
        &self,
        node: NodeId,
        head: Option<NodeId>,
        step: &Transition,
        generation: i64,
    ) -> Result<ChangeId> {
        let root = self.here.root;
        let path = |state: &FileVersion| state.as_ref().map(|p| p.path.clone());
        let (from, to) = (path(&step.before), path(&step.after));
        let file = match (step.file, from.as_ref().or(to.as_ref())) {
            (Some(file), _) => file,
            (None, Some(at)) if from.is_none() => match file_state::gone(self.conn, root, at)? {
                Some(file) => file,
                None => file_state::new_file(self.conn, None)?,
            },
            (None, Some(at)) => file_state::identify(self.conn, at, step.since)?,
            (None, None) => file_state::new_file(self.conn, step.since)?,
        };
        let change = NewChange {
            node,
            file,
            before: &step.before,
            after: &step.after,
            origin: step.attribution.origin,
            provisional: step.attribution.provisional,
            made_dirs: step.made_dirs,
        };
        let change = history::insert_edit(self.conn, head, &change)?;
        for path in [&from, &to].into_iter().flatten() {
            if self.pending.get(path).is_some() {
                pending::done(self.conn, root, path)?;
            }
        }
        if from != to
            && let Some(from) = &from
        {
            file_state::remove(self.conn, root, from)?;
        }
        match &step.after {
            Some(placed) => {
                let row = FileState {
                    image: placed.image,
                    file: Some(file),
                    since: step.since,
                    generation,
                    stat: step.stat.unwrap_or(NO_STAT),
                };
                file_state::put(self.conn, root, &placed.path, &row, step.met)?;
                file_state::note_identity(self.conn, root, file, None)?;
            }
            None => file_state::note_identity(self.conn, root, file, from.as_ref())?,
        }
        Ok(change)
    }
}

/// To whom what a scan missed will be put down, if for sure to nobody else: a session, or -1.
fn pending_for(cause: &ScanContext) -> i64 {
    match cause.situation {
        Observation::AtEndOf(writer) => writer.session.0,
        Observation::Unreported(session) | Observation::Late(Some(session)) => session.0,
        Observation::Between | Observation::Late(None) => -1,
    }
}

/// A find at a path that an edit call has reserved and not reported on yet.
pub(crate) fn by_open_edit(by: Writer) -> Attribution {
    Attribution {
        provisional: true,
        ..by_call(
            by.session,
            by.call,
            Certainty::Uncertain,
            Certainty::Uncertain,
        )
    }
}

/// Whether nothing else was captured or left out; how much of it was new differs from look to look.
fn is_same(a: &Coverage, b: &Coverage) -> bool {
    (a.ignored, a.pending, &a.items) == (b.ignored, b.pending, &b.items)
}

fn has_news(coverage: &Coverage) -> bool {
    coverage.pending
        || coverage.items.iter().any(|i| {
            matches!(
                i.reason,
                Reason::Failed | Reason::Outside | Reason::Excluded
            ) || i.detail == "changed"
                || i.detail == "named"
        })
}

fn step(
    found: Found,
    row: Option<FileState>,
    attribution: Attribution,
    made_dirs: u32,
    met: file_state::Observed,
) -> Transition {
    let Found {
        path, image, stat, ..
    } = found;
    let placed = |image: Image| {
        (!image.is_absent()).then(|| Placed {
            path: path.clone(),
            image,
        })
    };
    Transition {
        file: row.as_ref().and_then(|r| r.file),
        since: row.as_ref().and_then(|r| r.since),
        before: placed(row.map_or(Image::Absent, |r| r.image)),
        after: placed(image),
        stat,
        attribution,
        made_dirs,
        met,
    }
}

/// A row that proves nothing: the path is read again at the next scan.
pub(crate) const NO_STAT: Stat = Stat {
    size: -1,
    mtime: 0,
    ctime: 0,
    btime: 0,
    dev: 0,
    inode: 0,
    mode: 0,
    racy: true,
    linked: false,
};

/// A change made for sure by this call.
pub(crate) fn by_call(
    session: SessionId,
    call: CallId,
    session_c: Certainty,
    step_c: Certainty,
) -> Attribution {
    Attribution {
        origin: Origin {
            session: Some(session),
            call: Some(call),
            session_certainty: session_c,
            step_certainty: step_c,
        },
        provisional: false,
    }
}

/// What a commit of this must survive: the death of the machine where content would be lost otherwise.
pub(crate) const BEFORE: Durable = Durable::Power;
pub(crate) const AFTER: Durable = Durable::Process;
