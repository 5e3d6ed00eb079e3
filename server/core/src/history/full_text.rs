//! Full-text search over prompts, labels and tool inputs. Owns the full-text index, which is
//! updated on demand, and the parsing of search text.

use rusqlite::Connection;
use serde_json::Value;

use crate::error::{Error, Result};
use crate::model::NodeId;
use crate::store::tables::meta::{self, MetaKey};
use crate::store::tables::words;
use crate::store::{self, ContentReader, Store};

/// Nodes indexed in one transaction, which other writers have to wait for.
const BATCH: i64 = 500;
/// Bytes of a call's input that are indexed.
const MAX_BODY: usize = 256 << 10;

/// Adds new nodes to the index. `progress` receives the nodes done and their total.
pub(crate) fn update(store: &Store, progress: &mut dyn FnMut(u64, u64)) -> Result<()> {
    let count = |n: i64| u64::try_from(n).unwrap_or(0);
    loop {
        let (done, newest) = (watermark(&store.conn)?, store::newest(&store.conn)?);
        if done >= newest {
            return Ok(());
        }
        progress(count(done), count(newest));
        store.note(true, |conn| {
            // another process may have been first
            let done = watermark(conn)?;
            let upto = newest.min(done + BATCH);
            let mut reader = ContentReader::new(conn, &store.dir);
            for (node, body) in bodies(conn, &mut reader, done, upto)? {
                words::insert(conn, node, &body)?;
            }
            meta::set(conn, &MetaKey::Words, upto.max(done))
        })?;
    }
}

fn watermark(conn: &Connection) -> Result<i64> {
    Ok(meta::get(conn, &MetaKey::Words)?.unwrap_or(0))
}

/// Returns the searchable text of the nodes after `after` up to `upto`.
fn bodies(
    conn: &Connection,
    reader: &mut ContentReader<'_>,
    after: i64,
    upto: i64,
) -> Result<Vec<(NodeId, String)>> {
    let mut bodies = Vec::new();
    for row in words::texts(conn, after, upto)? {
        let mut body = String::new();
        row.texts.iter().for_each(|text| add(&mut body, text));
        // a damaged input is not indexed; `verify` reports it
        if let Some(input) = row.input
            && let Ok(bytes) = reader.get(&input)
        {
            match serde_json::from_slice(&bytes) {
                Ok(value) => add_strings(&mut body, &value),
                Err(_) => add(&mut body, &String::from_utf8_lossy(&bytes)),
            }
        }
        if !body.is_empty() {
            bodies.push((row.node, body));
        }
    }
    Ok(bodies)
}

fn add_strings(body: &mut String, value: &Value) {
    match value {
        Value::String(text) => add(body, text),
        Value::Array(items) => items.iter().for_each(|item| add_strings(body, item)),
        Value::Object(fields) => fields.values().for_each(|field| add_strings(body, field)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn add(body: &mut String, text: &str) {
    let remaining = MAX_BODY.saturating_sub(body.len());
    body.push_str(&space_out(
        &text[..text.floor_char_boundary(remaining.min(text.len()))],
    ));
    body.push('\n');
}

/// Puts spaces around characters of scripts without spaces, so that they are searched by character.
fn space_out(text: &str) -> String {
    let mut spaced = String::with_capacity(text.len());
    for c in text.chars() {
        if matches!(u32::from(c), 0x0E00..=0x0EFF | 0x1000..=0x109F | 0x1780..=0x17FF | 0x2E80..=0xA4CF
            | 0xAC00..=0xD7AF | 0xF900..=0xFAFF | 0x2_0000..=0x3_FFFF)
        {
            spaced.extend([' ', c, ' ']);
        } else {
            spaced.push(c);
        }
    }
    spaced
}

/// Converts search text to an index query: all words literally, with a `*` at the end of a word as
/// a wildcard.
pub(crate) fn match_query(typed: &str) -> Result<String> {
    let words: Vec<String> = typed
        .split_whitespace()
        .filter(|word| word.chars().any(char::is_alphanumeric))
        .map(|word| {
            let (word, star) = match word.strip_suffix('*') {
                Some(start) => (start, "*"),
                None => (word, ""),
            };
            // a quote could only end the word
            format!("\"{}\"{star}", space_out(word).replace(['"', '\0'], " "))
        })
        .collect();
    if words.is_empty() {
        return Err(Error::Usage(format!(
            "there is no word to search for in `{typed}`"
        )));
    }
    Ok(words.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn search_text_is_not_query_syntax() {
        assert_eq!(
            match_query("fix  AND pars*").unwrap(),
            r#""fix" "AND" "pars"*"#
        );
        assert_eq!(match_query(r#"say "hi" -- *"#).unwrap(), r#""say" " hi ""#);
        assert_eq!(match_query("日本").unwrap(), "\" 日  本 \"");
        assert!(match_query(" * \"").is_err());
    }
}
