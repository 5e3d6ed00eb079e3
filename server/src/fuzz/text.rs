//! Compares a document with a plain string: after any changes, in any encoding, both have the same text and the same
//! positions, and the smallest edits lead from one text to the other. The reference is slow and obvious.

use ropey::Rope;
use serde_json::{Value, from_value, json};
use tower_lsp::gen_lsp_types::{DidChangeTextDocumentParams, Position, TextEdit};

use crate::lsp::documents::document::Document;
use crate::lsp::documents::edits;
use crate::lsp::documents::position::Encoding;
use crate::lsp::documents::spans;
use crate::lsp::documents::uri;

const ENCODINGS: [Encoding; 3] = [Encoding::Utf8, Encoding::Utf16, Encoding::Utf32];

/// Pieces of texts: line ends, characters that look like line ends, and characters of every width.
const PIECES: [&str; 32] = [
    "a",
    "b",
    "c",
    " ",
    "\t",
    "\n",
    "\r\n",
    "\r",
    "\n\n",
    "\r\r\n",
    "\0",
    "é",
    "e\u{301}",
    "ß",
    "\u{2028}",
    "\u{2029}",
    "\u{85}",
    "\u{b}",
    "\u{c}",
    "\u{feff}",
    "\u{ffff}",
    "漢",
    "𝄞",
    "😀",
    "👩\u{200d}👩\u{200d}👧",
    "\u{10ffff}",
    "word",
    "line\n",
    "let x = 1;\r\n",
    "aaaa",
    "_",
    "0",
];

/// Maximum length of a text, and maximum number of positions that are all checked.
const MAX_LENGTH: usize = 20_000;
const MAX_CHECKED: usize = 300;

/// Reads choices from bytes; after their end every choice is the first.
struct Choices<'d>(&'d [u8]);

impl Choices<'_> {
    fn byte(&mut self) -> u8 {
        let (byte, rest) = self.0.split_first().unwrap_or((&0, &[]));
        self.0 = rest;
        *byte
    }

    fn below(&mut self, n: u8) -> usize {
        usize::from(self.byte() % n)
    }

    /// Returns mostly small numbers, and the maximum now and then.
    fn number(&mut self) -> u32 {
        match self.byte() {
            255 => u32::MAX,
            254 => i32::MAX.unsigned_abs(),
            253 => 256 * u32::from(self.byte()) + u32::from(self.byte()),
            small => u32::from(small),
        }
    }

    fn text(&mut self) -> String {
        let mut text = String::new();
        let count = self.below(24);
        for _ in 0..count {
            text.push_str(PIECES[usize::from(self.byte()) % PIECES.len()]);
        }
        // now and then a very long line
        if count > 0 && self.byte() > 250 {
            text = text.repeat(1 + 8 * usize::from(self.byte()));
            text.truncate(text.floor_char_boundary(MAX_LENGTH));
        }
        text
    }

    fn position(&mut self) -> Position {
        let line = match self.number() {
            small @ 0..200 => small % 12,
            large => large,
        };
        Position::new(line, self.number())
    }
}

/// Runs with any bytes as choices.
pub fn run(input: &[u8]) {
    let mut from = Choices(input);
    let encoding = ENCODINGS[from.below(3)];
    let mut text = from.text();
    let file = match from.below(4) {
        0 => None,
        1 => Some(text.clone().into_bytes()),
        2 => Some(format!("\u{feff}{text}").into_bytes()),
        _ => Some(b"not \xff text".to_vec()),
    };
    let mut document = Document::opened(1, &text);
    document.set_path(None, file.as_deref());
    check_saved(&document, &text, file.as_deref());
    let mut version = 1;
    while !from.0.is_empty() {
        version += 1;
        if from.below(4) == 0 {
            let new = new_text(&mut from, &text);
            let edits = edits::between(&document.text, &new, encoding);
            check_edits(&text, &new, &edits, encoding);
            check_spans(&text, &new, encoding);
            send(&mut document, &of_edits(&edits), version, encoding);
            text = new;
        } else {
            let changes: Vec<Value> = (0..=from.below(3)).map(|_| change(&mut from)).collect();
            for change in &changes {
                text = changed(&text, change, encoding);
            }
            send(&mut document, &changes, version, encoding);
        }
        assert_eq!(document.version, version);
        assert_eq!(document.text, text.as_str());
        assert_eq!(document.bytes(), text.as_bytes());
        check_positions(&document.text, &text, &mut from);
        if text.len() > MAX_LENGTH {
            return;
        }
    }
    #[cfg(unix)]
    check_name(
        &input
            .iter()
            .copied()
            .filter(|b| *b != 0)
            .collect::<Vec<u8>>(),
    );
}

