//! Resolves a goal: for every file, the edits to take out of force and the edits to put back. Reads the
//! history and decides nothing about contents.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Deref;

use rusqlite::Connection;

use super::Restore;
use super::types::{Gap, GapKind, Goal, Request, SwitchBranch};
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::hint::Hint;
use crate::history::{self, Ancestry, OpKind, Operation, branches};
use crate::model::{
    BranchId, Change, ChangeId, FileId, FileVersion, Here, Kind, NodeId, OpId, Placed, Role,
    SessionId,
};
use crate::store::tables::moved::{self, Move};
use crate::store::tables::{branch, node, session, turn};
use crate::worktree::file_state;

/// Edits of one file to take out and to put back.
#[derive(Clone, Debug, Default)]
pub(super) struct SetDelta {
    pub take_out: BTreeSet<ChangeId>,
    pub put_back: BTreeSet<ChangeId>,
    /// State at the target of a file that is known there without an edit, and that was first captured on another
    /// branch than the current one. No edit in force gives it, so it is recorded as an edit of the user.
    pub arrives: Option<Placed>,
}

impl SetDelta {
    pub(super) fn is_empty(&self) -> bool {
        self.take_out.is_empty() && self.put_back.is_empty() && self.arrives.is_none()
    }
}

/// A goal resolved to sets of edits.
pub(super) struct EditPlan {
    /// Name of the target for people and scripts: `c12`, `op3`.
    pub target: String,
    /// Kind of operation, shown in the timeline.
    pub kind: OpKind,
    pub of: Option<OpId>,
    /// Node whose git position and gaps are compared with the present.
    pub node: Option<NodeId>,
    pub moves: BTreeMap<FileId, SetDelta>,
    pub gaps: Vec<Gap>,
    /// Reason why no edit is moved, if known.
    pub nothing: Option<String>,
}

/// Direction of each moved edit: taken out (true) or put back (false).
type MovedEdits = BTreeMap<ChangeId, (FileId, bool)>;

/// The operations that can be reversed now, without a choice of one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reversible {
    pub undo: Option<OpId>,
    pub redo: Option<OpId>,
}

/// Unit to revert: a turn, a step with its group, or a single node.
struct RevertUnit {
    /// `t4`, `c12`
    name: String,
    id: NodeId,
    nodes: Vec<NodeId>,
}

impl RevertUnit {
    fn find(conn: &Connection, id: NodeId) -> Result<Self> {
        let node = history::node(conn, id)?;
        let mut name = id.to_string();
        let nodes = match (node.kind, node.turn, node.call) {
            (Kind::Turn, Some(turn), _) => {
                name = format!("t{}", turn::row(conn, turn)?.number);
                node::edits_of_turn(conn, turn)?
            }
            (Kind::Step, _, Some(call)) => node::of_call_group(conn, call)?,
            _ => vec![id],
        };
        Ok(Self { name, id, nodes })
    }

    /// Reason why none of its edits can be moved.
    fn why_nothing(
        &self,
        ancestry: &Ancestry<'_>,
        effect: &MovedEdits,
        session: Option<&str>,
        head: NodeId,
    ) -> Result<String> {
        let name = &self.name;
        let Some((member, (_, edits))) = effect.first_key_value() else {
            return Ok(match session {
                Some(session) => format!("session {session} changed nothing in {name}"),
                None => format!("{name} changed nothing"),
            });
        };
        if !ancestry.is_ancestor(self.id, head)? {
            return Ok(format!(
                "{name} is not in the history of the current state, and none of its changes are in force here"
            ));
        }
        // a later restore already moved it in the requested direction
        let moved = if *edits {
            Move::TakenOut
        } else {
            Move::PutBack
        };
        let is_here = |node| ancestry.is_ancestor(node, head);
        let by = moved::newest_node(ancestry.conn(), (*member, moved), is_here)?;
        Ok(match by {
            Some(by) => format!("the changes of {name} are already undone, by {by}"),
            None => format!("the changes of {name} are not in force"),
        })
    }
}

