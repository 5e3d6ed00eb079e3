//! Moves of the reviewed state through the changes of a file. Pure.
//!
//! The difference between the reviewed text and the current text is the agents' work that nobody has reviewed. A change of
//! the user is taken over into the reviewed text, so that it is not part of that difference.

use std::ops::Range;

use crate::diff::{LineChange, line_changes, lines};
use crate::merge::{Favor, merge3};

/// Returns the reviewed text after the user changed `before` into `after`.
pub(super) fn carried(reviewed: &[u8], before: &[u8], after: &[u8]) -> Vec<u8> {
    let merged = merge3(before, reviewed, after, Favor::Ours);
    if merged.conflicts.is_empty() {
        return merged.bytes;
    }
    by_lines(reviewed, before, after)
}

/// The same if the user changed lines of agents that are not reviewed. Lines that the user wrote are reviewed then, the
/// remaining lines of the agent are not. Lines that the agent replaced stay in the reviewed text as long as one of the
/// agent's lines remains.
fn by_lines(reviewed: &[u8], before: &[u8], after: &[u8]) -> Vec<u8> {
    let pending = line_changes(reviewed, before);
    let own = line_changes(before, after);
    let (reviewed, after_lines) = (lines(reviewed), lines(after));
    let before = lines(before);
    let survives = |line: usize| !own.iter().any(|change| change.old.contains(&line));
    let mut text = Vec::new();
    let mut push = |some: &[&[u8]]| some.iter().for_each(|line| text.extend_from_slice(line));
    for at in 0..=before.len() {
        for change in own.iter().filter(|change| change.old.start == at) {
            push(&after_lines[change.new.clone()]);
        }
        let hunk = pending.iter().find(|hunk| {
            if hunk.new.is_empty() {
                hunk.new.start == at
            } else {
                hunk.new.clone().find(|line| survives(*line)) == Some(at)
            }
        });
        if let Some(hunk) = hunk {
            let replaced = |change: &LineChange| change.old.start < at && at < change.old.end;
            if !own.iter().any(replaced) {
                push(&reviewed[hunk.old.clone()]);
            }
        }
        let is_pending = pending.iter().any(|hunk| hunk.new.contains(&at));
        if at < before.len() && survives(at) && !is_pending {
            push(&before[at..=at]);
        }
    }
    text
}

/// Returns the hunks that are not reviewed.
pub(super) fn pending(reviewed: &[u8], current: &[u8]) -> Vec<LineChange> {
    line_changes(reviewed, current)
}

/// True if a hunk is at one of these lines of the current text. A deletion is at its neighbouring lines.
pub(super) fn is_at(hunk: &LineChange, lines: &Range<usize>) -> bool {
    if hunk.new.is_empty() {
        lines.start <= hunk.new.start && hunk.new.start <= lines.end
    } else {
        hunk.new.start < lines.end && lines.start < hunk.new.end
    }
}

/// Returns the reviewed text once the hunks at any of these ranges of the current text are accepted, too.
pub(super) fn accepted(reviewed: &[u8], current: &[u8], at: &[Range<usize>]) -> Vec<u8> {
    let mut hunks = pending(reviewed, current);
    let all = hunks.len();
    hunks.retain(|hunk| at.iter().any(|lines| is_at(hunk, lines)));
    if all > 0 && hunks.len() == all {
        // line ends between the hunks, too
        return current.to_vec();
    }
    patched(reviewed, current, &hunks)
}

/// Returns the current text without these hunks.
pub(super) fn without(reviewed: &[u8], current: &[u8], hunks: &[LineChange]) -> Vec<u8> {
    let back: Vec<LineChange> = hunks.iter().cloned().map(LineChange::swapped).collect();
    patched(current, reviewed, &back)
}

fn patched(old: &[u8], new: &[u8], hunks: &[LineChange]) -> Vec<u8> {
    let (old, new) = (lines(old), lines(new));
    let mut text = Vec::new();
    let mut push = |some: &[&[u8]]| {
        for line in some {
            // the last line of one side may lack its newline
            if text.last().is_some_and(|last| *last != b'\n') {
                text.push(b'\n');
            }
            text.extend_from_slice(line);
        }
    };
    let mut next = 0;
    for hunk in hunks {
        push(&old[next..hunk.old.start]);
        push(&new[hunk.new.clone()]);
        next = hunk.old.end;
    }
    push(&old[next..]);
    text
}

