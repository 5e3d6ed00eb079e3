//! Text for a terminal. Owns the one list of characters that deceive, and the three ways to show them: in a name or a prompt
//! (always), in a content (only on a terminal: piped output keeps its bytes), and in JSON. Pure.

use std::borrow::Cow;
use std::fmt::Write as _;

/// Shown in place of a character that deceives in a name or a prompt.
const REPLACED: char = '\u{fffd}';

/// True for a character that a reader does not see and a terminal acts on, or that makes a text look like another one: control
/// characters (C0, C1 and DEL), marks of direction, separators of lines that are none, and characters without a width.
/// `before` and `after`: its neighbours. A joiner between letters of other alphabets belongs to them, as one between emoji does.
fn deceives(before: Option<char>, c: char, after: Option<char>) -> bool {
    match c {
        '\u{200c}' | '\u{200d}' => {
            let is_foreign = |c: Option<char>| c.is_some_and(|c| !c.is_ascii());
            !(is_foreign(before) && is_foreign(after))
        }
        // most texts end here
        ' '..='~' => false,
        c if c.is_control() => true,
        c => matches!(c,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180e}'
            | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}'
            | '\u{feff}' | '\u{ffa0}' | '\u{fff9}'..='\u{fffb}' | '\u{e0001}'),
    }
}

/// Calls `each` for the characters of a text, with true for those that deceive.
fn each(text: &str, mut each: impl FnMut(char, bool)) {
    let mut before = None;
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        each(c, deceives(before, c, rest.peek().copied()));
        before = Some(c);
    }
}

/// Returns a text of people with a replacement for each character that deceives. Line ends and tabs stay.
pub fn lines(text: &str) -> String {
    replaced(text, |c| matches!(c, '\n' | '\t'), REPLACED)
}

/// Returns a name, a prompt or a command as one line, with a replacement for each character that deceives.
pub fn one_line(text: &str, replacement: char) -> String {
    replaced(text, |_| false, replacement)
}

fn replaced(text: &str, keeps: impl Fn(char) -> bool, replacement: char) -> String {
    let mut shown = String::with_capacity(text.len());
    each(text, |c, is_bad| {
        shown.push(if is_bad && !keeps(c) { replacement } else { c });
    });
    shown
}

/// Returns a content as a terminal may show it: characters that deceive are written out, as `^[` and `<U+202E>`, and bytes that
/// are no text as `<9B>`. Line ends, tabs, and a mark of byte order at the beginning stay.
pub fn content(bytes: &[u8]) -> Cow<'_, [u8]> {
    if bytes
        .iter()
        .all(|byte| matches!(byte, b' '..=b'~' | b'\n' | b'\t'))
    {
        return Cow::Borrowed(bytes);
    }
    let mut shown = String::with_capacity(bytes.len() + 16);
    let mut is_start = true;
    for chunk in bytes.utf8_chunks() {
        let text = chunk.valid();
        // a carriage return before a line end, or at the end of a line that is shown without it, is part of that end
        let mut rest = text.char_indices();
        let mut before = None;
        while let Some((at, c)) = rest.next() {
            let after = rest.as_str().chars().next();
            let is_end = at + 1 == text.len() && chunk.invalid().is_empty();
            let is_line_end = c == '\r' && (after == Some('\n') || is_end);
            let stays = matches!(c, '\n' | '\t') || is_line_end || is_start && c == '\u{feff}';
            if stays || !deceives(before, c, after) {
                shown.push(c);
            } else {
                write_out(&mut shown, c);
            }
            is_start = false;
            before = Some(c);
        }
        for byte in chunk.invalid() {
            let _ = write!(shown, "<{byte:02X}>");
            is_start = false;
        }
    }
    Cow::Owned(shown.into_bytes())
}

fn write_out(shown: &mut String, c: char) {
    let _ = match u32::from(c) {
        code @ 0..0x20 => write!(
            shown,
            "^{}",
            char::from(b'@' + u8::try_from(code).unwrap_or(0))
        ),
        0x7f => write!(shown, "^?"),
        code => write!(shown, "<U+{code:04X}>"),
    };
}

/// Returns our own drawn text with nothing left in it that acts on a terminal but colours: the last check of all output. A content
/// has gone through [`content`] before, so that it has no colours of its own.
pub fn drawn(bytes: &[u8]) -> Cow<'_, [u8]> {
    let is_plain = |byte: &u8| matches!(byte, b' '..=b'~' | b'\n' | b'\t');
    if bytes.iter().all(is_plain) {
        return Cow::Borrowed(bytes);
    }
    let mut shown = Vec::with_capacity(bytes.len() + 16);
    let mut rest = bytes;
    while !rest.is_empty() {
        let colour = colour_code(rest);
        if colour > 0 {
            shown.extend_from_slice(&rest[..colour]);
            rest = &rest[colour..];
            continue;
        }
        let next = rest.iter().skip(1).position(|byte| *byte == 0x1b);
        let (part, behind) = rest.split_at(next.map_or(rest.len(), |at| at + 1));
        rest = behind;
        match part.strip_suffix(b"\r") {
            // a carriage return within a line
            Some(part) if !ends_line(rest) => {
                shown.extend_from_slice(&content(part));
                shown.extend_from_slice(b"^M");
            }
            _ => shown.extend_from_slice(&content(part)),
        }
    }
    Cow::Owned(shown)
}