/// Error for two units where one would take out an edit that the other would put back.
fn contradiction(
    before: &[(RevertUnit, MovedEdits)],
    one: &RevertUnit,
    member: ChangeId,
    out: bool,
) -> Error {
    let has =
        |(_, effect): &&(RevertUnit, MovedEdits)| effect.get(&member).is_some_and(|e| e.1 != out);
    let other = before
        .iter()
        .find(has)
        .map_or("?", |(o, _)| o.name.as_str());
    Error::Usage(format!(
        "{other} and {} contradict each other: reverting the one undoes what reverting the other redoes; name one of them",
        one.name
    ))
}

/// Authors whose edits a rewind or revert moves.
enum AuthorFilter {
    Session(SessionId),
    Agents,
    Everyone,
}

impl AuthorFilter {
    /// `Some(false)`: the edit may be theirs, but its origin is uncertain.
    fn has(&self, change: &Change) -> Option<bool> {
        let sure = !change.origin.is_uncertain();
        match self {
            Self::Everyone => Some(true),
            Self::Agents => (change.origin.session.is_some() || !sure).then_some(sure),
            Self::Session(session) => match change.origin.session {
                Some(s) if s == *session => Some(sure),
                None if !sure => Some(false),
                _ => None,
            },
        }
    }
}

/// A resolved request: moving edits, or switching to another branch.
pub(super) enum Resolved {
    Edits(EditPlan),
    Switch(SwitchTarget),
}

/// A resolved switch.
pub(super) struct SwitchTarget {
    pub target: String,
    pub to: SwitchBranch,
    pub carry: bool,
    pub kind: OpKind,
    pub of: Option<OpId>,
}

/// Gap for a file whose state at the target is not known. `is_moved`: the rewind changes it nevertheless.
fn unknown_state(stands: FileVersion, target: NodeId, is_moved: bool) -> Gap {
    let outcome = if is_moved {
        "the earliest known one is restored"
    } else {
        "it stays as it is"
    };
    Gap {
        path: stands.map(|placed| placed.path.bytes().to_vec()),
        kind: GapKind::Unknown,
        detail: format!("its state at {target} is not known; {outcome}"),
    }
}

impl<E: Deref<Target = Engine>> Restore<E> {
    pub(super) fn resolve_goal(&self, r: &Request, head: NodeId) -> Result<Resolved> {
        let conn = &self.engine.store.conn;
        let ancestry = Ancestry::new(conn);
        let edits = match &r.goal {
            Goal::Rewind(target) => self.rewind_edits(r, &ancestry, *target, head),
            Goal::Revert(nodes) => self.revert_edits(r, &ancestry, nodes, head),
            Goal::Switch { branch, carry } => {
                return Ok(Resolved::Switch(SwitchTarget {
                    target: branch.clone(),
                    to: SwitchBranch::Existing(branches::find(conn, branch)?),
                    carry: *carry,
                    kind: OpKind::Switch,
                    of: None,
                }));
            }
            Goal::Fork { name, from, .. } => {
                branches::check_name(conn, name)?;
                return Ok(Resolved::Switch(SwitchTarget {
                    target: name.clone(),
                    to: SwitchBranch::New(*from),
                    carry: false,
                    kind: OpKind::Switch,
                    of: None,
                }));
            }
            Goal::Undo(op) => {
                let op = match op {
                    Some(op) => *op,
                    None => self.newest_to_undo(&ancestry, head)?,
                };
                let done = history::operation(conn, op)?;
                if done.undone_by.is_some() {
                    return Err(Error::refused(
                        format!("{op} is already undone"),
                        Hint::Redo,
                    ));
                }
                if done.kind.names_only() {
                    return Err(Error::refused(
                        format!("{op} changed no file: it was a {}", done.kind.name()),
                        Hint::terminal(
                            "`backstitch branch delete` and `backstitch tag --delete` remove names",
                        ),
                    ));
                }
                if done.kind == OpKind::Save {
                    return Err(Error::refused(
                        format!("{op} only wrote the result of {} to disk", done.target),
                        Hint::Undo {
                            op: done.target.clone(),
                        },
                    ));
                }
                if done.to_branch.is_some() {
                    let switch = self.switch_again(&done, done.branch, OpKind::Undo)?;
                    return Ok(Resolved::Switch(switch));
                }
                self.operation_edits(&ancestry, op, head, OpKind::Undo)
            }
            Goal::Redo => {
                let op = newest_to_redo(conn, self.engine.here)?;
                let done = history::operation(conn, op)?;
                if let Some(to) = done.to_branch {
                    return Ok(Resolved::Switch(self.switch_again(
                        &done,
                        to,
                        OpKind::Redo,
                    )?));
                }
                self.operation_edits(&ancestry, op, head, OpKind::Redo)
            }
        };
        edits.map(Resolved::Edits)
    }

