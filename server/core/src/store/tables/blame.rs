//! Table `blame`: the encoded owners of a file's lines with a set of edits in force. A cache.

use rusqlite::{Connection, params};

use super::query::{Table, execute};
use crate::error::Result;
use crate::model::FileId;
use crate::store::SetHash;

const BLAME: Table = Table("blame");

pub(crate) fn put(conn: &Connection, file: FileId, set: SetHash, runs: &[u8]) -> Result<()> {
    let sql = "INSERT OR REPLACE INTO blame (file, set_hash, runs) VALUES (?1,?2,?3)";
    execute(conn, sql, params![file, set, runs])?;
    Ok(())
}

pub(crate) fn get(conn: &Connection, file: FileId, set: SetHash) -> Result<Option<Vec<u8>>> {
    let sql = "SELECT file, CAST(runs AS BLOB) FROM blame WHERE file = ?1 AND set_hash = ?2";
    BLAME.first(conn, sql, params![file, set], |r| r.get(1))
}

pub(crate) fn of_file(conn: &Connection, file: FileId) -> Result<Vec<(SetHash, Vec<u8>)>> {
    let sql = "SELECT file, set_hash, CAST(runs AS BLOB) FROM blame WHERE file = ?1";
    BLAME.all(conn, sql, [file], |r| Ok((r.get(1)?, r.get(2)?)))
}

pub(crate) fn delete(conn: &Connection, file: FileId, set: SetHash) -> Result<()> {
    let sql = "DELETE FROM blame WHERE file = ?1 AND set_hash = ?2";
    execute(conn, sql, params![file, set])?;
    Ok(())
}

pub(crate) fn delete_of_file(conn: &Connection, file: FileId) -> Result<()> {
    execute(conn, "DELETE FROM blame WHERE file = ?1", [file])?;
    Ok(())
}
