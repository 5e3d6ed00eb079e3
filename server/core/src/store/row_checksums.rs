//! Checksums over the columns that decide the result of a restore, since SQLite does not detect
//! damaged rows.

use rusqlite::Row;

use super::codec::state_from;
use super::set_hash::SetHash;
use crate::model::{FileId, FileVersion, NodeId, Role};

/// The checksummed columns of a change.
pub(crate) struct ChecksumInput<'a> {
    pub node: NodeId,
    pub file: FileId,
    pub role: Role,
    pub before: &'a FileVersion,
    pub after: &'a FileVersion,
    pub set: SetHash,
}

impl ChecksumInput<'_> {
    pub(crate) fn sum(&self) -> i32 {
        let mut sum = crc32fast::Hasher::new();
        for number in [self.node.0, self.file.0, self.role.stored()] {
            sum.update(&number.to_le_bytes());
        }
        add_state(&mut sum, self.before);
        add_state(&mut sum, self.after);
        sum.update(&self.set.0);
        sum.finalize().cast_signed()
    }
}

/// Returns the checksum of a file's state with a set.
pub(crate) fn of_version(file: FileId, set: SetHash, state: &FileVersion) -> i32 {
    let mut sum = crc32fast::Hasher::new();
    sum.update(&file.0.to_le_bytes());
    sum.update(&set.0);
    add_state(&mut sum, state);
    sum.finalize().cast_signed()
}

fn add_state(sum: &mut crc32fast::Hasher, state: &FileVersion) {
    let Some(placed) = state else {
        sum.update(&[0]);
        return;
    };
    let path = placed.path.bytes();
    sum.update(&u32::try_from(path.len()).unwrap_or(u32::MAX).to_le_bytes());
    sum.update(path);
    sum.update(&placed.image.encode());
}

/// Columns of a change `c` that `read` expects.
pub(crate) const COLUMNS: &str =
    "c.node, c.file, c.role, c.before_path, c.before_image, c.after_path, c.after_image,
    c.set_after, c.sum";

/// Columns read from a change.
pub(crate) struct ChangeColumns {
    pub node: NodeId,
    pub file: FileId,
    pub role: Role,
    pub before: FileVersion,
    pub after: FileVersion,
    pub set: SetHash,
}

/// Reads the columns from `at` on without checking them, for display.
pub(crate) fn read_unchecked(row: &Row<'_>, at: usize) -> rusqlite::Result<ChangeColumns> {
    Ok(ChangeColumns {
        node: row.get(at)?,
        file: row.get(at + 1)?,
        role: row.get(at + 2)?,
        before: state_from(row, at + 3)?,
        after: state_from(row, at + 5)?,
        set: row.get(at + 7)?,
    })
}

/// Reads the columns from `at` on and checks them.
pub(crate) fn read(row: &Row<'_>, at: usize) -> rusqlite::Result<ChangeColumns> {
    let columns = read_unchecked(row, at)?;
    let input = ChecksumInput {
        node: columns.node,
        file: columns.file,
        role: columns.role,
        before: &columns.before,
        after: &columns.after,
        set: columns.set,
    };
    check(row.get(at + 8)?, input.sum(), || {
        let path = |state: &FileVersion| state.as_ref().map(|p| p.path.display());
        let path = path(&columns.after).or_else(|| path(&columns.before));
        let path = path.unwrap_or_else(|| format!("file {}", columns.file.0));
        format!("a change of {path} at {}", columns.node)
    })?;
    Ok(columns)
}

/// Checks a row against its checksum. `recorded` is None for rows written before there were
/// checksums.
pub(crate) fn check(
    recorded: Option<i32>,
    now: i32,
    what: impl FnOnce() -> String,
) -> rusqlite::Result<()> {
    match recorded {
        Some(recorded) if recorded != now => Err(damaged(&what())),
        _ => Ok(()),
    }
}

/// Error for a damaged record.
pub(crate) fn damaged(what: &str) -> rusqlite::Error {
    let code = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_CORRUPT);
    rusqlite::Error::SqliteFailure(code, Some(format!("the record of {what} is damaged")))
}
