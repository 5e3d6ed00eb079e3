//! Directories of a restore: those that the work which it undoes has made, removed, or given other permission bits. Changes
//! that files tell by themselves are not part of it.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Deref;

use super::Restore;
use super::collisions::remaining_file;
use super::journal::JournalEntry;
use super::plan::PlanBuilder;
use super::types::{Action, ActionKind, FilePlan, Gap, GapKind, Goal, SwitchBranch};
use crate::engine::Engine;
use crate::error::Result;
use crate::history::{self, Ancestry};
use crate::model::{
    Coverage, DirChange, Image, Kind, Node, NodeId, OpId, Opaque, RelPath, SessionId,
};
use crate::store::tables::operation;
use crate::store::tables::root::scan;
use crate::worktree::directories::{NotedDirs, joined};
use crate::worktree::file_state;

/// Bit of a directory's owner, without which nothing can be made in it.
const OWNER_WRITES: u32 = 0o200;

/// Authors whose directories a rewind moves.
enum Movers {
    Everyone,
    Agents,
    Session(SessionId),
}

impl Movers {
    /// True if a checkpoint is their work. A restore is nobody's.
    fn made(&self, node: &Node) -> bool {
        let is_work = node.kind != Kind::Rewind;
        match self {
            Self::Everyone => true,
            Self::Agents => is_work && node.session.is_some(),
            Self::Session(session) => is_work && node.session == Some(*session),
        }
    }
}

/// A checkpoint between the present and the goal of a restore.
struct Walked {
    node: Node,
    is_forward: bool,
    /// True if the restore undoes, or repeats, this checkpoint's work.
    is_ours: bool,
}

impl Walked {
    fn directed(&self, changes: &[DirChange]) -> Vec<DirChange> {
        if self.is_forward {
            changes.to_vec()
        } else {
            reversed(changes)
        }
    }
}

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
        let moved = Moved::of(&self.plan.files);
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
        }
        for change in changes.into_values() {
            self.directory(change, &moved)?;
        }
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
        let held = self.held_in(&change);
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

    fn count_below(&self, dir: &RelPath) -> Result<usize> {
        file_state::count_below(&self.engine.store.conn, self.engine.here.root, dir)
    }

    /// True if a directory has files after the plan.
    fn keeps_files(&self, dir: &RelPath, moved: &Moved) -> Result<bool> {
        let leaving = moved.leaving.get(dir).copied().unwrap_or(0);
        Ok(moved.arriving.contains(dir) || self.count_below(dir)? > leaving)
    }

    /// Returns a file that keeps a directory from being removed.
    fn held_in(&self, change: &DirChange) -> Option<String> {
        let files = self.plan.files.iter();
        let leaving = files.filter_map(|f| f.before.as_ref());
        let leaving: BTreeSet<&RelPath> = leaving.map(|placed| &placed.path).collect();
        if change.after.is_some() {
            return None;
        }
        let full = self.engine.root.path.join(change.path.to_path());
        remaining_file(&full, &change.path, &leaving)
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

    /// Returns the checkpoints between the present and the goal, in the order in which they are walked.
    fn walked(&self, ancestry: &Ancestry<'_>) -> Result<Vec<Walked>> {
        match &self.r.goal {
            _ if self.plan.is_switch() => {
                let to = match self.plan.to_branch {
                    Some(SwitchBranch::New(node)) => Some(node),
                    Some(SwitchBranch::Existing(branch)) => history::head(ancestry.conn(), branch)?,
                    None => None,
                };
                to.map_or(Ok(Vec::new()), |to| between(ancestry, self.head, to))
            }
            Goal::Rewind(target) => self.walked_to(ancestry, *target),
            Goal::Revert(units) => self.walked_units(ancestry, units),
            Goal::Undo(_) => self.walked_operation(ancestry, false),
            Goal::Redo => self.walked_operation(ancestry, true),
            Goal::Switch { .. } | Goal::Fork { .. } => Ok(Vec::new()),
        }
    }

    fn walked_operation(&self, ancestry: &Ancestry<'_>, is_forward: bool) -> Result<Vec<Walked>> {
        let conn = ancestry.conn();
        let op = self.plan.of.map(|op| history::operation(conn, op));
        let Some(of) = op.transpose()?.and_then(|done| done.node) else {
            return Ok(Vec::new());
        };
        let mut walked = Vec::new();
        if !is_forward && ancestry.is_ancestor(of, self.head)? {
            for id in ancestry.after(Some(of), self.head)? {
                walked.push(Walked {
                    node: history::node(conn, id)?,
                    is_forward: false,
                    is_ours: false,
                });
            }
        }
        walked.push(Walked {
            node: history::node(conn, of)?,
            is_forward,
            is_ours: true,
        });
        Ok(walked)
    }

    fn walked_to(&self, ancestry: &Ancestry<'_>, target: NodeId) -> Result<Vec<Walked>> {
        let conn = ancestry.conn();
        let node = history::node(conn, target)?;
        let movers = match (&self.r.session, self.r.exact, node.kind, node.session) {
            (Some(name), ..) => Movers::Session(super::goal::find_session(conn, name)?),
            (None, true, ..) => Movers::Everyone,
            (None, false, Kind::Turn | Kind::Step, Some(session)) if !self.r.all_sessions => {
                Movers::Session(session)
            }
            _ => Movers::Agents,
        };
        if !ancestry.is_ancestor(target, self.head)? {
            return if matches!(movers, Movers::Everyone) {
                between(ancestry, self.head, target)
            } else {
                Ok(Vec::new())
            };
        }
        let nodes = ancestry.after(Some(target), self.head)?.into_iter();
        let nodes: Vec<Node> = nodes
            .map(|id| history::node(conn, id))
            .collect::<Result<_>>()?;
        let theirs: BTreeSet<RelPath> = nodes
            .iter()
            .filter(|node| movers.made(node))
            .flat_map(|node| changed_dirs(&node.coverage))
            .collect();
        let walked = nodes.into_iter().flat_map(|node| {
            let is_ours = movers.made(&node);
            let is_restore = node.kind == Kind::Rewind;
            let one = |node, is_ours| Walked {
                node,
                is_forward: false,
                is_ours,
            };
            if is_ours || !is_restore {
                return vec![one(node, is_ours)];
            }
            // a restore in between has moved what they had made, and what others had
            let (mut ours, mut others) = (node.clone(), node);
            ours.coverage.retain_dirs(|path| theirs.contains(path));
            others.coverage.retain_dirs(|path| !theirs.contains(path));
            vec![one(ours, true), one(others, false)]
        });
        Ok(walked.collect())
    }

    fn walked_units(&self, ancestry: &Ancestry<'_>, units: &[NodeId]) -> Result<Vec<Walked>> {
        let conn = ancestry.conn();
        let mut first = None;
        let (mut turns, mut own) = (BTreeSet::new(), BTreeSet::new());
        for unit in units {
            if !ancestry.is_ancestor(*unit, self.head)? {
                continue;
            }
            let node = history::node(conn, *unit)?;
            if node.kind == Kind::Turn {
                turns.extend(node.turn);
            } else {
                own.insert(*unit);
            }
            first = Some(first.map_or(*unit, |first: NodeId| first.min(*unit)));
        }
        let Some(first) = first else {
            return Ok(Vec::new());
        };
        let mut ids = ancestry.after(Some(first), self.head)?;
        ids.push(first);
        let walked = ids.into_iter().map(|id| {
            let node = history::node(conn, id)?;
            let is_of_turn =
                node.kind == Kind::Step && node.turn.is_some_and(|turn| turns.contains(&turn));
            Ok(Walked {
                is_ours: is_of_turn || own.contains(&id),
                is_forward: false,
                node,
            })
        });
        walked.collect()
    }
}

