//! Authors whose edits a restore moves, and the edits whose author is uncertain.

use std::collections::BTreeSet;

use rusqlite::Connection;

use crate::error::{Error, Result};
use crate::history;
use crate::model::{Change, ChangeId, SessionId};
use crate::restore::types::{Gap, GapKind};
use crate::store::tables::session;

/// Authors whose edits a rewind or revert moves.
pub(super) enum AuthorFilter {
    Session(SessionId),
    Agents,
    Everyone,
}

impl AuthorFilter {
    /// `Some(false)`: the edit may be theirs, but its origin is uncertain.
    pub(super) fn has(&self, change: &Change) -> Option<bool> {
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

/// The uncertain edits of a file that count as certain, once they are needed.
#[derive(Default)]
pub(super) struct OwnStep(Option<BTreeSet<ChangeId>>);

impl OwnStep {
    /// As `AuthorFilter::has`. `edits`: all edits of the file that a rewind may take out.
    pub(super) fn author<'a, I: Iterator<Item = &'a ChangeId>>(
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

/// Returns the uncertain edits of a file that go with a certain edit of the same call, if nobody else wrote the file. As a
/// rule, they are the work of a hook of the agent's user.
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

pub(super) fn uncertain(change: &Change) -> Gap {
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
pub(in crate::restore) fn find_session(conn: &Connection, name: &str) -> Result<SessionId> {
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
