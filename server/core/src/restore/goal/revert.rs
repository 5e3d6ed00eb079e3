//! Edits that a revert moves: those of turns, steps and single checkpoints.

use std::collections::BTreeMap;
use std::ops::Deref;

use rusqlite::Connection;

use super::authors::{AuthorFilter, find_session, uncertain};
use super::{EditPlan, SetDelta, drop_no_ops};
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::history::{self, Ancestry, OpKind};
use crate::model::{ChangeId, FileId, Kind, NodeId, Role};
use crate::restore::Restore;
use crate::restore::types::Request;
use crate::store::tables::moved::{self, Move};
use crate::store::tables::{node, turn};

/// Direction of each moved edit: taken out (true) or put back (false).
type MovedEdits = BTreeMap<ChangeId, (FileId, bool)>;

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

impl<E: Deref<Target = Engine>> Restore<E> {
    pub(super) fn revert_edits(
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
}