/// Returns a change as a client sends it.
fn change(from: &mut Choices) -> Value {
    let text = from.text();
    match from.below(8) {
        0 => json!({ "text": text }),
        kind => {
            let (start, end) = (from.position(), from.position());
            let mut change = json!({ "range": { "start": start, "end": end }, "text": text });
            if kind == 1 {
                // older clients send it beside the range, right or wrong
                change["rangeLength"] = json!(from.byte());
            }
            change
        }
    }
}

fn send(document: &mut Document, changes: &[Value], version: i32, encoding: Encoding) {
    let params = json!({
        "textDocument": { "uri": "file:///a", "version": version },
        "contentChanges": changes,
    });
    let params: DidChangeTextDocumentParams = from_value(params).unwrap();
    document.change(version, &params.content_changes, encoding);
}

/// Returns a text that is based on the previous one, or a new one.
fn new_text(from: &mut Choices, old: &str) -> String {
    if from.below(4) == 0 {
        return from.text();
    }
    let mut new = old.to_owned();
    for _ in 0..=from.below(3) {
        let at = usize::try_from(from.number()).unwrap().min(new.len());
        let at = new.floor_char_boundary(at);
        let end = new.floor_char_boundary((at + from.below(9)).min(new.len()));
        new.replace_range(at..end, &from.text());
    }
    new
}

// ---- the reference --------------------------------------------------------------------------------------------------

/// Returns the start and the end of each line's content, in bytes. Only LF, CRLF and CR end a line.
fn lines(text: &str) -> Vec<(usize, usize)> {
    let mut lines = Vec::new();
    let mut start = 0;
    let mut rest = text.char_indices().peekable();
    while let Some((at, c)) = rest.next() {
        if c == '\n' || c == '\r' {
            lines.push((start, at));
            start = at + 1;
            if c == '\r' && rest.next_if(|(_, c)| *c == '\n').is_some() {
                start += 1;
            }
        }
    }
    lines.push((start, text.len()));
    lines
}

fn units(text: &str, encoding: Encoding) -> usize {
    match encoding {
        Encoding::Utf8 => text.len(),
        Encoding::Utf16 => text.encode_utf16().count(),
        Encoding::Utf32 => text.chars().count(),
    }
}

/// Returns the byte of a position. After the end of its line it is the line's end, after the end of the text the
/// text's end, and inside a character the byte before it.
fn offset(text: &str, position: Position, encoding: Encoding) -> usize {
    let Some((start, end)) = lines(text).get(position.line as usize).copied() else {
        return text.len();
    };
    let mut left = position.character as usize;
    for (at, c) in text[start..end].char_indices() {
        let width = units(c.encode_utf8(&mut [0; 4]), encoding);
        if left < width {
            return start + at;
        }
        left -= width;
    }
    end
}

/// Returns the position of a byte on a line; None inside a line end.
fn position(text: &str, at: usize, encoding: Encoding) -> Option<Position> {
    let all = lines(text);
    let line = all
        .iter()
        .position(|(start, end)| (*start..=*end).contains(&at))?;
    let units = units(&text[all[line].0..at], encoding);
    Some(Position::new(
        u32::try_from(line).unwrap(),
        u32::try_from(units).unwrap(),
    ))
}

fn changed(text: &str, change: &Value, encoding: Encoding) -> String {
    let new = change["text"].as_str().unwrap();
    if change["range"].is_null() {
        return new.to_owned();
    }
    let place = |side: &str| {
        let position: Position = from_value(change["range"][side].clone()).unwrap();
        offset(text, position, encoding)
    };
    let (a, b) = (place("start"), place("end"));
    [&text[..a.min(b)], new, &text[a.max(b)..]].concat()
}

// ---- what must hold -------------------------------------------------------------------------------------------------

/// The written text of a save reads back as the same text.
fn check_saved(document: &Document, text: &str, file: Option<&[u8]>) {
    assert_eq!(document.text, text);
    let Some(saved) = document.as_saved() else {
        assert!(file.is_some_and(|file| std::str::from_utf8(file).is_err()));
        return;
    };
    assert_eq!(document.text_of(&saved).as_deref(), Some(text));
    if file.is_some_and(|file| document.text_of(file).as_deref() == Some(text)) {
        assert_eq!(Some(&*saved), file, "it was not edited");
    }
}

