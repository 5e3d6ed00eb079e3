//! The plan: the effect of a request on every file, as a value. Changes nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Deref;

use super::Restore;
use super::goal::{EditPlan, Resolved, SetDelta};
use super::hand_over;
use super::replay::{MergeOutcome, Replay};
use super::types::{
    Action, ActionKind, BufferEdit, COME_BACK, Conflict, FilePlan, Gap, GapKind, Goal, OnConflict,
    Plan, Request, Resolution, SwitchBranch, one_per_file,
};
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::hint::Hint;
use crate::history::{self, Ancestry, OpKind, RestoreLimits};
use crate::model::{
    ChangeId, ContentId, FileId, FileVersion, GitHead, Image, NodeId, Opaque, Placed, Reason,
    RelPath,
};
use crate::shell_word::shell_word;
use crate::store::tables::{file, root};
use crate::worktree::file_state;
use crate::worktree::linked_worktrees::LinkedWorktrees;
use crate::worktree::pending_saves::Pending;
use crate::worktree::recorded_vcs::RecordedVcs;

/// Maximum number of newly captured files that a plan names one by one.
const MAX_NAMED_FILES: usize = 50;

impl Restore<&mut Engine> {
    /// Plans a request. Scans the disk first, so that every file it concerns is recorded.
    pub fn plan(&mut self, r: &Request) -> Result<Plan> {
        r.scope.require_plannable()?;
        if !self.engine.always_scan
            && let Some(plan) = self.plan_undisturbed(r)?
        {
            return Ok(plan);
        }
        self.engine.capture_mut().record_changes()?;
        self.plan_recorded(r)
    }
}

impl<E: Deref<Target = Engine>> Restore<E> {
    /// Returns the plan if a full scan could not change it: no agent is at work, and every path of the plan is as
    /// recorded. Other changes by the user stay and are found by the next scan.
    pub fn plan_undisturbed(&self, r: &Request) -> Result<Option<Plan>> {
        let only_moves_edits =
            !r.exact && r.hunks.is_empty() && !matches!(r.goal, Goal::Switch { .. });
        if !only_moves_edits || !self.engine.capture().no_agent_is_active()? {
            return Ok(None);
        }
        // a scan finds the files that changed rules of .gitignore bring into sight
        if self.engine.capture().rules_changed_since_scan()? {
            return Ok(None);
        }
        // a request refused now may be possible after a scan
        let Ok(plan) = self.plan_recorded(r) else {
            return Ok(None);
        };
        let files = plan.files.iter().flat_map(|f| [&f.before, &f.after]);
        let mut paths: BTreeSet<RelPath> = files.flatten().map(|p| p.path.clone()).collect();
        // skipped paths depend on the disk, so they may change with a scan
        let left = plan.actions.iter().map(|action| &action.path);
        let gaps = plan.gaps.iter().filter_map(|gap| gap.path.as_deref());
        paths.extend(left.cloned());
        paths.extend(gaps.filter_map(RelPath::new));
        paths.extend(plan.edits.iter().map(|edit| edit.path.clone()));
        paths.extend(plan.documents.iter().map(|document| document.path.clone()));
        // a file that was moved to a requested path belongs to the request; a directory always needs a scan
        paths.extend(r.paths.iter().cloned());
        // a file that comes back may have come back by itself, at the place where it was last
        for file in plan.files.iter().filter(|f| f.before.is_none()) {
            let (conn, root) = (&self.engine.store.conn, self.engine.here.root);
            paths.extend(file::gone_paths(conn, root, file.file)?);
        }
        // a switch moves more files than it names, and an undo may be a switch
        let decided = plan.conflicts.is_empty() && plan.held.is_empty() && plan.to_branch.is_none();
        Ok((decided && self.engine.capture().match_record(&paths)?).then_some(plan))
    }

    /// The plan from the recorded state alone.
    pub(crate) fn plan_recorded(&self, r: &Request) -> Result<Plan> {
        let _moment = self.engine.store.reading()?;
        let head = self
            .engine
            .history()
            .head()?
            .ok_or_else(|| Error::refused("there is no checkpoint yet", Hint::First))?;
        let resolved = self.resolve_goal(r, head)?;
        let plan = self.draft(r, head, &resolved, BTreeMap::new())?;
        let is_switch = matches!(resolved, Resolved::Switch(_));
        if plan.held.is_empty() || plan.other_editor(r).is_some() {
            return Ok(plan);
        }
        // no single editor can apply everything: the files are written, and each editor merges its own text
        let pending = Pending::of(&self.engine.store.conn, self.engine.here.root)?;
        let is_pending = |path: &RelPath| pending.get(path).is_some();
        if plan.can_write_below(r) && !plan.held.iter().any(|(_, path)| is_pending(path)) {
            return Ok(plan.written_below());
        }
        // a switch replaces all files or none, and an exact rewind without some of them would not be exact
        if is_switch || r.exact {
            return Ok(plan);
        }
        // otherwise the files that other editors have not saved are skipped
        let held = plan.held.iter();
        let left = held.map(|(editor, path)| (path.clone(), hand_over::named(editor)));
        let without = self.draft(r, head, &resolved, left.collect())?;
        let more = !without.is_empty() || without.open_conflicts() > 0;
        Ok(if more { without } else { plan })
    }

