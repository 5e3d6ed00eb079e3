//! Line ending and final newline of a text, and how they merge.

use crate::diff::lines;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    Lf,
    CrLf,
}

impl Ending {
    pub fn bytes(self) -> &'static [u8] {
        match self {
            Self::Lf => b"\n",
            Self::CrLf => b"\r\n",
        }
    }
}

/// A text with uniform terminators. `None` is "has no opinion": an empty text has none at all, and
/// one line without a terminator has none on line endings.
#[derive(Debug)]
pub(super) struct UniformText<'t> {
    pub lines: Vec<&'t [u8]>,
    pub ending: Option<Ending>,
    pub final_newline: Option<bool>,
}

impl<'t> UniformText<'t> {
    /// Splits a text. Returns `None` if the terminators are mixed, or a `\r` next to one makes them
    /// ambiguous.
    pub fn unmixed(bytes: &'t [u8]) -> Option<Self> {
        let mut text = Self {
            lines: Vec::new(),
            ending: None,
            final_newline: None,
        };
        for line in lines(bytes) {
            let (content, ending) = if let Some(content) = line.strip_suffix(b"\r\n") {
                (content, Some(Ending::CrLf))
            } else if let Some(content) = line.strip_suffix(b"\n") {
                (content, Some(Ending::Lf))
            } else {
                (line, None)
            };
            let disagrees = ending.is_some() && text.ending.is_some() && ending != text.ending;
            if disagrees || content.ends_with(b"\r") {
                return None;
            }
            text.ending = text.ending.or(ending);
            text.final_newline = Some(ending.is_some());
            text.lines.push(content);
        }
        Some(text)
    }
}

/// A property that each text may have an opinion on.
pub(super) enum Property<T> {
    Agreed(Option<T>),
    /// Both sides have an opinion, neither is the base's.
    Differing {
        ours: T,
        theirs: T,
    },
}

pub(super) fn three_way<T: Copy + PartialEq>(
    base: Option<T>,
    ours: Option<T>,
    theirs: Option<T>,
) -> Property<T> {
    match (ours, theirs) {
        (None, one) | (one, None) => Property::Agreed(one.or(base)),
        (Some(o), Some(t)) if o == t || base == Some(t) => Property::Agreed(Some(o)),
        (Some(_), Some(t)) if base == ours => Property::Agreed(Some(t)),
        (Some(ours), Some(theirs)) => Property::Differing { ours, theirs },
    }
}
