//! Table `session`: the conversations of agents.

use std::collections::BTreeSet;

use rusqlite::{Connection, OptionalExtension, Row, params};

use super::damage::{InRow, read_all};
use crate::error::Result;
use crate::model::{RootId, Session, SessionId};
use crate::store::now;

/// An event's view of its session.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SeenSession<'a> {
    pub agent: &'a str,
    pub native: &'a str,
    pub transcript: Option<&'a str>,
    /// The root that the session works in from now on.
    pub root: RootId,
    /// The process that reported the event.
    pub process: Option<&'a str>,
    /// True if the agent's settings have hooks of others at the end of a call. None: nobody has looked.
    pub other_hooks: Option<bool>,
}

/// Updates the row of a session, which is added at its first event.
pub(crate) fn see(conn: &Connection, seen: &SeenSession<'_>) -> Result<SessionId> {
    Ok(conn
        .prepare_cached(
            "INSERT INTO session (agent, native, transcript, started, seen, root, process, other_hooks)
             VALUES (?1,?2,?3,?4,?4,?5,?6,COALESCE(?7, 0))
             ON CONFLICT (agent, native) DO UPDATE
             SET seen = ?4, transcript = COALESCE(?3, transcript), root = ?5, steady = process IS ?6, process = ?6,
               other_hooks = COALESCE(?7, other_hooks)
             RETURNING id",
        )?
        .query_row(
            params![
                seen.agent,
                seen.native,
                seen.transcript,
                now(),
                seen.root,
                seen.process,
                seen.other_hooks
            ],
            |r| r.get(0),
        )?)
}

pub(crate) fn row(conn: &Connection, id: SessionId) -> Result<Session> {
    let read = |r: &Row<'_>| {
        Ok(Session {
            id: r.get(0)?,
            agent: r.get(1)?,
            native: r.get(2)?,
            transcript: r.get(3)?,
        })
    };
    conn.prepare_cached("SELECT id, agent, native, transcript FROM session WHERE id = ?1")?
        .query_row([id], read)
        .in_row(conn, || format!("row {} of table session", id.0))
}

/// True if a session of this root with an event after `seen` is in a turn that has not ended.
pub(crate) fn any_in_turn(conn: &Connection, root: RootId, seen: i64) -> Result<bool> {
    Ok(conn
        .prepare_cached(
            "SELECT 1 FROM session s WHERE s.root = ?1 AND s.seen > ?2
               AND s.working IS NOT NULL
               AND EXISTS (SELECT 1 FROM turn WHERE session = s.id)",
        )?
        .exists(params![root, seen])?)
}

/// True if a session of this root had an event after `seen`.
pub(crate) fn any_seen_since(conn: &Connection, root: RootId, seen: i64) -> Result<bool> {
    Ok(conn
        .prepare_cached("SELECT 1 FROM session WHERE root = ?1 AND seen > ?2")?
        .exists(params![root, seen])?)
}

/// Finds a session by the agent's own id.
pub(crate) fn id_of(conn: &Connection, agent: &str, native: &str) -> Result<Option<SessionId>> {
    Ok(conn
        .prepare_cached("SELECT id FROM session WHERE agent = ?1 AND native = ?2")?
        .query_row([agent, native], |r| r.get(0))
        .optional()?)
}

/// Returns the sessions that a name may mean: the one with this letter, else those whose own id begins with this text, an
/// exact match first.
pub(crate) fn named(conn: &Connection, name: &str) -> Result<Vec<(SessionId, String)>> {
    let mut select = conn.prepare_cached(
        "SELECT id, native FROM session WHERE substr(native, 1, length(?1)) = ?1 OR id = ?2
         ORDER BY native = ?1 DESC, id = ?2 DESC",
    )?;
    let letter = SessionId::from_letter(name);
    let rows = select.query(params![name, letter])?;
    let mut found: Vec<(SessionId, String)> =
        read_all(conn, "session", rows, |r| Ok((r.get(0)?, r.get(1)?)))?;
    if found.first().is_some_and(|(id, _)| Some(*id) == letter) {
        found.truncate(1);
    }
    Ok(found)
}

/// Returns the agent of the newest session with this id of its own.
pub(crate) fn agent_of(conn: &Connection, native: &str) -> Result<Option<String>> {
    Ok(conn
        .prepare_cached("SELECT agent FROM session WHERE native = ?1 ORDER BY id DESC LIMIT 1")?
        .query_row([native], |r| r.get(0))
        .optional()?)
}

pub(crate) fn of_agent(conn: &Connection, agent: &str) -> Result<Vec<SessionId>> {
    let mut select = conn.prepare_cached("SELECT id FROM session WHERE agent = ?1")?;
    let rows = select.query([agent])?;
    read_all(conn, "session", rows, |r| r.get(0))
}

/// Returns the next number of a call within the session.
pub(crate) fn next_iteration(conn: &Connection, id: SessionId) -> Result<i64> {
    Ok(conn
        .prepare_cached(
            "UPDATE session SET iterations = iterations + 1 WHERE id = ?1 RETURNING iterations",
        )?
        .query_row([id], |r| r.get(0))?)
}

