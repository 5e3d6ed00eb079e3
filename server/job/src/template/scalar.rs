//! Expressions in the text of a scalar.

use super::token::{Expression, TemplateToken, TokenKind};
use crate::expr::{self, Allowed};
use crate::position::{FilePosition, Range};
use crate::yaml::utf16;

const OPEN: &str = "${{";
const CLOSE: &str = "}}";
const INSERT: &str = "insert";

/// Problems of a scalar, with their places.
pub(super) type Errors = Vec<(Range, String)>;

/// A scalar of a file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scalar<'a> {
    pub value: &'a str,
    /// The value with its quotes and indentation, as in [`crate::yaml::Text`]. A key has none.
    pub source: Option<&'a str>,
    pub range: Range,
}

enum ScalarPiece<'a> {
    Text(&'a str),
    Expression(&'a str),
    Insert,
}

/// The scalar as a token: a text, an expression, or a `format` of both. With errors it stays a text.
pub(super) fn parse(scalar: Scalar<'_>, allowed: &Allowed) -> (TemplateToken, Errors) {
    let literal = || TemplateToken::text(scalar.range, scalar.value);
    let is_single_line = scalar.range.start.line == scalar.range.end.line;
    let raw = match scalar.source {
        Some(source) if !is_single_line => source,
        _ => scalar.value,
    };
    if !raw.contains(OPEN) && !scalar.value.contains(OPEN) {
        return (literal(), Errors::new());
    }
    let place = |start: usize, end: usize| {
        if is_single_line {
            place_in_line(scalar, start, end)
        } else {
            place_in_lines(raw, scalar.range.start.line, start, end)
        }
    };
    if let Err(errors) = split(raw, scalar.range, allowed, place) {
        return (literal(), errors);
    }
    // the text of several lines has its indentation and quotes, which the value has not
    match split(scalar.value, scalar.range, allowed, |_, _| scalar.range) {
        Ok(pieces) => (join(&pieces, scalar), Errors::new()),
        Err(errors) => (literal(), errors),
    }
}

fn place_in_line(scalar: Scalar<'_>, start: usize, end: usize) -> Range {
    let column_of = |text: &str| {
        text.find(OPEN)
            .map_or(-1, |at| i64::from(utf16(&text[..at])))
    };
    let quotes = column_of(scalar.source.unwrap_or(scalar.value)) - column_of(scalar.value);
    let Range {
        start: from,
        end: to,
    } = scalar.range;
    let column = |offset: usize| {
        let before = utf16(scalar.value.get(..offset).unwrap_or_default());
        let column = i64::from(from.column) + i64::from(before) + quotes;
        u32::try_from(column).unwrap_or_default()
    };
    Range {
        start: at(from.line, column(start)),
        end: at(to.line, column(end)),
    }
}

fn place_in_lines(raw: &str, first: u32, start: usize, end: usize) -> Range {
    let before = raw.get(..start).unwrap_or_default();
    let lines = u32::try_from(before.matches('\n').count()).unwrap_or_default() + 1;
    let line_start = before.rfind('\n').map_or(0, |feed| feed + 1);
    let column = |offset: usize| utf16(raw.get(line_start..offset).unwrap_or_default()) + 1;
    Range {
        start: at(first + lines, column(start)),
        end: at(first + lines, column(end)),
    }
}

fn at(line: u32, column: u32) -> FilePosition {
    FilePosition { line, column }
}

/// Texts and expressions in their order. The places are those of `${{ … }}` from its first to behind its last byte.
fn split<'a>(
    raw: &'a str,
    whole: Range,
    allowed: &Allowed,
    place: impl Fn(usize, usize) -> Range,
) -> Result<Vec<ScalarPiece<'a>>, Errors> {
    let mut pieces = Vec::new();
    let mut errors = Errors::new();
    let mut rest = 0;
    while let Some(start) = raw[rest..].find(OPEN).map(|found| rest + found) {
        if start > rest {
            pieces.push(ScalarPiece::Text(&raw[rest..start]));
        }
        let Some(end) = end_of(raw, start) else {
            errors.push((whole, NOT_CLOSED.to_owned()));
            return Err(errors);
        };
        let inner = &raw[start + OPEN.len()..end - CLOSE.len()];
        match parse_expression(inner, allowed) {
            Ok(ScalarPiece::Insert) if start != 0 || end < raw.len() => {
                errors.push((whole, INSERT_IN_TEXT.to_owned()));
                return Err(errors);
            }
            Ok(piece) => pieces.push(piece),
            Err(message) => errors.push((place(start, end), message)),
        }
        rest = end;
    }
    if rest < raw.len() {
        pieces.push(ScalarPiece::Text(&raw[rest..]));
    }
    if errors.is_empty() {
        Ok(pieces)
    } else {
        Err(errors)
    }
}

