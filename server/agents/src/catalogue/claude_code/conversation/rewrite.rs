//! Rows of a new session. A row stays byte for byte, apart from the values of the few fields that name the session, its place and
//! its time.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

use serde::Deserialize;
use serde::de::{MapAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;

/// New values of a row's fields. A field that the row does not have stays away.
#[derive(Clone, Debug, Default)]
pub struct Changes<'a> {
    pub session: &'a str,
    pub directory: Option<&'a str>,
    pub time: Option<&'a str>,
    /// Inside: no parent.
    pub parent: Option<Option<&'a str>>,
}

/// Appends a row with its changes and the end of its line. None: it is not an object, or has a field twice.
pub fn append(row: &str, changes: &Changes<'_>, to: &mut Vec<u8>) -> Option<()> {
    let fields: Fields<'_> = serde_json::from_str(row).ok()?;
    let mut edits: Vec<(Range<usize>, String)> = Vec::new();
    let text = |value: &str| Value::from(value).to_string();
    for (key, value) in &fields.0 {
        let value_of = match &**key {
            "sessionId" => Some(text(changes.session)),
            "cwd" => changes.directory.map(text),
            "timestamp" => changes.time.map(text),
            "parentUuid" => changes
                .parent
                .map(|parent| parent.map_or_else(|| "null".to_owned(), text)),
            _ => continue,
        };
        let start = value.get().as_ptr().addr() - row.as_ptr().addr();
        let range = start..start + value.get().len();
        if edits
            .iter()
            .any(|(_, known)| known.starts_with(&format!("{key}\0")))
        {
            return None;
        }
        edits.push((
            range,
            format!(
                "{key}\0{}",
                value_of.unwrap_or_else(|| value.get().to_owned())
            ),
        ));
    }
    let mut at = 0;
    for (range, value) in edits {
        to.extend(&row.as_bytes()[at..range.start]);
        to.extend(
            value
                .split_once('\0')
                .map_or("", |(_, value)| value)
                .as_bytes(),
        );
        at = range.end;
    }
    to.extend(&row.as_bytes()[at..]);
    to.push(b'\n');
    Some(())
}

/// Fields of an object in their order, with the values as they stand there.
struct Fields<'a>(Vec<(Cow<'a, str>, &'a RawValue)>);

impl<'de: 'a, 'a> Deserialize<'de> for Fields<'a> {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct InOrder;
        impl<'de> Visitor<'de> for InOrder {
            type Value = Fields<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Self::Value, M::Error> {
                let mut fields = Vec::new();
                while let Some(Key(key)) = map.next_key()? {
                    fields.push((key, map.next_value()?));
                }
                Ok(Fields(fields))
            }
        }
        from.deserialize_map(InOrder)
    }
}

#[derive(Deserialize)]
#[serde(transparent)]
struct Key<'a>(#[serde(borrow)] Cow<'a, str>);

#[cfg(test)]
mod tests {
    use super::*;

    fn changed(row: &str, changes: &Changes<'_>) -> Option<String> {
        let mut to = Vec::new();
        append(row, changes, &mut to)?;
        Some(String::from_utf8(to).unwrap())
    }

    #[test]
    fn only_the_values_change() {
        let row = r#"{ "parentUuid":"a" ,"n":1.0e5,"message":{"cwd":"/in"},"cwd" : "/old","sessionId":"old","timestamp":"t","x":"\u00fc"}"#;
        let changes = Changes {
            session: "new",
            directory: Some("/a \"b\"\\c"),
            time: Some("now"),
            parent: Some(None),
        };
        let expected = r#"{ "parentUuid":null ,"n":1.0e5,"message":{"cwd":"/in"},"cwd" : "/a \"b\"\\c","sessionId":"new","timestamp":"now","x":"\u00fc"}"#;
        assert_eq!(changed(row, &changes), Some(format!("{expected}\n")));
        let only_session = Changes {
            session: "old",
            ..Changes::default()
        };
        assert_eq!(changed(row, &only_session), Some(format!("{row}\n")));
    }

    #[test]
    fn a_field_that_is_there_twice_is_refused() {
        let row = r#"{"sessionId":"a","session\u0049d":"b"}"#;
        assert_eq!(changed(row, &Changes::default()), None);
    }
}
