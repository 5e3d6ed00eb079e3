//! Undo and redo: the operation that either reverses, and the edits or the switch that it repeats.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Deref;

use rusqlite::Connection;

use super::{EditPlan, Resolved, SetDelta, SwitchTarget, drop_no_ops};
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::hint::Hint;
use crate::history::{self, Ancestry, OpKind, Operation, branches};
use crate::model::{BranchId, ChangeId, FileId, Here, NodeId, OpId, Role};
use crate::restore::Restore;
use crate::restore::types::SwitchBranch;
use crate::store::tables::moved::{self, Move};
use crate::store::tables::turn;

/// The operations that can be reversed now, without a choice of one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reversible {
    pub undo: Option<OpId>,
    pub redo: Option<OpId>,
}

impl<E: Deref<Target = Engine>> Restore<E> {
    /// Resolves an undo. None: the newest operation that is not undone.
    pub(super) fn undo_edits(
        &self,
        ancestry: &Ancestry<'_>,
        op: Option<OpId>,
        head: NodeId,
    ) -> Result<Resolved> {
        let op = match op {
            Some(op) => op,
            None => self.newest_to_undo(ancestry, head)?,
        };
        let done = history::operation(&self.engine.store.conn, op)?;
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
        let edits = self.operation_edits(ancestry, op, head, OpKind::Undo)?;
        Ok(Resolved::Edits(edits))
    }

    /// Resolves a redo: of the newest undo, if no operation came after it.
    pub(super) fn redo_edits(&self, ancestry: &Ancestry<'_>, head: NodeId) -> Result<Resolved> {
        let conn = &self.engine.store.conn;
        let op = newest_to_redo(conn, self.engine.here)?;
        let done = history::operation(conn, op)?;
        if let Some(to) = done.to_branch {
            let switch = self.switch_again(&done, to, OpKind::Redo)?;
            return Ok(Resolved::Switch(switch));
        }
        let edits = self.operation_edits(ancestry, op, head, OpKind::Redo)?;
        Ok(Resolved::Edits(edits))
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
            let repeated = op.of.filter(|_| op.kind == OpKind::Redo);
            let op = repeated.map_or(Ok(op), |of| history::operation(conn, of))?;
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
        match op.kind {
            // a part of it can be done again, and then the rest
            OpKind::Redo => redone.extend(op.of.filter(|_| op.limits.is_none())),
            OpKind::Undo => {
                if let Some(of) = op.of.filter(|of| !redone.remove(of)) {
                    return Ok(of);
                }
            }
            OpKind::Rewind
            | OpKind::Revert
            | OpKind::Switch
            | OpKind::Fork
            | OpKind::Branch
            | OpKind::Tag
            | OpKind::Save => return Err(nothing()),
        }
    }
    Err(nothing())
}