/// True if nothing but colours stands before the next line end.
fn ends_line(mut rest: &[u8]) -> bool {
    loop {
        match colour_code(rest) {
            0 => return rest.is_empty() || rest.starts_with(b"\n"),
            length => rest = &rest[length..],
        }
    }
}

/// Returns the length of the code at the beginning that sets bold, faint, italics, underline or a colour; 0 if there is none.
fn colour_code(bytes: &[u8]) -> usize {
    let Some(code) = bytes.strip_prefix(b"\x1b[") else {
        return 0;
    };
    let is_part = |byte: &u8| byte.is_ascii_digit() || *byte == b';';
    let length = code
        .iter()
        .take(16)
        .take_while(|byte| is_part(byte))
        .count();
    if code.get(length) != Some(&b'm') {
        return 0;
    }
    let is_used = |number: &[u8]| {
        let number = std::str::from_utf8(number).ok();
        let number = number.and_then(|n| {
            if n.is_empty() {
                Some(0)
            } else {
                n.parse().ok()
            }
        });
        matches!(
            number,
            Some(0..=4 | 7 | 22..=24 | 27 | 30..=37 | 39 | 90..=97)
        )
    };
    let used = code[..length].split(|byte| *byte == b';').all(is_used);
    if used { length + 3 } else { 0 }
}

/// Returns a JSON text in which characters that deceive are escaped. Its value stays the same.
pub fn json(text: &str) -> Cow<'_, str> {
    if text.is_ascii() {
        // control characters are escaped already
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    each(text, |c, is_bad| {
        if !is_bad || c == '\n' {
            shown.push(c);
            return;
        }
        for unit in c.encode_utf16(&mut [0; 2]) {
            let _ = write!(shown, "\\u{unit:04x}");
        }
    });
    Cow::Owned(shown)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(bytes: &[u8]) -> String {
        String::from_utf8(content(bytes).into_owned()).unwrap()
    }

    #[test]
    fn nothing_of_a_content_acts_on_a_terminal() {
        for (content, wanted) in [
            (&b"plain\ttext\n"[..], "plain\ttext\n"),
            (b"a\x1b]52;c;ZQ==\x07b", "a^[]52;c;ZQ==^Gb"),
            (b"\x1b[2K\x1b[1Gx", "^[[2K^[[1Gx"),
            (b"\x1b[31mred\x1b[0m", "^[[31mred^[[0m"),
            ("a\u{202e}b\u{2066}c".as_bytes(), "a<U+202E>b<U+2066>c"),
            ("a\u{9b}2Kb".as_bytes(), "a<U+009B>2Kb"),
            (b"a\x9b2Kb\xff", "a<9B>2Kb<FF>"),
            (b"a\x7fb\x00", "a^?b^@"),
            (b"one\rtwo\r\nthree\r", "one^Mtwo\r\nthree\r"),
            (b"one\r\xfftwo", "one^M<FF>two"),
            ("x\u{200b}y\u{2028}z".as_bytes(), "x<U+200B>y<U+2028>z"),
            ("\u{feff}bom\u{feff}".as_bytes(), "\u{feff}bom<U+FEFF>"),
            ("pay\u{200d}pal".as_bytes(), "pay<U+200D>pal"),
            (
                "👨\u{200d}👩 می\u{200c}خواهم".as_bytes(),
                "👨\u{200d}👩 می\u{200c}خواهم",
            ),
        ] {
            assert_eq!(shown(content), wanted);
        }
    }

    #[test]
    fn drawn_text_keeps_its_colours_alone() {
        let guarded = |text: &str| String::from_utf8(drawn(text.as_bytes()).into_owned()).unwrap();
        let own = "\x1b[1m\x1b[31m-a\x1b[0m\n\x1b[2mé\x1b[0m";
        assert_eq!(guarded(own), own);
        assert_eq!(guarded("\x1b[8mhidden"), "^[[8mhidden");
        assert_eq!(guarded("a\x1b[2Jb\x1b]0;t\x07\x1bc"), "a^[[2Jb^[]0;t^G^[c");
        assert_eq!(guarded("\x1b[31"), "^[[31");
        assert_eq!(guarded("\u{202e}"), "<U+202E>");
        assert_eq!(guarded("a\r\x1b[0m\n"), "a\r\x1b[0m\n");
        assert_eq!(guarded("a\r\x1b[31mb\n"), "a^M\x1b[31mb\n");
    }

    #[test]
    fn names_are_one_line() {
        assert_eq!(one_line("a\nb\u{200b}c", REPLACED), "a\u{fffd}b\u{fffd}c");
        assert_eq!(lines("a\nb\tc\x1b"), "a\nb\tc\u{fffd}");
    }

    #[test]
    fn json_keeps_its_value() {
        let value = serde_json::json!({ "name": "a\u{202e}b\u{85}c\u{e0001}d é\n" });
        let text = value.to_string();
        let safe = json(&text);
        assert!(
            !safe.contains(['\u{202e}', '\u{85}', '\u{e0001}']),
            "{safe}"
        );
        assert_eq!(
            serde_json::from_str::<serde_json::Value>(&safe).unwrap(),
            value
        );
    }
}
