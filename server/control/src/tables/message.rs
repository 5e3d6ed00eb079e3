//! Table `message`: texts that wait for the next event of a session which can carry them to the model.

use rusqlite::{Connection, params};

use backstitch_core::Result;
use backstitch_core::sqlite::now;
use backstitch_core::sqlite::read_all;

/// A text that waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaitingMessage {
    pub id: i64,
    pub agent: Option<String>,
    /// None: it goes with the next event of any session.
    pub session: Option<String>,
    pub text: String,
    /// Microseconds since 1970.
    pub made: i64,
}

/// Adds a text for a session; None: for the next session of the workspace that has an event. Returns its number.
pub(crate) fn insert(
    conn: &Connection,
    agent: Option<&str>,
    session: Option<&str>,
    text: &str,
) -> Result<i64> {
    conn.prepare_cached(
        "INSERT INTO message (agent, session, text, made) VALUES (?1, ?2, ?3, ?4)",
    )?
    .execute(params![agent, session, text, now()])?;
    Ok(conn.last_insert_rowid())
}

/// Returns the texts that wait, oldest first.
pub(crate) fn waiting(conn: &Connection) -> Result<Vec<WaitingMessage>> {
    let mut select = conn.prepare_cached(
        "SELECT id, agent, session, text, made FROM message WHERE taken IS NULL ORDER BY id",
    )?;
    let rows = select.query([])?;
    read_all(conn, "message", rows, |r| {
        Ok(WaitingMessage {
            id: r.get(0)?,
            agent: r.get(1)?,
            session: r.get(2)?,
            text: r.get(3)?,
            made: r.get(4)?,
        })
    })
}

/// Withdraws a text. Returns false if it does not wait.
pub(crate) fn withdraw(conn: &Connection, id: i64) -> Result<bool> {
    let changes = conn.execute("DELETE FROM message WHERE id = ?1 AND taken IS NULL", [id])?;
    Ok(changes > 0)
}

pub(crate) fn any_waiting(conn: &Connection) -> Result<bool> {
    Ok(conn
        .prepare_cached("SELECT 1 FROM message WHERE taken IS NULL")?
        .exists([])?)
}

/// Takes the texts for a session, oldest first.
pub(crate) fn take(conn: &Connection, agent: &str, session: &str) -> Result<Vec<String>> {
    let mut update = conn.prepare_cached(
        "UPDATE message SET taken = ?3 WHERE taken IS NULL AND (agent IS NULL OR agent = ?1)
           AND (session IS NULL OR session = ?2) RETURNING id, text",
    )?;
    let rows = update.query(params![agent, session, now()])?;
    let mut taken: Vec<(i64, String)> =
        read_all(conn, "message", rows, |r| Ok((r.get(0)?, r.get(1)?)))?;
    taken.sort_by_key(|(id, _)| *id);
    Ok(taken.into_iter().map(|(_, text)| text).collect())
}

/// Removes texts that were taken before a time.
pub(crate) fn delete_before(conn: &Connection, time: i64) -> Result<usize> {
    Ok(conn.execute("DELETE FROM message WHERE taken < ?1", [time])?)
}

pub(crate) fn delete_all(conn: &Connection) -> Result<()> {
    conn.execute("DELETE FROM message", [])?;
    Ok(())
}
