//! Format of a document's text in its file: the encoding, byte order mark, line ends and final newline that an editor
//! hides. Pure. Emacs shows a file of CRLF lines with plain newlines, Neovim one without a final newline as if it had
//! one; both restore the hidden parts in a save.

use std::borrow::Cow;

use ropey::Rope;

const BOM: &[u8] = b"\xef\xbb\xbf";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextFormat {
    /// Text whose hidden parts are known.
    Text(FileFormat),
    /// An unknown encoding, or not text: the result of a save cannot be predicted.
    Foreign,
}

/// Parts of the file that the text does not show.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct FileFormat {
    charset: Charset,
    /// True if it begins with a byte order mark.
    bom: bool,
    /// The file's line end for each `\n` of the text.
    line_end: LineEnd,
    /// True if its last line has no newline, unlike the text's.
    no_final_newline: bool,
    /// True if the text of an empty file is one newline: Neovim has a line in every buffer.
    newline_if_empty: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
enum Charset {
    #[default]
    Utf8,
    /// The UTF-16 variants have a byte order mark.
    Utf16Le,
    Utf16Be,
    Latin1,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
enum LineEnd {
    #[default]
    AsIs,
    Crlf,
    Cr,
}

impl Default for TextFormat {
    fn default() -> Self {
        Self::Text(FileFormat::default())
    }
}

impl TextFormat {
    /// Returns the format of a file with this text, which was loaded from it or saved to it.
    pub fn between(file: &[u8], text: &Rope) -> Self {
        let charset = Charset::of(file);
        let shown = text.get_char(0) == Some('\u{feff}');
        let bom = charset == Charset::Utf8 && file.starts_with(BOM) && !shown;
        let mut format = FileFormat {
            charset,
            bom,
            ..FileFormat::default()
        };
        let Some(content) = format.decoded(file) else {
            return Self::Foreign;
        };
        let content = content.as_ref();
        if *text == content {
            return Self::Text(format);
        }
        if is_empty_line(text) && content.is_empty() {
            format.newline_if_empty = true;
            return Self::Text(format);
        }
        if !text.chars().any(|c| c == '\r') {
            format.line_end = LineEnd::of(content);
        }
        let open = FileFormat {
            no_final_newline: true,
            ..format
        };
        let is_open = !content.is_empty() && !content.ends_with(['\r', '\n']);
        if is_open && *text == open.text_of(content).as_str() {
            format = open;
        }
        // these bytes are valid in many encodings: only an exact round trip counts
        let is_guess = charset == Charset::Latin1;
        if is_guess && format.in_file(text).is_none_or(|bytes| bytes != file) {
            return Self::Foreign;
        }
        Self::Text(format)
    }

    /// Returns the format with the plainest text, and that text; None if it is not text.
    pub fn of_file(file: &[u8]) -> Option<(Self, String)> {
        if file.contains(&0) && Charset::of(file) == Charset::Utf8 {
            return None;
        }
        let charset = Charset::of(file);
        let bare = FileFormat {
            charset,
            bom: charset == Charset::Utf8 && file.starts_with(BOM),
            ..FileFormat::default()
        };
        let content = bare.decoded(file)?;
        let format = FileFormat {
            line_end: LineEnd::of(&content),
            ..bare
        };
        let text = format.text_of(&content);
        Some((Self::Text(format), text))
    }

    /// True if its texts can be merged with contents of the history, which are UTF-8.
    pub fn is_utf8(self) -> bool {
        matches!(self, Self::Text(format) if format.charset == Charset::Utf8)
    }

    /// Returns a text as a save would write it; None if that is not known.
    pub fn in_file(self, text: &Rope) -> Option<Vec<u8>> {
        match self {
            Self::Text(format) => format.in_file(text),
            Self::Foreign => None,
        }
    }

    /// Returns the size of a save in bytes, if it is known without encoding the text.
    pub fn size_of(self, text: &Rope) -> Option<usize> {
        let Self::Text(format) = self else {
            return None;
        };
        let as_is = format.charset == Charset::Utf8 && format.line_end == LineEnd::AsIs;
        let bom = if format.bom { BOM.len() } else { 0 };
        let shown = if format.newline_if_empty && is_empty_line(text) {
            0
        } else {
            text.len_bytes()
        };
        let size = shown + bom;
        as_is.then(|| size.saturating_sub(usize::from(format.no_final_newline)))
    }