    fn draft(
        &self,
        r: &Request,
        head: NodeId,
        resolved: &Resolved,
        left: BTreeMap<RelPath, String>,
    ) -> Result<Plan> {
        let (target, kind, of, to_branch) = match resolved {
            Resolved::Edits(edits) => (&edits.target, edits.kind, edits.of, None),
            Resolved::Switch(switch) => {
                let moves = switch.to != SwitchBranch::Existing(self.engine.here.branch);
                let to = moves.then_some(switch.to);
                (&switch.target, switch.kind, switch.of, to)
            }
        };
        let mut draft = PlanBuilder {
            engine: &self.engine,
            r,
            head,
            plan: Plan {
                target: target.clone(),
                scope: r.scope,
                head,
                actions: Vec::new(),
                edits: Vec::new(),
                conflicts: Vec::new(),
                gaps: Vec::new(),
                git_moved: None,
                fingerprint: String::new(),
                files: Vec::new(),
                left: Vec::new(),
                nothing: None,
                kind,
                limits: RestoreLimits::default(),
                of,
                to_branch,
                about_files: String::new(),
                held: Vec::new(),
                documents: Vec::new(),
                on_conflict: r.on_conflict,
                undecided: BTreeSet::new(),
                late: Vec::new(),
                directories: Vec::new(),
                tells_directories: false,
            },
            leaves_files: false,
            matched_hunks: BTreeSet::new(),
            hunk_conflicts: Vec::new(),
            left,
        };
        match resolved {
            Resolved::Edits(edits) => draft.fill(edits)?,
            Resolved::Switch(switch) => draft.switch(switch)?,
        }
        let is_whole = matches!(kind, OpKind::Undo | OpKind::Redo) && !draft.leaves_files;
        if !is_whole {
            draft.plan.limits = limits(r, &draft.plan);
        }
        Ok(draft.plan)
    }
}

/// The part of its target that a request concerns. Chosen lines are identified by the files that they are in.
fn limits(r: &Request, plan: &Plan) -> RestoreLimits {
    let lines = !r.hunks.is_empty();
    let mut paths = r.paths.clone();
    if lines && paths.is_empty() {
        let of_files = plan
            .files
            .iter()
            .filter_map(|f| f.after.as_ref().or(f.before.as_ref()));
        paths = of_files.map(|placed| placed.path.clone()).collect();
        paths.extend(plan.conflicts.iter().map(|conflict| conflict.path.clone()));
    }
    let mut seen = BTreeSet::new();
    paths.retain(|path| seen.insert(path.clone()));
    RestoreLimits { paths, lines }
}

/// Decision about one file of a plan, from its states and conflicts alone.
#[derive(Debug)]
enum FileDecision {
    Unchanged,
    /// The file stays as it is, because a content that its restore needs was not captured.
    NotCaptured(RelPath, Opaque),
    /// Conflicts that the user has to decide first.
    Undecided(Vec<Conflict>),
    Change(Box<PlannedChange>),
}

/// Change of one file, before it is narrowed to the chosen hunks.
#[derive(Debug)]
struct PlannedChange {
    part: FilePlan,
    /// Conflicts that the request resolves.
    conflicts: Vec<Conflict>,
    /// Path and reason, if the resolution leaves the whole file as it is.
    left: Option<(RelPath, String)>,
}

impl FileDecision {
    /// Decides about a file. `not_captured` is the reason why its new state cannot be built. `by_hunk`: the request
    /// names hunks, so conflicts elsewhere in the file do not prevent it.
    fn of(
        part: FilePlan,
        not_captured: Option<Opaque>,
        conflicts: Vec<Conflict>,
        on_conflict: OnConflict,
        by_hunk: bool,
    ) -> Self {
        let stays = part.before == part.after;
        if let Some(why) = not_captured.or_else(|| opaque(&part.before)) {
            let placed = part.before.or(part.after).filter(|_| !stays);
            return placed.map_or(Self::Unchanged, |at| Self::NotCaptured(at.path, why));
        }
        let Some(chosen) = on_conflict.resolution() else {
            // with hunks, the conflicts are kept apart as `hunk_conflicts`
            return if conflicts.is_empty() || by_hunk {
                Self::change(part, Vec::new(), None)
            } else {
                Self::Undecided(conflicts)
            };
        };
        let is_left = stays && !part.merged;
        let left = conflicts
            .first()
            .zip(part.before.as_ref())
            .filter(|_| is_left)
            .map(|(conflict, placed)| (placed.path.clone(), conflict.reason.clone()));
        let resolution = Some(if is_left { Resolution::Left } else { chosen });
        let conflicts = conflicts.into_iter().map(|c| Conflict { resolution, ..c });
        Self::change(part, conflicts.collect(), left)
    }

    fn change(part: FilePlan, conflicts: Vec<Conflict>, left: Option<(RelPath, String)>) -> Self {
        Self::Change(Box::new(PlannedChange {
            part,
            conflicts,
            left,
        }))
    }
}

pub(super) struct PlanBuilder<'a> {
    pub engine: &'a Engine,
    pub r: &'a Request,
    pub head: NodeId,
    pub plan: Plan,
    matched_hunks: BTreeSet<String>,
    /// Conflicts that count only if a chosen hunk is in their file.
    hunk_conflicts: Vec<Conflict>,
    /// True if a file that would change is outside the requested paths.
    leaves_files: bool,
    /// Paths that stay as they are because an editor that cannot be asked has unsaved text there, with its name.
    left: BTreeMap<RelPath, String>,
}

