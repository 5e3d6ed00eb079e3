use std::collections::HashSet;

use proptest::prelude::*;
use proptest::sample::Index;

use super::ConflictKind::{Binary, FinalNewline, Insertions, LineEndings, Moved, Overlap};
use super::*;

const MARKERS: Favor = Favor::Markers {
    ours: "current",
    theirs: "target",
};

fn kinds(merge: &Merge) -> Vec<ConflictKind> {
    merge.conflicts.iter().map(|hunk| hunk.kind).collect()
}

/// Returns a document with one line per letter of `text`.
fn doc(text: &str) -> Vec<u8> {
    text.chars().flat_map(|line| [line as u8, b'\n']).collect()
}

#[track_caller]
fn clean(base: &[u8], ours: &[u8], theirs: &[u8], want: &[u8]) {
    for (ours, theirs) in [(ours, theirs), (theirs, ours)] {
        for favor in [Favor::Ours, Favor::Theirs, MARKERS] {
            let merge = merge3(base, ours, theirs, favor);
            let got = String::from_utf8_lossy(&merge.bytes);
            assert_eq!(got, String::from_utf8_lossy(want));
            assert_eq!(merge.conflicts, []);
        }
    }
}

#[track_caller]
fn clean_lines(base: &str, ours: &str, theirs: &str, want: &str) {
    clean(&doc(base), &doc(ours), &doc(theirs), &doc(want));
}

#[track_caller]
fn conflict(base: &[u8], ours: &[u8], theirs: &[u8], want: &[ConflictKind]) {
    assert_eq!(kinds(&merge3(base, ours, theirs, Favor::Ours)), want);
    assert_eq!(kinds(&merge3(base, theirs, ours, MARKERS)), want);
}

#[track_caller]
fn conflict_lines(base: &str, ours: &str, theirs: &str, want: ConflictKind) {
    conflict(&doc(base), &doc(ours), &doc(theirs), &[want]);
}

#[test]
fn trivial_cases_are_byte_exact() {
    for (base, ours, theirs, want) in [
        ("a\r\nb\n\0", "a\r\nb\n\0", "\0", "\0"),
        ("\0", "x\0", "\0", "x\0"),
        ("a", "b\0\r", "b\0\r", "b\0\r"),
        ("", "", "x", "x"),
        ("a\nb\r\n", "a\nb\r\n", "a\nb", "a\nb"),
        ("x", "", "", ""),
    ] {
        clean(
            base.as_bytes(),
            ours.as_bytes(),
            theirs.as_bytes(),
            want.as_bytes(),
        );
    }
}

#[test]
fn edits_apart_or_touching_are_clean() {
    clean_lines("abcdef", "aBcdef", "abcdEf", "aBcdEf");
    clean_lines("abcd", "abCd", "abcD", "abCD");
    // directly above and below lines that the other side replaced or deleted
    clean_lines("abcd", "aXYd", "abcud", "aXYud");
    clean_lines("abcd", "aXYd", "aubcd", "auXYd");
    clean_lines("abcd", "ad", "abcud", "aud");
    clean_lines("abcd", "ad", "aubcd", "aud");
    clean_lines("ab", "", "abu", "u");
    clean_lines("ab", "XY", "uab", "uXY");
    // touching blocks
    clean_lines("abcd", "XYcd", "abZ", "XYZ");
    clean_lines("abcd", "cd", "ab", "");
    clean_lines("abc", "uabc", "abcv", "uabcv");
    clean_lines("ab", "xb", "ax", "xx");
}

#[test]
fn the_same_edit_is_taken_once() {
    clean_lines("abc", "aXc", "aXc", "aXc");
    clean_lines("abcde", "aXcde", "aXcdE", "aXcdE");
    clean_lines("abcde", "aXbcde", "aXbcdE", "aXbcdE");
    clean_lines("abcde", "acde", "acdE", "acdE");
    clean_lines("", "ab", "ab", "ab");
}

#[test]
fn overlapping_edits_conflict() {
    conflict_lines("abc", "aXc", "aYc", Overlap);
    conflict_lines("abc", "ac", "aYc", Overlap);
    conflict_lines("abcd", "aXYd", "abZ", Overlap);
    conflict_lines("abcd", "a", "acd", Overlap);
    // an insertion strictly inside lines that the other side replaced or deleted
    conflict_lines("abcd", "ad", "abucd", Overlap);
    conflict_lines("abcd", "aXYd", "abucd", Overlap);
    // a moved block whose original place the other side edited
    conflict_lines("abcd", "bcda", "Abcd", Overlap);
}

#[test]
fn different_insertions_at_one_point_conflict() {
    conflict_lines("ab", "axb", "ayb", Insertions);
    conflict_lines("ab", "axyb", "axb", Insertions);
    conflict_lines("", "x", "y", Insertions);
    conflict_lines("ab", "abx", "aby", Insertions);
}

