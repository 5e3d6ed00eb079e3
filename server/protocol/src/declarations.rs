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

use crate::catalogue::Shape;
use crate::{COMMANDS, ClientOptions, CommandFailed, FailureData, NOTIFICATIONS, REQUESTS};

/// A named type with its documentation.
struct Declared {
    about: Option<String>,
    what: Type,
}

/// A type, independent of the language that it is written in.
#[derive(Clone, Debug, PartialEq)]
enum Type {
    Text,
    Whole,
    Number,
    Truth,
    Null,
    Any,
    Named(String),
    Word(String),
    List(Box<Type>),
    Tuple(Vec<Type>),
    OneOf(Vec<Type>),
    Fields(Vec<Field>),
}

#[derive(Clone, Debug, PartialEq)]
struct Field {
    name: String,
    about: Option<String>,
    what: Type,
    needed: bool,
}

/// Returns all types by their names.
fn declared() -> BTreeMap<String, Declared> {
    let answers = [Shape::of::<FailureData>(), Shape::of::<CommandFailed>()].into_iter();
    let answers = answers
        .chain(REQUESTS.iter().map(|request| request.result))
        .chain(COMMANDS.iter().map(|command| command.result))
        .chain(NOTIFICATIONS.iter().map(|told| told.params));
    let params = std::iter::once(Shape::of::<ClientOptions>())
        .chain(REQUESTS.iter().map(|request| request.params))
        .chain(COMMANDS.iter().map(|command| command.params));
    let settings = SchemaSettings::draft2020_12();
    let mut all = read_off(settings.clone().for_serialize(), answers);
    all.values_mut().for_each(never_null);
    all.extend(read_off(settings.for_deserialize(), params));
    all
}

fn read_off(
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
            what: what(schema),
        };
        (name.clone(), declared)
    };
    generator.definitions().iter().map(declare).collect()
}

/// Removes null from optional fields: an answer leaves such a field out instead.
fn never_null(declared: &mut Declared) {
    if let Type::Fields(fields) = &mut declared.what {
        for field in fields.iter_mut().filter(|field| !field.needed) {
            if let Type::OneOf(some) = &field.what {
                let some = some.iter().filter(|what| **what != Type::Null);
                field.what = one_of(some.cloned().collect());
            }
        }
    }
}

fn about(schema: &Value) -> Option<String> {
    schema["description"]
        .as_str()
        .map(|text| text.replace('\n', " "))
}

fn what(schema: &Value) -> Type {
    let many = |key: &str| -> Option<Vec<Type>> {
        Some(schema.get(key)?.as_array()?.iter().map(what).collect())
    };
    if let Some(name) = schema["$ref"].as_str() {
        return Type::Named(name.trim_start_matches("#/$defs/").to_owned());
    }
    if let Some(word) = schema["const"].as_str() {
        return Type::Word(word.to_owned());
    }
    if let Some(words) = schema["enum"].as_array() {
        let word = |word: &Value| match word.as_str() {
            Some(word) => Type::Word(word.to_owned()),
            None => Type::Null,
        };
        return one_of(words.iter().map(word).collect());
    }
    if let Some(some) = many("anyOf").or_else(|| many("oneOf")) {
        return one_of(some);
    }
    match &schema["type"] {
        Value::String(name) => of_kind(name, schema),
        Value::Array(names) => {
            let names = names.iter().filter_map(Value::as_str);
            one_of(names.map(|name| of_kind(name, schema)).collect())
        }
        _ => Type::Any,
    }
}

/// Builds a union: flattened, without duplicates.
fn one_of(some: Vec<Type>) -> Type {
    let mut flat: Vec<Type> = Vec::new();
    for one in some {
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

fn of_kind(name: &str, schema: &Value) -> Type {
    match name {
        "string" => Type::Text,
        "integer" => Type::Whole,
        "number" => Type::Number,
        "boolean" => Type::Truth,
        "null" => Type::Null,
        "array" => match schema["prefixItems"].as_array() {
            Some(parts) => Type::Tuple(parts.iter().map(what).collect()),
            None => Type::List(Box::new(what(&schema["items"]))),
        },
        "object" => Type::Fields(fields(schema)),
        other => panic!("no type is called {other}"),
    }
}

fn fields(schema: &Value) -> Vec<Field> {
    let needed: Vec<&str> = schema["required"]
        .as_array()
        .map(|names| names.iter().filter_map(Value::as_str).collect())
        .unwrap_or_default();
    let all = schema["properties"].as_object().into_iter().flatten();
    all.map(|(name, schema)| Field {
        name: name.clone(),
        about: about(schema),
        what: what(schema),
        needed: needed.contains(&name.as_str()),
    })
    .collect()
}

/// Checks that the file has the generated text. With `BACKSTITCH_RENEW_TYPES=1` the file is written.
fn holds(name: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .join(name);
    if env::var_os("BACKSTITCH_RENEW_TYPES").is_some() {
        fs::write(&path, text).expect("the file is written");
    }
    let there = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        there == text,
        "{name} is not what the types say: BACKSTITCH_RENEW_TYPES=1 writes it anew"
    );
}

#[test]
fn typescript_is_what_the_types_say() {
    holds(
        "server/docs/backstitch.d.ts",
        &typescript::file(&declared()),
    );
}

#[test]
fn lua_is_what_the_types_say() {
    // Shipped with the plugin, so that the types are there when a user configures Neovim.
    holds(
        "nvim-plugin/lua/backstitch/protocol.lua",
        &lua::file(&declared()),
    );
}
