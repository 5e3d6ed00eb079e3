//! Patches for `git apply`, forward and with `-R`.

use std::ops::Range;

use super::{Comparison, FileDiff, LineChange, Side, binary, is_binary};

/// Returns a patch for `git apply`; empty if nothing changed. A file that became a symlink, or the
/// reverse, is deleted and created.
///
/// With `context` 0, git requires `--unidiff-zero`. It may then apply a pure deletion one line too
/// far up if that line is the same. Do not apply such patches where lines recur.
pub fn patch(d: &FileDiff, context: usize) -> Vec<u8> {
    let mut out = Vec::new();
    if d.changes_type() {
        for half in halves(d) {
            out.extend(patch(&half, context));
        }
        return out;
    }
    let (old, new) = d.bytes();
    push_header(&mut out, d);
    if old == new {
        return out;
    }
    if is_binary(d) {
        push_index(&mut out, d);
        binary::push_patch(&mut out, old, new);
        return out;
    }
    push_names(&mut out, d);
    out.extend(hunks_of(old, new, context));
    out
}

/// Returns the hunks of a patch without its header, for display.
pub fn hunks_of(old: &[u8], new: &[u8], context: usize) -> Vec<u8> {
    let mut out = Vec::new();
    let comparison = Comparison::of(old, new);
    for group in groups(&comparison.changes, context) {
        push_hunk(&mut out, &comparison, group, context);
    }
    out
}

/// Splits a change of type into a deletion and a creation.
pub(super) fn halves<'a>(d: &FileDiff<'a>) -> [FileDiff<'a>; 2] {
    [FileDiff { new: None, ..*d }, FileDiff { old: None, ..*d }]
}

/// Writes the header lines about the file as a whole.
pub(super) fn push_header(out: &mut Vec<u8>, d: &FileDiff) {
    let (Some(old), Some(new)) = (d.old.or(d.new), d.new.or(d.old)) else {
        return;
    };
    if old == new && d.old.is_some() && d.new.is_some() {
        return;
    }
    out.extend_from_slice(b"diff --git ");
    out.extend(quoted(b"a/", old.path));
    out.push(b' ');
    out.extend(quoted(b"b/", new.path));
    out.push(b'\n');
    let mut mode = |what: &str, mode: u32| {
        out.extend_from_slice(format!("{what} mode {mode:06o}\n").as_bytes());
    };
    match (d.old, d.new) {
        (None, Some(new)) => mode("new file", new.mode),
        (Some(old), None) => mode("deleted file", old.mode),
        _ if old.mode != new.mode => {
            mode("old", old.mode);
            mode("new", new.mode);
        }
        _ => {}
    }
    if old.path != new.path {
        let similarity = similarity(old.bytes, new.bytes);
        out.extend_from_slice(format!("similarity index {similarity}%\n").as_bytes());
        for (what, path) in [("from", old.path), ("to", new.path)] {
            out.extend_from_slice(format!("rename {what} ").as_bytes());
            out.extend(quoted(b"", path));
            out.push(b'\n');
        }
    }
}

/// Returns the unchanged part of the larger side in percent; 100 only for equal bytes.
fn similarity(old: &[u8], new: &[u8]) -> usize {
    if old == new {
        return 100;
    }
    let comparison = Comparison::of(old, new);
    let removed: usize = comparison
        .changes
        .iter()
        .flat_map(|change| &comparison.old[change.old.clone()])
        .map(|line| line.len())
        .sum();
    let stayed = old.len() - removed;
    (stayed * 100 / old.len().max(new.len())).min(99)
}

/// Writes the index line. Binary patches apply only to the exact bytes they were made from; git
/// checks the names.
fn push_index(out: &mut Vec<u8>, d: &FileDiff) {
    let name = |side: Option<Side>| binary::blob_name(side.map(|side| side.bytes));
    out.extend_from_slice(format!("index {}..{}", name(d.old), name(d.new)).as_bytes());
    if let (Some(old), Some(new)) = (d.old, d.new)
        && old.mode == new.mode
    {
        out.extend_from_slice(format!(" {:06o}", old.mode).as_bytes());
    }
    out.push(b'\n');
}

