//! Edits a JSON value within its text; unchanged parts keep their characters. Pure.

use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstArray, CstInputValue, CstObject, CstObjectProp, CstRootNode};
use serde_json::{Map, Value};

/// Returns `text`, whose value is `before`, with the value `after`; None if the text cannot be edited in place.
pub fn edited(text: &str, before: &Value, after: &Value) -> Option<String> {
    let root = CstRootNode::parse(text, &ParseOptions::default()).ok()?;
    object(
        &root.object_value()?,
        before.as_object()?,
        after.as_object()?,
    )?;
    let text = root.to_string();
    // reject duplicate keys and other surprises
    let value: Value = serde_json::from_str(&text).ok()?;
    (value == *after).then_some(text)
}

fn object(
    place: &CstObject,
    before: &Map<String, Value>,
    after: &Map<String, Value>,
) -> Option<()> {
    for (name, old) in before {
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

fn property(place: &CstObjectProp, old: &Value, new: &Value) -> Option<()> {
    match (old, new) {
        (Value::Object(old), Value::Object(new)) => object(&place.object_value()?, old, new)?,
        (Value::Array(old), Value::Array(new)) => array(&place.array_value()?, old, new),
        _ => place.set_value(input(new)),
    }
    Some(())
}

/// Replaces the elements from the first to the last that differ.
fn array(place: &CstArray, old: &[Value], new: &[Value]) {
    let start = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let ends = old[start..].iter().rev().zip(new[start..].iter().rev());
    let end = ends.take_while(|(a, b)| a == b).count();
    let mut elements = place.elements();
    for element in elements.drain(start..old.len() - end) {
        element.remove();
    }
    for (at, value) in new.iter().enumerate().take(new.len() - end).skip(start) {
        place.insert(at, input(value));
    }
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
        edited(text, &serde_json::from_str(text).unwrap(), after)
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
