//! Table `ack`: the clients that have shown a pause to a person.

use rusqlite::{Connection, params};

use crate::pause::PauseId;
use backstitch_core::Result;
use backstitch_core::sqlite::now;

pub(crate) fn insert(conn: &Connection, pause: PauseId, face: &str) -> Result<()> {
    conn.prepare_cached("INSERT OR IGNORE INTO ack (pause, face, time) VALUES (?1, ?2, ?3)")?
        .execute(params![pause.0, face, now()])?;
    Ok(())
}

/// True if any client has shown the pause.
pub(crate) fn any(conn: &Connection, pause: PauseId) -> Result<bool> {
    Ok(conn
        .prepare_cached("SELECT 1 FROM ack WHERE pause = ?1")?
        .exists([pause.0])?)
}
