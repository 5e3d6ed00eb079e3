//! Columns of the terminal, and texts that are broken to fit them.

use std::io::IsTerminal;

use unicode_width::UnicodeWidthStr;

/// Columns by which the rest of a broken line is indented.
const CONTINUED: usize = 2;

/// Columns to which lines are cut: those of the terminal, or `COLUMNS`. Without a terminal nothing is cut.
pub fn width() -> usize {
    let columns = std::env::var("COLUMNS")
        .ok()
        .and_then(|text| text.parse().ok());
    let terminal = || {
        let size = terminal_size::terminal_size_of(std::io::stdout());
        size.map(|(width, _)| usize::from(width.0))
    };
    let otherwise = if std::io::stdout().is_terminal() {
        100
    } else {
        usize::MAX
    };
    columns
        .or_else(terminal)
        .filter(|width| *width >= 20)
        .unwrap_or(otherwise)
}

/// Breaks the lines of a text that are wider than the terminal between words. The rest of such a line is indented.
pub fn wrapped_lines(text: &str, columns: usize) -> String {
    let mut all = String::new();
    for line in text.split_inclusive('\n') {
        let content = line.trim_end_matches('\n');
        if shown_width(content) <= columns {
            all.push_str(line);
            continue;
        }
        let words = content.trim_start_matches(' ');
        let indent = content.len() - words.len();
        all.push_str(&content[..indent]);
        all.push_str(&wrapped_from(words, columns, indent, indent + CONTINUED));
        all.push_str(&line[content.len()..]);
    }
    all
}

/// Columns of a text without its colours.
fn shown_width(text: &str) -> usize {
    let mut rest = text;
    let mut width = 0;
    while let Some((before, after)) = rest.split_once("\x1b[") {
        width += before.width();
        rest = after.split_once('m').map_or("", |(_, after)| after);
    }
    width + rest.width()
}

/// Breaks a text between words, so that no line is wider than the terminal. `indent`: columns before the text.
pub fn wrapped(text: &str, columns: usize, indent: usize) -> String {
    wrapped_from(text, columns, indent, indent)
}

/// As [`wrapped`], with the first line at the column `start` and the others at `indent`.
fn wrapped_from(text: &str, columns: usize, start: usize, indent: usize) -> String {
    let mut lines = String::new();
    let mut used = start;
    for (n, word) in text.split(' ').enumerate() {
        let width = shown_width(word);
        if n > 0 && used + 1 + width > columns && width + indent <= columns {
            lines.push('\n');
            lines.push_str(&" ".repeat(indent));
            used = indent;
        } else if n > 0 {
            lines.push(' ');
            used += 1;
        }
        lines.push_str(word);
        used += width;
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_break_between_words() {
        let text = wrapped("`backstitch log` lists the checkpoints", 24, 6);
        assert_eq!(text, "`backstitch log`\n      lists the\n      checkpoints");
        let long = "a-word-without-any-end-at-all";
        assert_eq!(
            wrapped(&format!("see {long}"), 20, 6),
            format!("see {long}")
        );
        assert_eq!(wrapped("short", 80, 6), "short");
    }

    #[test]
    fn wide_lines_break_between_words() {
        let text = "short\n  To undo it: \x1b[1mbackstitch\x1b[0m undo\n";
        assert_eq!(wrapped_lines(text, 80), text);
        assert_eq!(
            wrapped_lines(text, 24),
            "short\n  To undo it: \x1b[1mbackstitch\x1b[0m\n    undo\n"
        );
    }
}
