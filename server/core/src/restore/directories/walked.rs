//! Checkpoints between the present and the goal of a restore, with the changes of directories that each recorded.

use std::collections::{BTreeMap, BTreeSet};

use crate::error::Result;
use crate::history::{self, Ancestry};
use crate::model::{Coverage, DirChange, Kind, Node, NodeId, RelPath, SessionId};
use crate::restore::goal::find_session;
use crate::restore::plan::PlanBuilder;
use crate::restore::types::{Goal, SwitchBranch};
use crate::worktree::directories::NotedDirs;

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
pub(super) struct Walked {
    pub node: Node,
    pub is_forward: bool,
    /// True if the restore undoes, or repeats, this checkpoint's work.
    pub is_ours: bool,
}

impl Walked {
    pub(super) fn directed(&self, changes: &[DirChange]) -> Vec<DirChange> {
        if self.is_forward {
            changes.to_vec()
        } else {
            reversed(changes)
        }
    }
}

impl PlanBuilder<'_> {
    /// Returns the checkpoints between the present and the goal, in the order in which they are walked.
    pub(super) fn walked(&self, ancestry: &Ancestry<'_>) -> Result<Vec<Walked>> {
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
            (Some(name), ..) => Movers::Session(find_session(conn, name)?),
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
pub(super) fn reversed(changes: &[DirChange]) -> Vec<DirChange> {
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
pub(super) fn follow(noted: &mut BTreeMap<RelPath, u32>, change: DirChange) {
    match change.after {
        Some(mode) => noted.insert(change.path, mode),
        None => noted.remove(&change.path),
    };
}
