//! Edits a JSON value within its text; unchanged parts keep their characters. Pure.

use std::borrow::Cow;

use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstArray, CstInputValue, CstObject, CstObjectProp, CstRootNode};
use serde_json::{Map, Value};

/// Returns `text`, whose value is `before`, with the value `after`; None if the text cannot be edited in place. `parse` reads the
/// outcome as its reader does.
pub fn edited(
    text: &str,
    before: &Value,
    after: &Value,
    parse: impl Fn(&str) -> Option<Value>,
) -> Option<String> {
    let root = CstRootNode::parse(text, &ParseOptions::default()).ok()?;
    object(
        &root.object_value()?,
        before.as_object()?,
        after.as_object()?,
    )?;
    let text = root.to_string();
    // reject duplicate keys and other surprises
    (parse(&text)? == *after).then_some(text)
}

/// Returns a key that an object of the text has twice. Readers take the last of them.
pub fn duplicate(text: &str) -> Option<String> {
    let root = CstRootNode::parse(text, &ParseOptions::default()).ok()?;
    let mut rest = vec![root.object_value()?];
    while let Some(object) = rest.pop() {
        let mut seen = std::collections::BTreeSet::new();
        for property in object.properties() {
            let name = property.name()?.decoded_value().ok()?;
            rest.extend(property.object_value());
            if !seen.insert(name.clone()) {
                return Some(name);
            }
        }
    }
    None
}

/// Returns a text with blanks in place of its comments, so that errors name the same lines.
pub fn without_comments(text: &str) -> Cow<'_, str> {
    if text.contains('/') {
        Cow::Owned(split(text).0)
    } else {
        Cow::Borrowed(text)
    }
}

/// Returns the comments of a text.
pub fn comments(text: &str) -> String {
    split(text).1
}

/// Splits a text from its comments.
fn split(text: &str) -> (String, String) {
    let mut plain = String::with_capacity(text.len());
    let mut comments = String::new();
    let mut rest = text.chars().peekable();
    let mut is_string = false;
    while let Some(c) = rest.next() {
        match (c, rest.peek()) {
            ('\\', Some(_)) if is_string => {
                plain.push(c);
                plain.extend(rest.next());
                continue;
            }
            ('"', _) => is_string = !is_string,
            ('/', Some('/')) if !is_string => {
                comments.push(c);
                while let Some(c) = rest.next_if(|c| *c != '\n') {
                    comments.push(c);
                }
                comments.push('\n');
                continue;
            }
            ('/', Some('*')) if !is_string => {
                rest.next();
                let mut last = ' ';
                plain.push(' ');
                comments.push_str("/*");
                for c in rest.by_ref() {
                    comments.push(c);
                    if c == '\n' {
                        plain.push(c);
                    }
                    if (last, c) == ('*', '/') {
                        break;
                    }
                    last = c;
                }
                continue;
            }
            _ => {}
        }
        plain.push(c);
    }
    (plain, comments)
}

fn object(
    place: &CstObject,
    before: &Map<String, Value>,
    after: &Map<String, Value>,
) -> Option<()> {
    for (name, old) in before {
        let is_changed = after.get(name) != Some(old);
        if is_changed && count(place, name) != 1 {
            return None;
        }
        match after.get(name) {
            None => place.get(name)?.remove(),
            Some(new) if new != old => property(&place.get(name)?, old, new)?,
            Some(_) => {}
        }
    }
    let added = after.iter().filter(|(name, _)| !before.contains_key(*name));
    for (name, new) in added {
        place.append(name, input(new));
    }
    Some(())
}

/// Number of properties with this name.
fn count(place: &CstObject, name: &str) -> usize {
    let is_it = |property: &CstObjectProp| {
        let its = property.name().and_then(|its| its.decoded_value().ok());
        its.is_some_and(|its| its == name)
    };
    place.properties().iter().filter(|one| is_it(one)).count()
}

fn property(place: &CstObjectProp, old: &Value, new: &Value) -> Option<()> {
    match (old, new) {
        (Value::Object(old), Value::Object(new)) => object(&place.object_value()?, old, new)?,
        (Value::Array(old), Value::Array(new)) => array(&place.array_value()?, old, new)?,
        _ => place.set_value(input(new)),
    }
    Some(())
}

/// Replaces the elements from the first to the last that differ.
fn array(place: &CstArray, old: &[Value], new: &[Value]) -> Option<()> {
    let start = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let ends = old[start..].iter().rev().zip(new[start..].iter().rev());
    let end = ends.take_while(|(a, b)| a == b).count();
    let mut elements = place.elements();
    if elements.len() != old.len() {
        return None;
    }
    for element in elements.drain(start..old.len() - end) {
        element.remove();
    }
    for (at, value) in new.iter().enumerate().take(new.len() - end).skip(start) {
        place.insert(at, input(value));
    }
    Some(())
}

