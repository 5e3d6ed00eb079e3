//! One segment of a pattern, as minimatch reads it with the options of `@actions/glob`.

/// A segment of a pattern.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Segment {
    /// `**`.
    Globstar,
    Literal(String),
    /// `*` and an ending.
    Ending(String),
    /// `?` once or more, then an ending; with the length of the name in UTF-16 code units.
    Marks(usize, String),
    /// `*.*`.
    WithDot,
    /// `.*`.
    LeadingDot,
    Pieces(Vec<GlobPiece>),
    /// A set without members.
    Never,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum GlobPiece {
    Star,
    Any,
    Unit(u16),
    Set(Set),
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Set {
    is_negated: bool,
    ranges: Vec<(char, char)>,
    classes: Vec<CharClass>,
}

type Test = fn(char) -> bool;

/// A class such as `[:alpha:]`.
#[derive(Clone, Debug)]
struct CharClass(Test);

impl PartialEq for CharClass {
    fn eq(&self, other: &CharClass) -> bool {
        std::ptr::fn_addr_eq(self.0, other.0)
    }
}

const CLASSES: [(&str, Test); 14] = [
    ("[:alnum:]", char::is_alphanumeric),
    ("[:alpha:]", char::is_alphabetic),
    ("[:ascii:]", |unit| unit.is_ascii()),
    ("[:blank:]", |unit| {
        unit == '\t' || (unit.is_whitespace() && !unit.is_control())
    }),
    ("[:cntrl:]", char::is_control),
    ("[:digit:]", |unit| unit.is_ascii_digit()),
    ("[:graph:]", |unit| {
        !unit.is_whitespace() && !unit.is_control()
    }),
    ("[:lower:]", char::is_lowercase),
    ("[:print:]", |unit| !unit.is_control()),
    ("[:punct:]", |unit| {
        unit.is_ascii_punctuation() && !"$+<=>^`|~".contains(unit)
    }),
    ("[:space:]", char::is_whitespace),
    ("[:upper:]", char::is_uppercase),
    ("[:word:]", |unit| unit.is_alphanumeric() || unit == '_'),
    ("[:xdigit:]", |unit| unit.is_ascii_hexdigit()),
];

/// Characters that keep an ending from being compared as it stands.
const SPECIAL: [char; 7] = ['+', '@', '!', '?', '*', '[', '('];

impl Segment {
    pub fn parse(text: &str) -> Segment {
        if text == "**" {
            return Segment::Globstar;
        }
        let ending = text.trim_start_matches('*');
        if ending.len() < text.len() && !ending.contains(SPECIAL) {
            return Segment::Ending(ending.into());
        }
        let ending = text.trim_start_matches('?');
        if ending.len() < text.len() && !ending.contains(SPECIAL) {
            return Segment::Marks(text.encode_utf16().count(), ending.into());
        }
        let only_stars = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte == b'*');
        if let Some((before, after)) = text.split_once('.')
            && only_stars(after)
        {
            if before.is_empty() {
                return Segment::LeadingDot;
            }
            if only_stars(before) {
                return Segment::WithDot;
            }
        }
        parse_pieces(text)
    }

    /// True if the segment matches a name.
    pub fn matches(&self, name: &str) -> bool {
        match self {
            Segment::Globstar => true,
            Segment::Never => false,
            Segment::Literal(literal) => literal == name,
            Segment::Ending(ending) => !name.is_empty() && name.ends_with(ending),
            Segment::Marks(length, ending) => {
                name.encode_utf16().count() == *length && name.ends_with(ending)
            }
            Segment::WithDot => name.contains('.'),
            Segment::LeadingDot => name.starts_with('.'),
            Segment::Pieces(pieces) => {
                let units: Vec<u16> = name.encode_utf16().collect();
                matches_pieces(pieces, &units)
            }
        }
    }
}

fn parse_pieces(text: &str) -> Segment {
    let characters: Vec<char> = text.chars().collect();
    let mut pieces = Vec::new();
    let mut literal = String::new();
    let mut has_magic = false;
    let mut place = 0;
    while let Some(&next) = characters.get(place) {
        place += 1;
        let character = match next {
            '*' => {
                if pieces.last() != Some(&GlobPiece::Star) {
                    pieces.push(GlobPiece::Star);
                }
                has_magic = true;
                continue;
            }
            '?' => {
                pieces.push(GlobPiece::Any);
                has_magic = true;
                continue;
            }
            '\\' if place < characters.len() => {
                place += 1;
                characters[place - 1]
            }
            '[' => match parse_set(&characters[place..]) {
                SetParse::NoSet => next,
                SetParse::Never => return Segment::Never,
                SetParse::Character(character, length) => {
                    place += length;
                    character
                }
                SetParse::Set(set, length) => {
                    place += length;
                    pieces.push(GlobPiece::Set(set));
                    has_magic = true;
                    continue;
                }
            },
            _ => next,
        };
        literal.push(character);
        pieces.extend(
            character
                .encode_utf16(&mut [0; 2])
                .iter()
                .copied()
                .map(GlobPiece::Unit),
        );
    }
    if has_magic {
        Segment::Pieces(pieces)
    } else {
        Segment::Literal(literal)
    }
}

