//! Temporary tables of ids: many rows are then deleted with one statement for each table.

use rusqlite::Connection;

use crate::error::Result;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IdList {
    /// Checkpoints that are squashed, and the rows that are deleted with them.
    SquashedNodes,
    SquashedTurns,
    SquashedCalls,
    SquashedOperations,
    /// Old rows that no checkpoint refers to.
    StrayCalls,
    StrayOperations,
}

impl IdList {
    /// Name of the temporary table.
    pub(crate) const fn table(self) -> &'static str {
        match self {
            Self::SquashedNodes => "temp.going",
            Self::SquashedTurns => "temp.going_turn",
            Self::SquashedCalls => "temp.going_call",
            Self::SquashedOperations => "temp.going_operation",
            Self::StrayCalls => "temp.stray_call",
            Self::StrayOperations => "temp.stray_operation",
        }
    }

    /// The ids as a subquery.
    pub(crate) fn ids(self) -> String {
        format!("(SELECT id FROM {})", self.table())
    }

    /// Creates the table, or empties it.
    pub(crate) fn begin(self, conn: &Connection) -> Result<()> {
        let table = self.table();
        conn.execute_batch(&format!(
            "CREATE TABLE IF NOT EXISTS {table} (id INTEGER PRIMARY KEY); DELETE FROM {table};"
        ))?;
        Ok(())
    }
}
