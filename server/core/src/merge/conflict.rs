//! Regions that both sides of a merge changed.

use std::ops::Range;

/// A region that both sides changed. The ranges are 0-based lines of each text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConflictHunk {
    pub base: Range<usize>,
    pub ours: Range<usize>,
    pub theirs: Range<usize>,
    pub kind: ConflictKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ConflictKind {
    /// Both sides changed a common line, or one inserted inside what the other replaced.
    Overlap,
    /// Two different insertions at one point.
    Insertions,
    /// One side moved a line that the other side removed; taking both would restore it.
    Moved,
    /// Both sides changed the line ending, differently.
    LineEndings,
    /// At least one of the texts is binary, and both sides changed it.
    Binary,
    /// Both sides changed the final newline, differently.
    FinalNewline,
}
