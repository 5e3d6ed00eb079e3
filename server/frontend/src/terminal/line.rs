//! A line of styled pieces, cut to the width of the terminal. Pure.

use anstyle::Style;
use unicode_width::UnicodeWidthStr;

use super::paint::{self, DIM, PLAIN, Paint};

/// Columns between the text and the right-aligned part.
const GAP: usize = 2;

#[derive(Clone, Debug, Default)]
#[must_use]
pub struct TextLine {
    pieces: Vec<(Style, String)>,
    /// Right-aligned text that is never cut.
    right: String,
    /// Marks the line as undone: dimmed, or in words without color.
    faded: bool,
}

impl TextLine {
    pub fn new() -> Self {
        Self::default()
    }

    pub fn add(mut self, style: Style, text: impl Into<String>) -> Self {
        self.pieces.push((style, text.into()));
        self
    }

    pub fn plain(self, text: impl Into<String>) -> Self {
        self.add(PLAIN, text)
    }

    /// Adds the text, padded with spaces to `width` columns.
    pub fn column(self, style: Style, text: &str, width: usize) -> Self {
        // a text that is too wide still ends with a blank
        let fill = " ".repeat(width.saturating_sub(text.width()).max(1));
        self.add(style, text).plain(fill)
    }

    pub fn right(mut self, text: impl Into<String>) -> Self {
        self.right = text.into();
        self
    }

    pub fn faded(mut self, faded: bool) -> Self {
        self.faded = faded;
        self
    }

    /// Returns the line with its line end.
    pub fn draw(mut self, paint: Paint) -> String {
        if self.faded && !paint.color {
            self.pieces.push((PLAIN, "  (undone)".to_owned()));
        }
        let right = self.right.width();
        let available = paint
            .width
            .saturating_sub(if right > 0 { right + GAP } else { 0 });
        let mut drawn = String::new();
        let mut used = 0;
        for (style, text) in &self.pieces {
            let shown = paint::cut(text, available - used);
            used += shown.width();
            let style = if self.faded { DIM } else { *style };
            drawn.push_str(&paint.on(style, &shown));
            if shown.width() < text.width() {
                break;
            }
        }
        if right > 0 {
            let space = match paint.width {
                // nothing is aligned where the width has no limit
                usize::MAX => GAP,
                width => width.saturating_sub(used + right),
            };
            drawn.push_str(&" ".repeat(space));
            drawn.push_str(&paint.on(DIM, &self.right));
        }
        format!("{}\n", drawn.trim_end())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terminal::paint::RED;

    fn paint(color: bool) -> Paint {
        Paint {
            color,
            width: 20,
            now: 0,
        }
    }

    #[test]
    fn right_part_is_never_cut() {
        let line = TextLine::new()
            .plain("a long prompt indeed")
            .right("2 d ago");
        assert_eq!(line.draw(paint(false)), "a long pro…  2 d ago\n");
        assert_eq!(
            TextLine::new().plain("a").right("now").draw(paint(false)),
            "a                now\n"
        );
    }

    #[test]
    fn a_line_without_a_width_is_whole() {
        let prompt = "word ".repeat(99);
        let line = TextLine::new().plain(&prompt).right("now");
        let whole = Paint {
            width: usize::MAX,
            ..paint(false)
        };
        assert_eq!(line.draw(whole), format!("{prompt}  now\n"));
    }

    #[test]
    fn undone_is_in_words_without_color_and_dimmed_with_it() {
        let line = TextLine::new().add(RED, "x").faded(true);
        assert_eq!(line.clone().draw(paint(false)), "x  (undone)\n");
        assert_eq!(line.draw(paint(true)), "\u{1b}[2mx\u{1b}[0m\n");
    }
}