fn check_positions(rope: &Rope, text: &str, from: &mut Choices) {
    let mut places: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
    places.push(text.len());
    if places.len() > MAX_CHECKED {
        let any: Vec<usize> = (0..8).map(|_| from.number() as usize).collect();
        places = any.iter().map(|n| places[n % places.len()]).collect();
    }
    for encoding in ENCODINGS {
        for at in &places {
            let index = rope.byte_to_char(*at);
            let found = encoding.position(rope, index);
            match position(text, *at, encoding) {
                Some(expected) => {
                    assert_eq!(found, expected, "{encoding:?} {at} of {text:?}");
                    assert_eq!(encoding.char_at(rope, found), index);
                }
                // between the two characters of a line end: the same line's end
                None => assert_eq!(encoding.char_at(rope, found), index - 1),
            }
        }
        let anywhere = from.position();
        let expected = offset(text, anywhere, encoding);
        let found = rope.char_to_byte(encoding.char_at(rope, anywhere));
        assert_eq!(found, expected, "{encoding:?} {anywhere:?} of {text:?}");
    }
}

/// Applies edits as an editor does: all positions refer to the old text, in order and without overlap.
fn check_edits(old: &str, new: &str, edits: &[TextEdit], encoding: Encoding) {
    if old == new {
        assert_eq!(edits, []);
    }
    let mut done = old.to_owned();
    let mut before = old.len();
    for edit in edits.iter().rev() {
        let start = offset(old, edit.range.start, encoding);
        let end = offset(old, edit.range.end, encoding);
        for (at, given) in [(start, edit.range.start), (end, edit.range.end)] {
            let exact = position(old, at, encoding);
            assert_eq!(exact, Some(given), "a position of the text");
        }
        assert!(start <= end && end <= before, "{edits:?} in {old:?}");
        assert!(old[start..end] != edit.new_text, "{edit:?} changes nothing");
        done.replace_range(start..end, &edit.new_text);
        before = start;
    }
    assert_eq!(done, new, "from {old:?} by {edits:?}");
}

/// Returns the same edits as changes of a client, the last in the text first.
fn of_edits(edits: &[TextEdit]) -> Vec<Value> {
    let edits = edits.iter().rev();
    edits
        .map(|edit| json!({ "range": edit.range, "text": edit.new_text }))
        .collect()
}

/// Both sides are the same without the words that differ.
fn check_spans(old: &str, new: &str, encoding: Encoding) {
    let (a, b): (Vec<&str>, Vec<&str>) = (old.split('\n').collect(), new.split('\n').collect());
    let (removed, added) = spans::of(&a, &b, encoding);
    if removed.is_empty() && added.is_empty() {
        return;
    }
    assert_eq!(
        without(&a, &removed, encoding),
        without(&b, &added, encoding),
        "{removed:?} of {old:?}, {added:?} of {new:?}"
    );
}

/// Returns the parts of the lines outside the spans.
fn without(lines: &[&str], spans: &[spans::Span], encoding: Encoding) -> String {
    let mut rest = String::new();
    for (number, line) in lines.iter().enumerate() {
        let mut at = 0;
        for (_, start, end) in spans.iter().filter(|(line, ..)| *line == number) {
            let [start, end] = [start, end].map(|units| byte(line, *units, encoding));
            rest.push_str(&line[at..start]);
            at = end;
        }
        rest.push_str(&line[at..]);
    }
    rest
}

/// Returns the byte of a line at a number of units.
fn byte(line: &str, units: usize, encoding: Encoding) -> usize {
    let places = line.char_indices().map(|(at, _)| at);
    let mut places = places.chain([line.len()]);
    let is_there = |at: &usize| self::units(&line[..*at], encoding) == units;
    places.find(is_there).unwrap()
}

/// Converts a file name to its URI and back.
#[cfg(unix)]
fn check_name(name: &[u8]) {
    use std::os::unix::ffi::OsStrExt as _;
    let path = std::path::Path::new("/").join(std::ffi::OsStr::from_bytes(name));
    assert_eq!(uri::to_path(&uri::of_path(&path)), Some(path));
    let text = String::from_utf8_lossy(name);
    uri::to_path(&text);
    if let Some(own) = uri::Virtual::parse(&text) {
        assert_eq!(uri::Virtual::parse(&own.uri()), Some(own));
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn found_inputs_pass() {
        for (file, input) in super::super::found("text") {
            println!("{}", file.display());
            run(&input);
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(super::super::cases(100, 300)))]
        #[test]
        fn a_document_is_a_string(input in proptest::collection::vec(any::<u8>(), 0..300)) {
            run(&input);
        }
    }
}
