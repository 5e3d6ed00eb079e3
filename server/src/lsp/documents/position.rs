//! Positions in a text: LSP's lines and code units, and their places in a rope. Pure. As the protocol says, a
//! position beyond its line is the line's end. One beyond the text, or inside a character, moves to the nearest place
//! before it.

use ropey::Rope;
use tower_lsp::gen_lsp_types::{GeneralClientCapabilities, Position, PositionEncodingKind, Range};

/// Unit of a position's `character`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Encoding {
    Utf8,
    /// Supported by every client.
    #[default]
    Utf16,
    Utf32,
}

impl Encoding {
    /// Returns the cheapest encoding that the client offers.
    pub fn agreed(general: Option<&GeneralClientCapabilities>) -> Self {
        let offered = general.and_then(|general| general.position_encodings.as_ref());
        let offers = |kind: &PositionEncodingKind| offered.is_some_and(|all| all.contains(kind));
        if offers(&PositionEncodingKind::UTF8) {
            Self::Utf8
        } else if offers(&PositionEncodingKind::UTF32) {
            Self::Utf32
        } else {
            Self::Utf16
        }
    }

    pub fn kind(self) -> PositionEncodingKind {
        match self {
            Self::Utf8 => PositionEncodingKind::UTF8,
            Self::Utf16 => PositionEncodingKind::UTF16,
            Self::Utf32 => PositionEncodingKind::UTF32,
        }
    }

    /// Returns the length of a text in units.
    pub fn units(self, text: &str) -> usize {
        match self {
            Self::Utf8 => text.len(),
            Self::Utf16 => text.chars().map(char::len_utf16).sum(),
            Self::Utf32 => text.chars().count(),
        }
    }

    /// Returns the char index of a position.
    pub fn char_at(self, rope: &Rope, position: Position) -> usize {
        let line = usize::try_from(position.line).unwrap_or(usize::MAX);
        if line >= rope.len_lines() {
            return rope.len_chars();
        }
        let start = rope.line_to_char(line);
        let text = rope.line(line);
        let length = text.len_chars() - ending(text);
        let units = usize::try_from(position.character).unwrap_or(usize::MAX);
        let within = match self {
            Self::Utf8 => text.try_byte_to_char(units),
            Self::Utf16 => text.try_utf16_cu_to_char(units),
            Self::Utf32 => Ok(units),
        };
        start + within.map_or(length, |within| within.min(length))
    }

    pub fn position(self, rope: &Rope, at: usize) -> Position {
        let at = at.min(rope.len_chars());
        let line = rope.char_to_line(at);
        let before = at - rope.line_to_char(line);
        let text = rope.line(line);
        let units = match self {
            Self::Utf8 => text.char_to_byte(before),
            Self::Utf16 => text.char_to_utf16_cu(before),
            Self::Utf32 => before,
        };
        Position::new(number(line), number(units))
    }

    /// Returns the char indices of a range; swapped if its end is before its start.
    pub fn chars(self, rope: &Rope, range: Range) -> std::ops::Range<usize> {
        let (a, b) = (
            self.char_at(rope, range.start),
            self.char_at(rope, range.end),
        );
        a.min(b)..a.max(b)
    }
}

/// Returns the number of chars of the line end.
fn ending(line: ropey::RopeSlice<'_>) -> usize {
    let count = line.len_chars();
    let last = |back: usize| count.checked_sub(back).map(|at| line.char(at));
    match (last(2), last(1)) {
        (Some('\r'), Some('\n')) => 2,
        (_, Some('\n' | '\r')) => 1,
        _ => 0,
    }
}

/// Returns the char index at which the text of a line ends. `at` is in the line.
pub fn line_text_end(rope: &Rope, at: usize) -> usize {
    let line = rope.char_to_line(at.min(rope.len_chars()));
    let text = rope.line(line);
    rope.line_to_char(line) + text.len_chars() - ending(text)
}

/// Converts a line or column to the protocol's type.
pub fn number(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

/// Returns the start of a line.
pub fn line_start(line: usize) -> Position {
    Position::new(number(line), 0)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const ALL: [Encoding; 3] = [Encoding::Utf8, Encoding::Utf16, Encoding::Utf32];

    #[test]
    fn a_character_counts_its_units() {
        let rope = Rope::from_str("a𝄞é\r\nb");
        let at = |encoding: Encoding, units| encoding.char_at(&rope, Position::new(0, units));
        assert_eq!(at(Encoding::Utf8, 5), 2);
        assert_eq!(at(Encoding::Utf16, 3), 2);
        assert_eq!(at(Encoding::Utf32, 2), 2);
        // inside the clef
        assert_eq!(at(Encoding::Utf8, 3), 1);
        assert_eq!(at(Encoding::Utf16, 2), 1);
    }

    #[test]
    fn what_lies_beyond_is_the_end() {
        let rope = Rope::from_str("ab\r\ncd\r\n");
        for encoding in ALL {
            assert_eq!(encoding.char_at(&rope, Position::new(0, 99)), 2);
            assert_eq!(encoding.char_at(&rope, Position::new(2, 0)), 8);
            assert_eq!(encoding.char_at(&rope, Position::new(99, 7)), 8);
            let most = Position::new(u32::MAX, u32::MAX);
            assert_eq!(encoding.char_at(&rope, most), 8);
        }
    }

    #[test]
    fn a_lone_carriage_return_ends_a_line() {
        let rope = Rope::from_str("a\rb\nc");
        assert_eq!(Encoding::Utf16.char_at(&rope, Position::new(1, 0)), 2);
        assert_eq!(Encoding::Utf16.char_at(&rope, Position::new(2, 0)), 4);
    }

    proptest! {
        #[test]
        fn a_position_leads_back(text in "[a-cé𝄞\r\n]{0,40}", at in 0_usize..50) {
            let rope = Rope::from_str(&text);
            let at = at.min(rope.len_chars());
            // between the two halves of a line end there is no position
            prop_assume!(at == 0 || at >= rope.len_chars() || (rope.char(at - 1), rope.char(at)) != ('\r', '\n'));
            for encoding in ALL {
                let position = encoding.position(&rope, at);
                prop_assert_eq!(encoding.char_at(&rope, position), at);
            }
        }
    }
}