#[test]
fn the_same_lines_added_where_two_edits_touch_occur_once() {
    // one side inserts x; the other inserts x and changes the line next to it
    clean_lines("abc", "axbc", "axBc", "axBc");
    clean_lines("abc", "abxc", "aBxc", "aBxc");
    clean_lines("a}b", "a}f}b", "a}f}B", "a}f}B");
    conflict_lines("ab", "Axb", "axB", Insertions);
    conflict_lines("ab", "ayxb", "axB", Insertions);
    // a brace is not "the same line"
    clean_lines("ab", "A}b", "a}B", "A}}B");
}

#[test]
fn the_ranges_of_a_conflict_name_the_lines_of_each_text() {
    let merge = merge3(
        &doc("abcdefg"),
        &doc("uabcDDefg"),
        &doc("acXefgv"),
        Favor::Ours,
    );
    assert_eq!(merge.bytes, doc("uacDDefgv"));
    let [hunk] = &merge.conflicts[..] else {
        panic!("{:?}", merge.conflicts)
    };
    assert_eq!(
        (&hunk.base, &hunk.ours, &hunk.theirs),
        (&(3..4), &(4..6), &(2..3))
    );
}

#[test]
fn favor_decides_the_conflicting_regions_only() {
    let (base, ours, theirs) = (doc("abcde"), doc("Abcxe"), doc("abcyeF"));
    let bytes = |favor| String::from_utf8(merge3(&base, &ours, &theirs, favor).bytes).unwrap();
    assert_eq!(bytes(Favor::Ours).as_bytes(), doc("AbcxeF"));
    assert_eq!(bytes(Favor::Theirs).as_bytes(), doc("AbcyeF"));
    assert_eq!(
        bytes(MARKERS),
        "A\nb\nc\n<<<<<<< current\nx\n=======\ny\n>>>>>>> target\ne\nF\n"
    );
}

#[test]
fn markers_use_the_line_ending_of_the_text() {
    let merge = merge3(b"a\r\nb", b"a\r\nx", b"a\r\ny", MARKERS);
    assert_eq!(
        String::from_utf8(merge.bytes).unwrap(),
        "a\r\n<<<<<<< current\r\nx\r\n=======\r\ny\r\n>>>>>>> target\r\n"
    );
    let merge = merge3(b"a\nc\r\nb", b"a\nc\r\nx", b"a\nc\r\ny", MARKERS);
    assert_eq!(
        String::from_utf8(merge.bytes).unwrap(),
        "a\nc\r\n<<<<<<< current\r\nx\r\n=======\r\ny\r\n>>>>>>> target\r\n"
    );
}

#[test]
fn the_final_newline_merges_apart_from_the_lines() {
    clean(b"b", b"b\n", b"b\nu", b"b\nu\n");
    clean(b"b\n", b"b", b"b\nu\n", b"b\nu");
    clean(b"a\nb\n", b"a\nb", b"A\nb\n", b"A\nb");
    clean(b"a\nb", b"a\nb\n", b"A\nb", b"A\nb\n");
    clean(b"a\nb", b"A\nb", b"a\nb\nc", b"A\nb\nc");
    clean(b"a", b"", b"a\nb\n", b"b\n");
    // an empty last line is its terminator
    clean(b"a\n\nb\n", b"a\n\nb", b"a\n\n", b"a\n\n");
    conflict(b"", b"x", b"x\n", &[FinalNewline]);
    assert_eq!(merge3(b"", b"x", b"x\n", Favor::Theirs).bytes, b"x\n");
    assert_eq!(merge3(b"", b"x", b"x\n", MARKERS).bytes, b"x");
}

#[test]
fn line_endings_merge_apart_from_the_lines() {
    clean(
        b"a\nb\nc\n",
        b"a\r\nb\r\nc\r\n",
        b"a\nB\nc\n",
        b"a\r\nB\r\nc\r\n",
    );
    clean(b"a\r\nb\r\n", b"a\nb\n", b"a\r\nb\r\nc\r\n", b"a\nb\nc\n");
    clean(b"a\r\nb\r\n", b"", b"a\r\nb\r\nc\r\n", b"c\r\n");
    clean(b"a", b"a\r\nb\r\n", b"", b"b\r\n");
    conflict(b"a", b"a\n", b"a\r\n", &[LineEndings]);
    assert_eq!(merge3(b"a", b"a\n", b"a\r\n", Favor::Ours).bytes, b"a\n");
    assert_eq!(
        merge3(b"a", b"a\n", b"a\r\n", Favor::Theirs).bytes,
        b"a\r\n"
    );
}

