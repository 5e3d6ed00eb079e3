//! Line changes of each edit. They are stored when the edit is recorded, while its texts are at
//! hand, so that blame need not read old states. Any of them may be missing.

use std::path::Path;

use rusqlite::Connection;

use crate::content::is_text;
use crate::diff::{LineChange, count_lines, line_changes};
use crate::error::Result;
use crate::model::{ChangeId, FileVersion, Image};
use crate::store;
use crate::store::tables::hunks;
use crate::store::varint::{number, read_number};

/// Version of the encoding.
const FORMAT: u8 = 1;
/// Texts above this size are compared on demand.
const MAX_SIZE: u64 = 1 << 20;
/// Texts with more differing lines are compared on demand, not while recording.
const MAX_LINES: usize = 4000;

/// Line changes from one text to another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Hunks {
    before: usize,
    after: usize,
    pub(crate) changes: Vec<LineChange>,
}

impl Hunks {
    pub fn between(before: &[u8], after: &[u8]) -> Self {
        Self {
            before: count_lines(before),
            after: count_lines(after),
            changes: line_changes(before, after),
        }
    }

    pub fn encode(&self) -> Vec<u8> {
        let mut out = vec![FORMAT];
        let mut put = |value: usize| number(&mut out, value as u64);
        put(self.before);
        put(self.after);
        let mut at = 0;
        for LineChange { old, new } in &self.changes {
            put(old.start - at);
            put(old.len());
            put(new.len());
            at = old.end;
        }
        out
    }

    /// Decodes a row. Returns None unless it fits a text with `before` lines.
    pub fn decode(row: &[u8], before: usize) -> Option<Self> {
        let mut rest = row.strip_prefix(&[FORMAT])?;
        let mut take = || usize::try_from(read_number(&mut rest)?).ok();
        let mut hunks = Self {
            before: take()?,
            after: take()?,
            changes: Vec::new(),
        };
        let (mut old, mut new) = (0_usize, 0_usize);
        while let Some(kept) = take() {
            let (removed, added) = (take()?, take()?);
            old = old.checked_add(kept)?;
            new = new.checked_add(kept)?;
            let (old_end, new_end) = (old.checked_add(removed)?, new.checked_add(added)?);
            hunks.changes.push(LineChange {
                old: old..old_end,
                new: new..new_end,
            });
            (old, new) = (old_end, new_end);
        }
        let rest = hunks.before.checked_sub(old)?;
        let fits = hunks.before == before && new.checked_add(rest) == Some(hunks.after);
        fits.then_some(hunks)
    }

    pub fn read(conn: &Connection, change: ChangeId, before: usize) -> Result<Option<Self>> {
        let row = hunks::get(conn, change)?;
        Ok(row.and_then(|row| Self::decode(&row, before)))
    }
}

/// Stores the hunks of an edit in the transaction that records it, if they are cheap to compute.
pub(crate) fn note(
    conn: &Connection,
    dir: &Path,
    change: ChangeId,
    before: &FileVersion,
    after: &FileVersion,
) -> Result<()> {
    let text = |state: &FileVersion| match state.as_ref().map(|placed| placed.image) {
        None | Some(Image::Absent) => Some(Vec::new()),
        // `verify` reports content that cannot be read
        Some(Image::File { content, size, .. }) if size <= MAX_SIZE => {
            store::get(conn, dir, &content).ok().filter(|b| is_text(b))
        }
        Some(_) => None,
    };
    let (Some(before), Some(after)) = (text(before), text(after)) else {
        return Ok(());
    };
    if crate::diff::lines_apart(&before, &after) > MAX_LINES {
        return Ok(());
    }
    hunks::put(conn, change, &Hunks::between(&before, &after).encode())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn hunks_come_back_from_their_row(before in "([ab]\n){0,12}[ab]?", after in "([ab]\n){0,12}[ab]?") {
            let hunks = Hunks::between(before.as_bytes(), after.as_bytes());
            let row = hunks.encode();
            prop_assert_eq!(Hunks::decode(&row, hunks.before), Some(hunks.clone()));
            prop_assert_eq!(Hunks::decode(&row, hunks.before + 1), None);
        }

        #[test]
        fn a_damaged_row_is_none_or_fits(row in proptest::collection::vec(any::<u8>(), 0..24), before in 0_usize..9) {
            let mut row = row;
            row.insert(0, FORMAT);
            if let Some(hunks) = Hunks::decode(&row, before) {
                let mut at = 0;
                for change in &hunks.changes {
                    prop_assert!(change.old.start >= at && change.old.end <= before);
                    at = change.old.end;
                }
            }
        }
    }
}