impl PlanBuilder<'_> {
    fn fill(&mut self, edits: &EditPlan) -> Result<()> {
        let conn = &self.engine.store.conn;
        let ancestry = Ancestry::new(conn);
        self.plan.gaps.clone_from(&edits.gaps);
        self.plan.nothing.clone_from(&edits.nothing);
        for (file, moves) in &edits.moves {
            if moves.is_empty() {
                continue;
            }
            self.file(&ancestry, edits, *file, moves)?;
        }
        if !self.r.hunks.is_empty() {
            let unknown: Vec<&str> = self
                .r
                .hunks
                .iter()
                .filter(|h| !self.matched_hunks.contains(*h))
                .map(String::as_str)
                .collect();
            if !unknown.is_empty() && !self.hunk_conflicts.is_empty() {
                self.plan.conflicts.append(&mut self.hunk_conflicts);
            } else if !unknown.is_empty() {
                return Err(Error::refused(
                    format!("no hunk {} in what would be restored", unknown.join(", ")),
                    Hint::Hunks,
                ));
            }
        }
        self.finish(&ancestry, edits.node)
    }

    /// Completes the plan: obstacles, gaps, actions, documents and fingerprint.
    pub(super) fn finish(&mut self, ancestry: &Ancestry<'_>, target: Option<NodeId>) -> Result<()> {
        self.leave_version_control()?;
        self.unreadable()?;
        self.skip_blocked();
        self.collisions()?;
        self.fixed();
        self.gaps(ancestry, target)?;
        self.note_git_branch();
        self.note_ignored_that_come_back();
        self.actions();
        self.late_saves()?;
        self.directories(ancestry)?;
        self.plan.about_files = self.fingerprint();
        self.documents()?;
        self.plan.fingerprint = if self.plan.documents.is_empty() && self.plan.held.is_empty() {
            self.plan.about_files.clone()
        } else {
            self.fingerprint()
        };
        Ok(())
    }

    /// Leaves out the files of version control, which an older version recorded as files of the project, and those that lie in a
    /// linked worktree by now.
    fn leave_version_control(&mut self) -> Result<()> {
        let states = |part: &FilePlan| {
            let states = [&part.before, &part.after].into_iter().flatten();
            let paths: Vec<RelPath> = states.map(|placed| placed.path.clone()).collect();
            paths
        };
        let plan = &self.plan;
        let all = plan.files.iter().flat_map(states);
        let all = all.chain(plan.conflicts.iter().map(|conflict| conflict.path.clone()));
        let all: BTreeSet<RelPath> = all.collect();
        let dirs = RecordedVcs::new(&self.engine.store.conn, &self.engine.root, self.engine.here);
        let mut dirs = dirs.dirs_of(&all)?;
        let mut worktrees = LinkedWorktrees::new(&self.engine.root, Vec::new());
        let of_worktrees = |path: RelPath| Some((path.clone(), worktrees.above(&path)?));
        let of_worktrees: BTreeMap<_, _> = all.into_iter().filter_map(of_worktrees).collect();
        let owners: BTreeSet<RelPath> = of_worktrees.values().cloned().collect();
        dirs.extend(of_worktrees);
        if dirs.is_empty() {
            return Ok(());
        }
        let is_left = |path: &RelPath| dirs.contains_key(path);
        let stays = |part: &FilePlan| !states(part).iter().any(is_left);
        self.plan.files.retain(stays);
        self.plan.conflicts.retain(|c| !is_left(&c.path));
        self.plan.actions.retain(|action| !is_left(&action.path));
        let is_named = |gap: &Gap| {
            let path = gap.path.as_ref().and_then(|path| RelPath::new(&**path));
            path.is_some_and(|path| is_left(&path))
        };
        self.plan.gaps.retain(|gap| !is_named(gap));
        let mut counts: BTreeMap<&RelPath, usize> = BTreeMap::new();
        for dir in dirs.values() {
            *counts.entry(dir).or_default() += 1;
        }
        for (dir, count) in counts {
            let files = if count == 1 { "file" } else { "files" };
            let of = if owners.contains(dir) {
                "a linked worktree, a separate workspace,"
            } else {
                "version control"
            };
            let detail = format!("{count} recorded {files} of {of} stay as they are");
            self.skip(dir.clone(), GapKind::VersionControl, &detail);
        }
        Ok(())
    }

    /// Skips the files that other editors have not saved.
    fn skip_blocked(&mut self) {
        if self.left.is_empty() {
            return;
        }
        let left = std::mem::take(&mut self.left);
        let at = |part: &FilePlan| {
            let states = [&part.before, &part.after].into_iter().flatten();
            let mut paths = states.map(|placed| &placed.path);
            paths.find(|path| left.contains_key(*path)).cloned()
        };
        let files = std::mem::take(&mut self.plan.files);
        for part in files {
            match at(&part) {
                Some(path) => {
                    let why = format!(
                        "{} has unsaved changes in it; it stays as it is",
                        left[&path]
                    );
                    self.skip(path, GapKind::Unsaved, &why);
                }
                None => self.plan.files.push(part),
            }
        }
        self.plan.conflicts.retain(|c| !left.contains_key(&c.path));
    }

    fn within_scope(&self, states: &[&FileVersion]) -> bool {
        let mut placed = states.iter().filter_map(|s| s.as_ref());
        self.r.paths.is_empty() || placed.any(|p| self.is_in_scope(&p.path))
    }

    fn is_in_scope(&self, path: &RelPath) -> bool {
        let scopes = &self.r.paths;
        scopes.is_empty() || scopes.iter().any(|scope| path.within(scope.bytes()))
    }

    /// Adds one file to the plan: its change, its conflicts, or the reason why it stays as it is.
    fn file(
        &mut self,
        ancestry: &Ancestry<'_>,
        edits: &EditPlan,
        file: FileId,
        moves: &SetDelta,
    ) -> Result<()> {
        let current = self
            .engine
            .history()
            .state_known(ancestry, file, self.head)?;
        let outcome = self.merge_outcome(ancestry, &edits.target, file, moves, &current)?;
        if !self.within_scope(&[&current, &outcome.state]) {
            self.leaves_files |= current != outcome.state;
            return Ok(());
        }
        let part = FilePlan {
            file,
            before: current,
            after: outcome.state,
            taken_out: moves.take_out.iter().copied().collect(),
            put_back: moves.put_back.iter().copied().collect(),
            as_user: !outcome.conflicts.is_empty() || moves.arrives.is_some(),
            merged: outcome.merged,
            new_content: outcome.content,
        };
        self.note_written_again(&part, edits.kind)?;
        let by_hunk = !self.r.hunks.is_empty();
        let on_conflict = self.r.on_conflict;
        match FileDecision::of(
            part,
            outcome.opaque,
            outcome.conflicts,
            on_conflict,
            by_hunk,
        ) {
            FileDecision::Unchanged => Ok(()),
            FileDecision::NotCaptured(path, why) => {
                self.skip(path, gap_of(why), not_captured(why));
                Ok(())
            }
            FileDecision::Undecided(conflicts) => {
                self.plan.undecided.extend(&moves.take_out);
                self.plan.conflicts.extend(conflicts);
                Ok(())
            }
            FileDecision::Change(change) => self.add_change(*change),
        }
    }

    /// Adds a gap for a file that stays although the edits that made it are taken out, since it was deleted and written
    /// again.
    fn note_written_again(&mut self, part: &FilePlan, kind: OpKind) -> Result<()> {
        let stays = part.before == part.after && !part.as_user;
        let (Some(placed), Some(oldest)) = (&part.before, part.taken_out.first()) else {
            return Ok(());
        };
        if !stays || kind != OpKind::Rewind || !part.put_back.is_empty() {
            return Ok(());
        }
        let conn = &self.engine.store.conn;
        let ancestry = Ancestry::new(conn);
        for id in history::in_force(&ancestry, part.file, self.head)? {
            if id < *oldest || part.taken_out.contains(&id) {
                continue;
            }
            if history::change(conn, id)?.after.is_none() {
                self.plan.gaps.push(Gap {
                    path: Some(placed.path.bytes().to_vec()),
                    kind: GapKind::Unknown,
                    detail: "it was deleted and written again since; it stays as it is".into(),
                });
                break;
            }
        }
        Ok(())
    }

    /// Builds the state of a file without the edits to take out and with those to put back.
    fn merge_outcome(
        &mut self,
        ancestry: &Ancestry<'_>,
        target: &str,
        file: FileId,
        moves: &SetDelta,
        current: &FileVersion,
    ) -> Result<MergeOutcome> {
        if let Some(placed) = &moves.arrives {
            let stays = current.is_none() && self.stands_unnamed(placed)?;
            let state = Some(placed.clone()).filter(|_| !stays);
            return Ok(MergeOutcome {
                opaque: opaque(&state),
                state,
                ..MergeOutcome::default()
            });
        }
        let now = history::in_force(ancestry, file, self.head)?;
        let mut wanted: BTreeSet<ChangeId> = now.difference(&moves.take_out).copied().collect();
        wanted.extend(&moves.put_back);
        let mut replay = Replay {
            store: &self.engine.store,
            file,
            current,
            now: &now,
            wanted: &wanted,
            on_conflict: self.r.on_conflict,
            target,
        };
        // the file was first captured on another branch: without an edit here it is absent
        let elsewhere =
            wanted.is_empty() && !self.engine.history().seen_at(ancestry, file, self.head)?;
        let mut outcome = if elsewhere {
            MergeOutcome::default()
        } else {
            replay.run()?
        };
        let fails = self.r.on_conflict == OnConflict::Fail && !outcome.conflicts.is_empty();
        if fails && !self.r.hunks.is_empty() && self.within_scope(&[current]) {
            // a chosen hunk may lie outside the conflicts; it is the same with the rest left as it is
            self.hunk_conflicts.append(&mut outcome.conflicts);
            replay.on_conflict = OnConflict::Current;
            outcome = replay.run()?;
        }
        Ok(outcome)
    }

    /// True if an arriving file is on disk already: untracked, or captured on this branch without an identity.
    fn stands_unnamed(&self, placed: &Placed) -> Result<bool> {
        let row = file_state::get(&self.engine.store.conn, self.engine.here.root, &placed.path)?;
        let is_unnamed = row.is_none_or(|row| row.file.is_none());
        let there = || self.engine.root.reread_entry(&placed.path, &placed.image);
        Ok(is_unnamed && there()?.image == placed.image)
    }

    /// Adds a change, as far as it is in the chosen hunks, with its conflicts.
    fn add_change(&mut self, change: PlannedChange) -> Result<()> {
        let mut part = change.part;
        if !self.r.hunks.is_empty() && !self.pick(&mut part)? {
            return Ok(());
        }
        if let Some((path, why)) = change.left {
            self.skip(path, GapKind::Failed, &format!("left as it is: {why}"));
        }
        self.plan.conflicts.extend(change.conflicts);
        if !part.as_user || part.before != part.after {
            self.plan.files.push(part);
        }
        Ok(())
    }

    /// Narrows a file's outcome to the chosen hunks. Returns `false` if it contains none of them.
    fn pick(&mut self, part: &mut FilePlan) -> Result<bool> {
        let long = |state: &FileVersion| state.as_ref().is_some_and(|p| p.image.is_too_long());
        if long(&part.before) || long(&part.after) {
            return Ok(false);
        }
        let store = &self.engine.store;
        let bytes = |state: &FileVersion| -> Result<Vec<u8>> {
            match state.as_ref().and_then(|p| p.image.content()) {
                Some(content) => store.content(&content),
                None => Ok(Vec::new()),
            }
        };
        let old = bytes(&part.before)?;
        let new = match &part.new_content {
            Some(content) => content.clone(),
            None => bytes(&part.after)?,
        };
        let side = |state: &'_ FileVersion| state.as_ref().map(|p| p.path.bytes().to_vec());
        let path = match (side(&part.before), side(&part.after)) {
            (Some(a), Some(b)) => a.min(b),
            (Some(a), None) | (None, Some(a)) => a,
            (None, None) => return Ok(false),
        };
        let mut any = false;
        for hunk in &self.r.hunks {
            if crate::diff::pick(&old, &new, &path, &[hunk.as_str()]).1 > 0 {
                self.matched_hunks.insert(hunk.clone());
                any = true;
            }
        }
        if !any {
            return Ok(false);
        }
        let ids: Vec<&str> = self.r.hunks.iter().map(String::as_str).collect();
        let (picked, _) = crate::diff::pick(&old, &new, &path, &ids);
        if picked == new {
            return Ok(true);
        }
        // only a part of the plan: the outcome counts as the user's own edit
        let (Some(placed), mode) = (&part.before, mode_of(&part.before).or(mode_of(&part.after)))
        else {
            return Ok(true);
        };
        part.after = Some(Placed {
            path: placed.path.clone(),
            image: Image::File {
                mode: mode.unwrap_or(0o644),
                content: ContentId::of(&picked),
                size: picked.len() as u64,
            },
        });
        part.new_content = Some(picked);
        part.as_user = true;
        part.merged = true;
        Ok(true)
    }

    pub(super) fn skip(&mut self, path: RelPath, kind: GapKind, why: &str) {
        self.plan.gaps.push(Gap {
            path: Some(path.bytes().to_vec()),
            kind,
            detail: why.into(),
        });
        self.plan.actions.push(Action {
            path,
            kind: ActionKind::Skip,
            from: None,
            reason: Some(why.into()),
            before: Image::Absent,
            after: Image::Absent,
        });
    }

    fn gaps(&mut self, ancestry: &Ancestry<'_>, target: Option<NodeId>) -> Result<()> {
        for part in &self.plan.files {
            let Some(at) = part.before.as_ref().filter(|_| part.before != part.after) else {
                continue;
            };
            if matches!(at.image, Image::File { .. }) && self.engine.root.links(&at.path) > 1 {
                self.plan.gaps.push(Gap {
                    path: Some(at.path.bytes().to_vec()),
                    kind: GapKind::HardLink,
                    detail: "it has other hard links, which keep its current content".into(),
                });
            }
            let moves = part.after.as_ref().is_some_and(|to| to.path != at.path);
            let gap = if moves {
                self.engine.root.left_behind(&at.path)
            } else {
                self.engine.root.unowned(&at.path)
            };
            self.plan.gaps.extend(gap.map(|detail| Gap {
                path: Some(at.path.bytes().to_vec()),
                kind: GapKind::Attributes,
                detail,
            }));
        }
        let Some(target) = target else {
            return Ok(());
        };
        let conn = &self.engine.store.conn;
        let common = ancestry.common(target, self.head)?;
        let late =
            |n: &crate::model::Node| n.coverage.pending || n.coverage.count(Reason::Failed) > 0;
        let here = Some(target).filter(|t| history::node(conn, *t).is_ok_and(|n| late(&n)));
        for id in ancestry.after(common, self.head)?.into_iter().chain(here) {
            let node = history::node(conn, id)?;
            if node.coverage.pending {
                self.plan.gaps.push(Gap {
                    path: None,
                    kind: GapKind::Pending,
                    detail: format!("the scan of {id} is still running"),
                });
            }
            for item in &node.coverage.items {
                // a large file that did not change is not a gap
                if item.detail.is_empty() && item.reason != Reason::Failed {
                    continue;
                }
                let kind = match item.reason {
                    Reason::TooLarge => GapKind::TooLarge,
                    Reason::Outside => GapKind::Outside,
                    Reason::Excluded => GapKind::Excluded,
                    Reason::Unreadable => GapKind::Unreadable,
                    Reason::Special => GapKind::Special,
                    Reason::Failed => GapKind::Failed,
                    Reason::VersionControl => GapKind::VersionControl,
                    Reason::Ignored => GapKind::Ignored,
                };
                let path = (kind != GapKind::Failed).then(|| item.path.clone());
                if !self.plan.gaps.iter().any(|g| {
                    g.path == path && g.kind == kind && (path.is_some() || g.detail == item.detail)
                }) {
                    let detail = if path.is_some() {
                        format!("not captured in {id}: {}", item.detail)
                    } else {
                        item.detail.clone()
                    };
                    self.plan.gaps.push(Gap { path, kind, detail });
                }
            }
        }
        let git_then = history::node(conn, target)?.git;
        let git_now = crate::git::head(&self.engine.root.path);
        // a forked directory has no git repository by design
        let in_fork = git_now == GitHead::default()
            && history::root_of(conn, target)? != self.engine.here.root;
        if git_then != git_now && (git_then.head.is_some() || git_then.branch.is_some()) && !in_fork
        {
            self.plan.gaps.push(Gap {
                path: None,
                kind: GapKind::GitHead,
                detail: "git's HEAD or branch has moved since; git itself is not rewound".into(),
            });
            self.plan.git_moved = Some((git_then, git_now));
        }
        if matches!(self.r.goal, Goal::Rewind(_)) {
            self.note_unknown_files(ancestry, target)?;
            self.note_unreadable_files()?;
        }
        self.drop_what_unknown_says();
        Ok(())
    }

    /// Removes gaps of ignored files that are recorded by now: that their earlier state is unknown says it already.
    fn drop_what_unknown_says(&mut self) {
        let of_kind = |kind: GapKind| move |gap: &&Gap| gap.kind == kind;
        let unknown = self.plan.gaps.iter().filter(of_kind(GapKind::Unknown));
        let unknown: BTreeSet<Vec<u8>> = unknown.filter_map(|gap| gap.path.clone()).collect();
        let is_said = |gap: &Gap| gap.path.as_ref().is_some_and(|path| unknown.contains(path));
        let gaps = &mut self.plan.gaps;
        gaps.retain(|gap| gap.kind != GapKind::Ignored || !is_said(gap));
    }

    /// Says where the work is, if there is nothing to rewind since git is on another branch.
    fn note_git_branch(&mut self) {
        let Some((then, now)) = &self.plan.git_moved else {
            return;
        };
        let (Some(then), Some(now)) = (&then.branch, &now.branch) else {
            return;
        };
        let takes_edits = self.plan.files.iter().any(|f| !f.taken_out.is_empty());
        let is_empty = self.plan.is_empty() && self.plan.conflicts.is_empty();
        if then != now && is_empty && takes_edits && self.plan.kind == OpKind::Rewind {
            self.plan.nothing = Some(format!(
                "git is on branch {now}, and the work was done on {then}; run `git switch {}` first to rewind it",
                shell_word(then)
            ));
        }
    }

    /// Adds gaps for files first captured after the target: their state at the target is unknown.
    fn note_unknown_files(&mut self, ancestry: &Ancestry<'_>, target: NodeId) -> Result<()> {
        let all = file_state::adopted_unchanged(&self.engine.store.conn, self.engine.here.root)?;
        let mut unknown = BTreeSet::new();
        for (path, since) in all {
            if !ancestry.is_ancestor(since, target)? && self.is_in_scope(&path) {
                unknown.insert(path);
            }
        }
        let more = unknown.len().saturating_sub(MAX_NAMED_FILES);
        for path in unknown.into_iter().take(MAX_NAMED_FILES) {
            self.plan.gaps.push(Gap {
                path: Some(path.bytes().to_vec()),
                kind: GapKind::Unknown,
                detail: format!("its state at {target} is not known; it stays as it is"),
            });
        }
        if more > 0 {
            self.plan.gaps.push(Gap {
                path: None,
                kind: GapKind::Unknown,
                detail: format!(
                    "{more} more files were first captured after {target} and stay as they are"
                ),
            });
        }
        Ok(())
    }

    /// Adds gaps for files whose current content cannot be read. They keep their last recorded state.
    fn note_unreadable_files(&mut self) -> Result<()> {
        let root = self.engine.here.root;
        for item in root::scan::coverage(&self.engine.store.conn, root)?.items {
            let kind = match item.reason {
                Reason::Unreadable => GapKind::Unreadable,
                Reason::Special => GapKind::Special,
                _ => continue,
            };
            let Some(path) = RelPath::new(item.path) else {
                continue;
            };
            let known = file_state::get(&self.engine.store.conn, root, &path)?;
            let is_file = known.is_some_and(|k| !matches!(k.image, Image::Opaque(_)));
            let bytes = Some(path.bytes().to_vec());
            let is_named = self.plan.gaps.iter().any(|g| g.path == bytes);
            if is_file && !is_named && self.is_in_scope(&path) {
                let detail = match kind {
                    GapKind::Special => IN_ITS_PLACE,
                    _ => "its current content cannot be captured; it stays as it is",
                };
                self.plan.gaps.push(Gap {
                    path: bytes,
                    kind,
                    detail: detail.into(),
                });
            }
        }
        Ok(())
    }

    /// Says of an ignored directory that its recorded files come back: those that a command named.
    fn note_ignored_that_come_back(&mut self) {
        let comes_back = |dir: &[u8]| {
            let paths = self
                .plan
                .files
                .iter()
                .filter_map(|part| part.after.as_ref());
            let mut paths = paths.map(|placed| placed.path.bytes());
            paths.any(|path| path.starts_with(dir))
        };
        let is_dir = |gap: &&mut Gap| {
            gap.kind == GapKind::Ignored && gap.path.as_ref().is_some_and(|p| p.ends_with(b"/"))
        };
        for gap in self.plan.gaps.iter_mut().filter(is_dir) {
            if gap.path.as_deref().is_some_and(comes_back) {
                gap.detail = format!("{}; {COME_BACK}", gap.detail);
            }
        }
    }

    fn actions(&mut self) {
        for part in &self.plan.files {
            let image = |s: &FileVersion| s.as_ref().map_or(Image::Absent, |p| p.image);
            let (before, after) = (image(&part.before), image(&part.after));
            let kind = match (&part.before, &part.after) {
                (a, b) if a == b => continue,
                (None, _) => ActionKind::Create,
                (_, None) => ActionKind::Delete,
                _ if part.merged => ActionKind::Merge,
                (Some(a), Some(b)) if a.path == b.path && before.content() == after.content() => {
                    ActionKind::Chmod
                }
                _ => ActionKind::Write,
            };
            let Some(at) = part.after.as_ref().or(part.before.as_ref()) else {
                continue;
            };
            let from = part
                .before
                .as_ref()
                .filter(|b| b.path != at.path)
                .map(|b| b.path.clone());
            self.plan.actions.push(Action {
                path: at.path.clone(),
                kind,
                from,
                reason: None,
                before,
                after,
            });
        }
        self.plan.actions.sort_by(|a, b| a.path.cmp(&b.path));
        // one file is deleted where another is created: at this path that is one replacement
        self.plan.actions.dedup_by(|b, a| {
            let (goes, comes) = match (a.kind, b.kind) {
                _ if a.path != b.path => return false,
                (ActionKind::Delete, kind) if kind != ActionKind::Skip => (a.before, b.clone()),
                (kind, ActionKind::Delete) if kind != ActionKind::Skip => (b.before, a.clone()),
                _ => return false,
            };
            *a = comes;
            if a.kind == ActionKind::Create {
                (a.kind, a.before) = (ActionKind::Write, goes);
            }
            true
        });
        one_per_file(&mut self.plan.conflicts);
        self.plan
            .gaps
            .sort_by(|a, b| (&a.path, a.kind.name()).cmp(&(&b.path, b.kind.name())));
    }

    /// Adds the files in scope of a rewind that have its outcome in the record alone: those whose editor is gone are written,
    /// others are named.
    fn late_saves(&mut self) -> Result<()> {
        if !matches!(self.r.goal, Goal::Rewind(_)) || !self.r.hunks.is_empty() {
            return Ok(());
        }
        let documents = self.engine.documents();
        let waiting = documents.pending_saves()?;
        if waiting.is_empty() {
            return Ok(());
        }
        let gone = documents.orphaned_saves()?;
        let mut awaited = Vec::new();
        for save in waiting {
            let is_planned = |part: &FilePlan| {
                let mut states = [&part.before, &part.after].into_iter().flatten();
                part.before != part.after && states.any(|placed| placed.path == save.path)
            };
            let concerns = self.is_in_scope(&save.path)
                && !self.plan.files.iter().any(is_planned)
                && !self.plan.conflicts.iter().any(|c| c.path == save.path);
            if !concerns {
                continue;
            }
            if !gone.contains(&save) {
                awaited.push(format!(
                    "{} waits for a save in {}",
                    save.path.display(),
                    save.editor
                ));
                continue;
            }
            self.plan.actions.push(Action {
                path: save.path.clone(),
                kind: ActionKind::Write,
                from: None,
                reason: Some(format!("{}, which was to save it, has ended", save.editor)),
                before: save.disk,
                after: save.wanted,
            });
            self.plan.late.push(save);
        }
        self.plan.actions.sort_by(|a, b| a.path.cmp(&b.path));
        if !awaited.is_empty() && self.plan.is_empty() && self.plan.nothing.is_none() {
            self.plan.nothing = Some(format!("{}, and no other file differs", awaited.join(", ")));
        }
        Ok(())
    }

    fn fingerprint(&self) -> String {
        let mut hash = blake3::Hasher::new();
        let mut add = |bytes: &[u8]| {
            hash.update(&(bytes.len() as u64).to_le_bytes());
            hash.update(bytes);
        };
        add(self.plan.target.as_bytes());
        // the name of the branch is in the target: a branch that is created by then keeps the plan
        let asked = (self.r.exact, self.r.on_conflict, self.plan.is_switch());
        add(format!("{asked:?}").as_bytes());
        for part in self.plan.files.iter().chain(&self.plan.left) {
            for state in [&part.before, &part.after] {
                match state {
                    None => add(b"-"),
                    Some(p) => {
                        add(p.path.bytes());
                        add(&p.image.encode());
                    }
                }
            }
            add(format!("{:?} {:?} {}", part.taken_out, part.put_back, part.as_user).as_bytes());
        }
        for change in &self.plan.directories {
            add(change.path.bytes());
            add(format!("{:?} {:?}", change.before, change.after).as_bytes());
        }
        for save in &self.plan.late {
            add(save.path.bytes());
            add(&save.wanted.encode());
        }
        for conflict in &self.plan.conflicts {
            add(conflict.path.bytes());
            add(conflict.reason.as_bytes());
            add(conflict.resolution.map_or("", Resolution::name).as_bytes());
        }
        for document in &self.plan.documents {
            add(document.path.bytes());
            add(document.editor.name.as_bytes());
            if let Some(e) = &document.edit {
                let BufferEdit { from, to, .. } = &e.edit;
                add(&from.0);
                add(&to.0);
            }
        }
        hash.finalize().to_hex()[..16].to_owned()
    }
}

