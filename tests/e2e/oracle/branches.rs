//! Several branches: switching back and forth, with and without the user's edits.

use std::collections::BTreeSet;

use backstitch_core::BranchStart;
use backstitch_core::model::{Kind, NodeId};
use backstitch_core::restore::{ActionKind, GapKind, Goal, OnConflict, Plan, Request};

use super::model::{Files, Who, tokens_in};
use super::ops::{Choice, Op};
use super::restore::Outcome;
use super::world::{Checked, World};

impl World {
    pub(super) fn name(&mut self, node: u16, tag: bool) -> Checked {
        let node = self.nth_node(node);
        self.counter += 1;
        if tag {
            let name = format!("tag-{}", self.counter);
            let done = self.engine.forks_mut().tag(&name, node);
            done.map_err(|e| format!("tag {name}: {e}"))?;
            self.tags.push((name, node));
            return Ok(());
        }
        let name = format!("branch-{}", self.counter);
        let made = self
            .engine
            .forks_mut()
            .create_branch(&BranchStart::new(&name, node));
        made.map_err(|e| format!("branch {name}: {e}"))?;
        self.branches.push(name);
        Ok(())
    }

    /// L8: a tag stays on its node, and a branch's head is its newest checkpoint.
    pub(super) fn names_hold(&self) -> Checked {
        for (name, node) in &self.tags {
            let found = self.engine.history().resolve(name);
            if found.as_ref().ok() != Some(node) {
                return Err(format!("L8: tag {name} of {node} is at {found:?}"));
            }
        }
        Ok(())
    }

    /// L8: the nearest common ancestor equals the one found by walking the parents.
    pub(super) fn ancestor(&mut self, one: u16, other: u16) -> Checked {
        let (one, other) = (self.nth_node(one), self.nth_node(other));
        let chain: BTreeSet<NodeId> = self.chain(one).collect();
        let expected = self.chain(other).find(|n| chain.contains(n));
        let found = self.engine.forks().ancestor(one, other);
        let found = found.map_err(|e| format!("ancestor: {e}"))?;
        if found != expected {
            return Err(format!(
                "L8: the common ancestor of {one} and {other} is {expected:?}, not {found:?}"
            ));
        }
        Ok(())
    }

    pub(super) fn switch(&mut self, op: &Op) -> Checked {
        let Op::Switch {
            branch,
            carry,
            choice,
            back,
        } = op
        else {
            return Ok(());
        };
        let name = self.branches[usize::from(*branch) % self.branches.len()].clone();
        let request = Request {
            on_conflict: match choice {
                Choice::Fail => OnConflict::Fail,
                Choice::Markers => OnConflict::Markers,
                Choice::Current => OnConflict::Current,
                Choice::Target => OnConflict::Target,
            },
            ..Request::new(Goal::Switch {
                branch: name.clone(),
                carry: *carry,
            })
        };
        let from = self.branch.clone();
        let before = self.disk();
        let heads = self
            .engine
            .forks()
            .branch(&name)
            .map_err(|e| format!("{name}: {e}"))?;
        match self.restore(&request)? {
            Outcome::Refused(plan) => {
                let target = heads.head.unwrap_or(NodeId(1));
                if !carry && !self.may_be_in_the_way(&before, target) {
                    let conflicts = plan.map(|p| p.conflicts);
                    return Err(format!("L8: switch to {name}: refused: {conflicts:#?}"));
                }
                return Ok(());
            }
            Outcome::Done(applied) if applied.operation.is_none() => return Ok(()),
            Outcome::Done(_) => self.counts.switches[usize::from(*carry)] += 1,
        }
        // a scan finds nothing but files that the old branch ignored
        let head = self.head()?;
        self.engine
            .capture_mut()
            .record_changes()
            .map_err(|e| format!("look: {e}"))?;
        self.asked();
        self.settled("a look after a switch")?;
        let calm = self.calls.iter().all(|c| c.names.is_none()) && *choice == Choice::Fail;
        if let Some(found) = self.head()?.filter(|found| calm && Some(*found) != head) {
            let entry = self.engine.history().entry(found);
            let entry = entry.map_err(|e| format!("entry {found}: {e}"))?;
            if !entry.changes.is_empty() {
                return Err(format!(
                    "L8: a look after the switch to {name} found {:#?}",
                    entry.changes
                ));
            }
        }
        if *back && self.branch != from {
            let after = self.disk();
            self.switch_back(&name, (&before, &after), heads.head, calm)?;
        }
        Ok(())
    }

