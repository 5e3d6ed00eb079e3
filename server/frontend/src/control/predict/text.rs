//! Texts of files: byte-order marks and line endings. Knows no tool.

const BOM: &str = "\u{feff}";

/// UTF-8 text, without its byte-order mark.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Text {
    pub text: String,
    pub bom: bool,
}

/// Reason why bytes are no text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotText {
    /// UTF-16, little-endian, by its byte-order mark.
    Utf16Le,
    Utf16Be,
    /// A NUL byte in the first 8 KiB.
    Nul,
    /// A NUL byte after them.
    LateNul,
    NotUtf8,
}

impl Text {
    pub fn decode(bytes: &[u8]) -> Result<Self, NotText> {
        const SNIFFED: usize = 8192;
        if bytes.starts_with(b"\xff\xfe") {
            return Err(NotText::Utf16Le);
        }
        if bytes.starts_with(b"\xfe\xff") {
            return Err(NotText::Utf16Be);
        }
        match bytes.iter().position(|&byte| byte == 0) {
            Some(at) if at < SNIFFED => return Err(NotText::Nul),
            Some(_) => return Err(NotText::LateNul),
            None => {}
        }
        let text = std::str::from_utf8(bytes).map_err(|_| NotText::NotUtf8)?;
        let plain = text.strip_prefix(BOM);
        Ok(Self {
            text: plain.unwrap_or(text).to_owned(),
            bom: plain.is_some(),
        })
    }

    pub fn encode(bom: bool, text: &str) -> Vec<u8> {
        let bom = if bom { BOM } else { "" };
        [bom, text].concat().into_bytes()
    }
}

impl NotText {
    pub fn reason(self) -> &'static str {
        match self {
            Self::Utf16Le => "the file is UTF-16",
            Self::Utf16Be => "the file is UTF-16 big-endian",
            Self::Nul | Self::LateNul => "the file has NUL bytes",
            Self::NotUtf8 => "the file is not UTF-8",
        }
    }
}

pub fn to_lf(text: &str) -> String {
    text.replace("\r\n", "\n")
}

/// Every line ends in CRLF, whatever it had.
pub fn to_crlf(text: &str) -> String {
    to_lf(text).replace('\n', "\r\n")
}

/// True if most of the line endings in the first 4,096 UTF-16 units are CRLF.
pub fn mostly_crlf(text: &str) -> bool {
    const SAMPLE: usize = 4096;
    let (mut crlf, mut lf, mut units, mut last) = (0, 0, 0, ' ');
    for char in text.chars() {
        units += char.len_utf16();
        if units > SAMPLE {
            break;
        }
        match (last, char) {
            ('\r', '\n') => crlf += 1,
            (_, '\n') => lf += 1,
            _ => {}
        }
        last = char;
    }
    crlf > lf
}

/// True if both kinds of line endings occur.
pub fn is_mixed(text: &str) -> bool {
    let crlf = text.matches("\r\n").count();
    crlf > 0 && text.matches('\n').count() > crlf
}

/// Number of matches that do not overlap, counted from the start.
pub fn count(text: &str, part: &str) -> usize {
    if part.is_empty() {
        0
    } else {
        text.matches(part).count()
    }
}
