//! JSON that is not strict: texts that were cut in an emoji, and bytes that are no UTF-8. Pure.

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
