//! Table `meta`: the number of the newest commit.

use rusqlite::{Connection, OptionalExtension};

use crate::error::Result;

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
    let value = conn
        .prepare_cached("SELECT value FROM meta WHERE key = 'seq'")?
        .query_row([], |r| r.get(0))
        .optional()?;
    Ok(value.unwrap_or(0))
}
