//! Rewinds, reverts, undo and redo, checked against the model and the laws.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use backstitch_core::ErrorKind;
use backstitch_core::model::{Kind, NodeId, OpId, RelPath};
use backstitch_core::restore::{ActionKind, Applied, Goal, OnConflict, Plan, Request};

use super::model::{Entry, Files, Sure, Who, on_disk, tokens_in, unlike};
use super::ops::{Ask, Choice, Op, PATHS};
use super::world::{Checked, RULES_FILE, World};

/// Result of a request.
pub enum Outcome {
    Done(Box<Applied>),
    /// Refused, because of these conflicts or for another reason; nothing was changed.
    Refused(Option<Box<Plan>>),
}

pub fn exact(node: NodeId) -> Request {
    Request {
        exact: true,
        ..Request::new(Goal::Rewind(node))
    }
}

impl World {
    pub(super) fn restore_op(&mut self, op: &Op) -> Checked {
        match op {
            Op::Rewind(ask) => self.rewind(ask),
            Op::Revert { node, back } => {
                let node = self.nth_node(*node);
                self.revert(node, *back)
            }
            Op::RevertMany { nodes, back } => {
                let nodes: Vec<NodeId> = nodes.iter().map(|n| self.nth_node(*n)).collect();
                self.revert_many(&nodes, *back)
            }
            Op::Name { node, tag } => self.name(*node, *tag),
            Op::Switch { .. } => self.switch(op),
            Op::Collect { keep, all } => self.collect(*keep, *all),
            Op::Ancestor { one, other } => self.ancestor(*one, *other),
            Op::Elsewhere { node, path, how } => self.elsewhere(*node, *path, *how),
            Op::RevertBoth { one, other } => {
                let (one, other) = (self.nth_node(*one), self.nth_node(*other));
                self.revert_both(one, other)
            }
            Op::Undo { op } => {
                let op = match op {
                    Some(n) => {
                        let all = self
                            .engine
                            .history()
                            .operations()
                            .map_err(|e| format!("operations: {e}"))?;
                        let Some(last) = all.len().checked_sub(1) else {
                            return Ok(());
                        };
                        Some(all[usize::from(*n) % (last + 1)].id)
                    }
                    None => None,
                };
                self.mixed |= self.branches.len() > 1;
                self.restore(&Request::new(Goal::Undo(op))).map(|_| ())
            }
            _ => self.restore(&Request::new(Goal::Redo)).map(|_| ()),
        }
    }

    pub fn nth_node(&self, n: u16) -> NodeId {
        let nodes: Vec<NodeId> = self.expected.keys().copied().collect();
        nodes[usize::from(n) % nodes.len()]
    }

