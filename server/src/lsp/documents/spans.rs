//! The words that differ within a hunk. Pure.

use std::time::Duration;

use backstitch_core::diff::text_changes;

use super::position::Encoding;

/// Above this many bytes a hunk is shown without spans.
const MAX_BYTES: usize = 20_000;
const TIME_LIMIT: Duration = Duration::from_millis(50);

/// Line, start, end.
pub type Span = (usize, usize, usize);

/// Returns the spans within the removed and the added lines. Lines count from 0 in their side, columns in the
/// client's units.
pub fn of(removed: &[&str], added: &[&str], encoding: Encoding) -> (Vec<Span>, Vec<Span>) {
    let (a, b) = (removed.join("\n"), added.join("\n"));
    if a.is_empty() || b.is_empty() || a.len() + b.len() > MAX_BYTES {
        return (Vec::new(), Vec::new());
    }
    let (x, y) = (words(&a), words(&b));
    let (mut removed_spans, mut added_spans) = (Vec::new(), Vec::new());
    for change in text_changes(&x, &y, TIME_LIMIT) {
        mark(&x, change.old, encoding, &mut removed_spans);
        mark(&y, change.new, encoding, &mut added_spans);
    }
    (removed_spans, added_spans)
}

/// Splits a text: letters and digits together, every other character by itself.
fn words(text: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let mut start = 0;
    let mut before: Option<char> = None;
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    for (at, c) in text.char_indices() {
        let joins = before.is_some_and(|before| is_word(before) && is_word(c));
        if at > start && !joins {
            words.push(&text[start..at]);
            start = at;
        }
        before = Some(c);
    }
    if start < text.len() {
        words.push(&text[start..]);
    }
    words
}

fn mark(words: &[&str], range: std::ops::Range<usize>, encoding: Encoding, to: &mut Vec<Span>) {
    let before: String = words[..range.start].concat();
    let (mut line, last) = match before.rsplit_once('\n') {
        Some((lines, last)) => (lines.matches('\n').count() + 1, last),
        None => (0, before.as_str()),
    };
    let mut column = encoding.units(last);
    let differing: String = words[range].concat();
    for (index, part) in differing.split('\n').enumerate() {
        if index > 0 {
            (line, column) = (line + 1, 0);
        }
        let end = column + encoding.units(part);
        if end > column {
            to.push((line, column, end));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_that_differ() {
        let (removed_spans, added_spans) = of(
            &["let a = 𝄞(old);", "same"],
            &["let a = 𝄞(new_one);", "same"],
            Encoding::Utf16,
        );
        assert_eq!(removed_spans, [(0, 11, 14)]);
        assert_eq!(added_spans, [(0, 11, 18)]);
        assert_eq!(of(&[], &["x"], Encoding::Utf8), (vec![], vec![]));
    }
}
