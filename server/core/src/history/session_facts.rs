//! Facts about a session at one of its calls: its turn so far, and the changes of the call. For breakpoints.

use super::queries::History;
use super::timeline::Entry;
use crate::error::Result;
use crate::model::SessionId;
use crate::store::tables::{call, node, session, turn};

/// A session at its next call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SessionFacts {
    /// As in the log. None: it has had no event.
    pub letter: Option<String>,
    /// Number of calls so far.
    pub iterations: i64,
    pub turn: Option<SessionTurn>,
}

/// The recorded events of a call that ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallEvents {
    None,
    /// Its end alone: the call is counted with it.
    OnlyAfter,
    Both,
}

/// A call that ran at a time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunningCall {
    pub agent: String,
    pub tool: String,
    /// `t4` is 4.
    pub turn: Option<i64>,
}

/// The current turn of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionTurn {
    /// `t4` is 4.
    pub number: i64,
    pub prompt: String,
    /// Calls so far.
    pub calls: u64,
    /// Files and lines changed so far.
    pub files: u64,
    pub lines: u64,
    /// Microseconds since 1970.
    pub started: i64,
}

impl History<'_> {
    /// Returns the state of a session. None: it has had no event. `prompt_id`: the agent's own id of the turn; without it,
    /// the newest turn of the session counts.
    pub fn session_facts(
        &self,
        agent: &str,
        native: &str,
        prompt_id: Option<&str>,
    ) -> Result<Option<SessionFacts>> {
        let conn = &self.store.conn;
        let Some(id) = session::id_of(conn, agent, native)? else {
            return Ok(None);
        };
        Ok(Some(SessionFacts {
            letter: Some(id.letter()),
            iterations: session::iterations(conn, id)?,
            turn: self.session_turn(id, prompt_id)?,
        }))
    }

    /// Returns the number of calls of a session that began before a time, in microseconds since 1970.
    pub fn iterations_before(&self, agent: &str, native: &str, time: i64) -> Result<i64> {
        let conn = &self.store.conn;
        match session::id_of(conn, agent, native)? {
            Some(id) => session::iterations_before(conn, id, time),
            None => Ok(0),
        }
    }

    /// Returns the agent's own id of a session that is named by its letter, its id, or the beginning of it. None: the history
    /// has no such session, or several.
    pub fn native_session(&self, name: &str) -> Result<Option<String>> {
        let mut found = session::named(&self.store.conn, name)?;
        Ok(match found.len() {
            1 => found.pop().map(|(_, native)| native),
            _ => None,
        })
    }

    /// Returns the call that may write and ran at the time of a file, which is that of a clock with this tick. Microseconds.
    pub fn call_at(&self, time: i64, tick: i64) -> Result<Option<RunningCall>> {
        let found = call::at(&self.store.conn, time, tick)?;
        Ok(found.map(|(agent, tool, turn)| RunningCall { agent, tool, turn }))
    }

    /// Returns the agent of the newest session with this id of its own.
    pub fn agent_of(&self, native: &str) -> Result<Option<String>> {
        session::agent_of(&self.store.conn, native)
    }

    fn session_turn(
        &self,
        session: SessionId,
        prompt_id: Option<&str>,
    ) -> Result<Option<SessionTurn>> {
        let conn = &self.store.conn;
        let named = match prompt_id {
            Some(native) => turn::of_prompt(conn, session, native)?,
            None => None,
        };
        let Some(id) = named.map_or_else(|| turn::newest_of(conn, session), |id| Ok(Some(id)))?
        else {
            return Ok(None);
        };
        let row = turn::row(conn, id)?;
        let mut files = std::collections::BTreeSet::new();
        let mut lines = 0;
        for node in node::edits_of_turn(conn, id)? {
            let edits = self.entry(node)?.changes.into_iter();
            for edit in edits.filter(|edit| edit.change.origin.session == Some(session)) {
                lines += (edit.added + edit.removed) as u64;
                files.insert(edit.change.file);
            }
        }
        Ok(Some(SessionTurn {
            number: row.number,
            prompt: row.prompt,
            calls: call::count_of_turn(conn, id)?,
            files: files.len() as u64,
            lines,
            started: turn::started(conn, id)?,
        }))
    }

    /// Returns the events of a call that ran, by the agent's own id.
    pub fn call_events(&self, agent: &str, session: &str, call: &str) -> Result<CallEvents> {
        let conn = &self.store.conn;
        let Some(id) = session::id_of(conn, agent, session)? else {
            return Ok(CallEvents::None);
        };
        Ok(match call::is_opened_by_its_end(conn, id, call)? {
            None => CallEvents::None,
            Some(true) => CallEvents::OnlyAfter,
            Some(false) => CallEvents::Both,
        })
    }

    /// Returns the checkpoint of a call that ran. None: it changed nothing.
    pub fn step_of_call(&self, agent: &str, session: &str, call: &str) -> Result<Option<Entry>> {
        let conn = &self.store.conn;
        let Some(id) = session::id_of(conn, agent, session)? else {
            return Ok(None);
        };
        let Some(call) = call::by_native(conn, id, call)? else {
            return Ok(None);
        };
        let node = node::of_call(conn, call.id)?;
        node.map(|node| self.entry(node)).transpose()
    }
}
