//! Lines, and the ranges of lines that differ between two texts. Knows no files.

use std::collections::HashMap;
use std::ops::Range;
use std::time::{Duration, Instant};

use similar::DiffOp;
use similar::algorithms::{Algorithm, Capture, diff_deadline};

/// Time limit of one comparison. After it, the result is coarser.
const DEADLINE: Duration = Duration::from_secs(1);

/// Returns the lines of `bytes`, each with its `\n`; only the last may lack one.
pub fn lines(bytes: &[u8]) -> Vec<&[u8]> {
    bytes.split_inclusive(|&byte| byte == b'\n').collect()
}

/// One maximal changed region: `old` was replaced by `new` (0-based, one of them may be empty).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineChange {
    pub old: Range<usize>,
    pub new: Range<usize>,
}

impl LineChange {
    fn is_pure(&self) -> bool {
        self.old.is_empty() || self.new.is_empty()
    }

    /// Returns the change as seen from the other side.
    #[must_use]
    pub fn swapped(self) -> Self {
        Self {
            old: self.new,
            new: self.old,
        }
    }
}

/// Gives equal items the same number, so that comparing lines is comparing integers.
#[derive(Debug, Default)]
pub(crate) struct Interner<'t> {
    ids: HashMap<&'t [u8], u32>,
    items: Vec<&'t [u8]>,
}

impl<'t> Interner<'t> {
    pub fn intern(&mut self, items: &[&'t [u8]]) -> Vec<u32> {
        items.iter().map(|item| self.id(item)).collect()
    }

    fn id(&mut self, item: &'t [u8]) -> u32 {
        *self.ids.entry(item).or_insert_with(|| {
            self.items.push(item);
            u32::try_from(self.items.len() - 1).expect("a text has fewer than 2^32 lines")
        })
    }

    pub fn get(&self, id: u32) -> &'t [u8] {
        self.items[id as usize]
    }
}

/// Returns the changes from one row of texts to another, such as lines or words, as `changes` does. After the time limit,
/// the result is coarser.
pub fn text_changes<'t>(old: &[&'t str], new: &[&'t str], limit: Duration) -> Vec<LineChange> {
    let bytes = |texts: &[&'t str]| texts.iter().map(|text| text.as_bytes()).collect::<Vec<_>>();
    let mut interner = Interner::default();
    let (old, new) = (interner.intern(&bytes(old)), interner.intern(&bytes(new)));
    changes_within(&old, &new, limit)
}

/// Returns the changes from `old` to `new`, in order; no two changes touch.
pub(crate) fn changes(old: &[u32], new: &[u32]) -> Vec<LineChange> {
    changes_within(old, new, DEADLINE)
}

fn changes_within(old: &[u32], new: &[u32], limit: Duration) -> Vec<LineChange> {
    let prefix = common(old.iter(), new.iter());
    let suffix = common(old[prefix..].iter().rev(), new[prefix..].iter().rev());
    let (old_end, new_end) = (old.len() - suffix, new.len() - suffix);

    let mut capture = Capture::new();
    let Ok(()) = diff_deadline(
        Algorithm::Myers,
        &mut capture,
        old,
        prefix..old_end,
        new,
        prefix..new_end,
        Instant::now().checked_add(limit),
    );

    let mut changes = Vec::new();
    let mut at = (prefix, prefix);
    let mut gap_until = |old_at: usize, new_at: usize, len: usize| {
        if at != (old_at, new_at) {
            changes.push(LineChange {
                old: at.0..old_at,
                new: at.1..new_at,
            });
        }
        at = (old_at + len, new_at + len);
    };
    for op in capture.into_ops() {
        if let DiffOp::Equal {
            old_index,
            new_index,
            len,
        } = op
        {
            gap_until(old_index, new_index, len);
        }
    }
    gap_until(old_end, new_end, 0);
    slide_down(changes, old, new)
}

fn common<'a>(a: impl Iterator<Item = &'a u32>, b: impl Iterator<Item = &'a u32>) -> usize {
    a.zip(b).take_while(|(a, b)| a == b).count()
}

/// Moves every insertion or deletion with several possible positions as far down as possible.
///
/// Two texts with the same edit then agree on its position, whatever else they changed.
fn slide_down(changes: Vec<LineChange>, old: &[u32], new: &[u32]) -> Vec<LineChange> {
    // from the last change to the first, since each one is bounded by the one below it
    let mut placed: Vec<LineChange> = Vec::with_capacity(changes.len());
    for mut change in changes.into_iter().rev() {
        loop {
            let floor = placed.last().map_or(old.len(), |next| next.old.start);
            while change.is_pure() && change.old.end < floor && slides(&change, old, new) {
                for end in [&mut change.old, &mut change.new] {
                    end.start += 1;
                    end.end += 1;
                }
            }
            match placed.pop_if(|next| next.old.start == change.old.end) {
                Some(next) => {
                    change.old.end = next.old.end;
                    change.new.end = next.new.end;
                }
                None => break,
            }
        }
        placed.push(change);
    }
    placed.reverse();
    placed
}

fn slides(change: &LineChange, old: &[u32], new: &[u32]) -> bool {
    if change.old.is_empty() {
        new[change.new.start] == new[change.new.end]
    } else {
        old[change.old.start] == old[change.old.end]
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn changed(old: &str, new: &str) -> Vec<(Range<usize>, Range<usize>)> {
        let ids = |text: &str| text.bytes().map(u32::from).collect::<Vec<_>>();
        changes(&ids(old), &ids(new))
            .into_iter()
            .map(|change| (change.old, change.new))
            .collect()
    }

    #[test]
    fn an_ambiguous_insertion_or_deletion_goes_down() {
        assert_eq!(changed("a}b", "a}f}b"), [(2..2, 2..4)]);
        assert_eq!(changed("a}f}b", "a}b"), [(2..4, 2..2)]);
        assert_eq!(changed("xx", "xxx"), [(2..2, 2..3)]);
    }

    #[test]
    fn changes_that_touch_after_sliding_become_one() {
        assert_eq!(changed("a}b", "a}f}c"), [(2..3, 2..5)]);
    }

    proptest! {
        #[test]
        fn applying_the_changes_gives_the_new_text(
            old in prop::collection::vec(0u32..4, 0..30),
            new in prop::collection::vec(0u32..4, 0..30),
        ) {
            let mut result = Vec::new();
            let mut at = 0;
            let mut last = None;
            for change in changes(&old, &new) {
                prop_assert!(last.is_none_or(|last| last < change.old.start));
                prop_assert!(!(change.old.is_empty() && change.new.is_empty()));
                result.extend_from_slice(&old[at..change.old.start]);
                prop_assert_eq!(result.len(), change.new.start);
                result.extend_from_slice(&new[change.new.clone()]);
                at = change.old.end;
                last = Some(at);
            }
            result.extend_from_slice(&old[at..]);
            prop_assert_eq!(result, new);
        }
    }
}
