//! TypeScript and `LuaCATS` declarations of the protocol types, for editor extensions. They are generated from the
//! types' schemas. The module exists only in tests, which compare the generated text with the checked-in files.

mod lua;
mod typescript;

use std::collections::BTreeMap;
use std::path::Path;
use std::{env, fs};

use schemars::SchemaGenerator;
use schemars::generate::SchemaSettings;
use serde_json::Value;

use crate::arguments::Rule;
use crate::catalogue::Shape;
use crate::{COMMANDS, ClientOptions, CommandFailed, FailureData, NOTIFICATIONS, REQUESTS};

/// A named type with its documentation.
struct Declared {
    about: Option<String>,
    ty: Type,
}

/// A type, independent of the language that it is written in.
#[derive(Clone, Debug, PartialEq)]
enum Type {
    Text,
    Integer,
    Number,
    Bool,
    Null,
    Any,
    Named(String),
    Literal(String),
    List(Box<Type>),
    Tuple(Vec<Type>),
    OneOf(Vec<Type>),
    Fields(Vec<Field>),
}

#[derive(Clone, Debug, PartialEq)]
struct Field {
    name: String,
    about: Option<String>,
    ty: Type,
    required: bool,
}

/// Returns all types by their names.
fn declared() -> BTreeMap<String, Declared> {
    let answers = [Shape::of::<FailureData>(), Shape::of::<CommandFailed>()].into_iter();
    let answers = answers
        .chain(REQUESTS.iter().map(|request| request.result))
        .chain(COMMANDS.iter().map(|command| command.result))
        .chain(NOTIFICATIONS.iter().map(|notification| notification.params));
    let params = std::iter::once(Shape::of::<ClientOptions>())
        .chain(REQUESTS.iter().map(|request| request.params))
        .chain(COMMANDS.iter().map(|command| command.params));
    let settings = SchemaSettings::draft2020_12();
    let mut all = read_schemas(settings.clone().for_serialize(), answers);
    all.values_mut().for_each(remove_null);
    all.extend(read_schemas(settings.for_deserialize(), params));
    all
}

fn read_schemas(
    settings: SchemaSettings,
    shapes: impl Iterator<Item = Shape>,
) -> BTreeMap<String, Declared> {
    let mut generator = SchemaGenerator::new(settings);
    for shape in shapes {
        let schema = (shape.schema)(&mut generator);
        let named = schema.get("$ref").and_then(Value::as_str);
        let own = format!("#/$defs/{}", shape.name());
        assert_eq!(named, Some(own.as_str()), "two types of one name?");
    }
    let declare = |(name, schema): (&String, &Value)| {
        let declared = Declared {
            about: about(schema),
            ty: type_of(schema),
        };
        (name.clone(), declared)
    };
    generator.definitions().iter().map(declare).collect()
}

/// Removes null from optional fields: an answer leaves such a field out instead.
fn remove_null(declared: &mut Declared) {
    if let Type::Fields(fields) = &mut declared.ty {
        for field in fields.iter_mut().filter(|field| !field.required) {
            if let Type::OneOf(types) = &field.ty {
                let types = types.iter().filter(|ty| **ty != Type::Null);
                field.ty = one_of(types.cloned().collect());
            }
        }
    }
}

fn about(schema: &Value) -> Option<String> {
    schema["description"]
        .as_str()
        .map(|text| text.replace('\n', " "))
}

fn type_of(schema: &Value) -> Type {
    let many = |key: &str| -> Option<Vec<Type>> {
        Some(schema.get(key)?.as_array()?.iter().map(type_of).collect())
    };
    if let Some(name) = schema["$ref"].as_str() {
        return Type::Named(name.trim_start_matches("#/$defs/").to_owned());
    }
    if let Some(word) = schema["const"].as_str() {
        return Type::Literal(word.to_owned());
    }
    if let Some(words) = schema["enum"].as_array() {
        let word = |word: &Value| match word.as_str() {
            Some(word) => Type::Literal(word.to_owned()),
            None => Type::Null,
        };
        return one_of(words.iter().map(word).collect());
    }
    if let Some(types) = many("anyOf").or_else(|| many("oneOf")) {
        return one_of(types);
    }
    match &schema["type"] {
        Value::String(name) => json_type(name, schema),
        Value::Array(names) => {
            let names = names.iter().filter_map(Value::as_str);
            one_of(names.map(|name| json_type(name, schema)).collect())
        }
        _ => Type::Any,
    }
}