/// Maps lines of an edited text to lines of the text that it was made from. An inserted line maps to its place.
pub(super) fn mapped(shown: &[u8], edited: &[u8], at: &Range<usize>) -> Range<usize> {
    let edits = pending(shown, edited);
    let of_line = |line: usize| match edits.iter().rfind(|edit| edit.new.start <= line) {
        Some(edit) if line < edit.new.end => edit.old.clone(),
        Some(edit) => {
            let line = edit.old.end + (line - edit.new.end);
            line..line + 1
        }
        None => line..line + 1,
    };
    if at.is_empty() {
        let start = of_line(at.start).start;
        return start..start;
    }
    of_line(at.start).start..of_line(at.end - 1).end
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use std::slice::from_ref as one;

    fn text(lines: &str) -> Vec<u8> {
        lines.chars().flat_map(|c| [c as u8, b'\n']).collect()
    }

    fn shown(text: &[u8]) -> String {
        String::from_utf8_lossy(text).replace('\n', "")
    }

    fn carry(reviewed: &str, before: &str, after: &str) -> String {
        shown(&carried(&text(reviewed), &text(before), &text(after)))
    }

    #[test]
    fn a_change_of_the_user_elsewhere_is_reviewed() {
        // the agent made B of b; the user made D of d
        assert_eq!(carry("abcd", "aBcd", "aBcD"), "abcD");
    }

    #[test]
    fn lines_of_the_user_within_new_lines_of_the_agent_are_reviewed() {
        assert_eq!(carry("ab", "aVWXYb", "aVwXYb"), "awb");
        // the rest is the agent's still
        let left = pending(&text("awb"), &text("aVwXYb"));
        let left: Vec<Range<usize>> = left.into_iter().map(|hunk| hunk.new).collect();
        assert_eq!(left, [1..2, 3..5]);
    }

    #[test]
    fn a_line_of_the_agent_that_the_user_replaced_is_reviewed() {
        assert_eq!(carry("abc", "aBc", "axc"), "axc");
        assert_eq!(carry("abc", "aBc", "ac"), "ac");
    }

    #[test]
    fn a_line_that_the_agent_replaced_stays_until_nothing_of_the_agent_is_left() {
        assert_eq!(carry("abc", "aVWc", "aVxc"), "abxc");
        assert_eq!(carry("abc", "aVWc", "axyc"), "axyc");
    }

    #[test]
    fn a_deletion_of_the_agent_stays_unreviewed() {
        assert_eq!(carry("abcd", "acd", "acdx"), "abcdx");
        assert_eq!(carry("abcd", "acd", "abcd"), "abcd", "taken back");
    }

    #[test]
    fn hunks_at_lines_are_accepted() {
        let (old, new) = (text("abcde"), text("aBcdxe"));
        let accept = |lines| shown(&accepted(&old, &new, &[lines]));
        assert_eq!(accept(1..2), "aBcde");
        assert_eq!(accept(4..5), "abcdxe");
        assert_eq!(accept(0..6), "aBcdxe");
        assert_eq!(accept(2..3), "abcde", "no hunk is there");
        assert_eq!(shown(&accepted(&old, &text("abde"), one(&(2..3)))), "abde");
    }

    #[test]
    fn a_line_behind_one_without_newline_stays_a_line() {
        assert_eq!(accepted(b"a\nb", b"A\nb\nc", one(&(2..3))), b"a\nb\nc");
    }

    #[test]
    fn lines_of_an_edited_text_are_mapped() {
        let (shown, edited) = (text("abcd"), text("xabYd"));
        let map = |lines| mapped(&shown, &edited, &lines);
        assert_eq!(map(1..3), 0..2);
        assert_eq!(map(3..4), 2..3, "replaced");
        assert_eq!(map(0..1), 0..0, "inserted");
        assert_eq!(map(4..5), 3..4);
        assert_eq!(map(2..2), 1..1, "between lines");
    }

    proptest! {
        #[test]
        fn nothing_is_lost_or_invented(
            reviewed in "[abc]{0,12}", before in "[abcx]{0,12}", after in "[abcxy]{0,12}",
        ) {
            let (r, b, a) = (text(&reviewed), text(&before), text(&after));
            prop_assert_eq!(&carried(&b, &b, &a), &a);
            prop_assert_eq!(&carried(&r, &b, &b), &r);
            prop_assert_eq!(&by_lines(&b, &b, &a), &a);
            prop_assert_eq!(&accepted(&r, &b, one(&(0..usize::MAX))), &b);
            prop_assert_eq!(&without(&r, &b, &pending(&r, &b)), &r);
            prop_assert_eq!(&without(&r, &b, &[]), &b);
            prop_assert_eq!(&accepted(&r, &b, one(&(99..99))), &r);
        }
    }
}