    /// Plans and applies a request, and checks the laws of every request. A plan is carried out as shown, and other
    /// files keep even their timestamps. A refusal changes nothing, and no temporary file remains.
    pub fn restore(&mut self, request: &Request) -> Checked<Outcome> {
        let what = format!("{request:?}");
        let (before, marks) = on_disk(&self.root);
        let fail = |e: backstitch_core::Error| -> Checked<Outcome> {
            match e.kind() {
                ErrorKind::Refused | ErrorKind::NotFound => Ok(Outcome::Refused(None)),
                // one of several nodes may be the revert of another
                ErrorKind::Usage if matches!(&request.goal, Goal::Revert(n) if n.len() > 1) => {
                    Ok(Outcome::Refused(None))
                }
                _ => Err(format!("{what}: {e}")),
            }
        };
        let undisturbed = self
            .engine
            .restore()
            .plan_undisturbed(request)
            .map_err(|e| format!("{what}, from what is recorded: {e}"))?;
        let planned = self.engine.restore_mut().plan(request);
        let same_rules = before.get(RULES_FILE) == self.rules_scanned.as_ref();
        same_plan(
            &what,
            same_rules,
            undisturbed.as_ref(),
            planned.as_ref().ok(),
        )?;
        self.asked();
        self.settled("a plan")?;
        let plan = match planned {
            Ok(plan) => plan,
            Err(e) => {
                self.unchanged(&what, &before, &marks)?;
                return fail(e);
            }
        };
        let applied =
            match self
                .engine
                .restore_mut()
                .apply(request, Some(&plan.fingerprint), &mut |_| {})
            {
                Ok(applied) => applied,
                Err(e) => {
                    self.unchanged(&what, &before, &marks)?;
                    self.settled("a refusal")?;
                    // paths reserved by an open call may have changed unnoticed; otherwise only conflicts refuse
                    if plan.open_conflicts() == 0 && self.calls.iter().all(|c| c.names.is_none()) {
                        let files = &plan;
                        return Err(format!(
                            "{what}: refused without a conflict: {e}; planned: {files:?}"
                        ));
                    }
                    return match fail(e)? {
                        Outcome::Refused(_) => Ok(Outcome::Refused(Some(Box::new(plan)))),
                        done @ Outcome::Done(_) => Ok(done),
                    };
                }
            };
        if plan.open_conflicts() > 0 {
            return Err(format!("{what}: applied in spite of {:?}", plan.conflicts));
        }
        if plan.actions != applied.plan.actions || plan.is_empty() != applied.node.is_none() {
            return Err(format!("{what}: another plan was carried out than shown"));
        }
        if !applied.incomplete.is_empty() || !applied.saved.is_empty() {
            return Err(format!("{what}: incomplete: {applied:?}"));
        }
        let (after, new_marks) = on_disk(&self.root);
        let mut named = BTreeSet::new();
        for action in applied
            .plan
            .actions
            .iter()
            .filter(|a| a.kind != ActionKind::Skip)
        {
            let path = action.path.display();
            let there = after.get(&path);
            let is_dir = applied
                .plan
                .directories
                .iter()
                .any(|d| d.path == action.path);
            if is_dir && there.is_none() {
                let is_there = self.root.join(&path).is_dir();
                if is_there == (action.kind == ActionKind::Delete) {
                    return Err(format!(
                        "{what}: {path} is a directory: {is_there}, after {action:?}"
                    ));
                }
                continue;
            }
            if !there.map_or(action.after.is_absent(), |e| e.is(&action.after)) {
                return Err(format!("{what}: {path} is {there:?} after {action:?}"));
            }
            named.extend(action.from.iter().map(RelPath::display));
            named.insert(path);
        }
        for path in before
            .keys()
            .chain(after.keys())
            .filter(|p| !named.contains(*p))
        {
            if before.get(path) != after.get(path) || marks.get(path) != new_marks.get(path) {
                return Err(format!(
                    "{what}: {path} was touched, which the plan does not name"
                ));
            }
        }
        Self::no_names_of_ours(&after)?;
        let branch = self.engine.history().branch_name();
        let branch = branch.map_err(|e| format!("branch: {e}"))?;
        if branch == self.branch {
            for path in &named {
                self.look_at(path, &after);
            }
        } else {
            self.branch = branch;
            self.switched(&what, request, &applied.plan, &after)?;
        }
        if request.on_conflict != OnConflict::Fail {
            // a file decided by the user is the user's edit
            for line in tokens_in(&after)
                .into_iter()
                .filter(|(_, paths)| paths.iter().any(|p| named.contains(p)))
            {
                if let Some(token) = self.tokens.get_mut(&line.0).filter(|t| t.who != Who::User) {
                    token.sure = Sure::No;
                }
            }
        }
        self.settled(&what)?;
        Ok(Outcome::Done(Box::new(applied)))
    }

    fn unchanged(&self, what: &str, before: &Files, marks: &super::model::Marks) -> Checked {
        let (now, new_marks) = on_disk(&self.root);
        if *before != now || *marks != new_marks {
            return Err(format!(
                "{what}: refused, yet something changed: {:#?}",
                unlike(before, &now)
            ));
        }
        Ok(())
    }

    fn no_names_of_ours(files: &Files) -> Checked {
        match files.keys().find(|p| p.contains(".backstitch-")) {
            Some(path) => Err(format!("{path} remains")),
            None => Ok(()),
        }
    }

