//! Changed files as the terminal shows them: counts, letters, patches. Decides nothing.

use backstitch_core::diff;

pub use crate::file_changes::{Difference, FileChange, difference, name};
use crate::render::{self, BOLD, CYAN, GREEN, PLAIN, Paint, RED};
use crate::terminal::error::CliResult;
use crate::terminal::line::TextLine;
use crate::terminal::out::Out;

/// Returns lines of `M path`, as git writes them.
pub fn name_status(files: &[FileChange], paint: Paint) -> String {
    let row = |file: &FileChange| {
        let letter = paint.on(file.what.style(), &file.what.letter().to_string());
        match &file.from {
            Some(from) => {
                format!("{letter}\t{}\t{}\n", quoted(from), quoted(&file.path))
            }
            None => format!("{letter}\t{}\n", quoted(&file.path)),
        }
    };
    files.iter().map(row).collect()
}

/// Returns a path that a script can read back. It is quoted and escaped as git does, except that letters of
/// other alphabets stay.
fn quoted(path: &[u8]) -> String {
    let plain = |text: &&str| !text.contains(['"', '\\']) && render::path(path) == **text;
    match std::str::from_utf8(path).ok().filter(plain) {
        Some(text) => text.to_owned(),
        None => String::from_utf8_lossy(&diff::quoted(b"", path)).into_owned(),
    }
}

/// Returns a row for each file, and the total.
pub fn stat(files: &[FileChange], paint: Paint) -> String {
    if files.is_empty() {
        return String::new();
    }
    let width = name_width(files.iter().map(FileChange::name), paint);
    let mut text = String::new();
    let (mut added, mut removed) = (0, 0);
    for file in files {
        let (plus, minus) = file.counts();
        added += plus;
        removed += minus;
        let line = TextLine::new()
            .plain("  ")
            .add(file.what.style(), file.what.letter().to_string())
            .plain("  ")
            .column(PLAIN, &render::cut(&file.name(), width), width + 2);
        text.push_str(&with_counts(line, file.is_binary(), (plus, minus)).draw(paint));
    }
    let files = render::plural(files.len(), "file", "files");
    let sum = paint.counts(added, removed);
    text.push_str(format!("  {files}  {sum}").trim_end());
    text.push('\n');
    text
}

/// Returns the width of the column of names.
pub fn name_width(names: impl Iterator<Item = String>, paint: Paint) -> usize {
    let widest = names.map(|name| render::columns(&name)).max().unwrap_or(0);
    widest.min(paint.width.saturating_sub(24).max(16))
}

/// Adds `+3 -1`, or `binary`.
pub fn with_counts(line: TextLine, binary: bool, (added, removed): (usize, usize)) -> TextLine {
    if binary {
        return line.add(render::DIM, "binary");
    }
    let line = if added > 0 {
        line.add(GREEN, format!("+{added}"))
    } else {
        line
    };
    let between = if added > 0 && removed > 0 { " " } else { "" };
    let line = line.plain(between);
    if removed > 0 {
        line.add(RED, format!("-{removed}"))
    } else {
        line
    }
}

/// Prints the patches of all files to stdout, and names files without kept content on stderr.
pub fn patches(files: &[FileChange], out: &Out) -> CliResult<()> {
    for file in files {
        match file.opaque {
            Some(reason) => out.note(
                "note",
                &format!(
                    "{} is not shown: its content is not kept ({})",
                    file.name(),
                    render::not_kept(reason)
                ),
            ),
            None if file.too_long => out.note(
                "note",
                &format!(
                    "{} is not shown: it is too large to compare by lines",
                    file.name()
                ),
            ),
            None if out.paint.color => out.bytes(&colored(&out.content(&file.patch())))?,
            None => out.bytes(&out.content(&file.patch()))?,
        }
    }
    Ok(())
}

/// Colors a patch. Inside a hunk the first byte decides, because a removed line may look like a header.
fn colored(patch: &[u8]) -> Vec<u8> {
    let mut drawn = Vec::with_capacity(patch.len() * 2);
    let (mut old, mut new) = (0, 0);
    for line in patch.split_inclusive(|byte| *byte == b'\n') {
        let style = match (old + new > 0, line.first()) {
            (true, Some(b'+')) => {
                new -= 1.min(new);
                GREEN
            }
            (true, Some(b'-')) => {
                old -= 1.min(old);
                RED
            }
            (_, Some(b'\\')) => PLAIN,
            (true, _) => {
                old -= 1.min(old);
                new -= 1.min(new);
                PLAIN
            }
            (false, Some(b'@')) => {
                (old, new) = hunk_lengths(line).unwrap_or_default();
                CYAN
            }
            (false, _) => BOLD,
        };
        let (body, end) = match line.strip_suffix(b"\n") {
            Some(body) => (body, &b"\n"[..]),
            None => (line, &b""[..]),
        };
        if style == PLAIN {
            drawn.extend_from_slice(body);
        } else {
            drawn.extend(style.render().to_string().bytes());
            drawn.extend_from_slice(body);
            drawn.extend(style.render_reset().to_string().bytes());
        }
        drawn.extend_from_slice(end);
    }
    drawn
}

/// Returns the lengths in `@@ -3,7 +3,8 @@`.
fn hunk_lengths(line: &[u8]) -> Option<(usize, usize)> {
    let line = std::str::from_utf8(line.split(|b| *b == b'@').nth(2)?).ok()?;
    let mut lengths = line
        .split_whitespace()
        .map(|range| match range.split_once(',') {
            Some((_, length)) => length.parse().ok(),
            None => Some(1),
        });
    Some((lengths.next()??, lengths.next()??))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patch_is_colored_by_its_structure() {
        let patch = b"--- a/x\n+++ b/x\n@@ -1,2 +1 @@\n--- was a comment\n same\n--- a/y\n";
        let drawn = String::from_utf8(colored(patch)).unwrap();
        let lines: Vec<&str> = drawn.lines().collect();
        assert!(lines[0].starts_with("\u{1b}[1m"), "a header is bold");
        assert!(lines[3].starts_with("\u{1b}[31m"), "a removed line is red");
        assert_eq!(lines[4], " same");
        assert!(
            lines[5].starts_with("\u{1b}[1m"),
            "the next header is bold again"
        );
    }

    #[test]
    fn hunk_header_has_lengths() {
        assert_eq!(hunk_lengths(b"@@ -3,7 +3,8 @@ fn x() {\n"), Some((7, 8)));
        assert_eq!(hunk_lengths(b"@@ -1 +0,0 @@\n"), Some((1, 0)));
        assert_eq!(hunk_lengths(b"@@ nonsense"), None);
    }
}
