//! Diffs of one file for `backstitch diff`: hunks, patches for `git apply`, changed words.
//!
//! Knows no store and no project: a file is two sides with a path, a mode and bytes.

mod binary;
mod lines;
mod patch;
#[cfg(test)]
mod tests;
mod trim;
mod words;

use std::collections::HashMap;
use std::ops::Range;

pub(crate) use lines::{Interner, changes};
pub use lines::{LineChange, lines, text_changes};
pub use patch::{hunks_of, patch, quoted};
use trim::equal_ends;
pub(crate) use trim::lines_apart;
pub use trim::{count_lines, line_changes};
pub use words::word_diff;

use crate::content::is_text;

/// Unchanged lines around a change in a hunk, as in git.
pub const CONTEXT: usize = 3;
/// The file type bits of a mode.
const TYPE: u32 = 0o170_000;

/// One version of a file; a symlink's bytes are its target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Side<'a> {
    pub path: &'a [u8],
    /// `0o100644`, `0o100755` or `0o120000`, as git writes them.
    pub mode: u32,
    pub bytes: &'a [u8],
}

/// Two versions of one file. `None` is absent; two different paths are a rename.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FileDiff<'a> {
    pub old: Option<Side<'a>>,
    pub new: Option<Side<'a>>,
}

impl<'a> FileDiff<'a> {
    fn bytes(&self) -> (&'a [u8], &'a [u8]) {
        let bytes = |side: Option<Side<'a>>| side.map_or(&b""[..], |side| side.bytes);
        (bytes(self.old), bytes(self.new))
    }

    /// True if a file became a symlink, or a symlink a file.
    fn changes_type(&self) -> bool {
        match (self.old, self.new) {
            (Some(old), Some(new)) => old.mode & TYPE != new.mode & TYPE,
            _ => false,
        }
    }

    /// The path used in hunk ids, which [`pick`] expects. It is the same in both directions.
    pub fn hunk_path(&self) -> &'a [u8] {
        let (old, new) = (self.old.or(self.new), self.new.or(self.old));
        let path = |side: Option<Side<'a>>| side.map_or(&b""[..], |side| side.path);
        path(old).min(path(new))
    }
}

/// One maximal changed region with no context: the unit of `--hunk`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hunk {
    /// 12 hex digits, the same when old and new are swapped.
    pub id: String,
    /// 0-based lines of the old side.
    pub old: Range<usize>,
    /// 0-based lines of the new side.
    pub new: Range<usize>,
}

/// Returns the changed regions in order. Returns none for binaries, and for a file that became a
/// symlink or the reverse: those cannot be applied in parts.
pub fn hunks(d: &FileDiff) -> Vec<Hunk> {
    if is_binary(d) || d.changes_type() {
        return Vec::new();
    }
    let (old, new) = d.bytes();
    Comparison::of(old, new).hunks(d.hunk_path())
}

/// Returns the first line of the old text that changes, from 0.
pub fn first_change(old: &[u8], new: &[u8]) -> Option<usize> {
    line_changes(old, new)
        .first()
        .map(|change| change.old.start)
}

/// Returns the lines added and removed between two texts, in this order; zero for binaries.
pub fn counts(old: &[u8], new: &[u8]) -> (usize, usize) {
    let side = |bytes| {
        Some(Side {
            path: b"",
            mode: 0o100_644,
            bytes,
        })
    };
    line_counts(&FileDiff {
        old: side(old),
        new: side(new),
    })
}

/// Returns the lines added and removed, in this order; zero for binaries.
pub fn line_counts(d: &FileDiff) -> (usize, usize) {
    if is_binary(d) {
        return (0, 0);
    }
    let (old, new) = d.bytes();
    if d.changes_type() {
        return (lines(new).len(), lines(old).len());
    }
    // the number of differing lines does not depend on the equal ends, which are skipped as bytes
    let (above, below) = equal_ends(old, new);
    let middle = |text: &'_ [u8]| above..text.len() - below;
    let compared = Comparison::ordered(new < old, &old[middle(old)], &new[middle(new)]);
    compared
        .changes
        .iter()
        .fold((0, 0), |(added, removed), change| {
            (added + change.new.len(), removed + change.old.len())
        })
}