/// A set after its `[`, with its length in characters.
enum SetParse {
    NoSet,
    Never,
    Character(char, usize),
    Set(Set, usize),
}

fn parse_set(text: &[char]) -> SetParse {
    let mut set = Set::default();
    let mut place = 0;
    if matches!(text.first(), Some('!' | '^')) {
        set.is_negated = true;
        place = 1;
    }
    let first = place;
    let mut range_start = None;
    let mut is_escaped = false;
    loop {
        let Some(&next) = text.get(place) else {
            return SetParse::NoSet;
        };
        if next == ']' && place > first && !is_escaped {
            break;
        }
        if next == '\\' && !is_escaped {
            is_escaped = true;
            place += 1;
            continue;
        }
        if next == '['
            && !is_escaped
            && let Some((name, class)) = class_at(&text[place..])
        {
            if range_start.is_some() {
                return SetParse::Never;
            }
            place += name.len();
            set.classes.push(CharClass(class));
            continue;
        }
        is_escaped = false;
        place += 1;
        if let Some(start) = range_start.take() {
            if next >= start {
                set.ranges.push((start, next));
            }
        } else if text[place..].starts_with(&['-', ']']) {
            set.ranges.extend([(next, next), ('-', '-')]);
            place += 1;
        } else if text.get(place) == Some(&'-') {
            range_start = Some(next);
            place += 1;
        } else {
            set.ranges.push((next, next));
        }
    }
    let length = place + 1;
    match set.ranges[..] {
        [] if set.classes.is_empty() => SetParse::Never,
        [(start, end)] if start == end && set.classes.is_empty() && !set.is_negated => {
            SetParse::Character(start, length)
        }
        _ => SetParse::Set(set, length),
    }
}

fn class_at(text: &[char]) -> Option<(&'static str, Test)> {
    CLASSES
        .into_iter()
        .find(|(name, _)| name.chars().eq(text.iter().take(name.len()).copied()))
}

impl Set {
    fn contains(&self, unit: u16) -> bool {
        let Some(character) = char::from_u32(unit.into()) else {
            return self.is_negated;
        };
        let mut ranges = self.ranges.iter();
        let is_member = ranges.any(|(start, end)| (start..=end).contains(&&character))
            || self.classes.iter().any(|CharClass(test)| test(character));
        is_member != self.is_negated
    }
}

/// Matches as a text with wildcards: after a mismatch, the last star takes one more unit.
fn matches_pieces(pieces: &[GlobPiece], units: &[u16]) -> bool {
    let (mut piece, mut unit) = (0, 0);
    let mut last_star = None;
    loop {
        let is_match = match (pieces.get(piece), units.get(unit)) {
            (None, None) => return true,
            (Some(GlobPiece::Star), _) => {
                last_star = Some((piece, unit));
                piece += 1;
                continue;
            }
            (Some(GlobPiece::Any), Some(_)) => true,
            (Some(GlobPiece::Unit(wanted)), Some(found)) => wanted == found,
            (Some(GlobPiece::Set(set)), Some(found)) => set.contains(*found),
            (None, Some(_)) | (Some(_), None) => false,
        };
        if is_match {
            (piece, unit) = (piece + 1, unit + 1);
            continue;
        }
        match last_star {
            Some((star, taken)) if taken < units.len() => {
                last_star = Some((star, taken + 1));
                (piece, unit) = (star + 1, taken + 1);
            }
            _ => return false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Segment;

    #[test]
    fn segments_match_names_as_minimatch_does() {
        for (pattern, name, expected) in [
            ("*", "a", true),
            ("*.lock", "Cargo.lock", true),
            ("*.lock", ".lock", true),
            ("a*c*e", "abcde", true),
            ("a*c*e", "abcd", false),
            ("?.t?", "a.ts", true),
            ("???", "ab", false),
            ("[ab-d]x", "cx", true),
            ("[!ab-d]x", "cx", false),
            ("[]a]x", "]x", true),
            ("[a-]x", "-x", true),
            ("[z-a]x", "mx", false),
            ("[[:digit:]_]*", "7up", true),
            ("[a", "[a", true),
            ("\\*", "*", true),
            ("[*]", "*", true),
            (".*", ".git", true),
            ("*.*", "ab", false),
        ] {
            assert_eq!(
                Segment::parse(pattern).matches(name),
                expected,
                "{pattern} {name}"
            );
        }
    }
}
