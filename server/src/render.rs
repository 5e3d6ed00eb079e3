//! Text elements that all answers share: colours, times, counts, paths, cut lines. Pure.

use anstyle::{AnsiColor, Style};
use backstitch_core::model::{Certainty, FileVersion, Image, Opaque, Placed, SessionId};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::terminal;

pub const PLAIN: Style = Style::new();
pub const BOLD: Style = Style::new().bold();
pub const DIM: Style = Style::new().dimmed();
pub const RED: Style = AnsiColor::Red.on_default();
pub const GREEN: Style = AnsiColor::Green.on_default();
pub const YELLOW: Style = AnsiColor::Yellow.on_default();
pub const BLUE: Style = AnsiColor::Blue.on_default();
pub const MAGENTA: Style = AnsiColor::Magenta.on_default();
pub const CYAN: Style = AnsiColor::Cyan.on_default();

/// Output options: colour, width, and the current time.
#[derive(Clone, Copy, Debug)]
pub struct Paint {
    pub color: bool,
    pub width: usize,
    /// Microseconds since 1970, UTC.
    pub now: i64,
}

impl Paint {
    pub fn on(&self, style: Style, text: &str) -> String {
        if self.color && !text.is_empty() && style != PLAIN {
            format!("{style}{text}{style:#}")
        } else {
            text.to_owned()
        }
    }

    /// Formats `+3 -1`, in colour; empty if both are zero.
    pub fn counts(&self, added: usize, removed: usize) -> String {
        let plus = (added > 0).then(|| self.on(GREEN, &format!("+{added}")));
        let minus = (removed > 0).then(|| self.on(RED, &format!("-{removed}")));
        [plus, minus]
            .into_iter()
            .flatten()
            .collect::<Vec<_>>()
            .join(" ")
    }

    /// Formats the age, or the date if it is long ago.
    pub fn ago(&self, time: i64) -> String {
        let seconds = self.now.saturating_sub(time) / 1_000_000;
        match seconds {
            ..5 => "just now".to_owned(),
            5..60 => format!("{seconds} s ago"),
            60..3_600 => format!("{} min ago", seconds / 60),
            3_600..86_400 => format!("{} h ago", seconds / 3_600),
            86_400..2_592_000 => format!("{} d ago", seconds / 86_400),
            _ => date(time),
        }
    }
}

fn date(time: i64) -> String {
    jiff::Timestamp::from_microsecond(time).map_or_else(
        |_| "unknown time".to_owned(),
        |time| {
            time.to_zoned(jiff::tz::TimeZone::system())
                .strftime("%Y-%m-%d")
                .to_string()
        },
    )
}

/// Returns the style of a line's first word on stderr.
pub fn word_style(word: &str) -> Style {
    match word {
        "error" => RED.bold(),
        "warning" => YELLOW.bold(),
        "hint" => CYAN.bold(),
        _ => BOLD,
    }
}

/// Returns the style of a session's letter. The palette is the same in all editors.
pub fn session_style(session: SessionId) -> Style {
    const PALETTE: [Style; 6] = [CYAN, MAGENTA, YELLOW, GREEN, BLUE, RED];
    let index = usize::try_from(session.0.max(1) - 1).unwrap_or(0);
    PALETTE[index % PALETTE.len()]
}

/// Returns the first line without characters that deceive: they could move the cursor, or change the terminal.
pub fn clean(text: &str) -> String {
    let line = text
        .trim()
        .lines()
        .map(str::trim)
        .find(|line| !line.is_empty())
        .unwrap_or_default();
    terminal::one_line(line, ' ')
}

/// Returns a text of several lines with `\u{fffd}` in place of characters that deceive. Foreign names and lines in it may have
/// them.
pub fn visible(text: &str) -> String {
    terminal::lines(text)
}

/// Returns a text as one line with `\u{fffd}` in place of characters that deceive, line ends among them.
pub fn one_line(text: &str) -> String {
    terminal::one_line(text, '\u{fffd}')
}

/// Formats a path for people, without characters that could change the terminal.
pub fn path(bytes: &[u8]) -> String {
    one_line(&String::from_utf8_lossy(bytes))
}

/// Returns a name as one argument of a command line.
pub fn argument(name: &str) -> String {
    backstitch_core::shell_word(&clean(name))
}

/// Returns the text, or its start and `…`, in at most `width` columns.
pub fn cut(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let mut used = 0;
    let limit = width.saturating_sub(1);
    let fits = |c: &char| {
        used += c.width().unwrap_or(0);
        used <= limit
    };
    let mut start: String = text.chars().take_while(fits).collect();
    start.truncate(start.trim_end().len());
    if width > 0 {
        start.push('…');
    }
    start
}

