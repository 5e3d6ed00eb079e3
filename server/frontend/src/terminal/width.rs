//! Columns of the terminal, and texts that are broken to fit them.

use std::io::IsTerminal;

use unicode_width::UnicodeWidthStr;

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

/// Breaks a text between words, so that no line is wider than the terminal. `indent`: columns before the text.
pub fn wrapped(text: &str, columns: usize, indent: usize) -> String {
    let mut lines = String::new();
    let mut used = indent;
    for (n, word) in text.split(' ').enumerate() {
        let width = word.width();
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
}