    /// L2: the undo of a switch restores both branches, and redo restores the switch.
    fn switch_back(
        &mut self,
        name: &str,
        (before, after): (&Files, &Files),
        head: Option<NodeId>,
        calm: bool,
    ) -> Checked {
        for goal in [Goal::Undo(None), Goal::Redo, Goal::Undo(None)] {
            let undo = goal != Goal::Redo;
            let Outcome::Done(_) = self.restore(&Request::new(goal))? else {
                return Ok(());
            };
            if !calm {
                return Ok(());
            }
            let now = self.disk();
            self.same(if undo { before } else { after }, &now)
                .map_err(|e| format!("L2: undo or redo of the switch to {name}: {e}"))?;
            if let Some(head) = head.filter(|_| undo) {
                let there = self.engine.history().resolve(name);
                let there = there.map_err(|e| format!("{name}: {e}"))?;
                let (was, is) = (self.expected[&head].clone(), self.expected[&there].clone());
                let wrong: Vec<&String> = was
                    .keys()
                    .chain(is.keys())
                    .filter(|p| was.get(*p) != is.get(*p))
                    .filter(|p| !self.unknown_at(p, head))
                    .collect();
                if !wrong.is_empty() {
                    return Err(format!(
                        "L2: undo of the switch to {name}: there, {wrong:?} are not as they were"
                    ));
                }
            }
        }
        Ok(())
    }

    /// Checks a switch: tracked files of the branch are restored, and all others are left alone.
    pub(super) fn switched(
        &mut self,
        what: &str,
        request: &Request,
        plan: &Plan,
        after: &Files,
    ) -> Checked {
        let Some(head) = self.head()? else {
            return Ok(());
        };
        let came = std::mem::replace(
            &mut self.came,
            // a switch back restores the state at the time of leaving
            matches!(request.goal, Goal::Switch { .. })
                .then(|| self.expected.keys().next_back().copied())
                .flatten(),
        );
        let entry = self.engine.history().entry(head);
        let made = entry.map_err(|e| format!("entry {head}: {e}"))?.node;
        let new = !self.expected.contains_key(&head);
        let carried = matches!(request.goal, Goal::Switch { carry: true, .. })
            || (new && made.kind == Kind::Rewind);
        let target = if new {
            made.parent.unwrap_or(head)
        } else {
            head
        };
        let arrived = self.arrived.replace(target).or(came);
        let there = self.expected[&target].clone();
        let skipped = |path: &str| {
            let of = |a: &&backstitch_core::restore::Action| a.path.display() == path;
            let mut actions = plan.actions.iter().filter(of);
            actions.any(|a| a.kind == ActionKind::Skip)
        };
        // a file that was renamed since it was adopted is unknown at its new path, too
        let said_unknown = |path: &str| {
            let unknown = plan.gaps.iter().filter(|g| g.kind == GapKind::Unknown);
            let mut paths = unknown.filter_map(|gap| gap.path.as_deref());
            paths.any(|gap| gap == path.as_bytes())
        };
        if carried {
            self.carried_hold(what, &there, after, request, (came, arrived))?;
        } else {
            for (path, entry) in &there {
                let free = !skipped(path) && !self.unknown_at(path, target) && !self.is_held(path);
                if free && after.get(path) != Some(entry) {
                    let found = after.get(path);
                    return Err(format!(
                        "L8: {what}: {path} should be {entry:?}, is {found:?}"
                    ));
                }
            }
            for path in self.seen.keys().filter(|p| !there.contains_key(*p)) {
                let unknown = self.unknown_at(path, target) || said_unknown(path);
                let free = !skipped(path) && !unknown && !self.is_held(path);
                if free && after.contains_key(path) {
                    return Err(format!("L8: {what}: {path} is of the branch that was left"));
                }
            }
        }
        self.seen = self.recorded(head)?;
        let strangers = self.seen.keys().filter(|p| !there.contains_key(*p));
        let strangers: Vec<String> = strangers.cloned().collect();
        if new && made.kind == Kind::External {
            self.adopted
                .extend(strangers.into_iter().map(|p| (p, head)));
        }
        for (path, entry) in &self.seen {
            if !skipped(path) && !self.is_held(path) && after.get(path) != Some(entry) {
                let found = after.get(path);
                return Err(format!(
                    "L8: {what}: {path} is recorded as {entry:?}, is {found:?}"
                ));
            }
        }
        Ok(())
    }

