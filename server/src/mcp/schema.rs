//! Schemas in the common part of what clients and models understand: no references, no null beside a type, no formats of
//! Rust's numbers. Pure.

use rmcp::model::JsonObject;
use serde_json::Value;

/// Returns a generated schema in plain form.
pub fn plain(schema: &JsonObject) -> JsonObject {
    let definitions = schema.get("$defs").cloned().unwrap_or_default();
    let mut plain = Value::Object(schema.clone());
    simplify(&mut plain, &definitions);
    match plain {
        Value::Object(mut fields) => {
            fields.shift_remove("$defs");
            fields
        }
        _ => JsonObject::new(),
    }
}

fn simplify(schema: &mut Value, definitions: &Value) {
    match schema {
        Value::Object(fields) => {
            let is_null = |value: &Value| value["type"] == "null";
            let choice = fields.get("anyOf").and_then(Value::as_array);
            let only = choice.and_then(|all| all.iter().find(|one| !is_null(one)).cloned());
            if let Some(Value::Object(only)) = only {
                fields.shift_remove("anyOf");
                fields.extend(only);
            }
            let name = fields.get("$ref").and_then(Value::as_str);
            let name = name.and_then(|name| name.strip_prefix("#/$defs/"));
            if let Some(Value::Object(definition)) = name.map(|name| definitions[name].clone()) {
                fields.shift_remove("$ref");
                for (key, value) in definition {
                    // the field's own words come first
                    fields.entry(key).or_insert(value);
                }
            }
            if let Some(Value::Array(kinds)) = fields.get_mut("type") {
                kinds.retain(|kind| kind != "null");
                if let [kind] = kinds.as_slice() {
                    let kind = kind.clone();
                    fields.insert("type".to_owned(), kind);
                }
            }
            fields.shift_remove("format");
            if fields.get("default").is_some_and(Value::is_null) {
                fields.shift_remove("default");
            }
            fields
                .values_mut()
                .for_each(|field| simplify(field, definitions));
        }
        Value::Array(items) => items
            .iter_mut()
            .for_each(|item| simplify(item, definitions)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use rmcp::handler::server::common::schema_for_input;
    use serde_json::json;

    use super::super::arguments::{LogArguments, RewindArguments};
    use super::*;

    #[test]
    fn generated_schemas_are_plain() {
        let log = Value::Object(plain(&schema_for_input::<LogArguments>().unwrap()));
        assert_eq!(log["properties"]["limit"]["type"], "integer");
        assert_eq!(log["properties"]["limit"]["maximum"], 200);
        assert_eq!(log["properties"]["kind"]["enum"][0], "turn");
        let rewind = Value::Object(plain(&schema_for_input::<RewindArguments>().unwrap()));
        assert_eq!(
            rewind["properties"]["on_conflict"]["enum"],
            json!(["fail", "markers", "current", "target"])
        );
        for text in [log.to_string(), rewind.to_string()] {
            for unknown in ["$ref", "$defs", "null", "uint"] {
                assert!(!text.contains(unknown), "{unknown}: {text}");
            }
        }
    }
}
