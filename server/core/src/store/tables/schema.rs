//! All tables, by the schema.

use rusqlite::Connection;

use super::query::Table;
use crate::error::Result;

const SCHEMA: Table = Table("sqlite_master");

/// Empties all tables but `root`, `branch` and the full-text index. The counters of ids stay.
pub(crate) fn clear(conn: &Connection) -> Result<()> {
    let sql = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%'
           AND name NOT LIKE 'words%' AND name NOT IN ('root', 'branch')";
    let tables: Vec<String> = SCHEMA.column(conn, sql, [])?;
    for table in tables {
        conn.execute_batch(&format!("DELETE FROM \"{table}\""))?;
    }
    Ok(())
}
