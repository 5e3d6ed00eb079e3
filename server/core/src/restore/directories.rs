//! Directories of a restore: those that the work which it undoes has made, removed, or given other permission bits. Changes
//! that files tell by themselves are not part of it.

mod execution;
mod opened;
mod walked;

use std::collections::{BTreeMap, BTreeSet};

use super::collisions::remaining;
use super::plan::PlanBuilder;
use super::types::{Action, ActionKind, FilePlan, Gap, GapKind, Goal};
use crate::error::Result;
use crate::history::Ancestry;
use crate::model::{DirChange, Image, Opaque, RelPath};
use crate::store::tables::root::scan;
use crate::worktree::directories::{NotedDirs, joined};
use crate::worktree::file_state;
use walked::{Walked, follow, reversed};

pub(super) use opened::{close_dirs, open_dirs};
pub(crate) use walked::noted_at;

/// The list of noted directories at the goal of a restore.
struct GoalList {
    now: NotedDirs,
    /// The directories of the list at the goal, and those above them, with their permission bits.
    modes: BTreeMap<RelPath, u32>,
    /// Directories that only the work which the restore moves has changed.
    ours: BTreeSet<RelPath>,
}

impl GoalList {
    fn mode(&self, dir: &RelPath) -> Option<u32> {
        self.modes.get(dir).copied()
    }
}

/// The files that a plan moves, as seen from the directories.
#[derive(Default)]
struct Moved {
    /// Numbers of files that leave each directory.
    leaving: BTreeMap<RelPath, usize>,
    /// Directories that get files.
    arriving: BTreeSet<RelPath>,
    /// Paths that are files afterwards.
    files: BTreeSet<RelPath>,
    /// Directories that go with their last file, where the history tells no directories.
    going: BTreeSet<RelPath>,
}

impl Moved {
    fn of(files: &[FilePlan]) -> Self {
        let mut moved = Self::default();
        for file in files {
            moved
                .files
                .extend(file.after.iter().map(|placed| placed.path.clone()));
            for dir in file.before.iter().flat_map(|placed| above(&placed.path)) {
                *moved.leaving.entry(dir).or_default() += 1;
            }
            for dir in file.after.iter().flat_map(|placed| above(&placed.path)) {
                if !moved.arriving.insert(dir) {
                    break;
                }
            }
        }
        moved
    }
}

