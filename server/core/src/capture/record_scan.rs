//! Records the result of a scan as nodes and changes, in one transaction: reconciles the findings
//! with the record, decides on each, applies the decisions and updates the root.

use super::calls::Observation;
use super::decision::{Adopted, Decision, Postponed, Withdrawal};
use super::reconcile::{Reconciliation, ScanBasis};
use super::renames::follow_renames;
use super::snapshot::Scanned;
use super::transition::Transition;
use super::visibility::Visibility;
use super::write_txn::{ScanContext, WriteTxn};
use crate::error::Result;
use crate::history;
use crate::model::{Coverage, CoverageItem, DirChange, Image, Kind, NodeId, Reason, RelPath};
use crate::store::SealedPack;
use crate::store::tables::root::scan::{self, NewScan, RootBefore, UnfinishedScan};
use crate::store::tables::{change, file};
use crate::worktree::directories::{NotedDirs, joined};
use crate::worktree::disk::{NO_STAT, Root, Stat};
use crate::worktree::file_state::{self, FileState, FileStates, Observed};
use crate::worktree::ignore_rules::{Excludes, is_editor_file};
use crate::worktree::ignored_paths::{IgnoredChange, IgnoredNow};
use crate::worktree::past_times;
use crate::worktree::pending_saves;
use crate::worktree::scan::{DirTimes, Found, Materialized};

/// The columns of a root after this scan.
struct RootAfter<'a> {
    partial: bool,
    targeted: bool,
    unfinished: UnfinishedScan,
    coverage: &'a Coverage,
    excludes: &'a Excludes,
    bare_dirs: Vec<u8>,
    index: Option<String>,
}

/// Decisions that take effect once all paths are decided on.
#[derive(Default)]
struct ToRecord {
    transitions: Vec<Transition>,
    adopted: Vec<Adopted>,
}