fn input(value: &Value) -> CstInputValue {
    match value {
        Value::Null => CstInputValue::Null,
        Value::Bool(value) => CstInputValue::Bool(*value),
        Value::Number(value) => CstInputValue::Number(value.to_string()),
        Value::String(value) => CstInputValue::String(value.clone()),
        Value::Array(all) => CstInputValue::Array(all.iter().map(input).collect()),
        Value::Object(all) => {
            let all = all.iter().map(|(name, value)| (name.clone(), input(value)));
            CstInputValue::Object(all.collect())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn edit(text: &str, after: &Value) -> Option<String> {
        let parse = |text: &str| serde_json::from_str(text).ok();
        edited(text, &parse(text).unwrap(), after, parse)
    }

    fn edit_with_comments(text: &str, after: &Value) -> Option<String> {
        let parse = |text: &str| serde_json::from_str(&without_comments(text)).ok();
        edited(text, &parse(text).unwrap(), after, parse)
    }

    #[test]
    fn comments_stay() {
        let text = "// top\n{\n  // a \"note\"\n  \"a\": [1, /* in */ 2], // behind\n  \"url\": \"https://x/*y*/\"\n}\n/* end */\n";
        let after =
            json!({ "a": [1, 2], "url": "https://x/*y*/", "hooks": { "Stop": [{ "k": 1 }] } });
        let added = edit_with_comments(text, &after).unwrap();
        for comment in [
            "// top",
            "// a \"note\"",
            "/* in */",
            "// behind",
            "/* end */",
        ] {
            assert!(added.contains(comment), "{added}");
        }
        let before = json!({ "a": [1, 2], "url": "https://x/*y*/" });
        let removed = edit_with_comments(&added, &before).unwrap();
        let value = |text: &str| serde_json::from_str::<Value>(&without_comments(text)).unwrap();
        assert_eq!(value(&removed), before);
        assert_eq!(without_comments("{\"a\\\"//\": 1}"), "{\"a\\\"//\": 1}");
    }

    #[test]
    fn a_key_that_stands_twice_is_named() {
        let text = "{\"hooks\":{\"Stop\":[]},\"hooks\":{\"Stop\":[{\"k\":1}]}}";
        assert_eq!(edit(text, &json!({ "hooks": { "Stop": [] } })), None);
        assert_eq!(duplicate(text).as_deref(), Some("hooks"));
        assert_eq!(
            duplicate("{\"a\":{\"b\":1,\"\\u0062\":2}}").as_deref(),
            Some("b")
        );
        assert_eq!(duplicate("{\"a\":{\"b\":1},\"b\":2}"), None);
    }

    #[test]
    fn unchanged_parts_keep_their_characters() {
        let text = "{\n\t\"a\": [1.10,  2e3],\n\t\"b\": { \"x\": 1, \"y\": [ {\"k\":\t1} ] }\n}";
        let after = json!({ "a": [1.10, 2e3], "b": { "y": [{ "k": 1 }, 5] }, "c": "\u{e9}\"" });
        let edited = edit(text, &after).unwrap();
        assert!(edited.contains("\"a\": [1.10,  2e3]"), "{edited}");
        assert!(edited.contains("{\"k\":\t1}"), "{edited}");
        assert!(edited.contains("\n\t\"c\": "), "{edited}");
        let big = "{\"n\": 123456789012345678901234567890}";
        let before: Value = serde_json::from_str(big).unwrap();
        assert_eq!(edit(big, &before).unwrap(), big);
    }

    #[test]
    fn arrays_change_in_the_middle() {
        for (old, new) in [
            (json!([1, 2, 3]), json!([1, 9, 8, 3])),
            (json!([1, 1]), json!([1])),
            (json!([]), json!([{ "a": [] }])),
            (json!([1, 2]), json!([])),
        ] {
            let text = json!({ "a": old }).to_string();
            let after = json!({ "a": new });
            let edited = edit(&text, &after).unwrap();
            assert_eq!(serde_json::from_str::<Value>(&edited).unwrap(), after);
        }
    }

    #[test]
    fn duplicate_keys_are_rejected() {
        let after = json!({ "a": { "n": 2 } });
        assert_eq!(edit("{\"a\": {\"n\": 1}, \"a\": {\"n\": 3}}", &after), None);
    }
}
