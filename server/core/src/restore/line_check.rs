//! Check of a merge by whole lines: edits that are taken out leave no line, and edits that stay lose none.

use std::collections::{BTreeMap, BTreeSet};

/// Origin of the lines of a file: which edits added or removed them.
#[derive(Debug)]
pub(super) struct LineOrigins {
    /// Lines of the first state, and lines that edits that stay added.
    kept: BTreeSet<Vec<u8>>,
    /// Lines that edits that stay removed.
    removed: BTreeSet<Vec<u8>>,
    /// Lines that edits that are taken out added.
    taken_out: BTreeSet<Vec<u8>>,
}

/// A line that a merge treats wrongly.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum WrongLine {
    /// It comes only from edits that are taken out, and the result still contains it.
    Remains(Vec<u8>),
    /// It comes only from edits that stay, and the result does not contain it.
    Lost(Vec<u8>),
}

impl LineOrigins {
    /// Origins of a file whose first state is `start`, before any edit.
    pub(super) fn new(start: &[u8]) -> Self {
        Self {
            kept: LineBag::of(start).0.keys().map(|l| l.to_vec()).collect(),
            removed: BTreeSet::new(),
            taken_out: BTreeSet::new(),
        }
    }

    /// Adds an edit that stays: it keeps the lines that it added, and keeps removed those that it removed.
    pub(super) fn add_kept(&mut self, before: &[u8], after: &[u8]) {
        let (before, after) = (LineBag::of(before), LineBag::of(after));
        self.kept.extend(after.more_than_in(&before));
        self.removed.extend(before.more_than_in(&after));
    }

    /// Adds an edit that is taken out. The lines that it removed return.
    pub(super) fn add_taken_out(&mut self, before: &[u8], after: &[u8]) {
        let (before, after) = (LineBag::of(before), LineBag::of(after));
        self.taken_out.extend(after.more_than_in(&before));
    }

    /// First line that the merge of `current` into `result` treats wrongly.
    pub(super) fn wrong_line(&self, current: &[u8], result: &[u8]) -> Option<WrongLine> {
        let (current, result) = (LineBag::of(current), LineBag::of(result));
        let remains = |line: &&[u8]| self.taken_out.contains(*line) && !self.kept.contains(*line);
        let is_lost = |line: &&[u8]| {
            result.count(line) == 0
                && self.kept.contains(*line)
                && !self.taken_out.contains(*line)
                && !self.removed.contains(*line)
        };
        let remaining = result.0.keys().copied().find(remains);
        let remaining = remaining.map(|line| WrongLine::Remains(line.to_vec()));
        remaining.or_else(|| {
            let lost = current.0.keys().copied().find(is_lost)?;
            Some(WrongLine::Lost(lost.to_vec()))
        })
    }
}

impl WrongLine {
    /// Describes the line as the reason of a conflict.
    pub(super) fn reason(&self) -> String {
        match self {
            Self::Remains(line) => format!(
                "an edit that stays still contains a line that is taken out: “{}”",
                excerpt(line)
            ),
            Self::Lost(line) => {
                format!("a line that must stay would be lost: “{}”", excerpt(line))
            }
        }
    }
}

/// Beginning of a line, for a message.
fn excerpt(line: &[u8]) -> String {
    let text = String::from_utf8_lossy(line);
    text.trim().chars().take(60).collect()
}

/// Number of occurrences of each line that contains a letter or digit.
struct LineBag<'a>(BTreeMap<&'a [u8], usize>);

impl<'a> LineBag<'a> {
    fn of(bytes: &'a [u8]) -> Self {
        let mut counts = BTreeMap::new();
        for line in bytes.split(|b| *b == b'\n') {
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            if line.iter().any(u8::is_ascii_alphanumeric) {
                *counts.entry(line).or_insert(0) += 1;
            }
        }
        Self(counts)
    }

    fn count(&self, line: &[u8]) -> usize {
        self.0.get(line).copied().unwrap_or(0)
    }

    /// Lines that occur more often here than in `other`.
    fn more_than_in(&self, other: &Self) -> impl Iterator<Item = Vec<u8>> {
        let lines = self.0.iter();
        let more = lines.filter(|(line, count)| **count > other.count(line));
        more.map(|(line, _)| line.to_vec())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_an_edit_that_is_taken_out_may_not_remain() {
        let mut origins = LineOrigins::new(b"one\n");
        origins.add_taken_out(b"one\n", b"one\ntwo\n");
        let current = b"one\ntwo\n";
        assert_eq!(origins.wrong_line(current, b"one\n"), None);
        let wrong = origins.wrong_line(current, current).expect("it remains");
        assert_eq!(wrong, WrongLine::Remains(b"two".to_vec()));
        assert!(wrong.reason().ends_with("“two”"), "{}", wrong.reason());
    }

    #[test]
    fn a_line_of_an_edit_that_stays_may_not_be_lost() {
        let mut origins = LineOrigins::new(b"one\n");
        origins.add_kept(b"one\n", b"one\ntwo\n");
        let wrong = origins.wrong_line(b"one\ntwo\n", b"one\n");
        assert_eq!(wrong, Some(WrongLine::Lost(b"two".to_vec())));
    }

    #[test]
    fn a_line_of_the_first_state_may_not_be_lost() {
        let origins = LineOrigins::new(b"one\ntwo\n");
        let wrong = origins.wrong_line(b"one\ntwo\n", b"one\n");
        assert_eq!(wrong, Some(WrongLine::Lost(b"two".to_vec())));
    }

    #[test]
    fn a_line_that_an_edit_that_stays_removed_may_be_absent() {
        let mut origins = LineOrigins::new(b"one\ntwo\n");
        origins.add_kept(b"one\ntwo\n", b"one\n");
        assert_eq!(origins.wrong_line(b"one\ntwo\n", b"one\n"), None);
    }

    #[test]
    fn a_line_that_both_kinds_of_edits_added_may_remain_or_go() {
        let mut origins = LineOrigins::new(b"one\n");
        origins.add_kept(b"one\n", b"one\ntwo\n");
        origins.add_taken_out(b"one\ntwo\n", b"one\ntwo\ntwo\n");
        assert_eq!(origins.wrong_line(b"one\ntwo\n", b"one\n"), None);
        assert_eq!(origins.wrong_line(b"one\ntwo\n", b"one\ntwo\n"), None);
    }

    #[test]
    fn lines_without_a_letter_or_digit_do_not_count() {
        let mut origins = LineOrigins::new(b"one\r\n");
        origins.add_taken_out(b"one\n", b"one\n}\n");
        assert_eq!(origins.wrong_line(b"one\n}\n", b"one\n}\n"), None);
    }
}