    fn rewind(&mut self, ask: &Ask) -> Checked {
        let mut node = self.nth_node(ask.node);
        let Some(head) = self.head()? else {
            return Ok(());
        };
        if !self.stands_on(head, node) {
            if ask.exact {
                self.mixed = true;
            } else {
                let chain: Vec<NodeId> = self.chain(head).collect();
                node = chain[usize::from(ask.node) % chain.len()];
            }
        }
        let request = Request {
            exact: ask.exact,
            session: ask.session.map(|s| s.session().to_owned()),
            paths: ask
                .path
                .and_then(|p| RelPath::new(PATHS[usize::from(p) % PATHS.len()]))
                .into_iter()
                .collect(),
            take_uncertain: ask.uncertain,
            on_conflict: match ask.choice {
                Choice::Fail => OnConflict::Fail,
                Choice::Markers => OnConflict::Markers,
                Choice::Current => OnConflict::Current,
                Choice::Target => OnConflict::Target,
            },
            ..Request::new(Goal::Rewind(node))
        };
        self.rewind_by(&request, node, ask.back)
    }

    pub fn rewind_by(&mut self, request: &Request, node: NodeId, back: bool) -> Checked {
        let what = format!("{request:?}");
        let before = self.disk();
        let owned = self.whose(request, node)?;
        self.counts.rewinds += usize::from(!request.exact);
        let applied = match self.restore(request)? {
            Outcome::Done(applied) => applied,
            Outcome::Refused(plan) => {
                self.counts.conflicts += usize::from(!request.exact);
                let whole = request.exact && request.session.is_none() && request.paths.is_empty();
                if (whole || self.is_alone()) && !self.may_be_in_the_way(&before, node) {
                    let conflicts = plan.map(|p| p.conflicts);
                    return Err(format!("L1: {what}: refused: {conflicts:#?}"));
                }
                return Ok(());
            }
        };
        let after = self.disk();
        if (request.exact && request.session.is_none())
            || (self.is_alone() && request.paths.is_empty())
        {
            self.equals(&what, request, &applied.plan, node, &after)?;
        }
        if !request.exact {
            self.nobodys_lines_lost(&what, request, node, &before, &after, &owned)?;
            self.none_remain(&what, request, node, &applied.plan, &after, &owned)?;
        }
        if request.on_conflict == OnConflict::Fail {
            let again = self
                .engine
                .restore_mut()
                .plan(request)
                .map_err(|e| format!("L3: {what} again: {e}"))?;
            self.asked();
            self.settled("a plan")?;
            if !again.is_empty() || !again.conflicts.is_empty() {
                return Err(format!("L3: {what} again plans {again:#?}"));
            }
        }
        if back && applied.operation.is_some() {
            self.there_and_back(&what, &before, &after)?;
        }
        Ok(())
    }

    /// L2: undo restores the whole tree, redo the restored one.
    fn there_and_back(&mut self, what: &str, before: &Files, after: &Files) -> Checked {
        self.counts.undone += 1;
        for (goal, tree) in [(Goal::Undo(None), before), (Goal::Redo, after)] {
            match self.restore(&Request::new(goal.clone()))? {
                Outcome::Done(_) => {}
                Outcome::Refused(plan) => {
                    if self.calls.iter().any(|c| c.names.is_some()) {
                        return Ok(());
                    }
                    let conflicts = plan.map(|p| p.conflicts);
                    return Err(format!("L2: {goal:?} of {what}: refused: {conflicts:#?}"));
                }
            }
            let now = self.disk();
            self.same(tree, &now)
                .map_err(|e| format!("L2: {goal:?} of {what}: {e}"))?;
        }
        Ok(())
    }

    /// L5: reverts a node, and then that revert.
    fn revert(&mut self, node: NodeId, back: bool) -> Checked {
        self.mixed |= self.branches.len() > 1;
        let before = self.disk();
        let Outcome::Done(applied) = self.restore(&Request::new(Goal::Revert(vec![node])))? else {
            return Ok(());
        };
        self.counts.reverts += 1;
        let entry = self
            .engine
            .history()
            .entry(node)
            .map_err(|e| format!("entry {node}: {e}"))?;
        let after = self.disk();
        if matches!(entry.node.kind, Kind::Step) {
            let has = tokens_in(&after);
            for (line, paths) in tokens_in(&before) {
                let token = self.tokens.get(&line);
                let user = token.is_some_and(|t| t.sure == Sure::Yes && t.who == Who::User);
                if user && !has.contains_key(&line) {
                    return Err(format!(
                        "L4: revert {node}: {line} was in {paths:?} and is lost"
                    ));
                }
            }
        }
        let Some(made) = applied.node.filter(|_| back) else {
            return Ok(());
        };
        match self.restore(&Request::new(Goal::Revert(vec![made])))? {
            Outcome::Done(_) => {}
            Outcome::Refused(_) if self.calls.iter().any(|c| c.names.is_some()) => return Ok(()),
            Outcome::Refused(plan) => {
                let conflicts = plan.map(|p| p.conflicts);
                return Err(format!(
                    "L5: revert {made}, which reverted {node}: refused: {conflicts:#?}"
                ));
            }
        }
        let now = self.disk();
        self.same(&before, &now)
            .map_err(|e| format!("L5: revert {node} twice: {e}"))
    }

