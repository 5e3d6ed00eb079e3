//! Table `counted`: lines that a change added and removed, counted when first asked for.

use rusqlite::{Connection, params};

use super::query::{Table, execute};
use crate::error::Result;
use crate::model::{Certainty, ChangeId, Role};

const COUNTED: Table = Table("counted");

/// Lines added and removed by one change.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LineCounts {
    pub added: usize,
    pub removed: usize,
    pub binary: bool,
}

/// Sums over changes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LineTotals {
    pub added: i64,
    pub removed: i64,
}

/// Authors of the changes to sum up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CountedAuthors {
    Agents,
    User,
    Unknown,
}

pub(crate) fn get(conn: &Connection, change: ChangeId) -> Result<Option<LineCounts>> {
    let sql = "SELECT change, added, removed, binary FROM counted WHERE change = ?1";
    COUNTED.first(conn, sql, [change], |r| {
        Ok(LineCounts {
            added: r.get(1)?,
            removed: r.get(2)?,
            binary: r.get(3)?,
        })
    })
}

/// Records the counts of a change, unless they are there already.
pub(crate) fn insert(conn: &Connection, change: ChangeId, counts: &LineCounts) -> Result<()> {
    let sql = "INSERT OR IGNORE INTO counted (change, added, removed, binary) VALUES (?1,?2,?3,?4)";
    let values = params![change, counts.added, counts.removed, counts.binary];
    execute(conn, sql, values)?;
    Ok(())
}

/// Returns the lines of all edits by these authors.
pub(crate) fn totals(conn: &Connection, authors: CountedAuthors) -> Result<LineTotals> {
    let condition = match authors {
        CountedAuthors::Agents => "c.session IS NOT NULL AND c.session_certainty <> ?2",
        CountedAuthors::User => "c.session IS NULL AND c.session_certainty <> ?2",
        CountedAuthors::Unknown => "c.session_certainty = ?2",
    };
    let sql = format!(
        "SELECT COALESCE(SUM(k.added), 0), COALESCE(SUM(k.removed), 0)
         FROM counted k JOIN change c ON c.id = k.change WHERE c.role = ?1 AND {condition}"
    );
    COUNTED.one(conn, &sql, (Role::Edit, Certainty::Uncertain), |r| {
        Ok(LineTotals {
            added: r.get(0)?,
            removed: r.get(1)?,
        })
    })
}

pub(crate) fn delete(conn: &Connection, change: ChangeId) -> Result<()> {
    execute(conn, "DELETE FROM counted WHERE change = ?1", [change])?;
    Ok(())
}
