//! Table `hunks`: the encoded line hunks of an edit. A cache for blame.

use rusqlite::{Connection, params};

use super::query::{Table, execute};
use crate::error::Result;
use crate::model::ChangeId;

const HUNKS: Table = Table("hunks");

pub(crate) fn put(conn: &Connection, change: ChangeId, lines: &[u8]) -> Result<()> {
    let sql = "INSERT OR REPLACE INTO hunks (change, lines) VALUES (?1,?2)";
    execute(conn, sql, params![change, lines])?;
    Ok(())
}

pub(crate) fn get(conn: &Connection, change: ChangeId) -> Result<Option<Vec<u8>>> {
    let sql = "SELECT CAST(lines AS BLOB) FROM hunks WHERE change = ?1";
    HUNKS.value_of(conn, sql, &change)
}

pub(crate) fn delete(conn: &Connection, change: ChangeId) -> Result<()> {
    execute(conn, "DELETE FROM hunks WHERE change = ?1", [change])?;
    Ok(())
}