fn changed_dirs(coverage: &Coverage) -> impl Iterator<Item = RelPath> {
    let noted = coverage.noted.iter().flatten();
    coverage
        .directories
        .iter()
        .chain(noted)
        .map(|change| change.path.clone())
}

/// Reverses changes that belong together, the last one first.
fn reversed(changes: &[DirChange]) -> Vec<DirChange> {
    changes.iter().rev().map(DirChange::reversed).collect()
}

/// Returns the checkpoints between two.
fn between(ancestry: &Ancestry<'_>, from: NodeId, to: NodeId) -> Result<Vec<Walked>> {
    let common = ancestry.common(from, to)?;
    let back = ancestry.after(common, from)?.into_iter();
    let forward = ancestry.after(common, to)?.into_iter().rev();
    let all = back
        .map(|id| (id, false))
        .chain(forward.map(|id| (id, true)));
    let walked = all.map(|(id, is_forward)| {
        Ok(Walked {
            node: history::node(ancestry.conn(), id)?,
            is_forward,
            is_ours: true,
        })
    });
    walked.collect()
}

/// Returns the noted directories of a checkpoint, with the permission bits of each. `now`: those at another checkpoint.
pub(crate) fn noted_at(
    ancestry: &Ancestry<'_>,
    (now, head): (&NotedDirs, NodeId),
    node: NodeId,
) -> Result<BTreeMap<RelPath, u32>> {
    let mut noted: BTreeMap<RelPath, u32> = now
        .iter()
        .map(|(path, mode)| (path.clone(), mode))
        .collect();
    let walked = between(ancestry, head, node)?;
    let changes = walked
        .iter()
        .flat_map(|one| one.directed(one.node.coverage.noted_changes()));
    for change in reversed(&now.pending).into_iter().chain(changes) {
        follow(&mut noted, change);
    }
    Ok(noted)
}