#[test]
fn mixed_line_endings_stay_bytes() {
    clean(
        b"a\r\nb\nc\n",
        b"A\nb\nc\n",
        b"a\r\nb\nC\r\n",
        b"A\nb\nC\r\n",
    );
    conflict(b"a\r\nb\nc\n", b"a\nb\nc\n", b"a\r\r\nb\nc\n", &[Overlap]);
    // a line that lost its terminator is not joined to the other side's line below
    clean(b"a\r\nb\n", b"a\r\nb", b"a\r\nb\nu\n", b"a\r\nb\r\nu\n");
    conflict(b"a\r\nb\nc", b"a\r\nb\nc\n", b"a\r\nb\nc\nu", &[Overlap]);
}

#[test]
fn an_emptied_file() {
    conflict_lines("ab", "", "aB", Overlap);
    conflict_lines("abc", "", "abuc", Overlap);
    clean_lines("ab", "a", "b", "");
}

#[test]
fn binaries_conflict_unless_one_side_is_unchanged() {
    let merge = merge3(b"\0a\n", b"\0b\n", b"\0c\n", MARKERS);
    assert_eq!(
        (&merge.bytes[..], kinds(&merge)),
        (&b"\0b\n"[..], vec![Binary])
    );
    assert_eq!(merge3(b"\0a", b"b", b"c", Favor::Theirs).bytes, b"c");
    conflict(b"a\n", b"a\nb\n", b"A\n\0", &[Binary]);
}

#[test]
fn a_move_does_not_restore_a_line_that_the_other_side_removed() {
    conflict_lines("Labc", "abc", "abcL", Moved);
    conflict_lines("Labc", "abcD", "abLcD", Moved);
    // moved by both, to different places
    let merge = merge3(
        &doc("Labcdef"),
        &doc("abcLdef"),
        &doc("abcdeLf"),
        Favor::Ours,
    );
    assert_eq!(kinds(&merge), [Moved, Moved]);
    assert_eq!(merge.bytes, doc("abcLdef"));

    let (base, ours, theirs) = (doc("Labc"), doc("abc"), doc("abcL"));
    let merge = merge3(&base, &ours, &theirs, Favor::Theirs);
    assert_eq!(merge.bytes, doc("abcL"));
    let hunk = &merge.conflicts[0];
    assert_eq!(
        (&hunk.base, &hunk.ours, &hunk.theirs),
        (&(4..4), &(3..3), &(3..4))
    );
}

#[test]
fn explained_counts_are_no_move() {
    // moved by both to the same place
    clean_lines("Labc", "abcL", "aBcL", "aBcL");
    // removed by both; one more added by a side that kept another
    clean_lines("LabLc", "abLc", "abLcD", "abLcD");
    // braces and blank lines recur without being the same line
    clean_lines("}abc", "abc", "abc}", "abc}");
}

/// So small that no machine reaches the time limit of a comparison, which makes the result coarser.
#[test]
fn a_large_file_merges_without_a_conflict() {
    let (base, ours, theirs) = large();
    let merge = merge3(
        base.as_bytes(),
        ours.as_bytes(),
        theirs.as_bytes(),
        Favor::Ours,
    );
    assert_eq!(merge.conflicts, []);
}

/// 10,000 lines; each side changes another tenth of them.
fn large() -> (String, String, String) {
    let text = |changed: usize, edit: &str| {
        (0..10_000).fold(String::new(), |mut text, line| {
            text.push_str(if line % 10 == changed {
                edit
            } else {
                "let x = "
            });
            // recurring lines, as in real files
            text.push_str(&(line % 3_011).to_string());
            text.push_str(";\n");
            text
        })
    };
    (text(11, ""), text(3, "our "), text(7, "their "))
}

/// Disjoint edits of a document of unique lines, each as (unchanged lines above, lines deleted,
/// lines inserted, true if ours). At least `gap` lines lie between two of them.
fn disjoint(gap: usize) -> impl Strategy<Value = Vec<(usize, usize, usize, bool)>> {
    prop::collection::vec((gap..gap + 5, 0usize..4, 0usize..3, any::<bool>()), 0..12)
}

#[derive(Debug, Default)]
struct Docs {
    base: String,
    ours: String,
    theirs: String,
    merged: String,
}

impl Docs {
    fn of(edits: &[(usize, usize, usize, bool)]) -> Self {
        let mut docs = Self::default();
        let mut line = 0;
        let mut keep = |docs: &mut Self, count: usize, in_ours: bool, in_theirs: bool| {
            for _ in 0..count {
                line += 1;
                let text = format!("line {line}\n");
                docs.base += &text;
                if in_ours {
                    docs.ours += &text;
                }
                if in_theirs {
                    docs.theirs += &text;
                }
                if in_ours && in_theirs {
                    docs.merged += &text;
                }
            }
        };
        for (at, &(gap, delete, insert, by_us)) in edits.iter().enumerate() {
            keep(&mut docs, gap, true, true);
            keep(&mut docs, delete, !by_us, by_us);
            for line in 0..insert {
                let text = format!("new {at}.{line}\n");
                if by_us {
                    docs.ours += &text;
                } else {
                    docs.theirs += &text;
                }
                docs.merged += &text;
            }
        }
        keep(&mut docs, 3, true, true);
        docs
    }

