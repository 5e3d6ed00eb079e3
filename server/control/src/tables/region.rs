//! Table `region`: the text in which the lines of a `line` breakpoint were set.

use rusqlite::{Connection, OptionalExtension, params};

use crate::breakpoint::BreakpointId;
use backstitch_core::model::RelPath;
use backstitch_core::sqlite::InRow;
use backstitch_core::{Error, Result};

/// Level of compression: the texts are short and seldom written.
const LEVEL: i32 = 3;
/// Maximum size of a text in bytes.
const MAX_TEXT: usize = 64 << 20;

pub(crate) fn set(conn: &Connection, id: BreakpointId, path: &RelPath, base: &[u8]) -> Result<()> {
    let base = zstd::bulk::compress(base, LEVEL).map_err(|source| Error::Io {
        what: "compress the text of a breakpoint".to_owned(),
        source,
    })?;
    conn.execute(
        "INSERT OR REPLACE INTO region (breakpoint, path, base) VALUES (?1, ?2, ?3)",
        params![id.0, path, base],
    )?;
    Ok(())
}

pub(crate) fn set_path(conn: &Connection, id: BreakpointId, path: &RelPath) -> Result<()> {
    conn.execute(
        "UPDATE region SET path = ?2 WHERE breakpoint = ?1",
        params![id.0, path],
    )?;
    Ok(())
}

/// Returns the path of a region, and the text in which it was set.
pub(crate) fn get(conn: &Connection, id: BreakpointId) -> Result<Option<(RelPath, Vec<u8>)>> {
    let row: Option<(RelPath, Vec<u8>)> = conn
        .prepare_cached("SELECT path, base FROM region WHERE breakpoint = ?1")?
        .query_row([id.0], |r| Ok((r.get(0)?, r.get(1)?)))
        .optional()
        .in_row(conn, || format!("row {} of table region", id.0))?;
    let Some((path, base)) = row else {
        return Ok(None);
    };
    let base = zstd::bulk::decompress(&base, MAX_TEXT).map_err(|error| Error::Damaged {
        path: "control.db".into(),
        reason: format!("row {} of table region is damaged: {error}", id.0),
    })?;
    Ok(Some((path, base)))
}