/// Builds a union: flattened, without duplicates.
fn one_of(types: Vec<Type>) -> Type {
    let mut flat: Vec<Type> = Vec::new();
    for one in types {
        let parts = match one {
            Type::OneOf(parts) => parts,
            one => vec![one],
        };
        for part in parts {
            if !flat.contains(&part) {
                flat.push(part);
            }
        }
    }
    match flat.len() {
        1 => flat.remove(0),
        _ => Type::OneOf(flat),
    }
}

fn json_type(name: &str, schema: &Value) -> Type {
    match name {
        "string" => Type::Text,
        "integer" => Type::Integer,
        "number" => Type::Number,
        "boolean" => Type::Bool,
        "null" => Type::Null,
        "array" => match schema["prefixItems"].as_array() {
            Some(parts) => Type::Tuple(parts.iter().map(type_of).collect()),
            None => Type::List(Box::new(type_of(&schema["items"]))),
        },
        "object" => Type::Fields(fields(schema)),
        other => panic!("no type is called {other}"),
    }
}

fn fields(schema: &Value) -> Vec<Field> {
    let required: Vec<&str> = schema["required"]
        .as_array()
        .map(|names| names.iter().filter_map(Value::as_str).collect())
        .unwrap_or_default();
    let all = schema["properties"].as_object().into_iter().flatten();
    all.map(|(name, schema)| Field {
        name: name.clone(),
        about: about(schema),
        ty: type_of(schema),
        required: required.contains(&name.as_str()),
    })
    .collect()
}

/// Checks that the file has the generated text. With `BACKSTITCH_RENEW_TYPES=1` the file is written.
fn check_file(name: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .join(name);
    if env::var_os("BACKSTITCH_RENEW_TYPES").is_some() {
        fs::write(&path, text).expect("the file is written");
    }
    let current = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        current == text,
        "{name} is out of date: BACKSTITCH_RENEW_TYPES=1 regenerates it"
    );
}

#[test]
fn typescript_is_up_to_date() {
    check_file(
        "server/protocol/generated/backstitch.d.ts",
        &typescript::file(&declared()),
    );
}

#[test]
fn lua_is_up_to_date() {
    // Shipped with the plugin, so that the types are there when a user configures Neovim.
    check_file(
        "nvim-plugin/lua/backstitch/protocol.lua",
        &lua::file(&declared()),
    );
}

/// The arguments that are checked are the fields that are declared, and rules name such fields.
#[test]
fn checked_arguments_match_the_types() {
    let requests = REQUESTS
        .iter()
        .map(|r| (r.method, r.params, r.fields, r.rules));
    let commands = COMMANDS
        .iter()
        .map(|c| (c.name, c.params, c.fields, c.rules));
    let all = declared();
    for (method, params, fields, rules) in requests.chain(commands) {
        let Type::Fields(declared) = &all[params.name()].ty else {
            panic!("{method} takes no object");
        };
        let declared = declared
            .iter()
            .map(|field| (field.name.clone(), field.required));
        let checked = fields()
            .into_iter()
            .map(|field| (field.name, field.is_required));
        let checked: Vec<(String, bool)> = checked.collect();
        assert_eq!(checked, declared.collect::<Vec<_>>(), "{method}");
        for rule in rules {
            let named = match *rule {
                Rule::OneOf(names) | Rule::AtMostOneOf(names) => names.to_vec(),
                Rule::Needs(one, other) => vec![one, other],
            };
            for name in named {
                assert!(
                    checked.iter().any(|(field, _)| field == name),
                    "{method}: {name}"
                );
            }
        }
    }
}

/// The extension for VS Code has every command, under the title that the catalogue gives it.
#[test]
fn vs_code_has_every_command() {
    let read = |name: &str| -> Value {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../vscode-extension");
        let text = fs::read_to_string(path.join(name)).expect("the extension's manifest");
        serde_json::from_str(&text).expect("JSON")
    };
    let (manifest, titles) = (read("package.json"), read("package.nls.json"));
    let all = manifest["contributes"]["commands"]
        .as_array()
        .expect("commands");
    for command in COMMANDS {
        let key = command.name.replacen("backstitch", "command", 1);
        let own = all.iter().find(|own| own["command"] == command.name);
        let title = own.map(|own| own["title"].clone());
        assert_eq!(title, Some(format!("%{key}%").into()), "{}", command.name);
        assert_eq!(titles[&key], command.title, "{key}");
    }
}
