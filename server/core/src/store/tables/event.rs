//! Table `event`: what agents reported, in order.

use rusqlite::{Connection, OptionalExtension as _, params};

use super::id_list::IdList;
use crate::error::Result;
use crate::model::{CallId, SessionId, TurnId};
use crate::store::now;

/// An event to add.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NewEvent<'a> {
    pub session: SessionId,
    pub turn: Option<TurnId>,
    pub call: Option<CallId>,
    pub subagent: Option<&'a str>,
    pub name: &'a str,
}

/// Adds an event. Returns its number.
pub(crate) fn insert(conn: &Connection, new: &NewEvent<'_>) -> Result<i64> {
    conn.prepare_cached(
        "INSERT INTO event (time, session, turn, call, subagent, name) VALUES (?1,?2,?3,?4,?5,?6)",
    )?
    .execute(params![
        now(),
        new.session,
        new.turn,
        new.call,
        new.subagent,
        new.name
    ])?;
    Ok(conn.last_insert_rowid())
}

/// Returns the number of the newest event.
pub(crate) fn newest(conn: &Connection) -> Result<Option<i64>> {
    Ok(conn
        .prepare_cached("SELECT MAX(seq) FROM event")?
        .query_row([], |r| r.get(0))?)
}

/// Returns the name of a session's newest event.
pub(crate) fn newest_name(conn: &Connection, session: SessionId) -> Result<Option<String>> {
    Ok(conn
        .prepare_cached("SELECT name FROM event WHERE session = ?1 ORDER BY seq DESC LIMIT 1")?
        .query_row([session], |r| r.get(0))
        .optional()?)
}

/// Returns the time of a session's newest event of a name, in microseconds since 1970.
pub(crate) fn newest_time(
    conn: &Connection,
    session: SessionId,
    name: &str,
) -> Result<Option<i64>> {
    Ok(conn
        .prepare_cached(
            "SELECT time FROM event WHERE session = ?1 AND name = ?2 ORDER BY seq DESC LIMIT 1",
        )?
        .query_row(params![session, name], |r| r.get(0))
        .optional()?)
}

/// True if a session has an event after another one, apart from events of a name.
pub(crate) fn any_other_since(
    conn: &Connection,
    session: SessionId,
    seq: i64,
    name: &str,
) -> Result<bool> {
    Ok(conn
        .prepare_cached("SELECT 1 FROM event WHERE seq > ?2 AND session = ?1 AND name <> ?3")?
        .exists(params![session, seq, name])?)
}

/// An event of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PastEvent {
    pub seq: i64,
    pub time: i64,
    pub turn: Option<TurnId>,
}

/// Returns the events of a session that may be the last one before a change of a file, newest first. The file has `time`, in
/// microseconds since 1970, and the clock of files is up to `lag` microseconds behind that of events.
pub(crate) fn last_before(
    conn: &Connection,
    session: SessionId,
    (time, lag): (i64, i64),
) -> Result<Vec<PastEvent>> {
    let mut statement = conn.prepare_cached(
        "SELECT seq, time, turn FROM event WHERE session = ?1 AND time <= ?2 ORDER BY seq DESC",
    )?;
    let events = statement.query_map(params![session, time + lag], |r| {
        Ok(PastEvent {
            seq: r.get(0)?,
            time: r.get(1)?,
            turn: r.get(2)?,
        })
    })?;
    let mut found = Vec::new();
    for event in events {
        let event = event?;
        let is_surely_before = event.time <= time;
        found.push(event);
        if is_surely_before {
            break;
        }
    }
    Ok(found)
}

/// Deletes events before `time` that belong to no turn and no call.
pub(crate) fn delete_unattached(conn: &Connection, time: i64) -> Result<()> {
    conn.execute(
        "DELETE FROM event WHERE time < ?1 AND call IS NULL AND turn IS NULL",
        [time],
    )?;
    Ok(())
}

pub(crate) fn delete_of_calls(conn: &Connection, calls: IdList) -> Result<()> {
    let sql = format!("DELETE FROM event WHERE call IN {}", calls.ids());
    conn.execute(&sql, [])?;
    Ok(())
}

/// Keeps the events of these turns without their turn.
pub(crate) fn detach_turns(conn: &Connection, turns: IdList) -> Result<()> {
    let sql = format!("UPDATE event SET turn = NULL WHERE turn IN {}", turns.ids());
    conn.execute(&sql, [])?;
    Ok(())
}