impl WriteTxn<'_> {
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
            noted_before,
            targeted,
            index,
        } = scanned;
        let (here, partial) = (self.here.root, findings.partial);
        self.store_collected(findings.pack.as_ref(), &findings.materialized)?;
        let before = scan::before(self.conn, here)?;
        // another process may have recorded them since this scan began
        let noted_before = noted_before.and(scan::noted_dirs(self.conn, here)?);
        // a path read by name is not in the dir cache of the last full walk
        let observed_by = Observed::by(targeted);
        let basis = ScanBasis {
            known: &known,
            excludes: &excludes,
            since,
            scanned_before: before.scanned.is_some(),
        };
        let reconciliation = Reconciliation::new(self, &basis, &findings.found, context)?;
        let changed = (noted_before.as_ref(), &findings.noted_dirs);
        let mut coverage = findings.coverage;
        self.note_directories(changed, reconciliation.visibility(), &mut coverage)?;
        let decisions = reconciliation.decisions(findings.found, observed_by)?;
        let to_record = self.apply(decisions, &known, &mut excludes, observed_by)?;
        // adopted files and finished waits make no node
        let has_adopted_or_saved = !to_record.adopted.is_empty() || !findings.saved.is_empty();
        self.end_waits(&findings.saved)?;
        let generation = scan::next_generation(self.conn, here)?;
        self.update_stats(&findings.stat_updates, findings.dir_times.as_ref(), &known)?;
        coverage = with_gaps_of(coverage, context);
        let mut of_root = coverage.clone();
        of_root.retain_dirs(|_| false);
        self.take_ignored(findings.ignored_now, context, &mut coverage)?;
        if !partial && !matches!(context.observation, Observation::Between) {
            note_removed_vcs(self.root, changed, &mut coverage);
        }
        let pending = coverage.noted.clone().unwrap_or_default();
        let is_start = self.head()?.is_none();
        let node = if is_start {
            Some(self.node(Kind::Manual, None, None, None, Some("start"), &coverage)?)
        } else {
            let own = own_gaps(&before, coverage);
            self.record_with_gaps(&to_record.transitions, context, &own, generation)?
        };
        self.adopt_all(to_record.adopted, is_start, generation, observed_by)?;
        if !partial && !targeted {
            let unvisited = &findings.unvisited;
            file_state::record_walk(self.conn, here, scan_generation, unvisited, generation)?;
            self.dir_cache_bytes.replace(Some(findings.dir_cache_bytes));
        }
        if !partial {
            let pending = node.map_or(pending, |_| Vec::new());
            self.keep_noted(noted_before.as_ref(), findings.noted_dirs, pending)?;
        }
        crate::fault::point("found taken in");
        let after = RootAfter {
            partial,
            targeted,
            unfinished: unfinished(partial, context),
            coverage: &of_root,
            excludes: &excludes,
            bare_dirs: findings.bare_dirs,
            index,
        };
        if has_adopted_or_saved || before.differs_from(after.unfinished, &of_root) {
            self.notify.set(true);
        }
        self.update_root(after)?;
        Ok(node)
    }

    /// Ends the waits for saves that the scan found on disk.
    fn end_waits(&self, saved: &[i64]) -> Result<()> {
        saved
            .iter()
            .try_for_each(|save_id| pending_saves::saved(self.conn, *save_id))
    }

    /// Notes the changes of directories since the last scan, and those of their list.
    fn note_directories(
        &self,
        changed: (Option<&NotedDirs>, &NotedDirs),
        visibility: &Visibility<'_>,
        coverage: &mut Coverage,
    ) -> Result<()> {
        coverage.directories = self.dir_changes(changed, visibility)?;
        coverage.set_noted(list_changes(changed, visibility));
        Ok(())
    }

    /// Keeps the list of noted directories, with its changes that are in no checkpoint.
    fn keep_noted(
        &self,
        before: Option<&NotedDirs>,
        mut now: NotedDirs,
        pending: Vec<DirChange>,
    ) -> Result<()> {
        now.pending = pending;
        now.head = self.head()?;
        if before == Some(&now) {
            return Ok(());
        }
        scan::set_noted_dirs(self.conn, self.here.root, &now)
    }

    /// Returns the changes of directories since the last scan. One that only came into sight is none.
    fn dir_changes(
        &self,
        (before, now): (Option<&NotedDirs>, &NotedDirs),
        visibility: &Visibility<'_>,
    ) -> Result<Vec<DirChange>> {
        let Some(before) = before else {
            return Ok(Vec::new());
        };
        let mut failed = None;
        let was_there = |dir: &RelPath| {
            self.was_dir(before, dir).unwrap_or_else(|error| {
                failed = Some(error);
                true
            })
        };
        let mut changes = before.changes_to(now, was_there, |dir| self.root.dir_mode(dir));
        changes.retain(|c| c.before.is_some() || !visibility.dir_was_out_of_sight(&c.path));
        failed.map_or(Ok(changes), Err)
    }

    /// True if a directory was there at the last scan: it was noted, a file is recorded in it, or was until then. No time is
    /// compared, since clocks may be wrong.
    fn was_dir(&self, noted: &NotedDirs, dir: &RelPath) -> Result<bool> {
        let root = self.here.root;
        if noted.mode(dir).is_some() || file_state::count_below(self.conn, root, dir)? > 0 {
            return Ok(true);
        }
        let gone = file::gone(self.conn, root)?.into_iter();
        for (_, file) in gone.filter(|(path, _)| path.within(dir.bytes())) {
            if change::newest_node(self.conn, file)? > noted.head {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Notes the ignored paths that a call removed or changed, and keeps those that are there for the next scan.
    fn take_ignored(
        &self,
        now: IgnoredNow,
        context: &ScanContext,
        coverage: &mut Coverage,
    ) -> Result<()> {
        if !matches!(context.observation, Observation::Between) {
            self.note_ignored(&now, coverage)?;
        }
        if let Some(paths) = now.paths {
            self.ignored_paths.replace(Some(paths));
        }
        Ok(())
    }

    /// Notes ignored paths that are gone or changed, unless they are recorded.
    fn note_ignored(&self, now: &IgnoredNow, coverage: &mut Coverage) -> Result<()> {
        for (ignored, change) in &now.changes {
            if !is_editor_file(ignored.path.bytes())
                && file_state::row(self.conn, self.here.root, &ignored.path)?.is_none()
            {
                coverage.note(&ignored.shown(), Reason::Ignored, change.name());
            }
        }
        Ok(())
    }

    /// Stores the contents that the scan collected in a pack or copied from git.
    fn store_collected(
        &self,
        pack: Option<&SealedPack>,
        materialized: &[Materialized],
    ) -> Result<()> {
        if let Some(pack) = pack {
            pack.insert(self.conn)?;
        }
        for materialized in materialized {
            self.store_materialized(materialized)?;
        }
        Ok(())
    }

    /// Copies the content that git had of a file to the store, unless it was copied already or the
    /// file changed.
    fn store_materialized(&self, materialized: &Materialized) -> Result<()> {
        if let Some(bytes) = &materialized.bytes {
            crate::store::put(self.conn, self.dir, bytes, None)?;
        }
        file_state::set_materialized(
            self.conn,
            &materialized.path,
            &materialized.backed,
            &materialized.own,
        )
    }

    /// Stores the content of a found file. `like` is a content that it probably resembles.
    pub(super) fn store_found(&self, found: &Found, like: &Image) -> Result<bool> {
        self.store_bytes(&found.path, found.image, found.bytes.as_deref(), Some(like))
    }

    /// Applies decisions, and returns those that wait for the node and generation of this scan.
    fn apply(
        &self,
        decisions: Vec<Decision>,
        known: &FileStates,
        excludes: &mut Excludes,
        observed_by: Observed,
    ) -> Result<ToRecord> {
        let mut to_record = ToRecord::default();
        for decision in decisions {
            match decision {
                Decision::Postpone(postponed) => self.postpone(&postponed, excludes)?,
                Decision::Adopt(adopted) => to_record.adopted.push(adopted),
                Decision::Record(transition) => to_record.transitions.push(*transition),
                Decision::Withdraw(withdrawal) => {
                    let transition = self.withdraw(&withdrawal, observed_by)?;
                    to_record.transitions.extend(transition);
                }
            }
        }
        follow_renames(&mut to_record.transitions, known);
        Ok(to_record)
    }

    /// Marks a path for the next scan.
    fn postpone(&self, postponed: &Postponed, excludes: &mut Excludes) -> Result<()> {
        if let Some(image) = postponed.applied_rules {
            excludes.note(&postponed.path, image.content());
        }
        file_state::mark_unverified(self.conn, self.here.root, &postponed.path)
    }

    /// Records that an outcome was never saved. Returns the transition to the text written since.
    fn withdraw(
        &self,
        withdrawal: &Withdrawal,
        observed_by: Observed,
    ) -> Result<Option<Transition>> {
        let (_, on_disk) = self.withdraw_outcome(&withdrawal.row, &withdrawal.save, None)?;
        Ok(withdrawal.written.as_ref().map(|written| {
            Transition::new(
                &withdrawal.save.path,
                Some(&on_disk),
                (written.image, written.stat),
                written.attribution,
                0,
                observed_by,
            )
        }))
    }

    /// Updates the stats of rows that have not changed since the scan, and the times of a run's directories.
    fn update_stats(
        &self,
        stat_updates: &[(RelPath, Stat)],
        dir_times: Option<&DirTimes>,
        known: &FileStates,
    ) -> Result<()> {
        if let Some(times) = dir_times {
            past_times::record_dirs(self.conn, self.here.root, times)?;
        }
        for (path, stat) in stat_updates {
            let generation_then = known.get(path).map_or(0, |k| k.generation);
            file_state::update_stat(self.conn, self.here.root, path, generation_then, stat)?;
        }
        Ok(())
    }

    /// Records transitions as nodes. New gaps alone make a node, too.
    fn record_with_gaps(
        &self,
        transitions: &[Transition],
        context: &ScanContext,
        coverage: &Coverage,
        generation: i64,
    ) -> Result<Option<NodeId>> {
        let has_new_gaps = has_reportable_gaps(coverage)
            && !(transitions.is_empty()
                && coverage.directories.is_empty()
                && self.is_already_reported(context, coverage)?);
        self.record(transitions, context, coverage, has_new_gaps, generation)
    }

    /// Adds the rows of adopted files. An adopted file gets its own identity: the deletion of an
    /// earlier file at the path was recorded, and this creation was not.
    fn adopt_all(
        &self,
        adopted: Vec<Adopted>,
        is_start: bool,
        generation: i64,
        observed_by: Observed,
    ) -> Result<()> {
        // before the first full scan is done, the start has every file that the scan finds
        let since = if adopted.is_empty() || is_start {
            None
        } else {
            self.unshared_head()?
        };
        for adopted in adopted {
            let row = FileState {
                image: adopted.image,
                file: None,
                since,
                generation,
                stat: adopted.stat.unwrap_or(NO_STAT),
            };
            file_state::put(self.conn, self.here.root, &adopted.path, &row, observed_by)?;
        }
        Ok(())
    }

    fn update_root(&self, after: RootAfter<'_>) -> Result<()> {
        let is_finished = !after.partial;
        let new = NewScan {
            is_finished,
            unfinished: after.unfinished,
            coverage: after.coverage,
            // a targeted scan did not walk the tree with the current rules
            excludes: (is_finished && !after.targeted).then_some(after.excludes),
            bare_dirs: is_finished.then_some(after.bare_dirs),
            // after a partial scan, the paths not read may have objects that git no longer has
            git_index: after
                .index
                .map(|index| if is_finished { index } else { String::new() }),
        };
        scan::record(self.conn, self.here.root, &new)
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
}

impl RootBefore {
    /// True if a scan changes what the root reports besides its history.
    fn differs_from(&self, unfinished: UnfinishedScan, coverage: &Coverage) -> bool {
        let reported_before = serde_json::from_str(&self.coverage).ok();
        unfinished != self.unfinished
            || !reported_before.is_some_and(|reported| same_gaps(&reported, coverage))
    }
}

/// Returns the author of what a scan did not finish.
fn unfinished(partial: bool, context: &ScanContext) -> UnfinishedScan {
    if partial {
        late_author(context)
    } else {
        UnfinishedScan::No
    }
}

/// Returns the coverage of a scan without the gaps that were the same at the last scan: no step has them, unless it changed
/// the file.
fn own_gaps(before: &RootBefore, mut coverage: Coverage) -> Coverage {
    let reported: Option<Coverage> = serde_json::from_str(&before.coverage).ok();
    let is_standing = |item: &CoverageItem| {
        !matches!(item.detail.as_str(), "changed" | "named" | "removed")
            && item.reason.is_lasting()
            && reported.as_ref().is_some_and(|reported| {
                let mut all = reported.items.iter();
                all.any(|old| old.path == item.path && old.reason == item.reason)
            })
    };
    coverage.items.retain(|item| !is_standing(item));
    coverage
}

/// Returns the coverage of a scan with the gaps that its context adds.
fn with_gaps_of(mut coverage: Coverage, context: &ScanContext) -> Coverage {
    coverage
        .items
        .extend(context.coverage.items.iter().cloned());
    coverage
}

/// Attribution for changes that a partial scan did not reach.
fn late_author(context: &ScanContext) -> UnfinishedScan {
    match context.observation {
        Observation::AtEndOf(writer) | Observation::Interrupted(writer) => {
            UnfinishedScan::By(writer.session)
        }
        Observation::Unreported(session) | Observation::Late(Some(session)) => {
            UnfinishedScan::By(session)
        }
        Observation::Between | Observation::Late(None) => UnfinishedScan::ByAnyone,
    }
}

/// Returns the changes of the list of noted directories since the last checkpoint. One that only came into sight is none.
fn list_changes(
    (before, now): (Option<&NotedDirs>, &NotedDirs),
    visibility: &Visibility<'_>,
) -> Vec<DirChange> {
    let Some(before) = before else {
        return Vec::new();
    };
    let mut found = before.differences_to(now);
    found.retain(|c| c.before.is_some() || !visibility.dir_was_out_of_sight(&c.path));
    joined(before.pending.iter().cloned().chain(found))
}

/// Notes the entries of version control that are gone since the last scan. Nothing brings them back.
fn note_removed_vcs(
    root: &Root,
    (before, now): (Option<&NotedDirs>, &NotedDirs),
    coverage: &mut Coverage,
) {
    for entry in before.iter().flat_map(|before| &before.vcs) {
        if now.vcs.binary_search(entry).is_err() && !root.has_entry(entry) {
            coverage.note(
                entry.bytes(),
                Reason::VersionControl,
                IgnoredChange::Removed.name(),
            );
        }
    }
}

/// True if both leave out the same paths. The count of new files is ignored, since it differs from
/// scan to scan.
fn same_gaps(a: &Coverage, b: &Coverage) -> bool {
    (a.ignored, a.pending, &a.items) == (b.ignored, b.pending, &b.items)
}

/// True if an ignored path is gone, or is a file that changed, or a small directory with such a file. Entries of a cache change
/// all the time.
fn is_ignored_loss(item: &CoverageItem) -> bool {
    item.detail != IgnoredChange::Changed.name() || !item.path.ends_with(b"/")
}

/// True if a coverage names a gap that deserves a separate checkpoint.
fn has_reportable_gaps(coverage: &Coverage) -> bool {
    coverage.pending
        || !coverage.directories.is_empty()
        || coverage.items.iter().any(|i| {
            matches!(
                i.reason,
                Reason::Failed | Reason::Outside | Reason::Excluded
            ) || i.reason != Reason::Ignored && i.detail == "changed"
                || i.reason == Reason::VersionControl && i.detail == IgnoredChange::Removed.name()
                || i.detail == "named"
                || i.reason == Reason::Ignored && is_ignored_loss(i)
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capture::calls::Writer;
    use crate::model::{CallId, SessionId};

    fn with_gap(reason: Reason, detail: &str) -> Coverage {
        let mut coverage = Coverage::default();
        coverage.note(b"a", reason, detail);
        coverage
    }

    #[test]
    fn changes_that_a_partial_scan_did_not_reach_are_those_of_its_session() {
        let at = |observation| {
            late_author(&ScanContext {
                observation,
                ..ScanContext::between()
            })
        };
        let session = SessionId(4);
        let call = CallId(9);
        let by = UnfinishedScan::By(session);
        assert_eq!(at(Observation::AtEndOf(Writer { call, session })), by);
        assert_eq!(at(Observation::Interrupted(Writer { call, session })), by);
        assert_eq!(at(Observation::Unreported(session)), by);
        assert_eq!(at(Observation::Late(Some(session))), by);
        assert_eq!(at(Observation::Late(None)), UnfinishedScan::ByAnyone);
        assert_eq!(at(Observation::Between), UnfinishedScan::ByAnyone);
    }

    #[test]
    fn a_gap_makes_a_checkpoint_if_something_was_missed() {
        for reason in [Reason::Failed, Reason::Outside, Reason::Excluded] {
            assert!(has_reportable_gaps(&with_gap(reason, "")), "{reason:?}");
        }
        for reason in [Reason::TooLarge, Reason::Unreadable, Reason::Special] {
            assert!(!has_reportable_gaps(&with_gap(reason, "")), "{reason:?}");
            for detail in ["changed", "named"] {
                assert!(has_reportable_gaps(&with_gap(reason, detail)), "{reason:?}");
            }
        }
        let pending = Coverage {
            pending: true,
            ..Coverage::default()
        };
        assert!(has_reportable_gaps(&pending));
        assert!(!has_reportable_gaps(&Coverage::default()));
    }

    #[test]
    fn a_root_reports_something_new_if_its_gaps_or_its_pending_scan_differ() {
        let coverage = with_gap(Reason::TooLarge, "");
        let before = |coverage: &Coverage| RootBefore {
            scanned: Some(1),
            unfinished: UnfinishedScan::No,
            coverage: serde_json::to_string(coverage).expect("JSON"),
        };
        let captured_more = Coverage {
            captured: 8,
            ..coverage.clone()
        };
        assert!(!before(&coverage).differs_from(UnfinishedScan::No, &captured_more));
        assert!(before(&coverage).differs_from(UnfinishedScan::By(SessionId(4)), &coverage));
        assert!(before(&coverage).differs_from(UnfinishedScan::No, &Coverage::default()));
        let damaged = RootBefore {
            coverage: "{".into(),
            ..before(&coverage)
        };
        assert!(damaged.differs_from(UnfinishedScan::No, &coverage));
    }
}
