//! Lines of a file that follow its edits, and the lines that a change touches. Pure.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use backstitch_core::diff::{LineChange, count_lines, line_changes, lines};

/// Lines of a text. They count from 1. With `count` 0 it is the place above the line `start`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LineRange {
    pub start: u32,
    pub count: u32,
}

/// `10`, or `10-20`.
impl std::fmt::Display for LineRange {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { start, count } = *self;
        match count {
            0 | 1 => write!(f, "{start}"),
            count => write!(f, "{start}-{}", start.saturating_add(count - 1)),
        }
    }
}

/// Place of a region in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "lowercase")]
pub enum RegionState {
    Present(LineRange),
    /// All its lines are deleted. It is present again once they are back.
    Gone,
}

/// The lines that a change touches in one file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChangedLines {
    /// Relative to the root, with `/`.
    pub path: String,
    /// Lines of the text *before* the change that it replaces or deletes. An insertion has `count` 0.
    pub ranges: Vec<LineRange>,
    /// The lines that it adds, without their terminators.
    pub added: Vec<String>,
    /// The file changes, but its lines cannot be compared: it is too large, or no text.
    pub unknown: bool,
}

impl LineRange {
    /// The lines in a file, as people see them: `src/auth.rs:10-20`.
    pub fn of(self, path: &str) -> String {
        format!("{path}:{self}")
    }

    /// Returns the lines of a range that counts from 0.
    fn of_range(range: &Range<usize>) -> Self {
        let number = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        Self {
            start: number(range.start).saturating_add(1),
            count: number(range.len()),
        }
    }

    /// Returns the lines as a range that counts from 0, within a text of so many lines.
    fn within(self, lines: usize) -> Range<usize> {
        let start = (self.start as usize).saturating_sub(1).min(lines);
        start..start.saturating_add(self.count as usize).min(lines)
    }

    /// True if a change of `changed` touches these lines. An insertion touches them if it is between two of them.
    pub fn is_touched_by(self, changed: Self) -> bool {
        let end = |range: Self| u64::from(range.start) + u64::from(range.count);
        let begins_before_end = u64::from(changed.start) < end(self);
        if changed.count == 0 {
            changed.start > self.start && begins_before_end
        } else {
            begins_before_end && end(changed) > u64::from(self.start)
        }
    }
}

impl ChangedLines {
    /// Compares two versions of a file. An absent file has no bytes.
    pub fn between(path: &str, old: &[u8], new: &[u8]) -> Self {
        let changes = line_changes(old, new);
        let text = lines(new);
        let added = changes.iter().flat_map(|change| &text[change.new.clone()]);
        let line = |line: &&[u8]| {
            let line = String::from_utf8_lossy(line);
            line.trim_end_matches(['\n', '\r']).to_owned()
        };
        Self {
            path: path.to_owned(),
            ranges: changes
                .iter()
                .map(|change| LineRange::of_range(&change.old))
                .collect(),
            added: added.map(line).collect(),
            unknown: false,
        }
    }
}

/// Returns the place of a region in `now`, given its lines in `base`.
///
/// Unchanged lines keep the region. Where lines of it were replaced, the new lines stand for them. Lines that were
/// inserted between lines of the region belong to it, lines above and below it do not.
pub fn follow(base: &[u8], region: LineRange, now: &[u8]) -> RegionState {
    let lines = region.within(count_lines(base));
    if lines.is_empty() {
        return RegionState::Gone;
    }
    let changes = line_changes(base, now);
    let start = first_line(&changes, lines.start);
    let end = end_of_line(&changes, lines.end - 1);
    let is_deleted = |change: &LineChange| {
        change.new.is_empty() && change.old.start <= lines.start && lines.end <= change.old.end
    };
    if changes.iter().any(is_deleted) {
        return RegionState::Gone;
    }
    RegionState::Present(LineRange::of_range(&(start..end.max(start + 1))))
}

/// Returns the new place of the first line of a region.
fn first_line(changes: &[LineChange], line: usize) -> usize {
    match around(changes, line) {
        MovedLine::Kept(new) => new,
        // counted from the first of the lines that replace it
        MovedLine::Changed(change) => {
            let offset = line - change.old.start;
            change.new.start + offset.min(change.new.len().saturating_sub(1))
        }
    }
}

/// Returns the new place after the last line of a region.
fn end_of_line(changes: &[LineChange], line: usize) -> usize {
    match around(changes, line) {
        MovedLine::Kept(new) => new + 1,
        // counted from the last of the lines that replace it
        MovedLine::Changed(change) => {
            let below = change.old.end - line - 1;
            change.new.end - below.min(change.new.len().saturating_sub(1))
        }
    }
}