impl PlanBuilder<'_> {
    /// Plans the directories.
    pub(super) fn directories(&mut self, ancestry: &Ancestry<'_>) -> Result<()> {
        if !self.r.hunks.is_empty() {
            return Ok(());
        }
        let walked = self.walked(ancestry)?;
        let mut moved = Moved::of(&self.plan.files);
        // a file whose content was not captured stays away, and its directory comes back
        let skipped = self.plan.actions.iter();
        let skipped = skipped.filter(|action| action.kind == ActionKind::Skip);
        let missing = skipped.filter(|action| self.engine.root.stat(&action.path).is_none());
        moved
            .arriving
            .extend(missing.flat_map(|action| above(&action.path)));
        let made_or_changed = joined(
            walked
                .iter()
                .filter(|one| one.is_ours)
                .flat_map(|one| one.directed(&one.node.coverage.directories)),
        );
        let mut changes: BTreeMap<RelPath, DirChange> = made_or_changed
            .into_iter()
            .map(|change| (change.path.clone(), change))
            .collect();
        let goal = self.goal_list(&walked)?;
        if let Some(goal) = &goal {
            for path in &goal.ours {
                changes.remove(path);
                let change = self.to_goal(goal, path, &moved)?;
                changes.extend(change.map(|change| (path.clone(), change)));
            }
        }
        changes.retain(|path, _| {
            let scopes = &self.r.paths;
            scopes.is_empty() || scopes.iter().any(|scope| path.within(scope.bytes()))
        });
        if let Some(goal) = &goal {
            self.plan.tells_directories = true;
            self.emptied(goal, &moved, &changes)?;
            if self.engine.root.has_past_times() {
                self.remade(goal, &moved, &mut changes);
            }
        } else {
            for dir in moved.leaving.keys() {
                if !self.keeps_files(dir, &moved)? {
                    moved.going.insert(dir.clone());
                }
            }
        }
        let first = self.plan.gaps.len();
        // the innermost first: one that stays keeps those above it
        for change in changes.into_values().rev() {
            self.directory(change, &moved)?;
        }
        self.plan.gaps[first..].sort_by(|a, b| a.path.cmp(&b.path));
        self.plan.directories.sort_by(|a, b| a.path.cmp(&b.path));
        self.plan.actions.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(())
    }

    /// Plans a directory.
    fn directory(&mut self, change: DirChange, moved: &Moved) -> Result<()> {
        let now = self.engine.root.dir_mode(&change.path);
        // the history of files is more exact than that of directories
        if moved.files.contains(&change.path) {
            return Ok(());
        }
        if now == change.after {
            if !self.plan.tells_directories
                && now.is_some()
                && moved.leaving.contains_key(&change.path)
                && !self.keeps_files(&change.path, moved)?
            {
                // it goes with its last file, and is made again
                self.plan.directories.push(DirChange {
                    before: None,
                    ..change
                });
            }
            return Ok(());
        }
        if change.after.is_none() && moved.arriving.contains(&change.path) {
            return Ok(());
        }
        let is_changed = now != change.before || self.is_blocked_by_file(&change.path);
        let held = self.held_in(&change, moved);
        if is_changed || held.is_some() {
            let why = held.map_or_else(
                || "the directory was changed since".to_owned(),
                |held| format!("the directory holds {held}"),
            );
            self.plan.gaps.push(Gap {
                path: Some(change.path.bytes().to_vec()),
                kind: GapKind::Directory,
                detail: format!("{why}; it stays as it is"),
            });
            return Ok(());
        }
        let (kind, mode) = match (change.before, change.after) {
            (None, mode) => (ActionKind::Create, mode),
            (Some(_), None) => (ActionKind::Delete, None),
            (Some(_), mode) => (ActionKind::Chmod, mode),
        };
        let mode = mode.map(|mode| format!(", mode {mode:o}"));
        self.plan.actions.push(Action {
            path: change.path.clone(),
            kind,
            from: None,
            reason: Some(format!("directory{}", mode.unwrap_or_default())),
            before: Image::Opaque(Opaque::Special),
            after: Image::Opaque(Opaque::Special),
        });
        self.plan.directories.push(change);
        Ok(())
    }

    /// Returns the change that a directory needs to be as the goal's list has it. None: files tell it.
    fn to_goal(&self, goal: &GoalList, path: &RelPath, moved: &Moved) -> Result<Option<DirChange>> {
        let now = self.engine.root.dir_mode(path);
        let has_files = self.keeps_files(path, moved)?;
        let after = match goal.mode(path) {
            Some(mode) => Some(mode),
            None if !has_files => None,
            // its bits were the usual ones
            None if goal.now.mode(path).is_some() && now.is_some() => Some(goal.now.usual),
            None => return Ok(None),
        };
        Ok(Some(DirChange {
            path: path.clone(),
            before: now,
            after,
        }))
    }

    /// Plans the directories that lose their last file or directory: they go, unless the goal's list has them.
    fn emptied(
        &mut self,
        goal: &GoalList,
        moved: &Moved,
        changes: &BTreeMap<RelPath, DirChange>,
    ) -> Result<()> {
        let removed = changes.values().filter(|change| change.after.is_none());
        let losing: BTreeSet<RelPath> = removed
            .flat_map(|change| above(&change.path))
            .chain(moved.leaving.keys().cloned())
            .collect();
        for dir in &losing {
            if changes.contains_key(dir) || self.keeps_files(dir, moved)? {
                continue;
            }
            let now = self.engine.root.dir_mode(dir);
            if now.is_some() && goal.mode(dir).is_none() {
                self.plan.directories.push(DirChange {
                    path: dir.clone(),
                    before: now,
                    after: None,
                });
            }
        }
        Ok(())
    }

    /// Plans the directories of a run that come back with their files. The usual permission bits are the root's, and not those
    /// that this process gives to a new directory.
    fn remade(&self, goal: &GoalList, moved: &Moved, changes: &mut BTreeMap<RelPath, DirChange>) {
        let made = changes.values().filter(|change| change.after.is_some());
        let mut all: BTreeSet<RelPath> = made.flat_map(|change| above(&change.path)).collect();
        all.extend(moved.arriving.iter().cloned());
        for path in all {
            if !changes.contains_key(&path) && self.engine.root.dir_mode(&path).is_none() {
                let change = DirChange {
                    path: path.clone(),
                    before: None,
                    after: Some(goal.mode(&path).unwrap_or(goal.now.usual)),
                };
                changes.insert(path, change);
            }
        }
    }

    fn count_below(&self, dir: &RelPath) -> Result<usize> {
        file_state::count_below(&self.engine.store.conn, self.engine.here.root, dir)
    }

    /// True if a directory has files after the plan.
    fn keeps_files(&self, dir: &RelPath, moved: &Moved) -> Result<bool> {
        let leaving = moved.leaving.get(dir).copied().unwrap_or(0);
        Ok(moved.arriving.contains(dir) || self.count_below(dir)? > leaving)
    }

    /// Returns the file or the directory that keeps a directory from being removed.
    fn held_in(&self, change: &DirChange, moved: &Moved) -> Option<String> {
        if change.after.is_some() {
            return None;
        }
        let files = self.plan.files.iter();
        let leaving = files.filter_map(|f| f.before.as_ref());
        let leaving: BTreeSet<&RelPath> = leaving.map(|placed| &placed.path).collect();
        let planned = self.plan.directories.iter().filter(|d| d.after.is_none());
        let going: BTreeSet<&RelPath> = planned.map(|dir| &dir.path).chain(&moved.going).collect();
        let full = self.engine.root.path.join(change.path.to_path());
        remaining(&full, &change.path, &leaving, &|dir| going.contains(dir))
    }

    /// True if a file is at the path, and stays there.
    fn is_blocked_by_file(&self, dir: &RelPath) -> bool {
        let leaves = |path: &RelPath| {
            let mut leaving = self.plan.files.iter().filter_map(|f| f.before.as_ref());
            leaving.any(|placed| placed.path == *path)
        };
        let is_file = self
            .engine
            .root
            .stat(dir)
            .is_some_and(|stat| stat.kind() != rustix::fs::FileType::Directory);
        is_file && !leaves(dir)
    }

    /// Returns the list of noted directories at the goal. None: it is not known.
    fn goal_list(&self, walked: &[Walked]) -> Result<Option<GoalList>> {
        let (conn, root) = (&self.engine.store.conn, self.engine.here.root);
        let now = scan::noted_dirs::<NotedDirs>(conn, root)?;
        let Some(now) = now.filter(NotedDirs::is_whole) else {
            return Ok(None);
        };
        let mut modes: BTreeMap<RelPath, u32> = now
            .iter()
            .map(|(path, mode)| (path.clone(), mode))
            .collect();
        let (mut ours, mut others) = (BTreeSet::new(), BTreeSet::new());
        // only a restore of everyone's work moves changes of nobody knows whom
        let is_of_everyone = self.plan.is_switch()
            || matches!(self.r.goal, Goal::Rewind(_)) && self.r.exact && self.r.session.is_none();
        for change in reversed(&now.pending) {
            if is_of_everyone {
                ours.insert(change.path.clone());
            }
            follow(&mut modes, change);
        }
        for one in walked {
            let by = if one.is_ours { &mut ours } else { &mut others };
            by.extend(one.node.coverage.directories.iter().map(|c| c.path.clone()));
            for change in one.directed(one.node.coverage.noted_changes()) {
                by.insert(change.path.clone());
                follow(&mut modes, change);
            }
        }
        ours.retain(|path| !others.contains(path));
        // a scan by name does not list those above a directory that it finds empty
        let all_above: BTreeSet<RelPath> = modes.keys().flat_map(above).collect();
        for dir in all_above {
            modes.entry(dir).or_insert(now.usual);
        }
        Ok(Some(GoalList { now, modes, ours }))
    }
}

/// Returns the directories above a path, the innermost first.
fn above(path: &RelPath) -> impl Iterator<Item = RelPath> + use<> {
    std::iter::successors(path.parent(), RelPath::parent)
}