    fn rewind_edits(
        &self,
        r: &Request,
        ancestry: &Ancestry<'_>,
        target: NodeId,
        head: NodeId,
    ) -> Result<EditPlan> {
        let conn = &self.engine.store.conn;
        let node = history::node(conn, target)?;
        if !r.exact && r.session.is_none() && !ancestry.is_ancestor(target, head)? {
            return Err(Error::refused(
                format!(
                    "{target} is not in the history of the current state, but on another branch"
                ),
                Hint::OtherLine {
                    node: target,
                    branch: branch::name(conn, node.branch)?,
                },
            ));
        }
        let authors = match (&r.session, r.exact, node.kind, node.session) {
            (Some(name), ..) => AuthorFilter::Session(find_session(conn, name)?),
            (None, true, ..) => AuthorFilter::Everyone,
            (None, false, Kind::Turn | Kind::Step, Some(session)) if !r.all_sessions => {
                AuthorFilter::Session(session)
            }
            _ => AuthorFilter::Agents,
        };
        let mut moves = BTreeMap::new();
        let mut gaps = Vec::new();
        let on_other_branch = !ancestry.is_ancestor(target, head)?;
        let is_whole_state = r.exact && r.session.is_none();
        let known = self.engine.history();
        let mut files = known.files_between(ancestry, head, target)?;
        if on_other_branch && is_whole_state {
            files.extend(known.adopted_between(ancestry, head, target)?);
        }
        for file in files {
            // a file known only on this branch has no state at a target on another one
            let known_then = known.known_at(ancestry, file, target)?;
            if on_other_branch && !known_then {
                if let Some(stays) = known.state_known(ancestry, file, head)? {
                    gaps.push(Gap {
                        path: Some(stays.path.bytes().to_vec()),
                        kind: GapKind::Unknown,
                        detail: format!("its state at {target} is not known; it stays as it is"),
                    });
                }
                continue;
            }
            let now = history::in_force(ancestry, file, head)?;
            let at_target = history::in_force(ancestry, file, target)?;
            let mut m = SetDelta::default();
            let mut own_step = OwnStep::default();
            for (from, other, taking_out) in [(&now, &at_target, true), (&at_target, &now, false)] {
                for id in from.difference(other) {
                    let change = history::change(conn, *id)?;
                    let edits = || now.difference(&at_target);
                    let author = own_step.author(conn, &authors, &change, edits)?;
                    match author {
                        Some(sure) if sure || r.take_uncertain => {
                            if taking_out {
                                m.take_out.insert(*id)
                            } else {
                                m.put_back.insert(*id)
                            };
                        }
                        Some(_) if taking_out => gaps.push(uncertain(&change)),
                        _ => {}
                    }
                }
            }
            if is_whole_state
                && on_other_branch
                && at_target.is_empty()
                && !known.seen_at(ancestry, file, head)?
            {
                m.arrives = history::state_at(ancestry, file, target)?;
            }
            let stands = history::state_at(ancestry, file, head)?;
            // a file that a rewind brought from another branch was absent before
            let is_unknown = !known_then && known.seen_at(ancestry, file, head)?;
            if is_unknown && (r.exact || stands.is_some()) {
                gaps.push(unknown_state(stands, target, r.exact || !m.is_empty()));
            }
            moves.insert(file, m);
        }
        if on_other_branch && is_whole_state {
            gaps.extend(self.only_in_other_roots(ancestry, target, head)?);
        }
        Ok(EditPlan {
            target: target.to_string(),
            kind: OpKind::Rewind,
            of: None,
            node: Some(target),
            moves,
            gaps,
            nothing: None,
        })
    }