    /// L5: the order of two reverts does not matter, where neither has a conflict.
    fn revert_both(&mut self, one: NodeId, other: NodeId) -> Checked {
        for node in [one, other] {
            let entry = self
                .engine
                .history()
                .entry(node)
                .map_err(|e| format!("entry {node}: {e}"))?;
            // the result of moving a rewind depends on what it moved
            if one == other || !matches!(entry.node.kind, Kind::Step | Kind::External) {
                return Ok(());
            }
        }
        let start = self.disk();
        let mut trees = Vec::new();
        for pair in [[one, other], [other, one]] {
            let mut made: Vec<OpId> = Vec::new();
            let mut whole = true;
            for node in pair {
                match self.restore(&Request::new(Goal::Revert(vec![node])))? {
                    Outcome::Done(applied) => {
                        made.extend(applied.operation);
                        let actions = &applied.plan.actions;
                        // a file is skipped while a link of the other revert stands in its directory's place
                        whole &= actions.iter().all(|a| a.kind != ActionKind::Skip);
                    }
                    Outcome::Refused(_) => whole = false,
                }
            }
            trees.push(whole.then(|| self.disk()));
            for op in made.into_iter().rev() {
                match self.restore(&Request::new(Goal::Undo(Some(op))))? {
                    Outcome::Done(_) => {}
                    Outcome::Refused(_) if self.calls.iter().any(|c| c.names.is_some()) => {
                        return Ok(());
                    }
                    Outcome::Refused(plan) => {
                        let conflicts = plan.map(|p| p.conflicts);
                        return Err(format!(
                            "L2: undo {op} of a revert: refused: {conflicts:#?}"
                        ));
                    }
                }
            }
            let now = self.disk();
            self.same(&start, &now)
                .map_err(|e| format!("L2: undoing reverts of {pair:?}: {e}"))?;
        }
        match (&trees[0], &trees[1]) {
            (Some(a), Some(b)) => self
                .same(a, b)
                .map_err(|e| format!("L5: reverting {one} and {other} depends on the order: {e}")),
            _ => Ok(()),
        }
    }

    /// L7 and E at the end of a sequence: each of these nodes can be restored byte for byte.
    pub fn every_state_returns(&mut self, nodes: &[NodeId]) -> Checked {
        for node in nodes {
            self.rewind_by(&exact(*node), *node, false)?;
        }
        Ok(())
    }

    /// State of the disk, for the message of a failure.
    pub fn shown(&self) -> String {
        let mut out = String::new();
        for (path, entry) in self.disk() {
            let known = if self.seen.contains_key(&path) {
                ' '
            } else {
                '?'
            };
            writeln!(out, "  {known} {path}: {}", brief(&entry)).expect("a string takes all");
        }
        out
    }
}

fn brief(entry: &Entry) -> String {
    let text = format!("{entry:?}");
    text.chars().take(400).collect()
}

/// A plan made without scanning the whole tree, where possible, equals one made after a scan. Where the user changed the
/// rules, the scan may bring files into sight, which the plan then names.
fn same_plan(
    what: &str,
    same_rules: bool,
    undisturbed: Option<&Plan>,
    looked: Option<&Plan>,
) -> Checked {
    let Some(undisturbed) = undisturbed else {
        return Ok(());
    };
    let same = looked.is_some_and(|looked| {
        looked.actions == undisturbed.actions
            && looked.conflicts.is_empty()
            && (looked.gaps == undisturbed.gaps || !same_rules)
    });
    if same {
        return Ok(());
    }
    Err(format!(
        "{what}: without a look {undisturbed:#?}, after one {looked:#?}"
    ))
}
