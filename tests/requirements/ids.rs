//! The ids of requirements: their syntax, and how they are found in a text.

use std::collections::BTreeSet;
use std::fmt;

/// `S3-012`, `S3-Q1` or `U-07`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Id {
    /// 1 to 9 for S1 to S9; `U` sorts after them.
    series: u8,
    /// One of `LETTERS`; a requirement proper has none.
    letter: Option<char>,
    number: u16,
}

const U: u8 = 10;

/// The lines after the requirements of a source: D its contradictions, F what it plans, L its limits, Q its open
/// questions, R its risks.
const LETTERS: [char; 5] = ['D', 'F', 'L', 'Q', 'R'];

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = self.number;
        match (self.series, self.letter) {
            (U, _) => f.pad(&format!("U-{number:02}")),
            (s, Some(letter)) => f.pad(&format!("S{s}-{letter}{number}")),
            (s, None) => f.pad(&format!("S{s}-{number:03}")),
        }
    }
}

/// Ids of a comma-separated list of ids and ranges; None for any other text.
pub fn ranges(text: &str) -> Option<BTreeSet<Id>> {
    let mut ids = BTreeSet::new();
    for part in text.split(',') {
        let (found, rest) = range(part.trim())?;
        if !rest.is_empty() {
            return None;
        }
        ids.extend(found);
    }
    Some(ids)
}

/// All ids and ranges in a text: `S3-012`, `S3-Q1`, `S3-001…004`, `S3-001..S3-004`, `S3-Q1…Q3`.
pub fn in_text(text: &str) -> BTreeSet<Id> {
    let mut ids = BTreeSet::new();
    let mut rest = text;
    let mut inside_word = false;
    while let Some(c) = rest.chars().next() {
        if !inside_word && let Some((found, after)) = range(rest) {
            ids.extend(found);
            rest = after;
            inside_word = true;
        } else {
            inside_word = c.is_alphanumeric() || c == '_';
            rest = &rest[c.len_utf8()..];
        }
    }
    ids
}

/// Ids in a name: `s3_012_and_u_07`.
pub fn in_name(name: &str) -> BTreeSet<Id> {
    let parts: Vec<_> = name.split('_').collect();
    let pairs = parts.windows(2);
    pairs
        .filter_map(|p| id_of(&p[0].to_uppercase(), &p[1].to_uppercase()))
        .collect()
}

/// One id or range at the start of a text, and the rest of the text.
fn range(text: &str) -> Option<(BTreeSet<Id>, &str)> {
    let (first, rest) = one(text)?;
    let dots = ["..=", "..", "…", "–"].iter();
    let last = dots.filter_map(|d| rest.strip_prefix(d)).find_map(|after| {
        let series = text.split_once('-')?.0;
        let (number, rest) = number(after);
        one(after).or_else(|| Some((id_of(series, number)?, rest)))
    });
    let alike = |(id, _): &(Id, &str)| (id.series, id.letter) == (first.series, first.letter);
    let (last, rest) = last.filter(alike).unwrap_or((first, rest));
    let numbers = first.number..=last.number;
    let ids = numbers.map(|number| Id { number, ..first });
    Some((ids.collect(), rest))
}

/// One id at the start of a text, and the rest of the text.
fn one(text: &str) -> Option<(Id, &str)> {
    let (series, rest) = text.split_at_checked(if text.starts_with('U') { 1 } else { 2 })?;
    let (number, rest) = number(rest.strip_prefix('-')?);
    Some((id_of(series, number)?, rest))
}

/// The digits at the start of a text, with the letter before them, and what follows them.
fn number(text: &str) -> (&str, &str) {
    let from = usize::from(text.starts_with(LETTERS));
    let end = text[from..]
        .find(|c: char| !c.is_ascii_digit())
        .map_or(text.len(), |end| from + end);
    text.split_at(end)
}

/// An id from its parts. After an S series: three digits, or a letter and a number; after U two digits.
fn id_of(series: &str, number: &str) -> Option<Id> {
    let (series, width) = match series.as_bytes() {
        b"U" => (U, 2),
        [b'S', n @ b'1'..=b'9'] => (n - b'0', 3),
        _ => return None,
    };
    let letter = number.chars().next().filter(|c| LETTERS.contains(c));
    let digits = &number[usize::from(letter.is_some())..];
    let well_formed = match letter {
        Some(_) => series != U && (1..=2).contains(&digits.len()) && !digits.starts_with('0'),
        None => digits.len() == width,
    };
    let number = well_formed.then(|| digits.parse().ok())??;
    Some(Id {
        series,
        letter,
        number,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn show(ids: &BTreeSet<Id>) -> String {
        let ids: Vec<_> = ids.iter().map(Id::to_string).collect();
        ids.join(" ")
    }

    #[test]
    fn ids_are_found_in_text() {
        for (text, expected) in [
            ("S3-012: what it does", "S3-012"),
            ("covers (S3-001…003, U-07)", "S3-001 S3-002 S3-003 U-07"),
            (
                "S4-001..=002 and S4-004..S4-005.",
                "S4-001 S4-002 S4-004 S4-005",
            ),
            ("S3-001–002…", "S3-001 S3-002"),
            ("S3-12 S3-0123 XS3-012 U-123 S3_012 S0-001", ""),
            ("S3-001..S4-002", "S3-001 S4-002"),
            ("S1-F5, S3-Q1…Q3: S5-D1", "S1-F5 S3-Q1 S3-Q2 S3-Q3 S5-D1"),
            ("S4-D1..S4-D2, S4-D1..L2", "S4-D1 S4-D2"),
            ("S3-001..Q2 S3-X1 S3-Q S3-Q01 U-Q1 S3-q1", "S3-001"),
        ] {
            assert_eq!(show(&in_text(text)), expected, "{text}");
        }
    }

    #[test]
    fn ids_are_found_in_names() {
        for (name, expected) in [
            ("s3_012_an_edit", "S3-012"),
            ("rewind_s1_042_and_u_07", "S1-042 U-07"),
            ("s3_q1_a_boundary", "S3-Q1"),
            ("s3_12_as3_012_s3_0123", ""),
        ] {
            assert_eq!(show(&in_name(name)), expected, "{name}");
        }
    }

    #[test]
    fn ranges_are_whole_or_nothing() {
        assert_eq!(
            show(&ranges("U-29..30, S1-002").unwrap()),
            "S1-002 U-29 U-30"
        );
        assert!(ranges("S3-001..").is_none() && ranges("S3").is_none() && ranges("").is_none());
    }
}
