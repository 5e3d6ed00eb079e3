//! The calls that ended last.

use rusqlite::{Connection, OptionalExtension as _, Row, params};

use super::call::{ToolOutcome, Writer};
use crate::error::Result;
use crate::model::RootId;

/// A call that has ended, with the event that ended it and its time in microseconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct EndedCall {
    pub writer: Writer,
    pub seq: i64,
    pub time: i64,
}

fn read_ended(r: &Row<'_>) -> rusqlite::Result<EndedCall> {
    Ok(EndedCall {
        writer: Writer {
            call: r.get(0)?,
            session: r.get(1)?,
        },
        seq: r.get(2)?,
        time: r.get(3)?,
    })
}

/// A call that has reported its end, with its events and times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LastCall {
    pub writer: Writer,
    pub events: (i64, i64),
    pub times: (i64, i64),
}

/// Returns the call that may write and ended last below this root, by a report.
pub(crate) fn last_that_wrote(conn: &Connection, root: RootId) -> Result<Option<LastCall>> {
    let read = |r: &Row<'_>| {
        Ok(LastCall {
            writer: Writer {
                call: r.get(0)?,
                session: r.get(1)?,
            },
            events: (r.get(2)?, r.get(3)?),
            times: (r.get(4)?, r.get(5)?),
        })
    };
    Ok(conn
        .prepare_cached(
            "SELECT id, session, opened_seq, closed_seq, opened, closed
             FROM call INDEXED BY call_closed
             WHERE closed_seq IS NOT NULL AND effect > 0 AND root = ?1 AND outcome <> ?2
             ORDER BY closed_seq DESC LIMIT 1",
        )?
        .query_row(params![root, ToolOutcome::Presumed], read)
        .optional()?)
}

/// Returns the call that may write anything and ended last below this root, by a report or by an event of this name.
pub(crate) fn last_ended(conn: &Connection, root: RootId, name: &str) -> Result<Option<EndedCall>> {
    Ok(conn
        .prepare_cached(
            "SELECT c.id, c.session, c.closed_seq, c.closed
             FROM call c INDEXED BY call_closed JOIN event e ON e.seq = c.closed_seq
             WHERE c.closed_seq IS NOT NULL AND c.effect > 0 AND c.effect = 2 AND c.root = ?1
               AND (c.outcome <> ?2 OR e.name = ?3)
             ORDER BY c.closed_seq DESC LIMIT 1",
        )?
        .query_row(params![root, ToolOutcome::Presumed, name], read_ended)
        .optional()?)
}
