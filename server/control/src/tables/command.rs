//! Table `command`: each command given to a session.

use rusqlite::{Connection, OptionalExtension, params};
use serde_json::Value;

use backstitch_core::Result;
use backstitch_core::sqlite::now;

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

/// Adds a command. Returns its number.
pub(crate) fn insert(conn: &Connection, new: &NewCommand<'_>) -> Result<i64> {
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
    Ok(conn.last_insert_rowid())
}

/// Returns the arguments of the first command of this name about a pause after another one.
pub(crate) fn first_after(
    conn: &Connection,
    (pause, after): (i64, i64),
    name: &str,
) -> Result<Option<String>> {
    Ok(conn
        .prepare_cached(
            "SELECT args FROM command WHERE pause = ?1 AND id > ?2 AND name = ?3 ORDER BY id LIMIT 1",
        )?
        .query_row(params![pause, after, name], |r| r.get(0))
        .optional()?)
}

/// Returns the commands of a name after a row and not before a time, oldest first: number, time, front end, arguments.
pub(crate) fn all_after(
    conn: &Connection,
    name: &str,
    (after, since): (i64, i64),
) -> Result<Vec<(i64, i64, String, String)>> {
    let mut select = conn.prepare_cached(
        "SELECT id, time, face, args FROM command WHERE name = ?1 AND id > ?2 AND time >= ?3 ORDER BY id",
    )?;
    let rows = select.query_map(params![name, after, since], |r| {
        Ok((r.get(0)?, r.get(1)?, r.get(2)?, r.get(3)?))
    })?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// Removes commands before a time.
pub(crate) fn delete_before(conn: &Connection, time: i64) -> Result<usize> {
    Ok(conn.execute("DELETE FROM command WHERE time < ?1", [time])?)
}
