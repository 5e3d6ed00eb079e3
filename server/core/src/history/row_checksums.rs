//! Sums over what decides what a restore does: SQLite reads a row that rots as it is.

use rusqlite::Row;

use super::SetHash;
use crate::model::{FileId, FileVersion, NodeId};
use crate::store::state_from;

/// What of a change has a sum.
pub(super) struct Summed<'a> {
    pub node: NodeId,
    pub file: FileId,
    pub role: i64,
    pub before: &'a FileVersion,
    pub after: &'a FileVersion,
    pub set: SetHash,
}

impl Summed<'_> {
    pub(super) fn sum(&self) -> i32 {
        let mut sum = crc32fast::Hasher::new();
        for number in [self.node.0, self.file.0, self.role] {
            sum.update(&number.to_le_bytes());
        }
        add_state(&mut sum, self.before);
        add_state(&mut sum, self.after);
        sum.update(&self.set.0);
        sum.finalize().cast_signed()
    }
}

/// The sum of a state that a file has with a set.
pub(super) fn of_version(file: FileId, set: SetHash, state: &FileVersion) -> i32 {
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

/// What `read` takes, of a change `c`.
pub(super) const COLUMNS: &str =
    "c.node, c.file, c.role, c.before_path, c.before_image, c.after_path, c.after_image,
    c.set_after, c.sum";

/// What was read of a change.
pub(super) struct Sound {
    pub node: NodeId,
    pub file: FileId,
    pub role: i64,
    pub before: FileVersion,
    pub after: FileVersion,
    pub set: SetHash,
}

/// Reads the columns from `at` on, as they are: to be shown.
pub(super) fn read_unchecked(row: &Row<'_>, at: usize) -> rusqlite::Result<Sound> {
    Ok(Sound {
        node: row.get(at)?,
        file: row.get(at + 1)?,
        role: row.get(at + 2)?,
        before: state_from(row, at + 3)?,
        after: state_from(row, at + 5)?,
        set: row.get(at + 7)?,
    })
}

/// The same, and no other than what was written.
pub(super) fn read(row: &Row<'_>, at: usize) -> rusqlite::Result<Sound> {
    let sound = read_unchecked(row, at)?;
    let now = Summed {
        node: sound.node,
        file: sound.file,
        role: sound.role,
        before: &sound.before,
        after: &sound.after,
        set: sound.set,
    };
    check(row.get(at + 8)?, now.sum(), || {
        let path = |state: &FileVersion| state.as_ref().map(|p| p.path.display());
        let path = path(&sound.after).or_else(|| path(&sound.before));
        let path = path.unwrap_or_else(|| format!("file {}", sound.file.0));
        format!("a change of {path} at {}", sound.node)
    })?;
    Ok(sound)
}

/// Whether a row is as it was written. `then` is None where that was before there were sums.
pub(super) fn check(
    then: Option<i32>,
    now: i32,
    what: impl FnOnce() -> String,
) -> rusqlite::Result<()> {
    match then {
        Some(then) if then != now => Err(rotten(&what())),
        _ => Ok(()),
    }
}

/// The record of this is not what was written.
pub(crate) fn rotten(what: &str) -> rusqlite::Error {
    let code = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_CORRUPT);
    rusqlite::Error::SqliteFailure(code, Some(format!("the record of {what} is damaged")))
}