    /// Gaps for files at the target that were first captured in another root and never changed there.
    fn only_in_other_roots(
        &self,
        ancestry: &Ancestry<'_>,
        target: NodeId,
        head: NodeId,
    ) -> Result<Vec<Gap>> {
        let (conn, root) = (&self.engine.store.conn, self.engine.here.root);
        let mut gaps = Vec::new();
        for (path, row) in file_state::adopted_elsewhere(conn, root)? {
            let Some(since) = row.since else { continue };
            if ancestry.is_ancestor(since, target)? && !ancestry.is_ancestor(since, head)? {
                gaps.push(Gap {
                    path: Some(path.bytes().to_vec()),
                    kind: GapKind::Unknown,
                    detail: "it was first captured in another directory; it is not restored here"
                        .to_owned(),
                });
            }
        }
        Ok(gaps)
    }

    fn revert_edits(
        &self,
        r: &Request,
        ancestry: &Ancestry<'_>,
        nodes: &[NodeId],
        head: NodeId,
    ) -> Result<EditPlan> {
        let conn = &self.engine.store.conn;
        let authors = match &r.session {
            Some(name) => AuthorFilter::Session(find_session(conn, name)?),
            None => AuthorFilter::Everyone,
        };
        let mut moves: BTreeMap<FileId, SetDelta> = BTreeMap::new();
        let mut gaps = Vec::new();
        let mut units = Vec::new();
        for id in nodes {
            let unit = RevertUnit::find(conn, *id)?;
            let mut effect = BTreeMap::new();
            for id in &unit.nodes {
                for change in history::changes_of_node(conn, *id)? {
                    match change.role {
                        Role::Edit => match authors.has(&change) {
                            None => {}
                            Some(_) if change.origin.is_uncertain() && !r.take_uncertain => {
                                gaps.push(uncertain(&change));
                            }
                            Some(_) => {
                                effect.insert(change.id, (change.file, true));
                            }
                        },
                        Role::Restore => {
                            for (member, moved) in moved::of_restore(conn, change.id)? {
                                let theirs = authors.has(&history::change(conn, member)?);
                                if theirs.is_some_and(|sure| sure || r.take_uncertain) {
                                    effect.insert(member, (change.file, moved == Move::PutBack));
                                }
                            }
                        }
                    }
                }
            }
            for (member, (file, out)) in &effect {
                let m = moves.entry(*file).or_default();
                let (side, other) = match out {
                    true => (&mut m.take_out, &m.put_back),
                    false => (&mut m.put_back, &m.take_out),
                };
                if other.contains(member) {
                    return Err(contradiction(&units, &unit, *member, *out));
                }
                side.insert(*member);
            }
            units.push((unit, effect));
        }
        drop_no_ops(ancestry, &mut moves, head)?;
        let is_no_op = moves.values().all(SetDelta::is_empty);
        let mut nothing = Vec::new();
        if is_no_op && gaps.is_empty() {
            for (one, effect) in &units {
                nothing.push(one.why_nothing(ancestry, effect, r.session.as_deref(), head)?);
            }
        }
        Ok(EditPlan {
            target: nodes
                .iter()
                .map(ToString::to_string)
                .collect::<Vec<_>>()
                .join(" "),
            kind: OpKind::Revert,
            of: None,
            node: None,
            moves,
            gaps,
            nothing: (!nothing.is_empty()).then(|| nothing.join("; ")),
        })
    }

    fn operation_edits(
        &self,
        ancestry: &Ancestry<'_>,
        op: OpId,
        head: NodeId,
        kind: OpKind,
    ) -> Result<EditPlan> {
        let conn = &self.engine.store.conn;
        let done = history::operation(conn, op)?;
        let mut moves: BTreeMap<FileId, SetDelta> = BTreeMap::new();
        let nothing =
            || Error::refused(format!("{op} changed nothing"), "there is nothing to undo");
        for change in history::changes_of_node(conn, done.node.ok_or_else(nothing)?)? {
            let m = moves.entry(change.file).or_default();
            let mut shift = |member: ChangeId, forward: bool| {
                if forward == (kind == OpKind::Redo) {
                    m.put_back.insert(member)
                } else {
                    m.take_out.insert(member)
                };
            };
            match change.role {
                // a resolved conflict or chosen hunks: the outcome was recorded as a separate edit
                Role::Edit => shift(change.id, true),
                Role::Restore => {
                    for (member, moved) in moved::of_restore(conn, change.id)? {
                        shift(member, moved == Move::PutBack);
                    }
                }
            }
        }
        drop_no_ops(ancestry, &mut moves, head)?;
        Ok(EditPlan {
            target: op.to_string(),
            kind,
            of: Some(op),
            node: None,
            moves,
            gaps: Vec::new(),
            nothing: None,
        })
    }