/// Carries a change of the list of noted directories out.
fn follow(noted: &mut BTreeMap<RelPath, u32>, change: DirChange) {
    match change.after {
        Some(mode) => noted.insert(change.path, mode),
        None => noted.remove(&change.path),
    };
}

/// Returns the directories above a path, the innermost first.
fn above(path: &RelPath) -> impl Iterator<Item = RelPath> + use<> {
    std::iter::successors(path.parent(), RelPath::parent)
}

impl<E: Deref<Target = Engine>> Restore<E> {
    /// Makes and changes the directories of an operation that files or others are to be made in, or all of them. None is
    /// removed before the outcome is recorded. Returns those that could not be made or changed: they do not stop the others.
    pub(super) fn make_dirs(&self, op: OpId, for_files: bool) -> Result<Vec<Gap>> {
        let mut failed = Vec::new();
        for change in operation::directories(&self.engine.store.conn, op)? {
            let Some(mode) = change.after else { continue };
            let now = self.engine.root.dir_mode(&change.path);
            let is_wanted = !for_files || mode & OWNER_WRITES != 0;
            if is_wanted
                && now != Some(mode)
                && (now == change.before || change.before.is_none())
                && let Err(error) = self.engine.root.make_dir(&change.path, mode)
            {
                failed.push(Gap {
                    path: Some(change.path.bytes().to_vec()),
                    kind: GapKind::Directory,
                    detail: error.to_string(),
                });
            }
        }
        Ok(failed)
    }

    /// Returns the changes of directories that an operation makes, but those that files tell.
    pub(super) fn told_dirs(&self, op: OpId) -> Result<Vec<DirChange>> {
        let conn = &self.engine.store.conn;
        let mut changes = operation::directories(conn, op)?;
        if let Some(noted) = scan::noted_dirs::<NotedDirs>(conn, self.engine.here.root)? {
            changes.retain(|c| c.after.is_some() || noted.mode(&c.path).is_some());
        }
        Ok(changes)
    }

    /// Takes back what `make_dirs` did.
    pub(super) fn unmake_dirs(&self, op: OpId) -> Result<()> {
        let root = &self.engine.root;
        for change in operation::directories(&self.engine.store.conn, op)?
            .iter()
            .rev()
        {
            match (change.before, root.dir_mode(&change.path)) {
                (None, Some(_)) => drop(root.remove_dir(&change.path)),
                (Some(before), Some(now)) if before != now => {
                    root.make_dir(&change.path, before)?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Removes the directories of a recorded operation, unless they hold something by now. Returns the noted directories
    /// afterwards, as a scan would find them, so that none counts as a change of the user, and the changes of their list. None:
    /// nothing of it has changed.
    pub(super) fn finish_dirs(
        &self,
        op: OpId,
        lines: &[JournalEntry],
    ) -> Result<Option<(NotedDirs, Vec<DirChange>)>> {
        let (conn, root) = (&self.engine.store.conn, &self.engine.root);
        let here = self.engine.here.root;
        let changes = operation::directories(conn, op)?;
        let is_switch = history::operation(conn, op)?.to_branch.is_some();
        // the innermost first
        for change in changes.iter().rev().filter(|c| c.after.is_none()) {
            if is_switch {
                root.remove_empty_dirs(&change.path);
            } else {
                root.remove_dir(&change.path);
            }
        }
        let Some(mut noted) = scan::noted_dirs::<NotedDirs>(conn, here)? else {
            return Ok(None);
        };
        let before = noted.clone();
        let mut touched: BTreeSet<RelPath> = changes.into_iter().map(|c| c.path).collect();
        for path in lines.iter().map(|line| &line.path) {
            // a file may have taken the place of a directory
            touched.extend(noted.mode(path).map(|_| path.clone()));
            let mut at = path.parent();
            while let Some(dir) = at {
                at = dir.parent();
                if !touched.insert(dir) {
                    break;
                }
            }
        }
        for dir in touched {
            let mode = root.dir_mode(&dir);
            let is_bare = mode.is_some() && file_state::count_below(conn, here, &dir)? == 0;
            noted.set(dir, mode, is_bare);
        }
        let mut list = before.differences_to(&noted);
        if is_switch {
            // they are those of the other branch
            noted.pending.clear();
        } else {
            let is_moved = |c: &DirChange| list.iter().any(|moved| moved.path == c.path);
            let (first, rest) = std::mem::take(&mut noted.pending)
                .into_iter()
                .partition(is_moved);
            noted.pending = rest;
            list = joined([first, list].concat());
        }
        Ok((noted != before).then_some((noted, list)))
    }
}
