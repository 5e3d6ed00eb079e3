//! Table `object`: values that programs gave. Their bytes are never interpreted.

use rusqlite::{Connection, OptionalExtension, params};

use crate::repl::StoredObject;
use backstitch_core::sqlite::InRow;
use backstitch_core::sqlite::now;
use backstitch_core::{Error, Result};

const LEVEL: i32 = 3;
/// Maximum size of a value in bytes.
pub(crate) const MAX_BYTES: usize = 64 << 20;

/// Stores a value, unless it is there.
pub(crate) fn put(conn: &Connection, cid: &str, bytes: &[u8], view: &str) -> Result<()> {
    let packed = zstd::bulk::compress(bytes, LEVEL).map_err(|source| Error::Io {
        what: "compress a value".to_owned(),
        source,
    })?;
    let size = i64::try_from(bytes.len()).unwrap_or(i64::MAX);
    conn.prepare_cached(
        "INSERT OR IGNORE INTO object (cid, size, bytes, view, made) VALUES (?1,?2,?3,?4,?5)",
    )?
    .execute(params![cid, size, packed, view, now()])?;
    Ok(())
}

pub(crate) fn get(conn: &Connection, cid: &str) -> Result<Option<StoredObject>> {
    let row: Option<(i64, Vec<u8>, String)> = conn
        .prepare_cached("SELECT size, bytes, view FROM object WHERE cid = ?1")?
        .query_row([cid], |r| Ok((r.get(0)?, r.get(1)?, r.get(2)?)))
        .optional()
        .in_row(conn, || format!("row {cid} of table object"))?;
    let Some((size, bytes, view)) = row else {
        return Ok(None);
    };
    let bytes = zstd::bulk::decompress(&bytes, MAX_BYTES).map_err(|error| Error::Damaged {
        path: "control.db".into(),
        reason: format!("row {cid} of table object is damaged: {error}"),
    })?;
    Ok(Some(StoredObject {
        cid: cid.to_owned(),
        size,
        bytes,
        view,
    }))
}

/// Removes values that no entry of a session names.
pub(crate) fn delete_unnamed(conn: &Connection) -> Result<usize> {
    Ok(conn.execute(
        "DELETE FROM object WHERE cid NOT IN (SELECT cid FROM exchange WHERE cid IS NOT NULL)",
        [],
    )?)
}