    /// Repeats a switch in either direction. Refused if the branch was deleted.
    fn switch_again(&self, done: &Operation, to: BranchId, kind: OpKind) -> Result<SwitchTarget> {
        let there = branches::info(&self.engine.store.conn, self.engine.here, to)?;
        if there.deleted {
            let (name, head) = (&there.name, there.head.unwrap_or(NodeId(1)));
            return Err(Error::refused(
                format!(
                    "{} of {} leads to {name}, which was deleted",
                    kind.name(),
                    done.id
                ),
                Hint::BranchAgain {
                    name: name.clone(),
                    head,
                },
            ));
        }
        Ok(SwitchTarget {
            target: done.id.to_string(),
            to: SwitchBranch::Existing(to),
            carry: false,
            kind,
            of: Some(done.id),
        })
    }

    /// True if none of an operation's edits are where it left them, though it was not undone: its outcome was
    /// never saved.
    fn is_already_undone(
        &self,
        ancestry: &Ancestry<'_>,
        op: &Operation,
        head: NodeId,
    ) -> Result<bool> {
        if op.to_branch.is_some() {
            return Ok(false);
        }
        let edits = self.operation_edits(ancestry, op.id, head, OpKind::Undo)?;
        Ok(!edits.moves.is_empty() && edits.moves.values().all(SetDelta::is_empty))
    }

    /// Returns the operations that an undo and a redo without a target would reverse. None: there is nothing to undo or
    /// to redo.
    pub fn reversible(&self) -> Result<Reversible> {
        let found = |operation: Result<OpId>| match operation {
            Ok(op) => Ok(Some(op)),
            Err(Error::Refused { .. }) => Ok(None),
            Err(error) => Err(error),
        };
        let conn = &self.engine.store.conn;
        let Some(head) = self.engine.history().head()? else {
            return Ok(Reversible::default());
        };
        Ok(Reversible {
            undo: found(self.newest_to_undo(&Ancestry::new(conn), head))?,
            redo: found(newest_to_redo(conn, self.engine.here))?,
        })
    }

    /// Returns the newest operation of the chain that is not undone. Refused if a turn began after it.
    fn newest_to_undo(&self, ancestry: &Ancestry<'_>, head: NodeId) -> Result<OpId> {
        let conn = &self.engine.store.conn;
        for op in history::operations(conn)? {
            let Some(node) = op.node.filter(|_| op.is_finished()) else {
                continue;
            };
            let led_here = match op.to_branch {
                Some(to) => op.root == self.engine.here.root && to == self.engine.here.branch,
                None => ancestry.is_ancestor(node, head)?,
            };
            let skipped = op.kind == OpKind::Undo || op.kind.is_aside();
            if op.undone_by.is_some() || skipped || !led_here {
                continue;
            }
            // a redo represents the operation that it repeated
            let op = match (op.kind, op.of) {
                (OpKind::Redo, Some(of)) => history::operation(conn, of)?,
                _ => op,
            };
            if op.undone_by.is_some() || self.is_already_undone(ancestry, &op, head)? {
                continue;
            }
            return match turn_after(ancestry, node, head)? {
                None => Ok(op.id),
                Some(turn) => Err(Error::refused(
                    format!(
                        "turn t{turn} began after the last operation, the {} {}",
                        op.kind.name(),
                        op.id
                    ),
                    Hint::UndoBefore { op: op.id, turn },
                )),
            };
        }
        Err(Error::refused(
            "there is no operation to undo",
            Hint::NothingToUndo,
        ))
    }
}

/// The uncertain edits of a file that count as certain, once they are needed.
#[derive(Default)]
struct OwnStep(Option<BTreeSet<ChangeId>>);

