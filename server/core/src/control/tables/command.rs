//! Table `command`: each command given to a session.

use rusqlite::{Connection, OptionalExtension, params};
use serde_json::Value;

use crate::error::Result;
use crate::store::now;

/// A command to store.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NewCommand<'a> {
    pub face: &'a str,
    pub agent: Option<&'a str>,
    pub session: Option<&'a str>,
    pub pause: Option<i64>,
    pub name: &'a str,
    pub args: &'a Value,
}

pub(crate) fn insert(conn: &Connection, new: &NewCommand<'_>) -> Result<()> {
    conn.prepare_cached(
        "INSERT INTO command (time, face, agent, session, pause, name, args) VALUES (?1,?2,?3,?4,?5,?6,?7)",
    )?
    .execute(params![
        now(),
        new.face,
        new.agent,
        new.session,
        new.pause,
        new.name,
        new.args.to_string()
    ])?;
    Ok(())
}

/// Returns the number and the arguments of the newest command of this name about a pause.
pub(crate) fn newest(conn: &Connection, pause: i64, name: &str) -> Result<Option<(i64, String)>> {
    Ok(conn
        .prepare_cached(
            "SELECT id, args FROM command WHERE pause = ?1 AND name = ?2 ORDER BY id DESC LIMIT 1",
        )?
        .query_row(params![pause, name], |r| Ok((r.get(0)?, r.get(1)?)))
        .optional()?)
}

/// Removes commands before a time.
pub(crate) fn delete_before(conn: &Connection, time: i64) -> Result<usize> {
    Ok(conn.execute("DELETE FROM command WHERE time < ?1", [time])?)
}