fn push_names(out: &mut Vec<u8>, d: &FileDiff) {
    for (sign, prefix, side) in [("---", b"a/", d.old), ("+++", b"b/", d.new)] {
        out.extend_from_slice(sign.as_bytes());
        out.push(b' ');
        match side {
            Some(side) => {
                out.extend(quoted(prefix, side.path));
                // the tab ends the name for tools that would read text after a space as a date
                if side.path.contains(&b' ') {
                    out.push(b'\t');
                }
            }
            None => out.extend_from_slice(b"/dev/null"),
        }
        out.push(b'\n');
    }
}

/// Returns `prefix` and `path`, quoted with C escapes if git would quote them (quote.c).
pub fn quoted(prefix: &[u8], path: &[u8]) -> Vec<u8> {
    let plain = |byte: &u8| matches!(byte, b' '..=b'~') && !matches!(byte, b'"' | b'\\');
    if path.iter().all(plain) {
        return [prefix, path].concat();
    }
    let mut out = vec![b'"'];
    out.extend_from_slice(prefix);
    for &byte in path {
        let letter = match byte {
            0x07 => b'a',
            0x08 => b'b',
            b'\t' => b't',
            b'\n' => b'n',
            0x0b => b'v',
            0x0c => b'f',
            b'\r' => b'r',
            b'"' | b'\\' => byte,
            _ if plain(&byte) => {
                out.push(byte);
                continue;
            }
            _ => {
                out.extend_from_slice(format!("\\{byte:03o}").as_bytes());
                continue;
            }
        };
        out.extend_from_slice(&[b'\\', letter]);
    }
    out.push(b'"');
    out
}

/// Returns groups of changes with adjoining contexts, in order.
pub(super) fn groups(
    changes: &[LineChange],
    context: usize,
) -> impl Iterator<Item = &[LineChange]> {
    changes
        .chunk_by(move |above, below| below.old.start - above.old.end <= context.saturating_mul(2))
}

/// Returns the lines of both sides that a group shows, with its context.
pub(super) fn shown(
    comparison: &Comparison,
    group: &[LineChange],
    context: usize,
) -> (Range<usize>, Range<usize>) {
    let (Some(first), Some(last)) = (group.first(), group.last()) else {
        return (0..0, 0..0);
    };
    let above = context.min(first.old.start);
    let below = context.min(comparison.old.len() - last.old.end);
    (
        first.old.start - above..last.old.end + below,
        first.new.start - above..last.new.end + below,
    )
}

pub(super) fn push_range_line(out: &mut Vec<u8>, old: &Range<usize>, new: &Range<usize>) {
    // an empty range is named by the line above it, others by their first line, from 1
    let place = |range: &Range<usize>| match range.len() {
        0 => format!("{},0", range.start),
        1 => format!("{}", range.start + 1),
        len => format!("{},{len}", range.start + 1),
    };
    out.extend_from_slice(format!("@@ -{} +{} @@\n", place(old), place(new)).as_bytes());
}

fn push_hunk(out: &mut Vec<u8>, comparison: &Comparison, group: &[LineChange], context: usize) {
    let (old, new) = shown(comparison, group, context);
    push_range_line(out, &old, &new);
    let mut at = old.start;
    for change in group {
        push_signed(out, b' ', &comparison.old[at..change.old.start]);
        push_signed(out, b'-', &comparison.old[change.old.clone()]);
        push_signed(out, b'+', &comparison.new[change.new.clone()]);
        at = change.old.end;
    }
    push_signed(out, b' ', &comparison.old[at..old.end]);
}

fn push_signed(out: &mut Vec<u8>, sign: u8, lines: &[&[u8]]) {
    for line in lines {
        out.push(sign);
        out.extend_from_slice(line);
        if !line.ends_with(b"\n") {
            out.extend_from_slice(b"\n\\ No newline at end of file\n");
        }
    }
}
