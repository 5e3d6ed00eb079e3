//! Files that a plan leaves out: those of version control and of linked worktrees, and those that other editors have not saved.

use std::collections::{BTreeMap, BTreeSet};

use super::builder::PlanBuilder;
use crate::error::Result;
use crate::model::RelPath;
use crate::restore::types::{FilePlan, Gap, GapKind};
use crate::worktree::linked_worktrees::LinkedWorktrees;
use crate::worktree::recorded_vcs::RecordedVcs;

impl PlanBuilder<'_> {
    /// Leaves out the files of version control, which an older version recorded, and those that lie in a linked worktree by
    /// now.
    pub(super) fn leave_version_control(&mut self) -> Result<()> {
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
    pub(super) fn skip_blocked(&mut self) {
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
}
