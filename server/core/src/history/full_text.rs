//! Searching prompts, labels and tool inputs by their words. Owns the full-text index, which follows the
//! history when it is asked for, and the reading of what a user typed.

use rusqlite::{Connection, OptionalExtension, params};
use serde_json::Value;

use crate::error::{Error, Result};
use crate::model::{ContentId, NodeId};
use crate::store::{ContentReader, Store};

/// Nodes taken up in one transaction: other writers wait that long.
const AT_ONCE: i64 = 500;
/// Of the input of one call: no more than this is looked at.
const MOST: usize = 256 << 10;

/// Takes up the nodes that came since the last time. `tell` hears how far it is: done, and of how many.
pub(crate) fn follow(store: &Store, tell: &mut dyn FnMut(u64, u64)) -> Result<()> {
    let newest = |conn: &Connection| -> Result<i64> {
        Ok(conn.query_row("SELECT COALESCE(MAX(id), 0) FROM node", [], |r| r.get(0))?)
    };
    let count = |n: i64| u64::try_from(n).unwrap_or(0);
    loop {
        let (done, newest) = (watermark(&store.conn)?, newest(&store.conn)?);
        if done >= newest {
            return Ok(());
        }
        tell(count(done), count(newest));
        store.note(true, |conn| {
            // another process may have been first
            let done = watermark(conn)?;
            let upto = newest.min(done + AT_ONCE);
            let mut reader = ContentReader::new(conn, &store.dir);
            let mut insert =
                conn.prepare_cached("INSERT INTO words (rowid, body) VALUES (?1, ?2)")?;
            for (node, body) in bodies(conn, &mut reader, done, upto)? {
                insert.execute(params![node, body])?;
            }
            conn.prepare_cached("INSERT OR REPLACE INTO meta (key, value) VALUES ('words', ?1)")?
                .execute([upto.max(done)])?;
            Ok(())
        })?;
    }
}

fn watermark(conn: &Connection) -> Result<i64> {
    let found = conn
        .prepare_cached("SELECT value FROM meta WHERE key = 'words'")?
        .query_row([], |r| r.get(0))
        .optional()?;
    Ok(found.unwrap_or(0))
}

/// What the nodes after one, up to another, are found by.
fn bodies(
    conn: &Connection,
    reader: &mut ContentReader<'_>,
    after: i64,
    upto: i64,
) -> Result<Vec<(NodeId, String)>> {
    let mut select = conn.prepare_cached(
        "SELECT n.id, n.label, (SELECT prompt FROM turn WHERE node = n.id AND id = n.turn), c.tool, n.description,
           b.hash
         FROM node n LEFT JOIN call c ON c.id = n.call LEFT JOIN blob b ON b.n = c.input
         WHERE n.id > ?1 AND n.id <= ?2",
    )?;
    let mut rows = select.query([after, upto])?;
    let mut bodies = Vec::new();
    while let Some(row) = rows.next()? {
        let mut body = String::new();
        for column in 1..=4 {
            if let Some(text) = row.get::<_, Option<String>>(column)? {
                add(&mut body, &text);
            }
        }
        // a damaged input is not found by its words; `verify` names it
        if let Some(input) = row.get::<_, Option<ContentId>>(5)?
            && let Ok(bytes) = reader.get(&input)
        {
            match serde_json::from_slice(&bytes) {
                Ok(value) => add_strings(&mut body, &value),
                Err(_) => add(&mut body, &String::from_utf8_lossy(&bytes)),
            }
        }
        if !body.is_empty() {
            bodies.push((row.get(0)?, body));
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
    let room = MOST.saturating_sub(body.len());
    body.push_str(&apart(
        &text[..text.floor_char_boundary(room.min(text.len()))],
    ));
    body.push('\n');
}

/// Scripts without spaces between words are searched by characters.
fn apart(text: &str) -> String {
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

/// What a user typed as a question to the index: all of the words, each as it is; a `*` at the end of one
/// stands for any end.
pub(crate) fn question(typed: &str) -> Result<String> {
    let words: Vec<String> = typed
        .split_whitespace()
        .filter(|word| word.chars().any(char::is_alphanumeric))
        .map(|word| {
            let (word, star) = match word.strip_suffix('*') {
                Some(start) => (start, "*"),
                None => (word, ""),
            };
            // a quote could only end the word
            format!("\"{}\"{star}", apart(word).replace(['"', '\0'], " "))
        })
        .collect();
    if words.is_empty() {
        return Err(Error::Usage(format!(
            "there is no word to look for in `{typed}`"
        )));
    }
    Ok(words.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_user_types_is_no_syntax() {
        assert_eq!(
            question("fix  AND pars*").unwrap(),
            r#""fix" "AND" "pars"*"#
        );
        assert_eq!(question(r#"say "hi" -- *"#).unwrap(), r#""say" " hi ""#);
        assert_eq!(question("日本").unwrap(), "\" 日  本 \"");
        assert!(question(" * \"").is_err());
    }
}
