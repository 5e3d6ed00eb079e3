//! The input of a call as a value, also where it is no strict JSON. Pure.

use serde_json::Value;

/// Reads the input of a call. Half of a surrogate pair, as in a text that was cut inside of an emoji, is read as U+FFFD: agents
/// write it and read it. Err: the reason why it cannot be read.
pub fn read(bytes: &[u8]) -> Result<Value, String> {
    if let Ok(value) = serde_json::from_slice(bytes) {
        return Ok(value);
    }
    serde_json::from_str(&strict(bytes)).map_err(|error| error.to_string())
}

/// Returns a text in JSON without halves of surrogate pairs and bytes that are no UTF-8.
pub fn strict(bytes: &[u8]) -> String {
    with_whole_pairs(&String::from_utf8_lossy(bytes))
}

/// Replaces each half of a surrogate pair in the escapes of a JSON text.
fn with_whole_pairs(text: &str) -> String {
    let mut whole = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        whole.push_str(&rest[..at]);
        rest = &rest[at..];
        let length = match unit(rest) {
            None => 1 + rest[1..].chars().next().map_or(0, char::len_utf8),
            Some(0xd800..=0xdbff) if matches!(unit(&rest[6..]), Some(0xdc00..=0xdfff)) => 12,
            Some(0xd800..=0xdfff) => {
                whole.push_str("\\ufffd");
                rest = &rest[6..];
                continue;
            }
            Some(_) => 6,
        };
        whole.push_str(&rest[..length]);
        rest = &rest[length..];
    }
    whole.push_str(rest);
    whole
}

/// Returns the number of an escape `\uXXXX` at the start of a text.
fn unit(text: &str) -> Option<u16> {
    let digits = text.strip_prefix("\\u")?.get(..4)?;
    u16::from_str_radix(digits, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn half_a_pair_is_read() {
        let read = |text: &str| read(text.as_bytes());
        assert_eq!(read(r#"{"a":"x \ud83d"}"#), Ok(json!({"a": "x \u{fffd}"})));
        assert_eq!(
            read(r#"["\ude00\ud83d\ud83d\ude00"]"#),
            Ok(json!(["\u{fffd}\u{fffd}😀"]))
        );
        assert_eq!(
            read(r#"["\\ud83d", "\ud83d"]"#),
            Ok(json!(["\\ud83d", "\u{fffd}"]))
        );
        assert_eq!(read(r#"["\ud83dé"]"#), Ok(json!(["\u{fffd}é"])));
        assert!(read(r#"["\ud83d"#).is_err());
        assert!(read("[1e999]").is_err());
        assert!(read("\\").is_err());
    }

    #[test]
    fn bytes_that_are_no_text_are_read() {
        assert_eq!(super::read(b"[\"\xff\"]"), Ok(json!(["\u{fffd}"])));
    }
}