/// Returns the text, or its first characters and `…`, for a text of a program that has any length.
pub fn shortened(text: &str, longest: usize) -> String {
    match text.char_indices().nth(longest) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// Returns the columns of a text, without its colour codes.
pub fn columns(text: &str) -> usize {
    anstream::adapter::strip_str(text).to_string().width()
}

pub fn plural(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

pub fn bytes(count: u64) -> String {
    const UNITS: [&str; 4] = ["KiB", "MiB", "GiB", "TiB"];
    if count < 1024 {
        return format!("{count} B");
    }
    let mut tenths = u128::from(count) * 10 / 1024;
    let mut unit = 0;
    while tenths >= 10_240 && unit + 1 < UNITS.len() {
        tenths /= 1024;
        unit += 1;
    }
    format!("{}.{} {}", tenths / 10, tenths % 10, UNITS[unit])
}

/// Kind of a change to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathChange {
    Create,
    Modify,
    Delete,
    Rename,
    Mode,
}

impl PathChange {
    pub fn of(old: &FileVersion, new: &FileVersion) -> Self {
        let there = |state: &FileVersion| state.as_ref().is_some_and(|p| !p.image.is_absent());
        match (there(old), there(new)) {
            (false, _) => Self::Create,
            (_, false) => Self::Delete,
            _ => Self::between(old.as_ref(), new.as_ref()),
        }
    }

    fn between(old: Option<&Placed>, new: Option<&Placed>) -> Self {
        let (Some(old), Some(new)) = (old, new) else {
            return Self::Modify;
        };
        if old.path != new.path {
            return Self::Rename;
        }
        match (&old.image, &new.image) {
            (
                Image::File {
                    content: a,
                    mode: x,
                    ..
                },
                Image::File {
                    content: b,
                    mode: y,
                    ..
                },
            ) if a == b && x != y => Self::Mode,
            _ => Self::Modify,
        }
    }

    pub fn letter(self) -> char {
        match self {
            Self::Create => 'A',
            Self::Modify => 'M',
            Self::Delete => 'D',
            Self::Rename => 'R',
            Self::Mode => 'T',
        }
    }

    pub fn style(self) -> Style {
        match self {
            Self::Create => GREEN,
            Self::Modify => YELLOW,
            Self::Delete => RED,
            Self::Rename => CYAN,
            Self::Mode => MAGENTA,
        }
    }
}

/// Returns the path of a file, or its last one if it is deleted, and its previous path if it was moved.
pub fn place<'a>(old: &'a FileVersion, new: &'a FileVersion) -> (&'a [u8], Option<&'a [u8]>) {
    let at = |state: &'a FileVersion| {
        state
            .as_ref()
            .filter(|p| !p.image.is_absent())
            .map(|p| p.path.bytes())
    };
    match (at(old), at(new)) {
        (Some(old), Some(new)) if old != new => (new, Some(old)),
        (Some(path), _) | (None, Some(path)) => (path, None),
        (None, None) => (
            old.as_ref()
                .or(new.as_ref())
                .map_or(b"", |p| p.path.bytes()),
            None,
        ),
    }
}

pub fn certainty(certainty: Certainty) -> &'static str {
    match certainty {
        Certainty::Certain => "certain",
        Certainty::Group => "group",
        Certainty::Uncertain => "uncertain",
    }
}

pub fn opaque(image: &Image) -> Option<Opaque> {
    match image {
        Image::Opaque(why) => Some(*why),
        Image::Absent | Image::File { .. } | Image::InGit { .. } | Image::Symlink { .. } => None,
    }
}

pub fn not_kept(why: Opaque) -> &'static str {
    match why {
        Opaque::TooLarge => "too_large",
        Opaque::Unreadable => "unreadable",
        Opaque::Special => "special",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAINT: Paint = Paint {
        color: false,
        width: 80,
        now: 3_000_000_000_000,
    };

    #[test]
    fn times_are_relative_until_they_are_old() {
        let ago = |seconds: i64| PAINT.ago(PAINT.now - seconds * 1_000_000);
        assert_eq!(ago(-9), "just now");
        assert_eq!(ago(59), "59 s ago");
        assert_eq!(ago(120), "2 min ago");
        assert_eq!(ago(7_200), "2 h ago");
        assert_eq!(ago(200_000), "2 d ago");
        assert_eq!(ago(2_999_999).len(), "1970-01-01".len());
    }

    #[test]
    fn a_line_is_cut_by_columns() {
        assert_eq!(cut("refactor", 8), "refactor");
        assert_eq!(cut("refactor auth", 9), "refactor…");
        assert_eq!(cut("日本語です", 5), "日本…");
        assert_eq!(columns(&cut("日本語です", 5)), 5);
        assert_eq!(cut("a", 0), "");
    }

    #[test]
    fn a_prompt_cannot_move_the_cursor() {
        assert_eq!(clean("\n  fix \x1b[2Jit\tnow\nplease"), "fix  [2Jit now");
        assert_eq!(path(b"a\x1b\xff"), "a\u{fffd}\u{fffd}");
    }

    #[test]
    fn sizes() {
        assert_eq!(bytes(1023), "1023 B");
        assert_eq!(bytes(1536), "1.5 KiB");
        assert_eq!(bytes(10 << 20), "10.0 MiB");
        assert_eq!(bytes(u64::MAX), "16777215.9 TiB");
    }

    #[test]
    fn colours_only_where_wanted() {
        assert_eq!(PAINT.on(RED, "x"), "x");
        let colour = Paint {
            color: true,
            ..PAINT
        };
        assert_eq!(colour.on(RED, "x"), "\u{1b}[31mx\u{1b}[0m");
        assert_eq!(PAINT.counts(3, 1), "+3 -1");
        assert_eq!(PAINT.counts(0, 0), "");
    }
}
