//! The input of a call as a value, also where it is no strict JSON. Pure.

use serde_json::Value;

use crate::json_text::strict;

/// Reads the input of a call. Half of a surrogate pair, as in a text that was cut inside of an emoji, is read as U+FFFD: agents
/// write it and read it. Err: the reason why it cannot be read.
pub fn read(bytes: &[u8]) -> Result<Value, String> {
    if let Ok(value) = serde_json::from_slice(bytes) {
        return Ok(value);
    }
    serde_json::from_str(&strict(bytes)).map_err(|error| error.to_string())
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
