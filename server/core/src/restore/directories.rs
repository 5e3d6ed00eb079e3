//! Directories of a restore: those that the work which it undoes has made, removed, or given other permission bits. Changes
//! that files tell by themselves are not part of it.

use std::collections::BTreeSet;
use std::ops::Deref;

use super::Restore;
use super::collisions::remaining_file;
use super::journal::JournalEntry;
use super::plan::PlanBuilder;
use super::types::{Action, ActionKind, Gap, GapKind, Goal, SwitchBranch};
use crate::engine::Engine;
use crate::error::Result;
use crate::history::{self, Ancestry};
use crate::model::{
    DirChange, Image, Kind, Node, NodeId, OpId, Opaque, Placed, RelPath, SessionId,
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

impl PlanBuilder<'_> {
    /// Plans the directories.
    pub(super) fn directories(&mut self, ancestry: &Ancestry<'_>) -> Result<()> {
        if !self.r.hunks.is_empty() {
            return Ok(());
        }
        let changes = self.dir_changes(ancestry)?;
        let is_in_scope = |path: &RelPath| {
            let scopes = &self.r.paths;
            scopes.is_empty() || scopes.iter().any(|scope| path.within(scope.bytes()))
        };
        let wanted: Vec<DirChange> = changes
            .into_iter()
            .filter(|c| is_in_scope(&c.path))
            .collect();
        for change in joined(wanted) {
            let now = self.engine.root.dir_mode(&change.path);
            if now == change.after {
                if now.is_some() && self.loses_files(&change.path) {
                    // it goes with its last file, and is made again
                    self.plan.directories.push(DirChange {
                        before: None,
                        ..change
                    });
                }
                continue;
            }
            if change.after.is_none() && self.gets_file(&change.path) {
                continue;
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
                continue;
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
        }
        self.plan.actions.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(())
    }

    /// True if the plan takes a file out of a directory, and leaves none there.
    fn loses_files(&self, dir: &RelPath) -> bool {
        let is_in = |placed: &Placed| placed.path.within(dir.bytes());
        let files = &self.plan.files;
        let leaves = files.iter().filter_map(|f| f.before.as_ref()).any(is_in);
        leaves && !self.gets_file(dir)
    }

    /// True if the plan puts a file into a directory, which makes it.
    fn gets_file(&self, dir: &RelPath) -> bool {
        let mut arriving = self.plan.files.iter().filter_map(|f| f.after.as_ref());
        arriving.any(|placed| placed.path.within(dir.bytes()))
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

    /// True if a file is at the path, or the plan writes one there.
    fn is_blocked_by_file(&self, dir: &RelPath) -> bool {
        let mut arriving = self.plan.files.iter().filter_map(|f| f.after.as_ref());
        let leaves = |path: &RelPath| {
            let mut leaving = self.plan.files.iter().filter_map(|f| f.before.as_ref());
            leaving.any(|placed| placed.path == *path)
        };
        let is_file = self
            .engine
            .root
            .stat(dir)
            .is_some_and(|stat| stat.kind() != rustix::fs::FileType::Directory);
        is_file && !leaves(dir) || arriving.any(|placed| placed.path == *dir)
    }

    /// Returns the changes that lead from the present directories to the wanted ones, in their order.
    fn dir_changes(&self, ancestry: &Ancestry<'_>) -> Result<Vec<DirChange>> {
        let conn = &self.engine.store.conn;
        let of_op = |op: Option<OpId>, is_forward: bool| -> Result<Vec<DirChange>> {
            let node = op.map(|op| history::operation(conn, op)).transpose()?;
            let Some(node) = node.and_then(|done| done.node) else {
                return Ok(Vec::new());
            };
            let changes = history::node(conn, node)?.coverage.directories;
            Ok(if is_forward {
                changes
            } else {
                reversed(&changes)
            })
        };
        match &self.r.goal {
            _ if self.plan.is_switch() => self.switched_dirs(ancestry),
            Goal::Rewind(target) => self.rewound_dirs(ancestry, *target),
            Goal::Revert(nodes) => self.reverted_dirs(ancestry, nodes),
            Goal::Undo(_) => of_op(self.plan.of, false),
            Goal::Redo => of_op(self.plan.of, true),
            Goal::Switch { .. } | Goal::Fork { .. } => Ok(Vec::new()),
        }
    }

    fn rewound_dirs(&self, ancestry: &Ancestry<'_>, target: NodeId) -> Result<Vec<DirChange>> {
        let conn = &self.engine.store.conn;
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
                dirs_between(ancestry, self.head, target)
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
            .flat_map(|node| &node.coverage.directories)
            .map(|change| change.path.clone())
            .collect();
        let mut changes = Vec::new();
        for node in nodes {
            let is_theirs = movers.made(&node);
            let mut directories = reversed(&node.coverage.directories);
            // a restore in between has moved what they had made
            directories.retain(|change| {
                is_theirs || node.kind == Kind::Rewind && theirs.contains(&change.path)
            });
            changes.extend(directories);
        }
        Ok(changes)
    }

    fn reverted_dirs(&self, ancestry: &Ancestry<'_>, units: &[NodeId]) -> Result<Vec<DirChange>> {
        let conn = &self.engine.store.conn;
        let mut changes = Vec::new();
        for unit in units {
            if !ancestry.is_ancestor(*unit, self.head)? {
                continue;
            }
            let of = history::node(conn, *unit)?;
            if of.kind != Kind::Turn {
                changes.extend(reversed(&of.coverage.directories));
                continue;
            }
            for id in ancestry.after(Some(*unit), self.head)? {
                let node = history::node(conn, id)?;
                if node.turn == of.turn && node.kind == Kind::Step {
                    changes.extend(reversed(&node.coverage.directories));
                }
            }
        }
        Ok(changes)
    }

    fn switched_dirs(&self, ancestry: &Ancestry<'_>) -> Result<Vec<DirChange>> {
        let conn = &self.engine.store.conn;
        let to = match self.plan.to_branch {
            Some(SwitchBranch::New(node)) => Some(node),
            Some(SwitchBranch::Existing(branch)) => history::head(conn, branch)?,
            None => None,
        };
        to.map_or(Ok(Vec::new()), |to| dirs_between(ancestry, self.head, to))
    }
}

/// Reverses changes that belong together, the last one first.
fn reversed(changes: &[DirChange]) -> Vec<DirChange> {
    changes.iter().rev().map(DirChange::reversed).collect()
}

/// Returns the changes from the directories of one checkpoint to those of another.
pub(crate) fn dirs_between(
    ancestry: &Ancestry<'_>,
    from: NodeId,
    to: NodeId,
) -> Result<Vec<DirChange>> {
    let conn = ancestry.conn();
    let common = ancestry.common(from, to)?;
    let mut changes = Vec::new();
    for id in ancestry.after(common, from)? {
        changes.extend(reversed(&history::node(conn, id)?.coverage.directories));
    }
    for id in ancestry.after(common, to)?.into_iter().rev() {
        changes.extend(history::node(conn, id)?.coverage.directories);
    }
    Ok(joined(changes))
}

impl<E: Deref<Target = Engine>> Restore<E> {
    /// Makes and changes the directories of an operation that files or others are to be made in, or all of them. None is
    /// removed before the outcome is recorded.
    pub(super) fn make_dirs(&self, op: OpId, for_files: bool) -> Result<()> {
        for change in operation::directories(&self.engine.store.conn, op)? {
            let Some(mode) = change.after else { continue };
            let now = self.engine.root.dir_mode(&change.path);
            let is_wanted = !for_files || mode & OWNER_WRITES != 0;
            if is_wanted && now != Some(mode) && (now == change.before || change.before.is_none()) {
                self.engine.root.make_dir(&change.path, mode)?;
            }
        }
        Ok(())
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
    /// afterwards, if they changed: as a scan would find them, so that none counts as a change of the user.
    pub(super) fn finish_dirs(
        &self,
        op: OpId,
        lines: &[JournalEntry],
    ) -> Result<Option<NotedDirs>> {
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
        Ok((noted != before).then_some(noted))
    }
}
