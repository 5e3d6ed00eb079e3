//! Text elements that all answers share: counts, paths, changes, and those of the terminal. Pure.

use anstyle::Style;
use backstitch_core::model::{Certainty, FileVersion, Image, Opaque, Placed, SessionId};

pub use crate::terminal::paint::{
    BLUE, BOLD, CYAN, DIM, GREEN, MAGENTA, PLAIN, Paint, RED, YELLOW, argument, clean, columns,
    cut, one_line, visible,
};

/// Returns the style of a session's letter. The palette is the same in all editors.
pub fn session_style(session: SessionId) -> Style {
    const PALETTE: [Style; 6] = [CYAN, MAGENTA, YELLOW, GREEN, BLUE, RED];
    let index = usize::try_from(session.0.max(1) - 1).unwrap_or(0);
    PALETTE[index % PALETTE.len()]
}

/// Formats a path for people, without characters that could change the terminal.
pub fn path(bytes: &[u8]) -> String {
    one_line(&String::from_utf8_lossy(bytes))
}

/// Returns the text, or its first characters and `…`, for a text of a program that has any length.
pub fn shortened(text: &str, longest: usize) -> String {
    match text.char_indices().nth(longest) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

pub fn plural(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

/// `1 step`, `2 steps`.
pub fn counted(count: usize, thing: &str) -> String {
    plural(count, thing, &format!("{thing}s"))
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
