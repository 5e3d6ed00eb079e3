//! Selected lines of a document, and the hunks of a plan at these lines. Pure, apart from reading contents.

use std::ops::Range;

use backstitch_core::diff::{self, FileDiff, Hunk, Side};
use backstitch_core::model::RelPath;
use backstitch_core::restore::{ActionKind, Plan};
use backstitch_core::{Engine, Result};
use ropey::Rope;

use super::document::Document;
use crate::file_changes::FileChange;

/// Returns the ids of the hunks that a plan changes at these lines. `document`: the open document; without it the
/// lines are those of the file.
pub fn hunks(
    engine: &Engine,
    plan: &Plan,
    path: &RelPath,
    document: Option<&Document>,
    lines: &Range<usize>,
) -> Result<Vec<String>> {
    let mut actions = plan.actions.iter().filter(|a| a.kind != ActionKind::Skip);
    let Some(action) = actions.find(|a| a.from.as_ref().unwrap_or(&a.path) == path) else {
        return Ok(Vec::new());
    };
    let changed = FileChange::planned(engine, plan, action)?;
    let lines = match document {
        Some(document) => {
            let held = document.as_saved().unwrap_or_else(|| document.bytes());
            in_file(&held, changed.old_text(), &in_text(&document.text, lines))
        }
        None => lines.clone(),
    };
    Ok(changed.hunks_at(&lines))
}

/// Converts lines of the protocol to lines that end with `\n`, as the engine counts them.
pub fn in_text(text: &Rope, lines: &Range<usize>) -> Range<usize> {
    let above = |line: usize| {
        let start = text.line_to_byte(line.min(text.len_lines()));
        let bytes = text.byte_slice(..start).bytes();
        bytes.filter(|byte| *byte == b'\n').count()
    };
    let start = above(lines.start);
    start..above(lines.end).max(start + 1)
}

/// Maps lines of a document's text to lines of its file; unsaved lines map to their insertion point.
fn in_file(held: &[u8], file: &[u8], lines: &Range<usize>) -> Range<usize> {
    let side = |bytes| {
        Some(Side {
            path: b"",
            mode: 0o100_644,
            bytes,
        })
    };
    let typed = diff::hunks(&FileDiff {
        old: side(file),
        new: side(held),
    });
    let (first, last) = (of_line(&typed, lines.start), of_line(&typed, lines.end - 1));
    first.start..last.end
}

fn of_line(typed: &[Hunk], line: usize) -> Range<usize> {
    match typed.iter().rfind(|hunk| hunk.new.start <= line) {
        Some(hunk) if line < hunk.new.end => hunk.old.clone(),
        Some(hunk) => {
            let line = hunk.old.end + (line - hunk.new.end);
            line..line + 1
        }
        None => line..line + 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &[u8] = b"a\nb\nc\nd\ne\n";

    #[test]
    fn lines_are_found_below_what_was_typed() {
        let place = |held: &str, lines: Range<usize>| in_file(held.as_bytes(), FILE, &lines);
        assert_eq!(place("a\nb\nc\nd\ne\n", 2..3), 2..3);
        assert_eq!(place("x\ny\na\nb\nc\nd\ne\n", 4..6), 2..4);
        assert_eq!(place("c\nd\ne\n", 0..1), 2..3);
        assert_eq!(place("a\nB\nC\nd\ne\n", 1..2), 1..3, "typed over");
        assert_eq!(place("a\nb\nnew\nc\nd\ne\n", 2..3), 2..2, "not there");
        assert_eq!(place("a\nb\nc\nd\ne\nf\n", 0..6), 0..5);
    }

    #[test]
    fn a_lone_return_ends_a_line_of_the_protocol_only() {
        let text = Rope::from_str("a\rb\nc\r\nd");
        assert_eq!(in_text(&text, &(1..2)), 0..1);
        assert_eq!(in_text(&text, &(2..3)), 1..2);
        assert_eq!(in_text(&text, &(3..9)), 2..3);
    }
}
