//! Styled text: colours, times, names without characters that deceive, and cut texts. Pure.

use anstyle::{AnsiColor, Style};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::safe_text;

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
    local(time, "%Y-%m-%d")
}

/// Formats the time of day, as `14:03:07`, in the user's zone. `time`: microseconds since 1970, UTC.
pub fn clock(time: i64) -> String {
    local(time, "%H:%M:%S")
}

fn local(time: i64, format: &str) -> String {
    jiff::Timestamp::from_microsecond(time).map_or_else(
        |_| "unknown time".to_owned(),
        |time| {
            let time = time.to_zoned(jiff::tz::TimeZone::system());
            time.strftime(format).to_string()
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

/// Returns the first line without characters that deceive: they could move the cursor, or change the terminal.
pub fn clean(text: &str) -> String {
    let line = text
        .trim()
        .lines()
        .map(str::trim)
        .find(|line| !line.is_empty())
        .unwrap_or_default();
    safe_text::one_line(line, ' ')
}

/// Returns a text of several lines with `\u{fffd}` in place of characters that deceive. Foreign names and lines in it may have
/// them.
pub fn visible(text: &str) -> String {
    safe_text::lines(text)
}

/// Returns a text as one line with `\u{fffd}` in place of characters that deceive, line ends among them.
pub fn one_line(text: &str) -> String {
    safe_text::one_line(text, '\u{fffd}')
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

/// Returns the columns of a text, without its colour codes.
pub fn columns(text: &str) -> usize {
    anstream::adapter::strip_str(text).to_string().width()
}
