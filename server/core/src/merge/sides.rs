//! The texts of a merge as numbers of lines.

use crate::diff::Interner;

/// The three texts as numbers; equal lines have equal numbers.
pub(super) struct Sides<'t> {
    pub base: Vec<u32>,
    pub ours: Vec<u32>,
    pub theirs: Vec<u32>,
    pub interner: Interner<'t>,
}

impl Sides<'_> {
    /// True for a line that identifies itself. Braces and blank lines recur without being the same
    /// line.
    pub fn is_distinctive(&self, id: u32) -> bool {
        // non-ASCII letters consist of such bytes, and so do some symbols, which does no harm
        let distinctive = |byte: &u8| byte.is_ascii_alphanumeric() || !byte.is_ascii();
        self.interner.get(id).iter().any(distinctive)
    }
}
