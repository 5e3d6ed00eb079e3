//! Finds the turn that a rewind without a place undoes: the newest one that it changes something of.

use std::ops::Deref;

use rusqlite::Connection;

use super::Restore;
use super::goal::find_session;
use super::types::{Goal, Request};
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::hint::Hint;
use crate::history::{self, Ancestry};
use crate::model::{Change, NodeId, RelPath, SessionId, TurnId};
use crate::store::tables::{node, turn};

/// The newest turn that can be undone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LastTurn {
    /// The state before it.
    pub start: NodeId,
    /// Numbers of the later turns of which nothing is left, oldest first.
    pub skipped: Vec<i64>,
}

/// Work that a request without a place is limited to.
struct Wanted<'a> {
    session: Option<SessionId>,
    paths: &'a [RelPath],
}

impl Wanted<'_> {
    fn has(&self, ancestry: &Ancestry<'_>, change: &Change, head: NodeId) -> Result<bool> {
        let of_session = match self.session {
            Some(session) => change.origin.session == Some(session),
            None => change.origin.session.is_some(),
        };
        if !of_session || !history::in_force(ancestry, change.file, head)?.contains(&change.id) {
            return Ok(false);
        }
        let is_within = |path: &RelPath| self.paths.iter().any(|scope| path.within(scope.bytes()));
        let states = [&change.before, &change.after].into_iter().flatten();
        if self.paths.is_empty() || states.clone().any(|placed| is_within(&placed.path)) {
            return Ok(true);
        }
        // it may have been renamed since
        let now = history::state_at(ancestry, change.file, head)?;
        Ok(now.is_some_and(|placed| is_within(&placed.path)))
    }

    fn has_any(
        &self,
        conn: &Connection,
        ancestry: &Ancestry<'_>,
        turn: TurnId,
        head: NodeId,
    ) -> Result<bool> {
        for node in node::edits_of_turn(conn, turn)? {
            for change in history::changes_of_node(conn, node)? {
                if self.has(ancestry, &change, head)? {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }
}

impl<E: Deref<Target = Engine>> Restore<E> {
    /// Finds the newest turn of this branch that a rewind with these limits changes something of, from the recorded
    /// state. A turn that the user undid by hand is skipped. The goal of the request is not read.
    pub fn last_turn(&self, request: &Request) -> Result<LastTurn> {
        let _moment = self.engine.store.reading()?;
        let conn = &self.engine.store.conn;
        let ancestry = Ancestry::new(conn);
        let session = request.session.as_deref();
        let wanted = Wanted {
            session: session.map(|name| find_session(conn, name)).transpose()?,
            paths: &request.paths,
        };
        let none = || {
            let whose = match session {
                Some(session) => format!("turn of session {session}"),
                None => String::from("agent's turn"),
            };
            let place = if request.paths.is_empty() {
                ""
            } else {
                " in these paths"
            };
            let why = format!("no {whose} is left to undo on this branch{place}");
            Error::refused(why, Hint::NoTurn)
        };
        let head = self.engine.history().head()?.ok_or_else(none)?;
        let mut skipped = Vec::new();
        for number in (1..=turn::newest_number(conn)?).rev() {
            let Some(begun) = history::begun_turn(&ancestry, number, head)? else {
                continue;
            };
            if wanted.session.is_some_and(|own| begun.session != Some(own)) {
                continue;
            }
            if !wanted.has_any(conn, &ancestry, begun.id, head)? {
                if wanted.paths.is_empty() {
                    skipped.push(number);
                }
                continue;
            }
            let plan = self.plan_recorded(&Request {
                goal: Goal::Rewind(begun.start),
                ..request.clone()
            })?;
            if plan.is_empty() && plan.open_conflicts() == 0 && plan.gaps.is_empty() {
                skipped.push(number);
                continue;
            }
            skipped.reverse();
            return Ok(LastTurn {
                start: begun.start,
                skipped,
            });
        }
        Err(none())
    }
}
