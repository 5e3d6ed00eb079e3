//! JSON as GitHub's expressions write and read it.

use std::collections::HashMap;

use super::contexts::ExpressionError;
use super::number;
use super::value::{Dict, Value};

/// The deepest nesting that is read, as GitHub's runner has it.
const MAX_DEPTH: usize = 64;

type JsonSink<'a> = dyn FnMut(&str) -> Result<(), ExpressionError> + 'a;

/// Writes a value with an indentation of two spaces.
pub(super) fn write(value: &Value, sink: &mut JsonSink<'_>) -> Result<(), ExpressionError> {
    write_at(value, 1, sink)
}

fn write_at(value: &Value, depth: usize, sink: &mut JsonSink<'_>) -> Result<(), ExpressionError> {
    let line = |depth: usize| format!("\n{}", "  ".repeat(depth));
    match value {
        Value::Null => sink("null"),
        Value::Bool(value) => sink(if *value { "true" } else { "false" }),
        Value::Number(value) if !value.is_finite() => sink("null"),
        Value::Number(value) => sink(&number::to_text(*value)),
        Value::String(text) => sink(&quoted(text)),
        Value::Array(items) if items.is_empty() => sink("[]"),
        Value::Array(items) => {
            for (place, item) in items.iter().enumerate() {
                sink(if place == 0 { "[" } else { "," })?;
                sink(&line(depth))?;
                write_at(item, depth + 1, sink)?;
            }
            sink(&line(depth - 1))?;
            sink("]")
        }
        Value::Object(object) if object.is_empty() => sink("{}"),
        Value::Object(object) => {
            for (place, (name, value)) in object.iter().enumerate() {
                sink(if place == 0 { "{" } else { "," })?;
                sink(&line(depth))?;
                sink(&quoted(name))?;
                sink(": ")?;
                write_at(value, depth + 1, sink)?;
            }
            sink(&line(depth - 1))?;
            sink("}")
        }
    }
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

impl Value {
    /// The value as JSON with an indentation of two spaces, as `toJSON` writes it.
    pub fn to_json(&self) -> String {
        let mut text = String::new();
        let pushed = write(self, &mut |part| {
            text.push_str(part);
            Ok(())
        });
        debug_assert!(pushed.is_ok(), "the sink has no limit");
        text
    }

    /// The value of a JSON text, as `fromJSON` reads it.
    pub fn from_json(text: &str) -> Result<Value, ExpressionError> {
        read(text)
    }
}

/// The value of a JSON text.
pub(super) fn read(text: &str) -> Result<Value, ExpressionError> {
    if text.trim().is_empty() {
        return Err(ExpressionError::new("empty input"));
    }
    let mut reader = JsonReader {
        text,
        offset: 0,
        depth: 0,
    };
    let value = reader.value().filter(|_| {
        reader.space();
        reader.offset == text.len()
    });
    value.ok_or_else(|| ExpressionError::new("Error parsing JSON when evaluating fromJson"))
}

/// A reader of JSON, each of whose functions returns none for anything else. It keeps numbers exact, and the order of
/// names.
struct JsonReader<'a> {
    text: &'a str,
    offset: usize,
    depth: usize,
}

impl<'a> JsonReader<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.offset..]
    }

    fn space(&mut self) {
        let is_space = |next: char| matches!(next, ' ' | '\t' | '\n' | '\r');
        self.offset = self.text.len() - self.rest().trim_start_matches(is_space).len();
    }

    /// Takes a text, and space before it.
    fn take(&mut self, wanted: &str) -> Option<()> {
        self.space();
        self.rest().strip_prefix(wanted)?;
        self.offset += wanted.len();
        Some(())
    }

    fn value(&mut self) -> Option<Value> {
        self.space();
        match self.rest().as_bytes().first()? {
            b'n' => self.take("null").map(|()| Value::Null),
            b't' => self.take("true").map(|()| Value::Bool(true)),
            b'f' => self.take("false").map(|()| Value::Bool(false)),
            b'"' => self.string().map(Value::from),
            b'[' => self.nested(Self::array),
            b'{' => self.nested(Self::object),
            _ => self.number(),
        }
    }

    fn nested(&mut self, read: fn(&mut Self) -> Option<Value>) -> Option<Value> {
        self.depth += 1;
        self.offset += 1;
        let value = if self.depth > MAX_DEPTH {
            None
        } else {
            read(self)
        };
        self.depth -= 1;
        value
    }

    fn array(&mut self) -> Option<Value> {
        let mut items = Vec::new();
        if self.take("]").is_none() {
            loop {
                items.push(self.value()?);
                if self.take("]").is_some() {
                    break;
                }
                self.take(",")?;
            }
        }
        Some(items.into())
    }

    fn object(&mut self) -> Option<Value> {
        let mut entries: Vec<(String, Value)> = Vec::new();
        let mut places = HashMap::new();
        if self.take("}").is_none() {
            loop {
                self.space();
                let name = self.string()?;
                self.take(":")?;
                let value = self.value()?;
                let place = *places.entry(name.clone()).or_insert(entries.len());
                match entries.get_mut(place) {
                    Some(entry) => entry.1 = value,
                    None => entries.push((name, value)),
                }
                if self.take("}").is_some() {
                    break;
                }
                self.take(",")?;
            }
        }
        let mut object = Dict::default();
        for (name, value) in entries {
            // the first one counts, if names differ only by their case
            object.add(&name, value);
        }
        Some(object.into())
    }

    fn string(&mut self) -> Option<String> {
        let body = self.rest().strip_prefix('"')?;
        let bytes = body.as_bytes();
        let mut end = 0;
        while *bytes.get(end)? != b'"' {
            end += if bytes[end] == b'\\' { 2 } else { 1 };
        }
        let literal = &self.rest()[..end + 2];
        self.offset += literal.len();
        serde_json::from_str(literal).ok()
    }

    fn number(&mut self) -> Option<Value> {
        let is_part =
            |next: char| next.is_ascii_digit() || matches!(next, '-' | '+' | '.' | 'e' | 'E');
        let rest = self.rest();
        let literal = &rest[..rest.find(|next| !is_part(next)).unwrap_or(rest.len())];
        if !is_number(literal) {
            return None;
        }
        self.offset += literal.len();
        literal.parse().ok().map(Value::Number)
    }
}

/// True if a text is a number of JSON.
fn is_number(text: &str) -> bool {
    let unsigned = text.strip_prefix('-').unwrap_or(text);
    let digits =
        |text: &str| text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let whole = digits(unsigned);
    if whole == 0 || (whole > 1 && unsigned.starts_with('0')) {
        return false;
    }
    let mut rest = &unsigned[whole..];
    if let Some(fraction) = rest.strip_prefix('.') {
        let count = digits(fraction);
        if count == 0 {
            return false;
        }
        rest = &fraction[count..];
    }
    if let Some(exponent) = rest.strip_prefix(['e', 'E']) {
        let exponent = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
        let count = digits(exponent);
        if count == 0 {
            return false;
        }
        rest = &exponent[count..];
    }
    rest.is_empty()
}
