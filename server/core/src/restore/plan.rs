//! The plan: the effect of a request on every file, as a value. Changes nothing.

mod actions;
mod builder;
mod file_decision;
mod fingerprint;
mod gaps;
mod hunks;
mod left_out;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Deref;

use super::Restore;
use super::goal::Resolved;
use super::hand_over;
use super::types::{Goal, Plan, Request, SwitchBranch};
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::hint::Hint;
use crate::history::{OpKind, RestoreLimits};
use crate::model::{ContentId, NodeId, RelPath};
use crate::store::tables::file;
use crate::worktree::pending_saves::Pending;
pub(super) use builder::PlanBuilder;

impl Restore<&mut Engine> {
    /// Plans a request. Scans the disk first, so that every file it concerns is recorded.
    pub fn plan(&mut self, r: &Request) -> Result<Plan> {
        r.scope.require_plannable(r.conversation.as_ref())?;
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
                conversation: r.conversation.as_ref().and_then(|half| half.made),
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

impl<E: Deref<Target = Engine>> Restore<E> {
    /// Returns a content of a plan: one that it creates, or one from the store.
    pub fn text_of(&self, plan: &Plan, id: &ContentId) -> Result<Vec<u8>> {
        match plan.content(id) {
            Some(made) => Ok(made.to_vec()),
            None => self.engine.content(id),
        }
    }
}
