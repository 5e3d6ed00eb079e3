//! Regions: groups the changes of both sides and decides the result of each group.

use std::ops::Range;

use super::conflict::{ConflictHunk, ConflictKind};
use super::sides::Sides;
use crate::diff::LineChange;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Take {
    Ours,
    Theirs,
    /// Both sides made the same edit, which is used once.
    Both,
    Conflict(ConflictKind),
}

/// Base lines that at least one side replaced, with each side's replacement.
#[derive(Debug)]
pub(super) struct Region {
    pub base: Range<usize>,
    pub ours: Range<usize>,
    pub theirs: Range<usize>,
    pub take: Take,
}

impl Region {
    /// Returns the lines that the merge puts here.
    pub fn taken<'s>(&self, sides: &'s Sides) -> &'s [u32] {
        match self.take {
            Take::Theirs => &sides.theirs[self.theirs.clone()],
            Take::Ours | Take::Both | Take::Conflict(_) => &sides.ours[self.ours.clone()],
        }
    }

    pub fn conflict(&self) -> Option<ConflictHunk> {
        match self.take {
            Take::Conflict(kind) => Some(ConflictHunk {
                base: self.base.clone(),
                ours: self.ours.clone(),
                theirs: self.theirs.clone(),
                kind,
            }),
            Take::Ours | Take::Theirs | Take::Both => None,
        }
    }
}

/// One side: its lines, and its changes that are not in a region yet.
struct SideCursor<'c> {
    text: &'c [u32],
    changes: &'c [LineChange],
    /// The side's line at the position of the base's line `base`.
    line: usize,
    base: usize,
}

impl<'c> SideCursor<'c> {
    fn new(text: &'c [u32], changes: &'c [LineChange]) -> Self {
        Self {
            text,
            changes,
            line: 0,
            base: 0,
        }
    }

    fn key(&self) -> Option<(usize, usize)> {
        let first = self.changes.first()?;
        Some((first.old.start, first.old.end))
    }

    /// Takes the next `count` changes, all inside `base`. Returns them and the side's lines for
    /// `base`.
    fn take(&mut self, count: usize, base: &Range<usize>) -> (&'c [LineChange], Range<usize>) {
        let (taken, rest) = self.changes.split_at(count);
        let start = self.line + (base.start - self.base);
        let end = taken.last().map_or(start + base.len(), |last| {
            last.new.end + (base.end - last.old.end)
        });
        self.changes = rest;
        (self.line, self.base) = (end, base.end);
        (taken, start..end)
    }
}

/// Groups the changes of both sides into regions, in the order of the base.
///
/// Two changes belong together if they share a base line, if one inserts strictly inside the lines
/// that the other replaces, or if both insert at one point. Changes that merely touch stay separate
/// in base order, so an insertion at an end of a replaced block stays on its side. The exception:
/// both inserted the same lines where they touch (see [`Duplicate`]).
pub(super) fn regions(sides: &Sides, ours: &[LineChange], theirs: &[LineChange]) -> Vec<Region> {
    let mut regions = Vec::with_capacity(ours.len() + theirs.len());
    let mut cursors = [
        SideCursor::new(&sides.ours, ours),
        SideCursor::new(&sides.theirs, theirs),
    ];
    loop {
        let first = (0..2).filter_map(|side| Some((cursors[side].key()?, side)));
        let Some(((start, end), lead)) = first.min() else {
            return regions;
        };
        let mut base = start..end;
        let mut counts = [0, 0];
        counts[lead] = 1;
        let mut duplicated = None;
        let mut grew = true;
        while std::mem::take(&mut grew) {
            for side in 0..2 {
                let Some(next) = cursors[side].changes.get(counts[side]) else {
                    continue;
                };
                let mut joins = overlaps(&base, &next.old);
                if !joins && next.old.start == base.end {
                    let other = &cursors[1 - side];
                    let above = other.changes[..counts[1 - side]].last();
                    if let Some(above) = above.filter(|above| above.old.end == base.end) {
                        let duplicate =
                            duplicate(sides, (above, other.text), (next, cursors[side].text));
                        joins = duplicate.is_some();
                        duplicated = duplicated.or(duplicate);
                    }
                }
                if joins {
                    base.end = base.end.max(next.old.end);
                    counts[side] += 1;
                    grew = true;
                }
            }
        }
        let [(our_changes, ours), (their_changes, theirs)] =
            [0, 1].map(|side| cursors[side].take(counts[side], &base));
        let same = sides.ours[ours.clone()] == sides.theirs[theirs.clone()];
        let take = match (our_changes, their_changes) {
            (_, []) => Take::Ours,
            ([], _) => Take::Theirs,
            _ if same => Take::Both,
            ([one], [two]) => match duplicated {
                Some(Duplicate::Whole) if one.old.is_empty() => Take::Theirs,
                Some(Duplicate::Whole) => Take::Ours,
                Some(Duplicate::Partly) => Take::Conflict(ConflictKind::Insertions),
                None if one.old.is_empty() && two.old.is_empty() => {
                    Take::Conflict(ConflictKind::Insertions)
                }
                None => Take::Conflict(ConflictKind::Overlap),
            },
            _ => Take::Conflict(ConflictKind::Overlap),
        };
        regions.push(Region {
            base,
            ours,
            theirs,
            take,
        });
    }
}

/// True if `next`, which does not start above `base`, shares a line with it, lies strictly inside,
/// or inserts at the same point.
fn overlaps(base: &Range<usize>, next: &Range<usize>) -> bool {
    next.start < base.end || (base.is_empty() && next.is_empty() && next.start == base.start)
}

/// Two touching changes that both add the same lines where they touch.
///
/// Side by side the lines would occur twice, which neither side wrote: both sides inserted them,
/// and one also changed the neighbouring line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Duplicate {
    /// One change is an insertion, and the other contains all of it.
    Whole,
    /// Each also has other lines there, so neither contains the other.
    Partly,
}

fn duplicate(
    sides: &Sides,
    (above, above_text): (&LineChange, &[u32]),
    (below, below_text): (&LineChange, &[u32]),
) -> Option<Duplicate> {
    // only lines beyond the replaced ones count as added; `x x` for `a b` is one `x` from each side
    let added = |change: &LineChange| change.new.len().saturating_sub(change.old.len());
    let most = added(above).min(added(below));
    let tail = &above_text[above.new.end - most..above.new.end];
    let head = &below_text[below.new.start..below.new.start + most];
    let common = longest_border(tail, head);
    // recurring lines such as braces and blank ones do not identify a common insertion
    if !head[..common].iter().any(|&id| sides.is_distinctive(id)) {
        return None;
    }
    let whole = |change: &LineChange| change.old.is_empty() && change.new.len() == common;
    Some(if whole(above) || whole(below) {
        Duplicate::Whole
    } else {
        Duplicate::Partly
    })
}

/// Returns the length of the longest suffix of `tail` that is a prefix of `head`
/// (Knuth–Morris–Pratt).
fn longest_border(tail: &[u32], head: &[u32]) -> usize {
    let mut fallback = vec![0; head.len()];
    let step = |fallback: &[usize], mut matched: usize, id: u32| {
        while matched > 0 && head.get(matched) != Some(&id) {
            matched = fallback[matched - 1];
        }
        matched + usize::from(head.get(matched) == Some(&id))
    };
    for at in 1..head.len() {
        fallback[at] = step(&fallback, fallback[at - 1], head[at]);
    }
    tail.iter()
        .fold(0, |matched, &id| step(&fallback, matched, id))
}