    fn merge(&self) -> Merge {
        merge3(
            self.base.as_bytes(),
            self.ours.as_bytes(),
            self.theirs.as_bytes(),
            Favor::Ours,
        )
    }
}

/// Short texts of few different lines, with all kinds of terminators.
fn text() -> impl Strategy<Value = Vec<u8>> {
    let line = prop::sample::select(vec!["a", "b", "c", "}", "", "a\r"]);
    let mostly_lf = prop::sample::select(vec!["\n", "\n", "\n", "\n", "\n", "\n", "\n", "\r\n"]);
    let lines = prop::collection::vec((line, mostly_lf), 0..8);
    (lines, any::<bool>()).prop_map(|(lines, cut)| {
        let mut text = String::new();
        for (line, end) in lines {
            text.push_str(line);
            text.push_str(end);
        }
        if cut {
            text.pop();
        }
        text.into_bytes()
    })
}

/// A text and two edits of it, so that clean merges are common.
fn edited() -> impl Strategy<Value = (Vec<u8>, Vec<u8>, Vec<u8>)> {
    let edits = || prop::collection::vec((any::<Index>(), 0usize..3, text()), 0..3);
    (text(), text(), edits(), edits()).prop_map(|(head, tail, ours, theirs)| {
        let base = [head, b"middle\n".to_vec(), tail].concat();
        let apply = |edits: Vec<(Index, usize, Vec<u8>)>| {
            let mut all: Vec<&[u8]> = lines(&base);
            for (at, delete, insert) in &edits {
                let at = at.index(all.len() + 1);
                let end = (at + delete).min(all.len());
                all.splice(at..end, lines(insert));
            }
            all.concat()
        };
        let (ours, theirs) = (apply(ours), apply(theirs));
        (base, ours, theirs)
    })
}

fn content(bytes: &[u8]) -> Vec<&[u8]> {
    let trim = |line: &'_ [u8]| line.trim_ascii_end().len();
    lines(bytes)
        .into_iter()
        .map(|line| &line[..trim(line)])
        .collect()
}

proptest! {
    #[test]
    fn one_unchanged_side_gives_the_other(base in text(), other in text()) {
        prop_assert_eq!(&merge3(&base, &base, &other, MARKERS).bytes, &other);
        prop_assert_eq!(&merge3(&base, &other, &base, MARKERS).bytes, &other);
        prop_assert_eq!(&merge3(&base, &other, &other, MARKERS).bytes, &other);
    }

    #[test]
    fn swapping_the_sides_changes_nothing((base, ours, theirs) in edited()) {
        let one = merge3(&base, &ours, &theirs, Favor::Ours);
        let two = merge3(&base, &theirs, &ours, Favor::Theirs);
        prop_assert_eq!(kinds(&one), kinds(&two));
        prop_assert_eq!(one.bytes, two.bytes);
    }

    #[test]
    fn every_line_of_a_clean_result_is_in_an_input((base, ours, theirs) in edited()) {
        let merge = merge3(&base, &ours, &theirs, Favor::Ours);
        if merge.conflicts.is_empty() {
            let known = [content(&base), content(&ours), content(&theirs)].concat();
            for line in content(&merge.bytes) {
                prop_assert!(known.contains(&line), "{line:?}");
            }
        }
    }

    #[test]
    fn edits_far_apart_never_conflict(edits in disjoint(3)) {
        let docs = Docs::of(&edits);
        let merge = docs.merge();
        prop_assert_eq!(&merge.conflicts, &[]);
        prop_assert_eq!(String::from_utf8(merge.bytes).unwrap(), docs.merged);
    }

    #[test]
    fn a_clean_result_is_the_base_without_the_deleted_and_with_the_inserted(edits in disjoint(0)) {
        let docs = Docs::of(&edits);
        let merge = docs.merge();
        if merge.conflicts.is_empty() {
            let result = String::from_utf8(merge.bytes).unwrap();
            let sorted = |text: &str| {
                let mut lines: Vec<_> = text.lines().map(str::to_owned).collect();
                lines.sort();
                lines
            };
            prop_assert_eq!(sorted(&result), sorted(&docs.merged));
            for text in [&docs.base, &docs.ours, &docs.theirs] {
                let common = |of: &str, with: &str| {
                    let known: HashSet<_> = with.lines().collect();
                    let common: Vec<_> = of.lines().filter(|line| known.contains(line)).collect();
                    common.join("\n")
                };
                prop_assert_eq!(common(&result, text), common(text, &result));
            }
        }
    }
}
