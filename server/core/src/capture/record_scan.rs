//! Records the result of a scan as nodes and changes, in one transaction. Paths whose row changed
//! since the scan are read again. Follows renames and attributes each change.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};

use rusqlite::{Connection, params};

use super::calls::{self, Attribution, Observation, Writer, Writers};
use super::renames::follow_renames;
use super::snapshot::Scanned;
use super::visibility::Visibility;
use crate::error::{Error, Result};
use crate::history::hunks;
use crate::history::{self, NewChange, NewNode};
use crate::model::Here;
use crate::model::{
    CallId, Certainty, ChangeId, Coverage, CoverageItem, FileId, FileVersion, GitHead, Image, Kind,
    NodeId, Origin, Placed, Reason, RelPath, SessionId, TurnId,
};
use crate::store::tables::buffer;
use crate::store::{self, Durable};
use crate::worktree::disk::NO_STAT;
use crate::worktree::disk::{DiskEntry, Root, Stat};
use crate::worktree::file_state;
use crate::worktree::file_state::FileState;
use crate::worktree::pending_saves::{self, Pending};
use crate::worktree::scan::{Findings, Found, Materialized};

/// Hunks are recorded eagerly for nodes with at most this many changes.
const MAX_EAGER_HUNKS: usize = 32;

/// A write transaction of a root, with everything that recording needs besides the findings.
pub(crate) struct WriteTxn<'a> {
    pub conn: &'a Connection,
    pub dir: &'a std::path::Path,
    pub root: &'a Root,
    pub here: Here,
    pub git: &'a GitHead,
    /// Files that wait for a save.
    pub pending: Pending,
    /// Directory cache of a full walk recorded in this transaction.
    pub dir_cache_bytes: &'a RefCell<Option<Vec<u8>>>,
    /// True if watchers of the store are to be notified of this transaction.
    pub notify: &'a Cell<bool>,
}

/// Context in which a scan is recorded.
#[derive(Clone, Debug)]
pub(crate) struct ScanContext {
    pub observation: Observation,
    /// Paths that calls of this session named without a later report.
    pub unreported: BTreeMap<RelPath, SessionId>,
    pub coverage: Coverage,
    /// Leave paths that an open edit call has reserved to that call.
    pub reserved_stay: bool,
}

impl ScanContext {
    pub(crate) fn between() -> Self {
        Self {
            observation: Observation::Between,
            unreported: BTreeMap::new(),
            coverage: Coverage::default(),
            reserved_stay: true,
        }
    }
}

/// The transition of one path, ready to be recorded.
pub(crate) struct Transition {
    pub file: Option<FileId>,
    pub before: FileVersion,
    pub after: FileVersion,
    pub stat: Option<Stat>,
    pub since: Option<NodeId>,
    pub attribution: Attribution,
    pub made_dirs: u32,
    pub observed_by: file_state::Observed,
}

