//! Subjects of operations, for their titles: the states, the branch or the operation that one is about.

use rusqlite::Connection;

use super::{OpKind, Operation, RestoreLimits};
use crate::error::Result;
use crate::model::{Here, Kind, NodeId, OpId, Turn};
use crate::store::tables::turn;

/// A named state of the history.
#[derive(Clone, Debug)]
pub struct NamedState {
    pub node: NodeId,
    /// The turn that begins with this state.
    pub begins: Option<Turn>,
    /// The turn that this state is a part of.
    pub within: Option<Turn>,
    pub label: Option<String>,
    pub time: i64,
}

/// Subject of an operation: the states, the branch or the operation that it is about.
#[derive(Clone, Debug)]
pub enum OperationSubject {
    Rewind(NamedState, RestoreLimits),
    Revert(Vec<NamedState>, RestoreLimits),
    Undo(Box<Self>, RestoreLimits),
    Redo(Box<Self>, RestoreLimits),
    Switch(String),
    /// The raw target, of an operation whose states are gone or that changes no file.
    Other(OpKind, String),
}

pub(crate) fn of_operation(
    conn: &Connection,
    here: Here,
    operation: &Operation,
) -> Result<OperationSubject> {
    let about = (operation.target.as_str(), &operation.limits);
    find(conn, here, operation.kind, about, operation.of)
}

/// Finds the subject of an operation by its kind, its target and the part of it. `of`: the operation that it undoes or
/// does again.
pub(crate) fn find(
    conn: &Connection,
    here: Here,
    kind: OpKind,
    (target, limits): (&str, &RestoreLimits),
    of: Option<OpId>,
) -> Result<OperationSubject> {
    let raw = || OperationSubject::Other(kind, target.to_owned());
    let done = |of: Option<OpId>| {
        let done = of.map(|of| super::operation(conn, of)).transpose()?;
        let about = done.map(|done| of_operation(conn, here, &done));
        about.map(|about| about.map(Box::new)).transpose()
    };
    Ok(match kind {
        OpKind::Undo => {
            done(of)?.map_or_else(raw, |done| OperationSubject::Undo(done, limits.clone()))
        }
        OpKind::Redo => {
            done(of)?.map_or_else(raw, |done| OperationSubject::Redo(done, limits.clone()))
        }
        OpKind::Rewind => match named(conn, here, target)? {
            Some(state) => OperationSubject::Rewind(state, limits.clone()),
            None => raw(),
        },
        OpKind::Revert => {
            let words = target.split([' ', ',']).filter(|word| !word.is_empty());
            let states: Result<Option<Vec<_>>> =
                words.map(|word| named(conn, here, word)).collect();
            states?.map_or_else(raw, |states| {
                OperationSubject::Revert(states, limits.clone())
            })
        }
        OpKind::Switch => OperationSubject::Switch(target.to_owned()),
        OpKind::Fork | OpKind::Branch | OpKind::Tag | OpKind::Save => raw(),
    })
}

/// Returns None if the state is gone.
fn named(conn: &Connection, here: Here, name: &str) -> Result<Option<NamedState>> {
    let Ok(id) = super::resolve(conn, here, name) else {
        return Ok(None);
    };
    let node = super::node(conn, id)?;
    let turn = node.turn.map(|id| turn::row(conn, id)).transpose()?;
    let (begins, within) = match node.kind {
        Kind::Turn => (turn, None),
        _ => (None, turn),
    };
    Ok(Some(NamedState {
        node: id,
        begins,
        within,
        label: node.label.filter(|_| node.kind != Kind::Rewind),
        time: node.time,
    }))
}