    /// Checks carried edits: they are there, and so are all other lines, except those that the user had deleted.
    fn carried_hold(
        &self,
        what: &str,
        there: &Files,
        after: &Files,
        request: &Request,
        (came, arrived): (Option<NodeId>, Option<NodeId>),
    ) -> Checked {
        if request.on_conflict == OnConflict::Current || request.on_conflict == OnConflict::Target {
            return Ok(());
        }
        let (had, has, were) = (tokens_in(&self.seen), tokens_in(after), tokens_in(there));
        for line in had.keys() {
            let Some(token) = self.tokens.get(line) else {
                continue;
            };
            let since = |n: NodeId| came.is_some_and(|came| n > came);
            let newest = self.newest_of_left();
            let fresh = token.node.is_some_and(|n| Some(n) == newest && since(n));
            let older = token.node.zip(came).is_some_and(|(n, came)| n <= came);
            if older && has.contains_key(line) && !were.contains_key(line) {
                // a line that was put into this file since, by a copy, a move or an earlier carry, is a new edit of it
                let had = |p: &String| arrived.is_some_and(|then| self.had_line(then, p, line));
                let left =
                    |p: &String| had(p) && (there.contains_key(p) || !self.seen.contains_key(p));
                if request.on_conflict == OnConflict::Fail && has[line].iter().all(left) {
                    return Err(format!(
                        "L8: {what}: {line} ({token:?}) was carried along, and is older than that"
                    ));
                }
            }
            let users = token.who == Who::User && token.sure == super::model::Sure::Yes;
            if fresh && users && !has.contains_key(line) && !were.contains_key(line) {
                return Err(format!(
                    "L8: {what}: {line} ({token:?}) was not carried along"
                ));
            }
        }
        Ok(())
    }

    /// True if a file had this line in the state of a node.
    fn had_line(&self, node: NodeId, path: &str, line: &str) -> bool {
        let Some(files) = self.expected.get(&node) else {
            return true;
        };
        let lines = tokens_in(files);
        lines
            .get(line)
            .is_some_and(|paths| paths.iter().any(|p| p == path))
    }

    /// Head of the branch that was just left, if it is a node of the user.
    fn newest_of_left(&self) -> Option<NodeId> {
        let newest = *self.expected.keys().next_back()?;
        let entry = self.engine.history().entry(newest).ok()?;
        let users = |c: &backstitch_core::EntryChange| {
            c.change.origin == backstitch_core::model::Origin::USER
        };
        let whole = entry.changes.iter().all(users);
        (entry.node.kind == Kind::External && whole).then_some(newest)
    }

    /// L5: reverts several nodes at once, and then that revert.
    pub(super) fn revert_many(&mut self, nodes: &[NodeId], back: bool) -> Checked {
        self.mixed = true;
        let before = self.disk();
        let Outcome::Done(applied) = self.restore(&Request::new(Goal::Revert(nodes.to_vec())))?
        else {
            return Ok(());
        };
        let Some(made) = applied.node.filter(|_| back) else {
            return Ok(());
        };
        match self.restore(&Request::new(Goal::Revert(vec![made])))? {
            Outcome::Done(_) => {}
            Outcome::Refused(_) if self.calls.iter().any(|c| c.names.is_some()) => return Ok(()),
            Outcome::Refused(plan) => {
                let conflicts = plan.map(|p| p.conflicts);
                return Err(format!(
                    "L5: revert {made}, which reverted {nodes:?}: refused: {conflicts:#?}"
                ));
            }
        }
        let now = self.disk();
        self.same(&before, &now)
            .map_err(|e| format!("L5: revert {nodes:?} twice: {e}"))
    }
}
