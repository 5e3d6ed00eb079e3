//! Comparison of two mostly equal texts. Their equal ends are skipped as bytes, so a small change
//! of a large text costs little. Terminators of lines are ignored.

use super::lines::{Interner, LineChange, changes};

/// Returns the line changes from `old` to `new`, in order; no two changes touch. A line with only a
/// different terminator is not changed.
pub fn line_changes(old: &[u8], new: &[u8]) -> Vec<LineChange> {
    let (above, below) = equal_ends(old, new);
    if above + below == old.len() && old.len() == new.len() {
        return Vec::new();
    }
    let below = below - first_lines(&old[old.len() - below..], CONTEXT);
    let middle = |text: &'_ [u8]| above..text.len() - below;
    let (old_lines, new_lines) = (keys(&old[middle(old)]), keys(&new[middle(new)]));
    let mut interner = Interner::default();
    let (old_ids, new_ids) = (interner.intern(&old_lines), interner.intern(&new_lines));
    // always in the same order, as for hunks, since the algorithm is not symmetric
    let mut found: Vec<LineChange> = if new < old {
        changes(&new_ids, &old_ids)
            .into_iter()
            .map(LineChange::swapped)
            .collect()
    } else {
        changes(&old_ids, &new_ids)
    };
    let first = count_newlines(&old[..above]);
    for change in &mut found {
        for range in [&mut change.old, &mut change.new] {
            *range = range.start + first..range.end + first;
        }
    }
    found
}

/// Returns the number of lines between the equal ends of two texts, of the side with more lines.
pub(crate) fn lines_apart(old: &[u8], new: &[u8]) -> usize {
    let (above, below) = equal_ends(old, new);
    let lines = |text: &[u8]| count_newlines(&text[above..text.len() - below]);
    lines(old).max(lines(new))
}

/// Returns the bytes of whole lines that two texts have in common at their start and at their end.
pub(super) fn equal_ends(old: &[u8], new: &[u8]) -> (usize, usize) {
    let same = common_start(old, new);
    let above = old[..same]
        .iter()
        .rposition(|b| *b == b'\n')
        .map_or(0, |at| at + 1);
    let (old, new) = (&old[above..], &new[above..]);
    let same = common_end(old, new);
    let starts_line = |text: &[u8], below: usize| {
        let at = text.len() - below;
        at == 0 || text[at - 1] == b'\n'
    };
    let below = if starts_line(old, same) && starts_line(new, same) {
        same
    } else {
        let tail = &old[old.len() - same..];
        let newline = tail.iter().position(|b| *b == b'\n');
        newline.map_or(0, |at| same - at - 1)
    };
    (above, below)
}

const CHUNK: usize = 64;
/// Equal lines below that are still compared, since an insertion moves as far down as possible.
const CONTEXT: usize = 64;

fn common_start(a: &[u8], b: &[u8]) -> usize {
    let chunks = a.chunks_exact(CHUNK).zip(b.chunks_exact(CHUNK));
    let whole = chunks.take_while(|(a, b)| a == b).count() * CHUNK;
    let rest = a[whole..].iter().zip(&b[whole..]);
    whole + rest.take_while(|(a, b)| a == b).count()
}

fn common_end(a: &[u8], b: &[u8]) -> usize {
    let chunks = a.rchunks_exact(CHUNK).zip(b.rchunks_exact(CHUNK));
    let whole = chunks.take_while(|(a, b)| a == b).count() * CHUNK;
    let rest = a[..a.len() - whole].iter().rev();
    let rest = rest.zip(b[..b.len() - whole].iter().rev());
    whole + rest.take_while(|(a, b)| a == b).count()
}

fn keys(text: &[u8]) -> Vec<&[u8]> {
    lines_of(text).map(key).collect()
}

/// Returns a line without its terminator.
fn key(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// Returns the number of bytes in the first `count` lines.
fn first_lines(text: &[u8], count: usize) -> usize {
    lines_of(text).take(count).map(<[u8]>::len).sum()
}

fn lines_of(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split_inclusive(|b| *b == b'\n')
}

pub(crate) fn count_newlines(text: &[u8]) -> usize {
    // in chunks whose counts fit a byte, so that the compiler can vectorize it
    let chunk = |chunk: &[u8]| -> usize {
        let count: u8 = chunk.iter().map(|b| u8::from(*b == b'\n')).sum();
        usize::from(count)
    };
    text.chunks(255).map(chunk).sum()
}

/// Returns the number of lines of a text; the last may lack its terminator.
pub fn count_lines(text: &[u8]) -> usize {
    count_newlines(text) + usize::from(text.last().is_some_and(|b| *b != b'\n'))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::lines::lines;
    use super::*;

    fn compare_fully(old: &[u8], new: &[u8]) -> Vec<LineChange> {
        let (old_lines, new_lines) = (keys(old), keys(new));
        let mut interner = Interner::default();
        let (a, b) = (interner.intern(&old_lines), interner.intern(&new_lines));
        if new < old {
            changes(&b, &a)
                .into_iter()
                .map(LineChange::swapped)
                .collect()
        } else {
            changes(&a, &b)
        }
    }

    #[test]
    fn terminators_are_no_change() {
        assert_eq!(line_changes(b"a\r\nb\r\n", b"a\nb"), []);
        let appended = line_changes(b"a\nb", b"a\nb\nc\n");
        assert_eq!(
            appended,
            [LineChange {
                old: 2..2,
                new: 2..3
            }]
        );
        assert_eq!(line_changes(b"", b""), []);
    }

    #[test]
    fn an_insertion_slides_into_equal_lines_below() {
        // only p…q and P…q s t differ; the lines after them show that the insertion can move down
        let changed = line_changes(b"p\nq\ns\nz\n", b"P\nq\ns\nt\ns\nz\n");
        assert_eq!(
            changed[1],
            LineChange {
                old: 3..3,
                new: 3..5
            }
        );
    }

    proptest! {
        #[test]
        fn it_equals_the_comparison_of_the_whole_texts(
            old in "[ab\n]{0,40}", new in "[ab\n]{0,40}",
            above in "[ab\n]{0,200}", below in "[ab\n]{0,60}",
        ) {
            let text = |middle: &str| [above.as_str(), middle, below.as_str()].concat().into_bytes();
            let (old, new) = (text(&old), text(&new));
            prop_assert_eq!(line_changes(&old, &new), compare_fully(&old, &new));
            prop_assert_eq!(count_lines(&old), lines(&old).len());
            let (a, b) = (lines(&old), lines(&new));
            let mut interner = Interner::default();
            let (a, b) = (interner.intern(&a), interner.intern(&b));
            let all = if new < old { changes(&b, &a) } else { changes(&a, &b) };
            let total = |side: fn(&LineChange) -> usize| -> usize { all.iter().map(side).sum() };
            let sides = (total(|c| c.old.len()), total(|c| c.new.len()));
            let (added, removed, _) = super::super::count(&old, &new);
            let counted = if new < old { (added, removed) } else { (removed, added) };
            prop_assert_eq!(counted, sides);
        }
    }
}
