//! Table `version`: the recorded state of a file for every set of edits in force.

use rusqlite::{Connection, Row, params};

use super::query::{Table, execute};
use crate::error::Result;
use crate::model::{ContentId, FileId, FileVersion};
use crate::store::{SetHash, row_checksums, state_columns, state_from};

const VERSION: Table = Table("version");

/// Records the state that a file has with this set. A set has one state, so an existing row stays.
pub(crate) fn insert(
    conn: &Connection,
    file: FileId,
    set: SetHash,
    state: &FileVersion,
) -> Result<()> {
    let (path, image) = state_columns(state);
    let sum = row_checksums::of_version(file, set, state);
    let sql =
        "INSERT OR IGNORE INTO version (file, set_hash, path, image, sum) VALUES (?1,?2,?3,?4,?5)";
    execute(conn, sql, params![file, set, path, image, sum])?;
    Ok(())
}

/// Returns the recorded state of the file with exactly this set, if any.
pub(crate) fn get(conn: &Connection, file: FileId, set: SetHash) -> Result<Option<FileVersion>> {
    let read = |r: &Row<'_>| {
        let state = state_from(r, 1)?;
        let what = || format!("a state of file {}", file.0);
        let sum = row_checksums::of_version(file, set, &state);
        row_checksums::check(r.get(3)?, sum, what)?;
        Ok(state)
    };
    let sql = "SELECT file, path, image, sum FROM version WHERE file = ?1 AND set_hash = ?2";
    VERSION.first(conn, sql, params![file, set], read)
}

/// Deletes all states of a file but the one without any edit.
pub(crate) fn delete_edited(conn: &Connection, file: FileId) -> Result<()> {
    let sql = "DELETE FROM version WHERE file = ?1 AND set_hash <> ?2";
    execute(conn, sql, params![file, SetHash::EMPTY])?;
    Ok(())
}

/// Passes all contents on, each at least once.
pub(crate) fn contents(conn: &Connection, take: &mut dyn FnMut(ContentId)) -> Result<()> {
    let sql = "SELECT file, image FROM version WHERE image IS NOT NULL";
    VERSION.contents(conn, sql, take)
}
