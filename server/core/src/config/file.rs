//! Parses a settings file: TOML to values, with the line of each. Pure.

use std::path::Path;

use serde_json::Value;
use toml_edit::{Document, Item, Key as Name, TableLike};

use super::catalogue::unknown;
use super::{Fault, Key, SourceValues, ValueAt};

/// Maximum length of a value in a message, in characters.
const SHOWN: usize = 60;

/// Parses a file. `base`: directory for its relative paths. An invalid value affects only its key, unless the text is
/// not TOML.
pub(super) fn parse(text: &str, base: &Path) -> (SourceValues, Vec<Fault>) {
    let document = match Document::parse(text) {
        Ok(document) => document,
        Err(error) => {
            let at = error.span().map_or(0, |span| span.start);
            let why = error.message().lines().collect::<Vec<_>>().join(", ");
            let fault = Fault {
                line: line_of(text, at),
                key: None,
                said: format!("this is not TOML: {why}; the whole file is ignored"),
            };
            return (SourceValues::default(), vec![fault]);
        }
    };
    let mut reader = TomlReader {
        text,
        base,
        said: SourceValues::default(),
        faults: Vec::new(),
    };
    reader.table("", document.as_table());
    (reader.said, reader.faults)
}

struct TomlReader<'t> {
    text: &'t str,
    base: &'t Path,
    said: SourceValues,
    faults: Vec<Fault>,
}

impl TomlReader<'_> {
    fn table(&mut self, group: &str, table: &dyn TableLike) {
        let names: Vec<&str> = table.iter().map(|(name, _)| name).collect();
        for name in names {
            if let Some((key, item)) = table.get_key_value(name) {
                let name = match group {
                    "" => name.to_owned(),
                    group => format!("{group}.{name}"),
                };
                self.item(&name, key, item);
            }
        }
    }

    fn item(&mut self, name: &str, at: &Name, item: &Item) {
        if let (Some(table), true) = (item.as_table_like(), Key::is_group(name)) {
            self.table(name, table);
            return;
        }
        // a table written as a header has no span of its name
        let span = at.span().or_else(|| item.span());
        let line = line_of(self.text, span.map_or(0, |span| span.start));
        let shown = self.shown(item);
        let Some(key) = Key::named(name) else {
            let why = if Key::is_group(name) {
                format!("{shown} is not a table of settings")
            } else {
                unknown()
            };
            self.wrong(line, None, name, &why);
            return;
        };
        match key.read(&json(item), &shown, Some(self.base)) {
            Ok(setting) => {
                self.said.0.insert(key, ValueAt { setting, line });
            }
            Err(why) => self.wrong(line, Some(key), name, &why),
        }
    }

    fn wrong(&mut self, line: usize, key: Option<Key>, name: &str, why: &str) {
        self.faults.push(Fault {
            line,
            key,
            said: format!("`{}`: {why}", name.escape_debug()),
        });
    }

    /// Returns a value as written, on one line.
    fn shown(&self, item: &Item) -> String {
        let written = item.span().and_then(|span| self.text.get(span));
        let words: Vec<&str> = written.unwrap_or("this").split_whitespace().collect();
        let line = words.join(" ");
        match line.char_indices().nth(SHOWN) {
            Some((end, _)) => format!("{}…", &line[..end]),
            None => line,
        }
    }
}

/// Converts a value to JSON. Values without a counterpart become null, which no key accepts.
fn json(item: &Item) -> Value {
    let Some(value) = item.as_value() else {
        return Value::Null;
    };
    if let Some(list) = value.as_array() {
        return list.iter().map(|v| json(&Item::Value(v.clone()))).collect();
    }
    let text = value.as_str().map(Value::from);
    let number = || value.as_integer().map(Value::from);
    let flag = || value.as_bool().map(Value::from);
    text.or_else(number).or_else(flag).unwrap_or_default()
}

/// Returns the line of a byte offset, from 1.
fn line_of(text: &str, at: usize) -> usize {
    let before = text.as_bytes().iter().take(at);
    before.filter(|byte| **byte == b'\n').count() + 1
}
