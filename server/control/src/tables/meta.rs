//! Table `meta`: the number of the newest commit, and the time of the last `gc`.

use rusqlite::{Connection, OptionalExtension, params};

use backstitch_core::Result;

/// Raises the number of commits by one. Returns it.
pub(crate) fn raise(conn: &Connection) -> Result<i64> {
    Ok(conn
        .prepare_cached(
            "INSERT INTO meta (key, value) VALUES ('seq', 1)
             ON CONFLICT (key) DO UPDATE SET value = value + 1 RETURNING value",
        )?
        .query_row([], |r| r.get(0))?)
}

/// Returns the number of the newest commit; 0: none.
pub(crate) fn seq(conn: &Connection) -> Result<i64> {
    Ok(get(conn, "seq")?.unwrap_or(0))
}

pub(crate) fn get(conn: &Connection, key: &str) -> Result<Option<i64>> {
    Ok(conn
        .prepare_cached("SELECT value FROM meta WHERE key = ?1")?
        .query_row([key], |r| r.get(0))
        .optional()?)
}

pub(crate) fn set(conn: &Connection, key: &str, value: i64) -> Result<()> {
    conn.prepare_cached(
        "INSERT INTO meta (key, value) VALUES (?1, ?2) ON CONFLICT (key) DO UPDATE SET value = ?2",
    )?
    .execute(params![key, value])?;
    Ok(())
}
