//! Line owners of a state as runs of lines, and how they carry over from state to state. Pure.

use std::ops::Range;

use crate::diff::LineChange;
use crate::model::{ChangeId, ContentId};
use crate::store::varint::{number, read_number};

/// Origin of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Owner {
    /// The line was there before the first recorded change.
    Before,
    Change(ChangeId),
}

/// The owners of a state's lines. Neighbouring runs have different owners, and no run is empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Runs(Vec<(usize, Owner)>);

/// Version of the encoding.
const FORMAT: u8 = 3;
/// Bytes of the content's hash that are stored with its runs.
const MARK: usize = 8;

impl Runs {
    pub fn all(lines: usize, owner: Owner) -> Self {
        let mut runs = Self::default();
        runs.push(lines, owner);
        runs
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn lines(&self) -> usize {
        self.0.iter().map(|(lines, _)| lines).sum()
    }

    pub fn iter(&self) -> impl Iterator<Item = (usize, Owner)> + '_ {
        self.0.iter().copied()
    }

    fn push(&mut self, lines: usize, owner: Owner) {
        match self.0.last_mut() {
            _ if lines == 0 => {}
            Some((last, same)) if *same == owner => *last += lines,
            _ => self.0.push((lines, owner)),
        }
    }

    /// Returns the owners after `changes`, whose new lines belong to `owner`.
    pub fn carried(&self, changes: &[LineChange], owner: Owner) -> Self {
        let mut after = Self::default();
        let mut from = RunCursor::of(self);
        for change in changes {
            from.take_until(change.old.start, |lines, old| after.push(lines, old));
            from.take_until(change.old.end, |_, _| {});
            after.push(change.new.len(), owner);
        }
        from.take_until(usize::MAX, |lines, old| after.push(lines, old));
        after
    }

    /// Encodes a row of the cache.
    pub fn encode(&self, content: ContentId) -> Vec<u8> {
        let mut out = vec![FORMAT];
        out.extend_from_slice(&content.0[..MARK]);
        for (lines, owner) in &self.0 {
            number(&mut out, *lines as u64);
            number(
                &mut out,
                match owner {
                    Owner::Before => 0,
                    Owner::Change(id) => id.0.unsigned_abs(),
                },
            );
        }
        out
    }

    /// Decodes a row. Returns None unless it belongs to this content and has this many lines.
    pub fn decode(row: &[u8], content: ContentId, lines: usize) -> Option<Self> {
        let mut rest = row
            .strip_prefix(&[FORMAT])?
            .strip_prefix(&content.0[..MARK])?;
        let mut runs = Self::default();
        while !rest.is_empty() {
            let count = usize::try_from(read_number(&mut rest)?).ok()?;
            let owner = match i64::try_from(read_number(&mut rest)?).ok()? {
                0 => Owner::Before,
                id => Owner::Change(ChangeId(id)),
            };
            runs.push(count, owner);
        }
        (runs.checked_lines()? == lines).then_some(runs)
    }

    fn checked_lines(&self) -> Option<usize> {
        self.0
            .iter()
            .try_fold(0_usize, |sum, (lines, _)| sum.checked_add(*lines))
    }
}

/// Iterates once over runs.
struct RunCursor<'r> {
    rest: std::slice::Iter<'r, (usize, Owner)>,
    /// The rest of the current run.
    run: Option<(usize, Owner)>,
    at: usize,
}

impl<'r> RunCursor<'r> {
    fn of(runs: &'r Runs) -> Self {
        Self {
            rest: runs.0.iter(),
            run: None,
            at: 0,
        }
    }

    fn take_until(&mut self, end: usize, mut take: impl FnMut(usize, Owner)) {
        while self.at < end {
            let Some((left, owner)) = self.run.or_else(|| self.rest.next().copied()) else {
                return;
            };
            let taken = left.min(end - self.at);
            take(taken, owner);
            self.at += taken;
            self.run = (left > taken).then_some((left - taken, owner));
        }
    }
}

/// The lines of a state made by a restore. Some have no owner yet.
#[derive(Debug)]
pub(super) struct LineOwners {
    owners: Vec<Option<Owner>>,
    open: usize,
}

impl LineOwners {
    /// Starts from the state before the restore: unchanged lines keep their owner, if it still
    /// holds.
    pub fn carried(
        before: &Runs,
        changes: &[LineChange],
        lines: usize,
        holds: impl Fn(Owner) -> bool,
    ) -> Self {
        let mut this = Self {
            owners: vec![None; lines],
            open: lines,
        };
        this.inherit(before, changes, holds);
        this
    }

    pub fn is_complete(&self) -> bool {
        self.open == 0
    }

    /// Assigns owners to lines that another state has, too, if those owners hold here. `changes`
    /// lead from that state to this one.
    pub fn inherit(&mut self, other: &Runs, changes: &[LineChange], holds: impl Fn(Owner) -> bool) {
        let mut from = RunCursor::of(other);
        let mut at = 0;
        let end = self.owners.len();
        for (old, new) in changes
            .iter()
            .map(|c| (c.old.clone(), c.new.clone()))
            .chain([(usize::MAX..usize::MAX, end..end)])
        {
            let mut equal = at..new.start;
            from.take_until(old.start, |lines, owner| {
                let same = equal.start..(equal.start + lines).min(equal.end);
                equal.start = same.end;
                if holds(owner) {
                    self.give(same, owner);
                }
            });
            from.take_until(old.end, |_, _| {});
            at = new.end;
        }
    }

