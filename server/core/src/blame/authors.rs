//! Authors of lines: sessions, turns and calls of the store.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use rusqlite::Connection;

use super::Blamer;
use super::runs::{Owner, Runs};
use super::{AgentWork, Author, By, IN_EDITOR, ON_DISK};
use crate::capture::calls::{self, Observation, Writers, by_silent_edit};
use crate::error::Result;
use crate::model::{CallId, Origin, RelPath, Session, SessionId, Turn, TurnId};
use crate::store::tables::{call, changed_files, session, turn};

impl Blamer<'_> {
    pub(super) fn authors(
        self,
        path: &RelPath,
        runs: &Runs,
    ) -> Result<HashMap<Owner, Arc<Author>>> {
        let conn = &self.engine.store.conn;
        let wanted: BTreeSet<Owner> = runs.iter().map(|(_, owner)| owner).collect();
        let mut cache = AuthorCache::new(conn);
        let mut authors = HashMap::new();
        if wanted.contains(&ON_DISK) {
            let origin = self.current_origin(path)?;
            let call = origin
                .call
                .map(|id| CallAuthor::find(conn, id))
                .transpose()?;
            let by = cache.by(origin, call, None)?;
            authors.insert(ON_DISK, Arc::new(Author::unrecorded(by)));
        }
        if wanted.contains(&IN_EDITOR) {
            authors.insert(IN_EDITOR, Arc::new(Author::unrecorded(By::Unsaved)));
        }
        for owner in wanted {
            let Owner::Change(change) = owner else {
                continue;
            };
            let Some(row) = changed_files::author_of(conn, change)? else {
                continue;
            };
            let call = row.call.map(|call| CallAuthor {
                tool: call.tool,
                iteration: call.iteration,
                subagent: call.subagent,
                turn: call.turn,
            });
            let author = Author {
                by: cache.by(row.origin, call, row.turn)?,
                change: Some(change),
                node: Some(row.node),
                time: Some(row.time),
            };
            authors.insert(owner, Arc::new(author));
        }
        Ok(authors)
    }

    /// Returns the origin that a scan would record for a change at this path now.
    fn current_origin(self, path: &RelPath) -> Result<Origin> {
        let conn = &self.engine.store.conn;
        if let Some(writer) = calls::reserved(conn, self.engine.here.root, path)? {
            return Ok(by_silent_edit(writer, false).origin);
        }
        let writers = Writers::since(conn, self.engine.here.root, calls::last_event(conn)?)?;
        Ok(writers.attribute(Observation::Between).origin)
    }
}

impl Author {
    pub(super) fn unrecorded(by: By) -> Self {
        Self {
            by,
            change: None,
            node: None,
            time: None,
        }
    }
}

/// The parts of a tool call shown as an author.
struct CallAuthor {
    tool: String,
    iteration: i64,
    subagent: Option<String>,
    turn: Option<TurnId>,
}

impl CallAuthor {
    fn find(conn: &Connection, id: CallId) -> Result<Self> {
        let call = call::row(conn, id)?;
        Ok(Self {
            tool: call.tool,
            iteration: call.iteration,
            subagent: call.subagent,
            turn: call.turn,
        })
    }
}

/// Cache of sessions and turns.
struct AuthorCache<'c> {
    conn: &'c Connection,
    sessions: HashMap<SessionId, Arc<Session>>,
    turns: HashMap<TurnId, Arc<Turn>>,
}

impl<'c> AuthorCache<'c> {
    fn new(conn: &'c Connection) -> Self {
        Self {
            conn,
            sessions: HashMap::new(),
            turns: HashMap::new(),
        }
    }

    fn session(&mut self, id: SessionId) -> Result<Arc<Session>> {
        if let Some(known) = self.sessions.get(&id) {
            return Ok(Arc::clone(known));
        }
        let session = Arc::new(session::row(self.conn, id)?);
        self.sessions.insert(id, Arc::clone(&session));
        Ok(session)
    }

    fn turn(&mut self, id: TurnId) -> Result<Arc<Turn>> {
        if let Some(known) = self.turns.get(&id) {
            return Ok(Arc::clone(known));
        }
        let turn = Arc::new(turn::row(self.conn, id)?);
        self.turns.insert(id, Arc::clone(&turn));
        Ok(turn)
    }

    /// `turn` is the node's turn, for a change without a known call.
    fn by(&mut self, origin: Origin, call: Option<CallAuthor>, turn: Option<TurnId>) -> Result<By> {
        let Some(id) = origin.session else {
            return Ok(if origin.is_uncertain() {
                By::Unknown
            } else {
                By::User
            });
        };
        let session = self.session(id)?;
        let turn = call.as_ref().map_or(turn, |call| call.turn);
        let (tool, iteration, subagent) = call.map_or((None, None, None), |call| {
            (Some(call.tool), Some(call.iteration), call.subagent)
        });
        let turn = turn.map(|id| self.turn(id)).transpose()?;
        Ok(By::Agent(AgentWork {
            session,
            session_certainty: origin.session_certainty,
            step_certainty: origin.step_certainty,
            turn,
            tool,
            iteration,
            subagent,
        }))
    }
}
