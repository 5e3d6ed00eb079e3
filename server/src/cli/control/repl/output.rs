//! The output of an entry, as it is shown. On a terminal a long one is cut, with the way to all of it.

use backstitch_control::ReplEntry;

use crate::render::{self, DIM, GREEN, PLAIN, Paint, RED};

/// Lines of an output that a terminal shows.
const MAX_LINES: usize = 200;
/// Characters of one that a terminal shows.
const MAX_CHARS: usize = 8_000;

/// Returns the parts of an entry that are shown, in lines. `session`: the output is for a terminal in this session, and is cut.
pub fn output(paint: Paint, entry: &ReplEntry, session: Option<&str>) -> String {
    let mut text = String::new();
    if matches!(entry.shows(), "both" | "stdout") || entry.is_error && !entry.stdout.is_empty() {
        text.push_str(&part(paint, &entry.stdout, Style::Plain, None, session));
    }
    let style = if entry.is_error {
        Style::Error
    } else if entry.input.starts_with(':') {
        Style::Difference
    } else {
        Style::Plain
    };
    if entry.is_error || matches!(entry.shows(), "both" | "value") {
        let cid = entry.cid.as_deref();
        text.push_str(&part(paint, &entry.output, style, cid, session));
    }
    text
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Style {
    Plain,
    Error,
    /// Lines that begin with `+` and `-` are those of a difference.
    Difference,
}

fn part(
    paint: Paint,
    whole: &str,
    style: Style,
    cid: Option<&str>,
    session: Option<&str>,
) -> String {
    // programs colour their output; the signs of that are removed
    let plain = anstream::adapter::strip_str(whole).to_string();
    let plain = plain.strip_suffix('\n').unwrap_or(&plain);
    let shown = if session.is_some() {
        beginning(plain)
    } else {
        plain
    };
    let mut text = String::new();
    for line in shown.lines() {
        let colour = match style {
            Style::Error => RED,
            Style::Difference if line.starts_with('+') => GREEN,
            Style::Difference if line.starts_with('-') => RED,
            Style::Plain | Style::Difference => PLAIN,
        };
        text.push_str(&paint.on(colour, &render::visible(line)));
        text.push('\n');
    }
    if let Some(session) = session.filter(|_| shown.len() < plain.len()) {
        let more = plain[shown.len()..].chars().count();
        let all = match cid {
            Some(cid) => format!("backstitch repl object {cid}"),
            None => format!("backstitch repl show {session}"),
        };
        let more = format!("… {more} more characters: `{all}`");
        text.push_str(&paint.on(DIM, &more));
        text.push('\n');
    }
    text
}

/// Returns the lines and characters that a terminal shows.
fn beginning(text: &str) -> &str {
    let by_lines = text.match_indices('\n').nth(MAX_LINES - 1);
    let text = by_lines.map_or(text, |(at, _)| &text[..at]);
    let by_chars = text.char_indices().nth(MAX_CHARS);
    by_chars.map_or(text, |(at, _)| &text[..at])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(output: &str, session: Option<&str>) -> String {
        let entry = ReplEntry {
            input: "x".to_owned(),
            output: output.to_owned(),
            ..ReplEntry::default()
        };
        let paint = Paint {
            color: false,
            width: 80,
            now: 0,
        };
        self::output(paint, &entry, session)
    }

    #[test]
    fn a_long_output_is_cut_on_a_terminal_alone() {
        let long = "ä".repeat(MAX_CHARS + 3);
        assert_eq!(shown(&long, None), format!("{long}\n"));
        let cut = format!(
            "{}\n… 3 more characters: `backstitch repl show s`\n",
            "ä".repeat(MAX_CHARS)
        );
        assert_eq!(shown(&long, Some("s")), cut);
        let lines = "a\n".repeat(MAX_LINES + 1);
        assert_eq!(shown(&lines, Some("s")).lines().count(), MAX_LINES + 1);
        assert_eq!(shown("a\nb", Some("s")), "a\nb\n");
    }

    #[test]
    fn colours_of_a_program_are_not_text() {
        assert_eq!(shown("\u{1b}[31mred\u{1b}[0m", None), "red\n");
    }
}