impl WriteTxn<'_> {
    pub(crate) fn head(&self) -> Result<Option<NodeId>> {
        history::head(self.conn, self.here.branch)
    }

    /// Returns the head if it belongs to this branch alone. Otherwise adds a node, since files that
    /// become visible there concern no other branch.
    pub(crate) fn unshared_head(&self) -> Result<Option<NodeId>> {
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
        let label = Some("first captured");
        let none = Coverage::default();
        self.node(Kind::External, None, None, None, label, &none)
            .map(Some)
    }

    /// Returns the observation for a change found now. It is `Late` if an earlier scan did not
    /// finish, or if hooks could not record.
    pub(crate) fn observation(&self, default: Observation) -> Result<Observation> {
        let late: i64 = self
            .conn
            .prepare_cached("SELECT pending FROM root WHERE id = ?1")?
            .query_row([self.here.root], |r| r.get(0))?;
        Ok(match late {
            0 => default,
            session => Observation::Late((session > 0).then_some(SessionId(session))),
        })
    }

    /// True if the path still matches `image`, as far as its stat tells. A recorder may meanwhile
    /// have confirmed the recorded state; that confirmation would no longer hold.
    pub(crate) fn is_unchanged(&self, path: &RelPath, image: &Image, stat: Option<Stat>) -> bool {
        match (stat, self.root.stat(path)) {
            (Some(recorded), Some(now)) => recorded.is_that_of(&now),
            // an image whose stat proves nothing is read again anyway
            (None, Some(_)) => !image.is_absent(),
            (None, None) => image.is_absent(),
            (Some(_), None) => false,
        }
    }

    /// Stores the content of a found file. `like` is a content that it probably resembles.
    fn store_found(&self, found: &Found, like: Option<&Image>) -> Result<bool> {
        self.store_bytes(&found.path, found.image, found.bytes.as_deref(), like)
    }

    /// Stores the content of a disk entry.
    pub(crate) fn store_entry(
        &self,
        path: &RelPath,
        entry: &DiskEntry,
        like: &Image,
    ) -> Result<bool> {
        self.store_bytes(path, entry.image, entry.bytes.as_deref(), Some(like))
    }

    /// Stores a content. Returns `false` if its bytes were not read and the file no longer has
    /// them; the next scan finds the new state.
    fn store_bytes(
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
        // the content stored ahead is missing: rare, so read the file here although others wait
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

    /// Copies the content that git had of a file to the store, unless it was copied already or the
    /// file changed.
    fn store_materialized(&self, materialized: &Materialized) -> Result<()> {
        if let Some(bytes) = &materialized.bytes {
            store::put(self.conn, self.dir, bytes, None)?;
        }
        file_state::set_materialized(
            self.conn,
            &materialized.path,
            &materialized.backed,
            &materialized.own,
        )
    }

    /// Records a scan. Returns the new node, if any.
    pub(crate) fn record_scan(
        &self,
        scanned: Scanned,
        context: &ScanContext,
    ) -> Result<Option<NodeId>> {
        let Scanned {
            findings,
            known,
            mut excludes,
            since,
            generation: scan_generation,
            targeted,
            index,
        } = scanned;
        let Findings {
            found,
            materialized,
            stat_updates,
            unvisited,
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
        for materialized in &materialized {
            self.store_materialized(materialized)?;
        }
        let (scanned_before, pending_before, coverage_before): (Option<i64>, i64, String) = self
            .conn
            .prepare_cached("SELECT scanned, pending, coverage FROM root WHERE id = ?1")?
            .query_row([self.here.root], |r| Ok((r.get(0)?, r.get(1)?, r.get(2)?)))?;
        let overall = self.observation(context.observation)?;
        let writers = Writers::since(self.conn, self.here.root, since)?;
        // a path read by name is not in the dir cache of the last full walk
        let observed_by = if targeted {
            file_state::Observed::ByName
        } else {
            file_state::Observed::ByWalk
        };
        let mut steps = Vec::new();
        let mut adopted = Vec::new();
        let visibility = Visibility::new(self, &known, &excludes, &found)?;
        // the first scan looks up no rows path by path
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
            let scanned_row = known.get(&found.path);
            // only the first scan trusts a git object as it is
            let late_git_object =
                found.image.object().is_some() && (row.is_some() || scanned_before.is_some());
            let recorded_since =
                row.as_ref().map(|r| r.generation) != scanned_row.map(|k| k.generation);
            let changed_since = scanned_before.is_some()
                && !self.is_unchanged(&found.path, &found.image, found.stat);
            if late_git_object || recorded_since || changed_since {
                // the scanned state is outdated
                let record = row.as_ref().map_or(Image::Absent, |r| r.image);
                let mut now = self.root.reread_entry(&found.path, &record)?;
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
            if reserved.is_some() && context.reserved_stay {
                if found.path.split().1 == crate::worktree::ignore_rules::FILE {
                    // not recorded yet, but this scan applied its rules
                    if self.store_found(&found, Some(&before))? {
                        excludes.note(&found.path, found.image.content());
                    }
                }
                file_state::mark_unverified(self.conn, self.here.root, &found.path)?;
                continue;
            }
            if !self.store_found(&found, Some(&before))? {
                file_state::mark_unverified(self.conn, self.here.root, &found.path)?;
                continue;
            }
            let revealed = row
                .as_ref()
                .filter(|row| row.is_revealed(found.image, found.stat.as_ref()));
            let out_of_sight =
                || scanned_before.is_none() || visibility.was_out_of_sight(&found.path);
            if revealed.is_some_and(|row| row.file.is_none()) || row.is_none() && out_of_sight() {
                adopted.push(found);
                continue;
            }
            let made_dirs = if row.is_none() {
                visibility.made_dirs(&found.path)?
            } else {
                0
            };
            let attribution = match (reserved, context.unreported.get(&found.path)) {
                // only the size limit was raised
                _ if revealed.is_some() => Attribution::USER,
                (Some(by), _) => by_open_edit(by),
                (None, Some(session)) => writers.attribute(Observation::Unreported(*session)),
                (None, None) => writers.attribute(overall),
            };
            let waiting = row.as_ref().zip(self.pending.get(&found.path));
            if let Some((known, p)) = waiting.filter(|(known, p)| p.wanted == known.image)
                && (attribution.origin.session.is_some()
                    || self.is_based_on_disk(p, found.image)?)
            {
                // an agent, or a user who undid the outcome, started from the text on disk
                let (_, on_disk) = self.withdraw_outcome(known, p, None)?;
                if found.image != p.disk {
                    steps.push(step(
                        found,
                        Some(on_disk),
                        attribution,
                        made_dirs,
                        observed_by,
                    ));
                }
                continue;
            }
            steps.push(step(found, row, attribution, made_dirs, observed_by));
        }
        // adopted files and finished waits make no node
        let has_adopted_or_saved = !adopted.is_empty() || !saved.is_empty();
        for save_id in saved {
            pending_saves::saved(self.conn, save_id)?;
        }
        follow_renames(&mut steps, &known);
        let generation = file_state::next_generation(self.conn, self.here.root)?;
        for (path, stat) in &stat_updates {
            let generation_then = known.get(path).map_or(0, |k| k.generation);
            file_state::update_stat(self.conn, self.here.root, path, generation_then, stat)?;
        }
        let mut full_coverage = coverage;
        full_coverage
            .items
            .extend(context.coverage.items.iter().cloned());
        let baseline = self.head()?.is_none();
        let node = if baseline {
            Some(self.node(
                Kind::Manual,
                None,
                None,
                None,
                Some("start"),
                &full_coverage,
            )?)
        } else {
            let has_new_gaps = has_reportable_gaps(&full_coverage)
                && !(steps.is_empty() && self.is_already_reported(context, &full_coverage)?);
            self.record(&steps, context, &full_coverage, has_new_gaps, generation)?
        };
        let since_node = if adopted.is_empty() || baseline {
            None
        } else {
            self.unshared_head()?
        };
        for found in adopted {
            // Before the first full scan is done, the start has every file that the scan finds. An
            // adopted file gets its own identity: the deletion of an earlier file at the path was
            // recorded, and this creation was not.
            let row = FileState {
                image: found.image,
                file: None,
                since: since_node,
                generation,
                stat: found.stat.unwrap_or(NO_STAT),
            };
            file_state::put(self.conn, self.here.root, &found.path, &row, observed_by)?;
        }
        if !partial && !targeted {
            file_state::record_walk(
                self.conn,
                self.here.root,
                scan_generation,
                &unvisited,
                generation,
            )?;
            self.dir_cache_bytes.replace(Some(dir_cache_bytes));
        }
        crate::fault::point("found taken in");
        let done = (!partial).then(store::now);
        let pending = i64::from(partial) * late_author(context);
        let reported_before = serde_json::from_str(&coverage_before).ok();
        if has_adopted_or_saved
            || pending != pending_before
            || !reported_before.is_some_and(|reported| same_gaps(&reported, &full_coverage))
        {
            self.notify.set(true);
        }
        self.conn.execute(
            "UPDATE root SET scanned = COALESCE(?2, scanned), pending = ?3, coverage = ?4,
               excludes = COALESCE(?5, excludes),
               bare_dirs = COALESCE(?6, bare_dirs), git_index = COALESCE(?7, git_index) WHERE id = ?1",
            params![
                self.here.root,
                done,
                pending,
                serde_json::to_string(&full_coverage).unwrap_or_default(),
                // a targeted scan did not walk the tree with the current rules
                (!partial && !targeted).then(|| serde_json::to_string(&excludes).unwrap_or_default()),
                (!partial).then_some(bare_dirs),
                // after a partial scan, the paths not read may have objects that git no longer has
                index.map(|index| if partial { String::new() } else { index })
            ],
        )?;
        Ok(node)
    }

    /// Records the gaps that hooks left behind as a node of their own.
    pub(crate) fn record_gaps(&self) -> Result<Option<store::gaps::TakenGaps>> {
        let Some(gaps) = store::gaps::take(self.conn, self.dir)? else {
            return Ok(None);
        };
        let mut coverage = Coverage::default();
        for detail in &gaps.gaps {
            // gaps have no path that tells them apart
            if coverage.items.iter().all(|item| item.detail != *detail) {
                coverage.items.push(CoverageItem {
                    path: b".".to_vec(),
                    reason: Reason::Failed,
                    detail: detail.clone(),
                });
            }
        }
        if !coverage.items.is_empty() {
            let label = Some("not recorded");
            self.node(Kind::External, None, None, None, label, &coverage)?;
            // the next scan finds the agent's changes of that time, with no known author
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
        self.notify.set(true);
        buffer::attach(self.conn, self.dir, self.here.root, node, kind)?;
        Ok(node)
    }

    /// True if the newest checkpoint reports the same coverage for a scan between calls.
    fn is_already_reported(&self, context: &ScanContext, coverage: &Coverage) -> Result<bool> {
        if !matches!(context.observation, Observation::Between) {
            return Ok(false);
        }
        let Some(head) = self.head()? else {
            return Ok(false);
        };
        Ok(same_gaps(
            &history::node(self.conn, head)?.coverage,
            coverage,
        ))
    }

    /// Records transitions as nodes and updates the file state rows. With `always`, a node is made
    /// even without transitions.
    pub(crate) fn record(
        &self,
        steps: &[Transition],
        context: &ScanContext,
        coverage: &Coverage,
        always: bool,
        generation: i64,
    ) -> Result<Option<NodeId>> {
        if steps.is_empty() && !always {
            return Ok(None);
        }
        // changes of the call that ends are its step; others come before it, in a node of their own
        let mut last = None;
        let owners: BTreeSet<Option<CallId>> =
            steps.iter().map(|s| s.attribution.origin.call).collect();
        let end_of = match context.observation {
            Observation::AtEndOf(writer) => Some(writer.call),
            _ => None,
        };
        let ordered = owners
            .iter()
            .copied()
            .filter(|o| end_of.is_none() || *o != end_of)
            .chain(
                end_of
                    .filter(|_| always || owners.contains(&end_of))
                    .map(Some),
            )
            .collect::<Vec<_>>();
        let ordered = if ordered.is_empty() {
            vec![None]
        } else {
            ordered
        };
        let last_index = ordered.len() - 1;
        for (index, owner) in ordered.into_iter().enumerate() {
            let own: Vec<&Transition> = steps
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
                let (session, turn) = self.common_session(&own)?;
                (Kind::External, session, turn, None)
            };
            let none = Coverage::default();
            let coverage = if index == last_index { coverage } else { &none };
            let made = self.node(kind, session, turn, call, None, coverage)?;
            // with more changes, line-by-line questions are unlikely to follow
            let eager = own.len() <= MAX_EAGER_HUNKS;
            for step in own {
                let change = self.record_step(made, head, step, generation)?;
                if eager {
                    hunks::note(self.conn, self.dir, change, &step.before, &step.after)?;
                }
            }
            last = Some(made);
        }
        Ok(last)
    }

    /// Returns the session and turn of changes by an unknown writer, if all of them point to one
    /// session.
    fn common_session(&self, own: &[&Transition]) -> Result<(Option<SessionId>, Option<TurnId>)> {
        let mut sessions = own.iter().map(|s| s.attribution.origin.session);
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
            (None, Some(at)) if from.is_none() => {
                match file_state::former_identity(self.conn, root, at)? {
                    Some(file) => file,
                    None => file_state::new_file(self.conn, None)?,
                }
            }
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
                pending_saves::done(self.conn, root, path)?;
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
                file_state::put(self.conn, root, &placed.path, &row, step.observed_by)?;
                file_state::note_identity(self.conn, root, file, None)?;
            }
            None => file_state::note_identity(self.conn, root, file, from.as_ref())?,
        }
        Ok(change)
    }
}

/// Attribution for changes that a partial scan did not reach: a session id, or -1 for none.
fn late_author(context: &ScanContext) -> i64 {
    match context.observation {
        Observation::AtEndOf(writer) => writer.session.0,
        Observation::Unreported(session) | Observation::Late(Some(session)) => session.0,
        Observation::Between | Observation::Late(None) => -1,
    }
}

/// Attribution for a change at a path reserved by an edit call that has not reported yet.
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

/// True if both leave out the same paths. The count of new files is ignored, since it differs from
/// scan to scan.
fn same_gaps(a: &Coverage, b: &Coverage) -> bool {
    (a.ignored, a.pending, &a.items) == (b.ignored, b.pending, &b.items)
}

fn has_reportable_gaps(coverage: &Coverage) -> bool {
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
    observed_by: file_state::Observed,
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
        observed_by,
    }
}

/// Attribution to this call.
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

/// Durability for commits before a tool runs: content would be lost with the machine otherwise.
pub(crate) const BEFORE: Durable = Durable::Power;
pub(crate) const AFTER: Durable = Durable::Process;