    /// Converts a file's content to the client's text; None if the format is not known.
    pub fn text_of(self, content: &[u8]) -> Option<String> {
        let Self::Text(format) = self else {
            return None;
        };
        Some(format.text_of(&format.decoded(content)?))
    }
}

impl FileFormat {
    /// Decodes a content without its byte order mark.
    fn decoded(self, content: &[u8]) -> Option<Cow<'_, str>> {
        let plain = content.strip_prefix(BOM).filter(|_| self.bom);
        self.charset.decode(plain.unwrap_or(content))
    }

    fn in_file(self, text: &Rope) -> Option<Vec<u8>> {
        let mut bytes = Vec::with_capacity(text.len_bytes() + BOM.len());
        if self.bom {
            bytes.extend_from_slice(BOM);
        }
        if self.newline_if_empty && is_empty_line(text) {
            return self.charset.encode(bytes);
        }
        let length = text.len_chars();
        let ends = length.checked_sub(1).map(|last| text.char(last)) == Some('\n');
        let shown = length - usize::from(self.no_final_newline && ends);
        for chunk in text.slice(..shown).chunks() {
            match self.line_end.bytes() {
                None => bytes.extend_from_slice(chunk.as_bytes()),
                Some(line_end) => {
                    for (count, line) in chunk.split('\n').enumerate() {
                        if count > 0 {
                            bytes.extend_from_slice(line_end);
                        }
                        bytes.extend_from_slice(line.as_bytes());
                    }
                }
            }
        }
        self.charset.encode(bytes)
    }

    fn text_of(self, content: &str) -> String {
        let mut text = match self.line_end {
            LineEnd::AsIs => content.to_owned(),
            LineEnd::Crlf => content.replace("\r\n", "\n"),
            LineEnd::Cr => content.replace('\r', "\n"),
        };
        let is_open = !text.is_empty() && !text.ends_with('\n');
        if (self.no_final_newline && is_open) || (self.newline_if_empty && text.is_empty()) {
            text.push('\n');
        }
        text
    }
}

/// True for the text that some editors have of an empty file.
pub fn is_empty_line(text: &Rope) -> bool {
    text.len_bytes() == 1 && text.get_byte(0) == Some(b'\n')
}

impl Charset {
    fn of(file: &[u8]) -> Self {
        match file {
            [0xff, 0xfe, ..] => Self::Utf16Le,
            [0xfe, 0xff, ..] => Self::Utf16Be,
            _ if std::str::from_utf8(file).is_ok() => Self::Utf8,
            _ => Self::Latin1,
        }
    }

    fn decode(self, content: &[u8]) -> Option<Cow<'_, str>> {
        match self {
            Self::Utf8 => std::str::from_utf8(content).ok().map(Cow::Borrowed),
            Self::Latin1 => Some(content.iter().copied().map(char::from).collect()),
            Self::Utf16Le | Self::Utf16Be => {
                let (pairs, rest) = content.as_chunks::<2>();
                let unit = |pair: &[u8; 2]| match self {
                    Self::Utf16Le => u16::from_le_bytes(*pair),
                    _ => u16::from_be_bytes(*pair),
                };
                let units = pairs.iter().map(unit);
                let units: Vec<u16> = units.collect();
                let text = units.strip_prefix(&[0xfeff])?;
                let text = String::from_utf16(text).ok()?;
                rest.is_empty().then_some(Cow::Owned(text))
            }
        }
    }

    /// Encodes a text; None if it has characters that the charset lacks.
    fn encode(self, text: Vec<u8>) -> Option<Vec<u8>> {
        if self == Self::Utf8 {
            return Some(text);
        }
        let text = String::from_utf8(text).ok()?;
        match self {
            Self::Utf8 => None,
            Self::Latin1 => text.chars().map(|c| u8::try_from(c).ok()).collect(),
            Self::Utf16Le | Self::Utf16Be => {
                let units = std::iter::once(0xfeff).chain(text.encode_utf16());
                let pair = |unit: u16| match self {
                    Self::Utf16Le => unit.to_le_bytes(),
                    _ => unit.to_be_bytes(),
                };
                Some(units.flat_map(pair).collect())
            }
        }
    }
}

impl LineEnd {
    /// Returns the line end that an editor may show as `\n`: one that ends all lines of the file.
    fn of(content: &str) -> Self {
        let count = |what: &str| content.matches(what).count();
        match (count("\n"), count("\r"), count("\r\n")) {
            (0, 1.., _) => Self::Cr,
            (lines @ 1.., returns, both) if lines == returns && returns == both => Self::Crlf,
            _ => Self::AsIs,
        }
    }