const NOT_CLOSED: &str = "The expression is not closed. An unescaped ${{ sequence was found, but the closing }} sequence \
    was not found.";
const INSERT_IN_TEXT: &str = "The directive 'insert' is not allowed in this context. Directives are not supported for \
    expressions that are embedded within a string. Directives are only supported when the entire value is an expression.";

/// The offset behind the `}}` of an expression. Those within a string of the expression do not count.
fn end_of(raw: &str, start: usize) -> Option<usize> {
    let mut is_string = false;
    let mut before = b'{';
    for (offset, byte) in raw.bytes().enumerate().skip(start + OPEN.len()) {
        match byte {
            b'\'' => is_string = !is_string,
            b'}' if !is_string && before == b'}' => return Some(offset + 1),
            _ => {}
        }
        before = byte;
    }
    None
}

fn parse_expression<'a>(inner: &'a str, allowed: &Allowed) -> Result<ScalarPiece<'a>, String> {
    let text = trim(inner);
    if text.is_empty() {
        return Err("An expression was expected".to_owned());
    }
    if let Some(parameters) = text.strip_prefix(INSERT) {
        if parameters.is_empty() {
            return Ok(ScalarPiece::Insert);
        }
        if parameters.starts_with(is_space) {
            return Err(
                "Exactly 0 parameter(s) were expected following the directive 'insert'. Actual parameter count: 1"
                    .to_owned(),
            );
        }
    }
    match expr::check(text, allowed) {
        Ok(()) => Ok(ScalarPiece::Expression(text)),
        Err(error) => Err(error.to_string()),
    }
}

fn join(pieces: &[ScalarPiece<'_>], scalar: Scalar<'_>) -> TemplateToken {
    let range = scalar.range;
    let expression = |text: String| {
        let source = scalar.value.to_owned();
        TokenKind::Expression(Expression { text, source })
    };
    let kind = match pieces {
        [ScalarPiece::Insert] => TokenKind::Insert,
        [ScalarPiece::Text(text)] => TokenKind::Text((*text).to_owned()),
        [ScalarPiece::Expression(text)] => match string_literal(text) {
            Some(text) => TokenKind::Text(text),
            None => expression((*text).to_owned()),
        },
        _ => expression(format_call(pieces)),
    };
    TemplateToken { range, kind }
}

/// The value of an expression that is one string.
fn string_literal(text: &str) -> Option<String> {
    let mut value = String::new();
    let mut is_string = false;
    for (offset, c) in text.char_indices() {
        if c == '\'' {
            is_string = !is_string;
            if is_string && offset > 0 {
                value.push(c);
            }
        } else if is_string {
            value.push(c);
        } else {
            return None;
        }
    }
    Some(value)
}

/// `a${{ b }}c` as `format('a{0}c', b)`.
fn format_call(pieces: &[ScalarPiece<'_>]) -> String {
    let mut template = String::new();
    let mut arguments = Vec::new();
    for piece in pieces {
        match piece {
            ScalarPiece::Text(text) => {
                let escaped = text
                    .replace('\'', "''")
                    .replace('{', "{{")
                    .replace('}', "}}");
                template.push_str(&escaped);
            }
            ScalarPiece::Expression(text) => {
                let place = arguments.len().to_string();
                template.extend(["{", &place, "}"]);
                arguments.push(*text);
            }
            ScalarPiece::Insert => {}
        }
    }
    format!("format('{template}', {})", arguments.join(", "))
}

/// White space of ECMAScript.
fn is_space(c: char) -> bool {
    c == '\u{feff}' || (c.is_whitespace() && c != '\u{85}')
}

pub(super) fn trim(text: &str) -> &str {
    text.trim_matches(is_space)
}