enum MovedLine<'c> {
    /// The line is unchanged and has this number now.
    Kept(usize),
    /// This change replaces or deletes it.
    Changed(&'c LineChange),
}

fn around(changes: &[LineChange], line: usize) -> MovedLine<'_> {
    let next = changes.partition_point(|change| change.old.end <= line);
    match changes.get(next) {
        Some(change) if change.old.contains(&line) => MovedLine::Changed(change),
        _ => {
            let (old, new) = next.checked_sub(1).map_or((0, 0), |last| {
                (changes[last].old.end, changes[last].new.end)
            });
            MovedLine::Kept(line - old + new)
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn range(start: u32, count: u32) -> LineRange {
        LineRange { start, count }
    }

    /// Returns the region of the lines `start..` as `start+count`, or `gone`.
    fn followed(base: &str, region: (u32, u32), now: &str) -> String {
        let text = |letters: &str| -> String { letters.chars().flat_map(|c| [c, '\n']).collect() };
        let (start, count) = region;
        match follow(
            text(base).as_bytes(),
            range(start, count),
            text(now).as_bytes(),
        ) {
            RegionState::Present(now) => format!("{}+{}", now.start, now.count),
            RegionState::Gone => "gone".to_owned(),
        }
    }

    #[test]
    fn a_region_moves_with_the_lines_above_it() {
        assert_eq!(followed("abcdef", (3, 2), "abcdef"), "3+2");
        assert_eq!(followed("abcdef", (3, 2), "xyabcdef"), "5+2");
        assert_eq!(followed("abcdef", (3, 2), "bcdef"), "2+2");
        assert_eq!(followed("abcdef", (3, 2), "abcdefxy"), "3+2");
        // lines above and below it are not part of it
        assert_eq!(followed("abcdef", (3, 2), "abxcdyef"), "4+2");
    }

    #[test]
    fn a_region_grows_and_shrinks_inside() {
        assert_eq!(followed("abcdef", (3, 2), "abcxydef"), "3+4");
        assert_eq!(followed("abcdef", (2, 4), "abef"), "2+2");
        assert_eq!(followed("abcdef", (3, 2), "abdef"), "3+1");
        assert_eq!(followed("abcdef", (3, 2), "abcef"), "3+1");
    }

    #[test]
    fn lines_that_replace_a_region_stand_for_it() {
        assert_eq!(followed("abcdef", (3, 1), "abXdef"), "3+1");
        assert_eq!(followed("abcdef", (3, 2), "abXdef"), "3+2");
        assert_eq!(followed("abcdef", (3, 2), "abXYZef"), "3+3");
        assert_eq!(followed("abcdef", (3, 2), "aXYZef"), "3+2");
        // a file that was written anew
        assert_eq!(followed("abcdef", (3, 2), "UVWXYZ"), "3+2");
        assert_eq!(followed("abcdef", (3, 2), "U"), "1+1");
    }

    #[test]
    fn a_region_is_gone_with_its_lines_and_returns_with_them() {
        assert_eq!(followed("abcdef", (3, 2), "abef"), "gone");
        assert_eq!(followed("abcdef", (3, 2), "af"), "gone");
        assert_eq!(followed("abcdef", (3, 2), ""), "gone");
        assert_eq!(followed("abcdef", (3, 2), "xabcdef"), "4+2");
        assert_eq!(followed("abcdef", (9, 2), "abcdef"), "gone");
        assert_eq!(followed("abcdef", (5, 9), "abcdef"), "5+2");
    }

    #[test]
    fn terminators_do_not_matter() {
        let now = follow(b"a\nb\nc", range(2, 2), b"a\r\nb\r\nc\r\n");
        assert_eq!(now, RegionState::Present(range(2, 2)));
    }

    #[test]
    fn lines_that_a_change_touches() {
        let changed = ChangedLines::between("f", b"a\nb\nc\nd\n", b"a\nX\nc\nd\nY\r\n");
        assert_eq!(changed.ranges, [range(2, 1), range(5, 0)]);
        assert_eq!(changed.added, ["X", "Y"]);
        let touches = |changed: (u32, u32)| range(3, 2).is_touched_by(range(changed.0, changed.1));
        assert!(touches((1, 3)) && touches((3, 1)) && touches((4, 9)) && touches((1, 9)));
        assert!(!touches((1, 2)) && !touches((5, 1)));
        // insertions above and below the region are outside of it
        assert!(touches((4, 0)) && !touches((3, 0)) && !touches((5, 0)));
    }

    #[test]
    fn as_json() {
        let state = RegionState::Present(range(3, 2));
        let json = serde_json::to_string(&state).expect("JSON");
        assert_eq!(json, r#"{"state":"present","start":3,"count":2}"#);
        let gone = serde_json::to_string(&RegionState::Gone).expect("JSON");
        assert_eq!(gone, r#"{"state":"gone"}"#);
    }

    /// A step of a generated history.
    #[derive(Clone, Debug)]
    enum Edit {
        Insert {
            at: usize,
            count: usize,
        },
        Delete {
            at: usize,
            count: usize,
        },
        Replace {
            at: usize,
            count: usize,
        },
        /// Returns to the text after this step.
        Rewind {
            to: usize,
        },
    }

    fn edit() -> impl Strategy<Value = Edit> {
        let place = || (0usize..24, 1usize..5);
        prop_oneof![
            place().prop_map(|(at, count)| Edit::Insert { at, count }),
            place().prop_map(|(at, count)| Edit::Delete { at, count }),
            place().prop_map(|(at, count)| Edit::Replace { at, count }),
            (0usize..8).prop_map(|to| Edit::Rewind { to }),
        ]
    }

    /// Carries out a history. Every line has its own number, which is its text, too.
    fn texts(lines: usize, edits: &[Edit]) -> Vec<Vec<usize>> {
        let mut fresh = lines;
        let mut texts = vec![(0..lines).collect::<Vec<_>>()];
        for edit in edits {
            let mut text = texts.last().expect("a text").clone();
            let mut new = |count: usize| {
                let first = fresh;
                fresh += count;
                first..fresh
            };
            let bounds = |text: &[usize], at: usize, count: usize| {
                let at = at.min(text.len());
                at..(at + count).min(text.len())
            };
            match *edit {
                Edit::Insert { at, count } => {
                    let at = at.min(text.len());
                    text.splice(at..at, new(count));
                }
                Edit::Delete { at, count } => drop(text.drain(bounds(&text, at, count))),
                Edit::Replace { at, count } => {
                    let old = bounds(&text, at, count);
                    text.splice(old, new(count));
                }
                Edit::Rewind { to } => text.clone_from(&texts[to.min(texts.len() - 1)]),
            }
            texts.push(text);
        }
        texts
    }

    /// Tracks the lines of a region by their numbers, without a diff.
    fn tracked(lines: usize, region: Range<usize>, now: &[usize]) -> Option<Range<usize>> {
        // the last line above that is still there, and the first below
        let place = |line: usize| now.iter().position(|n| *n == line);
        let kept: Vec<usize> = (0..lines).filter(|line| place(*line).is_some()).collect();
        let above = |line: usize| kept.iter().rev().find(|kept| **kept < line).copied();
        let below = |line: usize| kept.iter().find(|kept| **kept > line).copied();
        // a run of deleted lines, and the new lines at its place: (old, new)
        let run = |line: usize| {
            let (above, below) = (above(line), below(line));
            let old = above.map_or(0, |n| n + 1)..below.unwrap_or(lines);
            let at = |line: Option<usize>, none: usize| line.and_then(place).unwrap_or(none);
            let start = above.map_or(0, |line| at(Some(line), 0) + 1);
            (old, start..at(below, now.len()))
        };
        let first = region.start;
        let last = region.end - 1;
        let start = place(first).unwrap_or_else(|| {
            let (old, new) = run(first);
            let offset = first - old.start;
            if new.is_empty() {
                new.start
            } else {
                (new.start + offset).min(new.end - 1)
            }
        });
        let end = place(last).map_or_else(
            || {
                let (old, new) = run(last);
                let below = old.end - region.end;
                if new.is_empty() {
                    new.start
                } else {
                    new.end - below.min(new.len() - 1)
                }
            },
            |at| at + 1,
        );
        let none_left = region.clone().all(|line| place(line).is_none());
        if none_left && run(first).1.is_empty() {
            return None;
        }
        Some(start..end.max(start + 1))
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1000))]

        #[test]
        fn it_equals_the_tracking_of_each_line(
            lines in 1usize..20,
            start in 0usize..20,
            count in 1usize..8,
            edits in prop::collection::vec(edit(), 1..10),
        ) {
            let start = start.min(lines - 1);
            let region = start..(start + count).min(lines);
            let text = |text: &[usize]| -> String { text.iter().flat_map(|n| ["line ".to_owned(), n.to_string(), "\n".to_owned()]).collect() };
            let texts = texts(lines, &edits);
            let base = text(&texts[0]);
            for now in &texts {
                let state = follow(base.as_bytes(), LineRange::of_range(&region), text(now).as_bytes());
                let wanted = tracked(lines, region.clone(), now)
                    .map_or(RegionState::Gone, |now| RegionState::Present(LineRange::of_range(&now)));
                prop_assert_eq!(state, wanted, "{:?}", now);
            }
        }
    }
}