    fn bytes(self) -> Option<&'static [u8]> {
        match self {
            Self::AsIs => None,
            Self::Crlf => Some(b"\r\n"),
            Self::Cr => Some(b"\r"),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn in_file(file: &str, text: &str, new: &str) -> String {
        let format = TextFormat::between(file.as_bytes(), &Rope::from_str(text));
        let bytes = format.in_file(&Rope::from_str(new)).expect("text");
        String::from_utf8(bytes).expect("text")
    }

    /// Text is encoded as the editor would save it, including the parts that the editor hides.
    #[test]
    fn hidden_parts_are_kept() {
        assert_eq!(in_file("a\r\nb\r\n", "a\nb\n", "a\nc\n"), "a\r\nc\r\n");
        assert_eq!(in_file("a\rb\r", "a\nb\n", "a\nc\n"), "a\rc\r");
        assert_eq!(in_file("a\nb", "a\nb\n", "a\nc\n"), "a\nc");
        assert_eq!(in_file("a\r\nb", "a\nb\n", "a\nc\n"), "a\r\nc");
        assert_eq!(in_file("\u{feff}a\r\n", "a\n", "b\n"), "\u{feff}b\r\n");
        assert_eq!(in_file("\u{feff}a\n", "\u{feff}a\n", "b\n"), "b\n");
    }

    /// Nothing is assumed about text that is shown as it is in the file.
    #[test]
    fn shown_parts_are_unchanged() {
        assert_eq!(in_file("a\r\nb\r\n", "a\r\nb\r\n", "a\n"), "a\n");
        assert_eq!(in_file("a\r\nb\n", "a\nb\n", "a\nc\n"), "a\nc\n");
        // typed, and not hidden by the editor: the text differs from the file in more than its end
        assert_eq!(in_file("a", "a\nb\n", "a\nb\n"), "a\nb\n");
        let format = TextFormat::between(b"\x83\x41", &Rope::from_str("ア"));
        assert_eq!(format, TextFormat::Foreign);
        assert_eq!(format.text_of(b"a"), None);
    }

    #[test]
    fn other_encodings() {
        let format = TextFormat::between(b"\xe9\r\n", &Rope::from_str("é\n"));
        let typed = format.in_file(&Rope::from_str("éa\n"));
        assert_eq!(typed.as_deref(), Some(&b"\xe9a\r\n"[..]));
        assert_eq!(format.in_file(&Rope::from_str("€\n")), None);
        assert_eq!(format.text_of(b"\xe8").as_deref(), Some("è"));
        assert!(!format.is_utf8());
        for (file, new) in [
            (&b"\xff\xfea\0"[..], &b"\xff\xfeb\0"[..]),
            (b"\xfe\xff\0a", b"\xfe\xff\0b"),
        ] {
            let format = TextFormat::between(file, &Rope::from_str("a"));
            assert_eq!(format.in_file(&Rope::from_str("b")).as_deref(), Some(new));
            assert_eq!(format.text_of(new).as_deref(), Some("b"));
        }
        // half a character
        assert_eq!(
            TextFormat::between(b"\xff\xfea", &Rope::from_str("a")),
            TextFormat::Foreign
        );
    }

    proptest! {
        /// A loaded text leads back to its file, whatever the editor hides.
        #[test]
        fn a_loaded_text_leads_back(
            lines in proptest::collection::vec("[aé𝄞]{0,3}", 1..6),
            line_end in prop_oneof![Just("\n"), Just("\r\n"), Just("\r")],
            marked in any::<bool>(),
            closed in any::<bool>(),
        ) {
            let mut file = lines.join(line_end);
            if closed {
                file.push_str(line_end);
            }
            let mut text = file.replace("\r\n", "\n").replace('\r', "\n");
            if !text.is_empty() && !text.ends_with('\n') {
                text.push('\n');
            }
            if marked {
                file.insert(0, '\u{feff}');
            }
            let format = TextFormat::between(file.as_bytes(), &Rope::from_str(&text));
            prop_assert_eq!(format.in_file(&Rope::from_str(&text)), Some(file.clone().into_bytes()));
            prop_assert_eq!(format.text_of(file.as_bytes()), Some(text));
        }
    }
}
