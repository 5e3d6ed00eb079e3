use serde_json::{Map, Value, json};

use super::*;
use crate::oracle::packages;

/// Names that a definition refers to.
fn names(definition: &Definition) -> Vec<&str> {
    match &definition.form {
        DefinitionForm::Sequence(item) => vec![item],
        DefinitionForm::OneOf(names) => names.iter().map(String::as_str).collect(),
        DefinitionForm::Mapping(mapping) => {
            let properties = mapping
                .properties
                .iter()
                .map(|property| property.definition.as_str());
            let loose = mapping
                .loose
                .iter()
                .flat_map(|(key, value)| [key.as_str(), value.as_str()]);
            properties.chain(loose).collect()
        }
        DefinitionForm::Null
        | DefinitionForm::Boolean
        | DefinitionForm::Number
        | DefinitionForm::String(_) => Vec::new(),
    }
}

#[test]
fn tables_name_no_definition_that_they_do_not_have() {
    for schema in [TemplateSchema::workflow(), TemplateSchema::action()] {
        for (name, definition) in &schema.definitions {
            for used in names(definition) {
                assert!(schema.definitions.contains_key(used), "{name}: {used}");
            }
        }
    }
}

/// Definitions that differ from those of the package, which has another event's name there.
const MENDED: [&str; 1] = ["repository-dispatch-string"];

/// Holds each table and the package's schema against each other, without descriptions.
#[test]
fn tables_are_the_schemas_of_githubs_parser() {
    let Some(packages) = packages("tables") else {
        return;
    };
    let folder = packages.join("node_modules/@actions/workflow-parser/dist");
    for (schema, file) in [
        (TemplateSchema::workflow(), "workflow-v1.0.min.json"),
        (TemplateSchema::action(), "action-v1.0.min.json"),
    ] {
        let text = std::fs::read_to_string(folder.join(file)).expect("a schema");
        let package: Value = serde_json::from_str(&text).expect("JSON");
        let package = package["definitions"].as_object().expect("definitions");
        for (name, definition) in package {
            if !MENDED.contains(&name.as_str()) {
                assert_eq!(
                    written(schema.get(name)),
                    plain(definition),
                    "{file}: {name}"
                );
            }
        }
        let built_in = [
            "null", "boolean", "number", "string", "sequence", "mapping", "any",
        ];
        for name in schema.definitions.keys() {
            let is_known = package.contains_key(name) || built_in.contains(&name.as_str());
            assert!(is_known, "{file} has no {name}");
        }
    }
}

/// A definition of ours in the form of [`plain`].
fn written(definition: &Definition) -> Value {
    let (kind, value) = match &definition.form {
        DefinitionForm::Null => ("null", json!({})),
        DefinitionForm::Boolean => ("boolean", json!({})),
        DefinitionForm::Number => ("number", json!({})),
        DefinitionForm::String(StringForm::Any) => ("string", json!({})),
        DefinitionForm::String(StringForm::NotEmpty) => {
            ("string", json!({"require-non-empty": true}))
        }
        DefinitionForm::String(StringForm::Constants(constants)) => ("constants", json!(constants)),
        DefinitionForm::Sequence(item) => ("sequence", json!({"item-type": item})),
        DefinitionForm::OneOf(names) => ("one-of", json!(names)),
        DefinitionForm::Mapping(mapping) => {
            let mut value = Map::new();
            let properties = mapping
                .properties
                .iter()
                .map(|property| json!([property.name, property.definition, property.required]));
            value.insert("properties".into(), properties.collect());
            if let Some((key, loose)) = &mapping.loose {
                value.insert("loose-key-type".into(), json!(key));
                value.insert("loose-value-type".into(), json!(loose));
            }
            ("mapping", value.into())
        }
    };
    json!({"context": definition.contexts, kind: value})
}

/// A definition of the package without descriptions. Strings with a constant and lists of allowed values are one form.
fn plain(definition: &Value) -> Value {
    let mut plain = Map::new();
    plain.insert("context".into(), json!([]));
    for (key, value) in definition.as_object().expect("a definition") {
        match key.as_str() {
            "description" => {}
            "allowed-values" => drop(plain.insert("constants".into(), value.clone())),
            "string" if value.get("constant").is_some() => {
                plain.insert("constants".into(), json!([value["constant"]]));
            }
            "string" => {
                let mut value = value.clone();
                // said of conditions, which are expressions also without `${{ }}`
                value
                    .as_object_mut()
                    .expect("a string")
                    .remove("is-expression");
                plain.insert(key.clone(), value);
            }
            "mapping" => {
                let mut mapping = value.clone();
                mapping["properties"] = properties(&value["properties"]);
                plain.insert(key.clone(), mapping);
            }
            _ => drop(plain.insert(key.clone(), value.clone())),
        }
    }
    plain.into()
}

fn properties(properties: &Value) -> Value {
    let property = |(name, value): (&String, &Value)| match value.as_str() {
        Some(definition) => json!([name, definition, false]),
        None => json!([name, value["type"], value["required"] == json!(true)]),
    };
    let properties = properties.as_object().into_iter().flatten();
    properties.map(property).collect()
}