/// True if one side is binary: it contains a NUL byte.
pub fn is_binary(d: &FileDiff) -> bool {
    let (old, new) = d.bytes();
    !is_text(old) || !is_text(new)
}

/// Applies only the hunks of `old` → `new` listed in `ids`. Returns the bytes and the number of
/// hunks found.
///
/// `path` is the [`FileDiff::hunk_path`] used for these ids in [`hunks`].
pub fn pick(old: &[u8], new: &[u8], path: &[u8], ids: &[&str]) -> (Vec<u8>, usize) {
    if !is_text(old) || !is_text(new) {
        return (old.to_vec(), 0);
    }
    let comparison = Comparison::of(old, new);
    let mut bytes = Vec::with_capacity(old.len().max(new.len()));
    let mut found = 0;
    let mut at = 0;
    for hunk in comparison.hunks(path) {
        if ids.contains(&hunk.id.as_str()) {
            found += 1;
            push_lines(&mut bytes, &comparison.old[at..hunk.old.start]);
            push_lines(&mut bytes, &comparison.new[hunk.new]);
            at = hunk.old.end;
        }
    }
    push_lines(&mut bytes, &comparison.old[at..]);
    (bytes, found)
}

fn push_lines(bytes: &mut Vec<u8>, lines: &[&[u8]]) {
    for line in lines {
        bytes.extend_from_slice(line);
    }
}

/// Two texts as lines with their terminators, and the changes between them.
#[derive(Debug)]
struct Comparison<'t> {
    old: Vec<&'t [u8]>,
    new: Vec<&'t [u8]>,
    changes: Vec<LineChange>,
}

impl<'t> Comparison<'t> {
    /// Swapping the texts swaps the changes and nothing else. The algorithm alone does not ensure
    /// that, so it always gets the two texts in the same order.
    fn of(old: &'t [u8], new: &'t [u8]) -> Self {
        Self::ordered(new < old, old, new)
    }

    fn ordered(swap: bool, old: &'t [u8], new: &'t [u8]) -> Self {
        let (old, new) = (lines(old), lines(new));
        let mut interner = Interner::default();
        let [old_ids, new_ids] = [&old, &new].map(|lines| interner.intern(lines));
        let changes = if swap {
            changes(&new_ids, &old_ids)
                .into_iter()
                .map(LineChange::swapped)
                .collect()
        } else {
            changes(&old_ids, &new_ids)
        };
        Self { old, new, changes }
    }

    fn hunks(&self, path: &[u8]) -> Vec<Hunk> {
        let mut counts: HashMap<blake3::Hash, u64> = HashMap::new();
        self.changes
            .iter()
            .map(|change| {
                let old = self.old[change.old.clone()].concat();
                let new = self.new[change.new.clone()].concat();
                let (first, second) = if old <= new { (old, new) } else { (new, old) };
                let mut hasher = blake3::Hasher::new();
                for part in [path, &first, &second] {
                    hasher.update(&(part.len() as u64).to_le_bytes());
                    hasher.update(part);
                }
                // identical hunks of one file are distinguished by a counter
                let occurrence = counts.entry(hasher.finalize()).or_default();
                hasher.update(&occurrence.to_le_bytes());
                *occurrence += 1;
                Hunk {
                    id: hasher.finalize().to_hex()[..12].to_owned(),
                    old: change.old.clone(),
                    new: change.new.clone(),
                }
            })
            .collect()
    }
}

/// Returns the lines added and removed between two contents, and true if they are binary: (added,
/// removed, binary).
pub fn count(old: &[u8], new: &[u8]) -> (usize, usize, bool) {
    let side = |bytes| {
        Some(Side {
            path: b"",
            mode: 0o100_644,
            bytes,
        })
    };
    let d = FileDiff {
        old: side(old),
        new: side(new),
    };
    let (added, removed) = line_counts(&d);
    (added, removed, is_binary(&d))
}