/// Returns the number of calls of the session so far.
pub(crate) fn iterations(conn: &Connection, id: SessionId) -> Result<i64> {
    conn.prepare_cached("SELECT iterations FROM session WHERE id = ?1")?
        .query_row([id], |r| r.get(0))
        .in_row(conn, || format!("row {} of table session", id.0))
}

/// Returns the number of calls of the session that began before a time, in microseconds since 1970.
pub(crate) fn iterations_before(conn: &Connection, id: SessionId, time: i64) -> Result<i64> {
    conn.prepare_cached(
        "SELECT COALESCE(MAX(iteration), 0) FROM call WHERE session = ?1 AND opened < ?2",
    )?
    .query_row(params![id, time], |r| r.get(0))
    .in_row(conn, || format!("the calls of session {}", id.0))
}

/// True if shell commands of the session are known to run in the background.
pub(crate) fn has_background(conn: &Connection, agent: &str, native: &str) -> Result<bool> {
    let running = conn
        .prepare_cached("SELECT background > 0 FROM session WHERE agent = ?1 AND native = ?2")?
        .query_row([agent, native], |r| r.get(0))
        .optional()?;
    Ok(running.unwrap_or(false))
}

pub(crate) fn set_background(conn: &Connection, id: SessionId, running: bool) -> Result<()> {
    conn.prepare_cached("UPDATE session SET background = ?2 WHERE id = ?1")?
        .execute(params![id, running])?;
    Ok(())
}

/// Notes that the session works on a prompt since now, or that its turn has ended.
pub(crate) fn set_working(conn: &Connection, id: SessionId, works: bool) -> Result<()> {
    conn.prepare_cached("UPDATE session SET working = ?2 WHERE id = ?1")?
        .execute(params![id, works.then(now)])?;
    Ok(())
}

/// True if the session works on a prompt.
pub(crate) fn is_working(conn: &Connection, id: SessionId) -> Result<bool> {
    Ok(conn
        .prepare_cached("SELECT 1 FROM session WHERE id = ?1 AND working IS NOT NULL")?
        .exists([id])?)
}

/// A session whose turn has not ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WorkingSession {
    pub id: SessionId,
    pub agent: String,
    /// Time of the prompt.
    pub since: i64,
    /// Time of its last event.
    pub seen: i64,
    /// Time at which its newest open call began.
    pub opened: Option<i64>,
}

/// Returns the sessions of a root that work on a prompt.
pub(crate) fn working(conn: &Connection, root: RootId) -> Result<Vec<WorkingSession>> {
    let mut select = conn.prepare_cached(
        "SELECT s.id, s.agent, s.working, s.seen,
           (SELECT MAX(c.opened) FROM call c WHERE c.session = s.id AND c.closed IS NULL)
         FROM session s WHERE s.working IS NOT NULL AND s.root = ?1 ORDER BY s.id",
    )?;
    let rows = select.query([root])?;
    read_all(conn, "session", rows, |r| {
        Ok(WorkingSession {
            id: r.get(0)?,
            agent: r.get(1)?,
            since: r.get(2)?,
            seen: r.get(3)?,
            opened: r.get(4)?,
        })
    })
}

/// True if the agent's settings have hooks of others at the end of a call.
pub(crate) fn has_other_hooks(conn: &Connection, id: SessionId) -> Result<bool> {
    Ok(conn
        .prepare_cached("SELECT 1 FROM session WHERE id = ?1 AND other_hooks > 0")?
        .exists([id])?)
}

/// Evidence of what became of a session that reports nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Traces {
    /// The process that reported its last two events: the agent's own, not one for a single hook.
    pub process: Option<String>,
    /// Path of the agent's own record of the conversation.
    pub transcript: Option<String>,
}

pub(crate) fn traces(conn: &Connection, id: SessionId) -> Result<Traces> {
    let read = |r: &Row<'_>| {
        Ok(Traces {
            process: r.get(0)?,
            transcript: r.get(1)?,
        })
    };
    conn.prepare_cached(
        "SELECT CASE WHEN steady THEN process END, transcript FROM session WHERE id = ?1",
    )?
    .query_row([id], read)
    .in_row(conn, || format!("row {} of table session", id.0))
}

/// Returns the sessions of a root with shell commands in the background and an event after `seen`.
pub(crate) fn in_background(
    conn: &Connection,
    root: RootId,
    seen: i64,
) -> Result<BTreeSet<SessionId>> {
    let mut select = conn.prepare_cached(
        "SELECT id FROM session WHERE background > 0 AND seen > ?1 AND root = ?2",
    )?;
    let rows = select.query(params![seen, root])?;
    read_all(conn, "session", rows, |r| r.get(0))
}

pub(crate) fn count(conn: &Connection) -> Result<i64> {
    Ok(conn.query_row("SELECT COUNT(*) FROM session", [], |r| r.get(0))?)
}

/// Returns the agents with their numbers of sessions, most first.
pub(crate) fn count_by_agent(conn: &Connection) -> Result<Vec<(String, i64)>> {
    let mut select =
        conn.prepare("SELECT agent, COUNT(*) FROM session GROUP BY agent ORDER BY 2 DESC, agent")?;
    let rows = select.query([])?;
    read_all(conn, "session", rows, |r| Ok((r.get(0)?, r.get(1)?)))
}