    fn give(&mut self, lines: Range<usize>, owner: Owner) {
        for line in &mut self.owners[lines] {
            if line.is_none() {
                *line = Some(owner);
                self.open -= 1;
            }
        }
    }

    /// Gives the remaining lines to the restore.
    pub fn close(self, rest: Owner) -> Runs {
        let mut runs = Runs::default();
        for owner in self.owners {
            runs.push(1, owner.unwrap_or(rest));
        }
        runs
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::diff::line_changes;

    const A: Owner = Owner::Change(ChangeId(1));
    const B: Owner = Owner::Change(ChangeId(200));
    const C: Owner = Owner::Change(ChangeId(70_000));

    fn text(lines: &str) -> Vec<u8> {
        lines.chars().flat_map(|c| [c as u8, b'\n']).collect()
    }

    fn diff(old: &str, new: &str) -> Vec<LineChange> {
        line_changes(&text(old), &text(new))
    }

    fn runs(of: &[(usize, Owner)]) -> Runs {
        Runs(of.to_vec())
    }

    /// Returns each line's owner as a letter.
    fn shown(runs: &Runs) -> String {
        let letter = |owner| match owner {
            Owner::Before => '.',
            A => 'A',
            B => 'B',
            Owner::Change(_) => 'C',
        };
        runs.iter()
            .flat_map(|(lines, owner)| std::iter::repeat_n(letter(owner), lines))
            .collect()
    }

    #[test]
    fn an_edit_owns_its_new_lines() {
        let start = Runs::all(4, Owner::Before);
        let first = start.carried(&diff("abcd", "abXYcd"), A);
        assert_eq!(shown(&first), "..AA..");
        let second = first.carried(&diff("abXYcd", "PXZcd"), B);
        assert_eq!(shown(&second), "BAB..");
        assert_eq!(second.len(), 4);
        assert_eq!(shown(&second.carried(&diff("PXZcd", ""), C)), "");
        assert_eq!(shown(&Runs::default().carried(&diff("", "ab"), C)), "CC");
    }

    #[test]
    fn a_restored_line_keeps_its_owner() {
        // b was A's; it is gone, and a restore brings it back next to B's line
        let earlier = runs(&[(1, Owner::Before), (1, A), (1, Owner::Before)]);
        let before = runs(&[(2, Owner::Before), (1, B)]);
        let any = |_| true;
        let mut state = LineOwners::carried(&before, &diff("acx", "abcx"), 4, any);
        assert!(!state.is_complete());
        state.inherit(&earlier, &diff("abc", "abcx"), any);
        assert!(state.is_complete());
        assert_eq!(shown(&state.close(C)), ".A.B");
    }

    #[test]
    fn an_edit_that_is_taken_out_owns_no_line() {
        // the same words were the start's, then A's; A is taken out
        let before = runs(&[(1, A), (1, Owner::Before)]);
        let holds = |owner| owner != A;
        let mut state = LineOwners::carried(&before, &diff("ab", "ab"), 2, holds);
        state.inherit(&Runs::all(2, Owner::Before), &diff("ax", "ab"), holds);
        assert_eq!(shown(&state.close(C)), "..");
    }

    #[test]
    fn a_new_line_of_a_restore_is_its_own() {
        let before = runs(&[(1, A)]);
        let state = LineOwners::carried(&before, &diff("a", "<a>"), 3, |_| true);
        assert_eq!(shown(&state.close(C)), "CAC");
    }

    #[test]
    fn a_cache_row_fits_one_content() {
        let some = runs(&[(300, Owner::Before), (1, C), (2, A)]);
        let (content, other) = (ContentId::of(b"x"), ContentId::of(b"y"));
        let row = some.encode(content);
        assert_eq!(Runs::decode(&row, content, 303), Some(some));
        assert_eq!(Runs::decode(&row, content, 302), None, "other lines");
        assert_eq!(Runs::decode(&row, other, 303), None, "another content");
        assert_eq!(Runs::decode(&row[..row.len() - 1], content, 303), None);
        let mut damaged = row.clone();
        damaged[0] = 9;
        assert_eq!(Runs::decode(&damaged, content, 303), None);
        assert_eq!(Runs::decode(&[], content, 0), None);
    }

    proptest! {
        /// `carried` works run by run and gives the same result as line by line.
        #[test]
        fn carried_equals_line_by_line(
            old in "[abc]{0,20}", new in "[abc]{0,20}",
            owners in prop::collection::vec(0_i64..3, 20),
        ) {
            let mut before = Runs::default();
            for owner in &owners[..old.len()] {
                before.push(1, Owner::Change(ChangeId(*owner)));
            }
            let changes = diff(&old, &new);
            let mut expected: Vec<Owner> = Vec::new();
            let mut at = 0;
            for change in &changes {
                expected.extend(owners[at..change.old.start].iter().map(|o| Owner::Change(ChangeId(*o))));
                expected.extend(std::iter::repeat_n(C, change.new.len()));
                at = change.old.end;
            }
            expected.extend(owners[at..old.len()].iter().map(|o| Owner::Change(ChangeId(*o))));
            let by_line = |runs: &Runs| -> Vec<Owner> {
                runs.iter().flat_map(|(n, o)| std::iter::repeat_n(o, n)).collect()
            };
            let carried = before.carried(&changes, C);
            prop_assert_eq!(by_line(&carried), expected.clone());
            prop_assert_eq!(carried.checked_lines(), Some(new.len()));
            let closed = LineOwners::carried(&before, &changes, new.len(), |_| true).close(C);
            prop_assert_eq!(closed, carried);
        }
    }
}
