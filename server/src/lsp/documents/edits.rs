//! Smallest edits from one text to another, so that cursors, folds and marks stay in place. Pure.

use std::time::Duration;

use backstitch_core::diff::text_changes;
use ropey::Rope;
use tower_lsp::gen_lsp_types::{Range, TextEdit};

use super::position::Encoding;

/// Time limit of the search for small edits.
const TIME_LIMIT: Duration = Duration::from_millis(500);

/// Returns edits that turn `old` into `new`, in order and without overlap.
pub fn between(old: &Rope, new: &str, encoding: Encoding) -> Vec<TextEdit> {
    let before = old.to_string();
    let (a, b) = (lines(&before), lines(new));
    let starts = starts(&a);
    let mut edits = Vec::new();
    for change in text_changes(&a, &b, TIME_LIMIT) {
        let start = starts[change.old.start];
        let removed: String = a[change.old].concat();
        let added: String = b[change.new].concat();
        let (head, tail) = common(&removed, &added);
        let at = start + head;
        let end = start + removed.len() - tail;
        let position = |byte: usize| encoding.position(old, old.byte_to_char(byte));
        edits.push(TextEdit {
            range: Range {
                start: position(at),
                end: position(end),
            },
            new_text: added[head..added.len() - tail].to_owned(),
        });
    }
    edits
}

fn lines(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').collect()
}

/// Returns the byte offset of each line, and of the end.
fn starts(lines: &[&str]) -> Vec<usize> {
    let mut at = 0;
    let mut starts = vec![0];
    for line in lines {
        at += line.len();
        starts.push(at);
    }
    starts
}

/// Returns the number of bytes that two texts share at their starts and, after that, at their ends. Counts whole
/// characters and never half a line end, inside which there is no position.
fn common(a: &str, b: &str) -> (usize, usize) {
    let same = |pairs: &mut dyn Iterator<Item = (char, char)>| -> usize {
        pairs
            .take_while(|(x, y)| x == y)
            .map(|(x, _)| x.len_utf8())
            .sum()
    };
    let mut head = same(&mut a.chars().zip(b.chars()));
    if a[..head].ends_with('\r') {
        head -= 1;
    }
    let (a, b) = (&a[head..], &b[head..]);
    let mut tail = same(&mut a.chars().rev().zip(b.chars().rev()));
    let splits = |text: &str| {
        let at = text.len() - tail;
        text[at..].starts_with('\n') && text[..at].ends_with('\r')
    };
    if tail > 0 && (splits(a) || splits(b)) {
        tail -= 1;
    }
    (head, tail)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tower_lsp::gen_lsp_types::{
        TextDocumentContentChangeEvent as Change, TextDocumentContentChangePartial as Part,
    };

    use super::super::document::edit;
    use super::*;

    /// Applies edits as an editor does: from the end, so that earlier positions stay valid.
    fn applied(old: &str, edits: &[TextEdit], encoding: Encoding) -> String {
        let mut text = Rope::from_str(old);
        for change in edits.iter().rev() {
            let part: Part = serde_json::from_value(serde_json::json!({
                "range": change.range,
                "text": change.new_text,
            }))
            .unwrap();
            edit(&mut text, &Change::from(part), encoding);
        }
        text.to_string()
    }

    #[test]
    fn only_what_differs_is_edited() {
        let old = Rope::from_str("one\ntwo\nthree\n");
        let edits = between(&old, "one\ntwenty\nthree\n", Encoding::Utf16);
        assert_eq!(edits.len(), 1);
        assert_eq!(edits[0].new_text, "enty");
        assert_eq!(edits[0].range.start.line, 1);
        assert!(between(&old, "one\ntwo\nthree\n", Encoding::Utf16).is_empty());
    }

    proptest! {
        #[test]
        fn edits_lead_from_one_text_to_the_other(
            old in "[ab𝄞é\r\n]{0,40}",
            new in "[ab𝄞é\r\n]{0,40}",
        ) {
            for encoding in [Encoding::Utf8, Encoding::Utf16, Encoding::Utf32] {
                let edits = between(&Rope::from_str(&old), &new, encoding);
                prop_assert_eq!(applied(&old, &edits, encoding), new.clone());
            }
        }
    }
}
