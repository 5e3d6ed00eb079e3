//! Word diffs like `git diff --word-diff=plain`: `[-old-]{+new+}`.

use std::ops::Range;

use super::patch::{groups, halves, push_header, push_range_line, quoted, shown};
use super::{CONTEXT, Comparison, FileDiff, Interner, changes, is_binary, push_lines};

/// Returns the changes word by word. Words are separated by whitespace; whitespace is taken from
/// the new side. For display, not for `git apply`.
pub fn word_diff(d: &FileDiff) -> Vec<u8> {
    let mut out = Vec::new();
    if d.changes_type() {
        for half in halves(d) {
            out.extend(word_diff(&half));
        }
        return out;
    }
    push_header(&mut out, d);
    let (old, new) = d.bytes();
    if old == new {
        return out;
    }
    if is_binary(d) {
        push_binary_notice(&mut out, d);
        return out;
    }
    let comparison = Comparison::of(old, new);
    for group in groups(&comparison.changes, CONTEXT) {
        let (old, new) = shown(&comparison, group, CONTEXT);
        push_range_line(&mut out, &old, &new);
        let mut at = old.start;
        for change in group {
            push_lines(&mut out, &comparison.old[at..change.old.start]);
            push_words(
                &mut out,
                &comparison.old[change.old.clone()].concat(),
                &comparison.new[change.new.clone()].concat(),
            );
            end_line(&mut out);
            at = change.old.end;
        }
        push_lines(&mut out, &comparison.old[at..old.end]);
        end_line(&mut out);
    }
    out
}

fn end_line(out: &mut Vec<u8>) {
    if !out.ends_with(b"\n") {
        out.push(b'\n');
    }
}

fn push_binary_notice(out: &mut Vec<u8>, d: &FileDiff) {
    let name = |prefix: &[u8], path: Option<&[u8]>| {
        path.map_or(b"/dev/null".to_vec(), |path| quoted(prefix, path))
    };
    out.extend_from_slice(b"Binary files ");
    out.extend(name(b"a/", d.old.map(|side| side.path)));
    out.extend_from_slice(b" and ");
    out.extend(name(b"b/", d.new.map(|side| side.path)));
    out.extend_from_slice(b" differ\n");
}

/// Writes one changed region: the new text, with removed words marked at their old position.
fn push_words(out: &mut Vec<u8>, old: &[u8], new: &[u8]) {
    let (old_words, new_words) = (words(old), words(new));
    if new_words.is_empty() {
        push_marked(out, old, "[-", "-]");
        return;
    }
    let mut interner = Interner::default();
    let old_ids = interner.intern(&slices(old, &old_words));
    let new_ids = interner.intern(&slices(new, &new_words));
    let mut at = 0;
    for change in changes(&old_ids, &new_ids) {
        let removed = span(&old_words, &change.old);
        let added = span(&new_words, &change.new);
        out.extend_from_slice(&new[at..added.start]);
        push_marked(out, &old[removed], "[-", "-]");
        push_marked(out, &new[added.clone()], "{+", "+}");
        at = added.end;
    }
    out.extend_from_slice(&new[at..]);
}

/// Returns the ranges of the words.
fn words(text: &[u8]) -> Vec<Range<usize>> {
    let mut words = Vec::new();
    let mut start = 0;
    for piece in text.split_inclusive(u8::is_ascii_whitespace) {
        let length = piece.trim_ascii_end().len();
        if length > 0 {
            words.push(start..start + length);
        }
        start += piece.len();
    }
    words
}

fn slices<'t>(text: &'t [u8], words: &[Range<usize>]) -> Vec<&'t [u8]> {
    words.iter().map(|word| &text[word.clone()]).collect()
}

/// Returns the range from the first word of `run` to its last. An empty run is right after the
/// previous word.
fn span(words: &[Range<usize>], run: &Range<usize>) -> Range<usize> {
    let end = |count: usize| match count {
        0 => 0,
        count => words[count - 1].end,
    };
    if run.is_empty() {
        end(run.start)..end(run.start)
    } else {
        words[run.start].start..end(run.end)
    }
}

/// Writes each line of `text` between the marks; line breaks stay outside.
fn push_marked(out: &mut Vec<u8>, text: &[u8], open: &str, close: &str) {
    for line in super::lines(text) {
        let content = line.strip_suffix(b"\n").unwrap_or(line);
        if !content.is_empty() {
            out.extend_from_slice(open.as_bytes());
            out.extend_from_slice(content);
            out.extend_from_slice(close.as_bytes());
        }
        out.extend_from_slice(&line[content.len()..]);
    }
}