impl OwnStep {
    /// As `AuthorFilter::has`. `edits`: all edits of the file that a rewind may take out.
    fn author<'a, I: Iterator<Item = &'a ChangeId>>(
        &mut self,
        conn: &Connection,
        authors: &AuthorFilter,
        change: &Change,
        edits: impl Fn() -> I,
    ) -> Result<Option<bool>> {
        let author = authors.has(change);
        if author != Some(false) {
            return Ok(author);
        }
        let own = match self.0.take() {
            Some(own) => own,
            None => own_steps(conn, authors, edits())?,
        };
        let is_own = own.contains(&change.id);
        self.0 = Some(own);
        Ok(Some(is_own))
    }
}

/// Returns the uncertain edits of a file that go with a certain edit of the same call, if nobody else wrote the file: the
/// work of a hook of the agent's user, as a rule.
fn own_steps<'a>(
    conn: &Connection,
    authors: &AuthorFilter,
    edits: impl Iterator<Item = &'a ChangeId>,
) -> Result<BTreeSet<ChangeId>> {
    let mut own = BTreeSet::new();
    let mut sure_calls = BTreeSet::new();
    let mut unsure = Vec::new();
    for id in edits {
        let change = history::change(conn, *id)?;
        match (authors.has(&change), change.origin.call) {
            (Some(true), Some(call)) => {
                sure_calls.insert(call);
            }
            (Some(true), None) => {}
            (Some(false), Some(call)) => unsure.push((change.id, call)),
            _ => return Ok(own),
        }
    }
    let of_own_step = unsure.iter().filter(|(_, call)| sure_calls.contains(call));
    own.extend(of_own_step.map(|(id, _)| *id));
    Ok(own)
}

/// Keeps in `take_out` only edits in force, and in `put_back` only edits not in force.
fn drop_no_ops(
    ancestry: &Ancestry<'_>,
    moves: &mut BTreeMap<FileId, SetDelta>,
    head: NodeId,
) -> Result<()> {
    for (file, m) in moves {
        let now = history::in_force(ancestry, *file, head)?;
        m.take_out.retain(|c| now.contains(c));
        m.put_back.retain(|c| !now.contains(c));
    }
    Ok(())
}

/// Number of the newest turn of the chain that began after this node.
fn turn_after(ancestry: &Ancestry<'_>, node: NodeId, head: NodeId) -> Result<Option<i64>> {
    turn::newest_after(ancestry.conn(), node, |start| {
        ancestry.is_ancestor(start, head)
    })
}

/// Returns the operation of the newest undo, unless a new operation came after it.
fn newest_to_redo(conn: &Connection, here: Here) -> Result<OpId> {
    let nothing = || {
        Error::refused(
            "there is nothing to redo",
            "only an undo with no operation after it can be redone",
        )
    };
    let mut redone = BTreeSet::new();
    for op in history::operations(conn)? {
        if !op.is_finished() || op.kind.is_aside() || op.root != here.root {
            continue;
        }
        match (op.kind, op.of) {
            // a part of it can be done again, and then the rest
            (OpKind::Redo, Some(_)) if !op.limits.is_none() => {}
            (OpKind::Redo, Some(of)) => {
                redone.insert(of);
            }
            (OpKind::Undo, Some(of)) if !redone.remove(&of) => return Ok(of),
            (OpKind::Undo, _) => {}
            _ => return Err(nothing()),
        }
    }
    Err(nothing())
}

fn uncertain(change: &Change) -> Gap {
    let at = change.after.as_ref().or(change.before.as_ref());
    Gap {
        path: at.map(|p| p.path.bytes().to_vec()),
        kind: GapKind::Uncertain,
        detail: format!(
            "the author of the change in {} is uncertain; the change stays",
            change.node
        ),
    }
}

/// Finds a session by its letter, by the agent's own id or a unique prefix of it.
pub(super) fn find_session(conn: &Connection, name: &str) -> Result<SessionId> {
    let found = session::named(conn, name)?;
    match found.as_slice() {
        [] => Err(Error::NotFound {
            what: "session",
            name: name.to_owned(),
        }),
        [(id, _)] => Ok(*id),
        [(id, native), ..] if native == name => Ok(*id),
        several => {
            let ids: Vec<&str> = several.iter().map(|(_, native)| native.as_str()).collect();
            Err(Error::Ambiguous {
                reason: format!(
                    "`{name}` is the start of several session ids: {}",
                    ids.join(", ")
                ),
                hint: "type more of it".into(),
            })
        }
    }
}