/// Detail of a gap for a special file in the place of a file.
const IN_ITS_PLACE: &str =
    "a pipe, a socket or a device is in its place; move it away, and `--exact` restores the file";

fn mode_of(state: &FileVersion) -> Option<u32> {
    match state.as_ref()?.image {
        Image::File { mode, .. } => Some(mode),
        _ => None,
    }
}

pub(super) fn opaque(state: &FileVersion) -> Option<Opaque> {
    match state.as_ref()?.image {
        Image::Opaque(why) => Some(why),
        _ => None,
    }
}

/// The detail of a gap, and the next step where there is one.
pub(super) fn not_captured(why: Opaque) -> &'static str {
    match why {
        Opaque::TooLarge | Opaque::Unreadable => "its content was not captured; it stays as it is",
        Opaque::Special => IN_ITS_PLACE,
    }
}

pub(crate) fn gap_of(why: Opaque) -> GapKind {
    match why {
        Opaque::TooLarge => GapKind::TooLarge,
        Opaque::Unreadable => GapKind::Unreadable,
        Opaque::Special => GapKind::Special,
    }
}

impl<E: Deref<Target = Engine>> Restore<E> {
    /// Returns a content of a plan: one that it creates, or one from the store.
    pub fn text_of(&self, plan: &Plan, id: &ContentId) -> Result<Vec<u8>> {
        match plan.content(id) {
            Some(made) => Ok(made.to_vec()),
            None => self.engine.content(id),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: Image = Image::Symlink {
        content: ContentId([1; 32]),
    };
    const B: Image = Image::Symlink {
        content: ContentId([2; 32]),
    };
    const TOO_LARGE: Image = Image::Opaque(Opaque::TooLarge);

    fn part(before: Image, after: Image, conflicts: &[Conflict]) -> FilePlan {
        let at = |image| RelPath::new("a").map(|path| Placed { path, image });
        FilePlan {
            file: FileId(1),
            before: at(before),
            after: at(after),
            taken_out: Vec::new(),
            put_back: Vec::new(),
            as_user: !conflicts.is_empty(),
            merged: false,
            new_content: None,
        }
    }

    fn conflict() -> Vec<Conflict> {
        vec![Conflict {
            path: RelPath::new("a").expect("a path"),
            reason: "both sides changed it".into(),
            hunks: Vec::new(),
            resolution: None,
            is_fixed: false,
        }]
    }

    fn decide(
        (before, after): (Image, Image),
        conflicts: Vec<Conflict>,
        on_conflict: OnConflict,
        by_hunk: bool,
    ) -> FileDecision {
        let part = part(before, after, &conflicts);
        FileDecision::of(part, None, conflicts, on_conflict, by_hunk)
    }

    fn change(decision: FileDecision) -> PlannedChange {
        match decision {
            FileDecision::Change(change) => *change,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_file_without_conflicts_is_changed() {
        let change = change(decide((A, B), Vec::new(), OnConflict::Fail, false));
        assert!(change.conflicts.is_empty() && change.left.is_none());
        assert!(!change.part.as_user);
    }

    #[test]
    fn a_content_that_was_not_captured_leaves_the_file() {
        let decision = decide((TOO_LARGE, A), Vec::new(), OnConflict::Fail, false);
        assert!(
            matches!(&decision, FileDecision::NotCaptured(path, Opaque::TooLarge) if path.bytes() == b"a"),
            "{decision:?}"
        );
        let why = Some(Opaque::Unreadable);
        let decision = FileDecision::of(part(A, B, &[]), why, Vec::new(), OnConflict::Fail, false);
        assert!(
            matches!(decision, FileDecision::NotCaptured(_, Opaque::Unreadable)),
            "{decision:?}"
        );
        let decision = decide((TOO_LARGE, TOO_LARGE), Vec::new(), OnConflict::Fail, false);
        assert!(matches!(decision, FileDecision::Unchanged), "{decision:?}");
    }

    #[test]
    fn open_conflicts_prevent_the_change_unless_hunks_are_chosen() {
        let decision = decide((A, B), conflict(), OnConflict::Fail, false);
        let FileDecision::Undecided(open) = decision else {
            panic!("{decision:?}");
        };
        assert_eq!(open, conflict());
        let change = change(decide((A, B), conflict(), OnConflict::Fail, true));
        assert!(change.conflicts.is_empty() && change.part.as_user);
    }

    #[test]
    fn a_resolution_is_noted_at_each_conflict() {
        for (on_conflict, resolution) in [
            (OnConflict::Markers, Resolution::Markers),
            (OnConflict::Current, Resolution::Current),
            (OnConflict::Target, Resolution::Target),
        ] {
            let change = change(decide((A, B), conflict(), on_conflict, false));
            assert_eq!(change.conflicts[0].resolution, Some(resolution));
            assert_eq!(change.left, None);
        }
    }

    #[test]
    fn a_resolution_that_changes_nothing_leaves_the_file() {
        let change = change(decide((A, A), conflict(), OnConflict::Current, false));
        assert_eq!(change.conflicts[0].resolution, Some(Resolution::Left));
        let (path, why) = change.left.expect("it is left");
        assert_eq!(
            (path.bytes(), why.as_str()),
            (&b"a"[..], "both sides changed it")
        );
    }
}
