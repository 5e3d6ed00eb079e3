//! Rows of a new session. A row stays byte for byte, apart from the values of the few fields that name the session, its place and
//! its time.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{MapAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;

/// New values of a row's fields. A field that the row does not have stays away.
#[derive(Clone, Debug, Default)]
pub struct RowChanges<'a> {
    pub session: &'a str,
    pub directory: Option<&'a str>,
    pub time: Option<&'a str>,
    pub parent: Option<NewParent<'a>>,
}

/// The id of another parent. None: the chain begins with the row.
#[derive(Clone, Copy, Debug)]
pub struct NewParent<'a>(pub Option<&'a str>);

/// Appends a row with its changes and the end of its line. None: it is not an object, or has a field twice.
pub fn append(row: &str, changes: &RowChanges<'_>, to: &mut Vec<u8>) -> Option<()> {
    let fields: OrderedFields<'_> = serde_json::from_str(row).ok()?;
    let text = |value: &str| Value::from(value).to_string();
    let mut at = 0;
    let mut seen: Vec<&str> = Vec::new();
    for (key, value) in &fields.0 {
        let new = match &**key {
            "sessionId" => Some(text(changes.session)),
            "cwd" => changes.directory.map(text),
            "timestamp" => changes.time.map(text),
            "parentUuid" => changes
                .parent
                .map(|parent| parent.0.map_or_else(|| "null".to_owned(), text)),
            _ => continue,
        };
        if seen.contains(&&**key) {
            return None;
        }
        seen.push(key);
        let Some(new) = new else { continue };
        let start = value.get().as_ptr().addr() - row.as_ptr().addr();
        to.extend(&row.as_bytes()[at..start]);
        to.extend(new.as_bytes());
        at = start + value.get().len();
    }
    to.extend(&row.as_bytes()[at..]);
    to.push(b'\n');
    Some(())
}

/// Fields of an object in their order, with the values as they stand there.
struct OrderedFields<'a>(Vec<(Cow<'a, str>, &'a RawValue)>);

impl<'de: 'a, 'a> Deserialize<'de> for OrderedFields<'a> {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct InOrder;
        impl<'de> Visitor<'de> for InOrder {
            type Value = OrderedFields<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Self::Value, M::Error> {
                let mut fields = Vec::new();
                while let Some(FieldName(key)) = map.next_key()? {
                    fields.push((key, map.next_value()?));
                }
                Ok(OrderedFields(fields))
            }
        }
        from.deserialize_map(InOrder)
    }
}

#[derive(Deserialize)]
#[serde(transparent)]
struct FieldName<'a>(#[serde(borrow)] Cow<'a, str>);

#[cfg(test)]
mod tests {
    use super::*;

    fn changed(row: &str, changes: &RowChanges<'_>) -> Option<String> {
        let mut to = Vec::new();
        append(row, changes, &mut to)?;
        Some(String::from_utf8(to).unwrap())
    }

    #[test]
    fn only_the_values_change() {
        let row = r#"{ "parentUuid":"a" ,"n":1.0e5,"message":{"cwd":"/in"},"cwd" : "/old","sessionId":"old","timestamp":"t","x":"\u00fc"}"#;
        let changes = RowChanges {
            session: "new",
            directory: Some("/a \"b\"\\c"),
            time: Some("now"),
            parent: Some(NewParent(None)),
        };
        let expected = r#"{ "parentUuid":null ,"n":1.0e5,"message":{"cwd":"/in"},"cwd" : "/a \"b\"\\c","sessionId":"new","timestamp":"now","x":"\u00fc"}"#;
        assert_eq!(changed(row, &changes), Some(format!("{expected}\n")));
        let only_session = RowChanges {
            session: "old",
            ..RowChanges::default()
        };
        assert_eq!(changed(row, &only_session), Some(format!("{row}\n")));
    }

    #[test]
    fn a_field_that_is_there_twice_is_refused() {
        let row = r#"{"sessionId":"a","session\u0049d":"b"}"#;
        assert_eq!(changed(row, &RowChanges::default()), None);
    }
}
